//! Rows that a model holds, as people name them.

use std::collections::HashMap;

use evmachine::{Evm, RowNames, RowOrigin};
use pyo3::prelude::*;

use crate::failure;
use crate::model::Model;

/// Source, number, id, batch, name of the batch, seconds since 1970.
pub(crate) type OriginRow = (u64, u64, Option<String>, Option<usize>, Option<String>, Option<i64>);
/// Where it came from, its class, what it is in the model.
type HeldRow = (OriginRow, Option<String>, &'static str);
/// What rows are called together, when they came, the id of each.
pub(crate) type Names = (Option<String>, Option<i64>, Option<Vec<String>>);

pub(crate) fn origin(evm: &Evm, source: u64) -> OriginRow {
    let RowOrigin { number, id, batch, batch_name, time, .. } = evm.origin(source);
    (source, number, id.map(str::to_owned), batch, batch_name.map(str::to_owned), time)
}

/// Names the rows from the source `first` on, where anything is said of them.
pub(crate) fn name(evm: &mut Evm, first: u64, count: usize, names: Names) -> PyResult<()> {
    let (batch, time, ids) = names;
    if batch.is_none() && time.is_none() && ids.is_none() {
        return Ok(());
    }
    let names = RowNames { batch, time, numbers: None, ids };
    evm.name_rows(first, count as u64, names).map_err(failure::value)
}

/// All rows of which there is a vector: source, class, part.
fn held(evm: &Evm) -> impl Iterator<Item = (u64, Option<&str>, &'static str)> {
    let extreme = evm
        .extreme_vectors()
        .map(|vector| (vector.source, Some(evm.class_name(vector.class)), "extreme vector"));
    let held_out = evm.rows_held_out().map(|row| (row.source, Some(row.class), "held out"));
    let ignored = evm.ignored_sources().iter().map(|&source| (source, None, "ignored"));
    let aside = evm.rows_aside().map(|row| (row.source, Some(row.class), ASIDE));
    let denied = evm.denials().map(|denial| (denial.source, Some(evm.class_name(denial.class)), "not of it"));
    extreme.chain(held_out).chain(ignored).chain(denied).chain(aside)
}

const ASIDE: &str = "set aside";

/// What the model holds, of one class or at all.
#[pyfunction]
pub(crate) fn held_rows(model: &Model, name: Option<&str>) -> Vec<HeldRow> {
    held(&model.evm)
        .filter(|(_, own, _)| name.is_none() || *own == name)
        .map(|(source, own, part)| (origin(&model.evm, source), own.map(str::to_owned), part))
        .collect()
}

/// A batch by its number, from 1, or by name, which several may have.
#[derive(FromPyObject)]
pub(crate) enum BatchName {
    Number(usize),
    Name(String),
}

impl BatchName {
    fn is_of(&self, origin: &RowOrigin<'_>) -> bool {
        match self {
            BatchName::Number(number) => origin.batch == Some(*number),
            BatchName::Name(name) => origin.batch_name == Some(name),
        }
    }

    /// Refuses what the model never heard of.
    fn check(&self, evm: &Evm) -> PyResult<()> {
        let count = evm.batch_count();
        let (there, shown) = match self {
            BatchName::Number(number) => ((1..=count).contains(number), number.to_string()),
            BatchName::Name(name) => {
                ((1..=count).any(|number| evm.batch_name(number) == Some(name)), format!("{name:?}"))
            }
        };
        if there {
            return Ok(());
        }
        let known = (1..=count).map(|number| match evm.batch_name(number) {
            Some(name) => format!("{number} ({name:?})"),
            None => number.to_string(),
        });
        let known = known.collect::<Vec<_>>().join(", ");
        let known = if known.is_empty() { "none that was named".to_owned() } else { known };
        Err(failure::value(format!("there is no batch {shown}; the model has {known}")))
    }
}

/// Sources of rows by number, by source and by id, or of a whole batch: among rows that are set aside, or among the others.
#[pyfunction]
pub(crate) fn find_rows(
    model: &Model,
    numbers: Vec<u64>,
    sources: Vec<u64>,
    ids: Vec<String>,
    batch: Option<BatchName>,
    aside: bool,
) -> PyResult<Vec<u64>> {
    let evm = &model.evm;
    if let Some(batch) = &batch {
        batch.check(evm)?;
    }
    let (mut meant, mut others) = (Vec::new(), Vec::new());
    for (source, _, part) in held(evm) {
        let origin = evm.origin(source);
        if batch.as_ref().is_none_or(|batch| batch.is_of(&origin)) {
            if aside == (part == ASIDE) { meant.push(origin) } else { others.push(origin) }
        }
    }
    if numbers.is_empty() && sources.is_empty() && ids.is_empty() {
        return Ok(meant.iter().map(|origin| origin.source).collect());
    }
    let missing = |what: String, elsewhere: bool| {
        failure::value(match (aside, elsewhere) {
            (true, _) => format!("{what} is not set aside; rows() lists what is"),
            (false, true) => format!("{what} is set aside; restore it first"),
            (false, false) => format!(
                "the model does not hold {what}: it keeps extreme vectors, which cover_threshold=1 makes of every row that is \
                 learned, and rows held out; rows() lists them"
            ),
        })
    };
    let mut found = Vec::new();
    let by_number = group(&meant, |origin| Some(origin.number));
    for number in numbers {
        match by_number.get(&number).map(Vec::as_slice) {
            Some([one]) => found.push(one.source),
            Some(several) => {
                let places: Vec<String> = several.iter().map(|origin| place(origin)).collect();
                return Err(failure::value(format!(
                    "there are several rows {number}: {}; say which with batch=, ids= or the row itself",
                    places.join("; ")
                )));
            }
            None => {
                let elsewhere = others.iter().any(|origin| origin.number == number);
                return Err(missing(format!("row {number}"), elsewhere));
            }
        }
    }
    let by_source = group(&meant, |origin| Some(origin.source));
    for source in sources {
        if !by_source.contains_key(&source) {
            let elsewhere = others.iter().any(|origin| origin.source == source);
            return Err(missing(place(&evm.origin(source)), elsewhere));
        }
        found.push(source);
    }
    let by_id = group(&meant, |origin| origin.id);
    for id in &ids {
        let Some(rows) = by_id.get(id.as_str()) else {
            let elsewhere = others.iter().any(|origin| origin.id == Some(id));
            return Err(missing(format!("a row with the id {id:?}"), elsewhere));
        };
        found.extend(rows.iter().map(|origin| origin.source));
    }
    Ok(found)
}

fn group<'a, 'b, K: std::hash::Hash + Eq>(
    rows: &'b [RowOrigin<'a>],
    key: impl Fn(&RowOrigin<'a>) -> Option<K>,
) -> HashMap<K, Vec<&'b RowOrigin<'a>>> {
    let mut groups: HashMap<K, Vec<&RowOrigin<'_>>> = HashMap::new();
    for row in rows {
        if let Some(key) = key(row) {
            groups.entry(key).or_default().push(row);
        }
    }
    groups
}

/// Where a row came from, in words.
fn place(origin: &RowOrigin<'_>) -> String {
    let id = origin.id.map(|id| format!(" (id {id:?})")).unwrap_or_default();
    let batch = match (origin.batch, origin.batch_name) {
        (_, Some(name)) => format!(" of batch {name:?}"),
        (Some(batch), None) => format!(" of batch {batch}"),
        (None, None) => String::new(),
    };
    format!("row {}{id}{batch}", origin.number)
}
