//! The rule by which a query is unknown.

use std::sync::Arc;

use crate::calibrate::strangers::enough;
use crate::error::{CalibrateError, ParamsError};
use crate::heldout::calibration::Rule;
use crate::model::Evm;
use crate::params::Params;
use crate::params::rejection::Rejection;

/// # Thresholds
impl Evm {
    /// Changes delta, below which a query is unknown. Nothing else depends on it.
    pub fn set_rejection_threshold(&mut self, delta: f64) -> Result<(), ParamsError> {
        let rejection_threshold = Rejection::Probability(delta);
        self.machine.params =
            Params { rejection_threshold, ..Params::clone(&self.machine.params) }.check()?;
        self.machine.cache.forget_near();
        Ok(())
    }

    /// Changes the rule by which a query is unknown. All but [`Rejection::Probability`] and [`Rejection::Support`] need a
    /// calibration; a share of strangers that the given ones are too few to tell is refused.
    ///
    /// ```
    /// # use evmachine::{Evm, Features, Labels, Params, Rejection};
    /// let values: Vec<f32> = (0..200).map(|i| (i % 100) as f32 / 100.0 + (i / 100) as f32 * 5.0).collect();
    /// let labels = Labels::new((0..200).map(|i| if i < 100 { "low" } else { "high" }))?;
    /// let (mut evm, _) = Evm::fit(&Params::plain(), &Features::new(values, 1)?, &labels)?;
    /// let strict = evm.threshold();
    /// evm.set_rejection(Rejection::FalseUnknown(0.2))?;
    /// assert!(evm.threshold() >= strict);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_rejection(&mut self, rule: Rejection) -> Result<(), CalibrateError> {
        self.set_rule(rule, self.machine.params.confidence)
    }

    /// As [`set_rejection`](Self::set_rejection), with another confidence ([`Params::confidence`]).
    pub fn set_rule(&mut self, rule: Rejection, confidence: f64) -> Result<(), CalibrateError> {
        if rule.is_calibrated() && self.held.calibration.is_none() {
            return Err(CalibrateError::NotCalibrated);
        }
        let params = Params { rejection_threshold: rule, confidence, ..Params::clone(&self.machine.params) }
            .check()?;
        if let (Rejection::FalseKnown(share), Some(calibration)) = (rule, &self.held.calibration) {
            enough(calibration.strangers().len(), share, confidence)?;
        }
        self.machine.params = params;
        self.set_thresholds();
        Ok(())
    }

    /// Moves the threshold by so much support, as decisions show it; 0 changes nothing. A threshold that was moved is a number
    /// ([`Rejection::Support`]), which updates do not set again.
    ///
    /// ```
    /// # use evmachine::{Evm, Features, Labels, Params};
    /// let features = Features::new(vec![0.0, 0.1, 0.2, 5.0, 5.1, 5.2], 1)?;
    /// let labels = Labels::new(["low", "low", "low", "high", "high", "high"])?;
    /// let (mut evm, _) = Evm::fit(&Params::paper(), &features, &labels)?;
    /// let query = Features::new(vec![0.6], 1)?;
    /// let before = evm.decide(&query)?[0].support();
    /// evm.move_threshold(0.5)?;
    /// assert!((evm.decide(&query)?[0].support() - (before - 0.5)).abs() < 1e-9);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn move_threshold(&mut self, support: f64) -> Result<(), CalibrateError> {
        if support == 0.0 {
            return Ok(());
        }
        let threshold = self.threshold();
        if (1..self.machine.classes.len()).any(|class| self.threshold_of(class) != threshold) {
            return Err(CalibrateError::SeveralThresholds);
        }
        if !support.is_finite() {
            return Err(CalibrateError::NotFinite { support });
        }
        if !threshold.is_finite() {
            return Err(CalibrateError::NotMovable { threshold });
        }
        self.set_rejection(Rejection::Support(threshold + support))
    }

    pub(crate) fn set_thresholds(&mut self) {
        self.machine.cache.forget_near();
        let rule = Rule {
            rejection: self.machine.params.rejection_threshold,
            confidence: self.machine.params.confidence,
            told_as_one: self.rows_that_tell_as_one(),
        };
        let (model, classes) = (self.machine.params.tail_model, self.machine.classes.len());
        if let Some(calibration) = &mut self.held.calibration {
            Arc::make_mut(calibration).set_thresholds(rule, model, classes);
        }
    }
}
