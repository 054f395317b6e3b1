//! `evmachine-repro parameters`

use clap::Args;
use evmachine_console::console::Console;
use evmachine_console::failure::Failure;
use evmachine_console::letter;
use evmachine_repro::Section;
use evmachine_repro::parameters::{self, Settings};

use crate::{OutputArguments, at_least_one, tell};

/// Shapes and scales of Psi-models (supplement, Fig. 5), and OLETTER with given shapes
///
/// Example: evmachine-repro parameters --folds 5
#[derive(Debug, Clone, Args)]
pub(crate) struct Arguments {
    /// Folds of OLETTER.
    #[arg(long, value_name = "N", default_value_t = 20)]
    folds: usize,

    /// Seed of the letters.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    #[command(flatten)]
    output: OutputArguments,
}

impl Arguments {
    pub(crate) fn of(folds: usize, seed: u64, output: OutputArguments) -> Self {
        Self { folds, seed, output }
    }
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<Section, Failure> {
    at_least_one(&[("--folds", arguments.folds)])?;
    let settings = Settings { folds: arguments.folds, seed: arguments.seed, ..Settings::default() };
    let folder = arguments.output.folder("parameters");
    let (features, labels) = letter::read()?;
    tell(console, &folder, |watch| parameters::run(&folder, &features, &labels, &settings, watch))
}
