//! What finds tails, each in its own way, behind one signature.

mod blocks;
pub(super) mod cells;
pub(super) mod device;
mod near;
pub(super) mod stored;
mod stream;
pub(super) mod tournament;

use self::cells::Near;
use super::Problem;
use crate::error::RunError;
use crate::plan::{Executor, Plan};

/// Does what is wanted as the plan says.
pub fn execute<W: Default, R: Send>(
    plan: &Plan,
    problem: &Problem<'_>,
    finish: impl Fn(usize, &[f32], &mut W) -> R + Sync,
) -> Result<Vec<R>, RunError> {
    if !matches!(plan.executor, Executor::Device | Executor::Cells | Executor::Blocks { .. }) {
        problem.against.iter().for_each(|against| against.columns.prepare());
    }
    match plan.executor {
        Executor::Stream => stream::execute(plan, problem, finish),
        Executor::Tournament { .. } => tournament::execute(plan, problem, finish),
        Executor::Near => near::execute(plan, problem, finish),
        Executor::Exchange => tournament::exchange(plan, problem, finish),
        Executor::Blocks { .. } => blocks::execute(plan, problem, finish),
        Executor::Cells => Near::whole(problem)?.tails(finish),
        Executor::Device => match device::execute(problem, &finish)? {
            Some(found) => Ok(found),
            None => execute(&problem.plan_without_device(), problem, finish),
        },
    }
}
