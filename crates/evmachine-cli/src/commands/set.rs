//! `evmachine set`

use std::path::PathBuf;

use clap::Args;
use evmachine_console::console::Console;
use evmachine_console::failure::{Failure, Kind};
use evmachine_console::hint::Hint;

use crate::rejection::ThresholdArguments;
use crate::{files, model};

/// Change what a model decides by, without training
///
/// What no flag names stays as it is. Other commands take the same flags for a single run; here they stay with the model. `evmachine
/// evaluate` says what each threshold gives, as --support takes it.
///
/// Example: evmachine set letters.safetensors --max-false-unknown 0.1 -o letters.safetensors
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The model.
    model: PathBuf,

    /// The model file to write; may be the one read.
    #[arg(short, long, value_name = "MODEL")]
    output: PathBuf,

    #[command(flatten)]
    threshold: ThresholdArguments,

    /// How many of a class's largest psi are averaged (k); a calibrated threshold is set anew on rows that the model keeps.
    #[arg(short = 'k', long, value_name = "K")]
    n_fused: Option<usize>,

    /// Names of the features, one for each column in its order, by which columns of data files are found; none at all ("")
    /// takes them by position.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    feature_names: Option<Vec<String>>,
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<(), Failure> {
    files::refuse_nowhere(&arguments.output)?;
    let Arguments { threshold, n_fused, feature_names, .. } = arguments;
    if !threshold.is_given() && n_fused.is_none() && feature_names.is_none() {
        return Err(Failure::new(Kind::Usage, "nothing to set")
            .hint(Hint::flags(&["support", "max-false-unknown", "max-false-known", "delta", "confidence", "n-fused", "feature-names"], "give --support, --max-false-unknown, --max-false-known, --delta, --confidence, --n-fused or --feature-names")));
    }
    let (mut evm, _held) = model::load_to_change(console, &arguments.model, &arguments.output)?;
    if let Some(names) = feature_names {
        let none = names.iter().all(String::is_empty);
        evm.set_feature_names(if none { Vec::new() } else { names.clone() }).map_err(|error| Failure {
            kind: Kind::Usage,
            ..Failure::from(error).about("--feature-names")
        })?;
    }
    if let Some(n_fused) = n_fused {
        let progress = console.progress();
        evm.set_n_fused_with(&console.run(&progress), *n_fused)?;
    }
    threshold.keep(&mut evm)?;
    model::save(&evm, &arguments.output)?;
    model::say_promise(console, &evm);
    console.say(format!("model written to {}", arguments.output.display()));
    Ok(())
}
