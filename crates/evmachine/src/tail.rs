//! The tau smallest distances of each point to other classes (Alg. 2), streamed over tiles.
//!
//! Memory is a tile and twice the tail for each row in flight, whatever the number of points. Four ways save work where
//! they can: with room for twice the tail of every row, each distance is computed once instead of twice; in few
//! dimensions, most pairs are never measured, because boxes or bounds in bytes rule them out; in many rows, a sample tells
//! where tails end, and what lies beyond is never stored. The tails are the same, bit for bit.

mod divide;
mod exchange;
mod leaves;
mod pairs;
mod sample;
mod select;
mod smallest;
mod symmetric;
mod tournament;

use std::ops::Range;

use rayon::prelude::*;

use crate::distance::{Columns, RowBlock, Tile};
use crate::error::Halt;
use crate::metric::Metric;
use crate::points::Points;
use crate::progress::{Meter, Run, Stage};

pub(crate) use self::exchange::{Exchange, Exchanged, Found};
use self::leaves::Leaves;
use self::sample::Sample;
use self::smallest::Smallest;

/// Columns to measure against, and which of them belong to each class.
#[derive(Clone, Copy)]
pub(crate) struct Against<'a> {
    pub(crate) columns: &'a dyn Columns,
    /// By class, the columns of that class; they lie together.
    pub(crate) own: &'a [Range<usize>],
}

impl Against<'_> {
    /// Which of a range of columns are of other classes than this one, counted from its start: before it and after it.
    fn others(&self, class: u32, columns: &Range<usize>) -> [Range<usize>; 2] {
        let own = &self.own[class as usize];
        let before = own.start.clamp(columns.start, columns.end) - columns.start;
        let after = own.end.clamp(columns.start, columns.end) - columns.start;
        [0..before, after.max(before)..columns.len()]
    }
}

/// The points whose tails are wanted.
pub(crate) struct Rows<'a> {
    /// Whether these very points, in this order, are also the columns.
    pub(crate) are_columns: bool,
    pub(crate) points: &'a Points<'a>,
    /// Which of the points, in order of class for the best speed.
    pub(crate) indices: &'a [usize],
    /// By class number, for each of `indices`.
    pub(crate) classes: &'a [u32],
    /// Largest rank of interest for each of `indices`; larger ones may be left out.
    pub(crate) bounds: Option<&'a [f32]>,
}

/// What is wanted for a row of a class.
#[derive(Clone, Copy)]
struct Tail {
    /// How many of the smallest; not more than there are.
    size: usize,
    /// How many there are in all.
    negatives: usize,
}

/// Gathers, for each row, the `sizes[class]` smallest distances to columns of other classes, sorted, and hands
/// them to `finish` together with the row's position in `rows.indices`.
///
/// Rows are independent and their tails sorted, so the results do not depend on tiles or threads.
pub(crate) fn stream<W: Default, R: Send>(
    run: &Run<'_>,
    stage: Stage,
    metric: &Metric,
    rows: &Rows<'_>,
    against: &[Against<'_>],
    sizes: &[usize],
    finish: impl Fn(usize, &[f32], &mut W) -> R + Sync,
) -> Result<Vec<R>, Halt> {
    if run.leaves
        && rows.are_columns
        && against.len() == 1
        && let Some(leaves) = Leaves::new(metric, rows, sizes)
    {
        return leaves.stream(run, stage, rows, sizes, finish);
    }
    let tails: Vec<Tail> = sizes
        .iter()
        .enumerate()
        .map(|(class, &size)| {
            let others = |against: &Against<'_>| against.columns.len() - against.own[class].len();
            let negatives = against.iter().map(others).sum();
            Tail { size: size.min(negatives), negatives }
        })
        .collect();
    let alone = Work { run, rows, against, tails: &tails, sample: None };
    if let [columns] = against
        && symmetric::is_possible(&alone)
        && let Some(tails) = pairs::stream(&alone, stage, metric, *columns, &finish)?
    {
        return Ok(tails);
    }
    let sample = Sample::new(metric, rows, &tails);
    let work = Work { sample: sample.as_ref(), ..alone };
    if let [columns] = against
        && symmetric::pays(&work)
    {
        return symmetric::stream(&work, stage, metric, *columns, finish);
    }
    let meter = run.meter(stage, rows.indices.len());
    let block_rows = run.block_rows(rows.indices.len());
    let blocks: Result<Vec<Vec<R>>, Halt> = (0..rows.indices.len())
        .into_par_iter()
        .step_by(block_rows)
        .map(|first| {
            let positions: Vec<usize> = (first..(first + block_rows).min(rows.indices.len())).collect();
            let mut smallest = work.gather(&meter, &positions, sample.as_ref())?;
            work.complete(&meter, first, &mut smallest)?;
            let mut workspace = W::default();
            let results = (0..smallest.rows())
                .map(|row| finish(first + row, distances(metric, &mut smallest, row), &mut workspace))
                .collect();
            meter.advance(positions.len())?;
            Ok(results)
        })
        .collect();
    Ok(blocks?.into_iter().flatten().collect())
}

/// What a stream works on.
struct Work<'a> {
    run: &'a Run<'a>,
    rows: &'a Rows<'a>,
    against: &'a [Against<'a>],
    /// By class.
    tails: &'a [Tail],
    sample: Option<&'a Sample>,
}

impl Work<'_> {
    fn tail(&self, position: usize) -> Tail {
        self.tails[self.rows.classes[position] as usize]
    }

    /// The smallest ranks of the rows at the given positions, those below the bounds of the sample alone if there is one.
    fn gather(
        &self,
        meter: &Meter<'_>,
        positions: &[usize],
        sample: Option<&Sample>,
    ) -> Result<Smallest, Halt> {
        let rows = self.rows;
        let indices: Vec<usize> = positions.iter().map(|&position| rows.indices[position]).collect();
        let classes: Vec<u32> = positions.iter().map(|&position| rows.classes[position]).collect();
        let mut tile = Tile::default();
        let mut smallest = None;
        for against in self.against {
            let block = against.columns.block(rows.points, &indices);
            let smallest = match &mut smallest {
                Some(smallest) => smallest,
                first => first.insert(self.start(positions, &block, &classes, sample, &mut tile)?),
            };
            for columns in column_ranges(against, &classes, self.run.tile_columns) {
                meter.check()?;
                against.columns.ranks(&block, columns.clone(), &mut tile)?;
                for (row, &class) in classes.iter().enumerate() {
                    for part in against.others(class, &columns) {
                        smallest.offer(row, &tile.row(row)[part]);
                    }
                }
            }
        }
        Ok(smallest.unwrap_or_else(|| Smallest::new(std::iter::empty())))
    }

    /// Tails with nothing in them yet, and the bounds that they start with.
    fn start(
        &self,
        positions: &[usize],
        block: &RowBlock,
        classes: &[u32],
        sample: Option<&Sample>,
        tile: &mut Tile,
    ) -> Result<Smallest, Halt> {
        let bounds = match (sample, self.rows.bounds) {
            (Some(sample), _) => sample.bounds(block, classes, tile)?,
            (None, Some(bounds)) => positions.iter().map(|&position| bounds[position]).collect(),
            (None, None) => vec![f32::INFINITY; positions.len()],
        };
        let sizes = positions.iter().map(|&position| self.tail(position).size);
        Ok(Smallest::new(sizes.zip(bounds)))
    }

    /// Gathers again, without a bound, the tails that the sample's bounds left short. They are those of the rows from
    /// `first` on.
    fn complete(&self, meter: &Meter<'_>, first: usize, smallest: &mut Smallest) -> Result<(), Halt> {
        if self.sample.is_none() {
            return Ok(());
        }
        let is_short = |row: &usize| smallest.count(*row) < self.tail(first + row).size;
        let short: Vec<usize> = (0..smallest.rows()).filter(is_short).collect();
        for rows in short.chunks(self.run.tile_rows) {
            let positions: Vec<usize> = rows.iter().map(|row| first + row).collect();
            let whole = self.gather(meter, &positions, None)?;
            for (other, &row) in rows.iter().enumerate() {
                smallest.replace(row, &whole, other);
            }
        }
        Ok(())
    }
}

/// What a row keeps, as distances, sorted.
fn distances<'a>(metric: &Metric, smallest: &'a mut Smallest, row: usize) -> &'a [f32] {
    let tail = smallest.sorted(row);
    for value in tail.iter_mut() {
        *value = metric.distance_of_rank(*value);
    }
    tail
}

/// Column ranges of one tile each, leaving out what lies within the own class of every row.
fn column_ranges<'a>(
    against: &Against<'a>,
    classes: &[u32],
    width: usize,
) -> impl Iterator<Item = Range<usize>> + use<'a> {
    let shared = match (classes.first(), classes.last()) {
        (Some(first), Some(last)) if first == last && classes.iter().all(|class| class == first) => {
            against.own[*first as usize].clone()
        }
        _ => 0..0,
    };
    let count = against.columns.len();
    let tiles = move |range: Range<usize>| {
        range.clone().step_by(width).map(move |start| start..(start + width).min(range.end))
    };
    tiles(0..shared.start).chain(tiles(shared.end..count))
}
