//! `evmachine suspects`

use std::collections::HashMap;
use std::path::PathBuf;

use clap::Args;
use evmachine::Suspect;
use evmachine_console::console::{Console, print, print_json, table};
use evmachine_console::data::{DataArguments, Labelled};
use evmachine_console::failure::Failure;
use serde_json::json;

use crate::fill::FillArguments;
use crate::parameters::{ParameterArguments, Preset};
use crate::unknown::UnknownLabel;

/// List training rows that are likely mislabelled or outliers, the most doubtful first, and say why
///
/// Every row is judged by a model that has not learned from it, so this takes the data and not a model, whose cover has dropped most
/// rows. `evmachine edit` takes the numbers and ids for a model that keeps the rows.
///
/// Example: evmachine suspects letters.csv --label 0 --count 10
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The labelled data, as for `evmachine train`.
    #[arg(required = true, value_name = "DATA")]
    data: Vec<PathBuf>,

    /// Print no more than so many.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    count: usize,

    #[command(flatten)]
    fill: FillArguments,

    /// Print JSON.
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    unknown: UnknownLabel,

    #[command(flatten)]
    columns: DataArguments,

    /// How the models that judge are trained: by the robust preset, unless another is given.
    #[command(flatten)]
    parameters: ParameterArguments,
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<(), Failure> {
    let params = arguments.parameters.build_from(console, Preset::Robust)?;
    let columns = DataArguments { fill: arguments.fill.rule, ..arguments.columns.learned_with(&params) };
    let data = columns.read_labelled(console, &arguments.data, None)?;
    arguments.unknown.check(&data.origin, &data.labels)?;
    warn_of_single_rows(console, &data);
    let progress = console.progress();
    let found = evmachine::suspects_with(&console.run(&progress), &params, &data.features, &data.labels)
        .map_err(|error| data.failure(error))?;
    drop(progress);
    let shown = &found[..found.len().min(arguments.count)];
    if arguments.json {
        print_json(&shown.iter().map(|suspect| said(&data, suspect)).collect());
    } else if !shown.is_empty() {
        print_table(&data, shown);
    }
    let more = if shown.len() < found.len() { "; --count shows more" } else { "" };
    console.say(format!("{} of {} rows are in doubt{more}", found.len(), data.labels.len()));
    Ok(())
}

fn warn_of_single_rows(console: &Console, data: &Labelled) {
    let mut rows: HashMap<u32, usize> = HashMap::new();
    for &class in data.labels.ids() {
        *rows.entry(class).or_default() += 1;
    }
    let single = rows.values().filter(|&&rows| rows == 1).count();
    if single > 0 {
        let total = data.labels.names().len();
        console.warn(format!("{single} of {total} classes have one row, which nothing can be said about"));
    }
}

fn print_table(data: &Labelled, suspects: &[Suspect]) {
    let labels = &data.labels;
    let origin = &data.origin;
    let lines = suspects.iter().map(|suspect| {
        let place = match origin.files.len() {
            1 => origin.numbers[suspect.row].to_string(),
            _ => origin.place(suspect.row),
        };
        let id = origin.ids.as_ref().map(|ids| ids[suspect.row].clone());
        let told = [labels.name(suspect.row).to_owned(), suspect.reason(labels)];
        std::iter::once(place).chain(id).chain(told).collect::<Vec<String>>()
    });
    match origin.ids {
        Some(_) => print(table(&["row", "id", "label", "why"], lines)),
        None => print(table(&["row", "label", "why"], lines)),
    }
}

fn said(data: &Labelled, suspect: &Suspect) -> serde_json::Value {
    let Labelled { origin, labels, .. } = data;
    let claim = suspect
        .claim
        .map(|claim| json!({ "class": labels.names()[claim.class], "probability": claim.probability }));
    json!({
        "row": origin.numbers[suspect.row],
        "file": origin.file(suspect.row).display().to_string(),
        "id": origin.ids.as_ref().map(|ids| &ids[suspect.row]),
        "label": labels.name(suspect.row),
        "probability": suspect.probability,
        "claim": claim,
        "lead": suspect.lead,
        "margin": suspect.margin,
        "status": suspect.status,
        "cover": suspect.cover,
        "why": suspect.reason(labels),
    })
}
