//! The `evmachine` program: parses, builds, runs.
//!
//! The modules that are public are what another program over the same data files needs to look and behave alike: flags,
//! messages, exit codes, Ctrl-C. They are no stable interface.

mod arguments;
mod calibration;
mod commands;
pub mod console;
pub mod data;
pub mod failure;
pub mod files;
mod inputs;
pub mod interrupt;
pub mod letter;
mod megabytes;
mod model;
pub mod origin;
mod parameters;
mod picture;
pub mod program;
mod rejection;
mod report;
mod rows;
mod text;
mod unknown;

use std::process::ExitCode;

use clap::Parser;

/// What `evmachine` does with its arguments.
pub fn main() -> ExitCode {
    match arguments::Arguments::try_parse() {
        Ok(arguments) => {
            program::run(&arguments.common, |console| commands::run(&arguments.command, console))
        }
        Err(error) => program::end_unparsed(&error),
    }
}
