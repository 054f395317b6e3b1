//! How tails are made: one pure function from what the problem is to a plan.
//!
//! Every plan gives the same tails, bit for bit, but for that of a search that need not be exact; they differ in what is computed,
//! compared and stored on the way.

use std::fmt;

use serde::Serialize;

/// With fewer rows, all of them meet in one tile or two, and there is nothing to save.
const FEWEST: usize = 2 * TILE_ROWS + 1;
/// Rows that are laid out and measured together; whole groups and panels of the kernel.
pub(crate) const TILE_ROWS: usize = 96;
/// From so many dimensions on, computing a distance once saves more than offering it to two tails costs (`cargo bench -p
/// evmachine --bench stages -- savings`).
const HALVES: usize = 8;
/// Of the negatives, the largest share that tails may have for near pairs to be worth finding: beyond it, most
/// comparisons find something.
const NEAR_SHARE: usize = 16;
/// One column in so many is sampled, and at most and at least so many: on Letter 512 and 1,024 take 1 to 2 % longer.
const SAMPLED: usize = 12;
pub(crate) const LARGEST_SAMPLE: usize = 768;
const SMALLEST_SAMPLE: usize = 128;
/// Rows of a block from a disk at least: fewer take longer to lay out than to measure.
const LEAST_BLOCK: usize = 960;
/// More blocks than these find too little in each other to be kept by meeting.
const MOST_BLOCKS: usize = 256;

/// From so many rows on a search that need not be exact is not: for fewer, all pairs take seconds.
const MANY: usize = 1 << 16;

/// What is wanted for the rows of a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WantedTails {
    /// Rows of the class.
    pub(crate) rows: usize,
    /// Values of a tail; not more than there are negatives.
    pub(crate) size: usize,
    /// Points of other classes.
    pub(crate) negatives: usize,
}

/// What a plan depends on.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Facts<'a> {
    pub(crate) rows: usize,
    pub(crate) dimensions: usize,
    /// By class.
    pub(crate) wanted: &'a [WantedTails],
    pub(crate) sides: Sides,
    /// Whether every row has a bound of its own beyond which nothing is wanted.
    pub(crate) bounded: bool,
    /// Whether the rank of a pair is a sum that stays in registers.
    pub(crate) in_registers: bool,
    /// Bytes of the run, and what all tails at once, the rows laid out, and both ends of an exchange would take of them.
    pub(crate) memory: usize,
    pub(crate) tail_bytes: usize,
    pub(crate) row_bytes: usize,
    pub(crate) exchange_bytes: usize,
    /// Whether another device takes it.
    pub(crate) device: bool,
    /// Whether rows and what they find are to lie on a disk.
    pub(crate) stored: bool,
    pub(crate) threads: usize,
    /// Whether whole tails are wanted.
    pub(crate) exact: bool,
    /// From how many rows on they are not found where they are not, if the run says so.
    pub(crate) many: Option<usize>,
    /// The name of the vector instructions.
    pub(crate) level: &'static str,
}

/// What rows and columns have to do with each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sides {
    /// The rows are the columns.
    Same,
    /// They are others, and rows alone want tails.
    Rows,
    /// They are others, and both want tails.
    Both,
    /// Two blocks, cut so that what both find fits the memory, and both want tails.
    Blocks,
}

/// How the tails of a batch were made. It changes no result, unless an approximate [`Search`](crate::Search) was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Plan {
    /// Rows whose tails were wanted.
    pub rows: usize,
    /// Their dimensions.
    pub dimensions: usize,
    /// Who did it.
    pub executor: Executor,
    /// Where a tail is known to end before it is complete.
    pub bounds: Bounds,
    /// The vector instructions, where the processor does it.
    pub level: &'static str,
}

/// Who makes tails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "snake_case")]
pub enum Executor {
    /// Blocks of rows pass over all columns. Needs memory for the blocks in flight only.
    Stream,
    /// Blocks meet, and each distance is offered to both of its ends.
    Tournament {
        /// Whether rows stay laid out between meetings.
        keep: bool,
    },
    /// Blocks meet, and a rank that neither end wants never leaves the registers.
    Near,
    /// New points meet extreme vectors, and each distance is offered to both.
    Exchange,
    /// Rows meet the points of the cells nearest to them, as an approximate [`Search`](crate::Search) asks for.
    Cells,
    /// Another device.
    Device,
    /// Blocks of rows from a disk, two at a time.
    Blocks {
        /// How many.
        count: usize,
        /// Whether two blocks meet once, for both, or each of them looks at the other.
        once: bool,
    },
}

/// What bounds a tail from the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "snake_case")]
pub enum Bounds {
    /// Nothing.
    Open,
    /// The end of the tail that a row has already.
    Given,
    /// An estimate from so many of the columns.
    Sampled(usize),
}

impl fmt::Display for Plan {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} rows of {} dimensions, ", self.rows, self.dimensions)?;
        formatter.write_str(match self.executor {
            Executor::Stream => "against all others",
            Executor::Tournament { keep: true } => "each pair once",
            Executor::Tournament { keep: false } => "each pair once, laid out again",
            Executor::Near => "near pairs",
            Executor::Exchange => "exchanged with extreme vectors",
            Executor::Cells => "against the nearest cells",
            Executor::Device => return formatter.write_str("on the device"),
            Executor::Blocks { count, once } => {
                let pairs = if once { "each pair once" } else { "against all others" };
                return write!(formatter, "in {count} blocks from the disk, {pairs}, {}", self.level);
            }
        })?;
        match self.bounds {
            Bounds::Open => {}
            Bounds::Given => formatter.write_str(", within their tails")?,
            Bounds::Sampled(size) => write!(formatter, ", bounds from {size} of them")?,
        }
        write!(formatter, ", {}", self.level)
    }
}

/// The plan for a problem.
pub(crate) fn plan(facts: &Facts<'_>) -> Plan {
    let plan = |executor, bounds| Plan {
        rows: facts.rows,
        dimensions: facts.dimensions,
        executor,
        bounds,
        level: facts.level,
    };
    if facts.device {
        return plan(Executor::Device, if facts.bounded { Bounds::Given } else { Bounds::Open });
    }
    if facts.stored && facts.sides == Sides::Same {
        return plan(blocks(facts), Bounds::Open);
    }
    match facts.sides {
        Sides::Blocks => return plan(Executor::Exchange, Bounds::Given),
        Sides::Both if facts.exchange_bytes <= facts.memory => {
            return plan(Executor::Exchange, Bounds::Given);
        }
        Sides::Both | Sides::Rows => {
            return plan(Executor::Stream, if facts.bounded { Bounds::Given } else { Bounds::Open });
        }
        Sides::Same => {}
    }
    if !facts.exact && facts.rows >= facts.many.unwrap_or(MANY) {
        return plan(Executor::Cells, Bounds::Open);
    }
    let sampled = sample_size(facts);
    let open = if facts.bounded { Bounds::Given } else { Bounds::Open };
    let bounds = sampled.map_or(open, Bounds::Sampled);
    let meets = facts.rows >= FEWEST && facts.tail_bytes <= facts.memory;
    if meets && sampled.is_some() && is_near(facts) {
        plan(Executor::Near, bounds)
    } else if meets && facts.dimensions >= HALVES {
        let keep = facts.tail_bytes.saturating_add(facts.row_bytes) <= facts.memory;
        plan(Executor::Tournament { keep }, bounds)
    } else {
        plan(Executor::Stream, bounds)
    }
}

/// Blocks of which two fit half of the memory, laid out and with their tails: those of one of them for each thread.
fn blocks(facts: &Facts<'_>) -> Executor {
    let rows = facts.rows.max(1);
    let found = facts.wanted.iter().map(|wanted| wanted.rows.saturating_mul(wanted.size).saturating_mul(4));
    let found = found.fold(0, usize::saturating_add);
    let (tail, row) = (facts.tail_bytes / rows, facts.row_bytes / rows);
    let count = |bytes_of_row: usize| {
        let height = facts.memory / 2 / bytes_of_row.max(1);
        rows.div_ceil(height.clamp(LEAST_BLOCK, rows.max(LEAST_BLOCK)))
    };
    let meeting = count(tail * facts.threads + 2 * row);
    let disk = 4 * (facts.row_bytes as u128 + facts.memory as u128);
    if meeting <= MOST_BLOCKS && found as u128 <= disk {
        Executor::Blocks { count: meeting, once: true }
    } else {
        Executor::Blocks { count: count(2 * tail + 2 * row), once: false }
    }
}

/// Whether near pairs are worth finding, and fit the memory: rows and columns laid out.
fn is_near(facts: &Facts<'_>) -> bool {
    let short = |wanted: &WantedTails| wanted.size <= wanted.negatives / NEAR_SHARE;
    let bytes = facts.tail_bytes.saturating_add(facts.row_bytes.saturating_mul(2));
    facts.in_registers && facts.wanted.iter().all(short) && bytes <= facts.memory
}

/// Columns that are sampled for bounds; `None` where there are too few, or the bounds of most classes would let most values pass.
fn sample_size(facts: &Facts<'_>) -> Option<usize> {
    let size = (facts.rows / SAMPLED).min(LARGEST_SAMPLE);
    if size < SMALLEST_SAMPLE || facts.bounded {
        return None;
    }
    let useful =
        |wanted: &&WantedTails| 4 * place_of_bound(wanted, size, size * wanted.rows / facts.rows) < 3 * size;
    (2 * facts.wanted.iter().filter(useful).count() >= facts.wanted.len()).then_some(size)
}

/// Which of a sample's values, of which `own` are of the class itself, is taken as the bound, counted from 1: three deviations above
/// what is expected of the tail.
pub(crate) fn place_of_bound(wanted: &WantedTails, sampled: usize, own: usize) -> usize {
    let share = (sampled - own) as f64 / wanted.negatives.max(1) as f64;
    let expected = share * wanted.size as f64;
    (expected + 3.0 * expected.sqrt() + 1.0).ceil() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: usize = 1 << 30;

    /// Classes of one size, in order to be read as a table.
    fn planned(
        rows: usize,
        dimensions: usize,
        tail: usize,
        memory: usize,
        change: impl Fn(&mut Facts<'_>),
    ) -> String {
        let wanted = vec![WantedTails { rows: rows / 10, size: tail, negatives: rows * 9 / 10 }; 10];
        let mut facts = Facts {
            rows,
            dimensions,
            wanted: &wanted,
            sides: Sides::Same,
            bounded: false,
            in_registers: dimensions < 32,
            memory,
            tail_bytes: rows * (2 * tail + 80) * 4,
            row_bytes: rows * dimensions * 4,
            exchange_bytes: rows * tail * 4,
            device: false,
            stored: false,
            threads: 2,
            exact: true,
            many: None,
            level: "AVX2",
        };
        change(&mut facts);
        let plan = plan(&facts);
        format!("{:?} {:?}", plan.executor, plan.bounds)
    }

    #[test]
    fn the_table_of_plans() {
        let same = |_: &mut Facts<'_>| {};
        for (rows, dimensions, tail, memory, expected) in [
            (60, 16, 20, GIB, "Stream Open"),
            (192, 16, 20, GIB, "Stream Open"),
            (193, 16, 20, GIB, "Tournament { keep: true } Open"),
            (1_535, 16, 20, GIB, "Tournament { keep: true } Open"),
            (1_536, 16, 20, GIB, "Near Sampled(128)"),
            (15_000, 16, 75, GIB, "Near Sampled(768)"),
            (15_000, 16, 1_000, GIB, "Tournament { keep: true } Sampled(768)"),
            (15_000, 2, 75, GIB, "Near Sampled(768)"),
            (15_000, 2, 1_000, GIB, "Stream Sampled(768)"),
            (15_000, 384, 200, GIB, "Tournament { keep: true } Sampled(768)"),
            (15_000, 384, 11_000, GIB, "Stream Open"),
            (15_000, 384, 11_000, 2 * GIB, "Tournament { keep: true } Open"),
            (60_000, 512, 1_000, GIB, "Tournament { keep: true } Sampled(768)"),
            (60_000, 4_096, 1_000, GIB, "Tournament { keep: false } Sampled(768)"),
            (60_000, 512, 26_112, GIB, "Stream Sampled(768)"),
            (60_000, 512, 1_000, 0, "Stream Sampled(768)"),
        ] {
            assert_eq!(
                planned(rows, dimensions, tail, memory, same),
                expected,
                "{rows} x {dimensions}, {tail}, {memory}"
            );
        }
    }

    #[test]
    fn what_else_it_depends_on() {
        let at = |change: fn(&mut Facts<'_>)| planned(15_000, 16, 75, GIB, change);
        assert_eq!(at(|facts| facts.in_registers = false), "Tournament { keep: true } Sampled(768)");
        assert_eq!(at(|facts| facts.sides = Sides::Rows), "Stream Open");
        assert_eq!(at(|facts| (facts.sides, facts.bounded) = (Sides::Rows, true)), "Stream Given");
        assert_eq!(at(|facts| facts.sides = Sides::Both), "Exchange Given");
        assert_eq!(at(|facts| (facts.sides, facts.memory) = (Sides::Both, 0)), "Stream Open");
        assert_eq!(at(|facts| facts.bounded = true), "Tournament { keep: true } Given");
        let stored = |rows, tail, memory| planned(rows, 64, tail, memory, |facts| facts.stored = true);
        assert_eq!(stored(1_000_000, 200, GIB / 2), "Blocks { count: 17, once: true } Open");
        assert_eq!(stored(1_000_000, 10_880, GIB / 2), "Blocks { count: 654, once: false } Open");
        assert_eq!(stored(500, 20, 0), "Blocks { count: 1, once: true } Open");
        assert_eq!(at(|facts| facts.device = true), "Device Open");
        assert_eq!(at(|facts| facts.exact = false), "Near Sampled(768)", "few rows");
        assert_eq!(at(|facts| (facts.exact, facts.many) = (false, Some(9))), "Cells Open");
        let many = |change: fn(&mut Facts<'_>)| planned(65_536, 64, 75, GIB, change);
        assert_eq!(many(|facts| facts.exact = false), "Cells Open");
        assert_eq!(many(|facts| (facts.exact, facts.device) = (false, true)), "Device Open");
        assert_eq!(many(|facts| (facts.exact, facts.sides) = (false, Sides::Rows)), "Stream Open");
        assert_eq!(
            at(|facts| (facts.device, facts.sides, facts.bounded) = (true, Sides::Both, true)),
            "Device Given"
        );
    }
}
