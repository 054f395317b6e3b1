//! `evmachine export`

use std::path::PathBuf;

use clap::Args;
use evmachine_console::console::Console;
use evmachine_console::failure::Failure;
use evmachine_console::text::counted;

use crate::failure::OrFail;
use crate::rejection::ThresholdArguments;
use crate::{files, model};

/// Write the decision of a model as an ONNX graph
///
/// The graph takes `features` (rows, dimensions) as 32-bit numbers and gives `label`, `supports` (rows, classes),
/// the numbers to act on: 0 is at the threshold, and the sign of the largest of a row is the decision; and psi as `probability` and
/// `scores` (rows, classes). Its labels are those of `predict`; its supports and scores agree to some millionths.
///
/// Example: evmachine export letters.safetensors --onnx letters.onnx
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The model.
    model: PathBuf,

    /// The ONNX file to write.
    #[arg(long, value_name = "FILE")]
    onnx: PathBuf,

    /// What to call unknown rows.
    #[arg(long, value_name = "TEXT", default_value = evmachine_onnx::UNKNOWN_LABEL)]
    unknown_label: String,

    #[command(flatten)]
    threshold: ThresholdArguments,
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<(), Failure> {
    files::refuse_over(&arguments.onnx, [&arguments.model])?;
    files::refuse_nowhere(&arguments.onnx)?;
    let evm = model::load_to_decide(console, &arguments.model, &arguments.threshold)?;
    let bytes = evmachine_onnx::to_onnx(&evm, &arguments.unknown_label).or_fail()?;
    files::write(&arguments.onnx, &bytes)?;
    console.say(format!(
        "{} of {} written to {}",
        counted(evm.extreme_vector_count() as u64, "extreme vector"),
        counted(evm.classes().len() as u64, "class"),
        arguments.onnx.display()
    ));
    Ok(())
}
