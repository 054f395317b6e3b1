//! The probability of sample inclusion: the curve that a fit draws around its point.
//!
//! A curve is evaluated as *support*, a number that rises with psi and never underflows:
//!
//! | tail model | support(d) | ln psi |
//! |---|---|---|
//! | `Weibull` | -kappa ln(d / lambda) | -e^(-support) |
//! | `Libmr` | b ln((1 + `m_max` - d) / a) | ln(1 - e^(-e^support)) |
//! | `Gumbel` | (c - d) / s | ln(1 - e^(-e^support)) |
//!
//! Classes are compared by it, so that queries far from everything are still ordered.

use serde::{Deserialize, Serialize};

use crate::math;
use crate::params::TailModel;
use crate::weibull::{self, Workspace};

/// How a Psi-model came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum FitStatus {
    /// The likelihood equation was solved.
    Converged = 0,
    /// Solved, with zero margins counted as half the smallest positive one.
    ZeroMargins = 1,
    /// All margins are equal: a step at that margin.
    EqualMargins = 2,
    /// All margins are zero: psi is 1 at the point itself and 0 elsewhere.
    ZeroTail = 3,
    /// Margins so close together that the shape ended at [`SHAPE_CAP`](crate::SHAPE_CAP).
    Capped = 4,
    /// The shape was given, not fitted.
    FixedShape = 5,
    /// The solver ran out of steps; the last iterate stands.
    NotConverged = 6,
}

impl FitStatus {
    /// All statuses, by their number.
    pub const ALL: [FitStatus; 7] = [
        FitStatus::Converged,
        FitStatus::ZeroMargins,
        FitStatus::EqualMargins,
        FitStatus::ZeroTail,
        FitStatus::Capped,
        FitStatus::FixedShape,
        FitStatus::NotConverged,
    ];

    /// Whether shape and scale are estimates that a mean over points may use.
    pub(crate) fn is_estimate(self) -> bool {
        !matches!(self, FitStatus::EqualMargins | FitStatus::ZeroTail | FitStatus::Capped)
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
        }
    }
}

/// The fitted parameters of one point, before pooling.
#[derive(Debug, Clone, Copy, PartialEq)]
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
    /// Fits margins directly, for whoever has them from elsewhere; their order does not matter.
    ///
    /// ```
    /// use evmachine::{PsiModel, TailModel};
    ///
    /// let psi = PsiModel::fit(TailModel::Weibull, &[1.9, 1.2, 1.6, 2.1])?;
    /// assert!(psi.probability(TailModel::Weibull, 0.5) > 0.99);
    /// assert!(psi.probability(TailModel::Weibull, 3.0) < 0.01);
    /// # Ok::<(), evmachine::MarginError>(())
    /// ```
    pub fn fit(model: TailModel, margins: &[f64]) -> Result<Self, MarginError> {
        if margins.is_empty() {
            return Err(MarginError::Empty);
        }
        if let Some(index) = margins.iter().position(|margin| !(margin.is_finite() && *margin >= 0.0)) {
            return Err(MarginError::NotAMargin { index, value: margins[index] });
        }
        let mut workspace = Workspace::default();
        workspace.margins.extend_from_slice(margins);
        workspace.margins.sort_unstable_by(f64::total_cmp);
        Ok(weibull::fit_margins(model, None, &mut workspace))
    }

    /// psi at a distance, before pooling.
    pub fn probability(&self, model: TailModel, distance: f64) -> f64 {
        Curve::new(model, self).psi(distance)
    }
}

/// Margins that cannot be fitted.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum MarginError {
    /// None at all.
    #[error("there are no margins to fit")]
    Empty,
    /// A margin is finite and not negative.
    #[error("margin {index} is {value}; margins are finite and not negative")]
    NotAMargin {
        /// Its position.
        index: usize,
        /// Its value.
        value: f64,
    },
}

/// Sums of the logarithms of fitted parameters, from which pooling takes its means.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct PoolSums {
    count: u64,
    ln_shape: f64,
    ln_scale: f64,
    ln_shift: f64,
}

impl PoolSums {
    pub(crate) fn add(&mut self, psi: &PsiModel) {
        if psi.status.is_estimate() {
            self.count += 1;
            self.ln_shape += psi.shape.ln();
            self.ln_scale += (psi.scale / end(psi)).ln();
            self.ln_shift += if psi.shift > 0.0 { psi.shift.ln() } else { 0.0 };
        }
    }

    pub(crate) fn merge(mut self, other: Self) -> Self {
        self.count += other.count;
        self.ln_shape += other.ln_shape;
        self.ln_scale += other.ln_scale;
        self.ln_shift += other.ln_shift;
        self
    }

    /// Whether these can be sums over at most so many points.
    pub(crate) fn is_possible(&self, points: u64) -> bool {
        let finite = self.ln_shape.is_finite() && self.ln_scale.is_finite() && self.ln_shift.is_finite();
        finite && self.count <= points
    }

    /// `psi` with ln(shape) and ln(scale) moved the fraction `rho` towards the means.
    ///
    /// `Libmr` has a third parameter: there `ln(m_max)` and ln(scale / (1 + `m_max`)) move, the latter of which is
    /// never positive, so that psi at distance 0 stays at least 1 - 1/e.
    ///
    /// A zero tail has no ln(scale) and stays as it is, unless rho is 1, where all points get the means.
    pub(crate) fn pooled(&self, model: TailModel, psi: &PsiModel, rho: f64) -> PsiModel {
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
        PsiModel { scale: towards(psi.scale / end(psi), self.ln_scale) * end(&moved), ..moved }
    }
}

/// The distance from which `Libmr` is 0; 1 for the others, which have no such end.
fn end(psi: &PsiModel) -> f64 {
    1.0 + psi.shift
}

/// A curve ready for evaluation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Curve {
    model: TailModel,
    shape: f64,
    inverse_scale: f64,
    /// Distance from which `Libmr` is 0: 1 + `m_max`.
    end: f64,
}

/// Stands in for the scale of a zero tail: every positive distance is beyond it.
const TINY: f64 = 1e-300;

impl Curve {
    pub(crate) fn new(model: TailModel, psi: &PsiModel) -> Self {
        let (inverse_scale, end) = match (model, psi.scale == 0.0) {
            (_, false) => (1.0 / psi.scale, end(psi)),
            // ln(TINY * 10 / TINY) > 0 at distance 0, and nothing beyond.
            (TailModel::Libmr, true) => (10.0 / TINY, TINY),
            (_, true) => (1.0 / TINY, 0.0),
        };
        Self { model, shape: psi.shape, inverse_scale, end }
    }

    /// Rises with psi; +inf and -inf are possible.
    pub(crate) fn support(&self, distance: f64) -> f64 {
        let mut value = [0.0];
        self.argument(distance, &mut value[0]);
        if self.model != TailModel::Gumbel {
            math::ln(&mut value);
            value[0] *= self.factor();
        }
        value[0]
    }

    /// What [`support`](Self::support) is `factor * ln` of; the support itself for `Gumbel`.
    #[inline]
    fn argument(&self, distance: f64, out: &mut f64) {
        *out = match self.model {
            TailModel::Weibull => distance * self.inverse_scale,
            TailModel::Libmr => (self.end - distance).max(0.0) * self.inverse_scale,
            TailModel::Gumbel => self.shape * (1.0 - distance * self.inverse_scale),
        };
    }

    pub(crate) fn shape(&self) -> f64 {
        self.shape
    }

    pub(crate) fn inverse_scale(&self) -> f64 {
        self.inverse_scale
    }

    fn factor(&self) -> f64 {
        if self.model == TailModel::Weibull { -self.shape } else { self.shape }
    }

    pub(crate) fn psi(&self, distance: f64) -> f64 {
        ln_psi(self.model, self.support(distance)).exp()
    }

    /// Appends psi at each distance.
    pub(crate) fn psi_of_each(&self, distances: impl Iterator<Item = f32>, out: &mut Vec<f64>) {
        let start = out.len();
        out.extend(distances.map(|distance| {
            let mut value = 0.0;
            self.argument(f64::from(distance), &mut value);
            value
        }));
        let new = &mut out[start..];
        if self.model != TailModel::Gumbel {
            math::ln(new);
            let factor = self.factor();
            for value in new.iter_mut() {
                *value *= factor;
            }
        }
        for value in new {
            *value = ln_psi(self.model, *value).exp();
        }
    }

    /// The largest distance at which psi still reaches `probability`, rounded down to an `f32`; negative where
    /// not even distance 0 does.
    ///
    /// Every distance up to it evaluates to at least that psi, rounding included.
    pub(crate) fn radius(&self, probability: f64) -> f32 {
        self.radius_at(support_of(self.model, probability))
    }

    /// As [`radius`](Self::radius), by support: thresholds too close to 1 for an `f64` have one too.
    pub(crate) fn radius_at(&self, support: f64) -> f32 {
        if support == f64::NEG_INFINITY {
            return f32::INFINITY;
        }
        let support = support + 1e-9 * (1.0 + support.abs());
        let radius = match self.model {
            TailModel::Weibull => (-support / self.shape).exp() / self.inverse_scale,
            TailModel::Libmr => self.end - (support / self.shape).exp() / self.inverse_scale,
            TailModel::Gumbel => (1.0 - support / self.shape) / self.inverse_scale,
        };
        let narrow = radius as f32;
        if f64::from(narrow) > radius { narrow.next_down() } else { narrow }
    }
}

impl TailModel {
    /// The probability that a support stands for.
    pub fn probability_at(self, support: f64) -> f64 {
        ln_psi(self, support).exp()
    }

    /// The support that a probability stands for: -inf for 0, +inf for 1.
    pub fn support_at(self, probability: f64) -> f64 {
        support_of(self, probability)
    }
}

/// ln psi at the given support.
pub(crate) fn ln_psi(model: TailModel, support: f64) -> f64 {
    match model {
        TailModel::Weibull => -(-support).exp(),
        // For small e^s, 1 - e^(-e^s) is e^s.
        _ if support < -30.0 => support,
        _ => (-(-support.exp()).exp_m1()).ln(),
    }
}

/// The support at which psi is `probability`; the inverse of [`ln_psi`].
pub(crate) fn support_of(model: TailModel, probability: f64) -> f64 {
    match model {
        TailModel::Weibull => -(-probability.ln()).ln(),
        _ => (-(-probability).ln_1p()).ln(),
    }
}

/// As [`support_of`], of a probability given by its logarithm.
pub(crate) fn support_of_ln(model: TailModel, ln_probability: f64) -> f64 {
    match model {
        TailModel::Weibull => -(-ln_probability).ln(),
        _ if ln_probability < -30.0 => ln_probability,
        _ => (-(-ln_probability.exp_m1()).ln()).ln(),
    }
}

/// The curves of many points.
#[derive(Debug, Clone)]
pub(crate) struct Curves {
    model: TailModel,
    each: Vec<Curve>,
}

impl Curves {
    pub(crate) fn new(model: TailModel, curves: Vec<Curve>) -> Self {
        Self { model, each: curves }
    }

    pub(crate) fn model(&self) -> TailModel {
        self.model
    }

    pub(crate) fn len(&self) -> usize {
        self.each.len()
    }

    pub(crate) fn get(&self, index: usize) -> &Curve {
        &self.each[index]
    }

    /// Support of curves, given by their index, at a distance each.
    pub(crate) fn support(&self, at: impl Iterator<Item = (usize, f32)> + Clone, out: &mut [f64]) {
        for (out, (index, distance)) in out.iter_mut().zip(at.clone()) {
            self.each[index].argument(f64::from(distance), out);
        }
        if self.model != TailModel::Gumbel {
            math::ln(out);
            for (out, (index, _)) in out.iter_mut().zip(at) {
                *out *= self.each[index].factor();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_psi() -> impl Strategy<Value = (TailModel, PsiModel)> {
        (prop::sample::select(TailModel::ALL.to_vec()), 0.05f64..2000.0, 1e-6f64..1e6, 0.0f64..50.0).prop_map(
            |(model, shape, scale, shift)| {
                let shift = if model == TailModel::Libmr { shift } else { 0.0 };
                (model, PsiModel { shape, scale, shift, status: FitStatus::Converged })
            },
        )
    }

    proptest! {
        #[test]
        fn psi_falls_with_distance_and_is_a_probability(
            (model, psi) in any_psi(), a in 0f32..1e4, b in 0f32..1e4,
        ) {
            let curve = Curve::new(model, &psi);
            let (near, far) = (f64::from(a.min(b)), f64::from(a.max(b)));
            let (near, far) = (curve.psi(near), curve.psi(far));
            prop_assert!((0.0..=1.0).contains(&near) && (0.0..=1.0).contains(&far));
            prop_assert!(near >= far - 1e-12, "{near} {far}");
        }

        #[test]
        fn within_the_radius_psi_reaches_the_probability(
            (model, psi) in any_psi(), probability in 0.001f64..0.999, inside in 0f64..=1.0,
        ) {
            let curve = Curve::new(model, &psi);
            let radius = curve.radius(probability);
            let threshold = support_of(model, probability);
            if radius >= 0.0 {
                let distance = (f64::from(radius) * inside) as f32;
                prop_assert!(curve.support(f64::from(distance.min(radius))) >= threshold);
                let beyond = f64::from(radius) * (1.0 + 1e-5) + 1e-5 / psi.shape.min(1.0);
                prop_assert!(curve.psi(beyond) <= probability + 1e-3);
            } else {
                prop_assert!(curve.psi(0.0) <= probability + 1e-6);
            }
        }

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

    #[test]
    fn many_curves_agree_with_one() {
        for model in TailModel::ALL {
            let curves: Vec<Curve> = (1..20)
                .map(|i| {
                    let psi = PsiModel {
                        shape: f64::from(i),
                        scale: 0.1 * f64::from(i),
                        shift: 0.3,
                        status: FitStatus::Converged,
                    };
                    Curve::new(model, &psi)
                })
                .collect();
            let many = Curves::new(model, curves.clone());
            let mut out = vec![0.0; 11];
            let at = (0..11).map(|i| (3 * i % 19, i as f32 * 0.07));
            many.support(at.clone(), &mut out);
            for (out, (index, distance)) in out.iter().zip(at) {
                assert_eq!(*out, curves[index].support(f64::from(distance)));
            }
        }
    }
}
