//! Model files, with errors that name them.

use std::path::Path;

use evmachine::{Evm, FormatError, Rejection};
use evmachine_console::console::Console;
use evmachine_console::failure::{Failure, Kind};
use evmachine_console::interrupt;
use evmachine_files::Held;

use crate::files;
use crate::rejection::ThresholdArguments;

pub(crate) fn load(path: &Path) -> Result<Evm, Failure> {
    Evm::load(path).map_err(|error| named(error, path))
}

/// As [`load`], to decide by another rule where one is given.
pub(crate) fn load_to_decide(
    console: &Console,
    path: &Path,
    threshold: &ThresholdArguments,
) -> Result<Evm, Failure> {
    let mut evm = load(path)?;
    threshold.apply(console, &mut evm)?;
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

/// What the threshold promises, in a sentence.
pub(crate) fn promise(evm: &Evm) -> String {
    match evm.params().rejection_threshold {
        // Its number is on another scale than the support that people see, whose 0 is the threshold.
        Rejection::Support(score) => format!("a threshold that was given, at the score {score:.4}"),
        _ => evm.promise().to_string(),
    }
}

/// Says what the threshold promises, and what is in doubt of it.
pub(crate) fn say_promise(console: &Console, evm: &Evm) {
    console.say(format!("unknown is what has a support below 0: {}", promise(evm)));
    console.warn_if(evm.promise().doubt());
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
