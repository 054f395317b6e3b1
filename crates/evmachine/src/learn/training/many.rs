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
use crate::params::{CheckedParams, Params};
use crate::witness::mixture::{Heard, Mixture, Weights};
use crate::witness::probe::Probe;
use crate::witness::{Voices, Witnesses};
use evmachine_engine::points::Points;
use evmachine_engine::run::Run;

pub(super) fn fit(data: &Data<'_>, params: CheckedParams) -> Result<(Evm, Report), FitError> {
    let mut division = Division::new(0, data.labels.ids(), |_| false, data.is_heard);
    let mut weights = Weights::default();
    let mut params = params;
    let clock = Clock::start();
    if data.can_weigh(&params, division.choosing.len()) || params.chooses_cover() {
        let rows = [&division.learned[..], &division.choosing].concat();
        let chosen = data.weigh(&params, &rows, true)?;
        weights = chosen.weights;
        if let Some(cover_threshold) = chosen.cover {
            params = Params { cover_threshold, ..Params::clone(&params) }.check()?;
        }
    }
    let weighing = clock.elapsed();
    let mut choice = None;
    let is_heard = !weights.are_zero();
    if is_heard && data.labels.len() <= FEW_FOR_ONE_FIT {
        choice = Some(data.chosen_by_trial(&params, weights, &division)?);
    }
    if choice.is_some() || !is_heard {
        division.learn_choosing();
    }
    let (mut model, mut report) = data.learn(data.run, params, (&division.learned, &[]))?;
    let clock = Clock::start();
    report.held_out = division.choosing.len() + division.calibrating.len();
    match choice {
        Some(choice) => data.hear(&mut model, &division, choice)?,
        None if is_heard => {
            let choice = data.chosen(data.run, &model, weights, &division)?;
            data.hear(&mut model, &division, choice)?;
        }
        None => {}
    }
    data.calibrate(&mut model, &division)?;
    report.times.calibration = clock.elapsed();
    report.times.weighing = weighing;
    Ok((model, report))
}

/// What was chosen on rows that were not learned.
struct Choice {
    voices: Voices,
    weights: Weights,
    mixture: Mixture,
    /// Whether the witnesses have learned all that the model has.
    is_whole: bool,
}

impl Data<'_> {
    /// Chooses by a model that is for nothing else.
    fn chosen_by_trial(
        &self,
        params: &CheckedParams,
        weights: Weights,
        division: &Division,
    ) -> Result<Choice, FitError> {
        let run = &self.run.in_memory();
        let (trial, _) = self.learn(run, params.without_witnesses().check()?, (&division.learned, &[]))?;
        let trial = Evm::from(Machine { params: params.clone(), ..trial.machine });
        Ok(Choice { is_whole: false, ..self.chosen(run, &trial, weights, division)? })
    }

    /// The witnesses of the learned rows, the probe's penalty chosen on rows that were held out for that, and all scaled by what they
    /// say of these.
    fn chosen(
        &self,
        run: &Run<'_>,
        model: &Evm,
        weights: Weights,
        division: &Division,
    ) -> Result<Choice, FitError> {
        let Division { learned, choosing, .. } = division;
        let (metric, params) = (&model.machine.params.metric, &model.machine.params);
        let points = Points::prepare(self.features, metric)?;
        let mut start = None;
        if weights.hear_logits() {
            start = Some(Probe::choose(run, metric, self.classed(&points), learned, choosing)?);
        }
        let voices = self.voices(run, params, weights, &points, (learned, &[]), (start.as_ref(), None))?;
        let said = voices.say(run, &points, choosing, None)?;
        let heard = Heard {
            features: &model.supports(run, &self.features.select(choosing), None)?,
            logits: said.logits.as_deref(),
            probe: said.probe.as_deref(),
            forest: said.forest.as_deref(),
            classes: self.class_count(),
        };
        let mixture = Mixture::new(&heard, weights);
        Ok(Choice { voices, weights, mixture, is_whole: true })
    }

    /// Has the model hear what was chosen, of the rows that it has learned.
    fn hear(&self, model: &mut Evm, division: &Division, choice: Choice) -> Result<(), FitError> {
        let Choice { mut voices, weights, mixture, is_whole } = choice;
        if !is_whole {
            let params = &model.machine.params;
            let points = Points::prepare(self.features, &params.metric)?;
            let rows = (&division.learned[..], &[][..]);
            voices = self.voices(self.run, params, weights, &points, rows, (voices.probe.as_ref(), None))?;
        }
        model.witnesses = Some(Arc::new(Witnesses { voices, mixture }));
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
        sample.extend(rows, values, model.rehearsal(), model.machine.classes.len());
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
