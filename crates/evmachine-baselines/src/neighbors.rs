//! Distances to the nearest points of each class, shared by the systems that are made of them.

use evmachine::tuning::DistanceTable;
use evmachine::{
    Evm, Features, FitError, Labels, Metric, Params, Refit, Run, RunError, TailMemory, TailSize,
};
use evmachine_eval::rivals;

/// Queries measured at a time; a row takes four bytes for each point learned.
const CHUNK: usize = 1024;

/// All points learned. A model that keeps every point holds them, for its distances.
#[derive(Debug, Clone)]
pub(crate) struct Neighbors {
    model: Evm,
    pub(crate) classes: Vec<String>,
}

impl Neighbors {
    pub(crate) fn fit(
        metric: &Metric,
        whitening: f64,
        features: &Features<'_>,
        labels: &Labels,
    ) -> Result<Self, FitError> {
        let params = Params {
            metric: metric.clone(),
            whitening,
            tail_size: TailSize::Count(1),
            cover_threshold: 1.0,
            refit: Refit::New,
            tail_memory: TailMemory::None,
            ..Params::paper()
        };
        let (model, _) = Evm::fit(&params, features, labels)?;
        Ok(Self::holding(model))
    }

    fn holding(model: Evm) -> Self {
        let classes = model.classes().map(|class| class.name.to_owned()).collect();
        Self { model, classes }
    }

    pub(crate) fn update(&self, features: &Features<'_>, labels: &Labels) -> Result<Self, FitError> {
        let mut model = self.model.clone();
        model.update(features, labels)?;
        Ok(Self::holding(model))
    }

    pub(crate) fn points(&self) -> usize {
        self.model.extreme_vector_count()
    }

    /// For each query and class, the mean distance to the `k` nearest points of the class.
    pub(crate) fn distances(&self, queries: &Features<'_>, k: usize) -> Result<Vec<Vec<f64>>, RunError> {
        let rows = queries.rows();
        let mut all = Vec::with_capacity(rows);
        for first in (0..rows).step_by(CHUNK) {
            let part = queries.part(first..(first + CHUNK).min(rows));
            let table = DistanceTable::measure(&Run::new(), self.model.machine(), &part)?;
            all.extend(rivals::class_distances(&self.model, &table, k));
        }
        Ok(all)
    }
}
