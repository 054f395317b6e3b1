//! `evmachine doubt`

use std::path::PathBuf;

use clap::Args;
use evmachine::Decision;
use serde_json::json;

use crate::console::{Console, print, print_json, table};
use crate::data::DataArguments;
use crate::failure::Failure;
use crate::model;
use crate::rows::place;
use crate::text::bounded;
use crate::unknown::UnknownLabel;

/// Ask what decisions rest on: the training row that carried each, and what it would be without that row
///
/// `evmachine edit set-aside` takes such a row out of the model, and `evmachine edit restore` brings it back.
///
/// Example: evmachine doubt letters.safetensors test.csv --label 0
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The model.
    model: PathBuf,

    /// The queries.
    #[arg(required = true, value_name = "DATA")]
    data: Vec<PathBuf>,

    /// Print JSON.
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    unknown: UnknownLabel,

    #[command(flatten)]
    columns: DataArguments,
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<(), Failure> {
    let evm = model::load(&arguments.model)?;
    let queries = arguments.columns.read_unlabelled(console, &arguments.data, Some(&evm))?;
    let progress = console.progress();
    let doubts =
        evm.doubt_with(&console.run(&progress), &queries.features).map_err(|error| queries.failure(error))?;
    drop(progress);
    let label = |decision: &Decision| match decision.class() {
        Some(class) => evm.class_name(class).to_owned(),
        None => arguments.unknown.unknown_label.clone(),
    };
    if arguments.json {
        let said = doubts.iter().enumerate().map(|(row, doubt)| {
            json!({
                "row": queries.origin.numbers[row],
                "id": queries.origin.ids.as_ref().map(|ids| &ids[row]),
                "label": queries.labels.as_ref().map(|labels| &labels[row]),
                "class": label(&doubt.decision),
                "support": bounded(doubt.decision.support()),
                "p_value": doubt.decision.p_value(),
                "psi": doubt.decision.psi(),
                "carried_by": evm.origin(doubt.carrier.source),
                "distance": doubt.carrier.distance,
                "without": { "class": label(&doubt.without), "best": evm.class_name(doubt.without.best()),
                             "support": bounded(doubt.without.support()), "psi": doubt.without.psi() },
            })
        });
        print_json(&said.collect());
        return Ok(());
    }
    let named = [("id", &queries.origin.ids), ("label", &queries.labels)];
    let named: Vec<(&str, &Vec<String>)> =
        named.into_iter().filter_map(|(name, values)| Some((name, values.as_ref()?))).collect();
    let lines = doubts.iter().enumerate().map(|(row, doubt)| {
        let mut line = vec![queries.origin.numbers[row].to_string()];
        line.extend(named.iter().map(|(_, values)| values[row].clone()));
        line.extend([
            label(&doubt.decision),
            format!("{:.3}", doubt.decision.support()),
            place(&evm.origin(doubt.carrier.source)),
            format!("{:.4}", doubt.carrier.distance),
            label(&doubt.without),
            format!("{:.3}", doubt.without.support()),
        ]);
        line
    });
    let mut header = vec!["row"];
    header.extend(named.iter().map(|(name, _)| *name));
    header.extend(["class", "support", "carried by", "distance", "without", "support"]);
    print(table(&header, lines));
    Ok(())
}
