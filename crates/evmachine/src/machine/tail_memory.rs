//! What extreme vectors remember of their tails.

use std::sync::Arc;

use crate::error::RunError;
use crate::machine::Machine;
use crate::machine::batch::Batch;
use crate::machine::class::ClassModel;
use crate::machine::measured::MeasuredRows;
use crate::params::TailMemory;
use evmachine_engine::metric::Metric;
use evmachine_engine::run::{Run, Stage};
use evmachine_engine::tail::memory::remembered;
use evmachine_engine::tail::{Against, Problem, Rows, Stored};

/// Whether the tails of all new points, or of those that are measured, may be held until it is known which of them stay.
pub(crate) fn keeps_tails(
    model: &Machine,
    old_vectors: usize,
    batch: &Batch<'_>,
    measured: Option<&MeasuredRows>,
) -> bool {
    if let Some(measured) = measured {
        let sizes: Vec<usize> = model.classes.iter().map(|class| class.tail_size).collect();
        let values = measured.values(&sizes);
        return model.tail_memory == TailMemory::Full && values <= model.params.tail_memory_limit / BYTES;
    }
    let per_class = model.classes.iter().zip(&batch.ranges).map(|(class, range)| {
        let negatives = old_vectors - class.len() + batch.order.len() - range.len() + model.ignored.len();
        (range.len() as u64).saturating_mul(class.tail_size.min(negatives) as u64)
    });
    let values = per_class.fold(0, u64::saturating_add);
    model.tail_memory == TailMemory::Full && values <= model.params.tail_memory_limit / BYTES
}

const BYTES: u64 = size_of::<f32>() as u64;

/// Remembers of all tails, which are whole, the largest value alone.
pub(crate) fn forget_tails(model: &mut Machine) {
    model.tail_memory = TailMemory::Max;
    for class in &mut model.classes {
        for tail in &mut class.tails {
            *tail = remembered(tail, class.tail_size, TailMemory::Max);
        }
    }
}

/// Where the whole tails of new extreme vectors are.
pub(crate) enum NewTails<'a> {
    /// In the model.
    Kept,
    /// Nowhere; they are measured again.
    Measured(&'a [Against<'a>]),
    /// In the scratch of the run.
    Stored {
        stored: &'a Stored,
        /// Whether their lengths count, as they would if they had been kept.
        known: bool,
    },
}

impl<'a> NewTails<'a> {
    /// Measured `again`, or `stored`; what is known of them if they are.
    pub(crate) fn new(again: Option<&'a [Against<'a>]>, stored: Option<&'a Stored>, known: bool) -> Self {
        match (again, stored) {
            (Some(against), _) => Self::Measured(against),
            (None, Some(stored)) => Self::Stored { stored, known },
            (None, None) => Self::Kept,
        }
    }
}

/// Brings the tails of the model within the memory limit: all of them whole, or none. Rows of the batch are numbered from `first_new` on.
pub(crate) fn remember_tails(
    run: &Run<'_>,
    model: &mut Machine,
    batch: &Batch<'_>,
    new: &NewTails<'_>,
    (sizes, first_new): (&[usize], u64),
) -> Result<(), RunError> {
    if model.tail_memory != TailMemory::Full {
        return Ok(());
    }
    let kept = matches!(new, NewTails::Kept);
    let rows = batch.order.len() + model.extreme_vector_count() + model.ignored.len();
    let mut positions = Vec::new();
    if let NewTails::Stored { .. } = new {
        positions = vec![0; batch.points.len()];
        batch.order.iter().enumerate().for_each(|(position, &row)| positions[row] = position);
    }
    let position = |source: u64| positions[(source - first_new) as usize];
    // What is not held yet has at most one distance to each row and each extreme vector.
    let length = |class: &ClassModel, i: usize| match new {
        _ if class.sources[i] < first_new => class.tails[i].len(),
        NewTails::Kept => class.tails[i].len(),
        NewTails::Stored { stored, known: true } => stored.counts[position(class.sources[i])] as usize,
        NewTails::Measured(_) | NewTails::Stored { .. } => class.tail_size.min(rows),
    };
    let lengths =
        model.classes.iter().flat_map(|class| (0..class.len()).map(move |i| length(class, i) as u64));
    let whole = lengths.fold(0, u64::saturating_add) <= model.params.tail_memory_limit / BYTES;
    if whole && let NewTails::Stored { stored, .. } = new {
        let scratch = run.store().expect("what is stored lies in the scratch");
        let mut chosen: Vec<(usize, usize, usize)> = new_extreme_vectors(model, first_new)
            .into_iter()
            .map(|(class, i)| (position(model.classes[class].sources[i]), class, i))
            .collect();
        chosen.sort_unstable();
        let rows: Vec<usize> = chosen.iter().map(|(position, ..)| *position).collect();
        for ((_, class, i), tail) in chosen.into_iter().zip(stored.tails(scratch, &rows)?) {
            model.classes[class].tails[i] = tail;
        }
    }
    if whole && let NewTails::Measured(against) = new {
        let metric: &Metric = &model.params.metric;
        let chosen: Vec<(usize, usize)> = new_extreme_vectors(model, first_new);
        let indices: Vec<usize> =
            chosen.iter().map(|&(class, i)| (model.classes[class].sources[i] - first_new) as usize).collect();
        let classes: Vec<u32> = chosen.iter().map(|&(class, _)| class as u32).collect();
        let rows = Rows::new(&batch.points, &indices, &classes);
        let problem = Problem::new((run, Stage::Tails), metric, rows, against, sizes);
        let tails = problem.tails(|_, tail, (): &mut ()| Arc::from(tail))?;
        for ((class, i), tail) in chosen.into_iter().zip(tails) {
            model.classes[class].tails[i] = tail;
        }
    }
    if !whole {
        model.tail_memory = TailMemory::Max;
        for class in &mut model.classes {
            for (tail, &source) in class.tails.iter_mut().zip(&class.sources) {
                if kept || source < first_new {
                    *tail = remembered(tail, class.tail_size, TailMemory::Max);
                }
            }
        }
    }
    Ok(())
}

fn new_extreme_vectors(model: &Machine, first_new: u64) -> Vec<(usize, usize)> {
    let classes = model.classes.iter().enumerate();
    classes
        .flat_map(|(number, class)| {
            let sources = class.sources.iter().enumerate();
            sources.filter(move |(_, source)| **source >= first_new).map(move |(i, _)| (number, i))
        })
        .collect()
}
