//! Why a model file cannot be read or written.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// A file that is no model, or cannot be read or written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FormatError {
    /// Reading or writing failed.
    #[error("{path}: {error}", path = .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        error: io::Error,
    },
    /// Not a safetensors file, or a truncated one.
    #[error("not a complete safetensors file ({source}); copy or train the model again")]
    Container {
        /// What the reader said.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A safetensors file of something else.
    #[error("a safetensors file, but not of an evmachine model: it has no \"evmachine\" metadata")]
    NotAModel,
    /// Written by a later version.
    #[error("model format {found}, but this version reads up to {supported}; update evmachine")]
    Version {
        /// Version in the file.
        found: u32,
        /// Latest version that can be read.
        supported: u32,
    },
    /// Bytes changed since the file was written.
    #[error("the checksum does not match: the file was damaged or edited; copy or train the model again")]
    Checksum,
    /// The parts contradict each other.
    #[error("inconsistent model file: {detail}")]
    Inconsistent {
        /// What contradicts what.
        detail: String,
    },
    /// A user's own metric must be given by the one who loads.
    #[error(
        "the model uses the metric {name:?}; load it with Evm::load_with_metric or Evm::from_bytes_with_metric"
    )]
    CustomMetric {
        /// Name of the metric in the file.
        name: String,
    },
    /// A metric of that name was given that measures something else.
    #[error(
        "the model was trained with another metric that is called {name:?} too: between two of its vectors it measured {stored}, and \
         the one given measures {found}"
    )]
    MetricDiffers {
        /// Name of the metric.
        name: String,
        /// The distance in the file.
        stored: f32,
        /// The distance by the metric given.
        found: f32,
    },
    /// Another metric than that of the model was given.
    #[error("the model uses the metric {name:?}, and {given:?} was given; give that of the model")]
    OtherMetric {
        /// Name of the metric in the file.
        name: String,
        /// Name of the one that was given.
        given: String,
    },
}
