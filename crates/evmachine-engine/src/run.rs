//! Progress of long calls, and how to stop them.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::device::{Device, WorkKind};
use crate::distance::{GROUP, Tile};
use crate::error::RunError;
use crate::memory;
use crate::scratch::Scratch;

/// The stage that a long call is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Stage {
    /// The within-class covariance is taken; counted in points.
    Whitening,
    /// Points move towards their neighbours; counted in points.
    Smoothing,
    /// Tails are gathered and Psi-models fitted to them; counted in points.
    Tails,
    /// Extreme vectors that are already in the model meet the new points; counted in extreme vectors.
    Refit,
    /// Extreme vectors are chosen; counted in classes.
    Cover,
    /// A linear probe is fitted; counted in steps, of which fewer than the total may be needed.
    Probe,
    /// A forest is grown; counted in trees.
    Forest,
    /// Queries are compared with the extreme vectors; counted in queries.
    Predict,
    /// The reasons for decisions are gathered; counted in queries.
    Explain,
}

impl fmt::Display for Stage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Stage::Whitening => "whitening",
            Stage::Smoothing => "smoothing",
            Stage::Tails => "fitting tails",
            Stage::Refit => "refitting",
            Stage::Cover => "choosing extreme vectors",
            Stage::Probe => "fitting the probe",
            Stage::Forest => "growing the forest",
            Stage::Predict => "predicting",
            Stage::Explain => "explaining",
        })
    }
}

/// Watches a long call, and can stop it.
///
/// Called from many threads; [`ControlFlow::Break`] ends the call with a `Stopped` error and changes nothing.
///
/// ```
/// use std::ops::ControlFlow;
/// use evmachine::{Evm, Features, FitError, Labels, Params, Run, RunError, Stage};
///
/// let features = Features::new(vec![0.0, 0.1, 5.0, 5.1], 1)?;
/// let labels = Labels::new(["low", "low", "high", "high"])?;
/// let stop = |_: Stage, _: u64, _: u64| ControlFlow::Break(());
/// let result = Evm::fit_with(&Run::new().observer(&stop), &Params::plain(), &features, &labels);
/// assert_eq!(result.unwrap_err(), FitError::Run(RunError::Stopped));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Observer: Sync {
    /// `done` of `total` units of the stage are finished.
    fn progress(&self, stage: Stage, done: u64, total: u64) -> ControlFlow<()>;
}

impl<F> Observer for F
where
    F: Fn(Stage, u64, u64) -> ControlFlow<()> + Sync,
{
    fn progress(&self, stage: Stage, done: u64, total: u64) -> ControlFlow<()> {
        self(stage, done, total)
    }
}

/// How to run a call: who watches, how much memory it may use, and what else than the processor may do the work. Nothing here
/// changes the result, but that another device rounds distances in its own way, and [`approximate_from`](Run::approximate_from).
#[derive(Clone, Copy)]
pub struct Run<'a> {
    observer: Option<&'a dyn Observer>,
    device: Option<&'a dyn Device>,
    pub(crate) scratch: Option<&'a dyn Scratch>,
    /// Rows in a block of a tile.
    pub(crate) tile_rows: usize,
    /// Columns in a tile.
    pub(crate) tile_columns: usize,
    /// Bytes for tails in flight, and again for covers.
    pub(crate) memory: usize,
    /// From how many rows and extreme vectors on an approximate search is not exact, where it is not as planned.
    pub(crate) many: Option<usize>,
    /// How tails of points among themselves are made, whatever the plan would be.
    #[cfg(feature = "forced")]
    pub(crate) forced: Option<(crate::plan::Executor, crate::plan::Bounds)>,
}

impl<'a> Run<'a> {
    /// Nobody watches; tiles that fit the caches; for tails in flight, and again for covers, at most a quarter of the memory that this
    /// process may use, or 1 GiB where the system does not say.
    pub fn new() -> Self {
        Self {
            observer: None,
            device: None,
            scratch: None,
            tile_rows: 120,
            tile_columns: Tile::COLUMNS,
            memory: memory::default_bytes(),
            many: None,
            #[cfg(feature = "forced")]
            forced: None,
        }
    }

    /// Has the call watched.
    pub fn observer(mut self, observer: &'a dyn Observer) -> Self {
        self.observer = Some(observer);
        self
    }

    /// Has tails, covers and supports found by a device, where it takes them and the metric is a built-in one.
    pub fn device(mut self, device: &'a dyn Device) -> Self {
        self.device = Some(device);
        self
    }

    /// The device, if it does that and takes work of so many multiplications.
    pub fn device_for(&self, kind: WorkKind, multiplications: u64) -> Option<&'a dyn Device> {
        self.device.filter(|device| device.does(kind) && device.takes(multiplications))
    }

    /// Has a fit or an update hold what does not fit the memory in the scratch, and go on from what is there.
    pub fn scratch(mut self, scratch: &'a dyn Scratch) -> Self {
        self.scratch = Some(scratch);
        self
    }

    /// The folder that holds what does not fit the memory, if there is one.
    pub fn store(&self) -> Option<&'a dyn Scratch> {
        self.scratch
    }

    /// Bytes for tails in flight, and again for covers.
    pub fn working_memory(&self) -> usize {
        self.memory
    }

    /// Columns of a tile of distances.
    pub fn tile_columns(&self) -> usize {
        self.tile_columns
    }

    /// Rows of a block of a tile.
    pub fn tile_rows(&self) -> usize {
        self.tile_rows
    }

    /// Row count from which on an approximate search is not exact, if the caller set one.
    pub fn many(&self) -> Option<usize> {
        self.many
    }

    /// The same, with all in memory.
    pub fn in_memory(&self) -> Self {
        Self { scratch: None, ..*self }
    }

    /// The same, watched by another.
    pub(crate) fn watched_by(&self, observer: &'a dyn Observer) -> Self {
        Self { observer: Some(observer), ..*self }
    }

    /// Sets the size of the tiles of distances, in rows and columns, each at least 1 and at most 2^20. For benchmarks.
    pub fn tile(mut self, rows: usize, columns: usize) -> Self {
        (self.tile_rows, self.tile_columns) = (rows.clamp(1, 1 << 20), columns.clamp(1, 1 << 20));
        self
    }

    /// Sets the bytes that all tails in flight may take, with the rows that are laid out for them, and those that covers
    /// may keep. Beyond them, distances are computed again when they are needed.
    pub fn memory(mut self, bytes: usize) -> Self {
        self.memory = bytes;
        self
    }

    /// Has an approximate [`Search`](crate::Search) begin with so many rows or extreme vectors instead of searching few of them
    /// exactly. For measurements on small sets; it changes the result.
    pub fn approximate_from(mut self, rows: usize) -> Self {
        self.many = Some(rows);
        self
    }

    /// Has tails of points among themselves made in that way.
    #[cfg(feature = "forced")]
    pub fn forced(self, plan: (crate::plan::Executor, crate::plan::Bounds)) -> Self {
        Self { forced: Some(plan), ..self }
    }

    /// Counts a stage of so many units.
    pub fn meter(&self, stage: Stage, total: usize) -> Meter<'a> {
        Meter {
            observer: self.observer,
            stage,
            total: total as u64,
            done: AtomicU64::new(0),
            stopped: AtomicBool::new(false),
        }
    }

    /// Rows of a block so that every thread gets several, in whole groups of the kernel's rows. Of few rows it gets one of up to
    /// `FEW`: every block passes over all columns, and they come from memory as fast as so many rows take them.
    pub fn block_rows(&self, rows: usize) -> usize {
        let threads = rayon::current_num_threads();
        let share = rows.div_ceil(4 * threads).max(rows.div_ceil(threads).min(FEW)).max(1);
        share.next_multiple_of(GROUP).min(self.tile_rows)
    }
}

/// Rows that take columns about as fast as they come from memory.
const FEW: usize = 72;

impl Default for Run<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Run<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Run")
            .field("observed", &self.observer.is_some())
            .field("tile", &(self.tile_rows, self.tile_columns))
            .field("memory", &self.memory)
            .field("device", &self.device.map(Device::name))
            .finish()
    }
}

/// Counts a stage's finished units, shared by its threads.
pub struct Meter<'a> {
    observer: Option<&'a dyn Observer>,
    stage: Stage,
    total: u64,
    done: AtomicU64,
    stopped: AtomicBool,
}

impl Meter<'_> {
    /// Counts finished units. Fails if the observer asks to stop.
    pub fn advance(&self, units: usize) -> Result<(), RunError> {
        let done = self.done.fetch_add(units as u64, Ordering::Relaxed) + units as u64;
        if let Some(observer) = self.observer
            && observer.progress(self.stage, done, self.total).is_break()
        {
            self.stopped.store(true, Ordering::Relaxed);
        }
        self.check()
    }

    /// Whether another thread was told to stop.
    pub fn check(&self) -> Result<(), RunError> {
        if self.stopped.load(Ordering::Relaxed) { Err(RunError::Stopped) } else { Ok(()) }
    }
}
