//! The command line. Every flag is defined by its command or in a group that commands share.

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use evmachine_console::program::CommonArguments;

#[cfg(feature = "plot")]
use crate::commands::plot;
use crate::commands::{
    calibrate, demo, doubt, drift, edit, evaluate, export, forget, inspect, migrate, pool, predict, reduce,
    rows, set, suspects, train, tune, update,
};

#[cfg(feature = "serve")]
use crate::commands::serve;

/// A classifier over feature vectors that knows what it does not know.
///
/// Learns classes from feature files, says "unknown" for what none of them supports, and learns new classes
/// without retraining.
#[derive(Debug, Parser)]
#[command(
    name = "evmachine",
    version,
    propagate_version = true,
    max_term_width = 100,
    after_help = "Start with `evmachine demo`, or `evmachine train DATA.csv --label CLASS -o MODEL.safetensors`.\n\n\
                  Exit codes: 0 done; 1 could not be done; 2 wrong usage; 3 bad data; 4 bad model file; \
                  130 interrupted."
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) common: CommonArguments,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Demo(demo::Arguments),
    Train(train::Arguments),
    Predict(predict::Arguments),
    Update(update::Arguments),
    Reduce(reduce::Arguments),
    Forget(forget::Arguments),
    Edit(edit::Arguments),
    Migrate(migrate::Arguments),
    Doubt(doubt::Arguments),
    Drift(drift::Arguments),
    Suspects(suspects::Arguments),
    Rows(rows::Arguments),
    Set(set::Arguments),
    Calibrate(calibrate::Arguments),
    Tune(tune::Arguments),
    Evaluate(evaluate::Arguments),
    Inspect(inspect::Arguments),
    #[cfg(feature = "plot")]
    Plot(plot::Arguments),
    Export(export::Arguments),
    Pool(pool::Arguments),
    #[cfg(feature = "serve")]
    Serve(serve::Arguments),
    /// Print a completion script for a shell
    ///
    /// Example: evmachine completions bash > ~/.local/share/bash-completion/completions/evmachine
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Write man pages, one for each command, to a folder
    ///
    /// Example: evmachine man man1 && man -l man1/evmachine-train.1
    Man {
        /// The folder; made if it is not there.
        folder: PathBuf,
    },
}
