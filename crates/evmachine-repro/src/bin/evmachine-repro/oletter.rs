//! `evmachine-repro oletter`

use clap::{Args, ValueEnum};
use evmachine_console::console::Console;
use evmachine_console::failure::Failure;
use evmachine_console::letter;
use evmachine_repro::Section;
use evmachine_repro::oletter::{self, Selection, Settings};

use crate::{OutputArguments, at_least_one, tell};

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Systems {
    /// The EVM and all it is compared to.
    All,
    /// The EVM in its forms.
    Evm,
}

/// Letters that were never seen: F1 against openness (Sec. V-A, Fig. 2)
///
/// Example: evmachine-repro oletter --draws 2
#[derive(Debug, Clone, Args)]
pub(crate) struct Arguments {
    /// Draws of letters, each with folds of its own.
    #[arg(long, value_name = "N", default_value_t = 1)]
    draws: usize,

    /// Folds of a draw.
    #[arg(long, value_name = "N", default_value_t = 20)]
    folds: usize,

    /// Which systems take part.
    #[arg(long, value_enum, default_value = "all")]
    systems: Systems,

    /// Seed of the letters, the folds and the search.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Use one row in so many, for a quick look.
    #[arg(long, value_name = "N", default_value_t = 1)]
    every: usize,

    #[command(flatten)]
    output: OutputArguments,
}

impl Arguments {
    /// All systems on all rows.
    pub(crate) fn of(draws: usize, folds: usize, seed: u64, output: OutputArguments) -> Self {
        Self { draws, folds, systems: Systems::All, seed, every: 1, output }
    }
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<Section, Failure> {
    at_least_one(&[
        ("--draws", arguments.draws),
        ("--folds", arguments.folds),
        ("--every", arguments.every),
    ])?;
    let (name, systems) = match arguments.systems {
        Systems::All => ("oletter", Selection::All),
        Systems::Evm => ("oletter-evm", Selection::Evm),
    };
    let Arguments { draws, folds, seed, every, .. } = *arguments;
    let settings = Settings { draws, folds, seed, systems, every };
    let folder = arguments.output.folder(name);
    let (features, labels) = letter::read()?;
    tell(console, &folder, |watch| oletter::run(&folder, &features, &labels, &settings, watch))
}
