//! `evmachine migrate`

use std::collections::HashMap;
use std::path::PathBuf;
use std::slice::from_ref;

use clap::Args;
use evmachine::{Evm, MigrationReport, NewVectors};
use evmachine_console::console::{Console, print};
use evmachine_console::data::{DataArguments, Unlabelled, feature_names};
use evmachine_console::failure::{Failure, Kind};
use evmachine_console::hint::Hint;
use evmachine_console::text::counted;

use crate::{files, model};

/// Ids that are listed one by one.
const LISTED: usize = 20;

/// Take a model to the vectors of another encoder: the same rows, by their ids
///
/// Classes, corrected labels, ignored samples, vectors that are not of a class, rows set aside, ids and batches are kept; margins,
/// witnesses and threshold are learned from the new vectors, by the parameters of the model. Rows that its cover dropped are not
/// known to it any more; a model trained with --keep-all has all of them.
///
/// Example: evmachine migrate faces.safetensors faces-2.csv --id image --drop class --encoder clip@2 -o faces-2.safetensors
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The model.
    model: PathBuf,

    /// The new vectors, with the ids of the rows that the model was trained on.
    data: PathBuf,

    /// The model file to write.
    #[arg(short, long, value_name = "MODEL")]
    output: PathBuf,

    /// The vectors of the old encoder, of any rows that are among the new ones by --id: shows which decisions change.
    #[arg(long, value_name = "FILE")]
    compare: Option<PathBuf>,

    #[command(flatten)]
    columns: DataArguments,
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<(), Failure> {
    files::refuse_over(&arguments.output, [&arguments.data].into_iter().chain(&arguments.compare))?;
    files::refuse_nowhere(&arguments.output)?;
    let (evm, _held) = model::load_to_change(console, &arguments.model, &arguments.output)?;
    let columns = &arguments.columns;
    // The new space is another one: neither its columns nor its encoder are those of the model.
    let data = columns.read_unlabelled(console, from_ref(&arguments.data), None)?;
    let ids = ids_of(&data)?;
    let new = NewVectors { ids, features: &data.features, encoder: columns.encoder.as_ref() };
    let progress = console.progress();
    let (mut migrated, report) =
        evm.migrated_with(&console.run(&progress), &new).map_err(|error| data.failure(error))?;
    drop(progress);
    migrated.set_feature_names(feature_names(&data.schema))?;
    say(console, &migrated, &report);
    if let Some(path) = &arguments.compare {
        let old = DataArguments { encoder: None, ..columns.clone() };
        let old = old.read_unlabelled(console, from_ref(path), Some(&evm))?;
        compare(console, (&evm, &old), (&migrated, &data))?;
    }
    model::save(&migrated, &arguments.output)?;
    model::say_promise(console, &migrated);
    console.say(format!("model written to {}", arguments.output.display()));
    Ok(())
}

/// The ids of rows, by which those of a model are found.
pub(crate) fn ids_of(data: &Unlabelled) -> Result<&[String], Failure> {
    data.origin.ids.as_deref().ok_or_else(|| {
        Failure::new(Kind::Usage, "rows are found by their ids, and no column of them was named")
            .hint(Hint::flags(&["id"], "name it with --id COLUMN"))
    })
}

fn say(console: &Console, migrated: &Evm, report: &MigrationReport) {
    console.say(format!(
        "{} found; {}, {} of {}",
        counted(report.rows as u64, "row"),
        counted(migrated.dimensions() as u64, "feature"),
        counted(migrated.extreme_vector_count() as u64, "extreme vector"),
        counted(migrated.classes().len() as u64, "class")
    ));
    if report.unchanged {
        console.say("no vector is another one; the Psi-models are those that were there");
    }
    if !report.missing.is_empty() {
        let shown = report.missing.iter().take(LISTED).map(String::as_str).collect::<Vec<_>>().join(", ");
        let more = report.missing.len().saturating_sub(LISTED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        console.warn(format!(
            "{} of the model have no new vector, and are left out: {shown}{more}",
            counted(report.missing.len() as u64, "row")
        ));
    }
    if report.without_id > 0 {
        console.warn(format!(
            "{} of the model have no id, and are left out",
            counted(report.without_id as u64, "row")
        ));
    }
    if report.dropped > 0 && !report.unchanged {
        console.warn(format!(
            "{} that the model once learned were dropped by its cover, and are not there to be learned again",
            counted(report.dropped, "row")
        ));
    }
    if !report.ended_classes.is_empty() {
        console.warn(format!("classes without any row left: {}", report.ended_classes.join(", ")));
    }
}

/// Says which rows, known to both by their ids, are decided differently.
fn compare(
    console: &Console,
    (evm, old): (&Evm, &Unlabelled),
    (migrated, new): (&Evm, &Unlabelled),
) -> Result<(), Failure> {
    let places: HashMap<&str, usize> =
        ids_of(new)?.iter().enumerate().map(|(row, id)| (id.as_str(), row)).collect();
    let pairs = ids_of(old)?.iter().enumerate();
    let pairs: Vec<(&String, usize, usize)> =
        pairs.filter_map(|(row, id)| Some((id, row, *places.get(id.as_str())?))).collect();
    let (rows, others): (Vec<usize>, Vec<usize>) = pairs.iter().map(|(_, row, other)| (*row, *other)).unzip();
    let progress = console.progress();
    let run = console.run(&progress);
    let before = evm.decide_with(&run, &old.features.select(&rows)).map_err(|error| old.failure(error))?;
    let after =
        migrated.decide_with(&run, &new.features.select(&others)).map_err(|error| new.failure(error))?;
    drop(progress);
    let mut changed = 0;
    for ((id, ..), (before, after)) in pairs.iter().zip(before.iter().zip(&after)) {
        let (before, after) =
            (evm.name_of(before).unwrap_or("unknown"), migrated.name_of(after).unwrap_or("unknown"));
        if before != after {
            changed += 1;
            print(format!("{id}: {before} -> {after}"));
        }
    }
    console.say(format!("{changed} of {} rows are decided differently", pairs.len()));
    Ok(())
}
