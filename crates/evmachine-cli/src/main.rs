//! The `evmachine` program: parses, builds, runs.

mod arguments;
mod calibration;
mod commands;
mod console;
mod data;
mod failure;
mod files;
mod interrupt;
mod letter;
mod model;
mod parameters;
mod principal;
mod rejection;
mod report;

use std::process::ExitCode;

use clap::Parser;

use crate::arguments::Arguments;
use crate::console::Console;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let console = Console::new(arguments.quiet, arguments.verbose, arguments.memory);
    match commands::run(&arguments, &console) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            console::say_failure(&failure);
            failure.exit_code()
        }
    }
}
