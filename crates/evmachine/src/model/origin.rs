//! Where training rows came from: the number and id of each row, the batch it was learned in, and when.
//!
//! A model counts all rows ever given to it; that count, the source, is what it needs itself. What people call a row is kept
//! beside it where whoever trains says so ([`Evm::name_rows`]), for the rows that the model still holds.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::heldout::sample::Role;
use crate::model::Evm;

/// Rows that were given together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Batch {
    /// Source of its first row.
    pub(crate) first: u64,
    pub(crate) rows: u64,
    /// The file they came from, or what else they are called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    /// Seconds since 1970-01-01 UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) time: Option<i64>,
}

/// What a row is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Called {
    pub(crate) number: u64,
    pub(crate) id: Option<Box<str>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Origins {
    /// In order of their first rows.
    pub(crate) batches: Vec<Batch>,
    /// By source, where it is not the position in its batch that the row is called by.
    pub(crate) rows: BTreeMap<u64, Called>,
}

impl Origins {
    pub(crate) fn is_empty(&self) -> bool {
        self.batches.is_empty() && self.rows.is_empty()
    }
}

/// What the rows of a batch are called.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RowNames {
    /// The file they came from, or what else they are called together.
    pub batch: Option<String>,
    /// When they were learned, in seconds since 1970-01-01 UTC.
    pub time: Option<i64>,
    /// The number of each row in its file, from 1; without, they are numbered in order.
    pub numbers: Option<Vec<u64>>,
    /// The id of each row. Several rows may have one id; an empty id is none.
    pub ids: Option<Vec<String>>,
}

/// Names that do not fit the rows.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NamesError {
    /// As many numbers or ids as rows are needed.
    #[error("{found} {what} for {expected} rows; give one for each row, or none")]
    Count {
        /// `numbers` or `ids`.
        what: &'static str,
        /// Rows.
        expected: u64,
        /// Numbers or ids given.
        found: usize,
    },
    /// The model was never given such rows.
    #[error("rows {first} to {last} are to be named, but the model was given {seen} rows in all")]
    NotGiven {
        /// Source of the first row.
        first: u64,
        /// Source of the last row.
        last: u64,
        /// Rows ever given.
        seen: u64,
    },
}

/// Where a row came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RowOrigin<'a> {
    /// Counted from 0 over all rows ever given to the model.
    pub source: u64,
    /// Its number in the batch, as in the file it came from, from 1.
    pub number: u64,
    /// Its id, where it has one.
    pub id: Option<&'a str>,
    /// The batch, from 1; `None` where nobody named it.
    pub batch: Option<usize>,
    /// What the batch is called.
    pub batch_name: Option<&'a str>,
    /// When it was learned, in seconds since 1970-01-01 UTC.
    pub time: Option<i64>,
}

/// # Rows
impl Evm {
    /// Says what the rows from the source `first` on are called, `count` of them: those of the last fit or update, as a rule.
    /// Only the names of rows that the model still holds are kept.
    ///
    /// ```
    /// # use evmachine::{Evm, Features, Labels, Params, RowNames};
    /// # let features = Features::new(vec![0.0, 0.1, 0.2, 5.0, 5.1, 5.2], 1)?;
    /// # let labels = Labels::new(["low", "low", "low", "high", "high", "high"])?;
    /// # let all = Params { cover_threshold: 1.0, ..Params::plain() };
    /// # let (mut evm, _) = Evm::fit(&all, &features, &labels)?;
    /// let ids = ["a", "b", "c", "d", "e", "f"].map(String::from).to_vec();
    /// evm.name_rows(0, 6, RowNames { ids: Some(ids), ..RowNames::default() })?;
    /// let why = evm.explain(&features, 1)?.remove(4);
    /// assert_eq!(evm.origin(why.classes[0].extreme_vectors[0].source).id, Some("e"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn name_rows(&mut self, first: u64, count: u64, names: RowNames) -> Result<(), NamesError> {
        let RowNames { batch, time, numbers, ids } = names;
        let lengths = [("numbers", numbers.as_ref().map(Vec::len)), ("ids", ids.as_ref().map(Vec::len))];
        for (what, found) in lengths {
            if let Some(found) = found.filter(|found| *found as u64 != count) {
                return Err(NamesError::Count { what, expected: count, found });
            }
        }
        let end = first.checked_add(count).filter(|end| *end <= self.machine.points_seen);
        let Some(end) = end else {
            let last = first.saturating_add(count).saturating_sub(1);
            return Err(NamesError::NotGiven { first, last, seen: self.machine.points_seen });
        };
        let held = self.held_sources();
        let origins = Arc::make_mut(&mut self.ledger.origins);
        origins.batches.retain(|other| other.first + other.rows <= first || other.first >= end);
        origins.rows.retain(|source, _| held.contains(source) && !(first..end).contains(source));
        let place = origins.batches.partition_point(|other| other.first < first);
        origins.batches.insert(place, Batch { first, rows: count, name: batch, time });
        for position in (0..count).filter(|position| held.contains(&(first + position))) {
            let number = numbers.as_ref().map_or(position + 1, |numbers| numbers[position as usize]);
            let id = ids.as_ref().map(|ids| ids[position as usize].as_str()).filter(|id| !id.is_empty());
            if number != position + 1 || id.is_some() {
                origins.rows.insert(first + position, Called { number, id: id.map(Into::into) });
            }
        }
        Ok(())
    }

    /// Where a row came from. Without names, its number is that over all rows ever given.
    pub fn origin(&self, source: u64) -> RowOrigin<'_> {
        let origins = &*self.ledger.origins;
        let behind = origins.batches.partition_point(|batch| batch.first <= source);
        let batch = behind.checked_sub(1).map(|at| (at, &origins.batches[at]));
        let batch = batch.filter(|(_, batch)| source - batch.first < batch.rows);
        let called = origins.rows.get(&source);
        // The last source there can be has no number after it.
        let counted = (source - batch.map_or(0, |(_, batch)| batch.first)).saturating_add(1);
        RowOrigin {
            source,
            number: called.map_or(counted, |called| called.number),
            id: called.and_then(|called| called.id.as_deref()),
            batch: batch.map(|(at, _)| at + 1),
            batch_name: batch.and_then(|(_, batch)| batch.name.as_deref()),
            time: batch.and_then(|(_, batch)| batch.time),
        }
    }

    /// The rows with this id that the model holds, by source.
    pub fn sources_with_id(&self, id: &str) -> Vec<u64> {
        let named = self.ledger.origins.rows.iter().filter(|(_, called)| called.id.as_deref() == Some(id));
        let held = self.held_sources();
        named.map(|(source, _)| *source).filter(|source| held.contains(source)).collect()
    }

    /// The ids of the rows that the model holds, in the order in which they were learned.
    ///
    /// ```
    /// # use evmachine::{Evm, Features, Labels, Params, RowNames};
    /// # let features = Features::new(vec![0.0, 5.0], 1)?;
    /// # let labels = Labels::new(["low", "high"])?;
    /// # let (mut evm, _) = Evm::fit(&Params::paper(), &features, &labels)?;
    /// let ids = Some(vec!["a".to_owned(), "b".to_owned()]);
    /// evm.name_rows(0, 2, RowNames { ids, ..RowNames::default() })?;
    /// assert_eq!(evm.row_ids(), ["a", "b"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn row_ids(&self) -> Vec<&str> {
        let held = self.held_sources();
        let named = self.ledger.origins.rows.iter().filter(|(source, _)| held.contains(source));
        named.filter_map(|(_, called)| called.id.as_deref()).collect()
    }

    /// The rows with this number, of one batch or of any, that the model holds, by source.
    pub fn sources_with_number(&self, number: u64, batch: Option<usize>) -> Vec<u64> {
        let mut held: Vec<u64> = self.held_sources().into_iter().collect();
        held.sort_unstable();
        held.retain(|&source| {
            let origin = self.origin(source);
            origin.number == number && (batch.is_none() || origin.batch == batch)
        });
        held
    }

    /// What a batch is called, by its number from 1; `None` where there is no such batch or it has no name.
    pub fn batch_name(&self, number: usize) -> Option<&str> {
        let batch = self.ledger.origins.batches.get(number.checked_sub(1)?)?;
        batch.name.as_deref()
    }

    /// Number of batches that were named.
    pub fn batch_count(&self) -> usize {
        self.ledger.origins.batches.len()
    }

    /// All rows of which there is a vector here: extreme vectors, ignored samples, denials, rows set aside, rows held out.
    pub(crate) fn held_sources(&self) -> HashSet<u64> {
        let mut held: HashSet<u64> =
            self.machine.classes.iter().flat_map(|class| &class.sources).copied().collect();
        held.extend(&self.machine.ignored.sources);
        held.extend(self.machine.denials().map(|denial| denial.source));
        held.extend(self.ledger.aside.iter().map(|row| row.source));
        if let Some(sample) = &self.held.sample {
            held.extend(sample.positions(Role::is_held_out).into_iter().map(|at| sample.sources[at]));
        }
        held
    }
}
