//! `evmachine pool add`

use std::path::PathBuf;

use clap::Args;
use evmachine::{Decision, Features, HeldReason};
use evmachine_console::console::Console;
use evmachine_console::data::{DataArguments, report_skipped};
use evmachine_console::failure::{Failure, Kind};
use evmachine_console::interrupt;
use evmachine_console::origin::Origin;
use evmachine_openworld::{NewSample, Outcome, Pool, StoreError, Which};

use super::captured::CaptureArguments;
use super::{counted, details, print_json};
use crate::failure::{Ends, OrFail};

/// Take rows in that the live version does not know
///
/// Rows with an --id that is there already are left as they are, so that a file can be added again after an error.
///
/// Example: evmachine pool add pool new.csv
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The pool.
    pool: PathBuf,

    /// The rows; - for standard input. Several files, or a pattern such as 'part-*.csv', must have the same columns.
    #[arg(required = true, value_name = "DATA")]
    data: Vec<PathBuf>,

    /// Take known rows in too.
    #[arg(long)]
    all: bool,

    /// What to show of the rows: JSON lines, one object for each row in order, with any of id, text, link, and picture, the path of
    /// a small PNG, JPEG, GIF, WebP or SVG file.
    #[arg(long, value_name = "FILE")]
    details: Option<PathBuf>,

    /// Print what became of each row, as JSON.
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    capture: CaptureArguments,

    #[command(flatten)]
    columns: DataArguments,
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<(), Failure> {
    let mut pool = Pool::open(&arguments.pool).or_fail()?;
    let (version, live) = (pool.live_hash().or_fail()?, pool.live().or_fail()?);
    let which = if arguments.all { Which::All } else { Which::Unknown };
    let mut shown = match &arguments.details {
        Some(path) => Some(details::open(path)?),
        None => None,
    };
    let columns = DataArguments { kept: arguments.capture.columns(), ..arguments.columns.clone() };
    let mut series = columns.open(console, &arguments.data, Some(&live))?;
    let bar = console.bar(None, "adding");
    let (mut outcomes, mut p_values) = (Vec::new(), Vec::new());
    let (mut passed, mut added, mut present) = (0, 0, 0);
    let mut held: Vec<HeldReason> = Vec::new();
    while let Some(next) = series.next() {
        interrupt::check()?;
        let (file, batch) = next?;
        let (rows, row_numbers) = (batch.rows, batch.row_numbers);
        let origin = Origin::of_batch(&series.paths()[file], &row_numbers);
        let mut samples: Vec<NewSample> = Vec::new();
        if let Some(shown) = &mut shown {
            samples = shown.take(&row_numbers, &mut passed)?;
        }
        if let Some(ids) = batch.ids {
            samples.resize(rows, NewSample::default());
            for (sample, id) in samples.iter_mut().zip(ids) {
                sample.id = Some(id).filter(|id| !id.is_empty());
            }
        }
        if !batch.kept.is_empty() {
            samples.resize(rows, NewSample::default());
            let captures = arguments.capture.captures(batch.kept, rows, &origin)?;
            samples.iter_mut().zip(captures).for_each(|(sample, capture)| sample.capture = capture);
        }
        let features = Features::new(batch.features, batch.columns).map_err(|error| origin.failure(error))?;
        let hash = pool.live_hash().or_fail()?;
        let run = console.quiet_run();
        let decisions = live.decide_with(&run, &features).map_err(|error| origin.failure(error))?;
        p_values.extend(decisions.iter().filter_map(Decision::p_value));
        let decided = (hash == version).then_some((&hash[..], &decisions[..]));
        let found = pool
            .add_decided(&run, &features, decided, &samples, which)
            .map_err(|error| in_file(error, &origin))?;
        for outcome in &found {
            match outcome {
                Outcome::Added(_) => added += 1,
                Outcome::Present(_) => present += 1,
                Outcome::Known(_) => {}
                Outcome::HeldBack(reason) => held.push(*reason),
            }
        }
        bar.inc(rows as u64);
        outcomes.extend(row_numbers.into_iter().zip(found));
    }
    bar.finish_and_clear();
    report_skipped(console, &series);
    if arguments.json {
        let rows: Vec<serde_json::Value> = outcomes
            .iter()
            .map(|(row, outcome)| match outcome {
                Outcome::Added(sample) => serde_json::json!({ "row": row, "sample": sample, "added": true }),
                Outcome::Present(sample) => {
                    serde_json::json!({ "row": row, "sample": sample, "added": false })
                }
                Outcome::Known(class) => serde_json::json!({ "row": row, "known": class }),
                Outcome::HeldBack(reason) => serde_json::json!({ "row": row, "held_back": reason }),
            })
            .collect();
        print_json(&rows)?;
    }
    let known = outcomes.len() - added - present - held.len();
    console.say(format!(
        "{} added, {present} there already, {known} known and left out",
        counted(added as u64, "sample")
    ));
    if !held.is_empty() {
        console.say(format!(
            "{} held back by the rule of the pool and left out: {}",
            counted(held.len() as u64, "row"),
            HeldReason::summary(&held)
        ));
    }
    // Without a calibration there are none, and nothing to estimate.
    let unknown = if p_values.is_empty() { None } else { live.share_unknown(&p_values)? };
    if let Some(unknown) = unknown {
        console.say(format!(
            "about {:.0} % of the rows are unknown, +- {:.0} (Storey's estimate, from p-values)",
            100.0 * unknown.share,
            100.0 * unknown.error
        ));
    }
    Ok(())
}

/// Rows by the numbers of the file.
fn in_file(error: StoreError, origin: &Origin) -> Failure {
    let number = |row: usize| origin.numbers[row] as usize;
    match error {
        StoreError::Features(error) => origin.failure(error),
        StoreError::Predict(error) => origin.failure(error),
        StoreError::DuplicateId { row, id, sample } => {
            StoreError::DuplicateId { row: number(row), id, sample }.failure().about(origin.name())
        }
        StoreError::RepeatedId { row, id } => {
            StoreError::RepeatedId { row: number(row), id }.failure().about(origin.name())
        }
        StoreError::LargePicture { row, bytes, limit } => Failure {
            kind: Kind::Data,
            ..StoreError::LargePicture { row: number(row), bytes, limit }.failure()
        },
        other => other.failure(),
    }
}
