//! What prediction files are made of.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::error::DataError;

/// Where output goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// Standard output.
    Stdout,
    /// A file, which appears under its name only once it is complete.
    Path(PathBuf),
}

impl Target {
    /// The name for messages.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Stdout => "standard output".to_owned(),
            Self::Path(path) => path.display().to_string(),
        }
    }
}

impl From<OsString> for Target {
    /// `-` is standard output, all else a path.
    fn from(name: OsString) -> Self {
        if name == "-" { Self::Stdout } else { Self::Path(PathBuf::from(name)) }
    }
}

/// A format of prediction files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OutputFormat {
    /// Comma separated, with a header.
    Csv,
    /// One JSON object a line.
    Jsonl,
    /// Apache Parquet, compressed by Snappy.
    Parquet,
}

impl OutputFormat {
    /// The format the extension of a path stands for.
    pub fn from_path(path: &Path) -> Result<Self, DataError> {
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        Self::from_str(extension).map_err(|_| DataError::UnknownOutput { file: path.display().to_string() })
    }
}

impl FromStr for OutputFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.to_ascii_lowercase().as_str() {
            "csv" => Ok(Self::Csv),
            "jsonl" | "ndjson" => Ok(Self::Jsonl),
            "parquet" => Ok(Self::Parquet),
            other => Err(format!("`{other}` is none of csv, jsonl, parquet")),
        }
    }
}

/// What an output column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnType {
    /// Text.
    Text,
    /// Text that is a JSON value; JSON lines embed it as it is, the other formats store it as text.
    Json,
    /// Double precision floats; NaN stands for no value.
    Float,
    /// Integers.
    Integer,
    /// True or false.
    Boolean,
}

/// A column of output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputColumn {
    /// The name, unlike those of the other columns.
    pub name: String,
    /// What it holds.
    pub kind: ColumnType,
}

impl OutputColumn {
    /// A column called `name`.
    pub fn new(name: impl Into<String>, kind: ColumnType) -> Self {
        Self { name: name.into(), kind }
    }
}

/// The values of one column for some rows.
#[derive(Debug, Clone, PartialEq)]
pub enum ColumnValues {
    /// For [`ColumnType::Text`] and [`ColumnType::Json`].
    Text(Vec<String>),
    /// For [`ColumnType::Float`].
    Float(Vec<f64>),
    /// For [`ColumnType::Integer`].
    Integer(Vec<i64>),
    /// For [`ColumnType::Boolean`].
    Boolean(Vec<bool>),
}

impl ColumnValues {
    /// How many values there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Text(values) => values.len(),
            Self::Float(values) => values.len(),
            Self::Integer(values) => values.len(),
            Self::Boolean(values) => values.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn fits(&self, kind: ColumnType) -> bool {
        match self {
            Self::Text(_) => matches!(kind, ColumnType::Text | ColumnType::Json),
            Self::Float(_) => kind == ColumnType::Float,
            Self::Integer(_) => kind == ColumnType::Integer,
            Self::Boolean(_) => kind == ColumnType::Boolean,
        }
    }
}

/// Checks values against the declared columns and returns how many rows they make.
pub(crate) fn check_shape(
    file: &str,
    columns: &[OutputColumn],
    values: &[ColumnValues],
) -> Result<usize, DataError> {
    let mismatch = |column: &str, detail: String| DataError::OutputShape {
        file: file.to_owned(),
        column: column.to_owned(),
        detail,
    };
    let rows = values.first().map_or(0, ColumnValues::len);
    for (index, column) in columns.iter().enumerate() {
        let Some(given) = values.get(index) else {
            return Err(mismatch(&column.name, "was given no values".to_owned()));
        };
        if !given.fits(column.kind) {
            return Err(mismatch(
                &column.name,
                format!("was declared as {:?} and given other values", column.kind),
            ));
        }
        if given.len() != rows {
            return Err(mismatch(
                &column.name,
                format!("was given {} values where {rows} are expected", given.len()),
            ));
        }
    }
    if values.len() > columns.len() {
        return Err(mismatch(&format!("number {}", columns.len()), "was never declared".to_owned()));
    }
    Ok(rows)
}
