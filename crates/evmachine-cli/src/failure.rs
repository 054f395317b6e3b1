//! Errors of crates that this program alone uses, as what ends it.

use evmachine::SlipError;
use evmachine_console::failure::{Failure, Kind};
use evmachine_console::hint::Hint;
use evmachine_eval::TuneError;
use evmachine_onnx::ExportError;
use evmachine_openworld::StoreError;
#[cfg(feature = "plot")]
use evmachine_plot::PlotError;
#[cfg(feature = "serve")]
use evmachine_server::StartError;

/// An error that ends the program. [`Failure`] is of another crate, and so are the errors: `From` cannot say it.
pub(crate) trait Ends {
    /// The sentence, the hint and the exit code.
    fn failure(self) -> Failure;
}

/// A result whose error ends the program.
pub(crate) trait OrFail<T> {
    fn or_fail(self) -> Result<T, Failure>;
}

impl<T, E: Ends> OrFail<T> for Result<T, E> {
    fn or_fail(self) -> Result<T, Failure> {
        self.map_err(Ends::failure)
    }
}

impl Ends for TuneError {
    fn failure(self) -> Failure {
        match self {
            TuneError::Fit(error) => error.into(),
            TuneError::Predict(error) => error.into(),
            TuneError::Stopped => Failure::interrupted(),
            other => Failure::new(Kind::Data, other.to_string()),
        }
    }
}

impl Ends for SlipError {
    fn failure(self) -> Failure {
        Failure::new(Kind::Usage, self.to_string())
            .hint(Hint::flags(&["new-class"], "name that class, or add --new-class if it is to be one"))
    }
}

impl Ends for StoreError {
    fn failure(self) -> Failure {
        let of_kind = |kind: Kind| Failure::new(kind, self.to_string());
        match self {
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
            StoreError::Slip(error) => error.failure(),
            StoreError::HeldBack { .. } => {
                of_kind(Kind::Usage).hint("`evmachine pool enrolment POOL` lists them, each with its reason")
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
            | StoreError::ClassName(_)
            | StoreError::Enrolment(_)
            | StoreError::AnsweredAlready { .. }
            | StoreError::RearrangedSince { .. }
            | StoreError::Exists { .. } => of_kind(Kind::Usage),
            _ => of_kind(Kind::Other),
        }
    }
}

#[cfg(feature = "serve")]
impl Ends for StartError {
    fn failure(self) -> Failure {
        match self {
            StartError::Pool(error) => error.failure(),
            StartError::OpenToAll { .. } => Failure::new(Kind::Usage, self.to_string())
                .hint(Hint::flags(&["keys"], "see --keys in `evmachine serve --help`")),
            other => Failure::new(Kind::Other, other.to_string()),
        }
    }
}

impl Ends for ExportError {
    fn failure(self) -> Failure {
        let failure = Failure::new(Kind::Usage, self.to_string());
        match self {
            ExportError::UnknownLabel { .. } => failure.hint(Hint::flags(
                &["unknown-label"],
                "give unknown rows another name, such as --unknown-label \"(unknown)\"",
            )),
            ExportError::TooLarge { .. } => failure.hint("see `evmachine reduce --help`"),
            _ => failure,
        }
    }
}

#[cfg(feature = "plot")]
impl Ends for PlotError {
    fn failure(self) -> Failure {
        let kind = if matches!(self, PlotError::UnknownFormat { .. }) { Kind::Usage } else { Kind::Other };
        Failure::new(kind, self.to_string())
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use evmachine_console::failure::parameter_flags;

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
        for parameter in evmachine::Params::LIST {
            let variants = parameter.ranges.iter().map(|(variant, _)| *variant);
            // A support is given to a model that is there.
            for variant in variants.chain([""]).filter(|variant| *variant != "support") {
                let flags = parameter_flags(parameter.name, variant);
                for word in flags.split([' ', ',']).filter_map(|word| word.strip_prefix("--")) {
                    assert!(known(word), "{}: {flags}", parameter.name);
                }
            }
        }
    }

    #[test]
    fn a_hint_names_flags_of_the_command_alone() {
        let command = crate::arguments::Arguments::command();
        let hint = Hint::flags(&["features"], "pass --features NAMES")
            .then(Hint::flags(&["skip-bad-rows"], "--skip-bad-rows leaves it out"))
            .then("`evmachine train --fill median` fills it");
        let left = |name: &str| {
            let command = command.find_subcommand(name).expect("a command");
            let failure = Failure::new(Kind::Data, "").hint(hint.clone()).only_flags_of(command);
            failure.hint.expect("a part without flags").to_string()
        };
        assert_eq!(left("predict"), hint.to_string());
        assert_eq!(left("inspect"), "`evmachine train --fill median` fills it");
    }
}
