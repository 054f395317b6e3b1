//! Class labels that are stored apart from the features.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use crate::error::DataError;
use crate::format::Format;
use crate::npy_header::{ArrayName, NpyHeader};
use crate::npy_type::ElementType;
use crate::source::{Bytes, Source};

/// The most bytes of a label in a file of its own.
const LINE_LIMIT: u64 = 1 << 20;

/// Labels, or ids, that are stored apart from the features, one for each row.
pub(crate) struct LabelStream {
    /// The file of the features.
    file: String,
    /// Where the labels come from.
    labels: String,
    entries: Entries,
    /// How many there are, where that is known.
    total: Option<u64>,
    read: u64,
}

enum Entries {
    /// One a line.
    Lines(Box<dyn BufRead + Send>),
    /// A one-dimensional array.
    Array { name: ArrayName, element: ElementType, bytes: Box<dyn BufRead + Send> },
}

impl LabelStream {
    /// Opens a file of labels for the rows of `file`.
    pub(crate) fn open(file: &str, path: &Path) -> Result<Self, DataError> {
        let source = Source::open(path)?;
        let labels = source.file.clone();
        match Format::from_magic(source.prefix()) {
            Some(Format::Npy) => {
                let length = source.length;
                let name = ArrayName { file: labels, member: None };
                Self::from_array(file, name, source.into_bytes(), length)
            }
            Some(format) => Err(DataError::UnsuitableOption {
                file: labels,
                option: "a file of labels".to_owned(),
                format,
                advice: "Give a one-dimensional NPY array, or text with one label a line".to_owned(),
            }),
            None => {
                let lines = Box::new(BufReader::with_capacity(1 << 16, source.into_bytes()));
                Ok(Self {
                    file: file.to_owned(),
                    labels,
                    entries: Entries::Lines(lines),
                    total: None,
                    read: 0,
                })
            }
        }
    }

    /// Takes the labels from an array, beginning at its header.
    pub(crate) fn from_array(
        file: &str,
        name: ArrayName,
        mut bytes: Bytes,
        length: Option<u64>,
    ) -> Result<Self, DataError> {
        let header = NpyHeader::read(&name, &mut bytes, length)?;
        let (&[total] | &[total, 1]) = header.shape.as_slice() else {
            let detail = format!("has the shape {}", header.shape_text());
            return Err(name.unsuitable(detail, "Give a one-dimensional array, one entry for each row"));
        };
        let labels = match &name.member {
            Some(member) => format!("the array `{member}`"),
            None => name.file.clone(),
        };
        let bytes = Box::new(BufReader::with_capacity(1 << 16, bytes));
        let entries = Entries::Array { name, element: header.element, bytes };
        Ok(Self { file: file.to_owned(), labels, entries, total: Some(total), read: 0 })
    }

    /// Where the labels come from.
    pub(crate) fn name(&self) -> &str {
        &self.labels
    }

    /// Compares the number of labels with that of rows before any are read.
    pub(crate) fn expect_total(&self, rows: u64) -> Result<(), DataError> {
        match self.total {
            Some(total) if total != rows => Err(self.mismatch(rows.to_string(), total.to_string())),
            _ => Ok(()),
        }
    }

    /// The label of row `row`, counted from 1; empty when it is missing.
    pub(crate) fn next_for_row(&mut self, row: u64) -> Result<String, DataError> {
        match self.next()? {
            Some(label) => Ok(label),
            None => Err(self.mismatch(format!("more than {}", row - 1), self.read.to_string())),
        }
    }

    /// Checks that no label is left after the last of `rows` rows.
    pub(crate) fn expect_end(&mut self, rows: u64) -> Result<(), DataError> {
        if self.next()?.is_none() {
            return Ok(());
        }
        let total = self.total.map_or(format!("more than {rows}"), |total| total.to_string());
        Err(self.mismatch(rows.to_string(), total))
    }

    fn next(&mut self) -> Result<Option<String>, DataError> {
        let label = match &mut self.entries {
            Entries::Lines(lines) => {
                let mut line = Vec::new();
                let count = lines
                    .take(LINE_LIMIT)
                    .read_until(b'\n', &mut line)
                    .map_err(|error| DataError::reading(&self.labels, error))?;
                if count as u64 == LINE_LIMIT {
                    let detail = format!("line {} is longer than 1 MiB", self.read + 1);
                    return Err(DataError::Damaged { file: self.labels.clone(), detail });
                }
                if count == 0 {
                    return Ok(None);
                }
                let text = std::str::from_utf8(&line).map_err(|_| DataError::Damaged {
                    file: self.labels.clone(),
                    detail: format!("line {} is not UTF-8 text", self.read + 1),
                })?;
                text.strip_suffix('\n')
                    .map_or(text, |line| line.strip_suffix('\r').unwrap_or(line))
                    .to_owned()
            }
            Entries::Array { name, element, bytes } => {
                if self.total == Some(self.read) {
                    return Ok(None);
                }
                let mut entry = vec![0; element.size];
                bytes.read_exact(&mut entry).map_err(|error| DataError::reading(&name.file, error))?;
                element.text(&entry).ok_or_else(|| {
                    name.unsuitable(
                        format!("has an entry {} that is not text", self.read + 1),
                        "Save it with dtype str",
                    )
                })?
            }
        };
        self.read += 1;
        Ok(Some(label))
    }

    fn mismatch(&self, rows: String, label_rows: String) -> DataError {
        DataError::LabelCount { file: self.file.clone(), labels: self.labels.clone(), rows, label_rows }
    }
}
