//! Rows in memory, and the one place that decides whether a row is good.

use std::borrow::Cow;

use evmachine::labels::is_missing;
use evmachine::{FeatureError, Features};

use crate::columns::Plan;
use crate::error::DataError;
use crate::labels::LabelStream;
use crate::options::{Missing, ReadOptions};
use crate::problem::{Place, RowProblem, Skipped};

/// The most bytes of features in a batch.
const BATCH_BYTES: usize = 64 << 20;

/// Some rows of a file; all of them good.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Batch {
    /// The number of the first row, from 1; 0 when there are no rows.
    pub first_row: u64,
    /// How many rows there are.
    pub rows: usize,
    /// How many features a row has.
    pub columns: usize,
    /// The features, row after row; all finite, but for NaN where missing ones were to be kept.
    pub features: Vec<f32>,
    /// The labels, when they were asked for; none is empty.
    pub labels: Option<Vec<String>>,
    /// The identifiers, when they were asked for; a missing one is empty.
    pub ids: Option<Vec<String>>,
    /// The columns that were to be kept, in the order asked for; what is missing is empty.
    pub kept: Vec<Vec<String>>,
    /// The number of each row in its file, from 1; it has gaps where bad rows were skipped.
    pub row_numbers: Vec<u64>,
}

impl Batch {
    /// Removes a row, at its position in this batch.
    ///
    /// # Panics
    ///
    /// If there are not so many rows.
    pub fn remove(&mut self, row: usize) {
        self.features.drain(row * self.columns..(row + 1) * self.columns);
        self.row_numbers.remove(row);
        for texts in self.labels.iter_mut().chain(&mut self.ids).chain(&mut self.kept) {
            texts.remove(row);
        }
        self.rows -= 1;
        self.first_row = self.row_numbers.first().copied().unwrap_or(0);
    }
}

/// What a format knows of a row besides its features.
#[derive(Debug, Default)]
pub(crate) struct RowText<'a> {
    pub(crate) line: Option<u64>,
    pub(crate) label: Option<Cow<'a, str>>,
    pub(crate) id: Option<Cow<'a, str>>,
    pub(crate) kept: Vec<Option<Cow<'a, str>>>,
}

/// Gathers the rows a format reads into batches.
pub(crate) struct Collector {
    file: String,
    names: Vec<String>,
    capacity: usize,
    skip_bad_rows: bool,
    missing: Missing,
    /// Whether rows of zeros are bad.
    directed: bool,
    /// Labels or ids that come from elsewhere, one for each row, good or bad.
    pub(crate) label_stream: Option<LabelStream>,
    pub(crate) id_stream: Option<LabelStream>,
    batch: Batch,
    rows: u64,
    any_good: bool,
    skipped: Skipped,
}

/// Which texts a collector gathers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WantedTexts {
    pub(crate) labels: bool,
    pub(crate) ids: bool,
    pub(crate) kept: usize,
}

impl WantedTexts {
    /// Those of the columns of a file.
    pub(crate) fn of(plan: &Plan) -> Self {
        Self { labels: plan.label.is_some(), ids: plan.id.is_some(), kept: plan.kept.len() }
    }
}

impl Collector {
    pub(crate) fn new(file: &str, names: Vec<String>, wanted: WantedTexts, options: &ReadOptions) -> Self {
        let capacity = (BATCH_BYTES / (4 * names.len().max(1))).min(options.batch_rows).max(1);
        let batch = Batch {
            columns: names.len(),
            labels: wanted.labels.then(Vec::new),
            ids: wanted.ids.then(Vec::new),
            kept: vec![Vec::new(); wanted.kept],
            ..Batch::default()
        };
        Self {
            file: file.to_owned(),
            names,
            capacity,
            skip_bad_rows: options.skip_bad_rows,
            missing: options.missing.clone(),
            directed: options.directed,
            label_stream: None,
            id_stream: None,
            batch,
            rows: 0,
            any_good: false,
            skipped: Skipped::default(),
        }
    }

    /// The file being read.
    pub(crate) fn file(&self) -> &str {
        &self.file
    }

    /// The name of a feature.
    pub(crate) fn name(&self, feature: usize) -> String {
        self.names[feature].clone()
    }

    /// Whether a row may lack features, which then come as NaN.
    pub(crate) fn takes_missing(&self) -> bool {
        self.missing != Missing::Refuse
    }

    /// How many more rows the batch takes.
    pub(crate) fn room(&self) -> usize {
        self.capacity - self.batch.rows
    }

    /// The rows skipped up to now.
    pub(crate) fn skipped(&self) -> &Skipped {
        &self.skipped
    }

    /// Where the features of the next row go. [`Self::accept`] or [`Self::reject`] must follow.
    pub(crate) fn features(&mut self) -> &mut Vec<f32> {
        &mut self.batch.features
    }

    /// Ends a row whose features were all appended. Every row of every format is judged here: all
    /// features must be such as a model takes, and the label must be there when labels are wanted.
    ///
    /// `original` gives a feature at the precision of the file, for the message.
    pub(crate) fn accept(
        &mut self,
        text: RowText<'_>,
        original: impl Fn(usize) -> f64,
    ) -> Result<(), DataError> {
        let start = self.batch.rows * self.batch.columns;
        debug_assert_eq!(self.batch.features.len() - start, self.batch.columns);
        if let Missing::Fill(numbers) = &self.missing {
            evmachine::fill(&mut self.batch.features[start..], numbers);
        }
        if let Some(problem) = self.judge(&self.batch.features[start..], original) {
            return self.reject(text.line, problem);
        }
        let (own_label, own_id) = self.advance()?;
        let label = own_label.map(Cow::Owned).or(text.label);
        let id = own_id.map(Cow::Owned).or(text.id);
        if let Some(labels) = &mut self.batch.labels {
            match label.filter(|label| !is_missing(label)) {
                Some(label) => labels.push(label.into_owned()),
                None => return self.refuse(text.line, RowProblem::MissingLabel),
            }
        }
        if let Some(ids) = &mut self.batch.ids {
            ids.push(id.unwrap_or_default().into_owned());
        }
        for (column, text) in self.batch.kept.iter_mut().zip(text.kept) {
            column.push(text.unwrap_or_default().into_owned());
        }
        self.batch.row_numbers.push(self.rows);
        self.batch.rows += 1;
        self.any_good = true;
        Ok(())
    }

    /// What is wrong with the features of a row.
    fn judge(&self, row: &[f32], original: impl Fn(usize) -> f64) -> Option<RowProblem> {
        match Features::check_row(row, self.directed, self.missing == Missing::Keep) {
            Err(FeatureError::ZeroVector { .. }) => Some(RowProblem::ZeroVector),
            Err(FeatureError::NotFinite { column, .. }) => {
                let (column, value) = (self.name(column), original(column));
                Some(if value.is_finite() {
                    RowProblem::TooLarge { column, value }
                } else {
                    RowProblem::NotFinite { column, value }
                })
            }
            Err(FeatureError::TooLarge { column, limit, .. }) => {
                Some(RowProblem::AboveLimit { column: self.name(column), value: original(column), limit })
            }
            _ => None,
        }
    }

    /// Ends a row that the format itself found bad.
    pub(crate) fn reject(&mut self, line: Option<u64>, problem: RowProblem) -> Result<(), DataError> {
        self.advance()?;
        self.refuse(line, problem)
    }

    /// Steps to the next row in everything that has one entry for each row.
    fn advance(&mut self) -> Result<(Option<String>, Option<String>), DataError> {
        self.rows += 1;
        let rows = self.rows;
        let next = |stream: &mut Option<LabelStream>| match stream {
            Some(stream) => stream.next_for_row(rows).map(Some),
            None => Ok(None),
        };
        Ok((next(&mut self.label_stream)?, next(&mut self.id_stream)?))
    }

    fn refuse(&mut self, line: Option<u64>, problem: RowProblem) -> Result<(), DataError> {
        self.batch.features.truncate(self.batch.rows * self.batch.columns);
        let place = Place { row: self.rows, line };
        if !self.skip_bad_rows {
            return Err(DataError::BadRow { file: self.file.clone(), place, problem });
        }
        self.skipped.record(place, problem);
        Ok(())
    }

    /// Hands over the rows gathered, if there are any.
    pub(crate) fn take(&mut self) -> Option<Batch> {
        if self.batch.rows == 0 {
            return None;
        }
        let next = Batch {
            columns: self.batch.columns,
            features: Vec::with_capacity(self.batch.features.len()),
            labels: self.batch.labels.as_ref().map(|labels| Vec::with_capacity(labels.len())),
            ids: self.batch.ids.as_ref().map(|ids| Vec::with_capacity(ids.len())),
            kept: vec![Vec::new(); self.batch.kept.len()],
            row_numbers: Vec::with_capacity(self.batch.rows),
            ..Batch::default()
        };
        let mut batch = std::mem::replace(&mut self.batch, next);
        batch.first_row = batch.row_numbers[0];
        Some(batch)
    }

    /// Judges the file as a whole once its end was reached.
    pub(crate) fn finish(&mut self) -> Result<(), DataError> {
        for stream in self.label_stream.iter_mut().chain(&mut self.id_stream) {
            stream.expect_end(self.rows)?;
        }
        if self.any_good {
            return Ok(());
        }
        let file = self.file.clone();
        match self.skipped.reasons.first() {
            None => Err(DataError::NoRows { file }),
            Some((place, problem)) => Err(DataError::NoGoodRows {
                file,
                skipped: self.skipped.rows,
                first: format!("{place}: {problem}"),
            }),
        }
    }
}
