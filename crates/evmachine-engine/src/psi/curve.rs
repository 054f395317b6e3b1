//! The probability of sample inclusion as a curve over distances.
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

use crate::math;
use crate::psi::PsiModel;
use crate::psi::TailModel;

/// Shape, inverse scale and end of a curve.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C)]
pub struct CurveValues {
    /// kappa of `Weibull`, b of `Libmr`, c / s of `Gumbel`.
    pub shape: f64,
    /// One over lambda, a, c.
    pub inverse_scale: f64,
    /// The distance from which on `Libmr` is 0.
    pub end: f64,
}

/// A curve ready for evaluation.
#[derive(Debug, Clone, Copy)]
pub struct Curve {
    model: TailModel,
    shape: f64,
    inverse_scale: f64,
    /// Distance from which `Libmr` is 0: 1 + `m_max`.
    end: f64,
}

/// Stands in for the scale of a zero tail: every positive distance is beyond it.
const TINY: f64 = 1e-300;

impl Curve {
    /// The curve of a fit.
    pub fn new(model: TailModel, psi: &PsiModel) -> Self {
        let (inverse_scale, end) = match (model, psi.scale == 0.0) {
            (_, false) => (1.0 / psi.scale, psi.end()),
            // ln(TINY * 10 / TINY) > 0 at distance 0, and nothing beyond.
            (TailModel::Libmr, true) => (10.0 / TINY, TINY),
            (_, true) => (1.0 / TINY, 0.0),
        };
        Self { model, shape: psi.shape, inverse_scale, end }
    }

    /// Rises with psi; +inf and -inf are possible.
    pub fn support(&self, distance: f64) -> f64 {
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

    /// The shape kappa.
    pub fn shape(&self) -> f64 {
        self.shape
    }

    /// 1 / lambda.
    pub fn inverse_scale(&self) -> f64 {
        self.inverse_scale
    }

    fn factor(&self) -> f64 {
        if self.model == TailModel::Weibull { -self.shape } else { self.shape }
    }

    /// Psi at a distance.
    pub fn psi(&self, distance: f64) -> f64 {
        ln_psi(self.model, self.support(distance)).exp()
    }

    /// Appends psi at each distance.
    pub fn psi_of_each(&self, distances: impl Iterator<Item = f32>, out: &mut Vec<f64>) {
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
    pub fn radius(&self, probability: f64) -> f32 {
        self.radius_at(support_of(self.model, probability))
    }

    /// As [`radius`](Self::radius), by support: thresholds too close to 1 for an `f64` have one too.
    pub fn radius_at(&self, support: f64) -> f32 {
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

impl PsiModel {
    /// psi at a distance, before pooling.
    pub fn probability(&self, model: TailModel, distance: f64) -> f64 {
        Curve::new(model, self).psi(distance)
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
pub fn ln_psi(model: TailModel, support: f64) -> f64 {
    match model {
        TailModel::Weibull => -(-support).exp(),
        // For small e^s, 1 - e^(-e^s) is e^s.
        _ if support < -30.0 => support,
        _ => (-(-support.exp()).exp_m1()).ln(),
    }
}

/// The support at which psi is `probability`; the inverse of [`ln_psi`].
pub fn support_of(model: TailModel, probability: f64) -> f64 {
    match model {
        TailModel::Weibull => -(-probability.ln()).ln(),
        _ => (-(-probability).ln_1p()).ln(),
    }
}

/// As [`support_of`], of a probability given by its logarithm.
pub fn support_of_ln(model: TailModel, ln_probability: f64) -> f64 {
    match model {
        TailModel::Weibull => -(-ln_probability).ln(),
        _ if ln_probability < -30.0 => ln_probability,
        _ => (-(-ln_probability.exp_m1()).ln()).ln(),
    }
}

/// The curves of many points.
#[derive(Debug, Clone)]
pub struct Curves {
    model: TailModel,
    each: Vec<Curve>,
}

impl Curves {
    /// Curves of one model.
    pub fn new(model: TailModel, curves: Vec<Curve>) -> Self {
        Self { model, each: curves }
    }

    /// The model that all of them follow.
    pub fn model(&self) -> TailModel {
        self.model
    }

    /// How many there are.
    #[expect(clippy::len_without_is_empty, reason = "nobody asks")]
    pub fn len(&self) -> usize {
        self.each.len()
    }

    /// What each is made of.
    pub fn values(&self) -> Vec<CurveValues> {
        let values = self.each.iter().map(|curve| CurveValues {
            shape: curve.shape,
            inverse_scale: curve.inverse_scale,
            end: curve.end,
        });
        values.collect()
    }

    /// The curve of a point.
    pub fn get(&self, index: usize) -> &Curve {
        &self.each[index]
    }

    /// Support of curves, given by their index, at a distance each.
    pub fn support(&self, at: impl Iterator<Item = (usize, f32)> + Clone, out: &mut [f64]) {
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
    use crate::psi::FitStatus;
    use crate::psi::tests::any_psi;

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
