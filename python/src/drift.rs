//! The drift monitor, whose reports are JSON that `evmachine/_drift.py` makes objects of.

use std::sync::{Mutex, MutexGuard, PoisonError};

use evmachine::DriftMonitor;
use pyo3::prelude::*;

use crate::arrays::{self, Matrix};
use crate::device::Means;
use crate::model::Model;
use crate::{failure, watch};

/// Watches a stream of queries of one model.
#[pyclass(frozen, module = "evmachine._native")]
pub(crate) struct Drift {
    monitor: Mutex<DriftMonitor>,
}

impl Drift {
    fn lock(&self) -> MutexGuard<'_, DriftMonitor> {
        self.monitor.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Drift {
    #[new]
    #[pyo3(signature = (model, reference, rate, seed, means))]
    fn new(
        py: Python<'_>,
        model: &Model,
        reference: Option<Matrix<'_>>,
        rate: f64,
        seed: u64,
        means: Means,
    ) -> PyResult<Self> {
        let reference = reference.as_ref().map(arrays::features).transpose()?;
        let evm = &model.evm;
        let monitor = watch::run(py, &means, None, |run, _| match &reference {
            Some(reference) => DriftMonitor::with_reference_with(run, evm, reference, rate),
            None => DriftMonitor::new_with(run, evm, rate),
        })?;
        Ok(Self { monitor: Mutex::new(monitor.map_err(failure::value)?.seeded(seed)) })
    }

    /// Takes rows in, in their order.
    #[pyo3(signature = (model, features, means, progress=None))]
    fn observe(
        &self,
        py: Python<'_>,
        model: &Model,
        features: Matrix<'_>,
        means: Means,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        let (queries, evm) = (arrays::features(&features)?, &model.evm);
        // Of a call that fails nothing is taken in.
        let mut monitor = self.lock().clone();
        let monitor = watch::run(py, &means, progress.as_ref(), move |run, _| {
            monitor.observe_with(run, evm, &queries).map(|()| monitor)
        })?;
        *self.lock() = monitor.map_err(failure::value)?;
        Ok(())
    }

    /// How it stands, as JSON, in which `text` is that in words.
    fn report(&self, py: Python<'_>, model: &Model, means: Means) -> PyResult<String> {
        let (monitor, evm) = (self.lock().clone(), &model.evm);
        let report = watch::run(py, &means, None, move |run, _| monitor.report_with(run, evm))?;
        let report = report.map_err(failure::value)?;
        let mut value = serde_json::to_value(&report).map_err(failure::value)?;
        value["text"] = report.to_string().into();
        serde_json::to_string(&value).map_err(failure::value)
    }

    /// The state, as JSON.
    fn state(&self) -> PyResult<String> {
        serde_json::to_string(&*self.lock()).map_err(failure::value)
    }

    #[staticmethod]
    fn resume(state: &str) -> PyResult<Self> {
        let monitor = serde_json::from_str(state)
            .map_err(|error| failure::value(format!("no state of a drift monitor: {error}")))?;
        Ok(Self { monitor: Mutex::new(monitor) })
    }
}
