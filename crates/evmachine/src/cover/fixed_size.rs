//! A given number of extreme vectors, by bisection of the cover threshold (Alg. 4).
//!
//! The listing in the supplement has slips; its text says what is meant: find the threshold that gives the
//! fewest extreme vectors that are still at least `N_max`, within a tolerance, and keep the `N_max` that cover most.
//! The bisection runs over the support of the threshold (`-ln(-ln varsigma)` for a Weibull), which resolves
//! thresholds near 0 and near 1 alike, beyond what an `f64` holds of them.

use rayon::prelude::*;

use super::neighbors::Neighbors;
use super::sets::Sets;
use super::{Candidates, Covering, Resources, greedy, radii_at};
use crate::error::RunError;
use crate::params::SHAPE_CAP;
use evmachine_engine::metric::Metric;

/// The lowest support: psi of e^-1097.
const LOW: f64 = -7.0;
/// The highest: here even the steepest curve reaches no further than rounding.
const HIGH: f64 = 20.0 * SHAPE_CAP;
/// Where the bisection ends.
const TOLERANCE: f64 = 1e-3;

/// At most `count` points of one class, which has more.
///
/// Distances are computed once where there is memory for them, else once a step. The cover of a step ends once it
/// has `count` points, because no more are kept.
pub(super) fn per_class(
    resources: &Resources<'_>,
    metric: &Metric,
    class: &Candidates<'_>,
    count: usize,
) -> Result<Covering, RunError> {
    let mut neighbors = Neighbors::new(metric, class, resources);
    neighbors.keep()?;
    let cover_at = |level| {
        let cover = greedy::cover(&Sets::new(&neighbors, &radii_at(class, level))?, None, count)?;
        let complete = cover.gains.iter().sum::<f32>() as usize == class.len();
        // An incomplete cover needs more than `count` points.
        let size = if complete { cover.order.len() } else { count + 1 };
        Ok((cover, size))
    };
    bisect(cover_at, count)
}

/// The covers of all classes at one shared threshold, `count` points or a few more in all.
pub(super) fn total(
    resources: &Resources<'_>,
    metric: &Metric,
    classes: &[Candidates<'_>],
    count: usize,
) -> Result<Vec<Covering>, RunError> {
    let mut neighbors: Vec<Neighbors<'_>> =
        classes.iter().map(|class| Neighbors::new(metric, class, resources)).collect();
    neighbors.par_iter_mut().try_for_each(Neighbors::keep)?;
    let cover_at = |level| {
        let covers = classes.par_iter().zip(&neighbors).map(|(class, neighbors)| {
            greedy::cover(&Sets::new(neighbors, &radii_at(class, level))?, None, usize::MAX)
        });
        let covers: Vec<Covering> = covers.collect::<Result<_, RunError>>()?;
        let size = covers.iter().map(|cover| cover.order.len()).sum();
        // A step is no progress that could be counted, but it can be stopped.
        resources.meter.advance(0)?;
        Ok((covers, size))
    };
    let covers = bisect(cover_at, count)?;
    resources.meter.advance(classes.len())?;
    Ok(covers)
}

/// The cover at the lowest level whose size is at least `count`; at the highest level if none reaches it.
fn bisect<C>(
    mut cover_at: impl FnMut(f64) -> Result<(C, usize), RunError>,
    count: usize,
) -> Result<C, RunError> {
    let (mut low, mut high) = (LOW, 1.0);
    let (mut best, mut size) = cover_at(high)?;
    while size < count && high < HIGH {
        (low, high) = (high, 4.0 * high);
        (best, size) = cover_at(high)?;
    }
    while high - low > TOLERANCE * high.abs().max(1.0) && size > count {
        let middle = f64::midpoint(low, high);
        let (cover, found) = cover_at(middle)?;
        if found >= count {
            (high, best, size) = (middle, cover, found);
        } else {
            low = middle;
        }
    }
    Ok(best)
}
