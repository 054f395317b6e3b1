//! Whether a share that was measured differs from the one that was promised by more than chance.

/// How likely so few or so many mistakes are, if what was promised holds.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Chance {
    /// Of so few, or fewer.
    pub as_few: f64,
    /// Of so many, or more.
    pub as_many: f64,
}

impl Chance {
    /// Of `mistakes` among `rows`, where a threshold that was set on `set_on` rows makes mistakes on a share of all rows, on average over
    /// trainings. The share of one training is then distributed as Beta(share (m + 1), (1 - share) (m + 1)), and mistakes as the
    /// beta-binomial.
    ///
    /// ```
    /// use evmachine_eval::Chance;
    ///
    /// let found = Chance::of(10, 100, 0.05, 1000);
    /// assert!(found.as_many > 0.02 && found.as_many < 0.05);
    /// assert!(Chance::of(100, 1000, 0.05, 1000).as_many < 1e-4);
    /// assert_eq!(Chance::of(0, 10, 0.05, 1000).as_many, 1.0);
    /// ```
    pub fn of(mistakes: usize, rows: usize, share: f64, set_on: usize) -> Self {
        let (total, n) = ((set_on + 1) as f64, rows as f64);
        let (a, b) = (share * total, (1.0 - share) * total);
        // ln P(k), from that of none on: the ratio of P(k + 1) to P(k) is (n - k) (a + k) / ((k + 1) (b + n - k - 1)).
        let mut ln: f64 = (0..rows).map(|i| ((b + i as f64) / (total + i as f64)).ln()).sum();
        let (mut below, mut at) = (0.0, 0.0);
        for count in 0..=mistakes.min(rows) {
            at = ln.exp();
            if count < mistakes {
                below += at;
            }
            let k = count as f64;
            ln += ((n - k) * (a + k) / ((k + 1.0) * (b + n - k - 1.0))).ln();
        }
        Self { as_few: (below + at).min(1.0), as_many: (1.0 - below).clamp(0.0, 1.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_many_rows_mistakes_are_binomial() {
        // P(at most 1 of 10) with 0.1 each is 0.7361.
        let found = Chance::of(1, 10, 0.1, 100_000_000);
        assert!((found.as_few - 0.736_099).abs() < 1e-5, "{found:?}");
        assert!((found.as_many - 0.651_322).abs() < 1e-5, "{found:?}");
    }

    #[test]
    fn few_rows_to_set_it_on_widen_what_is_chance() {
        let (many, few) = (Chance::of(90, 1000, 0.05, 100_000), Chance::of(90, 1000, 0.05, 100));
        assert!(many.as_many < 1e-6 && few.as_many > 0.03, "{many:?} {few:?}");
        let certain = Chance::of(10, 10, 0.5, 1);
        assert!((certain.as_few - 1.0).abs() < 1e-12);
    }
}
