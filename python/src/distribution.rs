//! Scores of classes as probabilities that sum to 1, as scikit-learn wants them.

use evmachine::{ClassScore, Evm};

/// The share of known queries to be expected.
const PRIOR: f64 = 0.5;

/// P(class) where what is unknown may be of any class: `P(known) P(class | known) + P(unknown) / classes`. P(known) is that
/// of calibration, otherwise psi of the best class; the best class stays the largest where the others come up to it.
pub(crate) fn open(evm: &Evm, scores: &[ClassScore]) -> Vec<f64> {
    let decision = evm.decision(scores);
    let known = evm.probability_known(decision.score(), PRIOR).ok().flatten();
    let known = known.unwrap_or_else(|| decision.psi()).clamp(0.0, 1.0);
    let even = (1.0 - known) / scores.len() as f64;
    let mut rows: Vec<f64> = given_known(evm, scores).into_iter().map(|share| known * share + even).collect();
    let best = decision.best();
    let others = rows.iter().enumerate().filter(|(class, _)| *class != best);
    let second = others.map(|(_, value)| *value).fold(0.0, f64::max);
    rows[best] = rows[best].max(second.next_up());
    rows
}

/// P(class | known). Without calibration, P of each class scaled to sum to 1; where every ln P has underflowed, all of it
/// is the best one's.
pub(crate) fn given_known(evm: &Evm, scores: &[ClassScore]) -> Vec<f64> {
    if let Some(calibrated) = evm.class_probabilities(scores) {
        return calibrated;
    }
    let best = evm.decision(scores).best();
    let largest = scores[best].ln_probability;
    if largest == f64::NEG_INFINITY {
        return (0..scores.len()).map(|class| if class == best { 1.0 } else { 0.0 }).collect();
    }
    let mut powers: Vec<f64> = scores.iter().map(|score| (score.ln_probability - largest).exp()).collect();
    let sum: f64 = powers.iter().sum();
    for power in &mut powers {
        *power /= sum;
    }
    powers
}
