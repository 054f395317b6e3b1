//! What a sample says of a mean, at least.

/// How often the true mean may lie below the bound, at most.
const RISK: f64 = 0.05;

/// A bound that the mean of independent numbers between 0 and 1 is below with a probability of 5 % at most, from the mean of so many
/// of them: the p below `mean` at which `count * KL(mean, p) = ln(1 / 0.05)` (Hoeffding 1963, Theorem 1). It holds for any number of
/// them and any distribution.
pub fn lower_bound(mean: f64, count: usize) -> f64 {
    bound_of_mean(mean, count, RISK)
}

fn bound_of_mean(mean: f64, count: usize, risk: f64) -> f64 {
    let most = -risk.ln() / count as f64;
    let divergence = |p: f64| term(mean, p) + term(1.0 - mean, 1.0 - p);
    last_rejected(mean, |p| divergence(p) > most)
}

/// As [`lower_bound`], of the numbers themselves: closer where they differ little.
///
/// Where the mean is p or less, the product of `1 + x - p` over independent numbers x is 1 on average at most, so it is 40 or more with
/// a probability of 2.5 % at most (Markov); a bound is the largest p that this rejects (Waudby-Smith and Ramdas 2024, with a bet of 1).
/// The other half of the risk is that of Hoeffding's, which is the higher one where some numbers lie far from the others.
pub fn lower_bound_of(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let least = -(RISK / 2.0).ln();
    let growth = |p: f64| values.iter().map(|value| (value - p).ln_1p()).sum::<f64>();
    last_rejected(mean, |p| growth(p) > least).max(bound_of_mean(mean, values.len(), RISK / 2.0))
}

/// The largest number below `mean` that is rejected, where all smaller ones are.
fn last_rejected(mean: f64, rejects: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, mean);
    for _ in 0..40 {
        let middle = f64::midpoint(low, high);
        if rejects(middle) {
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
        for (chance, fails) in [(0.9, true), (0.99, true), (0.999, false)] {
            let (mut broken, mut of_numbers) = (0, 0);
            for _ in 0..2_000 {
                let hits = (0..500).filter(|_| random() < chance).count();
                broken += usize::from(lower_bound(hits as f64 / 500.0, 500) > chance);
                // The same mean, of numbers that lie close together.
                let values: Vec<f64> = (0..100).map(|_| 1.0 - 2.0 * (1.0 - chance) * random()).collect();
                of_numbers += usize::from(lower_bound_of(&values) > chance);
            }
            assert!(broken <= 100 && of_numbers <= 100, "{chance}: {broken}, {of_numbers} of 2,000");
            assert!(!fails || broken > 0, "{chance}: a bound that never fails is too low");
        }
    }

    #[test]
    fn numbers_that_differ_little_have_a_bound_near_their_mean() {
        let values: Vec<f64> = (0..2_048).map(|at| 0.982 + 0.002 * f64::from(at % 10)).collect();
        let bound = lower_bound_of(&values);
        assert!((0.9890..0.9895).contains(&bound), "{bound}");
        assert!(bound > lower_bound(0.991, 2_048) + 0.002);
        // Few of them far away: that of the mean.
        let values: Vec<f64> = (0..2_048).map(|at| f64::from(u8::from(at % 200 > 0))).collect();
        let mean = values.iter().sum::<f64>() / 2_048.0;
        assert!((lower_bound_of(&values) - lower_bound(mean, 2_048)).abs() < 1e-3);
    }
}
