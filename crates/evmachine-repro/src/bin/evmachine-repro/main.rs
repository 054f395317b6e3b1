//! The `evmachine-repro` program: one file for each experiment.

mod all;
mod budget;
mod oletter;
mod openworld;
mod parameters;
mod svm_grid;
mod teaser;

use std::path::{Path, PathBuf};

use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use evmachine_console::console::Console;
use evmachine_console::failure::{Failure, Kind};
use evmachine_console::interrupt;
use evmachine_console::program::{self, CommonArguments};
use evmachine_repro::{ReproError, Section, Watch};

/// Run the paper's experiments, with every system that it compares to
///
/// Each writes a CSV of every run, pictures as SVG and PNG, and a summary, to a folder of its own. A run that was
/// interrupted goes on where it ended when the same command is given again.
///
/// Example: evmachine-repro oletter --systems evm
#[derive(Debug, Parser)]
#[command(
    name = "evmachine-repro",
    version,
    propagate_version = true,
    max_term_width = 100,
    after_help = "Exit codes: 0 done; 1 could not be done; 2 wrong usage; 3 bad data; 130 interrupted."
)]
struct Arguments {
    #[command(flatten)]
    common: CommonArguments,

    #[command(subcommand)]
    experiment: Experiment,
}

#[derive(Debug, Subcommand)]
enum Experiment {
    All(all::Arguments),
    Teaser(teaser::Arguments),
    Oletter(oletter::Arguments),
    Openworld(Box<openworld::Arguments>),
    Budget(budget::Arguments),
    Parameters(parameters::Arguments),
    SvmGrid(svm_grid::Arguments),
}

/// Where results go.
#[derive(Debug, Clone, Args)]
struct OutputArguments {
    /// The folder for results; one in repro/runs named after the experiment, unless given.
    #[arg(short, long, value_name = "FOLDER")]
    output: Option<PathBuf>,
}

impl OutputArguments {
    fn folder(&self, name: &str) -> PathBuf {
        self.output.clone().unwrap_or_else(|| Path::new("repro/runs").join(name))
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    program::run(&arguments.common, |console| run(&arguments.experiment, console))
}

fn run(experiment: &Experiment, console: &Console) -> Result<(), Failure> {
    match experiment {
        Experiment::All(arguments) => all::run(arguments, console),
        Experiment::Teaser(arguments) => teaser::run(arguments, console).map(drop),
        Experiment::Oletter(arguments) => oletter::run(arguments, console).map(drop),
        Experiment::Openworld(arguments) => openworld::run(arguments, console).map(drop),
        Experiment::Budget(arguments) => budget::run(arguments, console).map(drop),
        Experiment::Parameters(arguments) => parameters::run(arguments, console).map(drop),
        Experiment::SvmGrid(arguments) => svm_grid::run(arguments, console),
    }
}

/// Counts that must not be 0.
fn at_least_one(flags: &[(&str, usize)]) -> Result<(), Failure> {
    match flags.iter().find(|(_, value)| *value == 0) {
        Some((flag, _)) => Err(Failure::new(Kind::Usage, format!("{flag} 0: at least 1 is needed"))),
        None => Ok(()),
    }
}

/// Runs an experiment under a bar, writes what it has to say and says where.
fn tell(
    console: &Console,
    folder: &Path,
    experiment: impl FnOnce(&Watch<'_>) -> Result<Section, ReproError>,
) -> Result<Section, Failure> {
    let bar = console.bar(Some(1), "reading");
    let told = |what: &str, done: usize, total: usize| {
        bar.set_length(total as u64);
        bar.set_position(done as u64);
        bar.set_message(what.to_owned());
        interrupt::flow()
    };
    let section = experiment(&Watch::new(&told).on(console.device()));
    bar.finish_and_clear();
    let section = section.map_err(|error| failure(&error))?;
    section.write(folder).map_err(|error| failure(&error))?;
    console.say(format!("{}: written to {}", section.title, folder.display()));
    Ok(section)
}

/// An experiment that did not come to its end, with the exit code that belongs to it.
fn failure(error: &ReproError) -> Failure {
    let kind = match error {
        ReproError::Stopped => Kind::Interrupted,
        ReproError::Settings { .. } => Kind::Usage,
        ReproError::TooFewClasses { .. } | ReproError::Features(_) | ReproError::Labels(_) => Kind::Data,
        _ => Kind::Other,
    };
    Failure::new(kind, error.to_string())
}
