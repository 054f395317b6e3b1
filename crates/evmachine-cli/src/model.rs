//! Model files, with errors that name them.

use std::path::Path;

use evmachine::{Evm, FormatError};
use evmachine_files::Held;

use crate::console::Console;
use crate::failure::{Failure, Kind};
use crate::files;
use crate::interrupt;
use crate::rejection::RejectionArguments;

pub(crate) fn load(path: &Path) -> Result<Evm, Failure> {
    Evm::load(path).map_err(|error| named(error, path))
}

/// As [`load`], to decide by another rule where one is given.
pub(crate) fn load_to_decide(
    console: &Console,
    path: &Path,
    rejection: &RejectionArguments,
) -> Result<Evm, Failure> {
    let mut evm = load(path)?;
    rejection.apply(console, &mut evm)?;
    Ok(evm)
}

/// As [`load`], for a command that writes `output`: where that is the model itself, nobody else changes it until what is returned is
/// dropped, so that of two updates at once none is lost.
pub(crate) fn load_to_change(
    console: &Console,
    path: &Path,
    output: &Path,
) -> Result<(Evm, Option<Held>), Failure> {
    let mut said = false;
    let waits = || {
        if !std::mem::replace(&mut said, true) {
            console.say(format!("{} is being changed by another process; waiting", path.display()));
        }
        interrupt::flow()
    };
    let held = if files::are_same(path, output) {
        let io = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::Interrupted => Failure::interrupted(),
            _ => named(FormatError::Io { path: path.to_owned(), error }, path),
        };
        Some(Held::wait(path, waits).map_err(io)?)
    } else {
        None
    };
    Ok((load(path)?, held))
}

/// The support below which a row is unknown, and the rule that it comes of.
pub(crate) fn threshold(evm: &Evm) -> String {
    let rule = evm.params().rejection_threshold;
    let rows = evm.calibration().map_or(String::new(), |info| format!(", by {} held-out rows", info.rows));
    format!("support {:.4} ({rule}{rows})", evm.threshold())
}

pub(crate) fn save(model: &Evm, path: &Path) -> Result<(), Failure> {
    model.save(path).map_err(|error| Failure { kind: Kind::Other, ..named(error, path) })
}

/// An I/O error names its file already.
fn named(error: FormatError, path: &Path) -> Failure {
    if let FormatError::Io { error, .. } = &error
        && error.kind() == std::io::ErrorKind::NotFound
    {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.exists());
        return match folder {
            Some(folder) => {
                Failure::new(Kind::Model, format!("the folder {} does not exist", folder.display()))
            }
            None => Failure::new(Kind::Model, format!("{} does not exist; check the path", path.display())),
        };
    }
    let names_itself = matches!(error, FormatError::Io { .. });
    let failure = Failure::from(error);
    if names_itself { failure } else { failure.about(path.display()) }
}
