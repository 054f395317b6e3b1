//! What the caller wants from a file.

use std::convert::Infallible;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use crate::format::Format;

/// A way of naming columns: by name, by number, or by a range of numbers.
///
/// Numbers count from 0; negative ones count from the end, so that `-1` is the last column. A range
/// leaves out its end, and either side may be left open: `4:20`, `4:`, `:-1`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ColumnRef {
    /// A column by its name.
    Name(String),
    /// A column by its number.
    Number(i64),
    /// Columns from `start` up to, but without, `end`.
    Range {
        /// The first column; the first of all when `None`.
        start: Option<i64>,
        /// The column after the last; one past the last of all when `None`.
        end: Option<i64>,
    },
}

impl FromStr for ColumnRef {
    type Err = Infallible;

    /// An integer is a number, two integers around a colon are a range, all else is a name.
    fn from_str(text: &str) -> Result<Self, Infallible> {
        if let Some(number) = integer(text) {
            return Ok(Self::Number(number));
        }
        if let Some((start, end)) = text.split_once(':')
            && let (Some(start), Some(end)) = (bound(start), bound(end))
        {
            return Ok(Self::Range { start, end });
        }
        Ok(Self::Name(text.to_owned()))
    }
}

fn integer(text: &str) -> Option<i64> {
    if text.starts_with('+') { None } else { text.parse().ok() }
}

/// One side of a range; the outer `None` says that the text is no such thing.
#[allow(clippy::option_option)]
fn bound(text: &str) -> Option<Option<i64>> {
    if text.is_empty() { Some(None) } else { integer(text).map(Some) }
}

impl fmt::Display for ColumnRef {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => write!(formatter, "`{name}`"),
            Self::Number(number) => write!(formatter, "{number}"),
            Self::Range { start, end } => {
                let side = |bound: &Option<i64>| bound.map(|number| number.to_string()).unwrap_or_default();
                write!(formatter, "{}:{}", side(start), side(end))
            }
        }
    }
}

/// Whether the first line of a text file names the columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Header {
    /// Decided from the first two lines.
    ///
    /// The first line is a header when a column is asked for by name, and otherwise when no field of it
    /// that would be a feature is a number while one on the second line is, or when those that are numbers merely count
    /// the columns (`0,1,2,…` or `1,2,3,…`) and another field speaks for it: an empty one, or a word that no row of the beginning has.
    /// Without such a field eight numbers that count are a header where those of the second line do not; three to
    /// seven are [doubtful](crate::Notice::DoubtfulHeader) and taken for data. A line that has all
    /// [expected](ReadOptions::expected) names is a header.
    #[default]
    Auto,
    /// The first line is a header.
    Yes,
    /// The first line is data.
    No,
}

impl FromStr for Header {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "yes" => Ok(Self::Yes),
            "no" => Ok(Self::No),
            other => Err(format!("`{other}` is none of auto, yes, no")),
        }
    }
}

/// What becomes of features that are missing: empty fields, nulls, words such as `NA`, and NaN.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Missing {
    /// Their rows are bad.
    #[default]
    Refuse,
    /// They come as NaN.
    Keep,
    /// They come as the number of their column, one for each feature.
    Fill(Vec<f32>),
}

/// How to read a feature file. The default reads every column as a feature.
#[derive(Debug, Clone)]
pub struct ReadOptions {
    /// The column of class labels; in an NPZ file, a name is that of a one-dimensional array.
    pub label: Option<ColumnRef>,
    /// The column of row identifiers; in an NPZ file, a name is that of a one-dimensional array.
    pub id: Option<ColumnRef>,
    /// Columns that are kept as text next to the features, such as a quality or a session. NPZ files take them by number alone, LIBSVM
    /// files have none.
    pub kept: Vec<ColumnRef>,
    /// The feature columns, in this order; all that remain when empty. In an NPZ file, a single name
    /// chooses the array.
    pub features: Vec<ColumnRef>,
    /// The names of the features of a model. Where `features` is empty and the file names its columns, these are taken, in
    /// this order, and all others are left alone; a file without names is read as if there were none here. A column of
    /// vectors `v` has the names `v_0`, `v_1` and so on.
    pub expected: Vec<String>,
    /// Columns to leave out.
    pub drop: Vec<ColumnRef>,
    /// Whether text files begin with a header.
    pub header: Header,
    /// The format, when the content and the extension are not to decide.
    pub format: Option<Format>,
    /// Leaves bad rows out and counts them, where they would otherwise end the reading.
    pub skip_bad_rows: bool,
    /// What becomes of missing features.
    pub missing: Missing,
    /// Takes rows of zeros for bad ones: they have no direction.
    pub directed: bool,
    /// The most bytes that a file may take in memory: its features where it is gathered as a whole, and what a decoder
    /// makes room for at once. What the system has left when `None`.
    pub memory: Option<u64>,
    /// The most rows a batch holds. Batches of wide rows hold fewer, so that none exceeds 64 MiB.
    pub batch_rows: usize,
    /// A file of labels, one for each row: a one-dimensional NPY array or text with one a line.
    pub labels_file: Option<PathBuf>,
    /// How many features a LIBSVM line stands for; the greatest index in the file when `None`.
    pub libsvm_columns: Option<usize>,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            label: None,
            id: None,
            kept: Vec::new(),
            features: Vec::new(),
            expected: Vec::new(),
            drop: Vec::new(),
            header: Header::Auto,
            format: None,
            skip_bad_rows: false,
            missing: Missing::Refuse,
            directed: false,
            memory: None,
            batch_rows: 8192,
            labels_file: None,
            libsvm_columns: None,
        }
    }
}

impl ReadOptions {
    /// The names by which features are to be found in a file that has names.
    pub(crate) fn wanted_names(&self) -> &[String] {
        if self.features.is_empty() { &self.expected } else { &[] }
    }

    /// Whether any column is asked for by name.
    pub(crate) fn names_columns(&self) -> bool {
        let single = self.label.iter().chain(&self.id);
        single.chain(&self.features).chain(&self.drop).any(|column| matches!(column, ColumnRef::Name(_)))
    }
}
