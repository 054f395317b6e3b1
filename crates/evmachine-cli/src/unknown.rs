//! What unknown rows are called, which no class may be.

use clap::Args;
use evmachine::{Evm, Labels};

use crate::failure::{Failure, Kind};
use crate::origin::Origin;

#[derive(Debug, Clone, Args)]
pub(crate) struct UnknownLabel {
    /// What unknown rows are called in predictions; no class may have that name.
    #[arg(long, value_name = "TEXT", default_value = evmachine::UNKNOWN)]
    pub(crate) unknown_label: String,
}

impl UnknownLabel {
    /// Refuses to learn a class of that name from files.
    pub(crate) fn check(&self, origin: &Origin, labels: &Labels) -> Result<(), Failure> {
        labels.refuse_unknown(&self.unknown_label).map_err(|error| {
            Failure::from(error).about(origin.name()).hint(
                "rows that are known to be unknown go to --unknown-data of train, tune or calibrate; where it is a class \
                 indeed, pass --unknown-label \"(unknown)\", to predict too",
            )
        })
    }

    /// Refuses a model that has a class of that name.
    pub(crate) fn check_model(&self, evm: &Evm) -> Result<(), Failure> {
        if evm.class_index(&self.unknown_label).is_none() {
            return Ok(());
        }
        Err(Failure::new(Kind::Usage, format!("the model has a class named {:?}", self.unknown_label))
            .hint("give unknown rows another name, such as --unknown-label \"(unknown)\""))
    }
}
