//! `evmachine update`

use std::path::PathBuf;

use clap::Args;

use crate::commands::train::say_report;
use crate::console::Console;
use crate::data::DataArguments;
use crate::failure::Failure;
use crate::files;
use crate::model;
use crate::text::escaped;
use crate::unknown::UnknownLabel;

/// Learn new rows, of known classes or new ones, without retraining
///
/// Example: evmachine update letters.safetensors labelled.csv --label 0 -o letters.safetensors
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The model to start from.
    model: PathBuf,

    /// The new, labelled data.
    data: PathBuf,

    /// The model file to write; may be the one read.
    #[arg(short, long, value_name = "MODEL")]
    output: PathBuf,

    #[command(flatten)]
    unknown: UnknownLabel,

    #[command(flatten)]
    columns: DataArguments,
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<(), Failure> {
    files::refuse_over(&arguments.output, [arguments.data.as_path()])?;
    files::refuse_nowhere(&arguments.output)?;
    let (mut evm, _held) = model::load_to_change(console, &arguments.model, &arguments.output)?;
    let data = arguments.columns.read_labelled(console, &arguments.data, Some(&evm))?;
    arguments.unknown.check(&arguments.data, &data.labels)?;
    let before = evm.tail_memory();
    let progress = console.progress();
    let report = evm
        .update_with(&console.run(&progress), &data.features, &data.labels)
        .map_err(|error| data.failure(error))?;
    drop(progress);
    model::save(&evm, &arguments.output)?;
    if !report.new_classes.is_empty() {
        let names: Vec<_> = report.new_classes.iter().map(|name| escaped(name)).collect();
        console.say(format!("new classes: {}", names.join(", ")));
    }
    console.say(format!(
        "{} extreme vectors added, {} dropped, {} refitted",
        report.added, report.dropped, report.refitted
    ));
    say_report(console, &evm, before, &report);
    console.say(format!("model written to {}", arguments.output.display()));
    Ok(())
}
