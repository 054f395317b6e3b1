//! How the supports of the witnesses are put together.
//!
//! The support that decides is, by class c,
//!
//! ```text
//! s_c = feature g_c + logit min(l_c, L) + probe min(z_c, Z) + forest t_c + offset
//! ```
//!
//! with g the support in feature space, l that of a machine over the logits z of a linear probe, and t the logarithm of the probability
//! that a forest gives the class. The factors are the shares of the four, which add up to 1, each brought to the scale of g by its
//! spread over held-out rows: the median of best class less median class. L and Z are the largest of the held-out rows, and t is at
//! most 0.001, so that far from all data, where a logit grows without bound, g decides. The offset leaves the typical score of a known
//! row where g has it.

use serde::{Deserialize, Serialize};

use crate::machine::report::Shares;
use crate::params::{MOST_WEIGHT, Params, Weight};

/// How much each witness counts, the support in feature space counting 1, all on one scale.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Weights {
    /// The machine over logits.
    pub logits: f64,
    /// The linear probe.
    pub probe: f64,
    /// The forest.
    pub forest: f64,
}

impl Weights {
    /// Those of the parameters, `auto` being what `chosen` has.
    pub fn of(params: &Params, chosen: Self) -> Self {
        let number = |weight: Weight, chosen: f64| match weight {
            Weight::Auto => chosen,
            Weight::Fixed(weight) => weight,
        };
        Self {
            logits: number(params.logit_weight, chosen.logits),
            probe: number(params.probe_weight, chosen.probe),
            forest: number(params.forest_weight, chosen.forest),
        }
    }

    /// Whether the support in feature space decides alone.
    pub(crate) fn are_zero(&self) -> bool {
        *self == Self::default()
    }

    /// Whether a probe has to be fitted.
    pub(crate) fn hear_logits(&self) -> bool {
        self.logits > 0.0 || self.probe > 0.0
    }

    /// Of everything that is heard, the features included.
    pub fn total(&self) -> f64 {
        1.0 + self.logits + self.probe + self.forest
    }
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
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) forest: f64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) forest_weight: f64,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(value: &f64) -> bool {
    *value == 0.0
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
    /// The forest.
    #[serde(with = "crate::json")]
    pub forest: f64,
}

impl Testimony {
    /// The support of the class.
    pub(crate) fn sum(&self) -> f64 {
        self.features + self.logits + self.probe + self.forest
    }
}

/// What the witnesses say of held-out rows, rows x classes each.
#[derive(Clone, Copy)]
pub(crate) struct Heard<'a> {
    pub(crate) features: &'a [f64],
    pub(crate) logits: Option<&'a [f64]>,
    pub(crate) probe: Option<&'a [f64]>,
    pub(crate) forest: Option<&'a [f64]>,
    pub(crate) classes: usize,
}

impl Mixture {
    /// Weighs what is heard; a witness that is not there counts nothing.
    pub(crate) fn new(heard: &Heard<'_>, weights: Weights) -> Self {
        let classes = heard.classes;
        let g = Scale::of(&finite(heard.features, classes), classes);
        let [l, z, t] = [heard.logits, heard.probe, heard.forest]
            .map(|said| said.map(|values| Scale::of(&finite(values, classes), classes)));
        let of = |weight: f64, scale: &Option<Scale>| if scale.is_some() { weight } else { 0.0 };
        let weights = Weights {
            logits: of(weights.logits, &l),
            probe: of(weights.probe, &z),
            forest: of(weights.forest, &t),
        };
        let total = weights.total();
        let factor = |weight: f64, scale: &Option<Scale>| {
            scale.as_ref().map_or(0.0, |scale| weight / total * g.spread / scale.spread)
        };
        let centre = |scale: &Option<Scale>| scale.as_ref().map_or(0.0, |scale| scale.centre);
        let largest = |scale: &Option<Scale>| scale.as_ref().map_or(0.0, |scale| scale.largest);
        let (logit, probe, forest) =
            (factor(weights.logits, &l), factor(weights.probe, &z), factor(weights.forest, &t));
        let offset =
            (total - 1.0) / total * g.centre - logit * centre(&l) - probe * centre(&z) - forest * centre(&t);
        Self {
            feature: 1.0 / total,
            logit,
            probe,
            offset,
            logit_cap: largest(&l),
            probe_cap: largest(&z),
            weights: [weights.logits, weights.probe],
            forest,
            forest_weight: weights.forest,
        }
    }

    pub(crate) fn shares(&self) -> Shares {
        let [logits, probe] = self.weights.map(|weight| weight * self.feature);
        Shares { features: self.feature, logits, probe, forest: self.forest_weight * self.feature }
    }

    /// The parts of a support.
    pub(crate) fn testimony(&self, feature: f64, logit: f64, probe: f64, forest: f64) -> Testimony {
        let part = |factor: f64, value: f64, cap: f64| {
            if factor == 0.0 { 0.0 } else { factor * value.min(cap) }
        };
        Testimony {
            features: self.feature * feature + self.offset,
            logits: part(self.logit, logit, self.logit_cap),
            probe: part(self.probe, probe, self.probe_cap),
            forest: part(self.forest, forest, f64::INFINITY),
        }
    }

    /// Whether the numbers are those of a mixture.
    pub(crate) fn is_possible(&self) -> bool {
        let share = |value: f64| (0.0..=f64::MAX).contains(&value);
        let [logits, probe] = self.weights;
        self.feature > 0.0
            && self.feature <= 1.0
            && [self.logit, self.probe, self.forest].into_iter().all(share)
            && [logits, probe, self.forest_weight].iter().all(|weight| (0.0..=MOST_WEIGHT).contains(weight))
            && [self.offset, self.logit_cap, self.probe_cap].iter().all(|value| value.is_finite())
    }
}

/// The scale of a witness over held-out rows.
pub(crate) struct Scale {
    /// Median over rows of the best class.
    pub(crate) centre: f64,
    /// Median over rows of the best class less the median class.
    pub(crate) spread: f64,
    /// The largest of all.
    pub(crate) largest: f64,
}

impl Scale {
    pub(crate) fn of(values: &[f64], classes: usize) -> Self {
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
pub(crate) fn finite(values: &[f64], classes: usize) -> Vec<f64> {
    let finite = || values.iter().copied().filter(|value| value.is_finite());
    let (low, high) = (finite().fold(f64::INFINITY, f64::min), finite().fold(f64::NEG_INFINITY, f64::max));
    if low > high {
        return vec![0.0; values.len() / classes * classes];
    }
    values.iter().map(|value| value.clamp(low, high)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two rows in three are right by features, nine in ten by the probe.
    fn said() -> (Vec<f64>, Vec<f64>) {
        let says = |row: usize, class: usize, right: bool| {
            let answer = if right { row % 3 } else { (row + 1) % 3 };
            f64::from(u8::from(answer == class))
        };
        let all = |strength: f64, right: &dyn Fn(usize) -> bool| -> Vec<f64> {
            let row = |row: usize| (0..3).map(move |class| (row, class));
            (0..90).flat_map(row).map(|(row, class)| strength * says(row, class, right(row))).collect()
        };
        (all(4.0, &|row| row % 9 < 6), all(10.0, &|row| row % 10 > 0))
    }

    fn heard<'a>(features: &'a [f64], probe: &'a [f64]) -> Heard<'a> {
        Heard { features, logits: None, probe: Some(probe), forest: None, classes: 3 }
    }

    #[test]
    fn weights_of_zero_are_the_features_alone() {
        let (features, probe) = said();
        let mixture = Mixture::new(&heard(&features, &probe), Weights::default());
        assert_eq!((mixture.feature, mixture.logit, mixture.probe, mixture.offset), (1.0, 0.0, 0.0, 0.0));
    }

    #[test]
    fn a_weight_counts_on_a_common_scale_and_a_typical_row_stays_where_it_is() {
        let (features, probe) = said();
        let weights = Weights { probe: 3.0, ..Weights::default() };
        let mixture = Mixture::new(&heard(&features, &probe), weights);
        assert_eq!(mixture.feature, 0.25);
        assert!((mixture.probe - 0.75 * 4.0 / 10.0).abs() < 1e-12);
        let typical = mixture.testimony(4.0, 0.0, 10.0, 0.0);
        assert!((typical.sum() - 4.0).abs() < 1e-12);
        assert_eq!(mixture.testimony(4.0, 0.0, 1e9, 0.0).probe, typical.probe, "a logit is bounded");
    }

    #[test]
    fn a_witness_that_is_not_there_counts_nothing() {
        let (features, probe) = said();
        let mixture = Mixture::new(&heard(&features, &probe), Weights { forest: 1.0, ..Weights::default() });
        assert_eq!((mixture.feature, mixture.forest, mixture.shares().forest), (1.0, 0.0, 0.0));
    }

    #[test]
    fn a_forest_counts_as_the_others_do() {
        let (features, probe) = said();
        let heard = Heard { probe: None, forest: Some(&probe), ..heard(&features, &probe) };
        let mixture = Mixture::new(&heard, Weights { forest: 1.0, ..Weights::default() });
        assert_eq!(mixture.shares().forest, 0.5);
        assert!((mixture.testimony(4.0, 0.0, 0.0, 10.0).sum() - 4.0).abs() < 1e-12);
        assert!(mixture.is_possible());
    }
}
