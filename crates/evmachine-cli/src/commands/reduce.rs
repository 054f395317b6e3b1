//! `evmachine reduce`

use std::path::PathBuf;

use clap::Args;
use evmachine::Params;
use evmachine_console::console::Console;
use evmachine_console::failure::{Failure, Kind};
use evmachine_console::hint::Hint;

use crate::parameters::{BudgetArguments, warn_of_budget};
use crate::{files, model};

/// Make a model smaller
///
/// Example: evmachine reduce letters.safetensors --vector-ratio 0.1 -o small.safetensors
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The model to reduce.
    model: PathBuf,

    /// The model file to write; may be the one read.
    #[arg(short, long, value_name = "MODEL")]
    output: PathBuf,

    #[command(flatten)]
    budget: BudgetArguments,

    /// Or keep what covers the rest at this probability.
    #[arg(long, value_name = "PROBABILITY", conflicts_with = "budget")]
    cover_threshold: Option<f64>,

    /// With it, leave out what covers fewer points of its class than this times the extreme vectors of other classes that it
    /// claims; as the model was trained unless given.
    #[arg(long, value_name = "WEIGHT", requires = "cover_threshold")]
    cover_risk: Option<f64>,

    /// How extreme vectors are chosen.
    #[arg(long, value_parser = ["set-cover", "weighted-max-k"])]
    reduction: Option<String>,
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<(), Failure> {
    files::refuse_nowhere(&arguments.output)?;
    let (mut evm, _held) = model::load_to_change(console, &arguments.model, &arguments.output)?;
    let (budget, threshold) = (arguments.budget.budget(), arguments.cover_threshold);
    if budget.is_none() && threshold.is_none() {
        return Err(Failure::new(Kind::Usage, "nothing to reduce to").hint(Hint::flags(
            &["max-per-class", "max-total", "vector-ratio", "cover-threshold"],
            "give --max-per-class N, --max-total N, --vector-ratio R or --cover-threshold P",
        )));
    }
    let before = evm.extreme_vector_count();
    let mut params = Params {
        max_extreme_vectors: budget,
        cover_threshold: threshold.unwrap_or(evm.params().cover_threshold),
        cover_risk: if budget.is_some() {
            0.0
        } else {
            arguments.cover_risk.unwrap_or(evm.params().cover_risk)
        },
        ..Params::clone(evm.params())
    };
    if let Some(reduction) = &arguments.reduction {
        params.set("reduction", reduction)?;
    }
    let progress = console.progress();
    evm.reduce_with(&console.run(&progress), &params.cover())?;
    drop(progress);
    model::save(&evm, &arguments.output)?;
    console.say(format!(
        "{before} extreme vectors before, {} now, vector ratio {:.3}",
        evm.extreme_vector_count(),
        evm.vector_ratio()
    ));
    warn_of_budget(console, &evm);
    console.say(format!("model written to {}", arguments.output.display()));
    Ok(())
}
