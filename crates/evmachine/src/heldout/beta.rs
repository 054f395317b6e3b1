//! The Beta distribution, which p-values of unknown queries follow: density `p^(a-1) (1-p)^(b-1) / B(a, b)`.
//!
//! With a <= 1 <= b the density falls with p, so that a higher p-value never makes a query less known.

use crate::params::MOST_STRANGE;

/// Beta(a, b).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Beta {
    pub(crate) a: f64,
    pub(crate) b: f64,
}

/// P-values closer to 0 and 1 count as this close: an `n` of 10^6 gives no smaller ones.
const EDGE: f64 = 1e-6;

impl Beta {
    /// The most likely one with a in [0.01, 1] and b in [1, 100]. `None` without values.
    pub(crate) fn fit(values: &[f64]) -> Option<Self> {
        if values.is_empty() {
            return None;
        }
        let mean = |ln: fn(f64) -> f64| -> f64 {
            values.iter().map(|p| ln(p.clamp(EDGE, 1.0 - EDGE))).sum::<f64>() / values.len() as f64
        };
        let (low, high) = (mean(f64::ln), mean(|p| (-p).ln_1p()));
        let likelihood = |a: f64, b: f64| (a - 1.0) * low + (b - 1.0) * high - ln_beta(a, b);
        let (mut a, mut b) = (0.5, 1.5);
        for _ in 0..30 {
            a = largest(MOST_STRANGE.ln(), 0.0, |ln| likelihood(ln.exp(), b)).exp();
            b = largest(0.0, -MOST_STRANGE.ln(), |ln| likelihood(a, ln.exp())).exp();
        }
        Some(Self { a: a.min(1.0), b: b.max(1.0) })
    }

    pub(crate) fn ln_density(self, p: f64) -> f64 {
        let p = p.clamp(EDGE, 1.0 - EDGE);
        (self.a - 1.0) * p.ln() + (self.b - 1.0) * (-p).ln_1p() - ln_beta(self.a, self.b)
    }

    /// P(value <= p).
    pub(crate) fn below(self, p: f64) -> f64 {
        if p <= 0.0 {
            return 0.0;
        }
        if p >= 1.0 {
            return 1.0;
        }
        let front = (self.a * p.ln() + self.b * (-p).ln_1p() - ln_beta(self.a, self.b)).exp();
        if p < (self.a + 1.0) / (self.a + self.b + 2.0) {
            front * fraction(self.a, self.b, p) / self.a
        } else {
            1.0 - front * fraction(self.b, self.a, 1.0 - p) / self.b
        }
    }

    /// The smallest p with `below(p) >= share`, by bisection.
    pub(crate) fn quantile(self, share: f64) -> f64 {
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            if self.below(middle) >= share { high = middle } else { low = middle }
        }
        high
    }
}

/// Where a function with one maximum is largest in an interval, by golden sections.
fn largest(mut low: f64, mut high: f64, value: impl Fn(f64) -> f64) -> f64 {
    const RATIO: f64 = 0.618_033_988_749_894_8;
    let (mut left, mut right) = (high - RATIO * (high - low), low + RATIO * (high - low));
    let (mut at_left, mut at_right) = (value(left), value(right));
    for _ in 0..60 {
        if at_left > at_right {
            (high, right, at_right) = (right, left, at_left);
            left = high - RATIO * (high - low);
            at_left = value(left);
        } else {
            (low, left, at_left) = (left, right, at_right);
            right = low + RATIO * (high - low);
            at_right = value(right);
        }
    }
    f64::midpoint(low, high)
}

fn ln_beta(a: f64, b: f64) -> f64 {
    ln_gamma(a) + ln_gamma(b) - ln_gamma(a + b)
}

/// Lanczos' approximation, g = 7, nine terms; relative error below 1e-13 for x > 0.
fn ln_gamma(x: f64) -> f64 {
    const TERMS: [f64; 8] = [
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    if x < 0.5 {
        let pi = std::f64::consts::PI;
        return (pi / (pi * x).sin()).ln() - ln_gamma(1.0 - x);
    }
    let x = x - 1.0;
    let terms = TERMS.iter().zip(1..).map(|(term, i)| term / (x + f64::from(i)));
    let sum = 0.999_999_999_999_809_9 + terms.sum::<f64>();
    let t = x + 7.5;
    0.5 * (2.0 * std::f64::consts::PI).ln() + (x + 0.5) * t.ln() - t + sum.ln()
}

/// The continued fraction of the incomplete beta function, by Lentz's method.
fn fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let away = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / away(1.0 - (a + b) * x / (a + 1.0));
    let mut value = d;
    for m in 1..200 {
        let m = f64::from(m);
        for term in [
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0)),
        ] {
            d = 1.0 / away(1.0 + term * d);
            c = away(1.0 + term / c);
            value *= d * c;
        }
        if (d * c - 1.0).abs() < 1e-15 {
            break;
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values() {
        assert!((ln_gamma(0.5) - std::f64::consts::PI.sqrt().ln()).abs() < 1e-13);
        assert!((ln_gamma(10.0) - 362_880f64.ln()).abs() < 1e-12);
        let power = Beta { a: 0.3, b: 1.0 };
        for p in [0.001, 0.2, 0.9] {
            assert!((power.below(p) - p.powf(0.3)).abs() < 1e-12, "{p}");
        }
        let falling = Beta { a: 1.0, b: 3.0 };
        assert!((falling.below(0.2) - (1.0 - 0.8f64.powi(3))).abs() < 1e-12);
        assert!((falling.ln_density(0.2) - (3.0 * 0.64f64).ln()).abs() < 1e-12);
        assert!((falling.quantile(0.5) - (1.0 - 0.5f64.cbrt())).abs() < 1e-12);
    }

    #[test]
    fn the_fit_finds_the_parameters_of_its_own_quantiles() {
        let truth = Beta { a: 0.4, b: 2.5 };
        let values: Vec<f64> = (0..2000).map(|i| truth.quantile((f64::from(i) + 0.5) / 2000.0)).collect();
        let found = Beta::fit(&values).unwrap();
        assert!((found.a - 0.4).abs() < 0.02 && (found.b - 2.5).abs() < 0.1, "{found:?}");
        let rising: Vec<f64> = values.iter().map(|p| 1.0 - p).collect();
        let bounded = Beta::fit(&rising).unwrap();
        assert!(bounded.a <= 1.0 && bounded.b >= 1.0, "{bounded:?}");
        assert_eq!(Beta::fit(&[]), None);
    }
}
