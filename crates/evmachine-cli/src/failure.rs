//! What ends the program: a sentence, a hint what to type next, and an exit code.

use std::process::ExitCode;

use evmachine::scratch::FolderError;
use evmachine::{
    CalibrateError, EditError, FeatureError, FitError, ForgetError, FormatError, ParamsError, PoolError,
    ReduceError, RunError,
};
use evmachine_data::{ColumnRef, DataError, Format, RowProblem};
use evmachine_eval::TuneError;
use evmachine_onnx::ExportError;
use evmachine_openworld::StoreError;
use evmachine_plot::PlotError;
use evmachine_server::StartError;

use crate::data::typed;
use crate::text::escaped;

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
    pub hint: Option<String>,
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
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Without the parts of the hint that name flags which a command does not have; those in backticks are of another.
    pub(crate) fn only_flags_of(mut self, command: &clap::Command) -> Self {
        let known = |flag: &str| {
            command.get_arguments().any(|argument| {
                let aliases = argument.get_visible_aliases().unwrap_or_default();
                argument.get_long() == Some(flag) || aliases.contains(&flag)
            })
        };
        let fits = |part: &&str| {
            let outside = part.split('`').step_by(2);
            let words = outside.flat_map(|text| text.split([' ', ',', '.', ':', ';']));
            words.filter_map(|word| word.strip_prefix("--")).all(known)
        };
        self.hint = self.hint.and_then(|hint| {
            let parts: Vec<&str> = hint.split("; ").filter(fits).collect();
            (!parts.is_empty()).then(|| parts.join("; "))
        });
        self
    }

    pub(crate) fn interrupted() -> Self {
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

impl From<ParamsError> for Failure {
    fn from(error: ParamsError) -> Self {
        let ParamsError { name, value, rule } = error;
        let (flags, hint) = parameter_flags(name);
        Self::new(Kind::Usage, format!("{flags} {value}: {rule}")).hint(hint)
    }
}

/// The flags that set a parameter, and where more is said of them.
fn parameter_flags(name: &str) -> (String, String) {
    let flags = match name {
        "max_extreme_vectors" => "--max-per-class, --max-total or --vector-ratio".to_owned(),
        "rejection_threshold" => "--delta, --max-false-unknown or --max-false-known".to_owned(),
        "background" | "strangers" => {
            return (name.to_owned(), "it is set in the file of `evmachine train --params` alone".to_owned());
        }
        name => format!("--{}", name.replace('_', "-")),
    };
    (flags, "`evmachine train --help` says more".to_owned())
}

impl From<FeatureError> for Failure {
    fn from(error: FeatureError) -> Self {
        let failure = Self::new(Kind::Data, error.to_string());
        match error {
            FeatureError::Dimensions { .. } => failure.hint(
                "name the columns that are not features with --label or --drop; name the features with --features",
            ),
            FeatureError::ZeroVector { .. } => failure.hint("`evmachine train --metric euclidean` takes such rows; or remove it"),
            _ => failure,
        }
    }
}

impl From<FitError> for Failure {
    fn from(error: FitError) -> Self {
        match error {
            FitError::Params(error) => error.into(),
            FitError::Run(error) => error.into(),
            FitError::OneClass { .. } => {
                Self::new(Kind::Data, error.to_string()).hint("is --label the right column?")
            }
            FitError::RecallNotReached { .. } | FitError::TailsTooLong { .. } => {
                Self::new(Kind::Other, error.to_string())
                    .hint("--search exact, --recall and --tail-size are the flags")
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
            RunError::Disk { .. } => Self::new(Kind::Other, error.to_string()),
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

impl From<TuneError> for Failure {
    fn from(error: TuneError) -> Self {
        match error {
            TuneError::Fit(error) => error.into(),
            TuneError::Predict(error) => error.into(),
            TuneError::Stopped => Self::interrupted(),
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

impl From<DataError> for Failure {
    fn from(error: DataError) -> Self {
        let kind = match &error {
            DataError::Write { .. } => Kind::Other,
            DataError::UnknownOutput { .. } => Kind::Usage,
            _ => Kind::Data,
        };
        // Values of the file are quoted in it, and may hold line ends.
        let failure = Self::new(kind, escaped(&error.to_string()));
        match flags(&error) {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

/// The flags that help with a file: columns and rows are what its reader knows, flags are known here alone.
fn flags(error: &DataError) -> Option<String> {
    let apart = |column: &str| format!("pass --label {column}, --id {column} or --drop {column}");
    let hint = match error {
        DataError::WrongMagic { .. } | DataError::UnknownFormat { .. } => {
            "name the format with --format, such as --format csv".to_owned()
        }
        DataError::NoMatrix { .. } => "pass --features NAME with the name of the array".to_owned(),
        DataError::UnsuitableOption { format: Format::Npy, .. } => {
            "pass --labels-file FILE, or --label NUMBER".to_owned()
        }
        DataError::NoFeatures { .. } => "name fewer columns in --label, --id and --drop".to_owned(),
        DataError::TextColumn { value, .. } if has_decimal_comma(value) => {
            format!("`{value}` has a decimal comma; write numbers with a point, such as 6.25")
        }
        DataError::TextColumn { reference, may_be_header, .. } => {
            let header = if *may_be_header { "; if the first line is a header, --header yes" } else { "" };
            apart(&typed(reference)) + header
        }
        DataError::ColumnType { column, .. } => apart(&typed(&ColumnRef::Name(column.clone()))),
        DataError::MixedFeatures { list, other, .. } => {
            let [list, other] = [list, other].map(|name| typed(&ColumnRef::Name(name.clone())));
            format!("pass --features {list}, or --drop {list} to keep {other}")
        }
        DataError::BadRow { problem: RowProblem::NotANumber { column, .. }, .. } => {
            let column = typed(&ColumnRef::Name(column.clone()));
            format!("{}; --skip-bad-rows leaves such rows out", apart(&column))
        }
        DataError::BadRow { problem: RowProblem::ZeroVector, .. } => {
            "--skip-bad-rows leaves such rows out; a model of `evmachine train --metric euclidean` takes them"
                .to_owned()
        }
        DataError::MissingFeatures { .. } => {
            "pass --features COLUMNS to take these in the place of the model's, in its order".to_owned()
        }
        DataError::BadRow { problem, .. } if is_missing(problem) => {
            "--skip-bad-rows leaves such rows out; `evmachine train --fill median` has a model fill them"
                .to_owned()
        }
        DataError::BadRow { .. } => "--skip-bad-rows leaves such rows out".to_owned(),
        DataError::UnknownOutput { .. } => "name the format with --output-format, such as csv".to_owned(),
        _ => return None,
    };
    Some(hint)
}

/// Whether a value is not there, or is NaN, which stands for one.
fn is_missing(problem: &RowProblem) -> bool {
    match problem {
        RowProblem::Missing { .. } => true,
        RowProblem::NotFinite { value, .. } => value.is_nan(),
        _ => false,
    }
}

/// Digits, a comma and digits.
fn has_decimal_comma(value: &str) -> bool {
    let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let parts = value.trim().trim_start_matches(['-', '+']).split_once(',');
    parts.is_some_and(|(whole, rest)| is_number(whole) && is_number(rest))
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

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let of_kind = |kind: Kind| Self::new(kind, error.to_string());
        match error {
            StoreError::Features(error) => error.into(),
            StoreError::Fit(error) => error.into(),
            StoreError::Edit(error) => error.into(),
            StoreError::Predict(error) => error.into(),
            StoreError::Pool(error) => error.into(),
            StoreError::Model { .. } | StoreError::Changed { .. } => of_kind(Kind::Model),
            StoreError::DuplicateId { .. }
            | StoreError::RepeatedId { .. }
            | StoreError::LargePicture { .. }
            | StoreError::DetailCount { .. }
            | StoreError::DecisionCount { .. } => of_kind(Kind::Data),
            StoreError::NotAPool { .. } => {
                of_kind(Kind::Usage).hint("`evmachine pool init POOL MODEL` makes one")
            }
            StoreError::NothingToLearn => of_kind(Kind::Usage)
                .hint("`evmachine pool next POOL` shows what waits, `evmachine pool label` names it"),
            StoreError::NoSample { .. }
            | StoreError::NoSamples
            | StoreError::NoGroup { .. }
            | StoreError::NotInGroup { .. }
            | StoreError::NoParting { .. }
            | StoreError::NoEvent { .. }
            | StoreError::AlreadyUndone { .. }
            | StoreError::AlreadyLearned { .. }
            | StoreError::NotTheLast { .. }
            | StoreError::NothingToUndo
            | StoreError::NoVersion { .. }
            | StoreError::AmbiguousVersion { .. }
            | StoreError::AlreadyLive { .. }
            | StoreError::NoPrevious
            | StoreError::EmptyName
            | StoreError::Exists { .. } => of_kind(Kind::Usage),
            _ => of_kind(Kind::Other),
        }
    }
}

impl From<StartError> for Failure {
    fn from(error: StartError) -> Self {
        match error {
            StartError::Pool(error) => error.into(),
            StartError::OpenToAll { .. } => {
                Self::new(Kind::Usage, error.to_string()).hint("see --keys in `evmachine serve --help`")
            }
            other => Self::new(Kind::Other, other.to_string()),
        }
    }
}

impl From<ExportError> for Failure {
    fn from(error: ExportError) -> Self {
        let failure = Self::new(Kind::Usage, error.to_string());
        match error {
            ExportError::UnknownLabel { .. } => {
                failure.hint("give unknown rows another name, such as --unknown-label \"(unknown)\"")
            }
            ExportError::TooLarge { .. } => failure.hint("see `evmachine reduce --help`"),
            _ => failure,
        }
    }
}

impl From<PlotError> for Failure {
    fn from(error: PlotError) -> Self {
        let kind = if matches!(error, PlotError::UnknownFormat { .. }) { Kind::Usage } else { Kind::Other };
        Self::new(kind, error.to_string())
    }
}

impl From<FolderError> for Failure {
    fn from(error: FolderError) -> Self {
        let failure = Self::new(Kind::Usage, error.to_string());
        match error {
            FolderError::Another { .. } => failure.hint("without --resume the run begins anew"),
            FolderError::Failed { .. } => {
                Self::new(Kind::Other, error.to_string()).hint("--scratch names another folder")
            }
            _ => failure.hint("--scratch names another folder"),
        }
    }
}

impl From<evmachine::LabelError> for Failure {
    fn from(error: evmachine::LabelError) -> Self {
        Self::new(Kind::Data, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn hints_name_flags_that_there_are() {
        let command = crate::arguments::Arguments::command();
        let train = command.find_subcommand("train").expect("a command");
        let known = |flag: &str| {
            train.get_arguments().any(|argument| {
                let aliases = argument.get_visible_aliases().unwrap_or_default();
                argument.get_long() == Some(flag) || aliases.contains(&flag)
            })
        };
        let params = serde_json::to_value(evmachine::Params::robust()).expect("parameters can be written");
        for name in params.as_object().expect("an object").keys() {
            let (flags, _) = parameter_flags(name);
            for word in flags.split([' ', ',']).filter_map(|word| word.strip_prefix("--")) {
                assert!(known(word), "{name}: {flags}");
            }
        }
    }

    #[test]
    fn a_hint_names_flags_of_the_command_alone() {
        let command = crate::arguments::Arguments::command();
        let hint =
            "pass --features NAMES; --skip-bad-rows leaves it out; `evmachine train --fill median` fills it";
        let left = |name: &str| {
            let command = command.find_subcommand(name).expect("a command");
            Failure::new(Kind::Data, "").hint(hint).only_flags_of(command).hint.unwrap_or_default()
        };
        assert_eq!(left("predict"), hint);
        assert_eq!(left("inspect"), "`evmachine train --fill median` fills it");
    }
}
