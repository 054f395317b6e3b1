//! Names that found a class.

use evmachine::{Evm, slip_of};

use crate::error::StoreError;
use crate::pool::Pool;

impl Pool {
    /// Whether a name is neither a class of the model nor a label that somebody gave.
    pub fn is_new_class(&self, model: &Evm, name: &str) -> Result<bool, StoreError> {
        Ok(model.class_index(name).is_none() && !self.labels()?.contains_key(name))
    }

    /// Refuses a name that would found a class and looks like a slip of one that is known ([`slip_of`]). People who type
    /// names are asked so before an answer; programs say which names are new.
    pub fn refuse_slip(&self, model: &Evm, name: &str) -> Result<(), StoreError> {
        if !self.is_new_class(model, name)? {
            return Ok(());
        }
        let labels = self.labels()?;
        let classes = model.classes().map(|class| class.name).chain(labels.keys().map(String::as_str));
        let known: Vec<String> = slip_of(name, classes).into_iter().map(str::to_owned).collect();
        if known.is_empty() { Ok(()) } else { Err(StoreError::Slip { name: name.to_owned(), known }) }
    }
}
