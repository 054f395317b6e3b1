//! Every rule about parameters, in one function.

use std::ops::Deref;

use serde::Serialize;

use super::{
    Budget, MOST_STRANGE, MOST_WEIGHT, Params, ReduceWhen, Reduction, SHAPE_CAP, TailModel, TailSize, Weight,
};
use crate::error::ParamsError;
use crate::params::rejection::Rejection;

/// Parameters that passed [`Params::check`]. Whoever fits many models with the same ones checks them once:
///
/// ```
/// # use evmachine::{Evm, Features, Labels, Params};
/// # let features = Features::new(vec![0.0, 0.1, 0.2, 5.0, 5.1, 5.2], 1)?;
/// # let labels = Labels::new(["low", "low", "low", "high", "high", "high"])?;
/// let params = Params { n_fused: 2, ..Params::default() }.check()?;
/// let (evm, _) = Evm::fit(&params, &features, &labels)?;
/// assert_eq!(evm.params(), &params);
/// let (again, _) = Evm::fit(evm.params(), &features, &labels)?;
/// assert_eq!(again, evm);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CheckedParams(Params);

impl CheckedParams {
    /// The parameters themselves, to be changed.
    pub fn into_inner(self) -> Params {
        self.0
    }
}

impl TryFrom<&Params> for CheckedParams {
    type Error = ParamsError;

    fn try_from(params: &Params) -> Result<Self, ParamsError> {
        params.check()
    }
}

impl From<&CheckedParams> for CheckedParams {
    fn from(params: &CheckedParams) -> Self {
        params.clone()
    }
}

impl Deref for CheckedParams {
    type Target = Params;

    fn deref(&self) -> &Params {
        &self.0
    }
}

impl Params {
    /// Every rule about parameters.
    pub fn check(&self) -> Result<CheckedParams, ParamsError> {
        let fraction = |value: f64| (0.0..=1.0).contains(&value);
        let positive_fraction = |value: f64| value > 0.0 && value <= 1.0;
        let positive = |value: f64| value.is_finite() && value > 0.0;

        match self.tail_size {
            TailSize::Count(count) => rule(count >= 1, "tail_size", count, "must be at least 1")?,
            TailSize::Fraction(value) => {
                rule(positive_fraction(value), "tail_size", value, "must be above 0 and at most 1")?;
            }
            TailSize::Auto => {}
        }
        if let Some(shape) = self.fixed_shape {
            rule(
                shape > 0.0 && shape <= SHAPE_CAP,
                "fixed_shape",
                shape,
                "must be above 0 and at most 100000",
            )?;
            let weibull = self.tail_model == TailModel::Weibull;
            rule(weibull, "fixed_shape", shape, "applies to the tail model Weibull alone")?;
        }
        let multiplier = self.distance_multiplier;
        rule(positive(multiplier), "distance_multiplier", multiplier, "must be a positive number")?;
        let whitening = self.whitening;
        rule(fraction(whitening), "whitening", whitening, "must be between 0 and 1")?;
        rule(
            whitening == 0.0 || self.metric.is_linear(),
            "whitening",
            whitening,
            "applies to the metrics euclidean and cosine alone",
        )?;
        rule(fraction(self.smoothing), "smoothing", self.smoothing, "must be between 0 and 1")?;
        let neighbors = self.smoothing_neighbors;
        rule(neighbors >= 1, "smoothing_neighbors", neighbors, "must be at least 1, the point itself")?;
        rule(fraction(self.pooling), "pooling", self.pooling, "must be between 0 and 1")?;
        let threshold = self.cover_threshold;
        rule(positive_fraction(threshold), "cover_threshold", threshold, "must be above 0 and at most 1")?;
        let risk = self.cover_risk;
        rule(risk.is_finite() && risk >= 0.0, "cover_risk", risk, "must be 0 or a positive number")?;
        let budget = self.max_extreme_vectors.is_some();
        rule(risk == 0.0 || !budget, "cover_risk", risk, "goes with a cover threshold, not with a budget")?;
        match self.max_extreme_vectors {
            Some(Budget::PerClass(count) | Budget::Total(count)) => {
                rule(count >= 1, "max_extreme_vectors", count, "must be at least 1")?;
            }
            Some(Budget::Ratio(ratio)) => {
                rule(
                    positive_fraction(ratio),
                    "max_extreme_vectors",
                    ratio,
                    "must be above 0 and at most 1",
                )?;
            }
            None => {
                let free = self.reduction == Reduction::SetCover;
                rule(free, "max_extreme_vectors", "none", "must be set for the reduction WeightedMaxK")?;
                let always = self.reduce_when == ReduceWhen::Always;
                rule(always, "max_extreme_vectors", "none", "must be set to reduce when over budget")?;
            }
        }
        rule(self.n_fused >= 1, "n_fused", self.n_fused, "must be at least 1")?;
        let contrast = self.contrast;
        rule(
            contrast.is_finite() && contrast >= 0.0,
            "contrast",
            contrast,
            "must be 0 or a positive number",
        )?;
        let weibull = self.tail_model == TailModel::Weibull;
        rule(contrast == 0.0 || weibull, "contrast", contrast, "applies to the tail model Weibull alone")?;
        let background = self.background;
        rule((0.0..=10.0).contains(&background), "background", background, "must be between 0 and 10")?;
        rule(
            background == 0.0 || weibull,
            "background",
            background,
            "applies to the tail model Weibull alone",
        )?;
        if let Some(recall) = self.search.recall() {
            rule(recall > 0.0 && recall < 1.0, "recall", recall, "must be above 0 and below 1")?;
        }
        self.check_beyond()?;
        Ok(CheckedParams(self.clone()))
    }

    /// The rules about what decides beside the support in feature space, and where.
    fn check_beyond(&self) -> Result<(), ParamsError> {
        let fraction = |value: f64| (0.0..=1.0).contains(&value);
        for (name, weight) in [("logit_weight", self.logit_weight), ("probe_weight", self.probe_weight)] {
            if let Weight::Fixed(weight) = weight {
                rule(
                    (0.0..=MOST_WEIGHT).contains(&weight),
                    name,
                    weight,
                    "must be \"auto\" or between 0 and 20",
                )?;
            }
        }
        let rejection = self.rejection_threshold.value();
        if let Rejection::Support(support) = self.rejection_threshold {
            rule(support.is_finite(), "rejection_threshold", support, "must be a finite support")?;
        } else {
            rule(fraction(rejection), "rejection_threshold", rejection, "must be between 0 and 1")?;
        }
        let confidence = self.confidence;
        rule((0.0..1.0).contains(&confidence), "confidence", confidence, "must be at least 0 and below 1")?;
        let [a, b] = self.strangers;
        let possible = (MOST_STRANGE..=1.0).contains(&a) && (1.0..=1.0 / MOST_STRANGE).contains(&b);
        rule(
            possible,
            "strangers",
            format!("[{a}, {b}]"),
            "must be two numbers, the first from 0.01 to 1, the second from 1 to 100",
        )?;
        Ok(())
    }
}

/// An error that names the parameter, unless the rule holds.
fn rule(
    holds: bool,
    name: &'static str,
    value: impl std::fmt::Display,
    rule: &'static str,
) -> Result<(), ParamsError> {
    if holds { Ok(()) } else { Err(ParamsError { name, value: value.to_string(), rule }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evmachine_engine::metric::Metric;
    use evmachine_engine::search::Search;

    #[test]
    fn every_rule_names_its_parameter() {
        let base = Params::default;
        let bad = [
            ("tail_size", Params { tail_size: TailSize::Count(0), ..base() }),
            ("tail_size", Params { tail_size: TailSize::Fraction(0.0), ..base() }),
            ("tail_size", Params { tail_size: TailSize::Fraction(f64::NAN), ..base() }),
            ("fixed_shape", Params { fixed_shape: Some(0.0), ..base() }),
            ("fixed_shape", Params { fixed_shape: Some(1.0), tail_model: TailModel::Gumbel, ..base() }),
            ("distance_multiplier", Params { distance_multiplier: -1.0, ..base() }),
            ("distance_multiplier", Params { distance_multiplier: f64::INFINITY, ..base() }),
            ("whitening", Params { whitening: -0.1, ..base() }),
            ("whitening", Params { whitening: f64::NAN, ..base() }),
            ("whitening", Params { whitening: 0.5, metric: Metric::Manhattan, ..base() }),
            ("smoothing", Params { smoothing: 1.1, ..base() }),
            ("smoothing_neighbors", Params { smoothing_neighbors: 0, ..base() }),
            ("pooling", Params { pooling: -0.1, ..base() }),
            ("cover_threshold", Params { cover_threshold: 0.0, ..base() }),
            ("max_extreme_vectors", Params { max_extreme_vectors: Some(Budget::PerClass(0)), ..base() }),
            ("max_extreme_vectors", Params { max_extreme_vectors: Some(Budget::Ratio(1.5)), ..base() }),
            ("max_extreme_vectors", Params { reduction: Reduction::WeightedMaxK, ..base() }),
            ("max_extreme_vectors", Params { reduce_when: ReduceWhen::OverBudget, ..base() }),
            ("n_fused", Params { n_fused: 0, ..base() }),
            ("contrast", Params { contrast: -0.1, ..base() }),
            ("background", Params { background: -0.1, ..base() }),
            ("background", Params { background: 0.5, tail_model: TailModel::Gumbel, ..base() }),
            ("contrast", Params { contrast: 0.5, tail_model: TailModel::Libmr, ..base() }),
            ("logit_weight", Params { logit_weight: Weight::Fixed(-1.0), ..base() }),
            ("probe_weight", Params { probe_weight: Weight::Fixed(f64::NAN), ..base() }),
            ("rejection_threshold", Params { rejection_threshold: Rejection::Probability(2.0), ..base() }),
            ("rejection_threshold", Params { rejection_threshold: Rejection::FalseKnown(-0.1), ..base() }),
            ("rejection_threshold", Params { rejection_threshold: Rejection::Support(f64::NAN), ..base() }),
            ("confidence", Params { confidence: 1.0, ..base() }),
            ("confidence", Params { confidence: -0.1, ..base() }),
            ("recall", Params { search: Search::Approximate(1.0), ..base() }),
            ("recall", Params { search: Search::Approximate(f64::NAN), ..base() }),
            ("strangers", Params { strangers: [0.0, 1.0], ..base() }),
            ("strangers", Params { strangers: [0.5, 0.5], ..base() }),
        ];
        for (name, params) in bad {
            assert_eq!(params.check().unwrap_err().name, name);
        }
        assert!(Params::robust().check().is_ok());
    }
}
