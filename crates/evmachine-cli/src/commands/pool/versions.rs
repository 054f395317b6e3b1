//! `evmachine pool update`, `promote` and `rollback`

use std::path::{Path, PathBuf};

use clap::Args;
use evmachine::{HeldReason, TailMemory};
use evmachine_console::console::Console;
use evmachine_console::failure::Failure;
use evmachine_console::text::escaped;
use evmachine_openworld::Pool;

use super::{Person, counted, short};
use crate::commands::train::say_report;
use crate::failure::OrFail;
use crate::files;

/// Learn what was labelled into a new version, and make it live
///
/// What waits is decided and grouped anew; groups that were shown stay as they are.
///
/// Example: evmachine pool update pool
#[derive(Debug, Args)]
pub(crate) struct Update {
    /// The pool.
    pool: PathBuf,

    /// Write the new model to this file too.
    #[arg(short, long, value_name = "MODEL")]
    output: Option<PathBuf>,

    #[command(flatten)]
    person: Person,
}

/// Make a version live
///
/// Example: evmachine pool promote pool previous
#[derive(Debug, Args)]
pub(crate) struct Promote {
    /// The pool.
    pool: PathBuf,

    /// The version: live, previous, its hash or the beginning of it. `evmachine pool status` lists them.
    #[arg(id = "wanted", value_name = "VERSION")]
    wanted: String,

    #[command(flatten)]
    person: Person,
}

/// Make the previous version live again
///
/// The one that was live is then the previous: a second rollback returns to it. `evmachine pool promote` goes further back.
///
/// Example: evmachine pool rollback pool
#[derive(Debug, Args)]
pub(crate) struct Rollback {
    /// The pool.
    pool: PathBuf,

    #[command(flatten)]
    person: Person,
}

impl Update {
    pub(super) fn run(&self, console: &Console) -> Result<(), Failure> {
        if let Some(path) = &self.output {
            files::refuse_nowhere(path)?;
        }
        let mut pool = Pool::open(&self.pool).or_fail()?;
        let progress = console.progress();
        let learned = pool.update(&console.run(&progress), self.person.name()).or_fail()?;
        drop(progress);
        let live = pool.live().or_fail()?;
        if let Some(path) = &self.output {
            crate::model::save(&live, path)?;
        }
        let rows = learned.report.as_ref().map_or(0, |report| report.rows);
        if let Some(report) = &learned.report {
            if !report.new_classes.is_empty() {
                let names: Vec<_> = report.new_classes.iter().map(|name| escaped(name)).collect();
                console.say(format!("new classes: {}", names.join(", ")));
            }
            say_report(console, &live, TailMemory::Full, report);
        }
        if !learned.held_back.is_empty() {
            console.say(format!(
                "{} held back: {}; `evmachine pool enrolment {}` lists them",
                counted(learned.held_back.len() as u64, "sample"),
                HeldReason::summary(learned.held_back.iter().map(|held| &held.reason)),
                self.pool.display()
            ));
        }
        console.say(format!(
            "{} learned, {} ignored from now on; version {} is live (event {})",
            counted(rows as u64, "sample"),
            learned.ignored,
            short(&learned.version),
            learned.event
        ));
        Ok(())
    }
}

impl Promote {
    pub(super) fn run(&self, console: &Console) -> Result<(), Failure> {
        promote(&self.pool, &self.wanted, &self.person, console)
    }
}

impl Rollback {
    pub(super) fn run(&self, console: &Console) -> Result<(), Failure> {
        promote(&self.pool, "previous", &self.person, console)
    }
}

fn promote(folder: &Path, version: &str, person: &Person, console: &Console) -> Result<(), Failure> {
    let mut pool = Pool::open(folder).or_fail()?;
    let event = pool.promote(version, person.name()).or_fail()?;
    let [live, previous] = [pool.version("live").or_fail()?.hash, pool.version("previous").or_fail()?.hash];
    console.say(format!(
        "version {} is live (event {event}); {} is the previous, which a rollback would return to",
        short(&live),
        short(&previous)
    ));
    let progress = console.progress();
    pool.refresh(&console.run(&progress)).or_fail()?;
    Ok(())
}
