//! What ends the program: a sentence, a hint what to type next, and an exit code.

mod data;

use std::process::ExitCode;

use evmachine::scratch::FolderError;
use evmachine::{
    CalibrateError, EditError, EncoderError, FeatureError, FitError, ForgetError, FormatError, ParamsError,
    PoolError, ReduceError, RunError,
};

use crate::hint::Hint;

/// Which exit code a failure has; `evmachine --help` lists them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It could not be done.
    Other = 1,
    /// The command line makes no sense.
    Usage = 2,
    /// The data is bad.
    Data = 3,
    /// The model file is bad.
    Model = 4,
    /// Ctrl-C.
    Interrupted = 130,
}

/// The most characters of a message: whatever is quoted in it, it can be read.
const MESSAGE_LIMIT: usize = 4000;

/// Why the program ends without having done what it was asked to.
#[derive(Debug)]
pub struct Failure {
    /// Which exit code.
    pub kind: Kind,
    /// What happened.
    pub message: String,
    /// What to type next.
    pub hint: Option<Hint>,
}

impl Failure {
    /// A failure without a hint.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        let mut message: String = message.into();
        if let Some((end, _)) = message.char_indices().nth(MESSAGE_LIMIT) {
            message.replace_range(end.., "…");
        }
        Self { kind, message, hint: None }
    }

    /// Adds what to type next.
    pub fn hint(mut self, hint: impl Into<Hint>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Without the parts of the hint that name flags which a command does not have.
    pub fn only_flags_of(mut self, command: &clap::Command) -> Self {
        let has = |flag: &str| {
            command.get_arguments().any(|argument| {
                let aliases = argument.get_visible_aliases().unwrap_or_default();
                argument.get_long() == Some(flag) || aliases.contains(&flag)
            })
        };
        self.hint = self.hint.and_then(|hint| hint.only_flags(has));
        self
    }

    /// Ctrl-C, which left nothing half-written.
    pub fn interrupted() -> Self {
        Self::new(Kind::Interrupted, "interrupted; nothing was written")
    }

    /// Puts the file, or whatever else it is about, in front.
    pub fn about(mut self, subject: impl std::fmt::Display) -> Self {
        if self.kind != Kind::Interrupted {
            self.message = format!("{subject}: {}", self.message);
        }
        self
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.kind as u8)
    }
}

impl From<EncoderError> for Failure {
    fn from(error: EncoderError) -> Self {
        let hint = match &error {
            EncoderError::NotNamed { .. } => {
                "`evmachine train --encoder NAME` keeps it; leave --encoder out to go on without"
            }
            _ => {
                "`evmachine inspect MODEL` says which encoder it has, `evmachine migrate` takes a model to another"
            }
        };
        Failure::new(Kind::Data, error.to_string()).hint(hint)
    }
}

impl From<ParamsError> for Failure {
    fn from(error: ParamsError) -> Self {
        let flags = parameter_flags(error.name, error.variant);
        Self::new(Kind::Usage, format!("{flags} {}: {}", error.value, error.rule))
            .hint("`evmachine train --help` says more")
    }
}

/// The flags that set a parameter to such a value.
pub fn parameter_flags(name: &str, variant: &str) -> String {
    match (name, variant) {
        ("max_extreme_vectors", "per_class") => "--max-per-class".to_owned(),
        ("max_extreme_vectors", "total") => "--max-total".to_owned(),
        ("max_extreme_vectors", "ratio") => "--vector-ratio".to_owned(),
        ("max_extreme_vectors", _) => "--max-per-class, --max-total or --vector-ratio".to_owned(),
        ("rejection_threshold", "probability") => "--delta".to_owned(),
        ("rejection_threshold", "support") => "--support".to_owned(),
        ("rejection_threshold", "false_known") => "--max-false-known".to_owned(),
        ("rejection_threshold", _) => "--max-false-unknown".to_owned(),
        ("search", _) => "--recall".to_owned(),
        (name, _) => format!("--{}", name.replace('_', "-")),
    }
}

impl From<FeatureError> for Failure {
    fn from(error: FeatureError) -> Self {
        let failure = Self::new(Kind::Data, error.to_string());
        match error {
            FeatureError::Dimensions { .. } => failure.hint(
                Hint::flags(
                    &["label", "drop"],
                    "name the columns that are not features with --label or --drop",
                )
                .then(Hint::flags(&["features"], "name the features with --features")),
            ),
            FeatureError::ZeroVector { .. } => {
                failure.hint("`evmachine train --metric euclidean` takes such rows; or remove it")
            }
            _ => failure,
        }
    }
}

impl From<FitError> for Failure {
    fn from(error: FitError) -> Self {
        match error {
            FitError::Params(error) => error.into(),
            FitError::Run(error) => error.into(),
            FitError::OneClass { .. } => Self::new(Kind::Data, error.to_string())
                .hint(Hint::flags(&["label"], "is --label the right column?")),
            FitError::RecallNotReached { .. } | FitError::TailsTooLong { .. } => {
                Self::new(Kind::Other, error.to_string()).hint(Hint::flags(
                    &["search", "recall", "tail-size"],
                    "--search exact, --recall and --tail-size are the flags",
                ))
            }
            other => Self::new(Kind::Data, other.to_string()),
        }
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Features(error) => error.into(),
            RunError::Stopped => Self::interrupted(),
            RunError::Disk { .. } | RunError::Device(_) | RunError::Panicked { .. } => {
                Self::new(Kind::Other, error.to_string())
            }
            other => Self::new(Kind::Data, other.to_string()),
        }
    }
}

impl From<CalibrateError> for Failure {
    fn from(error: CalibrateError) -> Self {
        match error {
            CalibrateError::Run(error) => error.into(),
            CalibrateError::Params(error) => error.into(),
            CalibrateError::Prior { .. } => Self::new(Kind::Usage, error.to_string()).about("--prior"),
            CalibrateError::DiscoveryRate { .. } => Self::new(Kind::Usage, error.to_string()).about("--fdr"),
            CalibrateError::NotCalibrated => Self::new(Kind::Usage, error.to_string())
                .hint("`evmachine calibrate MODEL ROWS --label COLUMN -o MODEL` does the latter"),
            other => Self::new(Kind::Data, other.to_string()),
        }
    }
}

impl From<FormatError> for Failure {
    fn from(error: FormatError) -> Self {
        let failure = Self::new(Kind::Model, error.to_string());
        match error {
            FormatError::NotAModel | FormatError::Container { .. } => {
                failure.hint("a model is what `evmachine train DATA -o MODEL` writes; it comes before the data: `evmachine predict MODEL DATA`")
            }
            _ => failure,
        }
    }
}

impl From<ForgetError> for Failure {
    fn from(error: ForgetError) -> Self {
        match error {
            ForgetError::Run(error) => error.into(),
            ForgetError::UnknownClass { .. } | ForgetError::LastClass { .. } => {
                Self::new(Kind::Usage, error.to_string()).hint("`evmachine inspect MODEL` lists the classes")
            }
            other => Self::new(Kind::Data, other.to_string()),
        }
    }
}

impl From<EditError> for Failure {
    fn from(error: EditError) -> Self {
        // Files and flags count rows from 1.
        let error = error.map_rows(|row| row.saturating_add(1));
        match error {
            EditError::Run(error) => error.into(),
            EditError::Fit(error) => error.into(),
            EditError::UnknownClass { .. } => {
                Self::new(Kind::Usage, error.to_string()).hint("`evmachine inspect MODEL` lists the classes")
            }
            other => Self::new(Kind::Usage, other.to_string())
                .hint("`evmachine rows MODEL` lists what can be edited"),
        }
    }
}

impl From<ReduceError> for Failure {
    fn from(error: ReduceError) -> Self {
        match error {
            ReduceError::Params(error) => error.into(),
            ReduceError::Run(error) => error.into(),
            other => Self::new(Kind::Data, other.to_string()),
        }
    }
}

impl From<PoolError> for Failure {
    fn from(error: PoolError) -> Self {
        match error {
            PoolError::Run(error) => error.into(),
            other => Self::new(Kind::Data, other.to_string()),
        }
    }
}

impl From<FolderError> for Failure {
    fn from(error: FolderError) -> Self {
        let failure = Self::new(Kind::Usage, error.to_string());
        match error {
            FolderError::Another { .. } => {
                failure.hint(Hint::flags(&["resume"], "without --resume the run begins anew"))
            }
            FolderError::Failed { .. } => Self::new(Kind::Other, error.to_string()).hint(another_folder()),
            _ => failure.hint(another_folder()),
        }
    }
}

fn another_folder() -> Hint {
    Hint::flags(&["scratch"], "--scratch names another folder")
}

impl From<evmachine::LabelError> for Failure {
    fn from(error: evmachine::LabelError) -> Self {
        Self::new(Kind::Data, error.to_string())
    }
}
