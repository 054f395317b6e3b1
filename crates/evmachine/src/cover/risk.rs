//! What points claim of other classes.

use std::ops::Range;

use rayon::prelude::*;

use crate::error::RunError;
use evmachine_engine::distance::{Columns, Tile};
use evmachine_engine::metric::Metric;
use evmachine_engine::points::Points;
use evmachine_engine::psi::curve::Curve;
use evmachine_engine::run::{Run, Stage};

/// A psi below this claims nothing, so that few are computed.
const LEAST: f64 = 1e-3;

/// By point, the sum of its psi over all columns but `own`.
///
/// Costs their distances.
pub(crate) fn claims(
    run: &Run<'_>,
    metric: &Metric,
    (points, curves): (&Points<'_>, &[Curve]),
    columns: &dyn Columns,
    own: &Range<usize>,
) -> Result<Vec<f64>, RunError> {
    let reach = |curve: &Curve| metric.largest_rank_within(curve.radius(LEAST));
    let bounds: Vec<f32> = curves.iter().map(reach).collect();
    let all: Vec<usize> = (0..points.len()).collect();
    let meter = run.meter(Stage::Cover, all.len());
    let blocks: Result<Vec<Vec<f64>>, RunError> = all
        .par_chunks(run.block_rows(all.len()))
        .map(|rows| {
            meter.check()?;
            let block = columns.block(points, rows);
            let (mut tile, mut sums) = (Tile::default(), vec![0.0; rows.len()]);
            for others in [0..own.start, own.end..columns.len()] {
                for start in others.clone().step_by(run.tile_columns()) {
                    columns.ranks(&block, start..(start + run.tile_columns()).min(others.end), &mut tile)?;
                    for (position, (sum, &row)) in sums.iter_mut().zip(rows).enumerate() {
                        for &rank in tile.row(position).iter().filter(|rank| **rank <= bounds[row]) {
                            *sum += curves[row].psi(f64::from(metric.distance_of_rank(rank)));
                        }
                    }
                }
            }
            Ok(sums)
        })
        .collect();
    Ok(blocks?.concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::labels::Labels;
    use crate::model::Evm;
    use crate::params::{Params, TailSize};
    use evmachine_engine::features::Features;

    /// Two clumps on a line, of twenty rows each; row 7 has the label of the other.
    fn flipped() -> (Features<'static>, Labels) {
        let place = |i: usize| (i % 20) as f32 * 0.1 + if i < 20 { 0.0 } else { 9.0 };
        let name = |i: usize| if (i < 20) == (i == 7) { "high" } else { "low" };
        let values: Vec<f32> = (0..40).map(place).collect();
        (Features::new(values, 1).unwrap(), Labels::new((0..40).map(name)).unwrap())
    }

    fn kept(run: &Run<'_>, params: &Params, ignored: &[f32]) -> Vec<u64> {
        let (features, labels) = flipped();
        let ignored = Features::new(ignored.to_vec(), 1).unwrap();
        let (evm, _) = Evm::fit_ignoring_with(run, params, &features, &labels, &ignored).unwrap();
        evm.extreme_vectors().map(|vector| vector.source).collect()
    }

    #[test]
    fn an_outlier_that_claims_others_is_not_kept() {
        let params = |cover_risk| Params { tail_size: TailSize::Count(10), cover_risk, ..Params::paper() };
        let none = kept(&Run::new(), &params(0.0), &[]);
        assert!(none.contains(&7), "{none:?}");
        let some = kept(&Run::new(), &params(1.0), &[]);
        assert!(!some.contains(&7) && some.len() < none.len(), "{some:?}");
        assert_eq!(kept(&Run::new().tile(3, 5), &params(1.0), &[]), some);
        assert_eq!(kept(&Run::new(), &params(1e9), &[]).len(), 2, "each class keeps one");
    }

    #[test]
    fn ignored_samples_count_as_other_classes() {
        let curve = |scale| {
            let psi = crate::PsiModel { shape: 2.0, scale, shift: 0.0, status: crate::FitStatus::Converged };
            Curve::new(crate::TailModel::Weibull, &psi)
        };
        let (points, metric) = (Points::ready(vec![0.0, 1.0, 5.0], 1), Metric::Euclidean);
        let columns = evmachine_engine::distance::columns(&metric, &points, &[0, 1, 2]);
        let curves = [curve(1.0), curve(2.0), curve(0.5)];
        let found = claims(&Run::new(), &metric, (&points, &curves), columns.as_ref(), &(1..2)).unwrap();
        let psi = |x: f64| (-x * x).exp();
        let expected = [1.0, psi(0.5) + psi(2.0), 1.0];
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-6, "{found} {expected}");
        }
        let params = Params { tail_size: TailSize::Count(10), cover_risk: 30.0, ..Params::paper() };
        let crowded: Vec<f32> = (0..20).map(|i| 9.05 + i as f32 * 0.1).collect();
        let (alone, beside) = (kept(&Run::new(), &params, &[]), kept(&Run::new(), &params, &crowded));
        assert_ne!(alone, beside);
    }
}
