//! Parameters as JSON, by the names that the library gives them.

use evmachine::{Metric, Params};
use pyo3::prelude::*;
use serde_json::{Map, Value};

use crate::failure;

/// What a parameter takes; `None` where there is no such parameter.
fn takes(name: &str) -> Option<&'static str> {
    Some(match name {
        "metric" => "euclidean, cosine or manhattan",
        "tail_size" => "an int, a float or \"auto\"",
        "tail_model" => "weibull, libmr or gumbel",
        "fixed_shape" => "a number or None",
        "distance_multiplier"
        | "whitening"
        | "smoothing"
        | "pooling"
        | "cover_threshold"
        | "cover_risk"
        | "contrast"
        | "background"
        | "confidence" => "a number",
        "standardize" => "True or False",
        "smoothing_neighbors" | "n_fused" | "tail_memory_limit" => "an int that is not negative",
        "max_extreme_vectors" => "an int, a float, {\"total\": n} or None",
        "reduction" => "set_cover or weighted_max_k",
        "logit_weight" | "probe_weight" => "\"auto\" or a number",
        "rejection_threshold" => {
            "a probability, support with a number, or one of false_unknown, false_unknown_per_class, false_known with a share"
        }
        "strangers" => "two numbers",
        "refit" => "new, affected or all",
        "reduce_when" => "always or over_budget",
        "tail_memory" => "full, max or none",
        "search" => "exact, or approximate with a recall",
        _ => return None,
    })
}

/// A value as Python writes it.
pub(crate) fn shown(value: &Value) -> String {
    let list = |values: &[Value]| values.iter().map(shown).collect::<Vec<_>>().join(", ");
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Array(values) => format!("[{}]", list(values)),
        Value::Object(entries) => {
            let entries: Vec<String> =
                entries.iter().map(|(name, value)| format!("{name:?}: {}", shown(value))).collect();
            format!("{{{}}}", entries.join(", "))
        }
        other => other.to_string(),
    }
}

/// Reads parameters; an error names the one that is wrong and what it takes.
pub(crate) fn read(text: &str) -> PyResult<Params> {
    from_values(serde_json::from_str(text).map_err(failure::value)?)
}

/// As [`read`], what is not named being that of other parameters.
pub(crate) fn read_over(params: &Params, text: &str) -> PyResult<Params> {
    let own = serde_json::to_value(params).map_err(failure::value)?;
    let Value::Object(mut values) = own else { return Err(failure::value("parameters must be an object")) };
    values.extend(serde_json::from_str::<Map<String, Value>>(text).map_err(failure::value)?);
    from_values(values)
}

fn from_values(values: Map<String, Value>) -> PyResult<Params> {
    for (name, value) in &values {
        let Some(takes) = takes(name) else {
            return Err(failure::value(format!("there is no parameter {name:?}")));
        };
        let alone = Value::Object(Map::from_iter([(name.clone(), value.clone())]));
        if serde_json::from_value::<Params>(alone).is_err() {
            return Err(failure::value(format!("{name} = {}: must be {takes}", shown(value))));
        }
    }
    serde_json::from_value(Value::Object(values)).map_err(failure::value)
}

/// All parameters of a file such as `evmachine tune` writes, as JSON; what it does not name is as in the paper.
#[pyfunction]
pub(crate) fn params_of_toml(text: &str) -> PyResult<String> {
    let values = toml::from_str(text).map_err(|error| failure::value(error.to_string().trim_end()))?;
    serde_json::to_string(&from_values(values)?).map_err(failure::value)
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
