//! `evmachine train`

use std::path::PathBuf;
use std::slice::from_ref;

use clap::Args;
use evmachine::{Concern, Evm, Features, FitError, Params, Rejection, Report, Shares, TailMemory};
use evmachine_console::console::Console;
use evmachine_console::data::{DataArguments, feature_names};
use evmachine_console::failure::Failure;
use evmachine_console::large::ScratchArguments;
use evmachine_console::origin::Located;
use evmachine_console::text::counted;

use crate::columns;
use crate::files;
use crate::fill::FillArguments;
use crate::model;
use crate::parameters::{ParameterArguments, warn_of_budget};
use crate::rejection::RejectionArguments;
use crate::unknown::UnknownLabel;

/// Train a model on a labelled feature file
///
/// Example: evmachine train letters.csv --label 0 -o letters.safetensors
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The data: CSV, TSV, JSON lines, NPY, NPZ, Parquet, Arrow or LIBSVM, the texts also as .gz or .zst; - for standard input.
    /// Several files, a folder of them, or a pattern such as 'part-*.csv', must have the same columns.
    #[arg(required = true, value_name = "DATA")]
    data: Vec<PathBuf>,

    /// The model file to write.
    #[arg(short, long, value_name = "MODEL")]
    output: PathBuf,

    /// Rows that are known to be unknown, with the same columns: they set P(known) and --max-false-known.
    #[arg(long, value_name = "FILE")]
    unknown_data: Option<PathBuf>,

    /// Samples that are no class and stay strangers, with the same columns: they shape the margins of all classes, and what
    /// is nearest to one of them is unknown.
    #[arg(long, value_name = "FILE")]
    ignore_data: Vec<PathBuf>,

    #[command(flatten)]
    fill: FillArguments,

    #[command(flatten)]
    unknown: UnknownLabel,

    #[command(flatten)]
    columns: DataArguments,

    #[command(flatten)]
    parameters: ParameterArguments,

    #[command(flatten)]
    rejection: RejectionArguments,

    #[command(flatten)]
    scratch: ScratchArguments,
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<(), Failure> {
    let inputs = arguments.data.iter().chain(&arguments.unknown_data).chain(&arguments.ignore_data);
    files::refuse_over(&arguments.output, inputs)?;
    files::refuse_nowhere(&arguments.output)?;
    let mut params = arguments.parameters.build(console)?;
    arguments.rejection.set(&mut params);
    params.check()?;
    let (rule, confidence) = (params.rejection_threshold, params.confidence);
    if let (Some(_), Rejection::FalseKnown(_)) = (&arguments.unknown_data, rule) {
        // The strangers that are given set the threshold: no class has to be left out to estimate how strangers score.
        params.rejection_threshold = Rejection::DEFAULT;
    }
    let columns = DataArguments { fill: arguments.fill.rule, ..arguments.columns.learned_with(&params) };
    let store = arguments.scratch.store(console, &arguments.output);
    let mut data = columns.read_large(console, &arguments.data, None, Some(&store))?;
    arguments.unknown.check(&data.origin, &data.labels)?;
    columns::tell_doubtful(console, &data.features, &data.schema);
    let ignored = match &arguments.ignore_data[..] {
        [] => None,
        paths => Some(columns.read_strangers(console, paths, &data)?),
    };
    let progress = console.progress();
    let besides: Vec<&Features<'_>> = ignored.iter().map(|ignored| &ignored.features).collect();
    let run = store.begin(
        console,
        console.run(&progress),
        (&data.features, &data.labels),
        &params,
        &besides,
        None,
    )?;
    let (mut evm, report) = columns.attempt(console, &mut data, |data| match &ignored {
        Some(ignored) => {
            Evm::fit_ignoring_with(&run, &params, &data.features, &data.labels, &ignored.features).map_err(
                |error| match error {
                    FitError::Ignored { error } => Located::Other(ignored.failure(error)),
                    other => other.into(),
                },
            )
        }
        None => Evm::fit_with(&run, &params, &data.features, &data.labels).map_err(Located::from),
    })?;
    drop(progress);
    evm.set_feature_names(feature_names(&data.schema))?;
    evm.set_fill_values(data.fill.clone())?;
    if let Some(encoder) = &columns.encoder {
        evm.set_encoder(encoder.clone(), &data.features, &data.labels);
    }
    // Rows that are called by their place alone give the same model from whatever files they come.
    if !data.origin.is_plain() || ignored.is_some() {
        data.origin.record(&mut evm, 0)?;
    }
    if let Some(ignored) = &ignored {
        ignored.origin.record(&mut evm, data.features.rows() as u64)?;
    }
    if let Some(path) = &arguments.unknown_data {
        let unknown = columns.read_unlabelled(console, from_ref(path), Some(&evm))?;
        evm.calibrate_unknowns_with(&console.quiet_run(), &unknown.features)
            .map_err(|error| unknown.failure(error))?;
        evm.set_rule(rule, confidence).map_err(|error| unknown.failure(error))?;
    }
    model::save(&evm, &arguments.output)?;
    drop(data);
    store.clear()?;
    console.say(format!("{} in each row", counted(evm.dimensions() as u64, "feature")));
    say_report(console, &evm, TailMemory::Full, &report);
    say_cover(console, evm.params(), &report);
    model::say_promise(console, &evm);
    console.say(format!("model written to {}", arguments.output.display()));
    Ok(())
}

/// How much the cover that the fit chose keeps.
fn say_cover(console: &Console, params: &Params, report: &Report) {
    if params.cover_loss > 0.0 && params.cover_threshold < 1.0 {
        console.say(format!(
            "kept {:.0} % of the rows (cover threshold {}), which costs less than {} of OSCR with classes left out in turn; --keep-all keeps \
             every row",
            100.0 * report.vector_ratio,
            params.cover_threshold,
            params.cover_loss
        ));
    }
}

/// What a fit or an update did, in a few lines; `before` is what the model remembered of its tails until then.
pub(crate) fn say_report(console: &Console, evm: &Evm, before: TailMemory, report: &Report) {
    let params = evm.params();
    console.say(format!(
        "learned from {}; {}, {}, vector ratio {:.3}",
        counted(report.rows as u64, "row"),
        counted(report.classes as u64, "class"),
        counted(report.extreme_vectors as u64, "extreme vector"),
        report.vector_ratio
    ));
    match evm.rows_held_out().count() as u64 {
        0 => {}
        count => {
            console.say(format!("{} held out of training, to set the threshold on", counted(count, "row")));
        }
    }
    match evm.ignored_count() as u64 {
        0 => {}
        1 => console.say("1 sample is ignored: what is nearest to it is unknown"),
        count => {
            console.say(format!("{count} samples are ignored: what is nearest to one of them is unknown"));
        }
    }
    for concern in report.concerns(params) {
        let hint = match concern {
            Concern::ClassOfItsOwn => "; is --label the right column?",
            Concern::Alone => ", which --ignore-data and update --ignore add",
            _ => "",
        };
        console.warn(format!("{concern}{hint}"));
    }
    if let Some(Shares { features, logits, probe, forest, .. }) = report.shares {
        console.say(format!(
            "a decision is made of features {:.0} %, logits {:.0} %, linear probe {:.0} %, forest {:.0} %",
            100.0 * features,
            100.0 * logits,
            100.0 * probe,
            100.0 * forest
        ));
    }
    warn_of_budget(console, evm);
    let whole = params.tail_memory == TailMemory::Full && before == TailMemory::Full;
    if whole && report.tail_memory != TailMemory::Full {
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
    if let Some(recall) = &report.recall {
        console.detail(recall.to_string());
    }
    let times = report.times;
    console.detail(format!(
        "weighing {:.2?}, whitening {:.2?}, smoothing {:.2?}, tails {:.2?}, refit {:.2?}, cover {:.2?}, calibration {:.2?}",
        times.weighing,
        times.whitening,
        times.smoothing,
        times.tails,
        times.refit,
        times.cover,
        times.calibration
    ));
}
