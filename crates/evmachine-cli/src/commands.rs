//! One file for each command.

pub(crate) mod calibrate;
pub(crate) mod demo;
pub(crate) mod evaluate;
pub(crate) mod export;
pub(crate) mod forget;
pub(crate) mod inspect;
pub(crate) mod plot;
pub(crate) mod predict;
pub(crate) mod reduce;
pub(crate) mod repro;
pub(crate) mod train;
pub(crate) mod tune;
pub(crate) mod update;

use std::path::Path;

use clap::CommandFactory;

use crate::arguments::{Arguments, Command};
use crate::console::Console;
use crate::failure::{Failure, Kind};
use crate::interrupt;

/// Runs the command on as many threads as asked for.
pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<(), Failure> {
    interrupt::listen();
    if let Some(threads) = arguments.threads {
        if threads == 0 {
            return Err(Failure::new(Kind::Usage, "--threads 0: at least one thread is needed"));
        }
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build_global()
            .map_err(|error| Failure::new(Kind::Other, error.to_string()))?;
    }
    let done = dispatch(arguments, console);
    if let Some(megabytes) = peak_memory() {
        console.detail(format!("peak memory {megabytes:.0} MB"));
    }
    done
}

/// The largest resident size of this process so far; where the system does not say, nothing.
fn peak_memory() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches(" kB").parse::<f64>().ok().map(|kilobytes| kilobytes / 1024.0)
}

fn dispatch(arguments: &Arguments, console: &Console) -> Result<(), Failure> {
    match &arguments.command {
        Command::Demo(arguments) => demo::run(arguments, console),
        Command::Train(arguments) => train::run(arguments, console),
        Command::Predict(arguments) => predict::run(arguments, console),
        Command::Update(arguments) => update::run(arguments, console),
        Command::Reduce(arguments) => reduce::run(arguments, console),
        Command::Forget(arguments) => forget::run(arguments, console),
        Command::Calibrate(arguments) => calibrate::run(arguments, console),
        Command::Tune(arguments) => tune::run(arguments, console),
        Command::Evaluate(arguments) => evaluate::run(arguments, console),
        Command::Inspect(arguments) => inspect::run(arguments, console),
        Command::Plot(arguments) => plot::run(arguments, console),
        Command::Export(arguments) => export::run(arguments, console),
        Command::Repro(arguments) => repro::run(arguments, console),
        Command::Completions { shell } => {
            clap_complete::generate(*shell, &mut Arguments::command(), "evmachine", &mut std::io::stdout());
            Ok(())
        }
        Command::Man { folder } => man(folder, console),
    }
}

fn man(folder: &Path, console: &Console) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::new(Kind::Other, error.to_string()).about(folder.display());
    std::fs::create_dir_all(folder).map_err(failed)?;
    clap_mangen::generate_to(Arguments::command(), folder).map_err(failed)?;
    console.say(format!("man pages are in {}", folder.display()));
    Ok(())
}
