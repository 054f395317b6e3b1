//! Parameters as JSON, by the names that the library gives them.

use evmachine::{Metric, Params};
use pyo3::prelude::*;
use serde_json::{Map, Value};

use crate::failure;

/// Reads parameters; an error names the one that is wrong.
pub(crate) fn read(text: &str) -> PyResult<Params> {
    let values: Map<String, Value> = serde_json::from_str(text).map_err(failure::value)?;
    for (name, value) in &values {
        let alone = Value::Object(Map::from_iter([(name.clone(), value.clone())]));
        if let Err(error) = serde_json::from_value::<Params>(alone) {
            return Err(failure::value(format!("{name} = {value}: {error}")));
        }
    }
    serde_json::from_value(Value::Object(values)).map_err(failure::value)
}

/// The parameters of the paper, or of the robust preset for a metric, as JSON.
#[pyfunction]
pub(crate) fn defaults(robust: bool, metric: &str) -> PyResult<String> {
    let metric = Metric::from_name(metric).ok_or_else(|| {
        failure::value(format!("metric {metric:?} is not one of euclidean, cosine, manhattan"))
    })?;
    let params = if robust { Params::robust_for(metric) } else { Params { metric, ..Params::default() } };
    serde_json::to_string(&params).map_err(failure::value)
}

/// Raises a `ValueError` for the first rule that the parameters break.
#[pyfunction]
pub(crate) fn check(params: &str) -> PyResult<()> {
    read(params)?.check().map(|_| ()).map_err(failure::value)
}
