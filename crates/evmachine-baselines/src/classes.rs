//! Names of classes in the order they were learned.

use evmachine::labels::are_same;
use evmachine::{Features, Labels};

use crate::error::SystemError;

/// The classes of a system.
#[derive(Debug, Clone, Default)]
pub(crate) struct Classes {
    pub(crate) names: Vec<String>,
}

impl Classes {
    /// The number of each row's class; new names are added.
    pub(crate) fn learn(
        &mut self,
        features: &Features<'_>,
        labels: &Labels,
    ) -> Result<Vec<usize>, SystemError> {
        if features.rows() != labels.len() {
            return Err(SystemError::Count { rows: features.rows(), labels: labels.len() });
        }
        let numbers: Vec<usize> = labels
            .names()
            .iter()
            .map(|label| {
                self.names.iter().position(|name| are_same(name, label)).unwrap_or_else(|| {
                    self.names.push(label.clone());
                    self.names.len() - 1
                })
            })
            .collect();
        if self.names.len() < 2 {
            return Err(SystemError::TooFewClasses { classes: self.names.len() });
        }
        Ok(labels.ids().iter().map(|&id| numbers[id as usize]).collect())
    }
}
