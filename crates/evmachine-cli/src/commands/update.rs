//! `evmachine update`

use std::path::PathBuf;

use clap::Args;

use crate::commands::train::say_report;
use crate::console::Console;
use crate::data::DataArguments;
use crate::failure::Failure;
use crate::files;
use crate::model;

/// Learn new rows, of known classes or new ones, without retraining
///
/// Example: evmachine update letters.safetensors labelled.csv --label 0 -o letters.safetensors
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The model to start from.
    model: PathBuf,

    /// The new, labelled data; several files, or a pattern such as 'part-*.csv', must have the same columns.
    #[arg(required = true, value_name = "DATA")]
    data: Vec<PathBuf>,

    /// The model file to write; may be the one read.
    #[arg(short, long, value_name = "MODEL")]
    output: PathBuf,

    #[command(flatten)]
    columns: DataArguments,
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<(), Failure> {
    files::refuse_over(&arguments.output, &arguments.data)?;
    let (mut evm, _held) = model::load_to_change(console, &arguments.model, &arguments.output)?;
    let data = arguments.columns.read_labelled(console, &arguments.data, Some(&evm))?;
    let progress = console.progress();
    let report = evm
        .update_with(&console.run(&progress), &data.features, &data.labels)
        .map_err(|error| data.failure(error))?;
    drop(progress);
    model::save(&evm, &arguments.output)?;
    if !report.new_classes.is_empty() {
        console.say(format!("new classes: {}", report.new_classes.join(", ")));
    }
    console.say(format!(
        "{} extreme vectors added, {} dropped, {} refitted",
        report.added, report.dropped, report.refitted
    ));
    say_report(console, evm.params(), &report);
    console.say(format!("model written to {}", arguments.output.display()));
    Ok(())
}
