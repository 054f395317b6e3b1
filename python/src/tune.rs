//! The tuner: options and findings as JSON.

use evmachine::{Metric, Params, Weight};
use evmachine_eval::folds::FoldSizes;
use evmachine_eval::tune::Delta;
use evmachine_eval::{Objective, Space, TrialSearch, TuneOptions, Tuned, Weights};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::arrays::{self, Matrix};
use crate::device::Means;
use crate::{failure, parameters, watch};

/// Searches; `options` and the result are JSON objects whose keys are those of the library.
#[pyfunction]
#[pyo3(signature = (features, codes, names, unknowns, params, options, means, progress=None))]
#[expect(clippy::too_many_arguments, reason = "data, what to do with it, and how")]
pub(crate) fn tune(
    py: Python<'_>,
    features: Matrix<'_>,
    codes: PyReadonlyArray1<'_, i64>,
    names: Vec<String>,
    unknowns: Option<Matrix<'_>>,
    params: &str,
    options: &str,
    means: Means,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let (data, labels) = (arrays::features(&features)?, arrays::labels(&codes, &names)?);
    let base = parameters::read(params)?;
    base.check().map_err(failure::value)?;
    let mut options = read(options, base)?;
    if let Some(unknowns) = &unknowns {
        let rows = arrays::features(unknowns)?;
        options.unknowns = Some(rows.select(&(0..rows.rows()).collect::<Vec<_>>()));
    }
    let tuned = watch::run(py, &means, progress.as_ref(), |run, watch| {
        evmachine_eval::tune_with(run, &data, &labels, &options, &mut |at| watch.tuning(at))
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
        "lead": tuned.lead,
        "sizes": tuned.sizes,
        "chosen": tuned.chosen,
        "paper": tuned.paper,
        "robust": tuned.robust,
        "rivals": rivals,
        "at_delta": tuned.at_delta,
    });
    serde_json::to_string(&found).map_err(failure::value)
}

fn wrong(name: &str, value: &Value, rule: &str) -> PyErr {
    failure::value(format!("{name} = {}: must be {rule}", evmachine::in_python(value)))
}

/// The values of an option that a list of the space takes.
fn list<T: DeserializeOwned + Clone>(space: &Map<String, Value>, name: &str, or: &[T]) -> PyResult<Vec<T>> {
    match space.get(name) {
        None => Ok(or.to_vec()),
        Some(values) => serde_json::from_value(values.clone())
            .map_err(|_| wrong(&format!("space[{name:?}]"), values, &format!("a list of {}", takes(name)))),
    }
}

const SPACE: [&str; 13] = [
    "whitening",
    "smoothing",
    "tail_model",
    "tail_size",
    "distance_multiplier",
    "pooling",
    "n_fused",
    "cover_threshold",
    "contrast",
    "background",
    "weights",
    "metric",
    "standardize",
];

/// What the list of an option holds.
fn takes(name: &str) -> &'static str {
    match name {
        "smoothing" => "pairs of a fraction and an int",
        "tail_model" => "weibull, libmr and gumbel",
        "n_fused" => "ints that are not negative",
        "weights" => "pairs, each of which must be \"auto\" or a number",
        "metric" => "euclidean, cosine and manhattan",
        "standardize" => "True and False",
        _ => "numbers",
    }
}

/// Metrics by name.
fn metrics(space: &Map<String, Value>) -> PyResult<Vec<Metric>> {
    let names: Vec<String> = list(space, "metric", &[])?;
    let metric = |name: &String| {
        Metric::from_name(name).ok_or_else(|| {
            failure::value(format!("space[\"metric\"] has {name:?}; it takes euclidean, cosine, manhattan"))
        })
    };
    names.iter().map(metric).collect()
}

/// Weights of logits, probe and forest, three by three.
fn weights(space: &Map<String, Value>, or: &[Weights]) -> PyResult<Vec<Weights>> {
    let or: Vec<(Weight, Weight, Weight)> =
        or.iter().map(|weights| (weights.logits, weights.probe, weights.forest)).collect();
    let found = list(space, "weights", &or)?;
    Ok(found.into_iter().map(|(logits, probe, forest)| Weights { logits, probe, forest }).collect())
}

fn space(value: &Value) -> PyResult<Space> {
    let given = match value {
        Value::String(name) if name == "full" => return Ok(Space::full()),
        Value::String(name) if name == "paper" => return Ok(Space::paper()),
        Value::Object(given) => given,
        other => {
            return Err(wrong("space", other, "\"full\", \"paper\" or a dict"));
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
        background: list(given, SPACE[9], &full.background)?,
        weights: weights(given, &full.weights)?,
        metric: metrics(given)?,
        standardize: list(given, SPACE[12], &full.standardize)?,
    })
}

fn read(text: &str, base: Params) -> PyResult<TuneOptions> {
    let options: Value = serde_json::from_str(text).map_err(failure::value)?;
    let count = |name: &str| {
        options[name].as_u64().ok_or_else(|| wrong(name, &options[name], "an integer, not negative"))
    };
    let rate = |name: &str| match &options[name] {
        Value::Null => Ok(None),
        value => value
            .as_f64()
            .filter(|rate| (0.0..1.0).contains(rate))
            .map(Some)
            .ok_or_else(|| wrong(name, value, "at least 0 and below 1")),
    };
    let (unknown, known) = (rate("max_false_unknown")?, rate("max_false_known")?);
    let objective = match (options["objective"].as_str(), unknown) {
        (Some("oscr"), _) => Objective::Oscr,
        (Some("f1"), _) => Objective::F1,
        (Some("normalized_accuracy"), _) => Objective::NormalizedAccuracy,
        (Some("accuracy"), Some(rate)) => Objective::AccuracyAtFalseUnknowns(rate),
        (Some("accuracy"), None) => {
            return Err(failure::value("objective = \"accuracy\" needs max_false_unknown, for example 0.05"));
        }
        _ => {
            let rule = "oscr, f1, normalized_accuracy or accuracy";
            return Err(wrong("objective", &options["objective"], rule));
        }
    };
    let search = match options["search"].as_str() {
        Some("grid") => TrialSearch::Grid,
        Some("bayesian") => TrialSearch::Bayesian { trials: count("n_trials")? as usize },
        _ => {
            return Err(wrong("search", &options["search"], "grid or bayesian"));
        }
    };
    let delta = match (unknown, known, &options["unknown_classes"]) {
        (None, None, Value::Null) => Delta::usual(objective),
        (Some(rate), None, Value::Null) => Delta::MaxFalseUnknown(rate),
        (None, Some(rate), Value::Null) => Delta::MaxFalseKnown(rate),
        (None, None, _) => Delta::Openness { unknown_classes: count("unknown_classes")? as usize },
        _ => {
            let rule = "rejection is set by one of max_false_unknown, max_false_known and unknown_classes";
            return Err(failure::value(rule));
        }
    };
    let max_size = match &options["max_size"] {
        Value::Null => None,
        value => {
            Some(value.as_f64().ok_or_else(|| wrong("max_size", value, "above 0 and at most 1, or None"))?)
        }
    };
    let folds = if options["cv"].is_null() { None } else { Some(count("cv")? as usize) };
    let rows = count("max_rows")? as usize;
    Ok(TuneOptions {
        base,
        space: space(&options["space"])?,
        search,
        objective,
        delta,
        folds,
        sizes: FoldSizes { train: rows, test: rows / 4 },
        shrink: options["shrink"]
            .as_bool()
            .ok_or_else(|| wrong("shrink", &options["shrink"], "True or False"))?,
        max_size,
        unknowns: None,
        seed: count("random_state")?,
    })
}
