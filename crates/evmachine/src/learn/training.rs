//! Training, and around it what needs rows that the model did not learn: the probe's penalty, the weights of witnesses, the threshold.
//!
//! If there are many rows, a part of them is never learned: some to choose penalty and weights on, some to set the threshold on
//! ([`many`]). The threshold then keeps its promise because those rows are exchangeable with the queries to come. If there are few,
//! all are learned, and models of folds say of each row what the model would say had it not learned it ([`few`]). If a share of strangers
//! is asked for, models without some of the classes say how strangers score ([`apart`]).

mod apart;
mod cover;
mod few;
mod many;
pub(crate) mod weighing;

use std::sync::Arc;

use crate::calibrate::promise::Basis;
use crate::clock::Clock;
use crate::error::{FitError, RunError};
use crate::heldout::sample::{NewRow, Role, Sample};
use crate::input::holdout::Division;
use crate::input::labels::Labels;
use crate::machine::Machine;
use crate::machine::fit::{self, Lesson};
use crate::machine::report::{Report, TuneAgain};
use crate::model::Evm;
use crate::params::{CheckedParams, Params, Weight};
use crate::witness::forest::{ForestWitness, Grove};
use crate::witness::mixture::Weights;
use crate::witness::probe::{Classed, Probe};
use crate::witness::{LogitMachine, Voices, Witnesses};
use evmachine_engine::features::Features;
use evmachine_engine::metric::Metric;
use evmachine_engine::points::Points;
use evmachine_engine::run::Run;

/// Up to so many rows of a first fit, none is held out for good.
const FEW: usize = 2_000;
/// Up to so many, rows that penalty and weights were chosen on are learned in the end, by a second fit.
const FEW_FOR_ONE_FIT: usize = 20_000;
/// Witnesses are not weighed on fewer rows than this; the machine is then heard alone.
const LEAST_HELD: usize = 50;
/// With two classes, the direction of the logits is one of two.
const LEAST_LOGITS: usize = 3;

/// Learns, with whatever of it needs rows that were not learned.
pub(crate) fn fit(
    run: &Run<'_>,
    params: CheckedParams,
    features: &Features<'_>,
    labels: &Labels,
    ignored: Option<&Features<'_>>,
) -> Result<(Evm, Report), FitError> {
    let ignored = ignored.filter(|ignored| ignored.rows() > 0);
    let classes = labels.names().len();
    let is_heard = classes > 1 && params.hears_witnesses();
    let data = Data { run, features, labels, ignored, is_heard };
    if !(is_heard || params.rejection_threshold.is_calibrated()) {
        let all: Vec<usize> = (0..labels.len()).collect();
        return data.learn(run, params, (&all, &[]));
    }
    // On a thread of the pool from start to end: between its stages nobody has to be woken.
    let (model, mut report) = rayon::scope(|_| -> Result<_, FitError> {
        let (mut model, report) =
            if labels.len() <= FEW { few::fit(&data, params)? } else { many::fit(&data, params)? };
        data.leave_classes_out(&mut model)?;
        Ok((model, report))
    })?;
    let probe = model.witnesses.as_ref().and_then(|witnesses| witnesses.voices.probe.as_ref());
    report.probe_penalty = probe.map(Probe::penalty);
    report.shares = model.shares();
    Ok((model, report))
}

/// What a model is fitted to.
struct Data<'a> {
    run: &'a Run<'a>,
    features: &'a Features<'a>,
    labels: &'a Labels,
    ignored: Option<&'a Features<'a>>,
    /// Whether there are witnesses beside the support in feature space.
    is_heard: bool,
}

impl Data<'_> {
    /// Learns some rows; others are their negatives alone.
    fn learn(
        &self,
        run: &Run<'_>,
        params: CheckedParams,
        (learned, negatives): (&[usize], &[usize]),
    ) -> Result<(Evm, Report), FitError> {
        let nothing = Machine::empty(params, self.features.columns());
        let (features, labels) = (self.features, self.labels);
        let lesson = Lesson { features, labels, learned, negatives, ignored: self.ignored, numbers: None };
        let (machine, report) = fit::learn(run, &nothing, &lesson)?;
        Ok((Evm::from(machine), report))
    }

    fn truth(&self, rows: &[usize]) -> Vec<u32> {
        rows.iter().map(|&row| self.labels.ids()[row]).collect()
    }

    fn class_count(&self) -> usize {
        self.labels.names().len()
    }

    fn classed<'a>(&'a self, points: &'a Points<'a>) -> Classed<'a> {
        Classed { points, classes: self.labels.ids(), class_count: self.class_count() }
    }

    /// The witnesses that have a weight, of some rows; others are negatives alone of the machine over logits. A probe begins where
    /// `start` is, and has its penalty, unless another is given.
    fn voices(
        &self,
        run: &Run<'_>,
        params: &Params,
        weights: Weights,
        points: &Points<'_>,
        (rows, negatives): (&[usize], &[usize]),
        (start, penalty): (Option<&Probe>, Option<f64>),
    ) -> Result<Voices, FitError> {
        let mut voices = Voices::default();
        if weights.hear_logits() {
            let data = self.classed(points);
            let probe = Probe::refit(run, &params.metric, data, rows, start, penalty)?;
            if weights.logits > 0.0 && self.class_count() >= LEAST_LOGITS {
                let labels = self.labels;
                let machine = LogitMachine::fit(run, params, &probe, points, labels, (rows, negatives))?;
                voices.logits = Some(machine);
            }
            voices.probe = Some(probe);
        }
        if weights.forest > 0.0 {
            let (classes, class_count) = (self.labels.ids(), self.class_count());
            voices.forest = Some(ForestWitness::grow(run, &Grove { points, rows, classes, class_count })?);
        }
        Ok(voices)
    }

    /// Whether so many rows are enough to weigh witnesses on.
    fn can_weigh(&self, params: &Params, rows: usize) -> bool {
        let is_auto = params.witness_weights().contains(&Weight::Auto);
        self.is_heard && rows > 0 && (rows >= LEAST_HELD || !is_auto)
    }
}

impl Evm {
    /// Brings witnesses and threshold up to a model that has learned more rows, which `self` is: the machine over logits
    /// learns them, the probe is fitted again on them and the sample, from where it was, the forest is grown again, and rows that were
    /// held out join those that calibrate.
    pub(crate) fn follow(
        &mut self,
        run: &Run<'_>,
        (features, labels): (&Features<'_>, &Labels),
        division: &Division,
        first: u64,
        report: &mut Report,
    ) -> Result<(), FitError> {
        let Some(sample) = &self.held.sample else { return Ok(()) };
        let clock = Clock::start();
        let numbers: Vec<u32> =
            labels.names().iter().map(|name| self.class_index(name).expect("learned") as u32).collect();
        let classes = self.machine.classes.len();
        let mut sample = Sample::clone(sample);
        let row = |index: usize, role: Role| {
            NewRow::new(index, numbers[labels.ids()[index] as usize], first + index as u64, role)
        };
        let held = division.calibrating.iter().map(|&index| row(index, Role::Held));
        let learned = division.learned.iter().map(|&index| row(index, Role::Rehearsed));
        sample.extend(held.chain(learned), |index| features.row(index), self.rehearsal(), classes);
        let sample = Arc::new(sample);
        self.held.sample = Some(sample.clone());
        if let Some(witnesses) = self.witnesses.clone() {
            let metric = self.machine.params.metric.clone();
            let points = Points::prepare(features, &metric)?;
            let logits = match &witnesses.voices.logits {
                Some(logits) => Some(logits.updated(run, &points, labels, &division.learned, first)?),
                None => None,
            };
            let voices = Voices { logits, ..witnesses.voices.clone() };
            let voices = self.rehearsed(run, &sample, voices)?;
            self.witnesses = Some(Arc::new(Witnesses { voices, mixture: witnesses.mixture }));
            self.number_logits_alike();
        }
        let accuracy = self.recalibrate(run)?;
        report.held_out = division.calibrating.len();
        report.tune_again = self.tune_again(accuracy);
        report.times.calibration = clock.elapsed();
        Ok(())
    }

    /// Has the machine over logits count its rows as the model does.
    fn number_logits_alike(&mut self) {
        let points_seen = self.machine.points_seen;
        if let Some(witnesses) = &mut self.witnesses
            && let Some(logits) = &mut Arc::make_mut(witnesses).voices.logits
        {
            logits.machine.points_seen = points_seen;
        }
    }

    /// The witnesses with probe and forest learned again from the sample, the probe from where it was.
    pub(crate) fn rehearsed(&self, run: &Run<'_>, sample: &Sample, old: Voices) -> Result<Voices, FitError> {
        // What calibrates was never learned, and stays so.
        let learned = sample.positions(Role::is_learned);
        let features = sample.features().select(&learned);
        let metric = &self.machine.params.metric;
        let points = Points::prepare(&features, metric)?;
        let classes: Vec<u32> = learned.iter().map(|&row| sample.classes[row]).collect();
        let probe = match &old.probe {
            Some(probe) => Some(self.probe_of(run, metric, (&points, &classes), probe)?),
            None => None,
        };
        let forest = match &old.forest {
            Some(_) => Some(self.grown(run, (&points, &classes))?),
            None => None,
        };
        Ok(Voices { probe, forest, logits: old.logits })
    }

    /// The forest of the rows that the sample has learned.
    pub(crate) fn regrown(&self, run: &Run<'_>, sample: &Sample) -> Result<ForestWitness, RunError> {
        let learned = sample.positions(Role::is_learned);
        let features = sample.features().select(&learned);
        let points = Points::prepare(&features, &self.machine.params.metric)?;
        let classes: Vec<u32> = learned.iter().map(|&row| sample.classes[row]).collect();
        self.grown(run, (&points, &classes))
    }

    fn grown(
        &self,
        run: &Run<'_>,
        (points, classes): (&Points<'_>, &[u32]),
    ) -> Result<ForestWitness, RunError> {
        let rows: Vec<usize> = (0..classes.len()).collect();
        let class_count = self.machine.classes.len();
        ForestWitness::grow(run, &Grove { points, rows: &rows, classes, class_count })
    }

    /// The probe of rows of the sample, each standing for as many as its class has seen.
    fn probe_of(
        &self,
        run: &Run<'_>,
        metric: &Metric,
        (points, class_of): (&Points<'_>, &[u32]),
        old: &Probe,
    ) -> Result<Probe, FitError> {
        let classes = self.machine.classes.len();
        let mut counts = vec![0usize; classes];
        for &class in class_of {
            counts[class as usize] += 1;
        }
        let weight = |&class: &u32| {
            let class = class as usize;
            self.machine.classes[class].points_seen as f64 / counts[class] as f64
        };
        let weights: Vec<f64> = class_of.iter().map(weight).collect();
        let rows: Vec<usize> = (0..class_of.len()).collect();
        let data = Classed { points, classes: class_of, class_count: classes };
        let start = (old.standard.clone(), old.penalty(), Some(old));
        Ok(Probe::weighted(run, metric, data, &rows, &weights, start)?)
    }

    /// Whether parameters chosen on what the model first knew still fit what it knows now.
    fn tune_again(&self, accuracy: Option<f64>) -> Option<TuneAgain> {
        const FALL: f64 = 0.03;
        /// Fewer rows tell nothing of so small a difference.
        const LEAST_ROWS: usize = 400;
        let fitted = self.held.calibration.as_ref()?.info();
        let classes = self.machine.classes.len();
        if classes >= fitted.classes.saturating_mul(2) {
            return Some(TuneAgain::ClassesGrew { from: fitted.classes, to: classes });
        }
        // Folded rows were named by other models than this one.
        let is_comparable = fitted.rows >= LEAST_ROWS && self.calibration_basis() != Basis::Folds;
        let accuracy = accuracy.filter(|_| is_comparable)?;
        (accuracy < fitted.accuracy - FALL)
            .then_some(TuneAgain::AccuracyFell { from: fitted.accuracy, to: accuracy })
    }
}
