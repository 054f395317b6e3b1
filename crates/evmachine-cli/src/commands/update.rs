//! `evmachine update`

use std::collections::HashSet;
use std::path::PathBuf;

use clap::Args;
use evmachine::Evm;
use evmachine_console::console::Console;
use evmachine_console::data::DataArguments;
use evmachine_console::failure::{Failure, Kind};
use evmachine_console::hint::Hint;
use evmachine_console::large::{ScratchArguments, Store};
use evmachine_console::origin::Origin;
use evmachine_console::text::{counted, escaped};

use crate::commands::train::say_report;
use crate::files;
use crate::model;
use crate::search::SearchArguments;
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

    /// Learn rows again whose --id the model holds already; unless given, that is an error.
    #[arg(long)]
    again: bool,

    #[command(flatten)]
    search: SearchArguments,

    #[command(flatten)]
    unknown: UnknownLabel,

    #[command(flatten)]
    columns: DataArguments,

    #[command(flatten)]
    scratch: ScratchArguments,
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<(), Failure> {
    files::refuse_over(&arguments.output, arguments.data.iter().chain(&arguments.ignore))?;
    files::refuse_nowhere(&arguments.output)?;
    let (mut evm, _held) = model::load_to_change(console, &arguments.model, &arguments.output)?;
    arguments.search.apply(&mut evm)?;
    if !arguments.ignore.is_empty() {
        arguments.take_strangers(&mut evm, console)?;
    }
    let mut store = None;
    if !arguments.data.is_empty() {
        store = Some(arguments.learn(&mut evm, console)?);
    }
    model::save(&evm, &arguments.output)?;
    store.map_or(Ok(()), Store::clear)?;
    model::say_promise(console, &evm);
    console.say(format!("model written to {}", arguments.output.display()));
    Ok(())
}

impl Arguments {
    /// Rows that are learned twice count twice in every margin.
    fn refuse_known_rows(&self, evm: &Evm, origin: &Origin) -> Result<(), Failure> {
        let Some(ids) = origin.ids.as_ref().filter(|_| !self.again) else { return Ok(()) };
        let held: HashSet<&str> = evm.row_ids().into_iter().collect();
        let known: Vec<usize> = (0..ids.len()).filter(|&row| held.contains(&ids[row][..])).collect();
        match known[..] {
            [] => Ok(()),
            [first, ..] => Err(Failure::new(
                Kind::Data,
                format!(
                    "{}: the model holds {} of {} by their ids, such as {:?}, {}",
                    origin.name(),
                    known.len(),
                    counted(ids.len() as u64, "row"),
                    ids[first],
                    origin.place(first)
                ),
            )
            .hint(
                Hint::from("leave them out")
                    .then(Hint::flags(&["again"], "--again learns them a second time")),
            )),
        }
    }

    fn take_strangers(&self, evm: &mut Evm, console: &Console) -> Result<(), Failure> {
        let strangers = self.columns.read_unlabelled(console, &self.ignore, Some(evm))?;
        let (first, progress) = (evm.points_seen(), console.progress());
        let report = evm
            .ignore_with(&console.run(&progress), &strangers.features)
            .map_err(|error| strangers.failure(error))?;
        drop(progress);
        strangers.origin.record(evm, first)?;
        console.say(format!(
            "ignored: {}, {} of them new; {} refitted",
            counted(evm.ignored_count() as u64, "sample"),
            report.rows,
            counted(report.refitted as u64, "extreme vector")
        ));
        Ok(())
    }

    fn learn(&self, evm: &mut Evm, console: &Console) -> Result<Store, Failure> {
        let store = self.scratch.store(console, &self.output);
        let mut data = self.columns.read_large(console, &self.data, Some(evm), Some(&store))?;
        self.unknown.check(&data.origin, &data.labels)?;
        self.refuse_known_rows(evm, &data.origin)?;
        let (before, first) = (evm.tail_memory(), evm.points_seen());
        let progress = console.progress();
        let rows = (&data.features, &data.labels);
        let run = store.begin(console, console.run(&progress), rows, evm.params(), &[], Some(evm))?;
        let report = self
            .columns
            .attempt(console, &mut data, |data| evm.update_with(&run, &data.features, &data.labels))?;
        drop(progress);
        data.origin.record(evm, first)?;
        if !report.new_classes.is_empty() {
            let names: Vec<_> = report.new_classes.iter().map(|name| escaped(name)).collect();
            console.say(format!("new classes: {}", names.join(", ")));
        }
        console.say(format!(
            "{} added, {} dropped, {} refitted",
            counted(report.added as u64, "extreme vector"),
            report.dropped,
            report.refitted
        ));
        say_report(console, evm, before, &report);
        Ok(store)
    }
}
