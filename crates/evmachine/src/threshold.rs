//! Where the model rejects, and what its scores mean as probabilities.

use std::sync::Arc;

use thiserror::Error;

use crate::beta::Beta;
use crate::calibration::{self, Calibration, CalibrationInfo, Scored};
use crate::curve::support_of;
use crate::decision::ClassScore;
use crate::device::DeviceError;
use crate::error::{FeatureError, Halt, LabelError, ParamsError, PredictError, ended_by_halt};
use crate::features::Features;
use crate::labels::Labels;
use crate::metric::MetricError;
use crate::model::Evm;
use crate::params::Params;
use crate::progress::Run;
use crate::rejection::Rejection;
use crate::sample::{NOT_LEARNED, NewRow, Sample};
use crate::stacking;

/// Below this support, which falls by far more, a query is nearest to an ignored sample or out of reach.
const FALLEN: f64 = -1e6;

/// Calibration that did not succeed; the model is as it was.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum CalibrateError {
    /// The features cannot be used.
    #[error(transparent)]
    Features(#[from] FeatureError),
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
    /// The user's own metric gave a value that is no distance.
    #[error(transparent)]
    Metric(#[from] MetricError),
    /// The device that was to do the work did not do it.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The observer asked to stop.
    #[error("stopped before the end, as asked")]
    Stopped,
}

ended_by_halt!(CalibrateError);

impl From<PredictError> for CalibrateError {
    fn from(error: PredictError) -> Self {
        Halt::from(error).into()
    }
}

impl Evm {
    /// The support from which on a query of the first class is accepted; the same for all classes but under
    /// [`Rejection::FalseUnknownPerClass`].
    pub fn threshold(&self) -> f64 {
        self.threshold_of(0)
    }

    /// The support from which on a query whose best class is this one is accepted.
    pub fn threshold_of(&self, class: usize) -> f64 {
        let (model, rule) = (self.params.tail_model, self.params.rejection_threshold);
        match (rule, &self.calibration) {
            (Rejection::Probability(delta), _) => support_of(model, delta),
            (_, Some(calibration)) if self.ignored.is_empty() => calibration.thresholds[class],
            // However few rows it rests on, it stays above what is nearest to an ignored sample.
            (_, Some(calibration)) => calibration.thresholds[class].max(FALLEN),
            // Nothing could be held out.
            (_, None) => support_of(model, 0.05),
        }
    }

    /// Changes delta, below which a query is unknown. Nothing else depends on it.
    pub fn set_rejection_threshold(&mut self, delta: f64) -> Result<(), ParamsError> {
        let rejection_threshold = Rejection::Probability(delta);
        self.params = Params { rejection_threshold, ..Params::clone(&self.params) }.check()?;
        self.cache.forget_near();
        Ok(())
    }

    /// Changes the rule by which a query is unknown. All but [`Rejection::Probability`] need a calibration.
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
        if rule.is_calibrated() && self.calibration.is_none() {
            return Err(CalibrateError::NotCalibrated);
        }
        self.params = Params { rejection_threshold: rule, ..Params::clone(&self.params) }.check()?;
        self.set_thresholds();
        Ok(())
    }

    /// What the threshold rests on; `None` where nothing was held out.
    pub fn calibration(&self) -> Option<CalibrationInfo> {
        self.calibration.as_ref().map(|calibration| calibration.info())
    }

    /// The conformal p-value of a decision's score: the share of known queries that score no higher. Uniform for known
    /// queries, small for unknown ones. `None` without calibration.
    pub fn p_value(&self, score: ClassScore) -> Option<f64> {
        self.calibration.as_ref().map(|calibration| calibration.p_value(score.support))
    }

    /// P(known) of a decision's score, `prior` being the share of known queries to be expected. `None` without calibration.
    pub fn probability_known(&self, score: ClassScore, prior: f64) -> Option<f64> {
        let p_value = self.p_value(score)?;
        Some(calibration::probability_known(p_value, self.strangers(), prior))
    }

    /// P(class | known) of the scores of a query, which sums to 1. `None` without calibration.
    pub fn class_probabilities(&self, scores: &[ClassScore]) -> Option<Vec<f64>> {
        let calibration = self.calibration.as_ref()?;
        Some(calibration::class_probabilities(scores, calibration.sharpness))
    }

    /// Sets the threshold, p-values and P(class | known) on labelled rows that the model was not trained on. Rows of
    /// classes that it does not know are passed over. The promise of [`Rejection::FalseUnknown`] then holds for the model as
    /// it is, where a fit can only hold out rows of a model that is a little smaller.
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
        let scores = self.for_each_query(run, &features, |_, scores| scores.to_vec());
        let scores = scores.map_err(|error| match error {
            PredictError::Features(error) => error.map_row(|row| rows[row]).into(),
            other => CalibrateError::from(other),
        })?;
        let mut model = self.clone();
        let info = model.adopt(&scores, &truth);
        let mut sample = self.sample.as_deref().cloned().unwrap_or_else(|| Sample::empty(self.dimensions));
        sample.calibrate_on(&features, &truth, self.classes.len());
        model.sample = Some(Arc::new(sample));
        *self = model;
        Ok(info)
    }

    /// Learns from rows that are known to be unknown how strangers score: P(known) and [`Rejection::FalseKnown`] follow.
    pub fn calibrate_unknowns(&mut self, features: &Features<'_>) -> Result<(), CalibrateError> {
        self.calibrate_unknowns_with(&Run::new(), features)
    }

    /// As [`calibrate_unknowns`](Self::calibrate_unknowns), watched and sized by `run`.
    pub fn calibrate_unknowns_with(
        &mut self,
        run: &Run<'_>,
        features: &Features<'_>,
    ) -> Result<(), CalibrateError> {
        if self.calibration.is_none() {
            return Err(CalibrateError::NotCalibrated);
        }
        let decisions = self.decide_with(run, features)?;
        let p_values: Vec<f64> =
            decisions.iter().filter_map(|decision| self.p_value(decision.score())).collect();
        self.set_strangers(Self::strangers_of(&p_values).ok_or(CalibrateError::NoRows)?)?;
        Ok(())
    }

    /// The distribution of p-values of unknown queries that is most likely by these; `None` without any. For tuners, which
    /// have p-values of many models; [`calibrate_unknowns`](Self::calibrate_unknowns) measures those of one.
    pub fn strangers_of(p_values: &[f64]) -> Option<[f64; 2]> {
        Beta::fit(p_values).map(|beta| [beta.a, beta.b])
    }

    /// Sets the distribution of p-values of unknown queries ([`Params::strangers`]).
    pub fn set_strangers(&mut self, strangers: [f64; 2]) -> Result<(), ParamsError> {
        self.params = Params { strangers, ..Params::clone(&self.params) }.check()?;
        self.set_thresholds();
        Ok(())
    }

    fn strangers(&self) -> Beta {
        let [a, b] = self.params.strangers;
        Beta { a, b }
    }

    pub(crate) fn set_thresholds(&mut self) {
        self.cache.forget_near();
        let (rule, strangers, model) =
            (self.params.rejection_threshold, self.strangers(), self.params.tail_model);
        let classes = self.classes.len();
        if let Some(calibration) = &mut self.calibration {
            Arc::make_mut(calibration).set_thresholds(rule, strangers, model, classes);
        }
    }

    /// Takes the scores of held-out rows, those of one row for each, as the ones to compare with.
    pub(crate) fn adopt(&mut self, scores: &[Vec<ClassScore>], truth: &[u32]) -> CalibrationInfo {
        let classes = self.classes.len();
        let supports: Vec<f64> = scores.iter().flatten().map(|score| score.support).collect();
        let (low, high) = supports
            .iter()
            .copied()
            .filter(|support| support.is_finite())
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        let bounded: Vec<f64> =
            supports.iter().map(|&value| if low > high { 0.0 } else { value.clamp(low, high) }).collect();
        let (sharpness, _) = stacking::stack(&[&bounded], classes, truth);
        let rows: Vec<Scored> = scores.iter().map(|scores| self.scored(scores, 1.0)).collect();
        let right = rows.iter().zip(truth).filter(|(row, truth)| row.best == **truth).count();
        let accuracy = right as f64 / rows.len().max(1) as f64;
        let calibration = Calibration::new(self.standing(rows), sharpness[0], accuracy, classes);
        let info = calibration.info();
        self.calibration = Some(Arc::new(calibration));
        self.set_thresholds();
        info
    }

    /// The rows that a threshold can rest on: those nearest to an ignored sample are unknown whatever it is.
    fn standing(&self, mut rows: Vec<Scored>) -> Vec<Scored> {
        let stands = |row: &Scored| row.score > FALLEN;
        if !self.ignored.is_empty() && rows.iter().any(stands) {
            rows.retain(stands);
        }
        rows
    }

    fn scored(&self, scores: &[ClassScore], weight: f64) -> Scored {
        let decision = self.decision(scores);
        // Finite, so that a file can hold it.
        let score = decision.score().support.clamp(f64::MIN, f64::MAX);
        Scored { score, best: decision.best() as u32, weight }
    }

    /// Scores of the rows that calibrate in the model as it is now, each without its own extreme vector, and the share of
    /// them that is right.
    fn rescored(&self, run: &Run<'_>) -> Result<Option<(Vec<Scored>, f64)>, Halt> {
        let Some(sample) = &self.sample else { return Ok(None) };
        let classes = self.classes.len();
        let rows = sample.calibrating(classes);
        if rows.is_empty() {
            return Ok(None);
        }
        let mut counts = vec![0usize; classes];
        for &row in &rows {
            counts[sample.classes[row] as usize] += 1;
        }
        let sources: Vec<u64> = rows.iter().map(|&row| sample.sources[row]).collect();
        let supports = self.supports(run, &sample.features().select(&rows), Some(&sources))?;
        let mut right = 0.0;
        let scored: Vec<Scored> = supports
            .chunks_exact(classes)
            .zip(&rows)
            .map(|(supports, &row)| {
                let class = sample.classes[row] as usize;
                let weight = self.classes[class].points_seen as f64 / counts[class] as f64;
                let scores: Vec<ClassScore> =
                    supports.iter().map(|&support| ClassScore { ln_probability: 0.0, support }).collect();
                let mut scored = self.scored(&scores, weight);
                scored.score += sample.optimism[row];
                right += if scored.best as usize == class { weight } else { 0.0 };
                scored
            })
            .collect();
        let total: f64 = scored.iter().map(|row| row.weight).sum();
        Ok(Some((scored, right / total)))
    }

    /// Sets the threshold anew, after the model changed. Returns the share of held-out rows that is right now.
    pub(crate) fn recalibrate(&mut self, run: &Run<'_>) -> Result<Option<f64>, Halt> {
        if self.calibration.is_none() {
            return Ok(None);
        }
        // One threshold for each class, however many there were before.
        self.set_thresholds();
        let found = self.rescored(run)?;
        let last = self.classes.len() as u32 - 1;
        let standing = found.as_ref().map(|(scored, _)| self.standing(scored.clone()));
        if let Some(calibration) = &mut self.calibration {
            let calibration = Arc::make_mut(calibration);
            let rows = match standing {
                Some(rows) => rows,
                // Nothing is left to ask; the scores stand, of classes that are still here.
                None => {
                    calibration.rows().iter().map(|row| Scored { best: row.best.min(last), ..*row }).collect()
                }
            };
            calibration.set_rows(rows);
        }
        self.set_thresholds();
        Ok(found.map(|(_, accuracy)| accuracy))
    }

    /// By how much the rows of the sample that were held out score less when the model has not learned from them:
    /// `honest` scores, in the order of the sample's calibrating rows, less those in the model.
    pub(crate) fn optimism(&self, run: &Run<'_>, honest: &[f64]) -> Result<Vec<f64>, Halt> {
        let Some((now, _)) = self.rescored(run)? else { return Ok(Vec::new()) };
        let lacks = |(honest, now): (&f64, &Scored)| {
            // A row at an extreme vector itself or nearest to an ignored sample, or where no psi is left, has no score to
            // compare.
            let stands = |score: f64| self.ignored.is_empty() || score > FALLEN;
            let has_score = |score: f64| score.abs() < f64::MAX && stands(score);
            if has_score(*honest) && has_score(now.score) { honest - now.score } else { 0.0 }
        };
        Ok(honest.iter().zip(&now).map(lacks).collect())
    }
}

impl Sample {
    /// Has the given rows calibrate instead of those that did.
    fn calibrate_on(&mut self, features: &Features<'_>, truth: &[u32], classes: usize) {
        let learned = std::mem::replace(self, Self::empty(self.columns));
        let fresh = truth.iter().enumerate().map(|(index, &class)| NewRow {
            index,
            class,
            source: NOT_LEARNED,
            optimism: 0.0,
        });
        self.extend(fresh, |row| features.row(row), false, classes);
        let old = (0..learned.len()).filter(|&row| learned.sources[row] != NOT_LEARNED).map(|index| NewRow {
            index,
            class: learned.classes[index],
            source: learned.sources[index],
            optimism: learned.optimism[index],
        });
        self.extend(old, |row| learned.row(row), true, classes);
    }
}
