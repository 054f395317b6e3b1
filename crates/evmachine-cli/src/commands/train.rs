//! `evmachine train`

use std::path::PathBuf;

use clap::Args;
use evmachine::{Concern, Evm, Params, Report, Shares, TailMemory};

use crate::console::Console;
use crate::data::{DataArguments, feature_names};
use crate::failure::Failure;
use crate::files;
use crate::model;
use crate::parameters::ParameterArguments;
use crate::rejection::RejectionArguments;

/// Train a model on a labelled feature file
///
/// Example: evmachine train letters.csv --label 0 -o letters.safetensors
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The data: CSV, TSV, NPY, NPZ, Parquet, Arrow or LIBSVM; - for standard input.
    data: PathBuf,

    /// The model file to write.
    #[arg(short, long, value_name = "MODEL")]
    output: PathBuf,

    /// Rows that are known to be unknown, with the same columns: they set P(known) and --max-false-known.
    #[arg(long, value_name = "FILE")]
    unknown_data: Option<PathBuf>,

    #[command(flatten)]
    columns: DataArguments,

    #[command(flatten)]
    parameters: ParameterArguments,

    #[command(flatten)]
    rejection: RejectionArguments,
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<(), Failure> {
    let inputs = [Some(&arguments.data), arguments.unknown_data.as_ref()];
    files::refuse_over(&arguments.output, inputs.into_iter().flatten().map(PathBuf::as_path))?;
    let mut params = arguments.parameters.build()?;
    if let Some(rule) = arguments.rejection.rule() {
        params.rejection_threshold = rule;
        params.check()?;
    }
    let data = arguments.columns.read_labelled(console, &arguments.data, None)?;
    let progress = console.progress();
    let (mut evm, report) = Evm::fit_with(&console.run(&progress), &params, &data.features, &data.labels)
        .map_err(|error| data.failure(error))?;
    drop(progress);
    evm.set_feature_names(feature_names(&data.schema))?;
    if let Some(path) = &arguments.unknown_data {
        let unknown = arguments.columns.read_unlabelled(console, path, Some(&evm))?;
        evm.calibrate_unknowns(&unknown.features).map_err(|error| unknown.failure(error))?;
    }
    model::save(&evm, &arguments.output)?;
    if evm.class_index("unknown").is_some() {
        console.warn("there is a class named \"unknown\"; predict will need another --unknown-label");
    }
    console.say(format!("{} features in each row", evm.dimensions()));
    say_report(console, evm.params(), &report);
    let rule = evm.params().rejection_threshold;
    if rule.is_calibrated() {
        match evm.calibration() {
            Some(info) => console
                .say(format!("unknown is what lies below the threshold: {rule}, by {} rows", info.rows)),
            None => console.warn("no class has two rows, so none could be held out; delta is 0.05"),
        }
    }
    console.say(format!("model written to {}", arguments.output.display()));
    Ok(())
}

/// What a fit or an update did, in a few lines.
pub(crate) fn say_report(console: &Console, params: &Params, report: &Report) {
    let (rows, classes, vectors) = (report.rows, report.classes, report.extreme_vectors);
    console.say(format!(
        "learned from {rows} rows; {classes} classes, {vectors} extreme vectors, vector ratio {:.3}",
        report.vector_ratio
    ));
    for concern in report.concerns(params) {
        let question = if concern == Concern::ClassOfItsOwn { "; is --label the right column?" } else { "" };
        console.warn(format!("{concern}{question}"));
    }
    if let Some(Shares { features, logits, probe, .. }) = report.shares {
        console.say(format!(
            "by {} held-out rows a decision is made of features {:.0} %, logits {:.0} %, linear probe {:.0} %",
            report.held_out,
            100.0 * features,
            100.0 * logits,
            100.0 * probe
        ));
    }
    if params.tail_memory == TailMemory::Full && report.tail_memory != TailMemory::Full {
        console.warn(format!(
            "whole tails take more than the {} MB of --tail-memory-limit, so the model remembers less of them and updates \
             are no longer exact; train with a larger --tail-memory-limit to keep them so",
            params.tail_memory_limit >> 20
        ));
    }
    if let Some(reason) = report.tune_again {
        console.warn(format!("{reason}; tune and train again"));
    }
    let (smallest, largest) = report.tail_sizes;
    let sizes = if smallest == largest { smallest.to_string() } else { format!("{smallest} to {largest}") };
    console.detail(format!("tail size {sizes}; fits: {}", report.fits));
    for plan in &report.plans {
        console.detail(format!("tails: {plan}"));
    }
    let times = report.times;
    console.detail(format!(
        "whitening {:.2?}, smoothing {:.2?}, tails {:.2?}, refit {:.2?}, cover {:.2?}, calibration {:.2?}",
        times.whitening, times.smoothing, times.tails, times.refit, times.cover, times.calibration
    ));
}
