//! The tails of one fit as steps that any engine can drive, in any order and in any process.
//!
//! A fit costs what its tails cost: the distances of all pairs. A driver that stands behind a [`Device`](crate::device::Device) gets them as one
//! [`TailWork`], and may have them found in parts:
//!
//! 1. [`Task::new`] takes what all parts need to know, some hundred vectors at most; it goes to every worker as bytes.
//! 2. The rows, which come in order of class, are cut into blocks.
//! 3. [`Task::bounds`] for each block: where tails end, most likely, by a sample of all rows.
//! 4. [`Task::meet`] for every two blocks, and for each with itself. Each distance is measured once, for both of its ends.
//! 5. [`Task::merge`] of all that a block has found, in any order and grouping.
//! 6. [`Task::short`] names rows whose bound proved too low; [`Task::gather`] finds theirs among all blocks, without a bound.
//! 7. [`Task::fit`] for each block.
//!
//! What comes out is what one process finds, bit for bit, if all workers have the same vector instructions; a step that is done twice gives
//! the same bytes. Parts are small: below its bound a row finds about as many values in a block as the block has of its tail.
//!
//! ```
//! use evmachine::device::{self, FitRule, TailWork};
//! use evmachine::steps::{Plain, Task, Vectors};
//! use evmachine::{Metric, Run, TailModel};
//!
//! let (values, classes) = ([0.0, 0.5, 2.0, 2.5, 7.0, 7.25], [0, 0, 1, 1, 2, 2]);
//! let work = TailWork {
//!     metric: &Metric::Euclidean,
//!     dimensions: 1,
//!     rows: device::Vectors { values: &Plain { values: &values, dimensions: 1 }, classes: &classes },
//!     among_themselves: true,
//!     columns: &[],
//!     sizes: &[2, 2, 2],
//!     bounds: None,
//!     fit: Some(FitRule { model: TailModel::Weibull, multiplier: 0.5, fixed_shape: None }),
//!     keep: true,
//!     watch: &|_| std::ops::ControlFlow::Continue(()),
//! };
//! let task = Task::from_bytes(&Task::new(&work).to_bytes())?;
//! let block = |rows: std::ops::Range<usize>| Vectors { values: &values[rows.clone()], classes: &classes[rows] };
//! let (first, second) = (block(0..3), block(3..6));
//! let run = Run::new();
//! let among = task.meet(&run, (first, None), None)?.0;
//! let with_second = task.meet(&run, (first, None), Some((second, None)))?.0;
//! let found = task.merge(first.classes, &[&among, &with_second])?;
//! assert!(task.short(first.classes, &found)?.is_empty());
//! assert_eq!(found.rows().next(), Some(&[2.0, 2.5][..]), "the two nearest of other classes");
//! assert_eq!(task.fit(&found)?.len(), 3);
//! # Ok::<(), evmachine::steps::StepError>(())
//! ```

mod error;

use std::ops::Range;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::device::{self, FitRule, NO_CLASS, Source, TailWork};
use crate::level;
use crate::metric::Metric;
use crate::points::Points;
use crate::psi::PsiModel;
use crate::psi::weibull::{self, Workspace};
use crate::run::Run;
pub use crate::tail::Found;
use crate::tail::{self, Bounding, Side};

pub use self::error::StepError;

/// Of the bytes of a [`Task`], and of what steps take and give.
pub const VERSION: u32 = 1;

/// What all steps of one fit share.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    metric: Metric,
    rule: Rule,
    /// Vectors of a sample of all rows, in order of class.
    sample: Vec<f32>,
    sample_classes: Vec<u32>,
}

/// What every version of a [`Rule`] has.
#[derive(Deserialize)]
struct Versioned {
    version: u32,
}

/// The part of a [`Task`] that is written as text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Rule {
    version: u32,
    /// The vector instructions of whoever made the task: with others the last digits of distances differ.
    level: String,
    metric: String,
    dimensions: usize,
    /// Values of a tail by class.
    sizes: Vec<usize>,
    /// By class, which value of the sample bounds its tails.
    places: Vec<usize>,
    fit: Option<FitRule>,
    sampled: usize,
}

/// Vectors that are ready for the metric, one after the other, and the class of each.
#[derive(Debug, Clone, Copy)]
pub struct Vectors<'a> {
    /// Of unit length for cosine.
    pub values: &'a [f32],
    /// As many as there are vectors.
    pub classes: &'a [u32],
}

/// Vectors that lie one after the other, as a [`Source`].
#[derive(Debug, Clone, Copy)]
pub struct Plain<'a> {
    /// All values.
    pub values: &'a [f32],
    /// Of a vector.
    pub dimensions: usize,
}

impl Source for Plain<'_> {
    fn count(&self) -> usize {
        self.values.len() / self.dimensions
    }

    fn write(&self, first: usize, out: &mut [f32]) {
        out.copy_from_slice(&self.values[first * self.dimensions..][..out.len()]);
    }
}

/// Rows of a block, and where their tails end, if that is known ([`Task::bounds`]).
pub type Block<'a> = (Vectors<'a>, Option<&'a [f32]>);

impl Task {
    /// What the steps of this work share. The sample is the same whenever it is drawn.
    pub fn new(work: &TailWork<'_>) -> Self {
        let d = work.dimensions.max(1);
        let itself = work.among_themselves.then_some(&work.rows);
        let parts: Vec<&device::Vectors<'_>> = itself.into_iter().chain(work.columns).collect();
        let count: usize = parts.iter().map(|part| part.classes.len()).sum();
        let sampled = Bounding::size(count, d, usize::MAX);
        let (mut sample, mut sample_classes) = (Vec::new(), Vec::new());
        let mut chosen: Vec<(u32, Vec<f32>)> = (0..sampled)
            .filter_map(|position| {
                let mut at = position * count / sampled;
                let part = parts.iter().find(|part| {
                    let here = at < part.classes.len();
                    at -= if here { 0 } else { part.classes.len() };
                    here
                })?;
                let mut vector = vec![0.0; d];
                part.values.write(at, &mut vector);
                Some((part.classes[at], vector))
            })
            .collect();
        chosen.sort_by_key(|(class, _)| *class);
        for (class, vector) in chosen {
            sample_classes.push(class);
            sample.extend(vector);
        }
        let mut counts = vec![0usize; work.sizes.len()];
        for &class in parts.iter().flat_map(|part| part.classes).filter(|class| **class != NO_CLASS) {
            counts[class as usize] += 1;
        }
        let sampled_own = tail::own_columns(&sample_classes, work.sizes.len());
        let places = work.sizes.iter().zip(&counts).zip(&sampled_own);
        let places = places.map(|((&size, &own), sampled_own)| {
            Bounding::place(sampled, sampled_own.len(), size, count - own)
        });
        let rule = Rule {
            version: VERSION,
            level: level::name(level::level()).to_owned(),
            metric: work.metric.name(),
            dimensions: d,
            sizes: work.sizes.to_vec(),
            places: places.collect(),
            fit: work.fit,
            sampled,
        };
        Self { metric: work.metric.clone(), rule, sample, sample_classes }
    }

    /// The task for all steps but [`bounds`](Self::bounds), which alone wants the sample; the sample may take megabytes.
    #[must_use]
    pub fn without_sample(&self) -> Self {
        let rule = Rule { sampled: 0, ..self.rule.clone() };
        Self { metric: self.metric.clone(), rule, sample: Vec::new(), sample_classes: Vec::new() }
    }

    /// The task for another process.
    pub fn to_bytes(&self) -> Vec<u8> {
        // Numbers and names are text always.
        let rule = serde_json::to_vec(&self.rule).unwrap_or_default();
        let mut bytes = (rule.len() as u64).to_le_bytes().to_vec();
        bytes.extend(rule);
        bytes.extend(self.sample_classes.iter().flat_map(|class| class.to_le_bytes()));
        bytes.extend(self.sample.iter().flat_map(|value| value.to_le_bytes()));
        bytes
    }

    /// A task of another process, of this version and of the same vector instructions.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, StepError> {
        let (length, rest) = bytes.split_first_chunk().ok_or(StepError::Damaged)?;
        let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| StepError::Damaged)?;
        let (rule, rest) = rest.split_at_checked(length).ok_or(StepError::Damaged)?;
        let found: Versioned = serde_json::from_slice(rule).map_err(|_| StepError::Damaged)?;
        if found.version != VERSION {
            return Err(StepError::Version { found: found.version, expected: VERSION });
        }
        let rule: Rule = serde_json::from_slice(rule).map_err(|_| StepError::Damaged)?;
        let here = level::name(level::level());
        if rule.level != here {
            return Err(StepError::Instructions { found: here.to_owned(), expected: rule.level });
        }
        let metric = Metric::from_name(&rule.metric).ok_or(StepError::Damaged)?;
        let values = rule.sampled.checked_mul(rule.dimensions).ok_or(StepError::Damaged)?;
        let words = rest.as_chunks::<4>();
        let whole = words.1.is_empty() && Some(words.0.len()) == values.checked_add(rule.sampled);
        if !whole || rule.dimensions == 0 || rule.places.len() != rule.sizes.len() {
            return Err(StepError::Damaged);
        }
        let (classes, sample) = words.0.split_at(rule.sampled);
        let sample_classes: Vec<u32> = classes.iter().map(|word| u32::from_le_bytes(*word)).collect();
        let sample = sample.iter().map(|word| f32::from_le_bytes(*word)).collect();
        let task = Self { metric, rule, sample, sample_classes };
        let vectors = Vectors { values: &task.sample, classes: &task.sample_classes };
        task.check(vectors, true).map_err(|_| StepError::Damaged)?;
        Ok(task)
    }

    /// By row, the distance at which its tail ends, most likely; infinite without the sample.
    pub fn bounds(&self, rows: Vectors<'_>) -> Result<Vec<f32>, StepError> {
        self.check(rows, false)?;
        let sample = Points::ready(&self.sample[..], self.rule.dimensions);
        let bounding = Bounding::new(&self.metric, &sample, &self.sample_classes, &self.rule.places);
        let (points, indices) = self.points(rows);
        let side = Side { points: &points, indices: &indices, classes: rows.classes, bounds: None };
        let ranks = bounding.bounds(&side)?;
        Ok(ranks.into_iter().map(|rank| self.metric.distance_of_rank(rank)).collect())
    }

    /// What two blocks find in each other, or one in itself. Nothing beyond its bound is found for a row.
    pub fn meet(
        &self,
        run: &Run<'_>,
        first: Block<'_>,
        second: Option<Block<'_>>,
    ) -> Result<(Found, Option<Found>), StepError> {
        let sizes = &self.rule.sizes;
        let one = StepRoom::new(self, first)?;
        let Some(second) = second else {
            return Ok((tail::among(run, &self.metric, &one.side(), sizes)?, None));
        };
        let other = StepRoom::new(self, second)?;
        let (found, of_second) = tail::between(run, &self.metric, &one.side(), &other.side(), sizes)?;
        Ok((found, Some(of_second)))
    }

    /// What rows find among columns that are not theirs, or once more among their own block; columns come in order of class, those
    /// of [`NO_CLASS`] last.
    pub fn gather(&self, run: &Run<'_>, rows: Block<'_>, columns: Vectors<'_>) -> Result<Found, StepError> {
        self.check(columns, true)?;
        let rows = StepRoom::new(self, rows)?;
        let (points, indices) = self.points(columns);
        let columns = Side { points: &points, indices: &indices, classes: columns.classes, bounds: None };
        Ok(tail::gather(run, &self.metric, &rows.side(), &columns, &self.rule.sizes)?)
    }

    /// The smallest of what several parts have found for rows of these classes: as many as a tail has.
    pub fn merge<C: AsRef<[u32]> + Sync, V: AsRef<[f32]> + Sync>(
        &self,
        classes: &[u32],
        parts: &[&Found<C, V>],
    ) -> Result<Found, StepError> {
        for part in parts {
            check_found(classes.len(), part)?;
        }
        for (row, &class) in classes.iter().enumerate() {
            self.size(row, class)?;
        }
        Ok(Found::smallest(parts, classes.len(), |row| self.rule.sizes[classes[row] as usize]))
    }

    /// Rows whose tails lack values, because a bound proved too low.
    pub fn short<C: AsRef<[u32]>, V: AsRef<[f32]>>(
        &self,
        classes: &[u32],
        found: &Found<C, V>,
    ) -> Result<Vec<usize>, StepError> {
        check_found(classes.len(), found)?;
        let mut short = Vec::new();
        for (row, (&class, &count)) in classes.iter().zip(found.counts.as_ref()).enumerate() {
            if (count as usize) < self.size(row, class)? {
                short.push(row);
            }
        }
        Ok(short)
    }

    /// What the work asks to be fitted to each tail; `None` for a row without one.
    pub fn fit<C: AsRef<[u32]>, V: AsRef<[f32]>>(
        &self,
        found: &Found<C, V>,
    ) -> Result<Vec<Option<PsiModel>>, StepError> {
        check_found(found.counts.as_ref().len(), found)?;
        let rule = self.rule.fit.ok_or(StepError::NothingToFit)?;
        let rows: Vec<&[f32]> = found.rows().collect();
        let fit = |workspace: &mut Workspace, tail: &[f32]| {
            (!tail.is_empty())
                .then(|| weibull::fit(tail, rule.multiplier, rule.model, rule.fixed_shape, workspace))
        };
        Ok(rows.into_par_iter().map_init(Workspace::default, |room, tail| fit(room, tail)).collect())
    }

    /// Values of the tail of a row of that class.
    fn size(&self, row: usize, class: u32) -> Result<usize, StepError> {
        self.rule.sizes.get(class as usize).copied().ok_or(StepError::Class { row, class })
    }

    fn points<'a>(&self, vectors: Vectors<'a>) -> (Points<'a>, Vec<usize>) {
        (Points::ready(vectors.values, self.rule.dimensions), (0..vectors.classes.len()).collect())
    }

    /// Whether there are as many vectors as classes, in order of class, all of which the task knows.
    fn check(&self, vectors: Vectors<'_>, strangers: bool) -> Result<(), StepError> {
        let (rows, dimensions) = (vectors.classes.len(), self.rule.dimensions);
        if Some(vectors.values.len()) != rows.checked_mul(dimensions) {
            return Err(StepError::Shape { values: vectors.values.len(), rows, dimensions });
        }
        for (row, &class) in vectors.classes.iter().enumerate() {
            if !(strangers && class == NO_CLASS) {
                self.size(row, class)?;
            }
        }
        match vectors.classes.windows(2).position(|pair| pair[0] > pair[1]) {
            Some(row) => Err(StepError::Order { row: row + 1 }),
            None => Ok(()),
        }
    }
}

/// Rows of a step, checked and laid out.
struct StepRoom<'a> {
    points: Points<'a>,
    indices: Vec<usize>,
    classes: &'a [u32],
    bounds: Option<Vec<f32>>,
}

impl<'a> StepRoom<'a> {
    fn new(task: &Task, (rows, bounds): Block<'a>) -> Result<Self, StepError> {
        task.check(rows, false)?;
        if let Some(bounds) = bounds.filter(|bounds| bounds.len() != rows.classes.len()) {
            return Err(StepError::Bounds { rows: rows.classes.len(), bounds: bounds.len() });
        }
        let (points, indices) = task.points(rows);
        let beyond = |distance: &f32| task.metric.largest_rank_within(*distance).next_up();
        let bounds = bounds.map(|bounds| bounds.iter().map(beyond).collect());
        Ok(Self { points, indices, classes: rows.classes, bounds })
    }

    fn side(&self) -> Side<'_> {
        Side {
            points: &self.points,
            indices: &self.indices,
            classes: self.classes,
            bounds: self.bounds.as_deref(),
        }
    }
}

/// Whether there are as many counts as rows, as many values as they count, and none that no distance has.
fn check_found<C: AsRef<[u32]>, V: AsRef<[f32]>>(rows: usize, found: &Found<C, V>) -> Result<(), StepError> {
    let (counts, values) = (found.counts.as_ref(), found.values.as_ref());
    let counted: usize = counts.iter().map(|&count| count as usize).sum();
    if counts.len() != rows || values.len() != counted {
        return Err(StepError::Found { rows, counts: counts.len(), values: values.len() });
    }
    // All bits above those of infinity are negative numbers, or none.
    match values.iter().position(|value| value.to_bits() > f32::INFINITY.to_bits()) {
        Some(at) => Err(StepError::Distance { at, value: values[at] }),
        None => Ok(()),
    }
}

/// Rows cut into blocks of about one size, as many as are wanted or one a row.
pub fn blocks(rows: usize, wanted: usize) -> Vec<Range<usize>> {
    let count = wanted.clamp(1, rows.max(1));
    // Of a whole, so that no product goes beyond the largest number.
    let start = |block: usize| (block as u128 * rows as u128 / count as u128) as usize;
    (0..count).map(|block| start(block)..start(block + 1)).collect()
}
