//! `evmachine evaluate`

use std::path::PathBuf;
use std::slice::from_ref;

use clap::Args;
use evmachine::{CalibrateError, Evm, Probe};
use evmachine_eval::evaluation::confusion;
use evmachine_eval::{Answers, Contest, Evaluation, Linear, Rates, Rival, rivals};
use serde::Serialize;

use crate::calibration::{Seen, diagram, reliability};
use crate::console::{Console, print, print_json, rate, table};
use crate::data::{DataArguments, Labelled};
use crate::failure::{Failure, Kind};
use crate::rejection::RejectionArguments;
use crate::{interrupt, model, picture};

/// Measure a model on labelled rows; a class that it never saw counts as unknown
///
/// The second table says what other thresholds would give on these rows; `evmachine set` keeps one of them.
///
/// Example: evmachine evaluate letters.safetensors test.csv --label 0
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The model.
    model: PathBuf,

    /// The labelled rows; several files, or a pattern such as 'part-*.csv', must have the same columns.
    #[arg(required = true, value_name = "DATA")]
    data: Vec<PathBuf>,

    #[command(flatten)]
    rejection: RejectionArguments,

    /// Print the confusion matrix too; rows are the truth, columns the answers.
    #[arg(long)]
    confusion: bool,

    /// Measure the rivals too: what a practitioner would use instead, trained on this file of labelled rows.
    #[arg(long, value_name = "TRAINING", conflicts_with = "json")]
    rivals: Option<PathBuf>,

    /// A reliability diagram to draw, .png or .svg; for a calibrated model.
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,

    /// Print JSON, with the confusion matrix and the table of thresholds.
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    columns: DataArguments,
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<(), Failure> {
    picture::check(arguments.plot.as_deref())?;
    let evm = model::load_to_decide(console, &arguments.model, &arguments.rejection)?;
    let mut data = arguments.columns.read_labelled(console, &arguments.data, Some(&evm))?;
    warn_of_other_classes(console, &evm, &data);
    let progress = console.progress();
    let answers = arguments.columns.attempt(console, &mut data, |data| {
        Answers::ask(&console.run(&progress), &evm, &data.features, &data.labels)
    })?;
    drop(progress);
    let classes = evm.classes().len();
    let evaluation = Evaluation::new(&answers, classes);
    let mut names: Vec<&str> = evm.classes().map(|class| class.name).collect();
    names.push("unknown");
    let mut lines = rows(&evaluation);
    if evm.calibration().is_some() {
        let unknown: Vec<usize> = (0..answers.len()).filter(|&row| answers.truth[row].is_none()).collect();
        let seen = Seen::new(&evm, &data.features, &data.labels, &data.features.select(&unknown))?;
        lines.extend(reliability(&seen)?);
        if let Some(path) = &arguments.plot {
            picture::save(console, &diagram(&seen)?, path)?;
        }
    } else if arguments.plot.is_some() {
        return Err(CalibrateError::NotCalibrated.into());
    }
    let thresholds = thresholds(&evm, &answers);
    if arguments.json {
        print_json(&serde_json::json!({
            "evaluation": evaluation,
            "thresholds": thresholds,
            "classes": names,
            "confusion": confusion(&answers, classes),
        }));
        return Ok(());
    }
    print(table(&["", "value"], lines));
    let as_it_is = Threshold { delta: None, rates: Rates::new(&answers) };
    let lines = std::iter::once(&as_it_is).chain(&thresholds).map(Threshold::line);
    print(format!(
        "\n{}",
        table(&["delta", "known named right", "known rejected", "unknown accepted"], lines)
    ));
    if let Some(path) = &arguments.rivals {
        let train = arguments.columns.read_labelled(console, from_ref(path), Some(&evm))?;
        print(format!("\n{}", standings(&evm, &evaluation, (&train, &data))?));
    }
    if arguments.confusion {
        let header: Vec<&str> = std::iter::once("truth \\ answer").chain(names.iter().copied()).collect();
        let matrix = confusion(&answers, classes);
        let lines = matrix.iter().zip(&names).map(|(row, name)| {
            std::iter::once((*name).to_owned()).chain(row.iter().map(u64::to_string)).collect()
        });
        print(format!("\n{}", table(&header, lines)));
    }
    Ok(())
}

/// Shares of known rows rejected for which the table has a threshold.
const RATES: [f64; 7] = [0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3];

/// A threshold, and what it gives.
#[derive(Serialize)]
struct Threshold {
    /// As `--delta` takes it; `None` for the rule of the model.
    delta: Option<f64>,
    #[serde(flatten)]
    rates: Rates,
}

impl Threshold {
    fn line(&self) -> Vec<String> {
        let Rates { known_accuracy, false_unknown, false_known, .. } = self.rates;
        let name = self.delta.map_or_else(|| "as it is".to_owned(), |delta| format!("{delta:?}"));
        std::iter::once(name).chain([known_accuracy, false_unknown, false_known].map(rate)).collect()
    }
}

/// The thresholds at which these rows come to [`RATES`], and what `--delta` gives at each.
fn thresholds(evm: &Evm, answers: &Answers) -> Vec<Threshold> {
    let model = evm.params().tail_model;
    let supports = RATES.iter().filter_map(|&share| answers.threshold_for_false_unknowns(share));
    let mut deltas: Vec<f64> = supports.map(|support| three_digits(model.probability_at(support))).collect();
    deltas.dedup();
    let given = |delta: f64| {
        let rates = Rates::new(&answers.clone().with_threshold(model.support_at(delta)));
        Threshold { delta: Some(delta), rates }
    };
    deltas.into_iter().map(given).collect()
}

/// The first three digits, so that what a person types is what was measured.
fn three_digits(value: f64) -> f64 {
    let text = format!("{value:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let digits = &digits[..digits.len().min("0.00".len())];
    format!("{digits}e{exponent}").parse().unwrap_or(value)
}

/// Labels and classes that have nothing in common are hardly meant.
fn warn_of_other_classes(console: &Console, evm: &Evm, data: &Labelled) {
    let names = data.labels.names();
    if names.iter().any(|name| evm.class_index(name).is_some()) {
        return;
    }
    let first = |names: &mut dyn Iterator<Item = &str>| {
        let beginning = |name: &str| name.chars().take(40).collect::<String>();
        let shown: Vec<String> = names.take(3).map(|name| format!("{:?}", beginning(name))).collect();
        shown.join(", ")
    };
    console.warn(format!(
        "no label of {} is a class of the model, and every row counts as unknown: labels are {}, classes {}",
        data.origin.name(),
        first(&mut names.iter().map(String::as_str)),
        first(&mut evm.classes().map(|class| class.name))
    ));
}

/// The model beside rivals that were trained on the same rows.
fn standings(evm: &Evm, own: &Evaluation, (train, test): (&Labelled, &Labelled)) -> Result<String, Failure> {
    let metric = &evm.params().metric;
    let probe = Probe::fit(&interrupt::run(), metric, &train.features, &train.labels)
        .map_err(|error| train.failure(error))?;
    let (weights, intercepts) = (probe.weights(), probe.intercepts());
    let contest = Contest {
        metric,
        train: (&train.features, &train.labels),
        queries: &test.features,
        truth: &rivals::truth(&train.labels, &test.labels),
        linear: Some(Linear { weights: &weights, intercepts: &intercepts }),
    };
    let found =
        rivals::rivals(&contest, &Rival::ALL).map_err(|error| Failure::new(Kind::Data, error.to_string()))?;
    let classes = train.labels.names().len();
    let line = |name: String, found: &Evaluation| {
        let mut line = vec![name];
        line.extend([found.closed_accuracy, found.auroc, found.oscr, found.fpr95].map(rate));
        line
    };
    let mut lines = vec![line("this model".to_owned(), own)];
    lines.extend(found.iter().map(|(rival, answers)| line(rival.name(), &Evaluation::new(answers, classes))));
    Ok(table(&["", "accuracy on known", "AUROC", "OSCR", "FPR95"], lines))
}

/// The figures, named as in the open-set literature.
pub(crate) fn rows(evaluation: &Evaluation) -> Vec<Vec<String>> {
    let line = |name: &str, value: String| vec![name.to_owned(), value];
    vec![
        line("rows of known classes", evaluation.known.to_string()),
        line("rows of unknown classes", evaluation.unknown.to_string()),
        line("accuracy", rate(Some(evaluation.accuracy))),
        line("closed-set accuracy", rate(evaluation.closed_accuracy)),
        line("known rows accepted and right", rate(evaluation.known_accuracy)),
        line("known rows rejected", rate(evaluation.false_unknown)),
        line("unknown rows rejected", rate(evaluation.unknown_accuracy)),
        line("normalised accuracy", rate(evaluation.normalized_accuracy)),
        line("harmonic normalised accuracy", rate(evaluation.harmonic_normalized_accuracy)),
        line("F1, micro over known classes", rate(Some(evaluation.f1_micro))),
        line("F1, macro over known classes with rows here", rate(Some(evaluation.f1_macro))),
        line("AUROC, known against unknown", rate(evaluation.auroc)),
        line("OSCR", rate(evaluation.oscr)),
        line("FPR at 95 % TPR", rate(evaluation.fpr95)),
    ]
}
