//! Models in files.

use std::fs;
use std::path::Path;

use super::FormatError;
use crate::model::Evm;
use evmachine_engine::metric::Metric;

/// # Save
impl Evm {
    /// Writes the model to a temporary name beside `path` and renames it: whoever reads `path` sees the old file
    /// or the new one, whole. A file that is replaced keeps its mode and owner, a link stays a link, pipes and devices are written to.
    /// Takes no memory for the bytes of the file.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), FormatError> {
        let path = path.as_ref();
        let layout = self.layout()?;
        let write = || {
            let mut draft = evmachine_files::Draft::create(path)?;
            layout.write(&mut draft)?;
            draft.finish()
        };
        write().map_err(|error| FormatError::Io { path: path.to_owned(), error })
    }

    /// Reads a model file.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, FormatError> {
        let path = path.as_ref();
        let bytes = fs::read(path).map_err(|error| FormatError::Io { path: path.to_owned(), error })?;
        Self::from_bytes(&bytes)
    }

    /// As [`load`](Self::load), for a model with a user's own metric, which must have the name that the file says.
    pub fn load_with_metric(path: impl AsRef<Path>, metric: Metric) -> Result<Self, FormatError> {
        let path = path.as_ref();
        let bytes = fs::read(path).map_err(|error| FormatError::Io { path: path.to_owned(), error })?;
        Self::from_bytes_with_metric(&bytes, metric)
    }
}
