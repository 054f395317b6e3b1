//! `evmachine-repro svm-grid`

use clap::Args;
use evmachine_console::console::Console;
use evmachine_console::failure::Failure;
use evmachine_console::letter;
use evmachine_repro::svm_grid::{self, Settings};

use crate::{OutputArguments, at_least_one, tell};

/// Choose C and gamma of the support vector machines over the paper's grid (Sec. V-A)
///
/// `evmachine-repro oletter` does this first in each of its draws, and takes from repro/runs/oletter/svm-grid what is there already.
/// All training rows of a fold, some 8,700, take hours.
///
/// Example: evmachine-repro svm-grid --rows 4000 -o svm-grid
#[derive(Debug, Clone, Args)]
pub(crate) struct Arguments {
    /// Training rows to use.
    #[arg(long, value_name = "N", default_value_t = 2000)]
    rows: usize,

    /// Draws of letters; the first fold of each is searched.
    #[arg(long, value_name = "N", default_value_t = 1)]
    draws: usize,

    /// Seed of the letters.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    #[command(flatten)]
    output: OutputArguments,
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<(), Failure> {
    at_least_one(&[("--rows", arguments.rows), ("--draws", arguments.draws)])?;
    let settings = Settings { rows: arguments.rows, draws: arguments.draws, seed: arguments.seed };
    let folder = arguments.output.folder(&format!("oletter/{}", svm_grid::FOLDER));
    let (features, labels) = letter::read()?;
    tell(console, &folder, |watch| svm_grid::run(&folder, &features, &labels, &settings, watch)).map(drop)
}
