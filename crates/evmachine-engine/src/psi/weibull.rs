//! Maximum-likelihood fits of the three tail models.
//!
//! All three reduce to one equation. With `t_i` <= 0 the transformed margins, largest 0,
//!
//! ```text
//! g(beta) = sum t_i e^(beta t_i) / sum e^(beta t_i) - 1 / beta - mean(t) = 0
//! ```
//!
//! where beta is the shape. g rises from -inf to -mean(t) > 0, so there is exactly one root unless all t are 0;
//! `solve` finds it by Newton steps inside a bracket.
//!
//! | tail model | t | fit |
//! |---|---|---|
//! | `Weibull`, Eq. 1 | ln(m / m_max) | kappa = beta, lambda = m_max (mean e^(beta t))^(1/beta) |
//! | `Libmr` | ln(y / y_max), y = 1 + m_max - m | the same, of y |
//! | `Gumbel` | (m_min - m) / m_max | s = m_max / beta, c = m_min - s ln(mean e^(beta t)) |

use crate::math;
use crate::psi::{FitRule, SHAPE_CAP, TailModel};
use crate::psi::{FitStatus, PsiModel};

/// Newton or bisection steps at the most. Newton takes 3 to 6 on real tails.
const MAX_STEPS: u32 = 100;
/// Relative size of the last step. Newton squares the error, so that of the shape is some 1e-12.
const TOLERANCE: f64 = 1e-6;
/// Tails from this length on start from the root of every [`SPARSE`]-th value.
const LONG: usize = 2_048;
const SPARSE: usize = 16;
/// Relative size of the last step on the way to such a start.
const ROUGH: f64 = 1e-3;

/// Memory of a fit, used again by the next one.
#[derive(Debug, Default)]
pub struct Workspace {
    pub(crate) margins: Vec<f64>,
    t: Vec<f64>,
    sparse: Vec<f64>,
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
        Ok(fit_margins(model, None, &mut workspace))
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

/// Fits `model` to the margins `multiplier * distance`; `tail` is sorted and not empty.
///
/// `fixed_shape` replaces the root by a given kappa and applies to `Weibull` alone.
pub(crate) fn fit(
    tail: &[f32],
    multiplier: f64,
    model: TailModel,
    fixed_shape: Option<f64>,
    workspace: &mut Workspace,
) -> PsiModel {
    workspace.margins.clear();
    workspace.margins.extend(tail.iter().map(|&distance| multiplier * f64::from(distance)));
    fit_margins(model, fixed_shape, workspace)
}

/// The fit that the rule asks for. `tail` is not empty: there are at least two classes.
pub fn fit_tail(tail: &[f32], rule: &FitRule, workspace: &mut Workspace) -> PsiModel {
    fit(tail, rule.multiplier, rule.model, rule.fixed_shape, workspace)
}

/// As [`fit`], for the margins that stand in the workspace, sorted.
pub(crate) fn fit_margins(model: TailModel, fixed_shape: Option<f64>, workspace: &mut Workspace) -> PsiModel {
    let Workspace { margins, t, sparse } = workspace;
    let (smallest, largest) = (margins[0], margins[margins.len() - 1]);
    if largest == 0.0 {
        return PsiModel { shape: SHAPE_CAP, scale: 0.0, shift: 0.0, status: FitStatus::ZeroTail };
    }
    let mut status = FitStatus::Converged;
    t.clear();
    match model {
        TailModel::Weibull => {
            if smallest == 0.0 {
                status = FitStatus::ZeroMargins;
                halve_into_zeros(margins);
            }
            t.extend(margins.iter().map(|margin| margin / largest));
            math::ln(t);
        }
        TailModel::Libmr => {
            let range = 1.0 + largest - smallest;
            t.extend(margins.iter().map(|margin| (1.0 + largest - margin) / range));
            math::ln(t);
        }
        TailModel::Gumbel => t.extend(margins.iter().map(|margin| (smallest - margin) / largest)),
    }
    let root = match fixed_shape {
        Some(shape) => Root::at(t, shape, FitStatus::FixedShape),
        // `Libmr` is steep by the unit of 1, the others by that of the margins.
        None if model == TailModel::Libmr => solve(t, SHAPE_CAP * (1.0 + largest) / largest, sparse),
        None => solve(t, SHAPE_CAP, sparse),
    };
    if root.status != FitStatus::Converged {
        status = root.status;
    }
    let ln_mean = root.ln_mean;
    match model {
        TailModel::Weibull => {
            PsiModel { shape: root.shape, scale: largest * (ln_mean / root.shape).exp(), shift: 0.0, status }
        }
        TailModel::Libmr => {
            let scale = (1.0 + largest - smallest) * (ln_mean / root.shape).exp();
            PsiModel { shape: root.shape, scale, shift: largest, status }
        }
        TailModel::Gumbel => {
            let spread = largest / root.shape;
            let location = smallest - spread * ln_mean;
            PsiModel { shape: location / spread, scale: location, shift: 0.0, status }
        }
    }
}

/// Zero margins count as half the smallest positive one. `margins` is sorted and its last is positive.
fn halve_into_zeros(margins: &mut [f64]) {
    let zeros = margins.partition_point(|&margin| margin == 0.0);
    let stand_in = margins[zeros] / 2.0;
    margins[..zeros].fill(stand_in);
}

struct Root {
    shape: f64,
    /// ln of the mean of `e^(shape t)`.
    ln_mean: f64,
    status: FitStatus,
}

impl Root {
    /// A shape that is given.
    fn at(t: &[f64], shape: f64, status: FitStatus) -> Self {
        let ln_mean = (math::exponential_sums(t, shape)[0] / t.len() as f64).ln();
        Self { shape, ln_mean, status }
    }
}

/// The root of g, at most `cap`. `t` holds values <= 0, one of them 0.
fn solve(t: &[f64], cap: f64, sparse: &mut Vec<f64>) -> Root {
    let start = if t.len() < LONG {
        None
    } else {
        sparse.clear();
        sparse.extend(t.iter().step_by(SPARSE));
        let rough = newton(sparse, cap, ROUGH, None);
        (rough.status == FitStatus::Converged).then_some(rough.shape)
    };
    newton(t, cap, TOLERANCE, start)
}

fn newton(t: &[f64], cap: f64, tolerance: f64, start: Option<f64>) -> Root {
    let n = t.len() as f64;
    let [mean, variance] = math::moments(t);
    if variance == 0.0 {
        return Root::at(t, cap, FitStatus::EqualMargins);
    }
    // The standard deviation of ln of a Weibull variable is pi / (sqrt(6) kappa).
    let mut shape = start.unwrap_or((1.282_549_830_161_86 / variance.sqrt()).min(cap));
    let (mut low, mut high) = (0.0, cap);
    for _ in 0..MAX_STEPS {
        let [s0, s1, s2] = math::exponential_sums(t, shape);
        let ratio = s1 / s0;
        let g = ratio - 1.0 / shape - mean;
        if g > 0.0 {
            high = shape;
        } else {
            low = shape;
        }
        if low >= cap {
            return Root { shape: cap, ln_mean: (s0 / n).ln(), status: FitStatus::Capped };
        }
        let curvature = (s2 / s0 - ratio * ratio).max(0.0);
        let newton = shape - g / (curvature + 1.0 / (shape * shape));
        // A step out of the bracket is replaced by its middle: arithmetic near the cap, geometric below, where
        // the bracket spans magnitudes.
        let next = if newton > low && newton < high {
            newton
        } else if newton >= high {
            if high >= cap { high } else { f64::midpoint(shape, high) }
        } else {
            (low.max(1e-6) * shape).sqrt().max(f64::midpoint(low, shape) / 8.0)
        };
        let step = next - shape;
        // Steps that only halve a bracket do not square the error.
        let tolerance = if next == newton { tolerance } else { tolerance * tolerance };
        if step.abs() <= tolerance * next {
            // Taylor's series of ln sum e^(beta t) around the last shape; its third term is beyond an f64.
            let ln_mean = (s0 / n).ln() + step * (ratio + step * curvature / 2.0);
            return Root { shape: next, ln_mean, status: FitStatus::Converged };
        }
        shape = next;
    }
    Root::at(t, shape, FitStatus::NotConverged)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::psi::curve::Curve;

    fn fitted(tail: &[f32], model: TailModel) -> PsiModel {
        fit(tail, 0.5, model, None, &mut Workspace::default())
    }

    proptest! {
        #[test]
        fn the_shape_is_the_root_and_the_scale_follows(
            power in 0.05f64..20.0, count in prop_oneof![2usize..200, 2_000usize..6_000], offset in 0.0f64..30.0,
        ) {
            let margins: Vec<f64> =
                (1..=count).map(|i| offset + (i as f64 / count as f64).powf(power) + 1e-9 * i as f64).collect();
            let psi = PsiModel::fit(TailModel::Weibull, &margins).unwrap();
            let largest = margins[count - 1];
            let t: Vec<f64> = margins.iter().map(|margin| (margin / largest).ln()).collect();
            let sum = |power: i32| t.iter().map(|t| t.powi(power) * (psi.shape * t).exp()).sum::<f64>();
            let (n, ratio) = (count as f64, sum(1) / sum(0));
            let g = ratio - 1.0 / psi.shape - t.iter().sum::<f64>() / n;
            let slope = sum(2) / sum(0) - ratio * ratio + psi.shape.powi(-2);
            prop_assert!((g / slope).abs() <= 1e-9 * psi.shape, "{} off by {}", psi.shape, g / slope);
            let scale = largest * (sum(0) / n).powf(1.0 / psi.shape);
            prop_assert!((psi.scale / scale - 1.0).abs() < 1e-9, "{} {scale}", psi.scale);
        }
    }

    #[test]
    fn degenerate_tails_have_their_meaning() {
        for model in TailModel::ALL {
            let equal = fitted(&[2.0; 7], model);
            assert_eq!(equal.status, FitStatus::EqualMargins, "{model:?}");
            let curve = Curve::new(model, &equal);
            assert!(curve.psi(0.999) > 0.99 && curve.psi(1.001) < 0.01, "{model:?}: a step at the margin 1");

            let zero = fitted(&[0.0; 3], model);
            assert_eq!(zero.status, FitStatus::ZeroTail);
            let curve = Curve::new(model, &zero);
            assert_eq!((curve.psi(0.0), curve.psi(1e-30), curve.psi(1.0)), (1.0, 0.0, 0.0), "{model:?}");

            let one = fitted(&[3.0], model);
            assert_eq!(one.status, FitStatus::EqualMargins, "{model:?}");
        }
        let some = fitted(&[0.0, 0.0, 1.0, 2.0], TailModel::Weibull);
        let halved = fitted(&[0.5, 0.5, 1.0, 2.0], TailModel::Weibull);
        assert_eq!(some.status, FitStatus::ZeroMargins);
        assert_eq!((some.shape, some.scale), (halved.shape, halved.scale));
    }

    #[test]
    fn margins_a_rounding_apart_end_at_the_cap() {
        let close = fitted(&[1.0, 1.0, 1.0f32.next_up()], TailModel::Weibull);
        assert_eq!(close.status, FitStatus::Capped);
        assert_eq!(close.shape, SHAPE_CAP);
        assert!((close.scale - 0.5).abs() < 1e-6);
    }

    #[test]
    fn a_fixed_shape_gives_the_scale_of_that_shape() {
        let tail = [1.0, 2.0, 4.0];
        let psi = fit(&tail, 0.5, TailModel::Weibull, Some(2.0), &mut Workspace::default());
        let expected = ((0.25 + 1.0 + 4.0) / 3.0_f64).sqrt();
        assert_eq!(psi.shape, 2.0);
        assert_eq!(psi.status, FitStatus::FixedShape);
        assert!((psi.scale - expected).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn every_fit_ends_and_solves_its_equation(
            mut tail in prop::collection::vec(prop_oneof![0f32..1e-3, 0.5f32..0.500_01, 0f32..4.0, 0f32..1e6], 1..120),
        ) {
            tail.sort_unstable_by(f32::total_cmp);
            for model in TailModel::ALL {
                let psi = fitted(&tail, model);
                prop_assert!(psi.shape.is_finite() && psi.shape > 0.0, "{psi:?}");
                prop_assert!(psi.scale.is_finite() && psi.scale >= 0.0, "{psi:?}");
                prop_assert_ne!(psi.status, FitStatus::NotConverged);
            }
            let psi = fitted(&tail, TailModel::Weibull);
            if psi.status == FitStatus::Converged {
                let t: Vec<f64> = tail.iter().map(|&d| (f64::from(d) / f64::from(tail[tail.len() - 1])).ln()).collect();
                let [s0, s1, _] = math::exponential_sums(&t, psi.shape);
                let mean = t.iter().sum::<f64>() / t.len() as f64;
                let g = s1 / s0 - 1.0 / psi.shape - mean;
                prop_assert!(g.abs() < 1e-8 * (1.0 / psi.shape + mean.abs()), "g = {g}");
            }
        }
    }
}
