//! Witnesses beside the support in feature space: the logits of a linear probe, and a machine over them.
//!
//! The support that decides is, by class c,
//!
//! ```text
//! s_c = feature g_c + logit min(l_c, L) + probe min(z_c, Z) + offset
//! ```
//!
//! with g the support in feature space, z the logit, and l the support of a second machine whose features are the logits of
//! the training rows, by cosine. The factors are the shares of the three, which add up to 1, each brought to the scale of g
//! by its spread over held-out rows: the median of best class less median class. L and Z are the largest of the held-out
//! rows, so that far from all data, where a logit grows without bound, g decides. The offset leaves the typical score of a
//! known row where g has it.

pub(crate) mod probe;
mod reduced;
pub(crate) mod stacking;

use serde::{Deserialize, Serialize};

use crate::error::{FitError, RunError};
use crate::input::labels::Labels;
use crate::machine::Machine;
use crate::machine::fit::{self, Lesson};
use crate::machine::report::Shares;
use crate::params::rejection::Rejection;
use crate::params::{MOST_WEIGHT, Params, TailMemory, Weight};
use crate::witness::probe::Probe;
use evmachine_engine::features::Features;
use evmachine_engine::metric::Metric;
use evmachine_engine::points::Points;
use evmachine_engine::run::Run;

/// Logits are cut off here, so that they can be features.
const LARGEST_LOGIT: f64 = 1e12;
/// Stands in where all logits are 0, which have no direction.
const NO_DIRECTION: f32 = 1e-30;

/// What a model has beside its extreme vectors.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Witnesses {
    /// Fitted again at every update.
    pub(crate) probe: Probe,
    pub(crate) logits: Option<LogitMachine>,
    pub(crate) mixture: Mixture,
}

/// The machine over logits. Its space is that of the first fit, and so it learns as any machine does.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LogitMachine {
    pub(crate) projection: Probe,
    pub(crate) machine: Machine,
}

/// How supports are put together.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Mixture {
    pub(crate) feature: f64,
    pub(crate) logit: f64,
    pub(crate) probe: f64,
    pub(crate) offset: f64,
    pub(crate) logit_cap: f64,
    pub(crate) probe_cap: f64,
    /// Weights of logits and probe beside the features' 1.
    pub(crate) weights: [f64; 2],
}

/// What each witness says of one class, in the unit of support; their sum is the support of the class.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct Testimony {
    /// The support in feature space.
    #[serde(with = "crate::json")]
    pub features: f64,
    /// The machine over logits.
    #[serde(with = "crate::json")]
    pub logits: f64,
    /// The linear probe.
    #[serde(with = "crate::json")]
    pub probe: f64,
}

/// Supports and logits of held-out rows, rows x classes each.
pub(crate) struct Heard<'a> {
    pub(crate) features: &'a [f64],
    pub(crate) logits: Option<&'a [f64]>,
    pub(crate) probe: &'a [f64],
    pub(crate) classes: usize,
    pub(crate) truth: &'a [u32],
}

impl Mixture {
    pub(crate) fn choose(heard: &Heard<'_>, logit_weight: Weight, probe_weight: Weight) -> Self {
        let features: Vec<f64> = finite(heard.features, heard.classes);
        let logits = heard.logits.map(|logits| finite(logits, heard.classes));
        let g = Scale::of(&features, heard.classes);
        let l = logits.as_ref().map(|logits| Scale::of(logits, heard.classes));
        let z = Scale::of(heard.probe, heard.classes);
        let scaled = |values: &[f64], scale: &Scale| -> Vec<f64> {
            values.iter().map(|value| (value - scale.centre) / scale.spread).collect()
        };
        let l_scaled = l.as_ref().zip(logits.as_deref()).map(|(scale, values)| scaled(values, scale));
        let z_scaled = scaled(heard.probe, &z);
        let others = [(logit_weight, l_scaled.as_deref()), (probe_weight, Some(&z_scaled[..]))];
        let found = stacking::weigh(&scaled(&features, &g), &others, heard.classes, heard.truth);
        let weights = [found[0], found[1]];
        let [a, b] = weights;
        let total = 1.0 + a + b;
        let logit = l.as_ref().map_or(0.0, |l| a / total * g.spread / l.spread);
        let probe = b / total * g.spread / z.spread;
        let offset =
            (a + b) / total * g.centre - logit * l.as_ref().map_or(0.0, |l| l.centre) - probe * z.centre;
        Self {
            feature: 1.0 / total,
            logit,
            probe,
            offset,
            logit_cap: l.as_ref().map_or(0.0, |l| l.largest),
            probe_cap: z.largest,
            weights,
        }
    }

    /// Of features, logits and probe.
    pub(crate) fn shares(&self) -> Shares {
        let [logits, probe] = self.weights.map(|weight| weight * self.feature);
        Shares { features: self.feature, logits, probe }
    }

    /// The parts of a support.
    pub(crate) fn testimony(&self, feature: f64, logit: f64, probe: f64) -> Testimony {
        Testimony {
            features: self.feature * feature + self.offset,
            logits: if self.logit == 0.0 { 0.0 } else { self.logit * logit.min(self.logit_cap) },
            probe: self.probe * probe.min(self.probe_cap),
        }
    }

    /// Whether the numbers are those of a mixture.
    pub(crate) fn is_possible(&self) -> bool {
        let share = |value: f64| (0.0..=f64::MAX).contains(&value);
        self.feature > 0.0
            && self.feature <= 1.0
            && share(self.logit)
            && share(self.probe)
            && self.weights.iter().all(|weight| (0.0..=MOST_WEIGHT).contains(weight))
            && [self.offset, self.logit_cap, self.probe_cap].iter().all(|value| value.is_finite())
    }
}

/// The scale of a witness over held-out rows.
struct Scale {
    /// Median over rows of the best class.
    centre: f64,
    /// Median over rows of the best class less the median class.
    spread: f64,
    /// The largest of all.
    largest: f64,
}

impl Scale {
    fn of(values: &[f64], classes: usize) -> Self {
        let best = |row: &[f64]| row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let bests: Vec<f64> = values.chunks_exact(classes).map(best).collect();
        let leads = values.chunks_exact(classes).map(|row| best(row) - median(row.to_vec())).collect();
        let spread = median(leads);
        Self { largest: best(&bests), centre: median(bests), spread: if spread > 0.0 { spread } else { 1.0 } }
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    let middle = values.len() / 2;
    *values.select_nth_unstable_by(middle, f64::total_cmp).1
}

/// Infinite values as the largest and smallest finite ones.
fn finite(values: &[f64], classes: usize) -> Vec<f64> {
    let finite = || values.iter().copied().filter(|value| value.is_finite());
    let (low, high) = (finite().fold(f64::INFINITY, f64::min), finite().fold(f64::NEG_INFINITY, f64::max));
    if low > high {
        return vec![0.0; values.len() / classes * classes];
    }
    values.iter().map(|value| value.clamp(low, high)).collect()
}

impl LogitMachine {
    /// Learns from the logits of some rows, in as few dimensions as have their angles; others are their negatives alone.
    pub(crate) fn fit(
        run: &Run<'_>,
        params: &Params,
        probe: &Probe,
        points: &Points<'_>,
        labels: &Labels,
        (rows, negatives): (&[usize], &[usize]),
    ) -> Result<Self, FitError> {
        let projection = probe.reduced();
        let nothing = Machine::empty(params.over_logits().check()?, projection.classes());
        let machine = learned(run, &projection, &nothing, points, labels, (rows, negatives, 0))?;
        Ok(Self { projection, machine })
    }

    pub(crate) fn updated(
        &self,
        run: &Run<'_>,
        points: &Points<'_>,
        labels: &Labels,
        rows: &[usize],
        first: u64,
    ) -> Result<Self, FitError> {
        let machine = learned(run, &self.projection, &self.machine, points, labels, (rows, &[], first))?;
        Ok(Self { projection: self.projection.clone(), machine })
    }

    /// Supports of rows, rows x classes; without the extreme vectors of the given sources, if any.
    pub(crate) fn supports(
        &self,
        run: &Run<'_>,
        points: &Points<'_>,
        rows: &[usize],
        without: Option<&[u64]>,
    ) -> Result<Vec<f64>, RunError> {
        let features = self.projection.project(points, rows);
        self.machine.supports(run, &features, without)
    }
}

/// `old` with the logits of some rows learned, which are numbered from `first` on among all; others are their negatives alone.
fn learned(
    run: &Run<'_>,
    projection: &Probe,
    old: &Machine,
    points: &Points<'_>,
    labels: &Labels,
    (rows, negatives, first): (&[usize], &[usize], u64),
) -> Result<Machine, FitError> {
    let both = [rows, negatives].concat();
    let features = projection.project(points, &both);
    let labels = labels.of_rows(&both);
    let all: Vec<usize> = (0..both.len()).collect();
    let (own, others) = all.split_at(rows.len());
    let lesson =
        Lesson { features: &features, labels: &labels, learned: own, negatives: others, ignored: None };
    let (mut machine, _) = fit::learn(run, old, &lesson)?;
    // It has counted the rows that it learned; they have the numbers of the rows that were given.
    for class in &mut machine.classes {
        for source in class.sources.iter_mut().filter(|source| **source >= old.points_seen) {
            *source = first + rows[(*source - old.points_seen) as usize] as u64;
        }
    }
    Ok(machine)
}

impl Probe {
    /// The logits of rows as features of a machine of their own.
    pub(crate) fn project(&self, points: &Points<'_>, rows: &[usize]) -> Features<'static> {
        let logits = self.logits_of(points, rows);
        let mut values: Vec<f32> =
            logits.iter().map(|value| value.clamp(-LARGEST_LOGIT, LARGEST_LOGIT) as f32).collect();
        for row in values.chunks_exact_mut(self.classes()) {
            if row.iter().all(|&value| value == 0.0) {
                row[0] = NO_DIRECTION;
            }
        }
        Features::checked(values, self.classes())
    }

    /// The logits of rows as features of a machine over them ([`Params::over_logits`]). For tuners; a fit makes such a
    /// machine itself.
    pub fn features(&self, queries: &Features<'_>) -> Result<Features<'static>, RunError> {
        let points = self.points(queries)?;
        let rows: Vec<usize> = (0..points.len()).collect();
        Ok(self.reduced().project(&points, &rows))
    }
}

impl Params {
    /// How the machine over the logits of a probe is trained that goes with a model of these parameters: as
    /// [`Params::robust`] for cosine without whitening, of the size that the model has. For tuners.
    pub fn over_logits(&self) -> Self {
        Self {
            whitening: 0.0,
            contrast: 0.0,
            background: 0.0,
            logit_weight: Weight::Fixed(0.0),
            probe_weight: Weight::Fixed(0.0),
            rejection_threshold: Rejection::PAPER,
            cover_threshold: self.cover_threshold,
            cover_risk: self.cover_risk,
            max_extreme_vectors: self.max_extreme_vectors,
            reduction: self.reduction,
            reduce_when: self.reduce_when,
            refit: self.refit,
            tail_memory: self.tail_memory,
            tail_memory_limit: self.tail_memory_limit,
            search: self.search,
            ..Self::robust_for(Metric::Cosine)
        }
    }

    /// The same machine alone, as a trial on part of the rows needs it: no witnesses, no tails remembered.
    pub(crate) fn without_witnesses(&self) -> Self {
        Self {
            logit_weight: Weight::Fixed(0.0),
            probe_weight: Weight::Fixed(0.0),
            rejection_threshold: Rejection::PAPER,
            tail_memory: TailMemory::None,
            ..self.clone()
        }
    }
}

impl Witnesses {
    /// What the witnesses add to the support of each class: rows x classes.
    pub(crate) fn additions(
        &self,
        run: &Run<'_>,
        points: &Points<'_>,
        rows: &[usize],
        without: Option<&[u64]>,
    ) -> Result<Vec<f64>, RunError> {
        let parts = self.parts(run, points, rows, without)?;
        Ok(parts.iter().map(|part| part.features + part.logits + part.probe).collect())
    }

    /// The same by witness, that of the features being the offset alone.
    pub(crate) fn parts(
        &self,
        run: &Run<'_>,
        points: &Points<'_>,
        rows: &[usize],
        without: Option<&[u64]>,
    ) -> Result<Vec<Testimony>, RunError> {
        let logits = match &self.logits {
            Some(machine) => Some(machine.supports(run, points, rows, without)?),
            None => None,
        };
        let probe = self.probe.logits_of(points, rows);
        let logit = |at: usize| logits.as_ref().map_or(0.0, |logits| logits[at]);
        Ok(probe.iter().enumerate().map(|(at, &z)| self.mixture.testimony(0.0, logit(at), z)).collect())
    }

    /// Without a class.
    pub(crate) fn without(&self, run: &Run<'_>, class: usize) -> Result<Self, RunError> {
        let mut logits = self.logits.clone();
        if let Some(logits) = &mut logits {
            logits.machine.forget(run, class)?;
        }
        Ok(Self { probe: self.probe.without(class), logits, mixture: self.mixture })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two rows in three are right by features, all by the probe.
    fn heard() -> (Vec<f64>, Vec<f64>, Vec<u32>) {
        let truth: Vec<u32> = (0..90).map(|row| row % 3).collect();
        let says = |row: usize, class: u32, right: bool| {
            let answer = if right { truth[row] } else { (truth[row] + 1) % 3 };
            f64::from(u8::from(answer == class))
        };
        let all = |strength: f64, right: &dyn Fn(usize) -> bool| -> Vec<f64> {
            let row = |row: usize| (0..3).map(move |class| (row, class));
            (0..90).flat_map(row).map(|(row, class)| strength * says(row, class, right(row))).collect()
        };
        (all(4.0, &|row| row % 9 < 6), all(10.0, &|row| row % 10 > 0), truth)
    }

    #[test]
    fn weights_of_zero_are_the_features_alone() {
        let (features, probe, truth) = heard();
        let heard = Heard { features: &features, logits: None, probe: &probe, classes: 3, truth: &truth };
        let mixture = Mixture::choose(&heard, Weight::Fixed(0.0), Weight::Fixed(0.0));
        assert_eq!((mixture.feature, mixture.logit, mixture.probe, mixture.offset), (1.0, 0.0, 0.0, 0.0));
    }

    #[test]
    fn a_fixed_weight_is_one_on_a_common_scale_and_a_typical_row_stays_where_it_is() {
        let (features, probe, truth) = heard();
        let heard = Heard { features: &features, logits: None, probe: &probe, classes: 3, truth: &truth };
        let mixture = Mixture::choose(&heard, Weight::Auto, Weight::Fixed(3.0));
        assert_eq!(mixture.feature, 0.25);
        assert!((mixture.probe - 0.75 * 4.0 / 10.0).abs() < 1e-12);
        let typical = mixture.testimony(4.0, 0.0, 10.0);
        assert!((typical.features + typical.probe - 4.0).abs() < 1e-12);
        assert_eq!(mixture.testimony(4.0, 0.0, 1e9).probe, typical.probe, "a logit is bounded");
    }

    #[test]
    fn the_witness_that_is_right_more_often_counts_for_more() {
        let (features, probe, truth) = heard();
        let heard = Heard { features: &features, logits: None, probe: &probe, classes: 3, truth: &truth };
        let mixture = Mixture::choose(&heard, Weight::Fixed(0.0), Weight::Auto);
        assert!(mixture.feature < 0.5 && mixture.feature > 0.04, "{mixture:?}");
    }
}
