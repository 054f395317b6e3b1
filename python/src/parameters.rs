//! Parameters as JSON, by the names that the library gives them.

use evmachine::{Parameter, Params, Preset, Search};
use pyo3::prelude::*;
use serde_json::json;

use crate::failure;

/// Reads parameters, what is not named being that of the preset plain; an error names the one that is wrong and what it takes.
pub(crate) fn read(text: &str) -> PyResult<Params> {
    read_over(&Params::plain(), text)
}

/// As [`read`], what is not named being that of other parameters.
pub(crate) fn read_over(params: &Params, text: &str) -> PyResult<Params> {
    let values = serde_json::from_str(text).map_err(failure::value)?;
    params.with(values).map_err(failure::value)
}

/// All parameters of a file such as `evmachine tune` writes, as JSON; what it does not name is as in the paper.
#[pyfunction]
pub(crate) fn params_of_toml(text: &str) -> PyResult<String> {
    let values = toml::from_str(text).map_err(|error| failure::value(error.to_string().trim_end()))?;
    serde_json::to_string(&Preset::default().with(values).map_err(failure::value)?).map_err(failure::value)
}

/// The parameters of a preset with those of a JSON object in place of its own, for the metric that is among them, as JSON.
#[pyfunction]
pub(crate) fn preset(name: &str, given: &str) -> PyResult<String> {
    let preset = Preset::from_name(name).ok_or_else(|| {
        let names = Preset::ALL.map(Preset::name).join(", ");
        failure::value(format!("preset {name:?} is not one of {names}"))
    })?;
    let values = serde_json::from_str(given).map_err(failure::value)?;
    serde_json::to_string(&preset.with(values).map_err(failure::value)?).map_err(failure::value)
}

/// Raises a `ValueError` for the first rule that the parameters break.
#[pyfunction]
pub(crate) fn check(params: &str) -> PyResult<()> {
    read(params)?.check().map(|_| ()).map_err(failure::value)
}

/// The rule of the library that a number breaks as a value of a parameter, or of a variant of it; nothing if it breaks none.
#[pyfunction]
pub(crate) fn broken_rule(name: &str, variant: &str, value: f64) -> Option<String> {
    match Parameter::named(name) {
        Some(parameter) => parameter.broken_rule(variant, value),
        None => (!value.is_finite()).then(|| "must be a finite number".to_owned()),
    }
}

/// The library's list of parameters, as JSON: name, symbol, unit, what it takes and does, and its value in the presets.
#[pyfunction]
pub(crate) fn parameters() -> String {
    let (plain, paper, robust) = (Params::plain(), Params::paper(), Params::default());
    let list = Params::LIST.iter().map(|parameter| {
        json!({
            "name": parameter.name,
            "symbol": parameter.symbol,
            "unit": parameter.unit,
            "takes": parameter.takes(),
            "about": parameter.about,
            "default": parameter.value(&robust),
            "plain": parameter.value(&plain),
            "paper": parameter.value(&paper),
        })
    });
    list.collect::<serde_json::Value>().to_string()
}

/// The recall of a search that is not exact, unless another is given.
#[pyfunction]
pub(crate) fn recall() -> f64 {
    Search::RECALL
}
