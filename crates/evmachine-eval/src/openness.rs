//! Openness, and the paper's formula for delta.

/// `1 - sqrt(2 C_T / (C_R + C_E))`: `C_T` classes in training, `C_R` to be recognised, `C_E` in evaluation. 0 where no
/// class is unknown.
pub fn openness(known: usize, unknown: usize) -> f64 {
    let (trained, recognised, evaluated) = (known as f64, known as f64, (known + unknown) as f64);
    1.0 - (2.0 * trained / (recognised + evaluated)).sqrt()
}

/// Half the openness (Sec. V-A): the probability below which a query is unknown.
pub fn delta(known: usize, unknown: usize) -> f64 {
    0.5 * openness(known, unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_oletter() {
        assert_eq!(delta(15, 0), 0.0);
        assert!((delta(15, 11) - 0.5 * (1.0 - (30.0f64 / 41.0).sqrt())).abs() < 1e-15);
        assert!((openness(15, 11) - 0.1446).abs() < 1e-4);
    }
}
