//! The fit around one point, its Psi-model, and the means over many that pooling moves it towards.

pub mod curve;
mod tail_model;
pub mod weibull;

use serde::{Deserialize, Serialize};

pub use self::tail_model::{FitRule, SHAPE_CAP, TailModel};

/// How a Psi-model came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
#[non_exhaustive]
pub enum FitStatus {
    /// The likelihood equation was solved.
    Converged = 0,
    /// Solved, with zero margins counted as half the smallest positive one.
    ZeroMargins = 1,
    /// All margins are equal: a step at that margin.
    EqualMargins = 2,
    /// All margins are zero: psi is 1 at the point itself and 0 elsewhere.
    ZeroTail = 3,
    /// Margins so close together that the shape ended at [`SHAPE_CAP`].
    Capped = 4,
    /// The shape was given, not fitted.
    FixedShape = 5,
    /// The solver ran out of steps; the last iterate stands.
    NotConverged = 6,
    /// There was nothing to measure margins against: one class alone. They were guessed from distances within it.
    WithinClass = 7,
    /// The tail was not measured: pooling gives all points the means of a sample of them.
    Pooled = 8,
}

impl FitStatus {
    /// All statuses, by their number.
    pub const ALL: [FitStatus; 9] = [
        FitStatus::Converged,
        FitStatus::ZeroMargins,
        FitStatus::EqualMargins,
        FitStatus::ZeroTail,
        FitStatus::Capped,
        FitStatus::FixedShape,
        FitStatus::NotConverged,
        FitStatus::WithinClass,
        FitStatus::Pooled,
    ];

    /// Whether shape and scale are estimates that a mean over points may use.
    pub(crate) fn is_estimate(self) -> bool {
        !matches!(
            self,
            FitStatus::EqualMargins
                | FitStatus::ZeroTail
                | FitStatus::Capped
                | FitStatus::WithinClass
                | FitStatus::Pooled
        )
    }

    /// A few words for tables.
    pub fn describe(self) -> &'static str {
        match self {
            FitStatus::Converged => "converged",
            FitStatus::ZeroMargins => "zero margins replaced",
            FitStatus::EqualMargins => "all margins equal",
            FitStatus::ZeroTail => "all margins zero",
            FitStatus::Capped => "shape at its cap",
            FitStatus::FixedShape => "shape given",
            FitStatus::NotConverged => "not converged",
            FitStatus::WithinClass => "guessed from within the class",
            FitStatus::Pooled => "by the mean of a sample",
        }
    }
}

/// The fitted parameters of one point, before pooling.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PsiModel {
    /// kappa of `Weibull`, b of `Libmr`, c / s of `Gumbel`. No unit.
    pub shape: f64,
    /// lambda of `Weibull`, a of `Libmr`, c of `Gumbel`. In the unit of distances.
    pub scale: f64,
    /// The largest margin of the tail for `Libmr`, 0 for the others. In the unit of distances.
    pub shift: f64,
    /// How the fit went.
    pub status: FitStatus,
}

impl PsiModel {
    /// The distance from which `Libmr` is 0; 1 for the others, which have no such end.
    pub fn end(&self) -> f64 {
        1.0 + self.shift
    }
}

/// Sums of the logarithms of fitted parameters, from which pooling takes its means.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct PoolSums {
    count: u64,
    ln_shape: f64,
    ln_scale: f64,
    ln_shift: f64,
}

impl PoolSums {
    /// Counts a fit.
    pub fn add(&mut self, psi: &PsiModel) {
        if psi.status.is_estimate() {
            self.count += 1;
            self.ln_shape += psi.shape.ln();
            self.ln_scale += (psi.scale / psi.end()).ln();
            self.ln_shift += if psi.shift > 0.0 { psi.shift.ln() } else { 0.0 };
        }
    }

    /// The means over the fits of both.
    pub fn merge(mut self, other: Self) -> Self {
        self.count += other.count;
        self.ln_shape += other.ln_shape;
        self.ln_scale += other.ln_scale;
        self.ln_shift += other.ln_shift;
        self
    }

    /// Whether there is any fit to take means of.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether these can be sums over at most so many points.
    pub fn is_possible(&self, points: u64) -> bool {
        let finite = self.ln_shape.is_finite() && self.ln_scale.is_finite() && self.ln_shift.is_finite();
        finite && self.count <= points
    }

    /// `psi` with ln(shape) and ln(scale) moved the fraction `rho` towards the means.
    ///
    /// `Libmr` has a third parameter: there `ln(m_max)` and ln(scale / (1 + `m_max`)) move, the latter of which is
    /// never positive, so that psi at distance 0 stays at least 1 - 1/e.
    ///
    /// A zero tail has no ln(scale) and stays as it is, unless rho is 1, where all points get the means.
    pub fn pooled(&self, model: TailModel, psi: &PsiModel, rho: f64) -> PsiModel {
        if rho == 0.0 || self.count == 0 || (psi.scale == 0.0 && rho < 1.0) {
            return *psi;
        }
        let count = self.count as f64;
        let towards = |value: f64, sum: f64| {
            let own = if rho < 1.0 { (1.0 - rho) * value.ln() } else { 0.0 };
            (own + rho * (sum / count)).exp()
        };
        let shift = if model == TailModel::Libmr { towards(psi.shift, self.ln_shift) } else { 0.0 };
        let moved = PsiModel { shape: towards(psi.shape, self.ln_shape), shift, ..*psi };
        PsiModel { scale: towards(psi.scale / psi.end(), self.ln_scale) * moved.end(), ..moved }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    pub(crate) fn any_psi() -> impl Strategy<Value = (TailModel, PsiModel)> {
        (prop::sample::select(TailModel::ALL.to_vec()), 0.05f64..2000.0, 1e-6f64..1e6, 0.0f64..50.0).prop_map(
            |(model, shape, scale, shift)| {
                let shift = if model == TailModel::Libmr { shift } else { 0.0 };
                (model, PsiModel { shape, scale, shift, status: FitStatus::Converged })
            },
        )
    }

    proptest! {
        #[test]
        fn full_pooling_gives_every_point_the_same_curve((model, psi) in any_psi(), (_, other) in any_psi()) {
            let shift = if model == TailModel::Libmr { 1.5 } else { 0.0 };
            let (psi, other) = (PsiModel { shift, ..psi }, PsiModel { shift, ..other });
            let mut sums = PoolSums::default();
            sums.add(&psi);
            sums.add(&other);
            prop_assert_eq!(sums.pooled(model, &psi, 1.0), sums.pooled(model, &other, 1.0));
            prop_assert_eq!(sums.pooled(model, &psi, 0.0), psi);
            let half = sums.pooled(model, &psi, 0.5);
            let expected = 0.75 * psi.shape.ln() + 0.25 * other.shape.ln();
            prop_assert!((half.shape.ln() - expected).abs() < 1e-9);
        }
    }
}
