//! Rows that are known to be unknown, and what they do to thresholds.

use std::sync::Arc;

use crate::error::{CalibrateError, ParamsError, RunError};
use crate::heldout::beta::Beta;
use crate::heldout::conformal;
use crate::heldout::sample::Sample;
use crate::input::holdout;
use crate::json::finite;
use crate::machine::score::ClassScore;
use crate::model::Evm;
use crate::params::Params;
use crate::params::rejection::Rejection;
use evmachine_engine::features::Features;
use evmachine_engine::run::Run;

/// Strangers that a model keeps, at most, and values of them.
const MOST_STRANGERS: usize = 20_000;
const MOST_STRANGE_VALUES: usize = 1 << 24;

/// # Strangers
impl Evm {
    /// Learns from rows that are known to be unknown how strangers score: [`Rejection::FalseKnown`] is then set on them, and P(known)
    /// follows. The model keeps them (20,000 at most), so that the threshold can be set on them again when it has learned more.
    pub fn calibrate_unknowns(&mut self, features: &Features<'_>) -> Result<(), CalibrateError> {
        self.calibrate_unknowns_with(&Run::new(), features)
    }

    /// As [`calibrate_unknowns`](Self::calibrate_unknowns), watched and sized by `run`. On an error the model is as it was.
    pub fn calibrate_unknowns_with(
        &mut self,
        run: &Run<'_>,
        features: &Features<'_>,
    ) -> Result<(), CalibrateError> {
        if self.held.calibration.is_none() {
            return Err(CalibrateError::NotCalibrated);
        }
        if features.rows() == 0 {
            return Err(CalibrateError::NoRows);
        }
        let most = (MOST_STRANGE_VALUES / self.machine.dimensions.max(1)).clamp(1, MOST_STRANGERS);
        let all: Vec<usize> = (0..features.rows()).collect();
        let kept = holdout::some_of(&all, most);
        if let Rejection::FalseKnown(share) = self.machine.params.rejection_threshold {
            enough(kept.len(), share, self.machine.params.confidence)?;
        }
        // All of them are looked at, so that a bad row is named by its number.
        self.machine.query_points(features)?;
        let mut model = self.clone();
        let mut sample =
            self.held.sample.as_deref().cloned().unwrap_or_else(|| Sample::empty(self.machine.dimensions));
        sample.strangers = features.select(&kept).values().to_vec();
        model.held.sample = Some(Arc::new(sample));
        model.score_strangers(run)?;
        let scores = model.held.calibration.as_ref().map_or(&[][..], |calibration| calibration.strangers());
        let p_values: Vec<f64> = scores
            .iter()
            .filter_map(|&support| self.p_value(ClassScore { ln_probability: 0.0, support }))
            .collect();
        model.set_strangers(Self::strangers_of(&p_values).ok_or(CalibrateError::NoRows)?)?;
        *self = model;
        Ok(())
    }

    /// Scores the strangers that were given in the model as it is now, and sets the thresholds.
    pub(crate) fn score_strangers(&mut self, run: &Run<'_>) -> Result<(), RunError> {
        let Some(sample) = self.held.sample.clone().filter(|sample| !sample.strangers.is_empty()) else {
            return Ok(());
        };
        let strangers = Features::checked_view(&sample.strangers, sample.columns);
        let decisions = self.decide_with(run, &strangers)?;
        let scores = decisions.iter().map(|decision| finite(decision.score().support)).collect();
        if let Some(calibration) = &mut self.held.calibration {
            Arc::make_mut(calibration).set_strangers(scores);
        }
        self.set_thresholds();
        Ok(())
    }

    /// The distribution of p-values of unknown queries that is most likely by these; `None` without any. For tuners, which
    /// have p-values of many models; [`calibrate_unknowns`](Self::calibrate_unknowns) measures those of one.
    pub fn strangers_of(p_values: &[f64]) -> Option<[f64; 2]> {
        Beta::fit(p_values).map(|beta| [beta.a, beta.b])
    }

    /// Sets the distribution of p-values of unknown queries ([`Params::strangers`]).
    pub fn set_strangers(&mut self, strangers: [f64; 2]) -> Result<(), ParamsError> {
        self.machine.params = Params { strangers, ..Params::clone(&self.machine.params) }.check()?;
        self.set_thresholds();
        Ok(())
    }
}

/// Refuses a share of strangers that so many are too few to tell. None at all is no mistake: it is estimated then.
pub(crate) fn enough(rows: usize, share: f64, confidence: f64) -> Result<(), CalibrateError> {
    let needed = conformal::rows_needed(share, confidence);
    if rows > 0 && rows < needed {
        return Err(CalibrateError::TooFewStrangers { share, rows, needed });
    }
    Ok(())
}
