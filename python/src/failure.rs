//! Errors of the library as exceptions: what a user can mend is a `ValueError`, a file that is not there an `OSError`.

use std::fmt::Display;
use std::path::Path;

use evmachine::{FormatError, SlipError};
use pyo3::PyErr;
use pyo3::exceptions::{PyOSError, PyValueError};

pub(crate) fn value(error: impl Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// A name that looks like a typing error, and what to do.
pub(crate) fn slip(error: &SlipError) -> PyErr {
    value(format!("{error} Name that class, or pass new_class=True if it is to be one"))
}

/// As [`format`], of a file that is named.
pub(crate) fn format_of(path: &Path, error: FormatError) -> PyErr {
    match error {
        FormatError::Io { .. } => format(error),
        other => value(format!("{}: {other}", path.display())),
    }
}

pub(crate) fn format(error: FormatError) -> PyErr {
    match error {
        // `OSError(number, text)` becomes `FileNotFoundError` and its like.
        FormatError::Io { path, error } => match error.raw_os_error() {
            Some(number) => {
                let text = error.to_string();
                let text = text.split(" (os error").next().unwrap_or_default().to_owned();
                PyOSError::new_err((number, text, path))
            }
            None => PyOSError::new_err(format!("{}: {error}", path.display())),
        },
        other => value(other),
    }
}
