//! What a model has beyond its extreme vectors, in files of version 3 and later: standard columns, witnesses, sample, calibration.

use std::sync::Arc;

use safetensors::tensor::Dtype;
use serde::{Deserialize, Serialize};

use super::forest;
use super::layout::{Column, f32s, f64s, u8s, u64s};
use super::tensors::Tensors;
use super::{FormatError, inconsistent};
use crate::heldout::calibration::{Apart, Calibration, LeftOut, Scored};
use crate::heldout::sample::{NOT_LEARNED, Role, Sample};
use crate::input::standard::Standard;
use crate::machine::Machine;
use crate::model::Evm;
use crate::params::rejection::Rejection;
use crate::witness::mixture::Mixture;
use crate::witness::probe::Probe;
use crate::witness::{LogitMachine, Voices, Witnesses};
use evmachine_engine::features::LARGEST;
use evmachine_engine::metric::Metric;

/// The numbers of it that are not tensors.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Beyond {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    probe_penalty: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    logit_penalty: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mixture: Option<Mixture>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    calibration: Option<CalibrationNumbers>,
    /// How many queries a folded or fresh row of the sample stands for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sample_weight: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct CalibrationNumbers {
    sharpness: f64,
    accuracy: f64,
    classes: usize,
    /// Rows that edits changed since the threshold was set.
    #[serde(default, skip_serializing_if = "is_zero")]
    edited: f64,
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

/// Names of the tensors of a probe.
struct ProbeNames {
    mean: &'static str,
    deviation: &'static str,
    weights: &'static str,
    intercepts: &'static str,
}

const PROBE: ProbeNames = ProbeNames {
    mean: "probe_mean",
    deviation: "probe_deviation",
    weights: "probe_weights",
    intercepts: "probe_intercepts",
};
const LOGIT: ProbeNames = ProbeNames {
    mean: "logit_mean",
    deviation: "logit_deviation",
    weights: "logit_weights",
    intercepts: "logit_intercepts",
};
const LOGIT_MODEL: &str = "logit_model";

fn numbers(values: &[f64]) -> Column<'_> {
    f64s(values.len(), values.iter().copied())
}

fn probe_tensors<'a>(names: &ProbeNames, probe: &'a Probe) -> [(&'static str, Column<'a>); 4] {
    let shape = vec![probe.classes(), probe.dimensions()];
    [
        (names.mean, numbers(probe.standard.mean())),
        (names.deviation, numbers(probe.standard.deviation())),
        (names.weights, f32s(shape, probe.rows())),
        (names.intercepts, numbers(&probe.intercepts)),
    ]
}

fn probe_of(
    tensors: &Tensors<'_>,
    names: &ProbeNames,
    metric: &Metric,
    d: usize,
    penalty: Option<f64>,
) -> Result<Probe, FormatError> {
    let standard = standard_of(tensors, names.mean, names.deviation, d)?;
    let classes = tensors.length(names.intercepts)?;
    let penalty = penalty.filter(|penalty| penalty.is_finite() && *penalty > 0.0);
    let penalty = penalty.ok_or_else(|| inconsistent("a probe without a penalty"))?;
    if classes < 2 {
        return Err(inconsistent("a probe of less than two classes"));
    }
    let weights = tensors.f32s(names.weights, &[classes, d], |_| true)?;
    let intercepts = tensors.f64s(names.intercepts, classes, |_| true)?;
    Ok(Probe::from_rows(metric, standard, &weights, intercepts, penalty))
}

fn standard_of(
    tensors: &Tensors<'_>,
    mean: &str,
    deviation: &str,
    d: usize,
) -> Result<Standard, FormatError> {
    let mean = tensors.f64s(mean, d, |_| true)?;
    let deviation = tensors.f64s(deviation, d, |value| value > 0.0)?;
    Standard::from_parts(mean, deviation).ok_or_else(|| inconsistent("means and deviations of other columns"))
}

fn apart_of(tensors: &Tensors<'_>) -> Result<Vec<Apart>, FormatError> {
    let count = tensors.length("apart_p_values")?;
    let p_values = tensors.f64s("apart_p_values", count, |value| (0.0..=1.0).contains(&value))?;
    let weights = tensors.f64s("apart_weights", count, |value| value > 0.0)?;
    let number = |name: &str, least: u32| -> Result<Vec<u32>, FormatError> {
        let numbers = tensors.counts(name, count)?.into_iter();
        numbers
            .map(|number| u32::try_from(number).ok().filter(|&number| number >= least))
            .map(|number| {
                number
                    .ok_or_else(|| inconsistent(format!("tensor {name:?} has a number that is not possible")))
            })
            .collect()
    };
    let (classes, met) = (number("apart_classes", 0)?, number("apart_met", 1)?);
    let rows = p_values.iter().zip(&weights).zip(classes.iter().zip(&met));
    Ok(rows.map(|((&p_value, &weight), (&class, &met))| Apart { p_value, class, met, weight }).collect())
}

impl Evm {
    /// Whether a file of version 4 cannot hold the model.
    pub(super) fn is_calibrated(&self) -> bool {
        self.held.sample.is_some()
            || self.held.calibration.is_some()
            || matches!(self.machine.params.rejection_threshold, Rejection::Support(_))
    }

    /// Whether a file of version 2 cannot hold the parts of the model.
    pub(super) fn is_beyond(&self) -> bool {
        self.machine.standard.is_some()
            || self.witnesses.is_some()
            || self.machine.params.rejection_threshold.is_calibrated()
    }

    pub(super) fn beyond(&self) -> Beyond {
        let witnesses = self.witnesses.as_deref();
        Beyond {
            probe_penalty: witnesses
                .and_then(|witnesses| witnesses.voices.probe.as_ref())
                .map(Probe::penalty),
            logit_penalty: witnesses
                .and_then(|witnesses| witnesses.voices.logits.as_ref())
                .map(|logits| logits.projection.penalty()),
            mixture: witnesses.map(|witnesses| witnesses.mixture),
            calibration: self.held.calibration.as_deref().map(|calibration| CalibrationNumbers {
                sharpness: calibration.sharpness,
                accuracy: calibration.accuracy,
                classes: calibration.classes,
                edited: calibration.edited,
            }),
            sample_weight: self.held.sample.as_deref().map(|sample| sample.weight),
        }
    }

    pub(super) fn beyond_tensors(&self) -> Result<Vec<(&'static str, Column<'_>)>, FormatError> {
        let mut tensors = Vec::new();
        if let Some(standard) = &self.machine.standard {
            tensors.push(("standard_mean", numbers(standard.mean())));
            tensors.push(("standard_deviation", numbers(standard.deviation())));
        }
        if let Some(witnesses) = &self.witnesses {
            if let Some(probe) = &witnesses.voices.probe {
                tensors.extend(probe_tensors(&PROBE, probe));
            }
            if let Some(forest) = &witnesses.voices.forest {
                tensors.extend(forest::tensors(forest));
            }
            if let Some(logits) = &witnesses.voices.logits {
                tensors.extend(probe_tensors(&LOGIT, &logits.projection));
                let bytes = Evm::from(logits.machine.clone()).to_bytes()?;
                tensors.push((LOGIT_MODEL, u8s(bytes.len(), bytes.into_iter())));
            }
        }
        if let Some(sample) = &self.held.sample {
            let shape = vec![sample.len(), sample.columns];
            tensors.push(("sample_values", f32s(shape, sample.values.iter().copied())));
            let classes = sample.classes.iter().map(|&class| u64::from(class));
            tensors.push(("sample_classes", u64s(sample.len(), classes)));
            tensors.push(("sample_sources", u64s(sample.len(), sample.sources.iter().copied())));
            tensors.push(("sample_optimism", numbers(&sample.optimism)));
            tensors.push(("sample_roles", u64s(sample.len(), sample.roles.iter().map(|&role| role as u64))));
            if !sample.strangers.is_empty() {
                let shape = vec![sample.strangers.len() / sample.columns, sample.columns];
                tensors.push(("stranger_values", f32s(shape, sample.strangers.iter().copied())));
            }
        }
        if let Some(calibration) = &self.held.calibration {
            let rows = calibration.rows();
            tensors.push(("calibration_scores", f64s(rows.len(), rows.iter().map(|row| row.score))));
            tensors.push(("calibration_weights", f64s(rows.len(), rows.iter().map(|row| row.weight))));
            tensors.push(("calibration_best", u64s(rows.len(), rows.iter().map(|row| u64::from(row.best)))));
            let rows = calibration.left_out();
            tensors.push(("left_out_scores", f64s(rows.len(), rows.iter().map(|row| row.score))));
            tensors.push(("left_out_weights", f64s(rows.len(), rows.iter().map(|row| row.weight))));
            tensors.push(("left_out_classes", u64s(rows.len(), rows.iter().map(|row| u64::from(row.class)))));
            let rows = calibration.apart();
            if !rows.is_empty() {
                tensors.push(("apart_p_values", f64s(rows.len(), rows.iter().map(|row| row.p_value))));
                tensors.push(("apart_weights", f64s(rows.len(), rows.iter().map(|row| row.weight))));
                let numbers = |number: fn(&Apart) -> u32| rows.iter().map(move |row| u64::from(number(row)));
                tensors.push(("apart_classes", u64s(rows.len(), numbers(|row| row.class))));
                tensors.push(("apart_met", u64s(rows.len(), numbers(|row| row.met))));
            }
            if !calibration.strangers().is_empty() {
                tensors.push(("stranger_scores", numbers(calibration.strangers())));
            }
        }
        Ok(tensors)
    }

    /// Takes up what the file has beyond the extreme vectors, which are there already.
    pub(super) fn read_beyond(&mut self, tensors: &Tensors<'_>, beyond: &Beyond) -> Result<(), FormatError> {
        let d = self.machine.dimensions;
        if self.machine.params.standardize {
            let standard = standard_of(tensors, "standard_mean", "standard_deviation", d)?;
            self.machine.standard = Some(Arc::new(standard));
        }
        if let Some(mixture) = beyond.mixture {
            self.witnesses = Some(Arc::new(self.witnesses_of(tensors, beyond, mixture)?));
        }
        if tensors.has("sample_classes") {
            self.held.sample = Some(Arc::new(self.sample_of(tensors, beyond.sample_weight)?));
        }
        if let Some(numbers) = &beyond.calibration {
            self.held.calibration = Some(Arc::new(self.calibration_of(tensors, numbers)?));
            self.set_thresholds();
        }
        Ok(())
    }

    fn witnesses_of(
        &self,
        tensors: &Tensors<'_>,
        beyond: &Beyond,
        mixture: Mixture,
    ) -> Result<Witnesses, FormatError> {
        let (d, classes, metric) =
            (self.machine.dimensions, self.machine.classes.len(), &self.machine.params.metric);
        if !mixture.is_possible() || !self.machine.params.hears_witnesses() {
            return Err(inconsistent("the shares of the witnesses are not possible"));
        }
        let probe = if tensors.has(PROBE.weights) {
            let probe = probe_of(tensors, &PROBE, metric, d, beyond.probe_penalty)?;
            if probe.classes() != classes {
                return Err(inconsistent(format!("a probe of {} classes for {classes}", probe.classes())));
            }
            Some(probe)
        } else if mixture.probe > 0.0 || mixture.logit > 0.0 {
            return Err(inconsistent(format!("tensor {:?} is missing", PROBE.weights)));
        } else {
            None
        };
        let forest = forest::read(tensors, d, classes)?;
        if forest.is_none() && mixture.forest > 0.0 {
            return Err(inconsistent("the forest is missing"));
        }
        if forest.is_some() && !tensors.has("sample_classes") {
            return Err(inconsistent("a forest without rows to grow it again from"));
        }
        let logits = if tensors.has(LOGIT_MODEL) {
            let projection = probe_of(tensors, &LOGIT, metric, d, beyond.logit_penalty)?;
            let length = tensors.length(LOGIT_MODEL)?;
            let Evm { machine, .. } =
                Evm::from_inner_bytes(tensors.bytes(LOGIT_MODEL, Dtype::U8, &[length])?)?;
            let names =
                |machine: &Machine| machine.classes().map(|class| class.name.to_owned()).collect::<Vec<_>>();
            if machine.dimensions() != projection.classes() || names(&machine) != names(&self.machine) {
                return Err(inconsistent("the machine over logits is not one of this model"));
            }
            Some(LogitMachine { projection, machine })
        } else if mixture.logit > 0.0 {
            return Err(inconsistent(format!("tensor {LOGIT_MODEL:?} is missing")));
        } else {
            None
        };
        Ok(Witnesses { voices: Voices { probe, logits, forest }, mixture })
    }

    fn sample_of(&self, tensors: &Tensors<'_>, weight: Option<f64>) -> Result<Sample, FormatError> {
        let count = tensors.length("sample_classes")?;
        let values = tensors
            .f32s("sample_values", &[count, self.machine.dimensions], |value| value.abs() <= LARGEST)?;
        let classes = self.class_numbers(tensors, "sample_classes", count)?;
        let optimism = tensors.f64s("sample_optimism", count, |_| true)?;
        let sources = tensors.u64s("sample_sources", count)?;
        if !classes.is_sorted() {
            return Err(inconsistent("the rows of the sample are not grouped by class"));
        }
        let roles = if tensors.has("sample_roles") {
            let role = |number: usize| Role::ALL.get(number).copied();
            let roles: Option<Vec<Role>> =
                tensors.counts("sample_roles", count)?.into_iter().map(role).collect();
            roles.ok_or_else(|| inconsistent("a row of the sample has a role that there is not"))?
        } else {
            self.roles_before(&classes, &sources)
        };
        let weight = weight.unwrap_or(1.0);
        if !(weight.is_finite() && weight > 0.0) {
            return Err(inconsistent("the weight of the sample's rows is not possible"));
        }
        let strangers = if tensors.has("stranger_values") {
            let rows = tensors.length("stranger_scores")?;
            tensors
                .f32s("stranger_values", &[rows, self.machine.dimensions], |value| value.abs() <= LARGEST)?
        } else {
            Vec::new()
        };
        Ok(Sample {
            values,
            columns: self.machine.dimensions,
            classes,
            sources,
            optimism,
            roles,
            weight,
            strangers,
        })
    }

    /// The roles of rows before version 5, which had all been learned or given: the first of each class calibrated.
    fn roles_before(&self, classes: &[u32], sources: &[u64]) -> Vec<Role> {
        let most = (1_000 / self.machine.classes.len().max(1)).max(5);
        let mut seen = vec![0; self.machine.classes.len()];
        let mut role = |(&class, &source): (&u32, &u64)| {
            let seen = &mut seen[class as usize];
            *seen += 1;
            match (*seen <= most, source == NOT_LEARNED) {
                (_, true) => Role::Fresh,
                (true, false) => Role::Folded,
                (false, false) => Role::Rehearsed,
            }
        };
        classes.iter().zip(sources).map(&mut role).collect()
    }

    fn calibration_of(
        &self,
        tensors: &Tensors<'_>,
        numbers: &CalibrationNumbers,
    ) -> Result<Calibration, FormatError> {
        let count = tensors.length("calibration_scores")?;
        let scores = tensors.f64s("calibration_scores", count, |_| true)?;
        let weights = tensors.f64s("calibration_weights", count, |value| value > 0.0)?;
        let best = self.class_numbers(tensors, "calibration_best", count)?;
        let &CalibrationNumbers { sharpness, accuracy, classes, edited } = numbers;
        let possible = sharpness.is_finite()
            && sharpness >= 0.0
            && (0.0..=1.0).contains(&accuracy)
            && (0.0..=f64::MAX).contains(&edited);
        if count == 0 || !possible {
            return Err(inconsistent("the numbers of the calibration are not possible"));
        }
        let rows = scores.iter().zip(&weights).zip(&best);
        let rows = rows.map(|((&score, &weight), &best)| Scored { score, best, weight }).collect();
        let mut left_out = Vec::new();
        if tensors.has("left_out_scores") {
            let count = tensors.length("left_out_scores")?;
            let scores = tensors.f64s("left_out_scores", count, |_| true)?;
            let weights = tensors.f64s("left_out_weights", count, |value| value > 0.0)?;
            let classes = self.class_numbers(tensors, "left_out_classes", count)?;
            let rows = scores.iter().zip(&weights).zip(&classes);
            left_out = rows.map(|((&score, &weight), &class)| LeftOut { score, class, weight }).collect();
        }
        let mut calibration = Calibration::new(rows, left_out, sharpness, accuracy, classes);
        calibration.edited = edited;
        if tensors.has("apart_p_values") {
            calibration.set_apart(apart_of(tensors)?);
        }
        if tensors.has("stranger_scores") {
            let count = tensors.length("stranger_scores")?;
            calibration.set_strangers(tensors.f64s("stranger_scores", count, |_| true)?);
        }
        Ok(calibration)
    }

    fn class_numbers(
        &self,
        tensors: &Tensors<'_>,
        name: &str,
        count: usize,
    ) -> Result<Vec<u32>, FormatError> {
        let numbers = tensors.counts(name, count)?;
        match numbers.iter().find(|&&class| class >= self.machine.classes.len()) {
            Some(class) => {
                Err(inconsistent(format!("{name} has class {class} of {}", self.machine.classes.len())))
            }
            None => Ok(numbers.into_iter().map(|class| class as u32).collect()),
        }
    }
}
