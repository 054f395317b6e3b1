//! The flags that say where a row becomes unknown.

use clap::Args;
use evmachine::{CalibrateError, Evm, Params, Rejection};
use evmachine_console::console::Console;
use evmachine_console::failure::{Failure, Kind};

/// At most one way to state it.
#[derive(Debug, Clone, Copy, Args, Default)]
#[command(next_help_heading = "Rejection")]
pub(crate) struct RejectionArguments {
    #[arg(
        long,
        visible_alias = "delta",
        value_name = "PSI",
        conflicts_with_all = ["max_false_unknown", "max_false_known"],
        help = format!(
            "Below this psi a row is unknown, the paper's delta [{} with --preset paper]",
            Params::paper().rejection_threshold.value()
        )
    )]
    pub(crate) rejection_threshold: Option<f64>,

    #[arg(
        long,
        value_name = "SHARE",
        conflicts_with = "max_false_known",
        help = format!(
            "At most this share of known rows is called unknown, by rows that were not learned [default: {} in training; a model that is \
             there keeps to its own rule]",
            Params::plain().rejection_threshold.value()
        )
    )]
    pub(crate) max_false_unknown: Option<f64>,

    /// At most this share of unknown rows is accepted: of strangers like those of --unknown-data in `evmachine train` or
    /// `evmachine calibrate`; without such rows it is an estimate from classes left out in turn.
    #[arg(long, value_name = "SHARE")]
    pub(crate) max_false_known: Option<f64>,

    /// Keep to --max-false-unknown among the rows that are answered with each class, where it has rows enough that were not learned.
    #[arg(long, requires = "max_false_unknown")]
    pub(crate) per_class: bool,

    /// Keep to the share in so many of all trainings, such as 0.95; 0 is on average over trainings [default: 0 in training].
    #[arg(long, value_name = "CONFIDENCE")]
    pub(crate) confidence: Option<f64>,
}

/// For a model that is there: a rule, or its own threshold moved.
#[derive(Debug, Clone, Copy, Args, Default)]
pub(crate) struct ThresholdArguments {
    #[command(flatten)]
    pub(crate) rejection: RejectionArguments,

    /// Move the threshold to this support, as `evmachine predict` and `evmachine evaluate` show it: 0 is where it lies now.
    #[arg(
        long,
        value_name = "SUPPORT",
        allow_negative_numbers = true,
        help_heading = "Rejection",
        conflicts_with_all = ["rejection_threshold", "max_false_unknown", "max_false_known", "confidence"]
    )]
    pub(crate) support: Option<f64>,
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

    /// Has parameters keep to what is given.
    pub(crate) fn set(&self, params: &mut Params) {
        params.rejection_threshold = self.rule().unwrap_or(params.rejection_threshold);
        params.confidence = self.confidence.unwrap_or(params.confidence);
    }

    /// Whether a rule or a confidence is given.
    pub(crate) fn is_given(&self) -> bool {
        self.rule().is_some() || self.confidence.is_some()
    }

    /// Has the model keep to what is given.
    pub(crate) fn keep(&self, evm: &mut Evm) -> Result<(), Failure> {
        if self.is_given() {
            let (rule, confidence) = (evm.params().rejection_threshold, evm.params().confidence);
            evm.set_rule(self.rule().unwrap_or(rule), self.confidence.unwrap_or(confidence))?;
        }
        Ok(())
    }
}

impl ThresholdArguments {
    /// Whether anything is given.
    pub(crate) fn is_given(&self) -> bool {
        self.rejection.is_given() || self.support.is_some()
    }

    /// Has the model keep to what is given.
    pub(crate) fn keep(&self, evm: &mut Evm) -> Result<(), Failure> {
        self.rejection.keep(evm)?;
        let Some(support) = self.support else { return Ok(()) };
        evm.move_threshold(support).map_err(|error| {
            let failure = Failure::new(Kind::Usage, format!("--support {support}: {error}"));
            match error {
                CalibrateError::SeveralThresholds => failure.hint(
                    "`evmachine set MODEL --max-false-unknown SHARE -o MODEL` gives all classes one threshold",
                ),
                _ => failure,
            }
        })
    }

    /// As [`keep`](Self::keep), and says what is in doubt of it.
    pub(crate) fn apply(&self, console: &Console, evm: &mut Evm) -> Result<(), Failure> {
        self.keep(evm)?;
        if self.is_given() {
            console.warn_if(evm.promise().doubt());
        }
        Ok(())
    }
}
