//! `evmachine evaluate`

use std::path::PathBuf;
use std::slice::from_ref;

use clap::Args;
use evmachine::{CalibrateError, Evm, Probe};
use evmachine_eval::evaluation::confusion;
use evmachine_eval::{Answers, Contest, Evaluation, Linear, Rival, rivals};

use crate::calibration::{Seen, diagram, reliability};
use crate::console::{Console, print, rate, table};
use crate::data::{DataArguments, Labelled};
use crate::failure::{Failure, Kind};
use crate::rejection::RejectionArguments;
use crate::{interrupt, model};

/// Measure a model on labelled rows; a class that it never saw counts as unknown
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
    #[arg(long, value_name = "TRAINING")]
    rivals: Option<PathBuf>,

    /// A reliability diagram to draw, .png or .svg; for a calibrated model.
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,

    /// Print JSON, with the confusion matrix.
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    columns: DataArguments,
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<(), Failure> {
    let evm = model::load_to_decide(&arguments.model, &arguments.rejection)?;
    let data = arguments.columns.read_labelled(console, &arguments.data, Some(&evm))?;
    warn_of_other_classes(console, &evm, &data);
    let progress = console.progress();
    let answers = Answers::ask(&console.run(&progress), &evm, &data.features, &data.labels)
        .map_err(|error| data.failure(error))?;
    drop(progress);
    let classes = evm.classes().len();
    let evaluation = Evaluation::new(&answers, classes);
    let mut names: Vec<&str> = evm.classes().map(|class| class.name).collect();
    names.push("unknown");
    if arguments.json {
        let matrix = confusion(&answers, classes);
        let json = serde_json::json!({ "evaluation": evaluation, "classes": names, "confusion": matrix });
        print(format!("{json:#}"));
        return Ok(());
    }
    let mut lines = rows(&evaluation);
    if evm.calibration().is_some() {
        let unknown: Vec<usize> = (0..answers.len()).filter(|&row| answers.truth[row].is_none()).collect();
        let seen = Seen::new(&evm, &data.features, &data.labels, &data.features.select(&unknown))?;
        lines.extend(reliability(&seen)?);
        if let Some(path) = &arguments.plot {
            diagram(&seen)?.save(path)?;
            console.say(format!("picture written to {}", path.display()));
        }
    } else if arguments.plot.is_some() {
        return Err(CalibrateError::NotCalibrated.into());
    }
    print(table(&["", "value"], lines));
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
        line("unknown rows rejected", rate(evaluation.unknown_accuracy)),
        line("normalised accuracy", rate(evaluation.normalized_accuracy)),
        line("harmonic normalised accuracy", rate(evaluation.harmonic_normalized_accuracy)),
        line("F1, micro over known classes", rate(Some(evaluation.f1_micro))),
        line("F1, macro over known classes", rate(Some(evaluation.f1_macro))),
        line("AUROC, known against unknown", rate(evaluation.auroc)),
        line("OSCR", rate(evaluation.oscr)),
        line("FPR at 95 % TPR", rate(evaluation.fpr95)),
    ]
}
