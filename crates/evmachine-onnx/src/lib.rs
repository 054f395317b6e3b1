//! The decision of an Extreme Value Machine as an ONNX graph, for every runtime that reads the format.
//!
//! ```
//! use evmachine::{Evm, Features, Labels, Params};
//!
//! let features = Features::new(vec![0.0, 0.1, 0.2, 5.0, 5.1, 5.2], 1)?;
//! let labels = Labels::new(["low", "low", "low", "high", "high", "high"])?;
//! let (evm, _) = Evm::fit(&Params::plain(), &features, &labels)?;
//! let bytes = evmachine_onnx::to_onnx(&evm, evmachine_onnx::UNKNOWN_LABEL)?;
//! # assert!(bytes.len() > 500);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The graph
//!
//! Opset 17, standard operators alone. Numbers are `f64` inside, from the first distance on.
//!
//! | | name | type | shape |
//! |---|---|---|---|
//! | input | `features` | float | (rows, dimensions) |
//! | output | `label` | string | (rows), a class name or the label of unknowns |
//! | output | `supports` | double | (rows, classes), how far each class lies above the threshold, as [`Evm::class_supports`](evmachine::Evm::class_supports) |
//! | output | `probability` | double | (rows), psi of the best class, raised by its lead and by the median class where these count |
//! | output | `scores` | double | (rows, classes), psi of each class |
//! | output | `p_value` | double | (rows), the share of known queries that score no higher; if the model is calibrated |
//!
//! Act on `supports`: 0 is at the threshold, also if each class has its own, and the sign of the largest of a row is the decision.
//!
//! Columns are in the order of [`Evm::classes`](evmachine::Evm::classes), or in that given to [`to_onnx_in_order`]. The metadata
//! has `classes`, the names of the columns as a JSON list, `unknown_label` and `rejection_threshold`, which is psi at the
//! threshold of the first class of the model.
//!
//! Classes are compared by support, as in the library, so queries at which every psi has underflowed are decided
//! alike. A query that the library would refuse (not finite, or all zeros under cosine) is unknown, with supports and a
//! probability that are not numbers. Where the model fills missing values, so does the graph: NaN is what is missing.
//!
//! Distances differ from the library's in the last bits of an `f32`. A support moves by kappa times the relative difference,
//! psi by at most 0.37 of that: at a shape of 50 by some 5e-6. So do the logits of witnesses, which are `f64` here and `f32`
//! sums there. At an extreme vector, where the distance is 0 or next to it, a support is infinite or very large.

mod builder;
mod decision;
mod denied;
mod distance;
mod forest;
mod ignored;
mod message;
mod reach;
mod score;
mod space;
mod wire;
mod witness;

use evmachine::{Evm, Rejection};
use thiserror::Error;

use crate::builder::Builder;
use crate::message::{ElementType, Graph, Model, Value};

/// What unknown queries are called unless another label is given.
pub const UNKNOWN_LABEL: &str = evmachine::UNKNOWN;

/// A model that cannot be written as a graph.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ExportError {
    /// A user's own metric is code, which a graph cannot hold.
    #[error("the metric {name:?} is a function of your own; ONNX can hold euclidean, cosine and manhattan")]
    CustomMetric {
        /// Its name.
        name: String,
    },
    /// A query could be called by the label of unknowns and belong to a class all the same.
    #[error("the label of unknowns {label:?} is a class of the model; choose another")]
    UnknownLabel {
        /// The label given.
        label: String,
    },
    /// Columns that are not the classes, each once.
    #[error("the order of the columns must name each of the {classes} classes once, by its position")]
    Order {
        /// Classes of the model.
        classes: usize,
    },
    /// ONNX files end at 2 GiB.
    #[error("the graph takes {bytes} bytes, ONNX files at most {limit}; reduce the model first")]
    TooLarge {
        /// Size of the graph.
        bytes: usize,
        /// Largest size.
        limit: usize,
    },
}

/// Largest protobuf message.
const LIMIT: usize = i32::MAX as usize;

/// The bytes of an ONNX file that decides as the model does.
pub fn to_onnx(evm: &Evm, unknown_label: &str) -> Result<Vec<u8>, ExportError> {
    to_onnx_in_order(evm, unknown_label, &(0..evm.classes().len()).collect::<Vec<usize>>())
}

/// As [`to_onnx`], with the columns of classes in another order: that of `order`, which has positions in
/// [`Evm::classes`](evmachine::Evm::classes), each once.
pub fn to_onnx_in_order(evm: &Evm, unknown_label: &str, order: &[usize]) -> Result<Vec<u8>, ExportError> {
    let all = 0..evm.classes().len();
    let mut sorted = order.to_vec();
    sorted.sort_unstable();
    if !sorted.into_iter().eq(all.clone()) {
        return Err(ExportError::Order { classes: all.len() });
    }
    if evm.class_index(unknown_label).is_some() {
        return Err(ExportError::UnknownLabel { label: unknown_label.to_owned() });
    }
    let mut builder = Builder::new("");
    let filled = space::filled(&mut builder, evm, "features");
    let features = builder.cast(&filled, ElementType::Double);
    let alone = score::machine(&mut builder, evm.machine(), &features)?;
    let scores = witness::heard(&mut builder, evm, &features, alone)?;
    decision::decision(&mut builder, evm, &scores, unknown_label, order);
    let is_calibrated = evm.calibration().is_some();
    builder.keep(&["label", "supports", "probability", "scores", "p_value"]);
    let rows = || "rows".to_owned();
    let classes = || evm.classes().len().to_string();
    let graph = Graph {
        name: "evmachine".to_owned(),
        inputs: vec![Value::new("features", ElementType::Float, vec![rows(), evm.dimensions().to_string()])],
        outputs: [
            Value::new("label", ElementType::String, vec![rows()]),
            Value::new("supports", ElementType::Double, vec![rows(), classes()]),
            Value::new("probability", ElementType::Double, vec![rows()]),
            Value::new("scores", ElementType::Double, vec![rows(), classes()]),
        ]
        .into_iter()
        .chain(is_calibrated.then(|| Value::new("p_value", ElementType::Double, vec![rows()])))
        .collect(),
        nodes: builder.nodes,
        tensors: builder.tensors,
    };
    let names: Vec<&str> = order.iter().map(|&class| evm.class_name(class)).collect();
    let metadata = vec![
        ("classes", serde_json::Value::from(names).to_string()),
        ("unknown_label", unknown_label.to_owned()),
        ("rejection_threshold", rejection_threshold(evm).to_string()),
    ];
    let bytes = Model { version: env!("CARGO_PKG_VERSION"), graph, metadata }.encode();
    if bytes.len() > LIMIT {
        return Err(ExportError::TooLarge { bytes: bytes.len(), limit: LIMIT });
    }
    Ok(bytes)
}

/// Delta as it was given, or psi at the threshold of the first class.
fn rejection_threshold(evm: &Evm) -> f64 {
    match evm.params().rejection_threshold {
        Rejection::Probability(delta) => delta,
        _ => evm.params().tail_model.probability_at(evm.threshold()),
    }
}
