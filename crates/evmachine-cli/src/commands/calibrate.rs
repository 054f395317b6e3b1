//! `evmachine calibrate`

use std::path::PathBuf;
use std::slice::from_ref;

use clap::Args;
use evmachine::{Evm, Features, Labels, Rejection, Run};
use evmachine_console::console::{Console, print, rate, table};
use evmachine_console::data::DataArguments;
use evmachine_console::failure::Failure;
use evmachine_eval::{Answers, Rates};

#[cfg(feature = "plot")]
use crate::calibration::diagram;
use crate::calibration::{Seen, reliability};
use crate::files;
use crate::model;
#[cfg(feature = "plot")]
use crate::picture;
use crate::rejection::RejectionArguments;

/// Shares of known rows rejected that the table shows.
const RATES: [f64; 6] = [0.01, 0.02, 0.05, 0.1, 0.2, 0.3];

/// Set the threshold and the probabilities of a model on labelled rows that it was not trained on
///
/// Rows of classes that the model does not know, and those of --unknown-data, show how strangers score. Prints what each
/// threshold would give, how well probabilities hold, the closest stranger and the closest pair of classes.
///
/// Example: evmachine calibrate letters.safetensors held-out.csv --label 0 --max-false-unknown 0.02 -o letters.safetensors
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The model.
    model: PathBuf,

    /// The labelled rows; several files, or a pattern such as 'part-*.csv', must have the same columns.
    #[arg(required = true, value_name = "DATA")]
    data: Vec<PathBuf>,

    /// The model file to write; may be the one read.
    #[arg(short, long, value_name = "MODEL")]
    output: PathBuf,

    /// Rows that are known to be unknown, with the same columns; their labels, if any, are not read.
    #[arg(long, value_name = "FILE")]
    unknown_data: Option<PathBuf>,

    /// A reliability diagram to draw, .png or .svg.
    #[cfg(feature = "plot")]
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,

    #[command(flatten)]
    rejection: RejectionArguments,

    #[command(flatten)]
    columns: DataArguments,
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<(), Failure> {
    files::refuse_over(&arguments.output, arguments.data.iter().chain(&arguments.unknown_data))?;
    files::refuse_nowhere(&arguments.output)?;
    #[cfg(feature = "plot")]
    picture::check(arguments.plot.as_deref())?;
    let (mut evm, _held) = model::load_to_change(console, &arguments.model, &arguments.output)?;
    let mut data = arguments.columns.read_labelled(console, &arguments.data, Some(&evm))?;
    let progress = console.progress();
    let info = arguments.columns.attempt(console, &mut data, |data| {
        evm.calibrate_with(&console.run(&progress), &data.features, &data.labels)
    })?;
    drop(progress);
    let mut unknown: Vec<f32> = Vec::new();
    let mut places: Vec<String> = Vec::new();
    let truth = classes(&evm, &data.labels);
    for row in (0..truth.len()).filter(|&row| truth[row].is_none()) {
        unknown.extend(data.features.row(row));
        places.push(data.origin.place(row));
    }
    if let Some(path) = &arguments.unknown_data {
        let strangers = arguments.columns.read_unlabelled(console, from_ref(path), Some(&evm))?;
        unknown.extend(strangers.features.values());
        places.extend((0..strangers.features.rows()).map(|row| strangers.origin.place(row)));
    }
    let unknown = Features::new(unknown, evm.dimensions())?;
    if arguments.rejection.rule().is_some() || !evm.params().rejection_threshold.is_calibrated() {
        // The rule that ends here may ask for more strangers than there are, or for none.
        evm.set_rejection(Rejection::DEFAULT)?;
    }
    if unknown.rows() > 0 {
        evm.calibrate_unknowns_with(&console.quiet_run(), &unknown)?;
    }
    arguments.rejection.keep(&mut evm)?;
    console.say(format!("calibrated on {} known and {} unknown rows", info.rows, unknown.rows()));
    model::say_promise(console, &evm);
    let run = console.quiet_run();
    print(thresholds(&run, &evm, &data.features, &data.labels, &unknown)?);
    let seen = Seen::new(&run, &evm, &data.features, &data.labels, &unknown)?;
    print(format!("\n{}", table(&["", "value"], reliability(&seen)?)));
    if let Some(stranger) = closest_stranger(&run, &evm, &unknown, &places)? {
        print(format!("\nthe closest stranger: {stranger}"));
    }
    if let Some(pair) = seen.closest_pair(&evm) {
        print(format!("the closest pair of classes: {pair}"));
    }
    #[cfg(feature = "plot")]
    if let Some(path) = &arguments.plot {
        picture::save(console, &diagram(&seen)?, path)?;
    }
    model::save(&evm, &arguments.output)?;
    console.say(format!("model written to {}", arguments.output.display()));
    Ok(())
}

/// For each row its class in the model, unless that is unknown.
fn classes(evm: &Evm, labels: &Labels) -> Vec<Option<usize>> {
    let by_name: Vec<Option<usize>> = labels.names().iter().map(|name| evm.class_index(name)).collect();
    labels.ids().iter().map(|&id| by_name[id as usize]).collect()
}

/// What each share of known rows rejected would give, on the rows of this calibration; support is as `evmachine set --support` takes it.
fn thresholds(
    run: &Run<'_>,
    evm: &Evm,
    features: &Features<'_>,
    labels: &Labels,
    unknown: &Features<'_>,
) -> Result<String, Failure> {
    let truth = classes(evm, labels);
    let known: Vec<usize> = (0..truth.len()).filter(|&row| truth[row].is_some()).collect();
    let (known, names) = (features.select(&known), labels.select(&known));
    let rules = RATES.map(Rejection::FalseUnknown).into_iter().chain([evm.params().rejection_threshold]);
    let mut lines = Vec::new();
    for (place, rule) in rules.enumerate() {
        let mut other = evm.clone();
        other.set_rejection(rule)?;
        let mut answers = Answers::ask(run, &other, &known, &names)?;
        for decision in other.decide_with(run, unknown)? {
            answers.push(None, decision.best(), decision.score().support, decision.class().is_some());
        }
        let rates = Rates::new(&answers);
        let promise = other.promise();
        let notes = [
            (place == RATES.len(), "chosen"),
            (promise.is_estimate(), "an estimate"),
            (promise.rows_needed.is_some() && promise.range.is_none(), "too few rows: a guess"),
        ];
        let notes: Vec<&str> = notes.into_iter().filter(|(is, _)| *is).map(|(_, note)| note).collect();
        let note = if notes.is_empty() { String::new() } else { format!(" ({})", notes.join(", ")) };
        lines.push(vec![
            format!("{rule}{note}"),
            moved(evm, &other).map_or_else(|| "-".to_owned(), |support| format!("{support:.4}")),
            rate(rates.false_unknown),
            rate(rates.known_accuracy),
            rate(rates.false_known),
        ]);
    }
    let header = ["rule", "support", "known rejected", "known named right", "unknown accepted"];
    Ok(table(&header, lines))
}

/// How far the threshold of another rule lies above that of the model; `None` where classes have thresholds of their own.
fn moved(evm: &Evm, other: &Evm) -> Option<f64> {
    let one = |evm: &Evm| {
        let threshold = evm.threshold();
        (0..evm.classes().len()).all(|class| evm.threshold_of(class) == threshold).then_some(threshold)
    };
    let (from, to) = (one(evm)?, one(other)?);
    Some(if from == to { 0.0 } else { to - from })
}

/// The unknown row of the highest score, by its place in its file.
fn closest_stranger(
    run: &Run<'_>,
    evm: &Evm,
    unknown: &Features<'_>,
    places: &[String],
) -> Result<Option<String>, Failure> {
    let decisions = evm.decide_with(run, unknown)?;
    let best = (0..decisions.len())
        .max_by(|&a, &b| decisions[a].score().support.total_cmp(&decisions[b].score().support));
    Ok(best.map(|row| {
        let decision = decisions[row];
        let p_value = decision.p_value().expect("the model was calibrated just now");
        let verdict = if decision.class().is_some() { "accepted" } else { "rejected" };
        format!(
            "{} is taken for {:?}, {verdict} with a support of {:.4}; {:.1} % of known rows score no higher",
            places[row],
            evm.class_name(decision.best()),
            decision.support(),
            100.0 * p_value
        )
    }))
}
