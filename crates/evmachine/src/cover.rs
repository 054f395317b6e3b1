//! Which points of a class become its extreme vectors: Alg. 3, Alg. 4 and the weighted maximum-k cover.
//!
//! The order of choice is kept, so that the first n of a class are the best n of the greedy choice.

mod device;
mod fixed_size;
mod greedy;
mod memory;
mod neighbors;
mod queue;
mod risk;
mod sets;
mod weighted;

use rayon::prelude::*;

use crate::error::RunError;
use crate::params::{Budget, Params, Reduction};
use evmachine_engine::metric::Metric;
use evmachine_engine::points::Points;
use evmachine_engine::psi::curve::Curve;
use evmachine_engine::run::{Meter, Run, Stage};

use self::memory::Memory;
use self::neighbors::Neighbors;
use self::sets::Sets;

pub(crate) use risk::claims;
pub(crate) use sets::group_by_coverage;

/// The points of one class and their Psi-curves.
pub(crate) struct Candidates<'a> {
    pub(crate) points: Points<'a>,
    pub(crate) curves: Vec<Curve>,
    /// Where the same points are to be covered, if elsewhere: before smoothing. What is moved close together covers
    /// itself at once; what was observed does not, and queries look like it.
    pub(crate) originals: Option<Points<'a>>,
    /// By point, the rank of its nearest ignored sample, where there are any: it is covered from nearer than that, so that it is
    /// not taken for a stranger once it is dropped.
    pub(crate) strangers: Option<Vec<f32>>,
    /// By point, how many points of its class must be covered by it to make up for what it claims of other classes.
    pub(crate) risks: Option<Vec<f64>>,
}

impl Candidates<'_> {
    pub(crate) fn len(&self) -> usize {
        self.curves.len()
    }
}

/// The chosen points of one class, in order of choice.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Covering {
    pub(crate) order: Vec<usize>,
    /// What each added when it was chosen: points newly covered, less its risk, or for the weighted cover the gain in psi.
    /// Never rises along the order.
    pub(crate) gains: Vec<f32>,
}

impl Covering {
    fn everything(count: usize) -> Self {
        Self { order: (0..count).collect(), gains: vec![1.0; count] }
    }

    fn truncate(&mut self, count: usize) {
        self.order.truncate(count);
        self.gains.truncate(count);
    }
}

/// How many points to keep, once ratios are resolved.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum KeptCount {
    Threshold(f64),
    PerClass(usize),
    Total(usize),
}

impl KeptCount {
    /// `points_seen` is what a ratio is taken of.
    pub(crate) fn new(params: &Params, points_seen: u64) -> Self {
        match params.max_extreme_vectors {
            None => KeptCount::Threshold(params.cover_threshold),
            Some(Budget::PerClass(count)) => KeptCount::PerClass(count),
            Some(Budget::Total(count)) => KeptCount::Total(count),
            Some(Budget::Ratio(ratio)) => {
                KeptCount::Total(((ratio * points_seen as f64).round() as usize).max(1))
            }
        }
    }

    /// Whether classes of these sizes are within the budget; a threshold is none.
    pub(crate) fn is_met(self, mut sizes: impl Iterator<Item = usize>) -> bool {
        match self {
            KeptCount::Threshold(_) => false,
            KeptCount::PerClass(count) => sizes.all(|size| size <= count),
            KeptCount::Total(count) => sizes.sum::<usize>() <= count,
        }
    }
}

/// What the covers of a call share.
struct Resources<'a> {
    run: &'a Run<'a>,
    meter: &'a Meter<'a>,
    memory: &'a Memory,
}

/// Chooses for each class. Results do not depend on threads, tiles or memory.
pub(crate) fn choose(
    run: &Run<'_>,
    metric: &Metric,
    reduction: Reduction,
    target: KeptCount,
    classes: &[Candidates<'_>],
) -> Result<Vec<Covering>, RunError> {
    let resources = Resources {
        run,
        meter: &run.meter(Stage::Cover, classes.len()),
        memory: &Memory::new(run.working_memory()),
    };
    let everything = || classes.iter().map(|class| Covering::everything(class.len())).collect();
    let each = |choice: &(dyn Fn(&Candidates<'_>) -> Result<Covering, RunError> + Sync)| {
        let chosen = classes.par_iter().map(|class| {
            resources.meter.check()?;
            let cover = choice(class)?;
            resources.meter.advance(1)?;
            Ok(cover)
        });
        chosen.collect::<Result<Vec<Covering>, RunError>>()
    };
    match (target, reduction) {
        (KeptCount::Threshold(threshold), _) if threshold >= 1.0 => Ok(everything()),
        (KeptCount::Threshold(threshold), _) => match device::covers(&resources, metric, threshold, classes)?
        {
            Some(covers) => Ok(covers),
            None => each(&|class| {
                let neighbors = Neighbors::new(metric, class, &resources);
                let sets = Sets::new(&neighbors, &radii(class, threshold))?;
                greedy::cover(&sets, class.risks.as_deref(), usize::MAX)
            }),
        },
        (KeptCount::PerClass(count), reduction) => each(&|class| match reduction {
            _ if class.len() <= count => Ok(Covering::everything(class.len())),
            Reduction::SetCover => fixed_size::per_class(&resources, metric, class, count),
            Reduction::WeightedMaxK => weighted::cover(&resources, metric, class, count),
        }),
        (KeptCount::Total(count), reduction) => {
            if target.is_met(classes.iter().map(Candidates::len)) {
                return Ok(everything());
            }
            let covers = match reduction {
                Reduction::SetCover => fixed_size::total(&resources, metric, classes, count)?,
                Reduction::WeightedMaxK => each(&|class| weighted::cover(&resources, metric, class, count))?,
            };
            Ok(cut(covers, count))
        }
    }
}

fn radii(class: &Candidates<'_>, threshold: f64) -> Vec<f32> {
    class.curves.iter().map(|curve| curve.radius(threshold)).collect()
}

fn radii_at(class: &Candidates<'_>, support: f64) -> Vec<f32> {
    class.curves.iter().map(|curve| curve.radius_at(support)).collect()
}

/// Keeps the `count` choices of largest gain over all classes, and at least the first of each.
fn cut(mut covers: Vec<Covering>, count: usize) -> Vec<Covering> {
    let spare = count.saturating_sub(covers.len());
    let mut rest: Vec<(f32, usize, usize)> = covers
        .iter()
        .enumerate()
        .flat_map(|(class, cover)| {
            cover.gains.iter().enumerate().skip(1).map(move |(position, &gain)| (gain, class, position))
        })
        .collect();
    // Gains never rise within a class, so what is kept of it is a prefix.
    rest.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.2, a.1).cmp(&(b.2, b.1))));
    let mut sizes: Vec<usize> = covers.iter().map(|cover| cover.order.len().min(1)).collect();
    for &(_, class, _) in rest.iter().take(spare) {
        sizes[class] += 1;
    }
    for (cover, size) in covers.iter_mut().zip(sizes) {
        cover.truncate(size);
    }
    covers
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::params::TailModel;
    use evmachine_engine::psi::{FitStatus, PsiModel};

    /// Points on a line, each with a Weibull curve of its own.
    pub(super) fn line(points: &[(f32, f64, f64)]) -> Candidates<'static> {
        let values: Vec<f32> = points.iter().map(|point| point.0).collect();
        let curves = points
            .iter()
            .map(|&(_, shape, scale)| {
                let psi = PsiModel { shape, scale, shift: 0.0, status: FitStatus::Converged };
                Curve::new(TailModel::Weibull, &psi)
            })
            .collect();
        Candidates { points: Points::ready(values, 1), curves, originals: None, strangers: None, risks: None }
    }

    fn any_line() -> impl Strategy<Value = Vec<(f32, f64, f64)>> {
        prop::collection::vec(((0u8..40).prop_map(|x| f32::from(x) / 4.0), 0.5f64..30.0, 0.1f64..4.0), 1..60)
    }

    fn choose_one(
        candidates: Candidates<'static>,
        reduction: Reduction,
        target: KeptCount,
        run: &Run<'_>,
    ) -> Covering {
        choose(run, &Metric::Euclidean, reduction, target, &[candidates]).unwrap().remove(0)
    }

    fn covers(
        class: &Candidates<'_>,
        points: &[(f32, f64, f64)],
        i: usize,
        j: usize,
        threshold: f64,
    ) -> bool {
        i == j || (points[i].0 - points[j].0).abs() <= class.curves[i].radius(threshold)
    }

    /// Alg. 3, word for word.
    fn reference(points: &[(f32, f64, f64)], threshold: f64) -> Vec<usize> {
        let class = line(points);
        let mut covered = vec![false; points.len()];
        let mut order = Vec::new();
        while covered.contains(&false) {
            let gain = |i: &usize| {
                (0..points.len()).filter(|&j| !covered[j] && covers(&class, points, *i, j, threshold)).count()
            };
            let best = (0..points.len()).max_by_key(|i| (gain(i), std::cmp::Reverse(*i))).unwrap();
            for (j, covered) in covered.iter_mut().enumerate() {
                *covered |= covers(&class, points, best, j, threshold);
            }
            order.push(best);
        }
        order
    }

    /// Alg. 3 with what each point must be worth.
    fn risky_reference(points: &[(f32, f64, f64)], threshold: f64, risks: &[f64]) -> Vec<usize> {
        let class = line(points);
        let mut covered = vec![false; points.len()];
        let mut order = Vec::new();
        while covered.contains(&false) {
            let worth = |i: usize| {
                let fresh =
                    (0..points.len()).filter(|&j| !covered[j] && covers(&class, points, i, j, threshold));
                fresh.count() as f64 - risks[i]
            };
            let all = 0..points.len();
            let best = all.max_by(|&a, &b| worth(a).total_cmp(&worth(b)).then(b.cmp(&a))).unwrap();
            if worth(best) <= 0.0 && !order.is_empty() {
                break;
            }
            for (j, covered) in covered.iter_mut().enumerate() {
                *covered |= covers(&class, points, best, j, threshold);
            }
            order.push(best);
        }
        order
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn what_is_not_worth_its_risk_is_left_out(
            points in any_line(), threshold in 0.01f64..0.99, risks in prop::collection::vec(0.0f64..9.0, 60),
        ) {
            let risks = &risks[..points.len()];
            let candidates = Candidates { risks: Some(risks.to_vec()), ..line(&points) };
            let found = choose_one(candidates, Reduction::SetCover, KeptCount::Threshold(threshold), &Run::new());
            prop_assert_eq!(&found.order, &risky_reference(&points, threshold, risks));
            prop_assert!(found.gains.is_sorted_by(|a, b| a >= b));
            let free = Candidates { risks: Some(vec![0.0; points.len()]), ..line(&points) };
            let free = choose_one(free, Reduction::SetCover, KeptCount::Threshold(threshold), &Run::new());
            prop_assert_eq!(free.order, reference(&points, threshold));
        }

        #[test]
        fn the_lazy_cover_is_the_greedy_one_whatever_memory_it_has(
            points in any_line(), threshold in 0.01f64..0.99, memory in prop::sample::select(vec![0usize, 200, 1 << 20]),
        ) {
            let run = Run::new().memory(memory);
            let cover = choose_one(line(&points), Reduction::SetCover, KeptCount::Threshold(threshold), &run);
            prop_assert_eq!(&cover.order, &reference(&points, threshold));
            prop_assert!(cover.gains.is_sorted_by(|a, b| a >= b));
            prop_assert_eq!(cover.gains.iter().sum::<f32>() as usize, points.len());
        }

        #[test]
        fn coverage_sets_shrink_as_the_threshold_rises(points in any_line(), a in 0.01f64..0.99, b in 0.01f64..0.99) {
            let class = line(&points);
            for curve in &class.curves {
                prop_assert!(curve.radius(a.min(b)) >= curve.radius(a.max(b)));
            }
        }

        #[test]
        fn budgets_are_met_without_repeats(
            points in any_line(), count in 1usize..20,
            reduction in prop::sample::select(vec![Reduction::SetCover, Reduction::WeightedMaxK]),
        ) {
            let run = Run::new();
            let cover = choose_one(line(&points), reduction, KeptCount::PerClass(count), &run);
            prop_assert!(!cover.order.is_empty() && cover.order.len() <= count.min(points.len()));
            let mut unique = cover.order.clone();
            unique.sort_unstable();
            unique.dedup();
            prop_assert_eq!(unique.len(), cover.order.len());
            let small = Run::new().memory(0);
            prop_assert_eq!(choose_one(line(&points), reduction, KeptCount::PerClass(count), &small), cover);

            let halves = points.split_at(points.len() / 2);
            if !halves.0.is_empty() {
                let classes = [line(halves.0), line(halves.1)];
                let covers = choose(&run, &Metric::Euclidean, reduction, KeptCount::Total(count), &classes).unwrap();
                let total: usize = covers.iter().map(|cover| cover.order.len()).sum();
                prop_assert!(total <= count.max(2));
                prop_assert!(covers.iter().all(|cover| !cover.order.is_empty()));
            }
        }
    }

    #[test]
    fn a_fixed_size_is_used_up_where_points_differ() {
        let points: Vec<(f32, f64, f64)> = (0..100).map(|i| (i as f32, 5.0, 3.0)).collect();
        for count in [1, 7, 33, 100] {
            let cover =
                choose_one(line(&points), Reduction::SetCover, KeptCount::PerClass(count), &Run::new());
            assert_eq!(cover.order.len(), count);
        }
    }

    #[test]
    fn threshold_one_keeps_all_in_order() {
        let points = [(0.0, 1.0, 1.0); 4];
        let cover = choose_one(line(&points), Reduction::SetCover, KeptCount::Threshold(1.0), &Run::new());
        assert_eq!(cover, Covering::everything(4));
    }
}
