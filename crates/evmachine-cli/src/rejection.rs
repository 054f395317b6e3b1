//! The flags that say where a row becomes unknown.

use clap::Args;
use evmachine::{Evm, Rejection};

use crate::console::Console;
use crate::failure::Failure;

/// At most one way to state it.
#[derive(Debug, Clone, Copy, Args, Default)]
#[command(next_help_heading = "Rejection")]
pub(crate) struct RejectionArguments {
    /// Below this probability a row is unknown (delta) [paper: 0.05, where no share is given].
    #[arg(long, visible_alias = "delta", value_name = "PROBABILITY", conflicts_with_all = ["max_false_unknown", "max_false_known"])]
    pub(crate) rejection_threshold: Option<f64>,

    /// At most this share of known rows is called unknown, by held-out training rows [default: 0.05 in
    /// training; a model that is there keeps to its own rule].
    #[arg(long, value_name = "SHARE", conflicts_with = "max_false_known")]
    pub(crate) max_false_unknown: Option<f64>,

    /// At most this share of unknown rows is accepted, by how strangers scored when the model was tuned or calibrated.
    #[arg(long, value_name = "SHARE")]
    pub(crate) max_false_known: Option<f64>,

    /// Keep to --max-false-unknown in each class by itself, where it has held-out rows enough.
    #[arg(long, requires = "max_false_unknown")]
    pub(crate) per_class: bool,
}

impl RejectionArguments {
    /// The rule, where one is given.
    pub(crate) fn rule(&self) -> Option<Rejection> {
        let unknown = self.max_false_unknown.map(if self.per_class {
            Rejection::FalseUnknownPerClass
        } else {
            Rejection::FalseUnknown
        });
        let known = self.max_false_known.map(Rejection::FalseKnown);
        unknown.or(known).or(self.rejection_threshold.map(Rejection::Probability))
    }

    /// Has the model keep to the rule, where one is given, and says what is in doubt of it.
    pub(crate) fn apply(&self, console: &Console, evm: &mut Evm) -> Result<(), Failure> {
        let Some(rule) = self.rule() else { return Ok(()) };
        evm.set_rejection(rule)?;
        console.warn_if(evm.calibration().and_then(|info| rule.doubt(info.rows)));
        Ok(())
    }
}
