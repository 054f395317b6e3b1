//! The model. It never changes: what learns or forgets returns another one, so threads may share it.

use std::path::PathBuf;

use evmachine::{Encoder, Evm, ExtremeVector, Params, Report, Run, TailMemory};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use serde_json::Value;

use crate::arrays::{self, Matrix};
use crate::cluster::Cluster;
use crate::device::Means;
use crate::rows::{self, Names};
use crate::{failure, parameters, watch};

/// A trained model.
#[pyclass(frozen, module = "evmachine._native")]
pub(crate) struct Model {
    pub(crate) evm: Evm,
}

/// The report as JSON; what is told in words elsewhere in Python is told in words here too.
fn report(report: &Report, params: &Params) -> PyResult<String> {
    let mut value = serde_json::to_value(report).map_err(failure::value)?;
    value["fits"] = report.fits.iter().map(|(status, count)| (status.describe(), count)).collect();
    value["tune_again"] = report.tune_again.map(|reason| reason.to_string()).into();
    let concerns = report.concerns(params).into_iter().map(|concern| {
        serde_json::to_value(concern).map(|mut value| {
            value["words"] = concern.to_string().into();
            value
        })
    });
    value["concerns"] = concerns.collect::<Result<Vec<Value>, _>>().map_err(failure::value)?.into();
    serde_json::to_string(&value).map_err(failure::value)
}

/// A position or row as numpy's own integers; there are fewer than 2^53 of them.
pub(crate) fn number(value: u64) -> i64 {
    value.cast_signed()
}

impl Model {
    /// Another model, made of a copy of this one.
    fn changed<E: std::fmt::Display + Send>(
        &self,
        py: Python<'_>,
        means: Means,
        progress: Option<&Py<PyAny>>,
        change: impl FnOnce(&Run<'_>, &mut Evm) -> Result<(), E> + Send,
    ) -> PyResult<Self> {
        let evm = watch::run(py, &means, progress, |run, _| {
            let mut evm = self.evm.clone();
            change(run, &mut evm).map(|()| evm)
        })?;
        Ok(Self { evm: evm.map_err(failure::value)? })
    }

    fn column<'py, T: numpy::Element>(
        &self,
        py: Python<'py>,
        value: impl Fn(ExtremeVector<'_>) -> T,
    ) -> Bound<'py, PyArray1<T>> {
        self.evm.extreme_vectors().map(value).collect::<Vec<T>>().into_pyarray(py)
    }
}

#[pymethods]
impl Model {
    /// Learns, with tails found by what `driver` drives, if there is one; returns the model and the report as JSON.
    #[staticmethod]
    #[pyo3(signature = (
        params, features, codes, names, ignored, fill, feature_names, label_type, row_names, means, progress=None,
        driver=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "data, what to do with it, and how")]
    fn fit<'py>(
        py: Python<'py>,
        params: &str,
        features: Matrix<'py>,
        codes: PyReadonlyArray1<'py, i64>,
        names: Vec<String>,
        ignored: Option<Matrix<'py>>,
        fill: Option<Vec<f32>>,
        feature_names: Vec<String>,
        label_type: String,
        row_names: Names,
        means: Means,
        progress: Option<Py<PyAny>>,
        driver: Option<Py<PyAny>>,
    ) -> PyResult<(Self, String)> {
        let params = parameters::read(params)?;
        let (data, labels) = (arrays::features(&features)?, arrays::labels(&codes, &names)?);
        let ignored = ignored
            .as_ref()
            .map(arrays::features)
            .transpose()
            .map_err(|error| failure::value(format!("samples to be ignored: {}", error.value(py))))?;
        let cluster = driver.map(|driver| Cluster::new(py, driver)).transpose()?;
        let fitted = watch::run(py, &means, progress.as_ref(), |run, _| {
            let run = cluster.as_ref().map_or(*run, |cluster| run.device(cluster));
            match &ignored {
                Some(ignored) => Evm::fit_ignoring_with(&run, &params, &data, &labels, ignored),
                None => Evm::fit_with(&run, &params, &data, &labels),
            }
        })?;
        let raised = || cluster.as_ref().and_then(Cluster::raised);
        let (mut evm, report) = fitted.map_err(|error| raised().unwrap_or_else(|| failure::value(error)))?;
        evm.set_feature_names(feature_names).map_err(failure::value)?;
        evm.set_fill_values(fill).map_err(failure::value)?;
        rows::name(&mut evm, 0, data.rows(), row_names)?;
        evm.set_label_type(Some(label_type));
        let report = self::report(&report, evm.params())?;
        Ok((Self { evm }, report))
    }

    /// Learns more; returns the model and the report as JSON.
    #[pyo3(signature = (features, codes, names, label_type, row_names, means, progress=None))]
    #[expect(clippy::too_many_arguments, reason = "data, what to do with it, and how")]
    fn update<'py>(
        &self,
        py: Python<'py>,
        features: Matrix<'py>,
        codes: PyReadonlyArray1<'py, i64>,
        names: Vec<String>,
        label_type: String,
        row_names: Names,
        means: Means,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<(Self, String)> {
        let (data, labels) = (arrays::features(&features)?, arrays::labels(&codes, &names)?);
        let updated =
            watch::run(py, &means, progress.as_ref(), |run, _| self.evm.updated_with(run, &data, &labels))?;
        let (mut evm, report) = updated.map_err(failure::value)?;
        rows::name(&mut evm, self.evm.points_seen(), data.rows(), row_names)?;
        evm.set_label_type(Some(label_type));
        let report = self::report(&report, evm.params())?;
        Ok((Self { evm }, report))
    }

    #[pyo3(signature = (params, means, progress=None))]
    fn reduce(
        &self,
        py: Python<'_>,
        params: &str,
        means: Means,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let params = parameters::read(params)?;
        self.changed(py, means, progress.as_ref(), |run, evm| evm.reduce_with(run, &params.cover()))
    }

    #[pyo3(signature = (name, means, progress=None))]
    fn forget(
        &self,
        py: Python<'_>,
        name: &str,
        means: Means,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        self.changed(py, means, progress.as_ref(), |run, evm| evm.forget_class_with(run, name))
    }

    /// Another rule for what is unknown, and how surely it is kept: in the JSON of the parameters, both as before unless given.
    fn with_rejection(&self, rule: &str) -> PyResult<Self> {
        let params = parameters::read_over(self.evm.params(), rule)?;
        let mut evm = self.evm.clone();
        evm.set_rule(params.rejection_threshold, params.confidence).map_err(failure::value)?;
        Ok(Self { evm })
    }

    /// The threshold of all classes, moved by so much support.
    fn with_threshold_moved(&self, support: f64) -> PyResult<Self> {
        let mut evm = self.evm.clone();
        evm.move_threshold(support)
            .map_err(|error| failure::value(format!("support = {support}: {error}")))?;
        Ok(Self { evm })
    }

    /// Sets threshold and probabilities on labelled rows that the model was not trained on.
    #[pyo3(signature = (features, codes, names, means, progress=None))]
    fn calibrate(
        &self,
        py: Python<'_>,
        features: Matrix<'_>,
        codes: PyReadonlyArray1<'_, i64>,
        names: Vec<String>,
        means: Means,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let (data, labels) = (arrays::features(&features)?, arrays::labels(&codes, &names)?);
        self.changed(py, means, progress.as_ref(), |run, evm| {
            evm.calibrate_with(run, &data, &labels).map(|_| ())
        })
    }

    /// Learns from rows that are known to be unknown how such rows score.
    #[pyo3(signature = (features, means, progress=None))]
    fn calibrate_unknowns(
        &self,
        py: Python<'_>,
        features: Matrix<'_>,
        means: Means,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let data = arrays::features(&features)?;
        self.changed(py, means, progress.as_ref(), |run, evm| evm.calibrate_unknowns_with(run, &data))
    }

    fn save(&self, path: PathBuf) -> PyResult<()> {
        self.evm.save(path).map_err(failure::format)
    }

    #[staticmethod]
    fn load(path: PathBuf) -> PyResult<Self> {
        let evm = Evm::load(&path).map_err(|error| failure::format_of(&path, error))?;
        Ok(Self { evm })
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.evm.to_bytes().map_err(failure::format)?))
    }

    #[staticmethod]
    fn from_bytes(content: &[u8]) -> PyResult<Self> {
        Ok(Self { evm: Evm::from_bytes(content).map_err(failure::format)? })
    }

    /// With columns of classes in an order, by their positions in the model.
    fn to_onnx<'py>(
        &self,
        py: Python<'py>,
        unknown_label: &str,
        order: Vec<usize>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let bytes =
            evmachine_onnx::to_onnx_in_order(&self.evm, unknown_label, &order).map_err(failure::value)?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The parameters it was trained with, as JSON.
    #[getter]
    fn params(&self) -> PyResult<String> {
        serde_json::to_string(self.evm.params()).map_err(failure::value)
    }

    /// By class, the score from which on it is answered.
    #[getter]
    fn thresholds<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        let classes = 0..self.evm.classes().len();
        classes.map(|class| self.evm.threshold_of(class)).collect::<Vec<f64>>().into_pyarray(py)
    }

    /// What the threshold promises, as JSON, in which `text` is that in words.
    #[getter]
    fn promise(&self) -> PyResult<String> {
        let promise = self.evm.promise();
        let mut value = serde_json::to_value(&promise).map_err(failure::value)?;
        value["text"] = promise.to_string().into();
        serde_json::to_string(&value).map_err(failure::value)
    }

    /// How much of a decision features, logits, probe and forest are; `None` where features decide alone.
    #[getter]
    fn shares<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(shares) = self.evm.shares() else { return Ok(None) };
        let dict = PyDict::new(py);
        dict.set_item("features", shares.features)?;
        dict.set_item("logits", shares.logits)?;
        dict.set_item("probe", shares.probe)?;
        dict.set_item("forest", shares.forest)?;
        Ok(Some(dict))
    }

    /// What is remembered of tails, by its name among the parameters.
    #[getter]
    fn tail_memory(&self) -> &'static str {
        match self.evm.tail_memory() {
            TailMemory::Full => "full",
            TailMemory::Max => "max",
            TailMemory::None => "none",
        }
    }

    /// What a person should know who relies on the threshold.
    #[getter]
    fn promise_doubt(&self) -> Option<String> {
        self.evm.promise().doubt()
    }

    /// Rows that the threshold rests on, the share of them that was right, and the classes then.
    #[getter]
    fn calibration(&self) -> Option<(usize, f64, usize)> {
        self.evm.calibration().map(|info| (info.rows, info.accuracy, info.classes))
    }

    #[getter]
    fn dimensions(&self) -> usize {
        self.evm.dimensions()
    }

    #[getter]
    fn feature_names(&self) -> Vec<String> {
        self.evm.feature_names().to_vec()
    }

    /// What fills missing values, by column; `None` where they are not filled.
    #[getter]
    fn fill_values<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f32>>> {
        self.evm.fill_values().map(|numbers| numbers.to_vec().into_pyarray(py))
    }

    /// With the encoder that its training rows come from, and what they have in common.
    fn with_encoder(
        &self,
        py: Python<'_>,
        encoder: &str,
        features: Matrix<'_>,
        codes: PyReadonlyArray1<'_, i64>,
        names: Vec<String>,
    ) -> PyResult<Self> {
        let encoder: Encoder = encoder.parse().map_err(failure::value)?;
        let (data, labels) = (arrays::features(&features)?, arrays::labels(&codes, &names)?);
        let mut evm = self.evm.clone();
        py.detach(|| evm.set_encoder(encoder, &data, &labels));
        Ok(Self { evm })
    }

    #[getter]
    fn encoder(&self) -> Option<String> {
        self.evm.encoder().map(ToString::to_string)
    }

    /// Refuses another encoder.
    fn check_encoder(&self, encoder: &str) -> PyResult<()> {
        let encoder: Encoder = encoder.parse().map_err(failure::value)?;
        self.evm.check_encoder(&encoder).map_err(failure::value)
    }

    /// What about rows is unlike those of the encoder, in words.
    fn encoder_doubt(&self, py: Python<'_>, features: Matrix<'_>) -> PyResult<Option<String>> {
        let data = arrays::features(&features)?;
        Ok(py.detach(|| self.evm.encoder_doubt(&data)).map(|doubt| doubt.to_string()))
    }

    /// Labels of another type, from now on.
    fn with_label_type(&self, label_type: String) -> Self {
        let mut evm = self.evm.clone();
        evm.set_label_type(Some(label_type));
        Self { evm }
    }

    #[getter]
    fn label_type(&self) -> Option<&str> {
        self.evm.label_type()
    }

    /// In the order in which they were learned.
    #[getter]
    fn class_names(&self) -> Vec<String> {
        self.evm.classes().map(|class| class.name.to_owned()).collect()
    }

    #[getter]
    fn vector_ratio(&self) -> f64 {
        self.evm.vector_ratio()
    }

    /// A row for each extreme vector, class by class.
    #[getter]
    fn vectors<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let values: Vec<f32> = self.evm.extreme_vectors().flat_map(|vector| vector.vector).copied().collect();
        values.into_pyarray(py).reshape([self.evm.extreme_vector_count(), self.evm.dimensions()])
    }

    /// The same in the space of the features.
    #[getter]
    fn feature_vectors<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let evm = &self.evm;
        let values: Vec<f32> =
            evm.extreme_vectors().flat_map(|vector| evm.in_feature_space(vector.vector)).collect();
        values.into_pyarray(py).reshape([evm.extreme_vector_count(), evm.dimensions()])
    }

    #[getter]
    fn vector_classes<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        self.column(py, |vector| number(vector.class as u64))
    }

    #[getter]
    fn sources<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        self.column(py, |vector| number(vector.source))
    }

    #[getter]
    fn shapes<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.column(py, |vector| vector.psi.shape)
    }

    #[getter]
    fn scales<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.column(py, |vector| vector.psi.scale)
    }

    /// The status of each fit, in words.
    #[getter]
    fn statuses(&self) -> Vec<&'static str> {
        self.evm.extreme_vectors().map(|vector| vector.psi.status.describe()).collect()
    }

    /// Whether two models are the same in every number.
    fn __eq__(&self, other: &Self) -> bool {
        self.evm == other.evm
    }
}
