//! Few rows: all are learned, and models of folds stand in for the model that did not learn a row.
//!
//! A row is asked about in a model of the other folds, by witnesses of those rows. What that model says is carried to the scale of
//! the model of all rows ([`Ladder`]), and its quantile is the threshold. For updates, the difference to what the model itself says
//! of the row without its own extreme vector is kept.

use std::sync::Arc;

use super::Data;
use crate::calibrate::rows::{Verdict, sharpness};
use crate::clock::Clock;
use crate::error::FitError;
use crate::heldout::sample::{NewRow, Role, Sample};
use crate::input::holdout::Folds;
use crate::machine::Machine;
use crate::machine::report::Report;
use crate::model::Evm;
use crate::params::{CheckedParams, Params};
use crate::witness::mixture::{Heard, Mixture};
use crate::witness::probe::Probe;
use crate::witness::{Voices, Witnesses};
use evmachine_engine::points::Points;
use evmachine_engine::search::Search;

const FOLDS: usize = 10;

pub(super) fn fit(data: &Data<'_>, params: CheckedParams) -> Result<(Evm, Report), FitError> {
    let all: Vec<usize> = (0..data.labels.len()).collect();
    let (mut model, mut report) = data.learn(data.run, params, (&all, &[]))?;
    let clock = Clock::start();
    let folds = Folds::new(data.labels.ids(), data.class_count(), FOLDS);
    report.held_out = folds.rows().len();
    if report.held_out == 0 {
        return Ok((model, report));
    }
    let trials = data.trials(&mut model, &folds)?;
    data.calibrate_on_folds(&mut model, &trials)?;
    report.times.calibration = clock.elapsed();
    Ok((model, report))
}

/// A model that did not learn the rows of a fold, which it is asked about.
struct Trial {
    machine: Evm,
    learned: Vec<usize>,
    held: Vec<usize>,
}

impl Data<'_> {
    /// The models of the folds, and the witnesses of all of them and of the model, weighed on what they say of rows that they did not
    /// learn.
    fn trials(&self, model: &mut Evm, folds: &Folds) -> Result<Vec<Trial>, FitError> {
        let run = &self.run.in_memory();
        let params = Params { search: Search::Exact, ..model.machine.params.without_witnesses() }.check()?;
        let mut trials = Vec::new();
        for fold in (0..folds.count()).filter(|&fold| !folds.of(fold).is_empty()) {
            let (held, learned) = (folds.of(fold), folds.rest(fold));
            let (machine, _) = self.learn(run, params.clone(), (&learned, &held))?;
            // It is asked as the model is.
            let machine = Evm::from(Machine { params: model.machine.params.clone(), ..machine.machine });
            trials.push(Trial { machine, learned, held });
        }
        if self.can_weigh(&model.machine.params, folds.rows().len()) {
            self.hear_folds(model, &mut trials)?;
        }
        Ok(trials)
    }

    fn hear_folds(&self, model: &mut Evm, trials: &mut [Trial]) -> Result<(), FitError> {
        let run = &self.run.in_memory();
        let params = model.machine.params.clone();
        let metric = &params.metric;
        let all: Vec<usize> = (0..self.labels.len()).collect();
        let weights = self.weigh(&params, &all, false)?.weights;
        if weights.are_zero() {
            return Ok(());
        }
        let points = Points::prepare(self.features, metric)?;
        let mut penalty = None;
        if weights.hear_logits() {
            let Trial { learned, held, .. } = &trials[0];
            penalty = Some(Probe::choose(run, metric, self.classed(&points), learned, held)?.penalty());
        }
        // Probes begin from nothing: the one that was chosen has learned rows that others must not know.
        let voices =
            |rows: (&[usize], &[usize])| self.voices(run, &params, weights, &points, rows, (None, penalty));
        let (mut g, mut l, mut z, mut t) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut heard = Vec::new();
        for Trial { machine, learned, held } in &*trials {
            let voices = voices((learned, held))?;
            g.extend(machine.supports(run, &self.features.select(held), None)?);
            let said = voices.say(run, &points, held, None)?;
            l.extend(said.logits.into_iter().flatten());
            z.extend(said.probe.into_iter().flatten());
            t.extend(said.forest.into_iter().flatten());
            heard.push(voices);
        }
        let some = |values: &'_ [f64]| (!values.is_empty()).then(|| values.to_vec());
        let (l, z, t) = (some(&l), some(&z), some(&t));
        let said = Heard {
            features: &g,
            logits: l.as_deref(),
            probe: z.as_deref(),
            forest: t.as_deref(),
            classes: self.class_count(),
        };
        let mixture = Mixture::new(&said, weights);
        let join = |voices: Voices| Some(Arc::new(Witnesses { voices, mixture }));
        for (trial, voices) in trials.iter_mut().zip(heard) {
            trial.machine.witnesses = join(voices);
        }
        model.witnesses = join(voices((&all, &[]))?);
        model.number_logits_alike();
        Ok(())
    }

    /// Sets the threshold by what the models of the folds say.
    fn calibrate_on_folds(&self, model: &mut Evm, trials: &[Trial]) -> Result<(), FitError> {
        let run = &self.run.in_memory();
        let (mut verdicts, mut asked): (Vec<Verdict>, Vec<usize>) = (Vec::new(), Vec::new());
        let (mut supports, mut truth) = (Vec::new(), Vec::new());
        for Trial { machine, held, .. } in trials {
            let own = self.truth(held);
            let features = self.features.select(held);
            let said = machine
                .map_queries_with(run, &features, |row, scores| machine.verdict(scores, own[row], 1.0))?;
            supports.extend(machine.supports(run, &features, None)?);
            truth.extend(own);
            verdicts.extend(said);
            asked.extend(held);
        }
        let some = model.sharpening_rows(truth.len());
        let classes = self.class_count();
        let sharpness = sharpness(&supports[..some * classes], classes, &truth[..some]);
        self.keep_folded(model, &asked, &verdicts)?;
        model.adopt(verdicts, sharpness);
        Ok(())
    }

    /// Keeps the rows that were asked about, each with what its score in the model lacks to what was said of it.
    fn keep_folded(&self, model: &mut Evm, asked: &[usize], verdicts: &[Verdict]) -> Result<(), FitError> {
        let (ids, classes) = (self.labels.ids(), model.machine.classes.len());
        let mut score = vec![f64::NAN; self.labels.len()];
        for (&row, verdict) in asked.iter().zip(verdicts) {
            score[row] = verdict.scored.score;
        }
        let mut sample = Sample::empty(self.features.columns());
        let row = |index: usize| {
            let role = if score[index].is_nan() { Role::Rehearsed } else { Role::Folded };
            NewRow::new(index, ids[index], index as u64, role)
        };
        sample.extend((0..ids.len()).map(row), |index| self.features.row(index), model.rehearsal(), classes);
        let folded = sample.positions(|role| role == Role::Folded);
        let now = model.left_one_out(&self.run.in_memory(), &sample, &folded)?;
        for (&at, verdict) in folded.iter().zip(now) {
            let (said, now) = (score[sample.sources[at] as usize], verdict.scored.score);
            sample.optimism[at] = model.lacks(said, now);
        }
        model.held.sample = Some(Arc::new(sample));
        Ok(())
    }
}

impl Evm {
    /// What a score lacks to another. Nothing where a row lies at an extreme vector itself or nearest to an ignored sample, or where no
    /// psi is left: there is no score to compare then.
    fn lacks(&self, said: f64, now: f64) -> f64 {
        let has_score = |score: f64| score.abs() < f64::MAX && self.stands(score);
        if has_score(said) && has_score(now) { said - now } else { 0.0 }
    }
}
