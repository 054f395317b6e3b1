//! What unknown rows are called, which no class may be.

use clap::Args;
use evmachine::{Evm, Labels};
use evmachine_console::failure::{Failure, Kind};
use evmachine_console::hint::Hint;
use evmachine_console::origin::Origin;

#[derive(Debug, Clone, Args)]
pub(crate) struct UnknownLabel {
    /// What unknown rows are called in predictions; no class may have that name.
    #[arg(long, value_name = "TEXT", default_value = evmachine::UNKNOWN)]
    pub(crate) unknown_label: String,
}

/// Refuses a class of the name that predictions have for what is none, unless they are told otherwise.
pub(crate) fn refuse(class: &str) -> Result<(), Failure> {
    if !evmachine::labels::are_same(class, evmachine::UNKNOWN) {
        return Ok(());
    }
    Err(Failure::new(Kind::Usage, format!("{class:?} is what predictions call rows of no class"))
        .hint("samples that are to stay strangers are ignored: see `edit ignore`, `update --ignore` and `pool ignore`"))
}

impl UnknownLabel {
    /// Refuses to learn a class of that name from files.
    pub(crate) fn check(&self, origin: &Origin, labels: &Labels) -> Result<(), Failure> {
        labels.refuse_unknown(&self.unknown_label).map_err(|error| {
            Failure::from(error).about(origin.name()).hint(
                Hint::flags(
                    &["unknown-data"],
                    "rows that are known to be unknown go to --unknown-data of train, tune or calibrate",
                )
                .then(Hint::flags(
                    &["unknown-label"],
                    "where it is a class indeed, pass --unknown-label \"(unknown)\", to predict too",
                )),
            )
        })
    }

    /// Refuses a model that has a class of that name.
    pub(crate) fn check_model(&self, evm: &Evm) -> Result<(), Failure> {
        if evm.class_index(&self.unknown_label).is_none() {
            return Ok(());
        }
        Err(Failure::new(Kind::Usage, format!("the model has a class named {:?}", self.unknown_label)).hint(
            Hint::flags(
                &["unknown-label"],
                "give unknown rows another name, such as --unknown-label \"(unknown)\"",
            ),
        ))
    }
}
