//! The native half of the Python package `evmachine`: what the library does, on numpy arrays, without the interpreter
//! lock. The typed estimators that people use are written in Python, in `evmachine/`; `evmachine/_native.pyi` says what
//! is here.

#![allow(clippy::needless_pass_by_value, reason = "what Python hands over comes by value")]

mod answers;
mod arrays;
mod cluster;
mod curves;
mod device;
mod drift;
mod edit;
mod enrolment;
mod failure;
mod fill;
mod labels;
mod model;
mod parameters;
mod pool;
mod psi;
mod reasons;
mod rows;
mod steps;
mod store;
mod suspects;
mod tensors;
mod threads;
mod tracks;
mod tune;
mod watch;

/// What Python imports as `evmachine._native`.
#[pyo3::pymodule]
mod _native {
    #[pymodule_export]
    use super::answers::{
        class_supports, decide, discover, distribution, p_values, probability_known, scores, share_unknown,
    };
    #[pymodule_export]
    use super::arrays::bad_row;
    #[pymodule_export]
    use super::curves::{evaluate, oscr_curve};
    #[pymodule_export]
    use super::device::device_name;
    #[pymodule_export]
    use super::drift::Drift;
    #[pymodule_export]
    use super::edit::{check_label, deny, edit, ignore};
    #[pymodule_export]
    use super::enrolment::{doubt_quality, examine};
    #[pymodule_export]
    use super::fill::{filled, learn_fill};
    #[pymodule_export]
    use super::labels::{label_is_missing, label_key, label_of_double, label_of_single};
    #[pymodule_export]
    use super::model::Model;
    #[pymodule_export]
    use super::parameters::{broken_rule, check, parameters, params_of_toml, preset, recall};
    #[pymodule_export]
    use super::pool::Pool;
    #[pymodule_export]
    use super::psi::{fit_margins, psi_at};
    #[pymodule_export]
    use super::reasons::{doubt, explain};
    #[pymodule_export]
    use super::rows::{find_rows, held_rows};
    #[pymodule_export]
    use super::steps::Task;
    #[pymodule_export]
    use super::store::Store;
    #[pymodule_export]
    use super::suspects::suspects;
    #[pymodule_export]
    use super::tensors::{read_tensor, reading_stream};
    #[pymodule_export]
    use super::tracks::decide_tracks;
    #[pymodule_export]
    use super::tune::tune;

    /// The version of the package.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}
