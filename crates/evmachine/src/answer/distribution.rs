//! Scores of classes as probabilities that sum to 1.

use crate::heldout::prior::Prior;
use crate::machine::score::ClassScore;
use crate::model::Evm;

/// # Ask
impl Evm {
    /// P(class) of the scores of a query, if what is unknown may be of any class: with k classes,
    /// `P(known) P(class | known) + (1 - P(known)) / k`. P(known) is that of [`probability_known`](Self::probability_known), or psi
    /// without calibration. The best class is the largest, also if others come up to it.
    ///
    /// ```
    /// # use evmachine::{Evm, Features, Labels, Params, Prior, Run};
    /// # let features = Features::new(vec![0.0, 0.1, 0.2, 5.0, 5.1, 5.2], 1)?;
    /// # let labels = Labels::new(["low", "low", "low", "high", "high", "high"])?;
    /// # let (evm, _) = Evm::fit(&Params::plain(), &features, &labels)?;
    /// let queries = Features::new(vec![5.1, 100.0], 1)?;
    /// let found = evm.map_queries(&queries, |_, scores| evm.distribution(scores, Prior::EVEN))?;
    /// assert!(found[0][1] > 0.9);
    /// assert!((found[1][1] - 0.5).abs() < 0.1, "nothing supports it");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If the scores are of another model.
    pub fn distribution(&self, scores: &[ClassScore], prior: Prior) -> Vec<f64> {
        let decision = self.decision(scores);
        let known = self.probability_known(decision.score(), prior);
        let known = known.unwrap_or_else(|| decision.psi()).clamp(0.0, 1.0);
        let even = (1.0 - known) / scores.len() as f64;
        let mut shares = self.distribution_if_known(scores);
        for share in &mut shares {
            *share = known * *share + even;
        }
        let best = decision.best();
        let others = shares.iter().enumerate().filter(|(class, _)| *class != best);
        let second = others.map(|(_, value)| *value).fold(0.0, f64::max);
        shares[best] = shares[best].max(second.next_up());
        shares
    }

    /// P(class | known) of the scores of a query: [`class_probabilities`](Self::class_probabilities), or without calibration psi of
    /// each class divided by their sum; if every ln psi has underflowed, the best class has all.
    ///
    /// # Panics
    ///
    /// If the scores are of another model.
    pub fn distribution_if_known(&self, scores: &[ClassScore]) -> Vec<f64> {
        if let Some(calibrated) = self.class_probabilities(scores) {
            return calibrated;
        }
        let best = self.decision(scores).best();
        let largest = scores[best].ln_probability;
        if largest == f64::NEG_INFINITY {
            return (0..scores.len()).map(|class| if class == best { 1.0 } else { 0.0 }).collect();
        }
        let mut powers: Vec<f64> =
            scores.iter().map(|score| (score.ln_probability - largest).exp()).collect();
        let sum: f64 = powers.iter().sum();
        for power in &mut powers {
            *power /= sum;
        }
        powers
    }
}
