//! Labelled rows that the model did not learn: what it says of them sets threshold and probabilities.

use std::sync::Arc;

use crate::error::LabelError;
use crate::error::{CalibrateError, RunError};
use crate::heldout::calibration::{Calibration, CalibrationInfo, LeftOut, Scored};
use crate::heldout::sample::{NOT_LEARNED, NewRow, Rehearsal, Role, Sample};
use crate::input::holdout;
use crate::input::labels::Labels;
use crate::json::finite;
use crate::machine::score::ClassScore;
use crate::model::Evm;
use crate::witness::stacking;
use evmachine_engine::features::Features;
use evmachine_engine::run::Run;

/// Supports that the sharpness of P(class | known) is found on, at most.
const MOST_SUPPORTS: usize = 1 << 22;

/// What the model says of a row whose class is known.
pub(crate) struct Verdict {
    pub(crate) scored: Scored,
    /// What it would say without that class.
    pub(crate) left_out: Option<LeftOut>,
    pub(crate) is_right: bool,
}

/// # Thresholds
impl Evm {
    /// Sets the threshold, p-values and P(class | known) on labelled rows that the model was not trained on, instead of those
    /// that it held out itself. Rows of classes that it does not know are passed over.
    pub fn calibrate(
        &mut self,
        features: &Features<'_>,
        labels: &Labels,
    ) -> Result<CalibrationInfo, CalibrateError> {
        self.calibrate_with(&Run::new(), features, labels)
    }

    /// As [`calibrate`](Self::calibrate), watched and sized by `run`.
    pub fn calibrate_with(
        &mut self,
        run: &Run<'_>,
        features: &Features<'_>,
        labels: &Labels,
    ) -> Result<CalibrationInfo, CalibrateError> {
        if features.rows() != labels.len() {
            return Err(LabelError::Count { rows: features.rows(), labels: labels.len() }.into());
        }
        let numbers: Vec<Option<usize>> = labels.names().iter().map(|name| self.class_index(name)).collect();
        let known: Vec<(usize, u32)> = (0..labels.len())
            .filter_map(|row| numbers[labels.ids()[row] as usize].map(|class| (row, class as u32)))
            .collect();
        if known.is_empty() {
            return Err(CalibrateError::NoKnownRows { rows: features.rows() });
        }
        let rows: Vec<usize> = known.iter().map(|(row, _)| *row).collect();
        let truth: Vec<u32> = known.iter().map(|(_, class)| *class).collect();
        let features = features.select(&rows);
        let mut model = self.clone();
        let mut sample =
            self.held.sample.as_deref().cloned().unwrap_or_else(|| Sample::empty(self.machine.dimensions));
        sample.calibrate_on(&features, &truth, self.machine.classes.len(), self.rehearsal());
        sample.weight = self.machine.points_held() as f64 / rows.len() as f64;
        let weights = vec![sample.weight; rows.len()];
        model.held.sample = Some(Arc::new(sample));
        let asked = model.adopt_answers(run, &features, &truth, &weights);
        let info = asked.map_err(|error| match error {
            RunError::Features(error) => error.map_row(|row| rows[row]).into(),
            other => CalibrateError::from(other),
        })?;
        model.score_strangers(run)?;
        *self = model;
        Ok(info)
    }

    /// Takes the answers of the model as it is to rows that it never learned as the ones to compare queries with.
    pub(crate) fn adopt_answers(
        &mut self,
        run: &Run<'_>,
        features: &Features<'_>,
        truth: &[u32],
        weights: &[f64],
    ) -> Result<CalibrationInfo, RunError> {
        let verdicts = self
            .map_queries_with(run, features, |row, scores| self.verdict(scores, truth[row], weights[row]))?;
        let some = self.sharpening_rows(features.rows());
        let part = features.part(0..some);
        let supports = self.supports(run, &part, None)?;
        let sharpness = sharpness(&supports, self.machine.classes.len(), &truth[..some]);
        Ok(self.adopt(verdicts, sharpness))
    }

    /// Of so many rows, how many the sharpness is found on.
    pub(crate) fn sharpening_rows(&self, rows: usize) -> usize {
        (MOST_SUPPORTS / self.machine.classes.len().max(1)).max(200).min(rows)
    }

    /// Takes what was said of rows that were not learned as what to compare queries with.
    pub(crate) fn adopt(&mut self, verdicts: Vec<Verdict>, sharpness: f64) -> CalibrationInfo {
        let accuracy = accuracy(&verdicts);
        let (rows, left_out) = self.standing(verdicts);
        let mut calibration =
            Calibration::new(rows, left_out, sharpness, accuracy, self.machine.classes.len());
        if let Some(old) = &self.held.calibration {
            calibration.set_strangers(old.strangers().to_vec());
            calibration.set_apart(old.apart().to_vec());
        }
        let info = calibration.info();
        self.held.calibration = Some(Arc::new(calibration));
        self.set_thresholds();
        info
    }

    /// The rows that a threshold can rest on: those nearest to an ignored sample are unknown whatever it is.
    fn standing(&self, verdicts: Vec<Verdict>) -> (Vec<Scored>, Vec<LeftOut>) {
        let left_out = verdicts.iter().filter_map(|verdict| verdict.left_out).collect();
        let mut rows: Vec<Scored> = verdicts.into_iter().map(|verdict| verdict.scored).collect();
        let stands = |row: &Scored| self.stands(row.score);
        if rows.iter().any(stands) {
            rows.retain(stands);
        }
        (rows, left_out)
    }

    pub(crate) fn verdict(&self, scores: &[ClassScore], truth: u32, weight: f64) -> Verdict {
        let decision = self.decision(scores);
        let scored = Scored { score: finite(decision.score().support), best: decision.best() as u32, weight };
        let left_out = (scores.len() > 1).then(|| {
            let mut others = scores.to_vec();
            others.remove(truth as usize);
            LeftOut { score: finite(self.decision(&others).score().support), class: truth, weight }
        });
        Verdict { scored, left_out, is_right: decision.best() as u32 == truth }
    }

    /// What the model as it is now says of the rows that calibrate: of those that it learned without their own extreme vector, corrected
    /// by what a model without them said.
    fn asked_again(&self, run: &Run<'_>) -> Result<Option<Vec<Verdict>>, RunError> {
        let Some(sample) = &self.held.sample else { return Ok(None) };
        let unseen = sample.positions(|role| matches!(role, Role::Held | Role::Fresh));
        let folded = sample.positions(|role| role == Role::Folded);
        if unseen.is_empty() && folded.is_empty() {
            return Ok(None);
        }
        let weights = self.weights(sample);
        let features = sample.features().select(&unseen);
        let mut verdicts = self.map_queries_with(run, &features, |row, scores| {
            let at = unseen[row];
            self.verdict(scores, sample.classes[at], weights[at])
        })?;
        for (&at, mut verdict) in folded.iter().zip(self.left_one_out(run, sample, &folded)?) {
            verdict.scored.weight = weights[at];
            verdict.scored.score += sample.optimism[at];
            if let Some(left_out) = &mut verdict.left_out {
                left_out.weight = weights[at];
            }
            verdicts.push(verdict);
        }
        Ok(Some(verdicts))
    }

    /// What the model says of rows that it learned, each without its own extreme vector.
    pub(crate) fn left_one_out(
        &self,
        run: &Run<'_>,
        sample: &Sample,
        rows: &[usize],
    ) -> Result<Vec<Verdict>, RunError> {
        let sources: Vec<u64> = rows.iter().map(|&row| sample.sources[row]).collect();
        let supports = self.supports(run, &sample.features().select(rows), Some(&sources))?;
        let verdict = |(supports, &row): (&[f64], &usize)| {
            let scores: Vec<ClassScore> =
                supports.iter().map(|&support| ClassScore { ln_probability: 0.0, support }).collect();
            self.verdict(&scores, sample.classes[row], 1.0)
        };
        Ok(supports.chunks_exact(self.machine.classes.len()).zip(rows).map(verdict).collect())
    }

    /// How many queries each row of the sample stands for, if queries come as rows came. A row that was held out with chance p stands
    /// for 1 / p rows, and for the first row of its class, which is never held out, by its share.
    pub(crate) fn weights(&self, sample: &Sample) -> Vec<f64> {
        let mut given: Vec<u64> = self.machine.classes.iter().map(|class| class.points_seen).collect();
        for row in sample.positions(|role| role == Role::Held) {
            given[sample.classes[row] as usize] += 1;
        }
        let weight = |row: usize| match sample.roles[row] {
            Role::Held => {
                let given = given[sample.classes[row] as usize].max(2) as f64;
                given / (given - 1.0) / holdout::chance(sample.sources[row])
            }
            _ => sample.weight,
        };
        (0..sample.len()).map(weight).collect()
    }

    /// Sets the threshold anew, after the model changed. Returns the share of held-out rows that is right now.
    pub(crate) fn recalibrate(&mut self, run: &Run<'_>) -> Result<Option<f64>, RunError> {
        if self.held.calibration.is_none() {
            return Ok(None);
        }
        // One threshold for each class, however many there were before.
        self.set_thresholds();
        let found = self.asked_again(run)?;
        let right = found.as_ref().map(|verdicts| accuracy(verdicts));
        let last = self.machine.classes.len() as u32 - 1;
        let standing = found.map(|verdicts| self.standing(verdicts));
        if let Some(calibration) = &mut self.held.calibration {
            let calibration = Arc::make_mut(calibration);
            let (rows, left_out) = standing.unwrap_or_else(|| {
                // Nothing is left to ask; the scores stand, of classes that are still here.
                let rows = calibration.rows().iter();
                let rows = rows.map(|row| Scored { best: row.best.min(last), ..*row }).collect();
                let left_out = calibration.left_out().iter();
                (rows, left_out.map(|row| LeftOut { class: row.class.min(last), ..*row }).collect())
            });
            calibration.set_rows(rows, left_out);
        }
        self.set_thresholds();
        self.score_strangers(run)?;
        Ok(right)
    }
}

/// The share of the weight that is right.
fn accuracy(verdicts: &[Verdict]) -> f64 {
    let weight = |right: bool| -> f64 {
        verdicts
            .iter()
            .filter(|verdict| verdict.is_right || !right)
            .map(|verdict| verdict.scored.weight)
            .sum()
    };
    let all = weight(false);
    if all > 0.0 { weight(true) / all } else { 0.0 }
}

/// What supports are multiplied with so that their softmax is P(class | known), by rows x classes of them.
pub(crate) fn sharpness(supports: &[f64], classes: usize, truth: &[u32]) -> f64 {
    let finite = supports.iter().copied().filter(|support| support.is_finite());
    let (low, high) = finite
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
    let bounded: Vec<f64> =
        supports.iter().map(|&value| if low > high { 0.0 } else { value.clamp(low, high) }).collect();
    stacking::stack(&[&bounded], classes, truth).0[0]
}

impl Sample {
    /// Has the given rows calibrate instead of those that did.
    fn calibrate_on(&mut self, features: &Features<'_>, truth: &[u32], classes: usize, rehearsal: Rehearsal) {
        let old = self.take_rows();
        let rows = (0..old.len()).filter(|&row| old.roles[row] != Role::Fresh).map(|row| {
            let role = match old.roles[row] {
                Role::Held => Role::Idle,
                Role::Folded => Role::Rehearsed,
                role => role,
            };
            NewRow { role, optimism: 0.0, ..old.new_row(row) }
        });
        self.extend(rows, |row| old.row(row), rehearsal, classes);
        let fresh = truth.iter().enumerate();
        let fresh = fresh.map(|(index, &class)| NewRow::new(index, class, NOT_LEARNED, Role::Fresh));
        self.extend(fresh, |row| features.row(row), rehearsal, classes);
    }
}
