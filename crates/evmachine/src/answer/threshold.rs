//! Where the model rejects, and what scores mean as probabilities.

use crate::heldout::beta::Beta;
use crate::heldout::calibration::{self, CalibrationInfo, PValueSteps};
use crate::heldout::prior::Prior;
use crate::machine::score::ClassScore;
use crate::model::Evm;
use crate::params::rejection::{DELTA, Rejection};
use evmachine_engine::psi::curve::support_of;

/// Below this support, which falls by far more, a query is nearest to an ignored sample or out of reach.
const FALLEN: f64 = -1e6;

/// # Thresholds
impl Evm {
    /// The support from which on a query of the first class is accepted; the same for all classes but under
    /// [`Rejection::FalseUnknownPerClass`].
    pub fn threshold(&self) -> f64 {
        self.threshold_of(0)
    }

    /// The support from which on a query whose best class is this one is accepted.
    ///
    /// # Panics
    ///
    /// If there are not so many classes.
    pub fn threshold_of(&self, class: usize) -> f64 {
        let (model, rule) = (self.machine.params.tail_model, self.machine.params.rejection_threshold);
        match (rule, &self.held.calibration) {
            (Rejection::Probability(delta), _) => support_of(model, delta),
            (Rejection::Support(support), _) => support,
            (_, Some(calibration)) if !self.has_fallen() => calibration.thresholds[class],
            // However few rows it rests on, it stays above what is nearest to an ignored sample or a denial.
            (_, Some(calibration)) => calibration.thresholds[class].max(FALLEN),
            // Nothing could be held out.
            (_, None) => support_of(model, DELTA),
        }
    }

    /// Whether a score is not that of a row nearest to an ignored sample, or to a denial of the only class.
    pub(crate) fn stands(&self, score: f64) -> bool {
        !self.has_fallen() || score > FALLEN
    }

    /// Whether there are samples that make queries near them unknown.
    fn has_fallen(&self) -> bool {
        !self.machine.ignored.is_empty() || self.machine.has_denied()
    }

    /// What the threshold rests on; `None` where nothing was held out.
    pub fn calibration(&self) -> Option<CalibrationInfo> {
        self.held.calibration.as_ref().map(|calibration| calibration.info())
    }

    /// The conformal p-value of a decision's score: the share of known queries that score no higher. Uniform for known
    /// queries, small for unknown ones. `None` without calibration.
    pub fn p_value(&self, score: ClassScore) -> Option<f64> {
        self.held.calibration.as_ref().map(|calibration| calibration.p_value(score.support))
    }

    /// What p-values are made of, for exports that compute them elsewhere. `None` without calibration.
    pub fn p_value_steps(&self) -> Option<PValueSteps> {
        self.held.calibration.as_ref().map(|calibration| calibration.steps())
    }

    /// P(known) of a decision's score. `None` without calibration.
    pub fn probability_known(&self, score: ClassScore, prior: Prior) -> Option<f64> {
        let p_value = self.p_value(score);
        p_value.map(|p_value| calibration::probability_known(p_value, self.strangers(), prior.share()))
    }

    fn strangers(&self) -> Beta {
        let [a, b] = self.machine.params.strangers;
        Beta { a, b }
    }

    /// P(class | known) of the scores of a query, which sums to 1. `None` without calibration.
    pub fn class_probabilities(&self, scores: &[ClassScore]) -> Option<Vec<f64>> {
        let calibration = self.held.calibration.as_ref()?;
        Some(calibration::class_probabilities(scores, calibration.sharpness))
    }
}
