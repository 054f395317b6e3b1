//! Class names, by the library's rules.

use evmachine::labels::{from_double, from_single, is_missing, key};
use pyo3::prelude::*;

/// What two names of one class have in common.
#[pyfunction]
pub(crate) fn label_key(name: &str) -> String {
    key(name).into_owned()
}

/// Whether a text that is read as a label stands for none.
#[pyfunction]
pub(crate) fn label_is_missing(text: &str) -> bool {
    is_missing(text)
}

/// The name of a label that is a double.
#[pyfunction]
pub(crate) fn label_of_double(value: f64) -> String {
    from_double(value)
}

/// The name of a label that is of single precision, which Python hands over as a double.
#[pyfunction]
pub(crate) fn label_of_single(value: f64) -> String {
    from_single(value as f32)
}
