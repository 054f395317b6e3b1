//! Files, written whole or not at all.

use std::path::Path;

use crate::failure::{Failure, Kind};

/// Writes to a temporary name beside `path` and renames it; makes the folder if it is not there.
pub fn write(path: &Path, content: impl AsRef<[u8]>) -> Result<(), Failure> {
    evmachine_files::write_with_folder(path, content.as_ref())
        .map_err(|error| Failure::new(Kind::Other, error.to_string()).about(path.display()))
}
