//! `evmachine-repro all`

use std::path::PathBuf;

use clap::Args;
use evmachine_console::console::Console;
use evmachine_console::failure::Failure;
use evmachine_repro::{ReproError, page};

use crate::{OutputArguments, budget, failure, oletter, openworld, parameters, teaser};

/// Run everything, into one report with the paper's claims beside what was measured
///
/// Results of each experiment go to a folder of its own inside the output folder. The open-world protocol runs on drawn
/// features; `evmachine-repro openworld` runs it on yours.
///
/// Example: evmachine-repro all -o repro/runs
#[derive(Debug, Clone, Args)]
pub(crate) struct Arguments {
    /// Draws of letters for OLETTER.
    #[arg(long, value_name = "N", default_value_t = 1)]
    draws: usize,

    /// Folds of OLETTER.
    #[arg(long, value_name = "N", default_value_t = 20)]
    folds: usize,

    /// Seed of everything.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// The folder for results and for report.html.
    #[arg(short, long, value_name = "FOLDER", default_value = "repro/runs")]
    output: PathBuf,
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<(), Failure> {
    let Arguments { draws, folds, seed, .. } = *arguments;
    let output = |name: &str| OutputArguments { output: Some(arguments.output.join(name)) };
    let sections = [
        teaser::run(&teaser::Arguments { output: output("teaser") }, console)?,
        oletter::run(&oletter::Arguments::of(draws, folds, seed, output("oletter")), console)?,
        openworld::run(&openworld::Arguments::synthetic(seed, output("openworld-synthetic")), console)?,
        budget::run(&budget::Arguments::of(output("budget")), console)?,
        parameters::run(&parameters::Arguments::of(folds, seed, output("parameters")), console)?,
    ];
    let path = arguments.output.join("report.html");
    evmachine_files::write_with_folder(&path, page(&sections).as_bytes())
        .map_err(|source| failure(&ReproError::File { path: path.clone(), source }))?;
    console.say(format!("the report is {}", path.display()));
    Ok(())
}
