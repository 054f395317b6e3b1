//! `evmachine update`

use std::path::PathBuf;

use clap::Args;
use evmachine::Evm;

use crate::commands::train::say_report;
use crate::console::Console;
use crate::data::DataArguments;
use crate::failure::Failure;
use crate::files;
use crate::model;
use crate::text::escaped;
use crate::unknown::UnknownLabel;

/// Learn new rows, of known classes or new ones, or samples that stay strangers, without retraining
///
/// Example: evmachine update letters.safetensors labelled.csv --label 0 -o letters.safetensors
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The model to start from.
    model: PathBuf,

    /// The new, labelled data; several files, or a pattern such as 'part-*.csv', must have the same columns.
    #[arg(required_unless_present = "ignore", value_name = "DATA")]
    data: Vec<PathBuf>,

    /// Samples that are no class and stay strangers: they shape the margins of all classes, and what is nearest to one of them is
    /// unknown. They may lack the label column.
    #[arg(long, value_name = "FILE")]
    ignore: Vec<PathBuf>,

    /// The model file to write; may be the one read.
    #[arg(short, long, value_name = "MODEL")]
    output: PathBuf,

    #[command(flatten)]
    unknown: UnknownLabel,

    #[command(flatten)]
    columns: DataArguments,
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<(), Failure> {
    files::refuse_over(&arguments.output, arguments.data.iter().chain(&arguments.ignore))?;
    files::refuse_nowhere(&arguments.output)?;
    let (mut evm, _held) = model::load_to_change(console, &arguments.model, &arguments.output)?;
    if !arguments.ignore.is_empty() {
        arguments.take_strangers(&mut evm, console)?;
    }
    if !arguments.data.is_empty() {
        arguments.learn(&mut evm, console)?;
    }
    model::save(&evm, &arguments.output)?;
    console.say(format!("model written to {}", arguments.output.display()));
    Ok(())
}

impl Arguments {
    fn take_strangers(&self, evm: &mut Evm, console: &Console) -> Result<(), Failure> {
        let strangers = self.columns.read_unlabelled(console, &self.ignore, Some(evm))?;
        let (first, progress) = (evm.points_seen(), console.progress());
        let report = evm
            .ignore_with(&console.run(&progress), &strangers.features)
            .map_err(|error| strangers.failure(error))?;
        drop(progress);
        strangers.origin.record(evm, first)?;
        console.say(format!(
            "{} samples are ignored, {} of them new; {} extreme vectors refitted",
            evm.ignored_count(),
            report.rows,
            report.refitted
        ));
        Ok(())
    }

    fn learn(&self, evm: &mut Evm, console: &Console) -> Result<(), Failure> {
        let data = self.columns.read_labelled(console, &self.data, Some(evm))?;
        self.unknown.check(&data.origin, &data.labels)?;
        let (before, first) = (evm.tail_memory(), evm.points_seen());
        let progress = console.progress();
        let report = evm
            .update_with(&console.run(&progress), &data.features, &data.labels)
            .map_err(|error| data.failure(error))?;
        drop(progress);
        data.origin.record(evm, first)?;
        if !report.new_classes.is_empty() {
            let names: Vec<_> = report.new_classes.iter().map(|name| escaped(name)).collect();
            console.say(format!("new classes: {}", names.join(", ")));
        }
        console.say(format!(
            "{} extreme vectors added, {} dropped, {} refitted",
            report.added, report.dropped, report.refitted
        ));
        say_report(console, evm, before, &report);
        Ok(())
    }
}
