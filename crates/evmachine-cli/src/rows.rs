//! Rows that a model holds, as people name them.

use std::path::{Path, PathBuf};

use clap::Args;
use evmachine::{Evm, RowOrigin};
use evmachine_console::failure::{Failure, Kind};
use evmachine_console::text::counted;

/// Rows of a model, by the number that they had in their file or by id.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Rows")]
pub(crate) struct RowArguments {
    /// Numbers of rows in the file that they were learned from, from 1.
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',')]
    row: Vec<u64>,

    /// Ids of rows, as the column --id had them when they were learned; several with commas between them, where no row has the
    /// whole as its id. All rows with an id are meant.
    #[arg(long, value_name = "IDS")]
    id: Vec<String>,

    /// A text file with one id a line.
    #[arg(long, value_name = "FILE")]
    ids_from: Option<PathBuf>,

    /// The batch that --row counts in, by number from 1 or by the name of its file.
    #[arg(long, value_name = "BATCH")]
    batch: Option<String>,
}

impl RowArguments {
    /// The sources of the rows. A number that several batches have is an error.
    pub(crate) fn sources(&self, evm: &Evm) -> Result<Vec<u64>, Failure> {
        let batch = self.batch.as_deref().map(|batch| batch_number(evm, batch)).transpose()?;
        let mut sources = Vec::new();
        for &number in &self.row {
            let found = evm.sources_with_number(number, batch);
            match found[..] {
                [source] => sources.push(source),
                [] => return Err(missing_row(evm, number)),
                _ => {
                    let places: Vec<String> =
                        found.iter().map(|&source| place(&evm.origin(source))).collect();
                    return Err(Failure::new(
                        Kind::Usage,
                        format!(
                            "there are several rows {number}: {}; say which with --batch",
                            places.join("; ")
                        ),
                    ));
                }
            }
        }
        let listed = self.ids_from.as_deref().map(ids_of).transpose()?.unwrap_or_default();
        for given in &self.id {
            let whole = evm.sources_with_id(given);
            if whole.is_empty() && given.contains(',') {
                for id in given.split(',').filter(|id| !id.is_empty()) {
                    sources.extend(with_id(evm, id)?);
                }
            } else {
                sources.extend(with_id(evm, given)?);
            }
        }
        for id in &listed {
            sources.extend(with_id(evm, id)?);
        }
        if sources.is_empty() {
            let hint = "say which rows, with --row, --id or --ids-from";
            return Err(Failure::new(Kind::Usage, hint.to_owned()));
        }
        Ok(sources)
    }
}

fn with_id(evm: &Evm, id: &str) -> Result<Vec<u64>, Failure> {
    let found = evm.sources_with_id(id);
    if found.is_empty() { Err(missing_id(evm, id)) } else { Ok(found) }
}

fn missing_row(evm: &Evm, number: u64) -> Failure {
    let seen = evm.points_seen();
    let why = if (1..=seen).contains(&number) {
        DROPPED.to_owned()
    } else {
        format!("it was given {} in all", counted(seen, "row"))
    };
    missing(&format!("row {number}: {why}"))
}

fn missing_id(evm: &Evm, id: &str) -> Failure {
    let why = if evm.row_ids().is_empty() {
        "it knows no ids; they are those of the column --id in `evmachine train`".to_owned()
    } else if held(evm) == evm.points_seen() as usize {
        "it never had one".to_owned()
    } else {
        format!("it never had one, or {DROPPED}")
    };
    missing(&format!("a row with the id {id:?}: {why}"))
}

/// Rows that are still there, learned or not.
fn held(evm: &Evm) -> usize {
    let learned = evm.extreme_vector_count() + evm.ignored_count() + evm.denied_count();
    learned + evm.rows_aside().len() + evm.rows_held_out().count()
}

const DROPPED: &str = "its cover dropped it; `evmachine train --keep-all` makes a model that keeps every row";

fn missing(what: &str) -> Failure {
    Failure::new(Kind::Other, format!("the model does not hold {what}"))
        .hint("`evmachine rows MODEL` lists what it holds")
}

fn ids_of(path: &Path) -> Result<Vec<String>, Failure> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::new(Kind::Data, error.to_string()).about(path.display()))?;
    Ok(text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect())
}

fn batch_number(evm: &Evm, batch: &str) -> Result<usize, Failure> {
    let names: Vec<Option<&str>> = (1..=evm.batch_count()).map(|number| evm.batch_name(number)).collect();
    let by_name = names.iter().position(|name| *name == Some(batch)).map(|at| at + 1);
    let by_number = batch.parse().ok().filter(|number| (1..=names.len()).contains(number));
    by_name.or(by_number).ok_or_else(|| {
        let known: Vec<String> =
            names.iter().enumerate().map(|(at, name)| format!("{} {}", at + 1, name.unwrap_or(""))).collect();
        Failure::new(Kind::Usage, format!("there is no batch {batch:?}; the model has {}", known.join(", ")))
    })
}

/// Where a row came from, in words.
pub(crate) fn place(origin: &RowOrigin<'_>) -> String {
    let id = origin.id.map(|id| format!(" (id {id})")).unwrap_or_default();
    let batch = match (origin.batch_name, origin.batch) {
        (Some(name), _) => format!(" of {name}"),
        (None, Some(batch)) => format!(" of batch {batch}"),
        (None, None) => String::new(),
    };
    let time = origin.time.map(|time| format!(", {}", utc(time))).unwrap_or_default();
    format!("row {}{id}{batch}{time}", origin.number)
}

/// Seconds since 1970 as date and time, in the form of RFC 3339.
pub(crate) fn utc(seconds: i64) -> String {
    let (days, rest) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // Years begin in March here, so that a leap day ends them; 400 of them have 146,097 days.
    let shifted = days + 719_468;
    let (era, day) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, year) = if month < 10 { (month + 3, year) } else { (month - 9, year + 1) };
    let year = year + era * 400;
    let (hour, minute, second) = (rest / 3_600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_dates() {
        assert_eq!(utc(0), "1970-01-01T00:00:00Z");
        assert_eq!(utc(951_827_696), "2000-02-29T12:34:56Z");
        assert_eq!(utc(-1), "1969-12-31T23:59:59Z");
        assert_eq!(utc(1_700_000_000), "2023-11-14T22:13:20Z");
    }
}
