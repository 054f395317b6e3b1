//! One file for each command.

pub(crate) mod calibrate;
pub(crate) mod demo;
pub(crate) mod doubt;
pub(crate) mod drift;
pub(crate) mod edit;
pub(crate) mod evaluate;
pub(crate) mod export;
pub(crate) mod forget;
pub(crate) mod inspect;
pub(crate) mod migrate;
#[cfg(feature = "plot")]
pub(crate) mod plot;
pub(crate) mod pool;
pub(crate) mod predict;
pub(crate) mod reduce;
pub(crate) mod rows;
#[cfg(feature = "serve")]
pub(crate) mod serve;
pub(crate) mod set;
pub(crate) mod suspects;
pub(crate) mod train;
pub(crate) mod tune;
pub(crate) mod update;

use std::path::Path;

use clap::CommandFactory;
use evmachine_console::console::{Console, print_bytes};
use evmachine_console::failure::{Failure, Kind};

use crate::arguments::{Arguments, Command};

pub(crate) fn run(command: &Command, console: &Console) -> Result<(), Failure> {
    match command {
        Command::Demo(arguments) => demo::run(arguments, console),
        Command::Train(arguments) => train::run(arguments, console),
        Command::Predict(arguments) => predict::run(arguments, console),
        Command::Update(arguments) => update::run(arguments, console),
        Command::Reduce(arguments) => reduce::run(arguments, console),
        Command::Forget(arguments) => forget::run(arguments, console),
        Command::Edit(arguments) => edit::run(arguments, console),
        Command::Migrate(arguments) => migrate::run(arguments, console),
        Command::Doubt(arguments) => doubt::run(arguments, console),
        Command::Drift(arguments) => drift::run(arguments, console),
        Command::Rows(arguments) => rows::run(arguments),
        Command::Set(arguments) => set::run(arguments, console),
        Command::Suspects(arguments) => suspects::run(arguments, console),
        Command::Calibrate(arguments) => calibrate::run(arguments, console),
        Command::Tune(arguments) => tune::run(arguments, console),
        Command::Evaluate(arguments) => evaluate::run(arguments, console),
        Command::Inspect(arguments) => inspect::run(arguments, console),
        #[cfg(feature = "plot")]
        Command::Plot(arguments) => plot::run(arguments, console),
        Command::Export(arguments) => export::run(arguments, console),
        Command::Pool(arguments) => pool::run(arguments, console),
        #[cfg(feature = "serve")]
        Command::Serve(arguments) => serve::run(arguments, console),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut Arguments::command(), "evmachine", &mut script);
            print_bytes(&script);
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
