//! `evmachine pool`

mod add;
mod answer;
mod captured;
mod copies;
mod details;
mod enrolment;
mod export;
mod migrate;
mod next;
mod status;
mod versions;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use evmachine_console::console::{Console, print};
use evmachine_console::failure::Failure;
use evmachine_console::text::counted;
use evmachine_openworld::Pool;

use crate::failure::OrFail;
use crate::model;

/// Keep unknowns until a person has named them, and learn from that
///
/// A pool is a folder with samples, answers and model versions. What a command has said is on the disk; several may run at once.
///
/// Example: evmachine pool init pool letters.safetensors
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Make a pool in a new folder, with a model as its first version
    ///
    /// Example: evmachine pool init pool letters.safetensors
    Init {
        /// The folder; made if it is not there.
        pool: PathBuf,
        /// The model.
        model: PathBuf,
    },
    Add(add::Arguments),
    Next(next::Arguments),
    Label(answer::Label),
    Ignore(answer::Ignore),
    Discard(answer::Discard),
    Enrolment(enrolment::Arguments),
    Undo(answer::Undo),
    Update(versions::Update),
    Promote(versions::Promote),
    Rollback(versions::Rollback),
    Status(status::Status),
    Events(status::Events),
    Check(status::Check),
    Export(export::Arguments),
    Backup(copies::Backup),
    Restore(copies::Restore),
    Migrate(migrate::Arguments),
}

/// Who is at it.
#[derive(Debug, Args)]
struct Person {
    /// Who says so; kept with the event.
    #[arg(long = "person", value_name = "NAME")]
    name: Option<String>,
}

impl Person {
    fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<(), Failure> {
    match &arguments.command {
        Command::Init { pool, model } => init(pool, model, console),
        Command::Add(arguments) => add::run(arguments, console),
        Command::Next(arguments) => next::run(arguments, console),
        Command::Label(arguments) => arguments.run(console),
        Command::Ignore(arguments) => arguments.run(console),
        Command::Discard(arguments) => arguments.run(console),
        Command::Enrolment(arguments) => arguments.run(console),
        Command::Undo(arguments) => arguments.run(console),
        Command::Update(arguments) => arguments.run(console),
        Command::Promote(arguments) => arguments.run(console),
        Command::Rollback(arguments) => arguments.run(console),
        Command::Status(arguments) => arguments.run(),
        Command::Events(arguments) => arguments.run(),
        Command::Check(arguments) => arguments.run(console),
        Command::Export(arguments) => export::run(arguments, console),
        Command::Backup(arguments) => arguments.run(console),
        Command::Restore(arguments) => arguments.run(console),
        Command::Migrate(arguments) => arguments.run(console),
    }
}

fn init(folder: &Path, model: &Path, console: &Console) -> Result<(), Failure> {
    let pool = Pool::create(folder, &model::load(model)?).or_fail()?;
    console.say(format!(
        "{} is a pool now, of {} dimensions; `evmachine pool add {} DATA` fills it",
        folder.display(),
        pool.dimensions(),
        folder.display()
    ));
    Ok(())
}

fn print_json(value: &impl serde::Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|error| Failure::new(evmachine_console::failure::Kind::Other, error.to_string()))?;
    print(text);
    Ok(())
}

/// The beginning of a hash, enough for a person.
fn short(hash: &str) -> &str {
    hash.get(..12).unwrap_or(hash)
}
