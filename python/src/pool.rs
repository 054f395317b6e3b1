//! The pool of unknowns.

use std::sync::{Mutex, MutexGuard, PoisonError};

use evmachine::{SampleId, Strategy, UnknownPool};
use numpy::{IntoPyArray, PyArray2, PyArrayMethods};
use pyo3::prelude::*;

use crate::arrays::{self, Matrix};
use crate::device::Means;
use crate::model::Model;
use crate::{failure, watch};

/// Sample, the group that it explains, P of the best class.
type SuggestionRow = (SampleId, Vec<SampleId>, f64);

/// Samples waiting for labels.
#[pyclass(frozen, module = "evmachine._native")]
pub(crate) struct Pool {
    dimensions: usize,
    pool: Mutex<UnknownPool>,
}

impl Pool {
    fn lock(&self) -> MutexGuard<'_, UnknownPool> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn matrix<'py>(&self, py: Python<'py>, values: Vec<f32>) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let rows = values.len() / self.dimensions;
        values.into_pyarray(py).reshape([rows, self.dimensions])
    }
}

#[pymethods]
impl Pool {
    #[new]
    fn new(dimensions: usize) -> PyResult<Self> {
        if dimensions == 0 {
            return Err(failure::value("a pool needs vectors of at least one dimension"));
        }
        Ok(Self { dimensions, pool: Mutex::new(UnknownPool::new(dimensions)) })
    }

    /// A pool with these samples under these numbers, the next of which is `next`.
    #[staticmethod]
    fn resume(samples: Matrix<'_>, numbers: Vec<SampleId>, next: SampleId) -> PyResult<Self> {
        let features = arrays::features(&samples)?;
        let pool = UnknownPool::resume(&features, &numbers, next).map_err(failure::value)?;
        Ok(Self { dimensions: features.columns(), pool: Mutex::new(pool) })
    }

    /// The number that the next sample will get.
    #[getter]
    fn next(&self) -> SampleId {
        self.lock().next_sample()
    }

    fn __len__(&self) -> usize {
        self.lock().len()
    }

    fn add(&self, samples: Matrix<'_>) -> PyResult<Vec<SampleId>> {
        self.lock().add(&arrays::features(&samples)?).map_err(failure::value)
    }

    /// Numbers, vectors and labels of all samples.
    #[expect(clippy::type_complexity, reason = "three columns")]
    fn samples<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Vec<SampleId>, Bound<'py, PyArray2<f32>>, Vec<Option<String>>)> {
        let (mut ids, mut values, mut labels) = (Vec::new(), Vec::new(), Vec::new());
        for (id, vector, label) in self.lock().iter() {
            ids.push(id);
            values.extend_from_slice(vector);
            labels.push(label.map(str::to_owned));
        }
        Ok((ids, self.matrix(py, values)?, labels))
    }

    #[pyo3(signature = (model, strategy, seed, count, means))]
    fn suggest(
        &self,
        py: Python<'_>,
        model: &Model,
        strategy: &str,
        seed: u64,
        count: usize,
        means: Means,
    ) -> PyResult<Vec<SuggestionRow>> {
        let strategy = match strategy {
            "groups" => Strategy::Groups,
            "coverage" => Strategy::Coverage,
            "lowest_psi" => Strategy::LowestPsi,
            "closest_to_threshold" => Strategy::ClosestToThreshold,
            "random" => Strategy::Random(seed),
            other => {
                let rule = "must be groups, coverage, lowest_psi, closest_to_threshold or random";
                return Err(failure::value(format!("strategy = {other:?}: {rule}")));
            }
        };
        // A copy, so that the pool can be used from other threads meanwhile.
        let pool = self.lock().clone();
        let found =
            watch::run(py, &means, None, |run, _| pool.suggest_with(run, &model.evm, strategy, count))?;
        let row =
            |suggestion: evmachine::Suggestion| (suggestion.sample, suggestion.group, suggestion.score.psi());
        Ok(found.map_err(failure::value)?.into_iter().map(row).collect())
    }

    fn label(&self, samples: Vec<SampleId>, name: &str) -> PyResult<()> {
        self.lock().label(&samples, name).map_err(failure::value)
    }

    fn unlabel(&self, samples: Vec<SampleId>) -> PyResult<()> {
        self.lock().unlabel(&samples).map_err(failure::value)
    }

    fn remove(&self, samples: Vec<SampleId>) -> usize {
        self.lock().remove(&samples)
    }
}
