//! What chance allows: the beta-binomial distribution of mistakes among test rows.

/// Of `m` calibrating rows, `rate` of which may be mistaken, and so many test rows: how likely so many mistakes or more are, and so
/// many or fewer.
pub(crate) fn tails(m: usize, rate: f64, tests: usize, mistakes: usize) -> (f64, f64) {
    let (a, b) = (rate * (m + 1) as f64, (1.0 - rate) * (m + 1) as f64);
    let n = tests as f64;
    let ln_choose = |k: f64| ln_gamma(n + 1.0) - ln_gamma(k + 1.0) - ln_gamma(n - k + 1.0);
    let ln_mass = |k: f64| ln_choose(k) + ln_beta(k + a, n - k + b) - ln_beta(a, b);
    let (mut above, mut below) = (0.0, 0.0);
    for k in 0..=tests {
        let mass = ln_mass(k as f64).exp();
        above += if k >= mistakes { mass } else { 0.0 };
        below += if k <= mistakes { mass } else { 0.0 };
    }
    (above.min(1.0), below.min(1.0))
}

/// The standard deviation of the share of mistakes among so many test rows.
pub(crate) fn deviation(m: usize, rate: f64, tests: usize) -> f64 {
    (rate * (1.0 - rate) * (1.0 / (m + 2) as f64 + 1.0 / tests as f64)).sqrt()
}

fn ln_beta(a: f64, b: f64) -> f64 {
    ln_gamma(a) + ln_gamma(b) - ln_gamma(a + b)
}

/// Stirling's series, from 10 on; below that by recurrence.
fn ln_gamma(x: f64) -> f64 {
    if x < 10.0 {
        return ln_gamma(x + 1.0) - x.ln();
    }
    let inverse = 1.0 / (x * x);
    (x - 0.5) * x.ln() - x
        + 0.5 * std::f64::consts::TAU.ln()
        + (1.0 / 12.0 - inverse * (1.0 / 360.0 - inverse / 1260.0)) / x
}
