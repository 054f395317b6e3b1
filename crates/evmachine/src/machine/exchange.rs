//! Distances between a batch and the extreme vectors, measured once for both sides.

use crate::error::RunError;
use crate::machine::Machine;
use crate::machine::batch::Batch;
use crate::machine::refit;
use crate::params::{Refit, TailMemory};
use evmachine_engine::plan::{Executor, Plan};
use evmachine_engine::run::{Run, Stage};
use evmachine_engine::tail::{self, Against, OtherEnd, Problem};

/// Distances between new points and extreme vectors of other classes, sorted.
pub(crate) struct Exchanged {
    /// For each new point, the smallest: as many as its tail has.
    pub(crate) new: Vec<Vec<f32>>,
    /// For each extreme vector, the smallest of those that lie within its tail. Most have none.
    pub(crate) old: Vec<Vec<f32>>,
}

/// Distances between the batch and the extreme vectors, measured once where both sides need them and memory allows.
pub(crate) fn exchange(
    run: &Run<'_>,
    model: &Machine,
    batch: &Batch<'_>,
    against: &[Against<'_>],
    sizes: &[usize],
    plans: &mut Vec<Plan>,
) -> Result<Option<Exchanged>, RunError> {
    // Ignored samples stand between the two where there are any.
    let [old, _] = against else { return Ok(None) };
    let both =
        model.tail_memory == TailMemory::Full && model.params.refit != Refit::New && run.store().is_none();
    if !both || !model.ignored.is_empty() {
        return Ok(None);
    }
    let vectors = refit::Old::new(model, sizes);
    let bounds = vectors.bounds_of(&vectors.all);
    let old = [*old];
    let problem = Problem::new((run, Stage::Refit), &model.params.metric, batch.rows(), &old, sizes)
        .with_other_end(OtherEnd { classes: &vectors.classes, bounds: &bounds });
    let plan = problem.plan();
    if plan.executor != Executor::Exchange {
        return Ok(None);
    }
    plans.push(plan);
    let mut new = tail::execute(&plan, &problem, |_, tail, (): &mut ()| tail.to_vec())?;
    let old = new.split_off(batch.order.len());
    Ok(Some(Exchanged { new, old }))
}
