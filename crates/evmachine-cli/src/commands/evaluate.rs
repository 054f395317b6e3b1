//! `evmachine evaluate`

use std::path::PathBuf;
use std::slice::from_ref;

use clap::Args;
#[cfg(feature = "plot")]
use evmachine::CalibrateError;
use evmachine::{Decision, Evm, Probe, Rejection, Run, UnknownShare};
use evmachine_console::console::{Console, print, print_json, rate, table};
use evmachine_console::data::{DataArguments, Labelled};
use evmachine_console::failure::{Failure, Kind};
use evmachine_eval::evaluation::confusion;
use evmachine_eval::{Answers, Contest, Evaluation, Linear, Rates, Rival, rivals};
use serde::Serialize;

#[cfg(feature = "plot")]
use crate::calibration::diagram;
use crate::calibration::{Seen, reliability};
#[cfg(feature = "plot")]
use crate::picture;
use crate::rejection::ThresholdArguments;
use crate::{model, promised};

/// Measure a model on labelled rows; a class that it never saw counts as unknown
///
/// Says what was promised and what these rows show. The second table says what other thresholds would give on these rows, by their
/// support as `evmachine predict` shows it; `evmachine set --support` keeps one of them.
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
    threshold: ThresholdArguments,

    /// Print the confusion matrix too; rows are the truth, columns the answers.
    #[arg(long)]
    confusion: bool,

    /// Measure the rivals too: what a practitioner would use instead, trained on this file of labelled rows.
    #[arg(long, value_name = "TRAINING", conflicts_with = "json")]
    rivals: Option<PathBuf>,

    /// A reliability diagram to draw, .png or .svg; for a calibrated model.
    #[cfg(feature = "plot")]
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,

    /// Print JSON, with the confusion matrix and the table of thresholds.
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    columns: DataArguments,
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<(), Failure> {
    #[cfg(feature = "plot")]
    picture::check(arguments.plot.as_deref())?;
    let evm = model::load_to_decide(console, &arguments.model, &arguments.threshold)?;
    #[cfg(feature = "plot")]
    if arguments.plot.is_some() && evm.calibration().is_none() {
        return Err(CalibrateError::NotCalibrated.into());
    }
    let mut data = arguments.columns.read_labelled(console, &arguments.data, Some(&evm))?;
    warn_of_other_classes(console, &evm, &data);
    let progress = console.progress();
    let decisions = arguments
        .columns
        .attempt(console, &mut data, |data| evm.decide_with(&console.run(&progress), &data.features))?;
    drop(progress);
    let answers = Answers::of(&evm, &decisions, &data.labels);
    let classes = evm.classes().len();
    let evaluation = Evaluation::new(&answers, classes);
    let mut names: Vec<&str> = evm.classes().map(|class| class.name).collect();
    names.push("unknown");
    let mut lines = rows(&evaluation);
    let estimated = share_unknown(&evm, &decisions)?;
    if let Some(UnknownShare { share, error, .. }) = estimated {
        let (known, unknown) = (evaluation.known as f64, evaluation.unknown as f64);
        lines.push(vec!["share of unknown rows".to_owned(), rate(Some(unknown / (known + unknown)))]);
        let shown = format!("{share:.4} +- {error:.4}");
        lines.push(vec!["  as p-values alone estimate it".to_owned(), shown]);
    }
    if evm.calibration().is_some() {
        let unknown: Vec<usize> = (0..answers.len()).filter(|&row| answers.truth[row].is_none()).collect();
        let seen = Seen::new(
            &console.quiet_run(),
            &evm,
            &data.features,
            &data.labels,
            &data.features.select(&unknown),
        )?;
        lines.extend(reliability(&seen)?);
        #[cfg(feature = "plot")]
        if let Some(path) = &arguments.plot {
            picture::save(console, &diagram(&seen)?, path)?;
        }
    }
    let thresholds = thresholds(&evm, &answers);
    if arguments.json {
        print_json(&serde_json::json!({
            "evaluation": evaluation,
            "promise": evm.promise(),
            "measured": promised::measured(&evm.promise(), &answers),
            "share_unknown": estimated,
            "thresholds": thresholds,
            "classes": names,
            "confusion": confusion(&answers, classes),
        }));
        return Ok(());
    }
    print(table(&["", "value"], lines));
    print(format!("\npromised: {}", model::promise(&evm)));
    if let Some(measured) = promised::measured(&evm.promise(), &answers) {
        print(format!("measured: {measured}"));
    }
    let as_it_is = Threshold::line("as it is".to_owned(), "0", &Rates::new(&answers));
    let others = thresholds.iter().map(|one| {
        Threshold::line(format!("at most {}", one.rule), &format!("{:?}", one.support), &one.rates)
    });
    print(format!(
        "\n{}",
        table(
            &["on these rows", "support", "known named right", "known rejected", "unknown accepted"],
            std::iter::once(as_it_is).chain(others)
        )
    ));
    if let Some(path) = &arguments.rivals {
        let train = arguments.columns.read_labelled(console, from_ref(path), Some(&evm))?;
        print(format!("\n{}", standings(&console.quiet_run(), &evm, &evaluation, (&train, &data))?));
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

/// The estimated share of unknown rows; `None` without calibration or rows.
fn share_unknown(evm: &Evm, decisions: &[Decision]) -> Result<Option<UnknownShare>, Failure> {
    if evm.calibration().is_none() {
        return Ok(None);
    }
    let p_values: Vec<f64> = decisions.iter().filter_map(Decision::p_value).collect();
    Ok(evm.share_unknown(&p_values)?)
}

/// What the table has a threshold for.
const RULES: [Rejection; 7] = [
    Rejection::FalseUnknown(0.01),
    Rejection::FalseUnknown(0.05),
    Rejection::FalseUnknown(0.1),
    Rejection::FalseKnown(0.1),
    Rejection::FalseKnown(0.05),
    Rejection::FalseKnown(0.01),
    Rejection::FalseKnown(0.001),
];

/// A threshold, and what it gives.
#[derive(Serialize)]
struct Threshold {
    /// What it is for.
    rule: Rejection,
    /// As `evmachine set --support` takes it.
    support: f64,
    #[serde(flatten)]
    rates: Rates,
}

impl Threshold {
    fn line(name: String, support: &str, rates: &Rates) -> Vec<String> {
        let Rates { known_accuracy, false_unknown, false_known, .. } = *rates;
        let rates = [known_accuracy, false_unknown, false_known].map(rate);
        [name, support.to_owned()].into_iter().chain(rates).collect()
    }
}

/// The thresholds at which these rows keep to [`RULES`], lowest first, and what each gives.
fn thresholds(evm: &Evm, answers: &Answers) -> Vec<Threshold> {
    // Where classes have thresholds of their own, all of them are moved alike.
    let own = |row: usize| evm.threshold_of(answers.best[row]);
    let above = |score: f64, threshold: f64| if score == threshold { 0.0 } else { score - threshold };
    let mut supports = answers.clone();
    for row in 0..answers.len() {
        supports.score[row] = above(answers.score[row], own(row));
    }
    let found = RULES.into_iter().filter_map(|rule| {
        let (exact, is_up) = match rule {
            Rejection::FalseKnown(share) => (supports.threshold_for_false_knowns(share)?, true),
            rule => (supports.threshold_for_false_unknowns(rule.value())?, false),
        };
        let support = if exact.is_finite() { few_digits(exact, is_up) } else { return None };
        let mut given = answers.clone();
        for row in 0..answers.len() {
            given.accepted[row] = answers.score[row] >= own(row) + support;
        }
        Some(Threshold { rule, support, rates: Rates::new(&given) })
    });
    let mut found: Vec<Threshold> = found.collect();
    found.sort_by(|a, b| a.support.total_cmp(&b.support));
    found
}

/// The next number, up or down, that has three digits after the point, or four in all where that is more, so that what a person types
/// is what was measured.
fn few_digits(value: f64, is_up: bool) -> f64 {
    if value == 0.0 {
        return 0.0;
    }
    let decimals = (3 - value.abs().log10().floor() as i32).clamp(3, 300);
    let unit = 10f64.powi(decimals);
    let whole = if is_up { (value * unit).ceil() } else { (value * unit).floor() };
    format!("{:.*}", decimals as usize, whole / unit).parse().unwrap_or(value)
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
fn standings(
    run: &Run<'_>,
    evm: &Evm,
    own: &Evaluation,
    (train, test): (&Labelled, &Labelled),
) -> Result<String, Failure> {
    let metric = &evm.params().metric;
    let probe =
        Probe::fit_with(run, metric, &train.features, &train.labels).map_err(|error| train.failure(error))?;
    let (weights, intercepts) = (probe.weights(), probe.intercepts());
    let contest = Contest {
        metric,
        train: (&train.features, &train.labels),
        queries: &test.features,
        truth: &rivals::truth(&train.labels, &test.labels),
        linear: Some(Linear { weights: &weights, intercepts: &intercepts }),
    };
    let found = rivals::rivals_with(run, &contest, &Rival::ALL).map_err(|error| match error.run_error() {
        Some(run) => Failure::from(run.clone()),
        None => Failure::new(Kind::Data, error.to_string()),
    })?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threshold_is_typed_with_few_digits_on_the_side_that_keeps_to_the_rule() {
        assert_eq!(few_digits(1.234_56, true), 1.235);
        assert_eq!(few_digits(1.234_56, false), 1.234);
        assert_eq!(few_digits(-1.234_56, true), -1.234);
        assert_eq!(few_digits(0.000_123_456, true), 0.000_123_5);
        assert_eq!(few_digits(-4_321.987_65, false), -4_321.988);
        assert_eq!(few_digits(0.0, true), 0.0);
    }
}
