//! Covers that another device finds.

use std::ops::ControlFlow;

use super::{Candidates, Covering, Resources, radii};
use crate::error::RunError;
use evmachine_engine::device::{CoverClass, CoverWork, Device, Source, WorkKind, unless_given_way};
use evmachine_engine::metric::Metric;
use evmachine_engine::run::Run;

/// The device that takes the covers of the classes, if there is one. Risks are weighed on the processor.
fn taking<'a>(run: &Run<'a>, metric: &Metric, classes: &[Candidates<'_>]) -> Option<&'a dyn Device> {
    let multiplications = classes.iter().map(|class| {
        let pairs = (class.len() as u64).saturating_mul(class.len() as u64);
        pairs.saturating_mul(class.points.dimensions() as u64)
    });
    let device = run.device_for(WorkKind::Covers, multiplications.fold(0, u64::saturating_add))?;
    let plain = classes.iter().all(|class| class.risks.is_none());
    (plain && !matches!(metric, Metric::Custom(_))).then_some(device)
}

/// The greedy set cover of each class at the threshold; `None` where there is no device for it, or it gave way.
pub(super) fn covers(
    resources: &Resources<'_>,
    metric: &Metric,
    threshold: f64,
    classes: &[Candidates<'_>],
) -> Result<Option<Vec<Covering>>, RunError> {
    let Some(device) = taking(resources.run, metric, classes) else { return Ok(None) };
    let wanted: Vec<CoverClass<'_>> = classes
        .iter()
        .map(|class| {
            let distances =
                |ranks: &Vec<f32>| ranks.iter().map(|&rank| metric.distance_of_rank(rank)).collect();
            CoverClass {
                points: &class.points,
                targets: class.originals.as_ref().map(|originals| originals as &dyn Source),
                radii: radii(class, threshold),
                limits: class.strangers.as_ref().map(distances),
            }
        })
        .collect();
    let watch = |classes| {
        let stopped = resources.meter.advance(classes).is_err();
        if stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let dimensions = classes.first().map_or(1, |class| class.points.dimensions());
    let work = CoverWork { metric, dimensions, classes: &wanted, watch: &watch };
    let Some(found) = unless_given_way(device, device.covers(&work))? else { return Ok(None) };
    let covers = found.into_iter().map(|chosen| Covering {
        order: chosen.iter().map(|&(position, _)| position as usize).collect(),
        gains: chosen.iter().map(|&(_, gain)| gain as f32).collect(),
    });
    Ok(Some(covers.collect()))
}
