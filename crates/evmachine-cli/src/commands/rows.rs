//! `evmachine rows`

use std::path::PathBuf;

use clap::Args;
use evmachine::{Evm, RowOrigin};
use evmachine_console::console::{print, print_json, table};
use evmachine_console::failure::{Failure, Kind};
use serde_json::json;

use crate::model;
use crate::rows::utc;

/// List the rows that a model holds: extreme vectors, ignored samples, vectors that are not of a class, rows set aside and rows held out of training
///
/// Rows held out were never learned: the threshold is set on them. `evmachine edit` reaches them like others.
///
/// Example: evmachine rows letters.safetensors --class A
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The model.
    model: PathBuf,

    /// Rows of this class alone.
    #[arg(long, value_name = "CLASS")]
    class: Option<String>,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// A row and what it is to the model.
struct Held<'a> {
    origin: RowOrigin<'a>,
    class: Option<&'a str>,
    part: &'static str,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let evm = model::load(&arguments.model)?;
    let wanted = match &arguments.class {
        Some(name) => Some(evm.class_index(name).map(|class| evm.class_name(class)).ok_or_else(|| {
            Failure::new(Kind::Usage, format!("the model has no class {name:?}"))
                .hint("`evmachine inspect MODEL` lists the classes")
        })?),
        None => None,
    };
    let rows: Vec<Held<'_>> =
        held(&evm).into_iter().filter(|row| wanted.is_none() || row.class == wanted).collect();
    if arguments.json {
        let rows = rows.iter().map(|row| json!({ "part": row.part, "class": row.class, "row": row.origin }));
        print_json(&rows.collect());
        return Ok(());
    }
    let text = |value: Option<&str>| value.unwrap_or("-").to_owned();
    let lines = rows.iter().map(|Held { origin, class, part }| {
        let batch = origin.batch_name.map(str::to_owned).or(origin.batch.map(|batch| batch.to_string()));
        vec![
            origin.number.to_string(),
            text(origin.id),
            text(*class),
            (*part).to_owned(),
            text(batch.as_deref()),
            text(origin.time.map(utc).as_deref()),
        ]
    });
    print(table(&["row", "id", "class", "part", "batch", "time"], lines));
    Ok(())
}

fn held(evm: &Evm) -> Vec<Held<'_>> {
    let extreme = evm.extreme_vectors().map(|vector| Held {
        origin: evm.origin(vector.source),
        class: Some(evm.class_name(vector.class)),
        part: "extreme vector",
    });
    let ignored = evm.ignored_sources().iter().map(|&source| Held {
        origin: evm.origin(source),
        class: None,
        part: "ignored",
    });
    let aside = evm.rows_aside().map(|row| Held {
        origin: evm.origin(row.source),
        class: Some(row.class),
        part: "set aside",
    });
    let held_out = evm.rows_held_out().map(|row| Held {
        origin: evm.origin(row.source),
        class: Some(row.class),
        part: "held out",
    });
    let denied = evm.denials().map(|denial| Held {
        origin: evm.origin(denial.source),
        class: Some(evm.class_name(denial.class)),
        part: "not of it",
    });
    extreme.chain(ignored).chain(denied).chain(aside).chain(held_out).collect()
}
