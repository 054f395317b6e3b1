//! From the columns asked for to the columns there are.

use std::collections::HashMap;

use crate::brief::brief;
use crate::error::DataError;
use crate::options::{ColumnRef, ReadOptions};

/// The most columns a file may have; a guard against damaged headers and mistyped indexes.
pub(crate) const COLUMN_LIMIT: u64 = 1 << 20;

/// The longest name that another one is compared with: the work grows with the product of the lengths.
const COMPARED_LENGTH: usize = 200;
/// The most names that a mistyped one is compared with.
const COMPARED: usize = 10_000;
/// What columns are that are kept as text.
const KEPT: &str = "a column to keep";

/// Which column of a file serves which purpose, by numbers from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) features: Vec<usize>,
    pub(crate) label: Option<usize>,
    pub(crate) id: Option<usize>,
    /// Columns that are kept as text.
    pub(crate) kept: Vec<usize>,
    /// Columns that would be features but for being the index of a data frame.
    pub(crate) indexes: Vec<usize>,
}

impl Plan {
    /// Finds the columns the options ask for in a file that names none; `names` are those to call them by.
    pub(crate) fn resolve(file: &str, names: &[String], options: &ReadOptions) -> Result<Self, DataError> {
        Self::build(file, names, &[], &[], options)
    }

    /// Finds the columns the options ask for among `names`, which must be unlike each other, and those they expect.
    /// `indexes` look like the index of a data frame.
    pub(crate) fn by_name(
        file: &str,
        names: &[String],
        indexes: &[usize],
        options: &ReadOptions,
    ) -> Result<Self, DataError> {
        Self::build(file, names, indexes, options.wanted_names(), options)
    }

    fn build(
        file: &str,
        names: &[String],
        indexes: &[usize],
        expected: &[String],
        options: &ReadOptions,
    ) -> Result<Self, DataError> {
        check_count(file, names.len() as u64)?;
        let table = Table::new(file, names)?;
        let label = table.one("the label", options.label.as_ref())?;
        let id = table.one("the id", options.id.as_ref())?;
        if let Some(both) = label.filter(|_| label == id) {
            return Err(table.conflict(both, "the label", "the id"));
        }
        let mut kept: Vec<usize> = Vec::with_capacity(options.kept.len());
        for column in &options.kept {
            let Some(column) = table.one(KEPT, Some(column))? else { continue };
            for (other, purpose) in [(label, "the label"), (id, "the id")] {
                if other == Some(column) {
                    return Err(table.conflict(column, purpose, KEPT));
                }
            }
            if kept.contains(&column) {
                return Err(table.conflict(column, KEPT, "another one"));
            }
            kept.push(column);
        }
        let mut dropped = vec![false; names.len()];
        for column in table.many(&options.drop)? {
            dropped[column] = true;
        }
        let mut taken = dropped.clone();
        let named = [(label, "the label"), (id, "the id")].map(|(column, purpose)| Some((column?, purpose)));
        let named = named.into_iter().flatten().chain(kept.iter().map(|&column| (column, KEPT)));
        for (column, purpose) in named {
            if dropped[column] {
                return Err(table.conflict(column, purpose, "one to drop"));
            }
            taken[column] = true;
        }
        let by_default = options.features.is_empty() && expected.is_empty();
        let mut indexes = indexes.to_vec();
        indexes.retain(|&column| by_default && !taken[column]);
        for &column in &indexes {
            taken[column] = true;
        }
        let features = if by_default {
            (0..names.len()).filter(|&column| !taken[column]).collect()
        } else {
            let mut chosen = Vec::new();
            let asked =
                if expected.is_empty() { table.many(&options.features)? } else { table.all(expected)? };
            for column in asked {
                if Some(column) == label || Some(column) == id {
                    let purpose = if Some(column) == label { "the label" } else { "the id" };
                    return Err(table.conflict(column, purpose, "a feature"));
                }
                if kept.contains(&column) {
                    return Err(table.conflict(column, KEPT, "a feature"));
                }
                if dropped[column] && !expected.is_empty() {
                    return Err(table.conflict(column, "one to drop", "a feature"));
                }
                if !taken[column] {
                    taken[column] = true;
                    chosen.push(column);
                }
            }
            chosen
        };
        if features.is_empty() {
            return Err(DataError::NoFeatures { file: file.to_owned() });
        }
        Ok(Self { features, label, id, kept, indexes })
    }

    /// Whether the features are all columns of the file, in order.
    pub(crate) fn is_everything(&self, columns: usize) -> bool {
        self.features.len() == columns
            && self.features.iter().enumerate().all(|(index, &column)| index == column)
    }
}

/// Refuses files with more columns than any feature vector has.
pub(crate) fn check_count(file: &str, columns: u64) -> Result<(), DataError> {
    if columns > COLUMN_LIMIT {
        return Err(DataError::TooManyColumns { file: file.to_owned(), columns, limit: COLUMN_LIMIT });
    }
    Ok(())
}

/// The name of a column that has none.
pub(crate) fn numbered_name(column: usize) -> String {
    format!("column_{column}")
}

/// Names for a file that has none.
pub(crate) fn numbered_names(count: usize) -> Vec<String> {
    (0..count).map(numbered_name).collect()
}

struct Table<'a> {
    file: &'a str,
    names: &'a [String],
    numbers: HashMap<&'a str, usize>,
}

impl<'a> Table<'a> {
    fn new(file: &'a str, names: &'a [String]) -> Result<Self, DataError> {
        let mut numbers = HashMap::with_capacity(names.len());
        for (second, name) in names.iter().enumerate() {
            if let Some(first) = numbers.insert(name.as_str(), second) {
                return Err(DataError::DuplicateColumn {
                    file: file.to_owned(),
                    column: name.clone(),
                    first,
                    second,
                });
            }
        }
        Ok(Self { file, names, numbers })
    }

    fn one(&self, purpose: &'static str, column: Option<&ColumnRef>) -> Result<Option<usize>, DataError> {
        match column {
            None => Ok(None),
            Some(range @ ColumnRef::Range { .. }) => {
                Err(DataError::RangeForOne { file: self.file.to_owned(), purpose, range: range.to_string() })
            }
            Some(single) => Ok(self.find(single)?.next()),
        }
    }

    fn many(&self, columns: &[ColumnRef]) -> Result<Vec<usize>, DataError> {
        let mut found = Vec::new();
        for column in columns {
            found.extend(self.find(column)?);
        }
        Ok(found)
    }

    /// The columns of a model, all of which must be there.
    fn all(&self, expected: &[String]) -> Result<Vec<usize>, DataError> {
        let found: Vec<usize> =
            expected.iter().filter_map(|name| self.numbers.get(name.as_str()).copied()).collect();
        if found.len() == expected.len() {
            return Ok(found);
        }
        let missing: Vec<String> =
            expected.iter().filter(|name| !self.numbers.contains_key(name.as_str())).cloned().collect();
        Err(DataError::MissingFeatures {
            file: self.file.to_owned(),
            count: missing.len(),
            missing: quoted(&missing),
            known: listing("its columns are", self.names),
        })
    }

    fn find(&self, column: &ColumnRef) -> Result<std::ops::Range<usize>, DataError> {
        let count = self.names.len();
        let from_end = |number: i64| {
            let magnitude = usize::try_from(number.unsigned_abs()).ok()?;
            if number < 0 { count.checked_sub(magnitude) } else { Some(magnitude) }
        };
        let range = match column {
            ColumnRef::Name(name) => self.numbers.get(name.as_str()).map(|&number| number..number + 1),
            ColumnRef::Number(number) => from_end(*number).map(|start| start..start.saturating_add(1)),
            ColumnRef::Range { start, end } => {
                let start = start.map_or(Some(0), from_end);
                start.zip(end.map_or(Some(count), from_end)).map(|(start, end)| start..end)
            }
        };
        range.filter(|range| !range.is_empty() && range.end <= count).ok_or_else(|| self.unknown(column))
    }

    fn unknown(&self, column: &ColumnRef) -> DataError {
        let (known, closest) = match column {
            ColumnRef::Name(name) => (listing("its columns are", self.names), closest(name, self.names)),
            _ => (format!("it has {} columns, numbered from 0", self.names.len()), None),
        };
        DataError::UnknownColumn { file: self.file.to_owned(), column: column.to_string(), known, closest }
    }

    fn conflict(&self, column: usize, one: &'static str, other: &'static str) -> DataError {
        DataError::ColumnConflict {
            file: self.file.to_owned(),
            column: self.names[column].clone(),
            one,
            other,
        }
    }
}

/// The column of vectors `v` where names are `v_0`, `v_1` and so on, and no column is called `v_0`.
pub(crate) fn vector_column(names: &[String], expected: &[String]) -> Option<String> {
    let vector = expected.first()?.strip_suffix("_0")?;
    let counts = expected.iter().enumerate().all(|(element, name)| *name == format!("{vector}_{element}"));
    let among = |name: &str| names.iter().any(|known| known == name);
    (counts && among(vector) && !among(&expected[0])).then(|| vector.to_owned())
}

/// A phrase that lists the first names.
pub(crate) fn listing(introduction: &str, names: &[String]) -> String {
    format!("{introduction} {}", quoted(names))
}

fn quoted(names: &[String]) -> String {
    const SHOWN: usize = 20;
    let quoted: Vec<String> = names.iter().take(SHOWN).map(|name| format!("`{}`", brief(name))).collect();
    let more = match names.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", quoted.join(", "))
}

/// The name fewest edits away, if no more than a third of it would have to change.
pub(crate) fn closest(wanted: &str, names: &[String]) -> Option<String> {
    let wanted = wanted.to_lowercase();
    let limit = (wanted.chars().count() / 3).max(1);
    if wanted.len() > COMPARED_LENGTH {
        return None;
    }
    let near = names
        .iter()
        .filter(|name| name.len() <= COMPARED_LENGTH)
        .take(COMPARED)
        .map(|name| (strsim::levenshtein(&wanted, &name.to_lowercase()), name));
    near.filter(|&(distance, _)| distance <= limit)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, name)| name.clone())
}
