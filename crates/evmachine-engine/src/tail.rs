//! The tau smallest distances of each point to other classes (Alg. 2).
//!
//! A [`Problem`] says what is wanted, a [`Plan`] how it is done, and an executor does it:
//!
//! | executor | what it saves | file |
//! |---|---|---|
//! | stream | memory: a tile, and twice the tail for each row in flight | `executors/stream.rs` |
//! | tournament | half of the distances: each is offered to both of its ends | `executors/tournament.rs` |
//! | near | storing and comparing, in few dimensions: most ranks never leave the registers | `executors/near.rs` |
//! | exchange | half of the distances between a batch and the model | `executors/tournament.rs` |
//! | cells | most of the distances, where a recall is asked for: rows meet what lies near | `executors/cells.rs` |
//! | device | the processor: another device does it, and fits as well | `executors/device.rs` |
//! | blocks | memory: rows and what they have found lie on a disk | `executors/blocks.rs`, fits `executors/stored.rs` |
//!
//! A tail is sorted, and a distance depends on its pair alone; so tails are the same, bit for bit, for every executor, tile and
//! number of threads, but for cells, which find the share that was asked for. Another device rounds distances in its own way, and gives the same tails whenever it is asked again.

mod bounds;
mod executors;
pub mod fitted;
mod meeting;
pub mod memory;
pub mod merge;
mod select;
mod smallest;
pub mod steps;

use std::ops::Range;

use crate::device::{Device, WorkKind};
use crate::distance::{self, Columns};
use crate::error::RunError;
use crate::level;
use crate::metric::Metric;
use crate::points::Points;
use crate::run::{Run, Stage};
use crate::search::Search;

pub use self::executors::cells::Near;
pub use self::executors::execute;
pub use self::executors::stored::Stored;
use self::executors::tournament;
pub use self::meeting::Found;
pub(crate) use self::meeting::{Bounding, Side, among, between, gather};
use self::smallest::Smallest;
use crate::plan::{self, Facts, Plan, Sides, WantedTails};

/// Columns to measure against, and which of them belong to each class.
#[derive(Clone, Copy)]
pub struct Against<'a> {
    /// What is measured against.
    pub columns: &'a dyn Columns,
    /// By class, the columns of that class; they lie together.
    pub own: &'a [Range<usize>],
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
#[derive(Clone, Copy)]
pub struct Rows<'a> {
    /// All points that they are among.
    pub points: &'a Points<'a>,
    /// Which of the points, in order of class for the best speed.
    pub indices: &'a [usize],
    /// By class number, for each of `indices`.
    pub classes: &'a [u32],
    /// Largest rank of interest for each of `indices`; larger ones may be left out.
    pub bounds: Option<&'a [f32]>,
    /// Whether these very points, in this order, are also the columns of the last that they are measured against.
    pub are_columns: bool,
}

impl<'a> Rows<'a> {
    /// Some of the points, and the class of each.
    pub fn new(points: &'a Points<'a>, indices: &'a [usize], classes: &'a [u32]) -> Self {
        Self { points, indices, classes, bounds: None, are_columns: false }
    }

    /// The same, with a largest rank of interest for each.
    pub fn within(self, bounds: &'a [f32]) -> Self {
        Self { bounds: Some(bounds), ..self }
    }

    /// The same, met by themselves at last.
    pub fn among_themselves(self) -> Self {
        Self { are_columns: true, ..self }
    }
}

/// The columns as those who want tails too.
#[derive(Clone, Copy)]
pub struct OtherEnd<'a> {
    /// Class of each column.
    pub classes: &'a [u32],
    /// Largest rank of interest for each of them.
    pub bounds: &'a [f32],
}

/// What is wanted: for each row the `sizes[class]` smallest distances to columns of other classes.
#[derive(Clone, Copy)]
pub struct Problem<'a> {
    /// How to run it.
    pub run: &'a Run<'a>,
    /// What an observer is told that it is.
    pub stage: Stage,
    /// How far apart two points are.
    pub metric: &'a Metric,
    /// Who wants tails.
    pub rows: Rows<'a>,
    /// What they are measured against.
    pub against: &'a [Against<'a>],
    /// By class.
    pub sizes: &'a [usize],
    /// Whether a part of the tails is enough.
    pub search: Search,
    /// Where the columns, of the only one of `against`, want tails among the rows.
    pub other_end: Option<OtherEnd<'a>>,
    /// Whether rows and columns are blocks, cut so that what both find fits the memory.
    are_blocks: bool,
}

impl<'a> Problem<'a> {
    /// Exact tails for the rows alone.
    pub fn new(
        (run, stage): (&'a Run<'a>, Stage),
        metric: &'a Metric,
        rows: Rows<'a>,
        against: &'a [Against<'a>],
        sizes: &'a [usize],
    ) -> Self {
        let (search, other_end) = (Search::Exact, None);
        Self { run, stage, metric, rows, against, sizes, search, other_end, are_blocks: false }
    }

    /// The same, for other rows.
    pub fn for_rows(self, rows: Rows<'a>) -> Self {
        Self { rows, ..self }
    }

    /// The same, with tails for the columns too.
    pub fn with_other_end(self, other_end: OtherEnd<'a>) -> Self {
        Self { other_end: Some(other_end), ..self }
    }

    /// The same, of two blocks that were cut to meet.
    pub(crate) fn with_other_block(self, other_end: OtherEnd<'a>) -> Self {
        Self { are_blocks: true, ..self.with_other_end(other_end) }
    }

    /// The same, with tails of which a part may do.
    pub fn searched(self, search: Search) -> Self {
        Self { search, ..self }
    }

    /// Plans and executes. `finish` gets the position of a row and its tail, sorted; results come in the order of rows.
    pub fn tails<W: Default, R: Send>(
        &self,
        finish: impl Fn(usize, &[f32], &mut W) -> R + Sync,
    ) -> Result<Vec<R>, RunError> {
        execute(&self.plan(), self, finish)
    }

    /// How it will be done.
    pub fn plan(&self) -> Plan {
        self.planned(self.device().is_some())
    }

    /// How the processor would do it.
    pub fn plan_without_device(&self) -> Plan {
        self.planned(false)
    }

    fn planned(&self, device: bool) -> Plan {
        let count = self.rows.indices.len();
        let mut wanted: Vec<WantedTails> = (0..self.sizes.len())
            .map(|class| WantedTails {
                rows: 0,
                size: self.size(class as u32),
                negatives: self.negatives(class),
            })
            .collect();
        for &class in self.rows.classes {
            wanted[class as usize].rows += 1;
        }
        let sum = |bytes: &mut dyn Iterator<Item = usize>| bytes.fold(0, usize::saturating_add);
        let dimensions = self.rows.points.dimensions();
        let tail_bytes = |wanted: &WantedTails| wanted.rows.saturating_mul(Smallest::bytes(wanted.size));
        let facts = Facts {
            rows: count,
            dimensions,
            wanted: &wanted,
            sides: match (self.other_end, self.rows.are_columns) {
                (Some(_), _) if self.are_blocks => Sides::Blocks,
                (Some(_), _) => Sides::Both,
                (None, true) if self.against.len() == 1 => Sides::Same,
                (None, _) => Sides::Rows,
            },
            bounded: self.rows.bounds.is_some(),
            in_registers: distance::is_in_registers(self.metric, dimensions),
            memory: self.run.memory,
            tail_bytes: sum(&mut wanted.iter().map(tail_bytes)),
            row_bytes: count.saturating_mul(dimensions).saturating_mul(size_of::<f32>()),
            exchange_bytes: self.other_end.map_or(0, |end| tournament::exchange_bytes(self, &end)),
            device,
            stored: self.run.scratch.is_some(),
            threads: rayon::current_num_threads(),
            exact: self.search.is_exact(),
            many: self.run.many,
            level: level::name(level::level()),
        };
        let plan = plan::plan(&facts);
        #[cfg(feature = "forced")]
        if let Some((executor, bounds)) = self.run.forced
            && facts.sides == Sides::Same
        {
            return Plan { executor, bounds, ..plan };
        }
        plan
    }

    /// The device that takes the work, if there is one.
    fn device(&self) -> Option<&'a dyn Device> {
        let columns: usize = self.against.iter().map(|against| against.columns.len()).sum();
        let pairs = (self.rows.indices.len() as u64).saturating_mul(columns as u64);
        let device =
            self.run.device_for(WorkKind::Tails, pairs.saturating_mul(self.rows.points.dimensions() as u64));
        device.filter(|_| !matches!(self.metric, Metric::Custom(_)))
    }

    /// Points of other classes than this one.
    fn negatives(&self, class: usize) -> usize {
        self.against.iter().map(|against| against.columns.len() - against.own[class].len()).sum()
    }

    /// Values of a tail of that class, at least one; not more than there are negatives.
    fn size(&self, class: u32) -> usize {
        self.sizes[class as usize].min(self.negatives(class as usize))
    }
}

/// Points as columns, laid out as the run has room for: by tile if rows lie on a disk, else once, when the first tile is asked for.
pub fn columns<'a>(
    run: &Run<'_>,
    metric: &'a Metric,
    points: &'a Points<'a>,
    order: &'a [usize],
) -> Box<dyn Columns + 'a> {
    match run.store() {
        Some(_) => distance::columns_by_tile(metric, points, order),
        None => distance::columns_later(metric, points, order),
    }
}

/// By class, the columns of that class, where they come in order of class. Columns of no class come last.
pub(crate) fn own_columns(classes: &[u32], count: usize) -> Vec<Range<usize>> {
    let start = |class: usize| classes.partition_point(|&other| (other as usize) < class);
    (0..count).map(|class| start(class)..start(class + 1)).collect()
}

/// What a row keeps, as distances, sorted.
fn distances<'a>(metric: &Metric, smallest: &'a mut Smallest, row: usize) -> &'a [f32] {
    let tail = smallest.sorted(row);
    for value in tail.iter_mut() {
        *value = metric.distance_of_rank(*value);
    }
    tail
}
