//! What a sample says of a mean, at least.

/// How often the true mean may lie below the bound, at most.
const RISK: f64 = 0.05;

/// A bound that the mean of independent numbers between 0 and 1 is below with a probability of 5 % at most, from the mean of so many
/// of them: the p below `mean` at which `count * KL(mean, p) = ln(1 / 0.05)` (Hoeffding 1963, Theorem 1). It holds for any number of
/// them and any distribution.
pub(crate) fn lower_bound(mean: f64, count: usize) -> f64 {
    let most = -RISK.ln() / count as f64;
    let divergence = |p: f64| term(mean, p) + term(1.0 - mean, 1.0 - p);
    let (mut low, mut high) = (0.0, mean);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if divergence(middle) > most {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

fn term(a: f64, b: f64) -> f64 {
    if a <= 0.0 { 0.0 } else { a * (a / b).ln() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_those_of_the_formula() {
        // Where all are 1, the bound is the p with p^count = 0.05.
        assert!((lower_bound(1.0, 100) - 0.05f64.powf(0.01)).abs() < 1e-12);
        assert!(lower_bound(0.0, 100) < 1e-12);
        let bound = lower_bound(0.995, 2_048);
        assert!((0.9901..0.9902).contains(&bound), "{bound}");
        let divergence = 0.995 * (0.995 / bound).ln() + 0.005 * (0.005 / (1.0 - bound)).ln();
        assert!((divergence * 2_048.0 - 20f64.ln()).abs() < 1e-6);
    }

    #[test]
    fn one_mean_in_twenty_at_most_lies_below_its_bound() {
        let mut state = 11u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f64 / 16_777_216.0
        };
        for chance in [0.9, 0.99] {
            let mut broken = 0;
            for _ in 0..2_000 {
                let hits = (0..500).filter(|_| random() < chance).count();
                broken += usize::from(lower_bound(hits as f64 / 500.0, 500) > chance);
            }
            assert!(broken <= 100, "{chance}: {broken} of 2,000");
            assert!(broken > 0, "{chance}: a bound that never fails is too low");
        }
    }
}
