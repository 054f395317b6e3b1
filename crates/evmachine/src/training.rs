//! Training with a part of the rows held out: on them the probe chooses its penalty, witnesses are weighed and the
//! threshold is set.
//!
//! A trial learns from four rows in five and is asked about the rest; the model itself learns from all of them. A row that
//! was held out scores a little less in the trial than it does in the model with its own extreme vector left out, because
//! its neighbours and the probe have learned from it there; that difference is kept, so that later updates can set the
//! threshold anew from the model alone.

use std::sync::Arc;
use std::time::Instant;

use crate::decision::ClassScore;
use crate::error::{FitError, Halt};
use crate::features::Features;
use crate::fit;
use crate::holdout::Holdout;
use crate::labels::Labels;
use crate::metric::Metric;
use crate::model::Evm;
use crate::params::{CheckedParams, Weight};
use crate::points::Points;
use crate::probe::{Classed, Probe};
use crate::progress::Run;
use crate::report::{Report, TuneAgain};
use crate::sample::{NewRow, Sample};
use crate::witness::{Heard, LogitMachine, Mixture, Shares, Witnesses};

/// Rows held out, at most.
const MOST_HELD: usize = 4_000;
/// Rows that the trial learns from, at most. With fewer than the model it would reject too little, so the threshold then
/// comes from the model.
const MOST_TRIAL: usize = 50_000;
/// Witnesses are not weighed on fewer rows than this; the machine is then heard alone.
const LEAST_HELD: usize = 50;
/// With two classes, the direction of the logits is one of two.
const LEAST_LOGITS: usize = 3;

/// Learns, with whatever of it needs rows that were held out.
pub(crate) fn fit(
    run: &Run<'_>,
    params: CheckedParams,
    features: &Features<'_>,
    labels: &Labels,
    ignored: Option<&Features<'_>>,
) -> Result<(Evm, Report), FitError> {
    let ignored = ignored.filter(|ignored| ignored.rows() > 0);
    let nothing = Evm::empty(params, features.columns());
    let (mut model, mut report) = fit::learn(run, &nothing, features, labels, ignored)?;
    let params = model.params.clone();
    let classes = labels.names().len();
    let heard = classes > 1 && !(params.logit_weight.is_zero() && params.probe_weight.is_zero());
    if !(heard || params.rejection_threshold.is_calibrated()) {
        return Ok((model, report));
    }
    let clock = Instant::now();
    let run = &run.in_memory();
    let mut holdout = Holdout::new(labels.ids(), classes, MOST_HELD);
    report.held_out = holdout.held.len();
    if holdout.held.is_empty() {
        return Ok((model, report));
    }
    let whole = holdout.train.len() <= MOST_TRIAL;
    holdout.thin(labels.ids(), classes, MOST_TRIAL);
    rayon::scope(|_| -> Result<(), FitError> {
        let data = Data { run, features, labels, ignored, holdout: &holdout };
        let mut trial = data.trial(&model)?;
        if heard && (holdout.held.len() >= LEAST_HELD || !is_auto(&model)) {
            data.hear(&mut model, &mut trial)?;
        }
        data.calibrate(&mut model, &trial, whole)
    })?;
    report.probe_penalty = model.witnesses.as_ref().map(|witnesses| witnesses.probe.penalty());
    report.shares = model.shares();
    report.times.calibration = clock.elapsed();
    Ok((model, report))
}

fn is_auto(model: &Evm) -> bool {
    model.params.logit_weight == Weight::Auto || model.params.probe_weight == Weight::Auto
}

struct Data<'a> {
    run: &'a Run<'a>,
    features: &'a Features<'a>,
    labels: &'a Labels,
    ignored: Option<&'a Features<'a>>,
    holdout: &'a Holdout,
}

/// A model of the rows that were not held out. Its classes are numbered as the model's.
struct Trial {
    machine: Evm,
    held: Features<'static>,
    truth: Vec<u32>,
}

impl Data<'_> {
    fn trial(&self, model: &Evm) -> Result<Trial, FitError> {
        let Holdout { train, held } = self.holdout;
        let params = model.params.without_witnesses().check()?;
        let nothing = Evm::empty(params, self.features.columns());
        let features = self.features.select(train);
        let (machine, _) = fit::learn(self.run, &nothing, &features, &self.labels_of(train), self.ignored)?;
        let truth = held.iter().map(|&row| self.labels.ids()[row]).collect();
        Ok(Trial { machine, held: self.features.select(held), truth })
    }

    /// Labels of some rows, with all classes in the order of all rows.
    fn labels_of(&self, rows: &[usize]) -> Labels {
        let ids = rows.iter().map(|&row| self.labels.ids()[row]).collect();
        Labels::with_names(self.labels.names().to_vec(), ids)
    }

    /// Fits probe and machine over logits, for the trial and for the model, and weighs them on the held-out rows.
    fn hear(&self, model: &mut Evm, trial: &mut Trial) -> Result<(), FitError> {
        let (run, metric, params) = (self.run, &model.params.metric, &model.params);
        let points = Points::prepare(self.features, metric)?;
        let Holdout { train, held } = self.holdout;
        let class_count = self.labels.names().len();
        let data = Classed { points: &points, classes: self.labels.ids(), class_count };
        let choice = Probe::choose(run, metric, data, train, held)?;
        let logits = if params.logit_weight.is_zero() || class_count < LEAST_LOGITS {
            None
        } else {
            let labels = self.labels_of(train);
            Some(LogitMachine::fit(run, params, choice.clone(), &points, train, &labels)?)
        };
        let z = choice.logits_of(&points, held);
        let l = match &logits {
            Some(logits) => Some(logits.supports(run, &points, held, None).map_err(Halt::from)?),
            None => None,
        };
        let g = trial.machine.supports(run, &trial.held, None).map_err(Halt::from)?;
        let heard = Heard {
            features: &g,
            logits: l.as_deref(),
            probe: &z,
            classes: class_count,
            truth: &trial.truth,
        };
        let mixture = Mixture::choose(&heard, params.logit_weight, params.probe_weight);
        if mixture.feature == 1.0 {
            return Ok(());
        }
        let logits = logits.filter(|_| mixture.logit > 0.0);
        let all: Vec<usize> = (0..points.len()).collect();
        let probe = Probe::refit(run, metric, data, Some(&choice), None)?;
        let whole = match &logits {
            Some(_) => Some(LogitMachine::fit(run, params, probe.clone(), &points, &all, self.labels)?),
            None => None,
        };
        // Both number their rows alike.
        let whole = whole.map(|mut logits| {
            logits.machine.points_seen = model.points_seen;
            logits
        });
        trial.machine.witnesses = Some(Arc::new(Witnesses { probe: choice, logits, mixture }));
        model.witnesses = Some(Arc::new(Witnesses { probe, logits: whole, mixture }));
        Ok(())
    }

    /// Sets the threshold and keeps a sample of the rows.
    fn calibrate(&self, model: &mut Evm, trial: &Trial, whole: bool) -> Result<(), FitError> {
        let (run, held) = (self.run, &self.holdout.held);
        let scores: Vec<Vec<ClassScore>> = trial
            .machine
            .for_each_query(run, &trial.held, |_, scores| scores.to_vec())
            .map_err(Halt::from)?;
        model.adopt(&scores, &trial.truth);
        let (classes, probe) = (model.classes.len(), model.witnesses.is_some());
        let mut sample = Sample::empty(self.features.columns());
        let row = |index: usize, optimism: f64| NewRow {
            index,
            class: self.labels.ids()[index],
            source: index as u64,
            optimism,
        };
        let values = |index: usize| self.features.row(index);
        sample.extend(held.iter().map(|&index| row(index, 0.0)), values, probe, classes);
        model.sample = Some(Arc::new(sample));
        let mut honest = vec![f64::NAN; self.features.rows()];
        for (&row, scores) in held.iter().zip(&scores) {
            honest[row] = trial.machine.decision(scores).score().support;
        }
        if let Some(sample) = model.sample.clone() {
            let mut sample = Sample::clone(&sample);
            if whole {
                let rows = sample.calibrating(classes);
                let honest: Vec<f64> = rows.iter().map(|&row| honest[sample.sources[row] as usize]).collect();
                let lacks = model.optimism(run, &honest)?;
                for (&row, lack) in rows.iter().zip(lacks) {
                    sample.optimism[row] = lack;
                }
                let mean = mean_of(rows.iter().map(|&row| sample.optimism[row]));
                let calibrating: std::collections::HashSet<usize> = rows.into_iter().collect();
                for row in (0..sample.len()).filter(|row| !calibrating.contains(row)) {
                    sample.optimism[row] = mean;
                }
            }
            if probe {
                let mean = mean_of(sample.optimism.iter().copied());
                let rest = self.holdout.train.iter().map(|&index| row(index, mean));
                sample.extend(rest, values, true, classes);
            }
            model.sample = Some(Arc::new(sample));
        }
        if !whole {
            model.recalibrate(run)?;
        }
        Ok(())
    }
}

fn mean_of(values: impl Iterator<Item = f64>) -> f64 {
    let (count, sum) = values.fold((0usize, 0.0), |(count, sum), value| (count + 1, sum + value));
    if count == 0 { 0.0 } else { sum / count as f64 }
}

impl Evm {
    /// How much of a decision is the support in feature space, the machine over logits and the linear probe. `None` where
    /// the first decides alone.
    pub fn shares(&self) -> Option<Shares> {
        self.witnesses.as_ref().map(|witnesses| witnesses.mixture.shares())
    }

    /// Brings witnesses and threshold up to a model that has learned more rows, which `self` is: the machine over logits
    /// learns them, the probe is fitted again on them and the sample, from where it was.
    pub(crate) fn follow(
        &mut self,
        run: &Run<'_>,
        features: &Features<'_>,
        labels: &Labels,
        first: u64,
        report: &mut Report,
    ) -> Result<(), FitError> {
        let Some(sample) = &self.sample else { return Ok(()) };
        let clock = Instant::now();
        let numbers: Vec<u32> =
            labels.names().iter().map(|name| self.class_index(name).expect("learned") as u32).collect();
        let classes = self.classes.len();
        let mut sample = Sample::clone(sample);
        let optimism = sample.mean_optimism();
        let rows = (0..features.rows()).map(|index| {
            let class = numbers[labels.ids()[index] as usize];
            NewRow { index, class, source: first + index as u64, optimism }
        });
        sample.extend(rows, |index| features.row(index), self.witnesses.is_some(), classes);
        let sample = Arc::new(sample);
        self.sample = Some(sample.clone());
        if let Some(witnesses) = self.witnesses.clone() {
            let metric = self.params.metric.clone();
            let points = Points::prepare(features, &metric)?;
            let logits = match &witnesses.logits {
                Some(logits) => Some(logits.updated(run, &points, labels)?),
                None => None,
            };
            let probe = self.probe_of(run, &metric, &sample, &witnesses.probe)?;
            self.witnesses = Some(Arc::new(Witnesses { probe, logits, mixture: witnesses.mixture }));
        }
        let accuracy = self.recalibrate(run)?;
        report.tune_again = self.tune_again(accuracy);
        report.times.calibration = clock.elapsed();
        Ok(())
    }

    /// The probe of the sample, each row standing for as many as its class has seen.
    pub(crate) fn probe_of(
        &self,
        run: &Run<'_>,
        metric: &Metric,
        sample: &Sample,
        old: &Probe,
    ) -> Result<Probe, FitError> {
        let features = sample.features();
        let points = Points::prepare(&features, metric)?;
        let classes = self.classes.len();
        let mut counts = vec![0usize; classes];
        sample.classes.iter().for_each(|&class| counts[class as usize] += 1);
        let weight = |&class: &u32| {
            let class = class as usize;
            self.classes[class].points_seen as f64 / counts[class] as f64
        };
        let weights: Vec<f64> = sample.classes.iter().map(weight).collect();
        let rows: Vec<usize> = (0..sample.len()).collect();
        let data = Classed { points: &points, classes: &sample.classes, class_count: classes };
        let start = (old.standard.clone(), old.penalty(), Some(old));
        Ok(Probe::weighted(run, metric, data, &rows, &weights, start)?)
    }

    /// Whether parameters chosen on what the model first knew still fit what it knows now.
    fn tune_again(&self, accuracy: Option<f64>) -> Option<TuneAgain> {
        const FALL: f64 = 0.03;
        /// Fewer rows tell nothing of so small a difference.
        const LEAST_ROWS: usize = 400;
        let fitted = self.calibration.as_ref()?.info();
        let classes = self.classes.len();
        if classes >= fitted.classes.saturating_mul(2) {
            return Some(TuneAgain::ClassesGrew { from: fitted.classes, to: classes });
        }
        let accuracy = accuracy.filter(|_| fitted.rows >= LEAST_ROWS)?;
        (accuracy < fitted.accuracy - FALL)
            .then_some(TuneAgain::AccuracyFell { from: fitted.accuracy, to: accuracy })
    }
}
