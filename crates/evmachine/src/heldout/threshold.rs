//! Where the model rejects, and what its scores mean as probabilities.

use std::sync::Arc;

use thiserror::Error;

use crate::error::{LabelError, ParamsError, RunError, ends_with_run};
use crate::heldout::beta::Beta;
use crate::heldout::calibration::{self, Calibration, CalibrationInfo, LeftOut, PValueSteps, Rule, Scored};
use crate::heldout::holdout;
use crate::heldout::promise;
use crate::heldout::sample::{NOT_LEARNED, NewRow, Role, Sample};
use crate::input::labels::Labels;
use crate::machine::score::ClassScore;
use crate::model::Evm;
use crate::params::Params;
use crate::params::rejection::{Rejection, percent};
use crate::witness::stacking;
use evmachine_engine::features::Features;
use evmachine_engine::psi::curve::support_of;
use evmachine_engine::run::Run;

/// Below this support, which falls by far more, a query is nearest to an ignored sample or out of reach.
const FALLEN: f64 = -1e6;

/// Supports that the sharpness of P(class | known) is found on, at most.
const MOST_SUPPORTS: usize = 1 << 22;
/// Strangers that a model keeps, at most, and values of them.
const MOST_STRANGERS: usize = 20_000;
const MOST_STRANGE_VALUES: usize = 1 << 24;

/// Calibration that did not succeed; the model is as it was.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum CalibrateError {
    /// The labels do not fit the rows.
    #[error(transparent)]
    Labels(#[from] LabelError),
    /// A rule about parameters is broken.
    #[error(transparent)]
    Params(#[from] ParamsError),
    /// No row is of a class of the model.
    #[error(
        "none of the {rows} rows is of a class that the model knows; calibrate on labelled rows of known classes"
    )]
    NoKnownRows {
        /// Rows given.
        rows: usize,
    },
    /// Nothing to learn the unknown from.
    #[error("there are no unknown rows to calibrate on")]
    NoRows,
    /// The model holds no scores of held-out rows.
    #[error(
        "the model has no calibration; train it with a share of mistaken queries instead of a fixed threshold, or \
         calibrate it on labelled rows that it was not trained on"
    )]
    NotCalibrated,
    /// Fewer strangers than the share takes.
    #[error(
        "{} % of strangers takes {needed} of them to set a threshold on, and {rows} were given; give more, or allow a larger share",
        percent(*.share)
    )]
    TooFewStrangers {
        /// The share of strangers that may be accepted.
        share: f64,
        /// Strangers given.
        rows: usize,
        /// Strangers needed.
        needed: usize,
    },
    /// A share of known queries that is none.
    #[error("the share of known queries to be expected is {prior}; it must be above 0 and below 1")]
    Prior {
        /// What was given.
        prior: f64,
    },
    /// A false discovery rate that is none.
    #[error("the false discovery rate is {rate}; it must be above 0 and below 1")]
    DiscoveryRate {
        /// What was given.
        rate: f64,
    },
    /// The run ended early: bad features, the metric, a device, a disk, or an observer that asked to stop.
    #[error(transparent)]
    Run(#[from] RunError),
}

ends_with_run!(CalibrateError);

/// What the model says of a row whose class is known.
pub(crate) struct Verdict {
    pub(crate) scored: Scored,
    /// What it would say without that class.
    pub(crate) left_out: Option<LeftOut>,
    pub(crate) is_right: bool,
}

impl Evm {
    /// The support from which on a query of the first class is accepted; the same for all classes but under
    /// [`Rejection::FalseUnknownPerClass`].
    pub fn threshold(&self) -> f64 {
        self.threshold_of(0)
    }

    /// The support from which on a query whose best class is this one is accepted.
    pub fn threshold_of(&self, class: usize) -> f64 {
        let (model, rule) = (self.machine.params.tail_model, self.machine.params.rejection_threshold);
        match (rule, &self.held.calibration) {
            (Rejection::Probability(delta), _) => support_of(model, delta),
            (Rejection::Support(support), _) => support,
            (_, Some(calibration)) if self.machine.ignored.is_empty() => calibration.thresholds[class],
            // However few rows it rests on, it stays above what is nearest to an ignored sample.
            (_, Some(calibration)) => calibration.thresholds[class].max(FALLEN),
            // Nothing could be held out.
            (_, None) => support_of(model, 0.05),
        }
    }

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
    /// let (mut evm, _) = Evm::fit(&Params::default(), &Features::new(values, 1)?, &labels)?;
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
            enough_strangers(calibration.strangers().len(), share, confidence)?;
        }
        self.machine.params = params;
        self.set_thresholds();
        Ok(())
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

    /// P(known) of a decision's score, `prior` being the share of known queries to be expected. `None` without calibration.
    ///
    /// # Errors
    ///
    /// If `prior` is not between 0 and 1.
    pub fn probability_known(&self, score: ClassScore, prior: f64) -> Result<Option<f64>, CalibrateError> {
        if !(prior > 0.0 && prior < 1.0) {
            return Err(CalibrateError::Prior { prior });
        }
        let p_value = self.p_value(score);
        Ok(p_value.map(|p_value| calibration::probability_known(p_value, self.strangers(), prior)))
    }

    /// P(class | known) of the scores of a query, which sums to 1. `None` without calibration.
    pub fn class_probabilities(&self, scores: &[ClassScore]) -> Option<Vec<f64>> {
        let calibration = self.held.calibration.as_ref()?;
        Some(calibration::class_probabilities(scores, calibration.sharpness))
    }

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
        sample.calibrate_on(&features, &truth, self.machine.classes.len(), self.witnesses.is_some());
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
        let verdicts =
            self.for_each_query(run, features, |row, scores| self.verdict(scores, truth[row], weights[row]))?;
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
            enough_strangers(kept.len(), share, self.machine.params.confidence)?;
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
    fn score_strangers(&mut self, run: &Run<'_>) -> Result<(), RunError> {
        let Some(sample) = self.held.sample.clone().filter(|sample| !sample.strangers.is_empty()) else {
            return Ok(());
        };
        let strangers = Features::checked_view(&sample.strangers, sample.columns);
        let decisions = self.decide_with(run, &strangers)?;
        let scores = decisions.iter().map(|decision| bounded(decision.score().support)).collect();
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

    fn strangers(&self) -> Beta {
        let [a, b] = self.machine.params.strangers;
        Beta { a, b }
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

    /// Whether a score is not that of a row nearest to an ignored sample.
    pub(crate) fn stands(&self, score: f64) -> bool {
        self.machine.ignored.is_empty() || score > FALLEN
    }

    pub(crate) fn verdict(&self, scores: &[ClassScore], truth: u32, weight: f64) -> Verdict {
        let decision = self.decision(scores);
        let scored =
            Scored { score: bounded(decision.score().support), best: decision.best() as u32, weight };
        let left_out = (scores.len() > 1).then(|| {
            let mut others = scores.to_vec();
            others.remove(truth as usize);
            LeftOut { score: bounded(self.decision(&others).score().support), class: truth, weight }
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
        let mut verdicts = self.for_each_query(run, &features, |row, scores| {
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

/// Refuses a share of strangers that so many are too few to tell. None at all is no mistake: it is estimated then.
fn enough_strangers(rows: usize, share: f64, confidence: f64) -> Result<(), CalibrateError> {
    let needed = promise::rows_needed(share, confidence);
    if rows > 0 && rows < needed {
        return Err(CalibrateError::TooFewStrangers { share, rows, needed });
    }
    Ok(())
}

/// Finite, so that a file can hold it.
fn bounded(support: f64) -> f64 {
    support.clamp(f64::MIN, f64::MAX)
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
    fn calibrate_on(&mut self, features: &Features<'_>, truth: &[u32], classes: usize, probe: bool) {
        let old = self.take_rows();
        let rows = (0..old.len()).filter(|&row| old.roles[row] != Role::Fresh).map(|row| {
            let role = match old.roles[row] {
                Role::Held => Role::Idle,
                Role::Folded => Role::Rehearsed,
                role => role,
            };
            NewRow { role, optimism: 0.0, ..old.new_row(row) }
        });
        self.extend(rows, |row| old.row(row), probe, classes);
        let fresh = truth.iter().enumerate();
        let fresh = fresh.map(|(index, &class)| NewRow::new(index, class, NOT_LEARNED, Role::Fresh));
        self.extend(fresh, |row| features.row(row), probe, classes);
    }
}
