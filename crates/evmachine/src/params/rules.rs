//! Every rule about parameters, in one function.

use std::ops::Deref;

use serde::Serialize;

use super::{MOST_STRANGE, Params, ReduceWhen, Reduction, TailModel};
use crate::error::ParamsError;

/// Parameters that passed [`Params::check`]. Whoever fits many models with the same ones checks them once:
///
/// ```
/// # use evmachine::{Evm, Features, Labels, Params};
/// # let features = Features::new(vec![0.0, 0.1, 0.2, 5.0, 5.1, 5.2], 1)?;
/// # let labels = Labels::new(["low", "low", "low", "high", "high", "high"])?;
/// let params = Params { n_fused: 2, ..Params::plain() }.check()?;
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
    /// Every rule about parameters: the ranges of the list ([`Params::LIST`]), and what goes together.
    pub fn check(&self) -> Result<CheckedParams, ParamsError> {
        for parameter in Params::LIST {
            let Some((variant, number)) = (parameter.number)(self) else { continue };
            if let Some(rule) = parameter.broken_rule(variant, number) {
                let mut error = ParamsError::new(parameter.name, number, rule);
                error.variant = variant;
                return Err(error);
            }
        }
        self.check_together()?;
        Ok(CheckedParams(self.clone()))
    }

    /// The rules that one number alone does not tell.
    fn check_together(&self) -> Result<(), ParamsError> {
        let weibull = self.tail_model == TailModel::Weibull;
        let weibull_alone =
            "applies to the tail model Weibull alone; set it to 0, or start from the preset plain";
        if let Some(shape) = self.fixed_shape {
            rule(weibull, "fixed_shape", shape, "applies to the tail model Weibull alone")?;
        }
        rule(self.contrast == 0.0 || weibull, "contrast", self.contrast, weibull_alone)?;
        rule(self.background == 0.0 || weibull, "background", self.background, weibull_alone)?;
        rule(
            self.whitening == 0.0 || self.metric.is_linear(),
            "whitening",
            self.whitening,
            "applies to the metrics euclidean and cosine alone",
        )?;
        let unlimited = self.max_extreme_vectors.is_none();
        let risk = self.cover_risk;
        rule(risk == 0.0 || unlimited, "cover_risk", risk, "goes with a cover threshold, not with a budget")?;
        if unlimited {
            let free = self.reduction == Reduction::SetCover;
            rule(free, "max_extreme_vectors", "none", "must be set for the reduction WeightedMaxK")?;
            let always = self.reduce_when == ReduceWhen::Always;
            rule(always, "max_extreme_vectors", "none", "must be set to reduce when over budget")?;
        }
        let [a, b] = self.strangers;
        let possible = (MOST_STRANGE..=1.0).contains(&a) && (1.0..=1.0 / MOST_STRANGE).contains(&b);
        rule(
            possible,
            "strangers",
            format!("[{a}, {b}]"),
            "must be two numbers, the first from 0.01 to 1, the second from 1 to 100",
        )
    }
}

/// An error that names the parameter, unless the rule holds.
fn rule(
    holds: bool,
    name: &'static str,
    value: impl std::fmt::Display,
    rule: &'static str,
) -> Result<(), ParamsError> {
    if holds { Ok(()) } else { Err(ParamsError::new(name, value, rule)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::rejection::Rejection;
    use crate::params::{Budget, TailSize, Weight};
    use evmachine_engine::metric::Metric;
    use evmachine_engine::search::Search;

    #[test]
    fn every_rule_names_its_parameter() {
        let base = Params::plain;
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
            ("forest_weight", Params { forest_weight: Weight::Fixed(21.0), ..base() }),
            ("rejection_threshold", Params { rejection_threshold: Rejection::Probability(2.0), ..base() }),
            ("rejection_threshold", Params { rejection_threshold: Rejection::FalseKnown(-0.1), ..base() }),
            ("rejection_threshold", Params { rejection_threshold: Rejection::Support(f64::NAN), ..base() }),
            ("confidence", Params { confidence: 1.0, ..base() }),
            ("confidence", Params { confidence: -0.1, ..base() }),
            ("search", Params { search: Search::Approximate(1.0), ..base() }),
            ("search", Params { search: Search::Approximate(f64::NAN), ..base() }),
            ("strangers", Params { strangers: [0.0, 1.0], ..base() }),
            ("strangers", Params { strangers: [0.5, 0.5], ..base() }),
        ];
        for (name, params) in bad {
            assert_eq!(params.check().unwrap_err().name, name);
        }
        assert!(Params::robust().check().is_ok());
    }
}
