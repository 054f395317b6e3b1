//! `evmachine drift`

use std::path::{Path, PathBuf};

use clap::Args;
use evmachine::{DriftBasis, DriftError, DriftMonitor, DriftReport, Evm};
use evmachine_console::console::{Console, print, print_json, table};
use evmachine_console::data::{DataArguments, Unlabelled};
use evmachine_console::failure::{Failure, Kind};
use evmachine_console::origin::Located;
use serde_json::json;

use crate::files;
use crate::model;

/// Say whether rows still come as the calibrating rows did, and if not, why
///
/// Rows are taken in their order, as a stream. Causes that are told apart: a new class has come, all vectors moved, one class ages, the
/// encoder changed. The rate of false alarms holds for all watches together, however long the stream is and whenever you look; the cause is
/// an estimate.
///
/// Rows are compared with those that the model held out of training, which it does if it learned more than 2,000, or was calibrated on.
/// Otherwise only changes within the rows are found, unless --reference names rows from quiet times that the model has not learned.
///
/// Example: evmachine drift letters.safetensors test.csv --label 0 --state drift.json
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The model.
    model: PathBuf,

    /// The rows, in the order in which they came.
    #[arg(required = true, value_name = "DATA")]
    data: Vec<PathBuf>,

    /// Rows from quiet times that the model has not learned, to compare with.
    #[arg(long, value_name = "FILE")]
    reference: Vec<PathBuf>,

    /// The chance, at most, that a stream without drift ever raises an alarm [default: 0.01].
    #[arg(long, value_name = "RATE", allow_negative_numbers = true)]
    rate: Option<f64>,

    /// Go on with the stream of earlier calls: the file is read if it is there, and written.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["reference", "rate"])]
    state: Option<PathBuf>,

    /// Print JSON.
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    columns: DataArguments,
}

const RATE: f64 = 0.01;

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<(), Failure> {
    if let Some(state) = &arguments.state {
        files::refuse_over(state, std::slice::from_ref(&arguments.model).iter().chain(&arguments.data))?;
        files::refuse_nowhere(state)?;
    }
    let evm = model::load(&arguments.model)?;
    let mut monitor = arguments.monitor(console, &evm)?;
    let rows = arguments.columns.read_unlabelled(console, &arguments.data, Some(&evm))?;
    let before = monitor.rows();
    let progress = console.progress();
    monitor
        .observe_with(&console.run(&progress), &evm, &rows.features)
        .map_err(|error| failed(&rows, error, arguments.state.as_deref()))?;
    drop(progress);
    let report =
        monitor.report_with(&console.quiet_run(), &evm).map_err(|error| failed(&rows, error, None))?;
    if let Some(state) = &arguments.state {
        let text =
            serde_json::to_vec(&monitor).map_err(|error| Failure::new(Kind::Other, error.to_string()))?;
        files::write(state, text)?;
    }
    if arguments.json {
        print_json(&json!(report));
    } else {
        show(console, &report, before);
    }
    if report.basis == DriftBasis::Stream {
        console.warn(
            "the model learned all of its rows, so that these are compared with each other alone: drift from the first row on is not found; \
             --reference FILE names rows to compare with",
        );
    }
    Ok(())
}

impl Arguments {
    fn monitor(&self, console: &Console, evm: &Evm) -> Result<DriftMonitor, Failure> {
        if let Some(state) = self.state.as_ref().filter(|state| state.exists()) {
            let failed = |error: String| {
                Failure::new(Kind::Usage, error)
                    .about(state.display())
                    .hint("the state is what an earlier call wrote; remove the file, or name another, to begin anew")
            };
            let text = std::fs::read(state).map_err(|error| failed(error.to_string()))?;
            return serde_json::from_slice(&text)
                .map_err(|error| failed(format!("no state of a drift monitor: {error}")));
        }
        let (run, rate) = (console.quiet_run(), self.rate.unwrap_or(RATE));
        let usage = |error: DriftError| Failure::new(Kind::Usage, error.to_string()).about("--rate");
        if self.reference.is_empty() {
            return DriftMonitor::new_with(&run, evm, rate).map_err(usage);
        }
        let reference = self.columns.read_unlabelled(console, &self.reference, Some(evm))?;
        DriftMonitor::with_reference_with(&run, evm, &reference.features, rate).map_err(|error| match error {
            DriftError::Rate { .. } => usage(error),
            other => failed(&reference, other, None),
        })
    }
}

fn failed(rows: &Unlabelled, error: DriftError, state: Option<&Path>) -> Failure {
    match (error, state) {
        (DriftError::Run(error), _) => rows.failure(Located::from(error)),
        (error, Some(state)) => Failure::new(Kind::Usage, error.to_string()).about(state.display()),
        (error, None) => Failure::new(Kind::Data, error.to_string()),
    }
}

/// Evidence beyond an alarm grows without end, and says no more.
fn shown(evidence: f64) -> String {
    if evidence >= 1_000.0 { "> 1000".to_owned() } else { format!("{evidence:.3}") }
}

fn show(console: &Console, report: &DriftReport, before: u64) {
    let lines = report.watches.iter().map(|watch| {
        vec![
            watch.watch.clone(),
            watch.class.clone().unwrap_or_else(|| "-".to_owned()),
            shown(watch.evidence / watch.needed),
        ]
    });
    print(table(&["watch", "class", "evidence"], lines));
    let basis = match report.basis {
        DriftBasis::HeldOut => format!("{} rows held out of training", report.reference_rows),
        DriftBasis::Given => format!("{} rows that were given", report.reference_rows),
        _ => "nothing but the stream itself".to_owned(),
    };
    let earlier = if before > 0 { format!(", {before} of them of earlier calls") } else { String::new() };
    console.say(format!("{} rows{earlier}, compared with {basis}; evidence of 1 is an alarm", report.rows));
    console.say(report.to_string());
}
