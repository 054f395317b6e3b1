//! `evmachine pool status`, `events` and `check`

use std::path::PathBuf;

use clap::Args;
use evmachine_console::console::{Console, print, table};
use evmachine_console::failure::{Failure, Kind};
use evmachine_openworld::Pool;

use super::{print_json, short};
use crate::failure::OrFail;

/// Say how a pool stands
///
/// Example: evmachine pool status pool
#[derive(Debug, Args)]
pub(crate) struct Status {
    /// The pool.
    pool: PathBuf,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// List what happened
///
/// Example: evmachine pool events pool
#[derive(Debug, Args)]
pub(crate) struct Events {
    /// The pool.
    pool: PathBuf,

    /// Print JSON, with times in seconds since 1970.
    #[arg(long)]
    json: bool,
}

/// Look at everything: the database, the hashes of versions, whether states follow from events, files that nobody names
///
/// Example: evmachine pool check pool
#[derive(Debug, Args)]
pub(crate) struct Check {
    /// The pool.
    pool: PathBuf,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl Status {
    pub(super) fn run(&self) -> Result<(), Failure> {
        let status = Pool::open(&self.pool).or_fail()?.status().or_fail()?;
        if self.json {
            return print_json(&status);
        }
        let number = |name: &str, count: u64| vec![name.to_owned(), count.to_string()];
        let labels =
            status.labelled.iter().map(|(label, count)| number(&format!("labelled {label}"), *count));
        let rows = [number("waiting", status.waiting), number("  of them unknown", status.waiting_unknown)]
            .into_iter()
            .chain([number("  in groups", status.groups), number("  shown already", status.handed_out)])
            .chain(labels)
            .chain([number("  not learned yet", status.to_learn)])
            .chain([number("ignored", status.ignored), number("discarded", status.discarded)])
            .chain([number("events", status.events)]);
        print(table(&["", "count"], rows));
        let versions = status.versions.iter().map(|version| {
            let name = match &version.hash {
                hash if *hash == status.live => "live",
                hash if Some(hash) == status.previous.as_ref() => "previous",
                _ => "",
            };
            vec![short(&version.hash).to_owned(), name.to_owned()]
        });
        print(table(&["version", ""], versions));
        Ok(())
    }
}

impl Events {
    pub(super) fn run(&self) -> Result<(), Failure> {
        let events = Pool::open(&self.pool).or_fail()?.events().or_fail()?;
        if self.json {
            return print_json(&events);
        }
        let rows = events.iter().map(|event| {
            let what = match (&event.label, event.target, &event.model) {
                (Some(label), ..) => label.clone(),
                (_, Some(target), _) => format!("event {target}"),
                (.., Some(model)) => short(model).to_owned(),
                _ => String::new(),
            };
            let undone = if event.in_force { "" } else { "undone" };
            vec![
                format!("{} {}", event.number, event.kind),
                what,
                event.samples.to_string(),
                event.person.clone().unwrap_or_default(),
                undone.to_owned(),
            ]
        });
        print(table(&["event", "what", "samples", "person", ""], rows));
        Ok(())
    }
}

impl Check {
    pub(super) fn run(&self, console: &Console) -> Result<(), Failure> {
        let findings = Pool::open(&self.pool).or_fail()?.check().or_fail()?;
        if self.json {
            print_json(&findings)?;
        } else {
            for found in &findings {
                print(format!("{}: {}", found.subject, found.problem));
            }
        }
        match findings.iter().filter(|finding| !finding.harmless).count() {
            0 => {
                console.say("the pool is sound");
                Ok(())
            }
            count => Err(Failure::new(Kind::Other, format!("{count} things are not as they should be"))
                .hint("restore the pool from a backup: evmachine pool restore BACKUP POOL")),
        }
    }
}
