//! `evmachine forget`

use std::path::PathBuf;

use clap::Args;
use evmachine_console::console::Console;
use evmachine_console::failure::Failure;
use evmachine_console::text::counted;

use crate::{files, model};

/// Remove a class from a model
///
/// Example: evmachine forget letters.safetensors Q -o without-q.safetensors
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The model.
    model: PathBuf,

    /// The class to remove.
    class: String,

    /// The model file to write; may be the one read.
    #[arg(short, long, value_name = "MODEL")]
    output: PathBuf,
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<(), Failure> {
    files::refuse_nowhere(&arguments.output)?;
    let (mut evm, _held) = model::load_to_change(console, &arguments.model, &arguments.output)?;
    let progress = console.progress();
    evm.forget_class_with(&console.run(&progress), &arguments.class)?;
    drop(progress);
    model::save(&evm, &arguments.output)?;
    console.say(format!(
        "{} left; model written to {}",
        counted(evm.classes().len() as u64, "class"),
        arguments.output.display()
    ));
    Ok(())
}
