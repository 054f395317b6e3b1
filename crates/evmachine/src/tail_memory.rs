//! What extreme vectors remember of their tails.

use std::sync::Arc;

use crate::batch::Batch;
use crate::error::Halt;
use crate::metric::Metric;
use crate::model::{ClassModel, Evm, OPEN_TAIL};
use crate::params::TailMemory;
use crate::progress::{Run, Stage};
use crate::tail::{Against, Problem, Rows};

/// Whether the tails of all new points may be held until it is known which of them stay.
pub(crate) fn keeps_tails(model: &Evm, old_vectors: usize, batch: &Batch<'_>) -> bool {
    let per_class = model.classes.iter().zip(&batch.ranges).map(|(class, range)| {
        let negatives = old_vectors - class.len() + batch.order.len() - range.len() + model.ignored.len();
        (range.len() as u64).saturating_mul(class.tail_size.min(negatives) as u64)
    });
    let values = per_class.fold(0, u64::saturating_add);
    model.tail_memory == TailMemory::Full && values <= model.params.tail_memory_limit / BYTES
}

const BYTES: u64 = size_of::<f32>() as u64;

/// The tail as it is remembered: whole, or its largest value alone.
pub(crate) fn remembered(tail: &[f32], size: usize, memory: TailMemory) -> Arc<[f32]> {
    match memory {
        TailMemory::Full => tail.into(),
        TailMemory::Max if tail.len() < size => [OPEN_TAIL].into(),
        TailMemory::Max => tail.last().copied().into_iter().collect(),
        TailMemory::None => Arc::default(),
    }
}

/// Remembers of all tails, which are whole, the largest value alone.
pub(crate) fn forget_tails(model: &mut Evm) {
    model.tail_memory = TailMemory::Max;
    for class in &mut model.classes {
        for tail in &mut class.tails {
            *tail = remembered(tail, class.tail_size, TailMemory::Max);
        }
    }
}

/// Brings the tails of the model within the memory limit: all of them whole, or none. Those of the batch were kept, or
/// are measured `again`.
pub(crate) fn remember_tails(
    run: &Run<'_>,
    model: &mut Evm,
    batch: &Batch<'_>,
    again: Option<&[Against<'_>]>,
    sizes: &[usize],
) -> Result<(), Halt> {
    if model.tail_memory != TailMemory::Full {
        return Ok(());
    }
    let kept = again.is_none();
    let first_new = model.points_seen - batch.order.len() as u64;
    let rows = batch.order.len() + model.extreme_vector_count() + model.ignored.len();
    // What is not held yet has at most one distance to each row and each extreme vector.
    let length = |class: &ClassModel, i: usize| {
        if kept || class.sources[i] < first_new { class.tails[i].len() } else { class.tail_size.min(rows) }
    };
    let lengths =
        model.classes.iter().flat_map(|class| (0..class.len()).map(move |i| length(class, i) as u64));
    let whole = lengths.fold(0, u64::saturating_add) <= model.params.tail_memory_limit / BYTES;
    if whole && let Some(against) = again {
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

fn new_extreme_vectors(model: &Evm, first_new: u64) -> Vec<(usize, usize)> {
    let classes = model.classes.iter().enumerate();
    classes
        .flat_map(|(number, class)| {
            let sources = class.sources.iter().enumerate();
            sources.filter(move |(_, source)| **source >= first_new).map(move |(i, _)| (number, i))
        })
        .collect()
}
