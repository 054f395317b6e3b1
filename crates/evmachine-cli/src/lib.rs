//! The `evmachine` program: parses, builds, runs.

mod arguments;
mod calibration;
mod columns;
mod commands;
mod failure;
mod files;
mod fill;
mod model;
mod parameters;
#[cfg(feature = "plot")]
mod picture;
mod promised;
#[cfg(test)]
mod recorded;
mod rejection;
mod report;
mod rows;
mod search;
mod tracks;
mod unknown;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};
use evmachine_console::program;

/// What `evmachine` does with its arguments.
pub fn main() -> ExitCode {
    let mut command = arguments::Arguments::command();
    command.build();
    let parsed = command.try_get_matches_from_mut(std::env::args_os());
    let parsed = parsed.and_then(|matches| Ok((arguments::Arguments::from_arg_matches(&matches)?, matches)));
    match parsed {
        Ok((arguments, matches)) => program::run(&arguments.common, |console| {
            commands::run(&arguments.command, console)
                .map_err(|failure| failure.only_flags_of(given(&command, &matches)))
        }),
        Err(error) => program::end_unparsed(&error),
    }
}

/// The command that was given, below the others.
fn given<'a>(command: &'a clap::Command, matches: &clap::ArgMatches) -> &'a clap::Command {
    let below =
        matches.subcommand().and_then(|(name, matches)| Some((command.find_subcommand(name)?, matches)));
    match below {
        Some((command, matches)) => given(command, matches),
        None => command,
    }
}
