//! `evmachine pool label`, `ignore`, `discard` and `undo`

use std::path::{Path, PathBuf};

use clap::Args;
use evmachine_console::console::Console;
use evmachine_console::failure::Failure;
use evmachine_openworld::{Answer, EventId, GroupId, Pool, SampleId, Target};

use super::{Person, counted};
use crate::failure::OrFail;
use crate::unknown;

/// What an answer is about.
#[derive(Debug, Args)]
#[group(required = true)]
struct Which {
    /// All of a group that wait, but for --except.
    #[arg(long, value_name = "GROUP")]
    group: Option<GroupId>,

    /// These samples.
    #[arg(long, value_name = "SAMPLES", value_delimiter = ',', conflicts_with = "group")]
    samples: Vec<SampleId>,
}

/// Members that an answer is not about.
#[derive(Debug, Args)]
struct Except {
    /// Members of the group that do not belong to it; they go on to wait in other groups.
    #[arg(long, value_name = "SAMPLES", value_delimiter = ',', requires = "group")]
    except: Vec<SampleId>,
}

/// Give a group or samples a class
///
/// Example: evmachine pool label pool Q --group 1
#[derive(Debug, Args)]
pub(crate) struct Label {
    /// The pool.
    pool: PathBuf,

    /// The class, known or new.
    class: String,

    /// Found the class, although its name is close to that of another.
    #[arg(long)]
    new_class: bool,

    /// The system says so by itself, and not a person: with `evmachine pool enrolment --quarantine`, it is not learned until a person
    /// labels the same samples.
    #[arg(long)]
    proposed: bool,

    #[command(flatten)]
    which: Which,

    #[command(flatten)]
    except: Except,

    #[command(flatten)]
    person: Person,
}

/// Say that a group or samples are strangers and are to stay strangers
///
/// Example: evmachine pool ignore pool --samples 3,4
#[derive(Debug, Args)]
pub(crate) struct Ignore {
    /// The pool.
    pool: PathBuf,

    #[command(flatten)]
    which: Which,

    #[command(flatten)]
    except: Except,

    #[command(flatten)]
    person: Person,
}

/// Say that a group or samples are of no use
///
/// Example: evmachine pool discard pool --samples 5
#[derive(Debug, Args)]
pub(crate) struct Discard {
    /// The pool.
    pool: PathBuf,

    #[command(flatten)]
    which: Which,

    #[command(flatten)]
    except: Except,

    #[command(flatten)]
    person: Person,
}

impl Label {
    pub(super) fn run(&self, console: &Console) -> Result<(), Failure> {
        unknown::refuse(&self.class)?;
        Pool::open(&self.pool).or_fail()?.check_label(&self.class, self.new_class).or_fail()?;
        let (what, done) = if self.proposed {
            (Answer::Propose(&self.class), format!("proposed as {}", self.class))
        } else {
            (Answer::Label(&self.class), format!("labelled {}", self.class))
        };
        answer(&self.pool, (&self.which, &self.except), what, &self.person, &done, console)
    }
}

impl Ignore {
    pub(super) fn run(&self, console: &Console) -> Result<(), Failure> {
        answer(&self.pool, (&self.which, &self.except), Answer::Ignore, &self.person, "ignored", console)
    }
}

impl Discard {
    pub(super) fn run(&self, console: &Console) -> Result<(), Failure> {
        answer(&self.pool, (&self.which, &self.except), Answer::Discard, &self.person, "discarded", console)
    }
}

fn answer(
    pool: &Path,
    (which, except): (&Which, &Except),
    answer: Answer<'_>,
    person: &Person,
    done: &str,
    console: &Console,
) -> Result<(), Failure> {
    let target = match which.group {
        Some(group) => Target::Group { group, except: &except.except },
        None => Target::Samples(&which.samples),
    };
    let (event, count) =
        Pool::open(pool).or_fail()?.answer(&console.quiet_run(), &target, answer, person.name()).or_fail()?;
    console.say(format!("{} {done} (event {event})", counted(count as u64, "sample")));
    Ok(())
}

/// Undo an event; an undoing can be undone too
///
/// Example: evmachine pool undo pool
#[derive(Debug, Args)]
pub(crate) struct Undo {
    /// The pool.
    pool: PathBuf,

    /// The event; the last in force that is not itself an undoing, unless given. `evmachine pool events` lists them.
    event: Option<EventId>,

    #[command(flatten)]
    person: Person,
}

impl Undo {
    pub(super) fn run(&self, console: &Console) -> Result<(), Failure> {
        let (undone, event) =
            Pool::open(&self.pool).or_fail()?.undo(self.event, self.person.name()).or_fail()?;
        console.say(format!("event {undone} is undone (event {event})"));
        Ok(())
    }
}
