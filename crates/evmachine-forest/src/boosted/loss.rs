//! The loss of boosted trees: minus the logarithm of the probability of a row's class.
//!
//! With two classes one logit, of the second, is enough; otherwise each class has one, and probabilities are their softmax.

/// Logits of the classes' shares of the rows: what trees start from.
pub(super) fn start(sizes: &[usize]) -> Vec<f64> {
    let logs: Vec<f64> = sizes.iter().map(|&size| (size as f64).ln()).collect();
    if let [first, second] = logs[..] {
        return vec![second - first];
    }
    let mean = logs.iter().sum::<f64>() / logs.len() as f64;
    logs.iter().map(|log| log - mean).collect()
}

/// Turns logits into probabilities of the classes, of which there is one more where there is but one logit.
pub(super) fn probabilities(logits: &[f64], probabilities: &mut [f64]) {
    if let [logit] = *logits {
        let second = 1.0 / (1.0 + (-logit).exp());
        probabilities.copy_from_slice(&[1.0 - second, second]);
        return;
    }
    let largest = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut sum = 0.0;
    for (probability, logit) in probabilities.iter_mut().zip(logits) {
        *probability = (logit - largest).exp();
        sum += *probability;
    }
    for probability in probabilities {
        *probability /= sum;
    }
}

/// The loss of a row of that class.
pub(super) fn loss(logits: &[f64], class: usize) -> f64 {
    if let [logit] = *logits {
        let against = if class == 1 { -logit } else { logit };
        return if against > 0.0 { against + (-against).exp().ln_1p() } else { against.exp().ln_1p() };
    }
    let largest = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = logits.iter().map(|logit| (logit - largest).exp()).sum();
    sum.ln() + largest - logits[class]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loss_is_minus_the_logarithm_of_the_probability() {
        for logits in [&[0.3][..], &[-700.0], &[1.0, -2.0, 0.5]] {
            let mut found = vec![0.0; logits.len().max(2)];
            probabilities(logits, &mut found);
            assert!((found.iter().sum::<f64>() - 1.0).abs() < 1e-15);
            let class = 0;
            assert!((loss(logits, class) + found[class].ln()).abs() < 1e-12, "{logits:?}");
        }
        assert_eq!(loss(&[-700.0], 1), 700.0);
    }

    #[test]
    fn trees_start_from_the_shares_of_the_classes() {
        let mut found = [0.0; 3];
        probabilities(&start(&[2, 6, 8]), &mut found);
        assert!(found.iter().zip([0.125, 0.375, 0.5]).all(|(found, share)| (found - share).abs() < 1e-15));
        let mut found = [0.0; 2];
        probabilities(&start(&[2, 6]), &mut found);
        assert!((found[1] - 0.75).abs() < 1e-15);
    }
}
