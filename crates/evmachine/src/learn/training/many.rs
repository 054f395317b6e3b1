//! Many rows: a part of them is held out for good, and one fit is all it takes.

use std::sync::Arc;

use super::{Data, FEW_FOR_ONE_FIT};
use crate::clock::Clock;
use crate::error::FitError;
use crate::heldout::sample::{NewRow, Role, Sample};
use crate::input::holdout::Division;
use crate::machine::Machine;
use crate::machine::report::Report;
use crate::model::Evm;
use crate::params::CheckedParams;
use crate::witness::probe::Probe;
use crate::witness::{Heard, LogitMachine, Mixture, Witnesses};
use evmachine_engine::points::Points;

pub(super) fn fit(data: &Data<'_>, params: CheckedParams) -> Result<(Evm, Report), FitError> {
    let mut division = Division::new(0, data.labels.ids(), |_| false, data.is_heard);
    let chosen_apart = data.is_heard && data.labels.len() <= FEW_FOR_ONE_FIT;
    let mut choice = None;
    if chosen_apart && data.can_weigh(&params, division.choosing.len()) {
        choice = Some(data.chosen_by_trial(&params, &division)?);
        division.learn_choosing();
    }
    let (mut model, mut report) = data.learn(data.run, params, (&division.learned, &[]))?;
    let clock = Clock::start();
    report.held_out = division.choosing.len() + division.calibrating.len();
    match choice {
        Some(choice) => data.hear(&mut model, &division, choice)?,
        None if data.can_weigh(&model.machine.params, division.choosing.len()) => {
            let choice = data.chosen(&model, &division)?;
            data.hear(&mut model, &division, choice)?;
        }
        None => {}
    }
    data.calibrate(&mut model, &division)?;
    report.times.calibration = clock.elapsed();
    Ok((model, report))
}

/// What was chosen on rows that were not learned.
struct Choice {
    probe: Probe,
    logits: Option<LogitMachine>,
    mixture: Mixture,
    /// Whether probe and machine over logits have learned all that the model has.
    is_whole: bool,
}

impl Data<'_> {
    /// Chooses by a model that is for nothing else.
    fn chosen_by_trial(&self, params: &CheckedParams, division: &Division) -> Result<Choice, FitError> {
        let run = &self.run.in_memory();
        let (trial, _) = self.learn(run, params.without_witnesses().check()?, (&division.learned, &[]))?;
        let trial = Evm::from(Machine { params: params.clone(), ..trial.machine });
        Ok(Choice { is_whole: false, ..self.chosen(&trial, division)? })
    }

    /// The penalty and the weights under which rows that were held out for that are most likely of their own class.
    fn chosen(&self, model: &Evm, division: &Division) -> Result<Choice, FitError> {
        let Division { learned, choosing, .. } = division;
        let run = &self.run.in_memory();
        let (metric, params) = (&model.machine.params.metric, &model.machine.params);
        let points = Points::prepare(self.features, metric)?;
        let data = self.classed(&points);
        let choice = Probe::choose(run, metric, data, learned, choosing)?;
        let probe = Probe::refit(run, metric, data, learned, Some(&choice), None)?;
        let logits = self.logit_machine(params, &probe, &points, (learned, &[]))?;
        let features = self.features.select(choosing);
        let g = model.supports(run, &features, None)?;
        let l = match &logits {
            Some(logits) => Some(logits.supports(run, &points, choosing, None)?),
            None => None,
        };
        let z = probe.logits_of(&points, choosing);
        let heard = Heard {
            features: &g,
            logits: l.as_deref(),
            probe: &z,
            classes: self.class_count(),
            truth: &self.truth(choosing),
        };
        let mixture = Mixture::choose(&heard, params.logit_weight, params.probe_weight);
        Ok(Choice { probe, logits, mixture, is_whole: true })
    }

    /// Has the model hear what was chosen, of the rows that it has learned.
    fn hear(&self, model: &mut Evm, division: &Division, choice: Choice) -> Result<(), FitError> {
        let Choice { mut probe, mut logits, mixture, is_whole } = choice;
        if mixture.feature == 1.0 {
            return Ok(());
        }
        if !is_whole {
            let run = &self.run.in_memory();
            let (metric, learned) = (&model.machine.params.metric, &division.learned);
            let points = Points::prepare(self.features, metric)?;
            probe = Probe::refit(run, metric, self.classed(&points), learned, Some(&probe), None)?;
            if mixture.logit > 0.0 {
                logits = self.logit_machine(&model.machine.params, &probe, &points, (learned, &[]))?;
            }
        }
        let logits = logits.filter(|_| mixture.logit > 0.0);
        model.witnesses = Some(Arc::new(Witnesses { probe, logits, mixture }));
        model.number_logits_alike();
        Ok(())
    }

    /// Sets the threshold on rows that nothing has learned or chosen on.
    fn calibrate(&self, model: &mut Evm, division: &Division) -> Result<(), FitError> {
        let held = &division.calibrating;
        if held.is_empty() {
            return Ok(());
        }
        let (ids, values) = (self.labels.ids(), |index: usize| self.features.row(index));
        let row = |&index: &usize, role: Role| NewRow::new(index, ids[index], index as u64, role);
        let mut sample = Sample::empty(self.features.columns());
        let rows = held.iter().map(|index| row(index, Role::Held));
        let rows = rows.chain(division.learned.iter().map(|index| row(index, Role::Rehearsed)));
        sample.extend(rows, values, model.witnesses.is_some(), model.machine.classes.len());
        let weights = model.weights(&sample);
        let calibrating = sample.positions(|role| role == Role::Held);
        // In an order that has nothing to do with their classes.
        let mut order = calibrating;
        order.sort_unstable_by_key(|&at| sample.sources[at]);
        let features = sample.features().select(&order);
        let truth: Vec<u32> = order.iter().map(|&at| sample.classes[at]).collect();
        let weights: Vec<f64> = order.iter().map(|&at| weights[at]).collect();
        let run = &self.run.in_memory();
        model.adopt_answers(run, &features, &truth, &weights)?;
        model.held.sample = Some(Arc::new(sample));
        Ok(())
    }
}
