//! The flag that says what stands in for missing values.

use clap::Args;
use evmachine::Fill;

#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct FillArguments {
    /// Fill missing values with a number for each column, learned in training and kept in the model for all that it is asked:
    /// mean, median or zero [default: a missing value is an error].
    #[arg(id = "fill", long = "fill", value_name = "RULE", value_parser = rule)]
    pub(crate) rule: Option<Fill>,
}

impl FillArguments {
    /// The flag as it was typed, for a command to come.
    pub(crate) fn flag(self) -> String {
        self.rule.map_or(String::new(), |rule| format!(" --fill {}", rule.name()))
    }
}

fn rule(text: &str) -> Result<Fill, String> {
    let found = Fill::ALL.into_iter().find(|rule| rule.name() == text);
    found.ok_or_else(|| "it is none of mean, median, zero".to_owned())
}
