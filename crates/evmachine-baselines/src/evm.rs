//! The Extreme Value Machine itself.

use std::sync::Arc;

use evmachine::device::Device;
use evmachine::{Evm, Features, Labels, Params, Run};

use crate::error::SystemError;
use crate::scores::Scores;
use crate::system::System;

/// The library's model as one system among others. Scores are supports, which order queries that are far from
/// everything too.
#[derive(Clone)]
pub struct ExtremeValueMachine {
    name: String,
    params: Params,
    device: Option<Arc<dyn Device>>,
    model: Option<Evm>,
    classes: Vec<String>,
}

impl ExtremeValueMachine {
    /// A machine to be trained with `params`.
    pub fn new(name: impl Into<String>, params: Params) -> Self {
        Self { name: name.into(), params, device: None, model: None, classes: Vec::new() }
    }

    /// Has the device do the heavy work, if there is one.
    #[must_use]
    pub fn on(self, device: Option<Arc<dyn Device>>) -> Self {
        Self { device, ..self }
    }

    fn run(&self) -> Run<'_> {
        self.device.iter().fold(Run::new(), |run, device| run.device(device.as_ref()))
    }

    /// The model, once there is one.
    pub fn model(&self) -> Option<&Evm> {
        self.model.as_ref()
    }

    fn fitted(&self) -> Result<&Evm, SystemError> {
        self.model.as_ref().ok_or_else(|| SystemError::NotFitted { system: self.name() })
    }

    fn keep(&mut self, model: Evm) {
        self.classes = model.classes().map(|class| class.name.to_owned()).collect();
        self.model = Some(model);
    }
}

impl std::fmt::Debug for ExtremeValueMachine {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let device = self.device.as_ref().map(|device| device.name());
        let mut shown = formatter.debug_struct("ExtremeValueMachine");
        shown.field("name", &self.name).field("device", &device).finish_non_exhaustive()
    }
}

impl System for ExtremeValueMachine {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn fit(&mut self, features: &Features<'_>, labels: &Labels) -> Result<(), SystemError> {
        let (model, _) = Evm::fit_with(&self.run(), &self.params, features, labels)?;
        self.keep(model);
        Ok(())
    }

    fn update(&mut self, features: &Features<'_>, labels: &Labels) -> Result<(), SystemError> {
        let mut model = self.fitted()?.clone();
        model.update_with(&self.run(), features, labels)?;
        self.keep(model);
        Ok(())
    }

    fn classes(&self) -> &[String] {
        &self.classes
    }

    fn scores(&self, queries: &Features<'_>) -> Result<Scores, SystemError> {
        let model = self.fitted()?;
        let rows = model.map_queries_with(&self.run(), queries, |_, scores| {
            // What is compared with the threshold is the best class with its raise; the others move along, so that it stays
            // the best.
            let decision = model.decision(scores);
            let raise = decision.score().support - scores[decision.best()].support;
            let raise = if raise.is_finite() { raise } else { 0.0 };
            scores.iter().map(|score| score.support + raise).collect::<Vec<f64>>()
        })?;
        Ok(Scores::new(self.classes.len(), &rows))
    }

    fn threshold(&self) -> f64 {
        self.model.as_ref().map_or(f64::NAN, Evm::threshold)
    }

    fn threshold_at(&self, delta: f64) -> Option<f64> {
        Some(self.params.tail_model.support_at(delta))
    }

    fn vectors(&self) -> usize {
        self.model.as_ref().map_or(0, Evm::extreme_vector_count)
    }
}
