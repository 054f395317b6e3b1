//! Models in files.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use rayon::prelude::*;

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
        let bytes = read_whole(path).map_err(|error| FormatError::Io { path: path.to_owned(), error })?;
        Self::from_bytes(&bytes)
    }

    /// As [`load`](Self::load), for a model with a user's own metric, which must have the name that the file says.
    pub fn load_with_metric(path: impl AsRef<Path>, metric: Metric) -> Result<Self, FormatError> {
        let path = path.as_ref();
        let bytes = read_whole(path).map_err(|error| FormatError::Io { path: path.to_owned(), error })?;
        Self::from_bytes_with_metric(&bytes, metric)
    }
}

/// Bytes that a thread reads at a time.
const SHARE: usize = 16 << 20;

/// All bytes of a file, read by all threads.
fn read_whole(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let metadata = file.metadata()?;
    let length = usize::try_from(metadata.len()).unwrap_or(usize::MAX);
    if !metadata.is_file() || length <= SHARE || !cfg!(unix) {
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        return Ok(bytes);
    }
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(length).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
    bytes.resize(length, 0);
    let parts = bytes.par_chunks_mut(SHARE).enumerate();
    parts.try_for_each(|(part, bytes)| read_at(&file, bytes, part * SHARE))?;
    Ok(bytes)
}

#[cfg(unix)]
fn read_at(file: &File, bytes: &mut [u8], place: usize) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, place as u64)
}

#[cfg(not(unix))]
fn read_at(_: &File, _: &mut [u8], _: usize) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
