//! The tuner: options and findings as JSON.

use evmachine::Params;
use evmachine_eval::folds::FoldSizes;
use evmachine_eval::tune::Delta;
use evmachine_eval::{Objective, Search, Space, TuneOptions, Tuned};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::arrays::{self, Matrix};
use crate::{failure, parameters, watch};

/// Searches; `options` and the result are JSON objects whose keys are those of the library.
#[pyfunction]
#[pyo3(signature = (features, codes, names, params, options, threads, progress=None))]
#[expect(clippy::too_many_arguments, reason = "data, what to do with it, and how")]
pub(crate) fn tune(
    py: Python<'_>,
    features: Matrix<'_>,
    codes: PyReadonlyArray1<'_, i64>,
    names: Vec<String>,
    params: &str,
    options: &str,
    threads: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let (data, labels) = (arrays::features(&features)?, arrays::labels(&codes, &names)?);
    let base = parameters::read(params)?;
    base.check().map_err(failure::value)?;
    let options = read(options, base)?;
    let tuned = watch::run(py, threads, progress.as_ref(), |_, watch| {
        evmachine_eval::tune(&data, &labels, &options, &mut |done, total, _| watch.trials(done, total))
    })?;
    findings(&tuned.map_err(failure::value)?)
}

fn findings(tuned: &Tuned) -> PyResult<String> {
    let rivals: Vec<Value> = tuned
        .rivals
        .iter()
        .map(|result| json!({"name": result.rival.name(), "mean": result.mean, "error": result.error}))
        .collect();
    let found = json!({
        "params": tuned.params,
        "trials": tuned.trials,
        "best": tuned.best,
        "sizes": tuned.sizes,
        "chosen": tuned.chosen,
        "paper": tuned.paper,
        "robust": tuned.robust,
        "rivals": rivals,
        "at_delta": tuned.at_delta,
    });
    serde_json::to_string(&found).map_err(failure::value)
}

/// The values of an option that a list of the space takes.
fn list<T: DeserializeOwned + Clone>(space: &Map<String, Value>, name: &str, or: &[T]) -> PyResult<Vec<T>> {
    match space.get(name) {
        None => Ok(or.to_vec()),
        Some(values) => serde_json::from_value(values.clone())
            .map_err(|error| failure::value(format!("space[{name:?}] = {values}: {error}"))),
    }
}

const SPACE: [&str; 9] = [
    "whitening",
    "smoothing",
    "tail_model",
    "tail_size",
    "distance_multiplier",
    "pooling",
    "n_fused",
    "cover_threshold",
    "contrast",
];

#[allow(clippy::needless_update, reason = "what has no counterpart here stays as in the full space")]
fn space(value: &Value) -> PyResult<Space> {
    let given = match value {
        Value::String(name) if name == "full" => return Ok(Space::full()),
        Value::String(name) if name == "paper" => return Ok(Space::paper()),
        Value::Object(given) => given,
        other => {
            return Err(failure::value(format!("space = {other}: must be \"full\", \"paper\" or a dict")));
        }
    };
    if let Some(name) = given.keys().find(|name| !SPACE.contains(&name.as_str())) {
        return Err(failure::value(format!("space has {name:?}; it takes {}", SPACE.join(", "))));
    }
    let full = Space::full();
    Ok(Space {
        whitening: list(given, SPACE[0], &full.whitening)?,
        smoothing: list(given, SPACE[1], &full.smoothing)?,
        tail_model: list(given, SPACE[2], &full.tail_model)?,
        tail_fraction: list(given, SPACE[3], &full.tail_fraction)?,
        multiplier: list(given, SPACE[4], &full.multiplier)?,
        pooling: list(given, SPACE[5], &full.pooling)?,
        n_fused: list(given, SPACE[6], &full.n_fused)?,
        cover_threshold: list(given, SPACE[7], &full.cover_threshold)?,
        contrast: list(given, SPACE[8], &full.contrast)?,
        ..full
    })
}

#[allow(clippy::needless_update, reason = "what has no counterpart here keeps its default")]
fn read(text: &str, base: Params) -> PyResult<TuneOptions> {
    let options: Value = serde_json::from_str(text).map_err(failure::value)?;
    let count = |name: &str| {
        options[name].as_u64().ok_or_else(|| {
            failure::value(format!("{name} = {}: must be an integer, not negative", options[name]))
        })
    };
    let limit = match &options["max_false_unknown"] {
        Value::Null => None,
        value => Some(value.as_f64().filter(|rate| (0.0..1.0).contains(rate)).ok_or_else(|| {
            failure::value(format!("max_false_unknown = {value}: must be at least 0 and below 1"))
        })?),
    };
    let objective = match (options["objective"].as_str(), limit) {
        (Some("oscr"), _) => Objective::Oscr,
        (Some("f1"), _) => Objective::F1,
        (Some("normalized_accuracy"), _) => Objective::NormalizedAccuracy,
        (Some("accuracy"), Some(rate)) => Objective::AccuracyAtFalseUnknowns(rate),
        (Some("accuracy"), None) => {
            return Err(failure::value("objective = \"accuracy\" needs max_false_unknown, for example 0.05"));
        }
        _ => {
            let found = &options["objective"];
            let rule = "must be oscr, f1, normalized_accuracy or accuracy";
            return Err(failure::value(format!("objective = {found}: {rule}")));
        }
    };
    let search = match options["search"].as_str() {
        Some("grid") => Search::Grid,
        Some("bayesian") => Search::Bayesian { trials: count("n_trials")? as usize },
        _ => {
            return Err(failure::value(format!("search = {}: must be grid or bayesian", options["search"])));
        }
    };
    let delta = match (limit, &options["unknown_classes"]) {
        (None, Value::Null) => Delta::BestF1,
        (Some(rate), Value::Null) => Delta::MaxFalseUnknown(rate),
        (None, _) => Delta::Openness { unknown_classes: count("unknown_classes")? as usize },
        (Some(_), _) => {
            return Err(failure::value(
                "delta is set by max_false_unknown or by unknown_classes, not by both",
            ));
        }
    };
    let rows = count("max_rows")? as usize;
    Ok(TuneOptions {
        base,
        space: space(&options["space"])?,
        search,
        objective,
        delta,
        folds: count("cv")? as usize,
        sizes: FoldSizes { train: rows, test: rows / 4 },
        shrink: options["shrink"].as_bool().unwrap_or(true),
        seed: count("random_state")?,
        ..TuneOptions::default()
    })
}
