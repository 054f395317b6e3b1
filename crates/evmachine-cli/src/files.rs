//! Files, written whole or not at all.

use std::path::{Path, PathBuf};
use std::slice::from_ref;

use evmachine_console::failure::{Failure, Kind};
use evmachine_console::inputs::expand;

/// Writes to a temporary name beside `path` and renames it; makes the folder if it is not there.
pub(crate) fn write(path: &Path, content: impl AsRef<[u8]>) -> Result<(), Failure> {
    evmachine_files::write_with_folder(path, content.as_ref())
        .map_err(|error| Failure::new(Kind::Other, error.to_string()).about(path.display()))
}

/// Whether both are names of one file that is there.
pub(crate) fn are_same(one: &Path, other: &Path) -> bool {
    match (std::fs::canonicalize(one), std::fs::canonicalize(other)) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}

/// Refuses a name in a folder that is not there, before anything is computed for it.
pub(crate) fn refuse_nowhere(output: &Path) -> Result<(), Failure> {
    match output.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.exists()) {
        Some(folder) => {
            let message = format!("{}: the folder {} does not exist", output.display(), folder.display());
            Err(Failure::new(Kind::Other, message).hint("make it first, or name another"))
        }
        None => Ok(()),
    }
}

/// Refuses to write over what is read.
pub(crate) fn refuse_over<'a>(
    output: &Path,
    inputs: impl IntoIterator<Item = &'a PathBuf>,
) -> Result<(), Failure> {
    // A pattern that matches nothing is for its reader to report.
    let mut inputs = inputs.into_iter().flat_map(|input| expand(from_ref(input)).unwrap_or_default());
    match inputs.find(|input| are_same(output, input)) {
        Some(input) => Err(Failure::new(
            Kind::Usage,
            format!("{} would be written over {}, which is read", output.display(), input.display()),
        )
        .hint("name another file with -o, or with the flag that names what is written")),
        None => Ok(()),
    }
}
