//! Where the rows of a table come from: files, and the numbers they have there.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use evmachine::{CalibrateError, EditError, Evm, FeatureError, FitError, RowNames, RunError};

use crate::failure::{Failure, Kind};

/// A file and its part of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRows {
    /// The file, as it was given.
    pub path: PathBuf,
    /// When it was changed last, where that is known.
    pub modified: Option<SystemTime>,
    /// Its rows in the table, from 0.
    pub rows: Range<usize>,
}

impl FileRows {
    /// Counts more rows, of the file at this position; a file is added when its first rows come.
    pub fn extend(files: &mut Vec<Self>, path: &Path, file: usize, rows: usize) {
        let start = files.last().map_or(0, |last| last.rows.end);
        if let Some(known) = files.get_mut(file) {
            known.rows.end += rows;
        } else {
            let modified = std::fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
            files.push(Self { path: path.to_owned(), modified, rows: start..start + rows });
        }
    }
}

/// Where each row of a table comes from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origin {
    /// The files, in order.
    pub files: Vec<FileRows>,
    /// For each row, its number in its file: from 1, without a header, and with gaps where bad rows were left out.
    pub numbers: Vec<u64>,
    /// For each row its identifier, where there is a column of them.
    pub ids: Option<Vec<String>>,
}

impl Origin {
    /// Of some rows of one file.
    pub fn of_batch(path: &Path, numbers: &[u64]) -> Self {
        let mut files = Vec::new();
        FileRows::extend(&mut files, path, 0, numbers.len());
        Self { files, numbers: numbers.to_vec(), ids: None }
    }

    /// Without a row of the table.
    pub fn remove(&mut self, row: usize) {
        self.numbers.remove(row);
        if let Some(ids) = &mut self.ids {
            ids.remove(row);
        }
        for file in &mut self.files {
            file.rows.start -= usize::from(file.rows.start > row);
            file.rows.end -= usize::from(file.rows.end > row);
        }
    }

    /// Of some rows of the table, in rising order.
    pub fn select(&self, rows: &[usize]) -> Self {
        let files = self.files.iter().map(|file| {
            let place = |end: usize| rows.partition_point(|&row| row < end);
            FileRows { rows: place(file.rows.start)..place(file.rows.end), ..file.clone() }
        });
        let ids = self.ids.as_ref().map(|ids| rows.iter().map(|&row| ids[row].clone()).collect());
        Self {
            files: files.filter(|file| !file.rows.is_empty()).collect(),
            numbers: rows.iter().map(|&row| self.numbers[row]).collect(),
            ids,
        }
    }

    /// The file of a row of the table.
    pub fn file(&self, row: usize) -> &Path {
        let at = self.files.partition_point(|file| file.rows.end <= row);
        self.files.get(at).map_or(Path::new(""), |file| &file.path)
    }

    /// What the files are called, in short.
    pub fn name(&self) -> String {
        match self.files.as_slice() {
            [] => String::new(),
            [only] => only.path.display().to_string(),
            [first, others @ ..] => format!("{} and {} more", first.path.display(), others.len()),
        }
    }

    /// Whether the rows are called by nothing but their place: none has an identifier, and none was left out.
    pub fn is_plain(&self) -> bool {
        let in_order = |file: &FileRows| {
            self.numbers[file.rows.clone()].iter().zip(1..).all(|(number, place)| *number == place)
        };
        self.ids.is_none() && self.files.iter().all(in_order)
    }

    /// Has a model keep what these rows are called, the first of which has this number among all it was given.
    pub fn record(&self, evm: &mut Evm, first: u64) -> Result<(), Failure> {
        for FileRows { path, modified, rows } in &self.files {
            let part = |values: &[String]| values[rows.clone()].to_vec();
            let time = modified.and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
            let names = RowNames {
                batch: path
                    .file_name()
                    .filter(|name| *name != "-")
                    .map(|name| name.to_string_lossy().into_owned()),
                time: time.and_then(|time| i64::try_from(time.as_secs()).ok()),
                numbers: Some(self.numbers[rows.clone()].to_vec()),
                ids: self.ids.as_deref().map(part),
            };
            evm.name_rows(first + rows.start as u64, rows.len() as u64, names)
                .map_err(|error| Failure::new(Kind::Other, error.to_string()))?;
        }
        Ok(())
    }

    /// A row as its owner finds it.
    pub fn place(&self, row: usize) -> String {
        format!("row {} of {}", self.numbers[row], self.file(row).display())
    }

    /// A failure of the library with rows of the table, told by their files and numbers.
    pub fn failure(&self, failure: impl Into<Located>) -> Failure {
        match failure.into() {
            Located::Other(failure) => failure.about(self.name()),
            Located::Row(error) => {
                let mut named = self.name();
                let number = |row: usize| {
                    named = self.file(row).display().to_string();
                    self.numbers[row] as usize
                };
                Failure::from(error.map_row(number)).about(named)
            }
        }
    }
}

/// An error of the library that may name a row.
pub enum Located {
    /// It names a row of the table.
    Row(FeatureError),
    /// It names none.
    Other(Failure),
}

impl Located {
    /// The row that it names, in the table.
    pub fn row(&self) -> Option<usize> {
        let Self::Row(error) = self else { return None };
        let mut named = None;
        let _ = error.clone().map_row(|row| *named.insert(row));
        named
    }
}

impl From<FeatureError> for Located {
    fn from(error: FeatureError) -> Self {
        Located::Row(error)
    }
}

impl From<FitError> for Located {
    fn from(error: FitError) -> Self {
        match error {
            FitError::Run(RunError::Features(error)) => Located::Row(error),
            other => Located::Other(other.into()),
        }
    }
}

impl From<CalibrateError> for Located {
    fn from(error: CalibrateError) -> Self {
        match error {
            CalibrateError::Run(RunError::Features(error)) => Located::Row(error),
            other => Located::Other(other.into()),
        }
    }
}

impl From<EditError> for Located {
    fn from(error: EditError) -> Self {
        match error {
            EditError::Run(RunError::Features(error)) => Located::Row(error),
            other => Located::Other(other.into()),
        }
    }
}

impl From<RunError> for Located {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Features(error) => Located::Row(error),
            other => Located::Other(other.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_told_by_their_file_and_number() {
        let mut files = Vec::new();
        for (path, file, rows) in [("a.csv", 0, 2), ("a.csv", 0, 1), ("b.csv", 1, 2)] {
            FileRows::extend(&mut files, Path::new(path), file, rows);
        }
        assert_eq!(files.iter().map(|file| file.rows.clone()).collect::<Vec<_>>(), [0..3, 3..5]);
        let origin = Origin { files, numbers: vec![1, 2, 4, 1, 7], ids: None };
        assert_eq!(origin.place(2), "row 4 of a.csv");
        let failure = origin.failure(FeatureError::ZeroVector { row: 4 });
        assert!(failure.message.starts_with("b.csv: row 7 is all zeros"), "{}", failure.message);

        let mut origin = origin;
        origin.remove(1);
        assert_eq!((origin.place(1), origin.place(2)), ("row 4 of a.csv".into(), "row 1 of b.csv".into()));
        assert_eq!(origin.files.iter().map(|file| file.rows.clone()).collect::<Vec<_>>(), [0..2, 2..4]);
    }
}
