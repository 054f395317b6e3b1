//! `evmachine pool migrate`

use std::path::PathBuf;
use std::slice::from_ref;

use clap::Args;
use evmachine::NewVectors;
use evmachine_console::console::Console;
use evmachine_console::data::{DataArguments, feature_names};
use evmachine_console::failure::Failure;
use evmachine_openworld::{Pool, PoolMigration};

use super::{counted, print_json, short};
use crate::commands::migrate::ids_of;
use crate::failure::OrFail;

/// Ids that are listed one by one.
const LISTED: usize = 20;

/// Take a pool to the vectors of another encoder: the same samples and versions, by their ids
///
/// Answers, events, notes, versions and the rule of enrolment are kept; each version is learned again from the new vectors as
/// `evmachine migrate` does, and what waits is decided and grouped again. If no vector differs, versions and groups are the same.
/// Samples without an id, and those that the file does not have, are listed and left out.
///
/// Example: evmachine pool migrate pool images-2.parquet pool-2 --id image --encoder clip@2
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The pool; it stays as it is.
    pool: PathBuf,

    /// The new vectors: of the samples, by the ids that they were added with, and of the rows that the model was trained on.
    data: PathBuf,

    /// The folder of the new pool; made if it is not there.
    output: PathBuf,

    /// Print what was found and what is missing, as JSON.
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    columns: DataArguments,
}

impl Arguments {
    pub(super) fn run(&self, console: &Console) -> Result<(), Failure> {
        let pool = Pool::open(&self.pool).or_fail()?;
        // The new space is another one: neither its columns nor its encoder are those of the versions.
        let data = self.columns.read_unlabelled(console, from_ref(&self.data), None)?;
        let ids = ids_of(&data)?;
        let new = NewVectors { ids, features: &data.features, encoder: self.columns.encoder.as_ref() };
        let progress = console.progress();
        let report = pool
            .migrate(&console.run(&progress), &self.output, &new, &feature_names(&data.schema))
            .or_fail()?;
        drop(progress);
        if self.json {
            print_json(&report)?;
        }
        say(console, &report);
        console.say(format!("{} is the pool over the new vectors", self.output.display()));
        Ok(())
    }
}

fn say(console: &Console, report: &PoolMigration) {
    if !report.missing.is_empty() {
        let shown = report.missing.iter().take(LISTED).map(String::as_str).collect::<Vec<_>>().join(", ");
        let more = report.missing.len().saturating_sub(LISTED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        console.warn(format!(
            "{} of the pool have no new vector, and are left out: {shown}{more}",
            counted(report.missing.len() as u64, "sample")
        ));
    }
    if report.without_id > 0 {
        console.warn(format!(
            "{} of the pool have no id, and are left out",
            counted(report.without_id, "sample")
        ));
    }
    for version in &report.versions {
        let found = &version.report;
        let missing = found.missing.len() + found.without_id;
        if missing > 0 {
            console.warn(format!(
                "version {}: {} without a new vector, left out",
                short(&version.before),
                counted(missing as u64, "row")
            ));
        }
        if !found.ended_classes.is_empty() {
            console.warn(format!(
                "version {}: classes without any row left: {}",
                short(&version.before),
                found.ended_classes.join(", ")
            ));
        }
    }
    if report.unchanged {
        console.say("no vector is another one; versions and groups are those that were there");
    }
    console.say(format!(
        "{} and {} taken over",
        counted(report.samples, "sample"),
        counted(report.versions.len() as u64, "version")
    ));
}
