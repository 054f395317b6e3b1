//! `evmachine doubt`

use std::path::PathBuf;

use clap::Args;
use evmachine::{Answer, Prior};
use evmachine_console::console::{Console, print, print_json, table};
use evmachine_console::data::DataArguments;
use evmachine_console::failure::Failure;
use serde_json::json;

use crate::model;
use crate::rows::place;
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
    let doubts = evm
        .named_doubt_with(&console.run(&progress), &queries.features, Prior::EVEN)
        .map_err(|error| queries.failure(error))?;
    drop(progress);
    let label =
        |answer: &Answer| answer.class.clone().unwrap_or_else(|| arguments.unknown.unknown_label.clone());
    if arguments.json {
        let said = doubts.iter().enumerate().map(|(row, doubt)| {
            let mut said = json!(doubt);
            said["row"] = json!(queries.origin.numbers[row]);
            said["id"] = json!(queries.origin.ids.as_ref().map(|ids| &ids[row]));
            said["label"] = json!(queries.labels.as_ref().map(|labels| &labels[row]));
            said
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
            label(&doubt.answer),
            format!("{:.3}", doubt.answer.support),
            place(&evm.origin(doubt.because.row.source)),
            format!("{:.4}", doubt.because.distance),
            label(&doubt.without),
            format!("{:.3}", doubt.without.support),
        ]);
        line
    });
    let mut header = vec!["row"];
    header.extend(named.iter().map(|(name, _)| *name));
    header.extend(["class", "support", "carried by", "distance", "without", "support"]);
    print(table(&header, lines));
    Ok(())
}
