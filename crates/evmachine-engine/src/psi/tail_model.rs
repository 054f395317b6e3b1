//! Which curve is fitted to a tail, and how.

use serde::{Deserialize, Serialize};

/// Shapes end here: a curve this steep falls from 0.99 to 0.01 within 6e-5 of its distance. For `Libmr`, whose
/// curve is steep by the unit of 1 and not by that of the margins, at `SHAPE_CAP (1 + m_max) / m_max`.
pub const SHAPE_CAP: f64 = 1e5;

/// The curve that is fitted to a tail.
///
/// At distance 0, `Weibull` is 1; `Libmr` and `Gumbel` are at least 1 - 1/e there, and may be less than a threshold
/// above that, at the point itself too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TailModel {
    /// Eq. 1 of the paper: `psi(d) = exp(-(d / lambda)^kappa)`. Does not depend on the unit of the features.
    #[default]
    Weibull,
    /// What libmr's `fit_low` and `w_score` compute: a Weibull fit to `1 + m_max - m`. Depends on the unit.
    Libmr,
    /// The limit of `Libmr` for small units: `psi(d) = 1 - exp(-exp((c - d) / s))`. Free of the unit.
    Gumbel,
}

impl TailModel {
    /// All tail models.
    pub const ALL: [TailModel; 3] = [TailModel::Weibull, TailModel::Libmr, TailModel::Gumbel];
}

/// What is fitted to a tail.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FitRule {
    /// Which model.
    pub model: TailModel,
    /// Turns distances into margins.
    pub multiplier: f64,
    /// The shape, where it is given.
    pub fixed_shape: Option<f64>,
}
