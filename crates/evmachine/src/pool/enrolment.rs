//! Enrolment that does not poison itself: which labelled samples may found or extend a class, and why the others may not yet.
//!
//! Nothing is held back unless a rule asks for it ([`EnrolmentRule`]). A sample that is held back keeps its label and waits: when more
//! samples of its name come, or a person confirms it, it is judged again.

mod movement;
mod report;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

pub use self::report::{Enrolled, HeldBack, HeldReason};
use super::{PoolError, SampleId, UnknownPool};
use crate::error::RunError;
use crate::input::labels::Labels;
use crate::model::Evm;
use evmachine_engine::features::Features;
use evmachine_engine::metric::Metric;
use evmachine_engine::run::Run;

/// Under the cosine, a vector that is shorter than this share of the usual length has no direction to speak of.
const NEAR_ZERO: f64 = 0.01;
/// Rows of the model whose lengths say what is usual.
const ROWS: usize = 2000;

/// How a sample was captured, as far as that is known.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Capture {
    /// How good it is, on any scale on which more is better.
    pub quality: Option<f64>,
    /// A session, a day, a video: samples of one occasion resemble each other more than they show of their class.
    pub occasion: Option<String>,
    /// When, in seconds from any start.
    pub time: Option<f64>,
}

/// What samples must be before they found or extend a class. The default asks for nothing.
///
/// ```
/// use evmachine::{Capture, EnrolmentRule, Evm, Features, HeldReason, Labels, Params, UnknownPool};
///
/// let features = Features::new(vec![0.0, 0.1, 0.2, 5.0, 5.1, 5.2], 1)?;
/// let labels = Labels::new(["low", "low", "low", "high", "high", "high"])?;
/// let (mut evm, _) = Evm::fit(&Params::plain(), &features, &labels)?;
///
/// let mut pool = UnknownPool::new(1);
/// let samples = pool.add(&Features::new(vec![20.0, 20.1, 20.2], 1)?)?;
/// let captured = [0.9, 0.8, 0.2].map(|quality| Capture { quality: Some(quality), ..Capture::default() });
/// pool.describe(&samples, &captured)?;
/// pool.label(&samples, "far")?;
///
/// let rule = EnrolmentRule { least_quality: Some(0.6), ..EnrolmentRule::default() };
/// let enrolled = pool.take_enrolled(&evm, &rule)?;
/// assert_eq!(enrolled.held_back[0].sample, samples[2]);
/// assert_eq!(enrolled.held_back[0].reason, HeldReason::LowQuality { quality: 0.2, least: 0.6 });
/// evm.update(&enrolled.features, &enrolled.labels)?;
/// assert_eq!(pool.len(), 1, "what is held back stays");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EnrolmentRule {
    /// Samples of less quality, or of none that is known, neither found nor extend a class.
    pub least_quality: Option<f64>,
    /// Samples of a name, of those that nothing else holds back, before it may become a class.
    pub least_samples: usize,
    /// Separate occasions that they come from, before it may become a class. Samples without an occasion are of one.
    pub least_occasions: usize,
    /// Occasions are told apart by time and not by name: samples are of one occasion if no gap between them in time is longer than so
    /// many seconds.
    pub occasion_gap: Option<f64>,
    /// How far an update may move a class that the model has, in units of the width of classes:
    ///
    /// ```text
    /// moved = m / (n + m) * d(centre, mean) / width
    /// ```
    ///
    /// for m new samples with that mean, a class of n rows with that centre (the mean of its extreme vectors), the metric d, and the
    /// median distance between two rows of one known class as width. For Euclidean distances this is how far the centre moves. If it is
    /// more, the samples farthest from the centre are held back until it is not.
    pub most_moved: Option<f64>,
    /// Samples that the system named by itself take no part in learning until a person confirms them.
    pub quarantine: bool,
}

/// A rule, or a description of a sample, that cannot be followed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum EnrolmentError {
    /// A number of a rule that makes no sense.
    #[error("{field} = {value}: {expected}")]
    Rule {
        /// The field of [`EnrolmentRule`].
        field: &'static str,
        /// What it is.
        value: f64,
        /// What it must be.
        expected: &'static str,
    },
    /// A quality or a time that is not a number.
    #[error("row {row}: {field} = {value}: must be a finite number, or left out")]
    Capture {
        /// The row, from 0.
        row: usize,
        /// The field of [`Capture`].
        field: &'static str,
        /// What it is.
        value: f64,
    },
}

/// A labelled sample, as a rule looks at it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate<'a> {
    /// What it was named.
    pub class: &'a str,
    /// How it was captured.
    pub capture: &'a Capture,
    /// Whether the system named it by itself, and no person has confirmed that.
    pub proposed: bool,
}

impl Capture {
    /// Refuses numbers that are none; `row` is for the error.
    pub fn check(&self, row: usize) -> Result<(), EnrolmentError> {
        for (field, value) in [("quality", self.quality), ("time", self.time)] {
            if let Some(value) = value.filter(|value| !value.is_finite()) {
                return Err(EnrolmentError::Capture { row, field, value });
            }
        }
        Ok(())
    }
}

impl EnrolmentRule {
    /// Whether it asks for anything.
    pub fn is_off(&self) -> bool {
        let Self { least_quality, least_samples, least_occasions, most_moved, quarantine, occasion_gap: _ } =
            *self;
        least_quality.is_none()
            && least_samples <= 1
            && least_occasions <= 1
            && most_moved.is_none()
            && !quarantine
    }

    /// Refuses numbers that make no sense.
    pub fn check(&self) -> Result<(), EnrolmentError> {
        let finite = |value: f64| value.is_finite();
        let positive = |value: f64| value.is_finite() && value > 0.0;
        let refuse = |field, value: Option<f64>, is_good: fn(f64) -> bool, expected| match value {
            Some(value) if !is_good(value) => Err(EnrolmentError::Rule { field, value, expected }),
            _ => Ok(()),
        };
        refuse("least_quality", self.least_quality, finite, "must be a finite number")?;
        refuse("occasion_gap", self.occasion_gap, positive, "must be above 0, in seconds")?;
        refuse("most_moved", self.most_moved, positive, "must be above 0, in widths of classes")?;
        // A gap alone would say how occasions are counted, and nothing counts them.
        let gap = self.occasion_gap.filter(|_| self.least_occasions < 2);
        refuse("occasion_gap", gap, |_| false, "needs least_occasions of 2 or more")
    }

    /// Why a sample of that quality is held back, if it is, whatever it may be named.
    pub fn doubts_quality(&self, capture: &Capture) -> Option<HeldReason> {
        let least = self.least_quality?;
        match capture.quality {
            Some(quality) if quality >= least => None,
            Some(quality) => Some(HeldReason::LowQuality { quality, least }),
            None => Some(HeldReason::NoQuality { least }),
        }
    }

    /// Why each of some samples is held back from an update of the model; `None` for those that are not. The first reason counts, in
    /// the order of [`HeldReason`].
    pub fn examine(
        &self,
        model: &Evm,
        features: &Features<'_>,
        candidates: &[Candidate<'_>],
    ) -> Result<Vec<Option<HeldReason>>, RunError> {
        self.examine_with(&Run::new(), model, features, candidates)
    }

    /// As [`examine`](Self::examine), sized by `run`.
    ///
    /// # Panics
    ///
    /// If there are not as many candidates as rows.
    pub fn examine_with(
        &self,
        run: &Run<'_>,
        model: &Evm,
        features: &Features<'_>,
        candidates: &[Candidate<'_>],
    ) -> Result<Vec<Option<HeldReason>>, RunError> {
        assert_eq!(candidates.len(), features.rows(), "one for each row");
        let mut held: Vec<Option<HeldReason>> = vec![None; candidates.len()];
        if self.is_off() {
            return Ok(held);
        }
        model.machine.check_columns(features)?;
        let shortest = shortest(model, features);
        for (row, (held, candidate)) in held.iter_mut().zip(candidates).enumerate() {
            *held = self.doubts_quality(candidate.capture);
            if held.is_none() && shortest > 0.0 {
                let norm = length(features.row(row));
                *held = (norm < shortest).then_some(HeldReason::NearZero { norm, least: shortest });
            }
            if held.is_none() && self.quarantine && candidate.proposed {
                *held = Some(HeldReason::Quarantined);
            }
        }
        let mut by_name: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (row, candidate) in candidates.iter().enumerate().filter(|(row, _)| held[*row].is_none()) {
            by_name.entry(candidate.class).or_default().push(row);
        }
        let mut width = None;
        for (name, rows) in by_name {
            match (model.class_index(name), self.most_moved) {
                (None, _) => {
                    let reason = self.too_few(rows.iter().map(|&row| candidates[row].capture));
                    for row in rows {
                        held[row] = reason;
                    }
                }
                (Some(class), Some(most)) => {
                    let width = match width {
                        Some(width) => width,
                        None => *width.insert(super::grouping::spread(run, model)?),
                    };
                    let (far, moved) = movement::too_far(model, class, &features.select(&rows), width, most)?;
                    for at in far {
                        held[rows[at]] = Some(HeldReason::Moved { moved, most });
                    }
                }
                (Some(_), None) => {}
            }
        }
        Ok(held)
    }

    /// Why samples are too few to be a class.
    fn too_few<'a>(&self, captures: impl Iterator<Item = &'a Capture>) -> Option<HeldReason> {
        let captures: Vec<&Capture> = captures.collect();
        if captures.len() < self.least_samples {
            return Some(HeldReason::FewSamples { samples: captures.len(), least: self.least_samples });
        }
        let occasions = self.occasions(&captures);
        (occasions < self.least_occasions)
            .then_some(HeldReason::FewOccasions { occasions, least: self.least_occasions })
    }

    /// Separate occasions that samples come from.
    fn occasions(&self, captures: &[&Capture]) -> usize {
        let known = if let Some(gap) = self.occasion_gap {
            let mut times: Vec<f64> = captures.iter().filter_map(|capture| capture.time).collect();
            times.sort_by(f64::total_cmp);
            let gaps = times.windows(2).filter(|pair| pair[1] - pair[0] > gap).count();
            gaps + usize::from(!times.is_empty())
        } else {
            let names = captures.iter().filter_map(|capture| capture.occasion.as_deref());
            names.collect::<BTreeSet<&str>>().len()
        };
        known.max(usize::from(!captures.is_empty()))
    }
}

/// The least length that a vector may have under the cosine; 0 if lengths do not matter.
fn shortest(model: &Evm, features: &Features<'_>) -> f64 {
    if model.machine.params.metric != Metric::Cosine || model.machine.standard.is_some() {
        return 0.0;
    }
    let mut lengths: Vec<f64> = match model.held.sample.as_deref().filter(|sample| sample.len() > 0) {
        Some(sample) => {
            let step = sample.len().div_ceil(ROWS).max(1);
            (0..sample.len()).step_by(step).map(|row| length(sample.row(row))).collect()
        }
        None => features.iter().map(length).collect(),
    };
    if lengths.is_empty() {
        return 0.0;
    }
    let middle = lengths.len() / 2;
    NEAR_ZERO * *lengths.select_nth_unstable_by(middle, f64::total_cmp).1
}

fn length(row: &[f32]) -> f64 {
    row.iter().map(|&value| f64::from(value).powi(2)).sum::<f64>().sqrt()
}

impl UnknownPool {
    /// Says how samples were captured; what is not said of a sample is not known.
    pub fn describe(&mut self, samples: &[SampleId], captures: &[Capture]) -> Result<(), PoolError> {
        if samples.len() != captures.len() {
            return Err(PoolError::Numbers { samples: captures.len(), numbers: samples.len() });
        }
        captures.iter().enumerate().try_for_each(|(row, capture)| capture.check(row))?;
        self.refuse_others(samples)?;
        for (sample, capture) in samples.iter().zip(captures) {
            if let Some(waiting) = self.samples.get_mut(sample) {
                waiting.capture = capture.clone();
            }
        }
        Ok(())
    }

    /// As [`label`](Self::label), by the system itself: where a rule quarantines such samples, they are not learned until they are
    /// labelled by a person.
    pub fn propose(&mut self, samples: &[SampleId], class: &str) -> Result<(), PoolError> {
        self.label(samples, class)?;
        for sample in samples {
            if let Some(waiting) = self.samples.get_mut(sample) {
                waiting.proposed = true;
            }
        }
        Ok(())
    }

    /// As [`take_labelled`](Self::take_labelled), of the samples that a rule holds nothing against. The others stay, with their labels.
    pub fn take_enrolled(&mut self, model: &Evm, rule: &EnrolmentRule) -> Result<Enrolled, PoolError> {
        self.take_enrolled_with(&Run::new(), model, rule)
    }

    /// As [`take_enrolled`](Self::take_enrolled), sized by `run`.
    pub fn take_enrolled_with(
        &mut self,
        run: &Run<'_>,
        model: &Evm,
        rule: &EnrolmentRule,
    ) -> Result<Enrolled, PoolError> {
        rule.check()?;
        let labelled = self.samples.iter().filter_map(|(&sample, waiting)| {
            let class = waiting.label.as_deref()?;
            Some((
                sample,
                waiting,
                Candidate { class, capture: &waiting.capture, proposed: waiting.proposed },
            ))
        });
        let (mut numbers, mut values, mut candidates) = (Vec::new(), Vec::new(), Vec::new());
        for (sample, waiting, candidate) in labelled {
            numbers.push(sample);
            values.extend_from_slice(&waiting.vector);
            candidates.push(candidate);
        }
        let features = Features::checked(values, self.dimensions);
        let held = rule
            .examine_with(run, model, &features, &candidates)
            .map_err(|error| PoolError::of_samples(error, |row| numbers[row]))?;
        let enrolled: Vec<usize> = (0..held.len()).filter(|&row| held[row].is_none()).collect();
        let names = enrolled.iter().map(|&row| candidates[row].class.to_owned()).collect();
        let held_back =
            numbers.iter().zip(&candidates).zip(held).filter_map(|((&sample, candidate), reason)| {
                Some(HeldBack { sample, class: candidate.class.to_owned(), reason: reason? })
            });
        let held_back: Vec<HeldBack<SampleId>> = held_back.collect();
        let (features, labels) = (features.select(&enrolled), Labels::checked(names));
        let samples: Vec<SampleId> = enrolled.into_iter().map(|row| numbers[row]).collect();
        self.remove(&samples);
        Ok(Enrolled { samples, features, labels, held_back })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(time: Option<f64>, occasion: Option<&str>) -> Capture {
        Capture { quality: None, occasion: occasion.map(str::to_owned), time }
    }

    fn occasions(rule: &EnrolmentRule, captures: &[Capture]) -> usize {
        rule.occasions(&captures.iter().collect::<Vec<_>>())
    }

    #[test]
    fn occasions_are_told_apart_by_name_or_by_time() {
        let captures =
            [at(Some(0.0), Some("a")), at(Some(50.0), Some("b")), at(Some(500.0), Some("a")), at(None, None)];
        assert_eq!(occasions(&EnrolmentRule::default(), &captures), 2);
        let by_time = |gap| EnrolmentRule { occasion_gap: Some(gap), ..EnrolmentRule::default() };
        assert_eq!(occasions(&by_time(60.0), &captures), 2);
        assert_eq!(occasions(&by_time(50.0), &captures), 2, "a gap is longer, not as long");
        assert_eq!(occasions(&by_time(49.0), &captures), 3);
        assert_eq!(occasions(&by_time(1000.0), &captures), 1);
        assert_eq!(occasions(&EnrolmentRule::default(), &captures[3..]), 1, "one that is not known is one");
        assert_eq!(occasions(&EnrolmentRule::default(), &[]), 0);
    }

    #[test]
    fn numbers_that_make_no_sense_are_refused() {
        let rule = EnrolmentRule { least_quality: Some(f64::NAN), ..EnrolmentRule::default() };
        assert_eq!(
            rule.check().map_err(|error| error.to_string()),
            Err("least_quality = NaN: must be a finite number".to_owned())
        );
        for most_moved in [0.0, -1.0, f64::INFINITY] {
            assert!(
                EnrolmentRule { most_moved: Some(most_moved), ..EnrolmentRule::default() }.check().is_err()
            );
        }
        let gap = EnrolmentRule { occasion_gap: Some(60.0), ..EnrolmentRule::default() };
        assert!(gap.check().is_err());
        assert_eq!(EnrolmentRule { least_occasions: 2, ..gap }.check(), Ok(()));
        let capture = Capture { time: Some(f64::INFINITY), ..Capture::default() };
        assert_eq!(
            capture.check(4).map_err(|error| error.to_string()),
            Err("row 4: time = inf: must be a finite number, or left out".to_owned())
        );
    }
}
