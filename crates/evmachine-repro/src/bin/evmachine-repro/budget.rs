//! `evmachine-repro budget`

use clap::Args;
use evmachine_console::console::Console;
use evmachine_console::failure::Failure;
use evmachine_console::letter;
use evmachine_repro::Section;
use evmachine_repro::budget::{self, Settings};

use crate::{OutputArguments, tell};

/// How few points will do: accuracy against vector ratio on closed-set Letter (Sec. VI)
///
/// Example: evmachine-repro budget --tail-size 75 -k 1
#[derive(Debug, Clone, Args)]
pub(crate) struct Arguments {
    /// The paper's tau.
    #[arg(long, value_name = "N", default_value_t = Settings::default().tail_size)]
    tail_size: usize,

    /// The paper's k.
    #[arg(short = 'k', long, visible_alias = "k", value_name = "N", default_value_t = Settings::default().n_fused)]
    n_fused: usize,

    #[command(flatten)]
    output: OutputArguments,
}

impl Arguments {
    /// The paper's parameters.
    pub(crate) fn of(output: OutputArguments) -> Self {
        let Settings { tail_size, n_fused, .. } = Settings::default();
        Self { tail_size, n_fused, output }
    }
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<Section, Failure> {
    let settings =
        Settings { n_fused: arguments.n_fused, tail_size: arguments.tail_size, ..Settings::default() };
    let folder = arguments.output.folder("budget");
    let (features, labels) = letter::read()?;
    tell(console, &folder, |watch| budget::run(&folder, &features, &labels, &settings, watch))
}
