//! Several files with the same columns, read one after the other.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::batch::Batch;
use crate::brief::brief;
use crate::error::{DataError, display_name, is_standard_input};
use crate::options::ReadOptions;
use crate::problem::Skipped;
use crate::reader::{Reader, Schema, open};

/// One file or several, read batch by batch. Rows are numbered in each file from 1.
///
/// All must have the features of the first, which may stand in another order where files name them; where the options
/// [expect](ReadOptions::expected) features, each must have those. The iteration ends after the first error.
#[derive(Debug)]
pub struct Series {
    paths: Vec<PathBuf>,
    /// As many files of labels, or none.
    labels: Vec<PathBuf>,
    options: ReadOptions,
    schema: Schema,
    /// The files read to their end.
    done: usize,
    current: Option<Reader>,
    skipped: Vec<Skipped>,
}

impl Series {
    /// Opens the first of some files, of which there must be one.
    ///
    /// # Panics
    ///
    /// Where there is none.
    pub fn open(paths: &[PathBuf], options: &ReadOptions) -> Result<Self, DataError> {
        let labels: Vec<PathBuf> = options.labels_file.iter().cloned().collect();
        Self::open_labelled(paths, &labels, options)
    }

    /// As [`open`](Self::open), with the labels of each file in a file of its own; or with none of those.
    ///
    /// # Panics
    ///
    /// Where there is no file.
    pub fn open_labelled(
        paths: &[PathBuf],
        labels: &[PathBuf],
        options: &ReadOptions,
    ) -> Result<Self, DataError> {
        let first = paths.first().expect("at least one file is read");
        if !labels.is_empty() && labels.len() != paths.len() {
            return Err(DataError::LabelFiles {
                file: display_name(first),
                files: paths.len(),
                labels: labels.len(),
            });
        }
        let current = open(first, &ReadOptions { labels_file: labels.first().cloned(), ..options.clone() })?;
        Ok(Self {
            paths: paths.to_vec(),
            labels: labels.to_vec(),
            options: options.clone(),
            schema: current.schema().clone(),
            done: 0,
            current: Some(current),
            skipped: Vec::new(),
        })
    }

    /// What the first file consists of.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The files, in the order in which they are read.
    pub fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// How many rows the file being read announces.
    pub fn announced(&self) -> Option<u64> {
        self.current.as_ref().and_then(Reader::announced)
    }

    /// The bad rows left out up to now, by file; complete once the iteration ended.
    pub fn skipped(&self) -> impl Iterator<Item = (&Path, &Skipped)> {
        let current = self.current.as_ref().map(Reader::skipped);
        self.paths.iter().map(PathBuf::as_path).zip(self.skipped.iter().chain(current))
    }

    /// The next rows, with the position of their file.
    fn advance(&mut self) -> Result<Option<(usize, Batch)>, DataError> {
        loop {
            let Some(reader) = &mut self.current else { return Ok(None) };
            match reader.next() {
                Some(Ok(batch)) => return Ok(Some((self.done, batch))),
                Some(Err(error)) => {
                    self.current = None;
                    return Err(error);
                }
                None => {
                    self.skipped.push(reader.skipped().clone());
                    self.done += 1;
                    self.current = None;
                    let Some(next) = self.paths.get(self.done) else { continue };
                    self.current = Some(self.open_alike(next)?);
                }
            }
        }
    }

    fn open_alike(&self, path: &Path) -> Result<Reader, DataError> {
        let labels_file = self.labels.get(self.done).cloned();
        let options = ReadOptions { labels_file, ..self.options.clone() };
        let reader = open(path, &options)?;
        let (own, first) = (reader.schema(), &self.schema);
        let named = own.named && first.named;
        if own.feature_names == first.feature_names
            || (!named && own.feature_names.len() == first.feature_names.len())
        {
            return Ok(reader);
        }
        let known: HashSet<&String> = first.feature_names.iter().collect();
        let new = own.feature_names.iter().find(|name| !known.contains(name));
        let detail = if !named || own.feature_names.len() != first.feature_names.len() {
            format!("{} features and {}", own.feature_names.len(), first.feature_names.len())
        } else if let Some(name) = new {
            format!("the first of these alone has `{}`", brief(name))
        } else if is_standard_input(path) || !self.options.features.is_empty() {
            "they stand in another order".to_owned()
        } else {
            let by_name = ReadOptions { expected: first.feature_names.clone(), ..options };
            return open(path, &by_name);
        };
        Err(DataError::UnlikeFiles { file: display_name(path), first: display_name(&self.paths[0]), detail })
    }
}

impl Iterator for Series {
    type Item = Result<(usize, Batch), DataError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.advance().transpose()
    }
}
