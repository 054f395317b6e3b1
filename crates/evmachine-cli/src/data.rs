//! The flags that say what a data file holds, and the files themselves.

use std::path::{Path, PathBuf};

use clap::Args;
use evmachine::{CalibrateError, Evm, FeatureError, Features, FitError, Labels, PredictError};
use evmachine_data::{Batch, ColumnRef, Format, Header, ReadOptions, Reader, Schema, Skipped};

use crate::console::Console;
use crate::failure::{Failure, Kind};
use crate::interrupt;

/// What a data file holds.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Data")]
pub struct DataArguments {
    /// The column with the class, by name or by number from 0 (-1 is the last).
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true)]
    pub label: Option<ColumnRef>,

    /// A column that identifies rows, kept in predictions and not a feature.
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true)]
    pub id: Option<ColumnRef>,

    /// The feature columns: names, numbers or ranges such as 4:20; unless given, all but --label, --id and --drop, which
    /// must then be numeric.
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',', allow_hyphen_values = true)]
    pub features: Vec<ColumnRef>,

    /// Columns to leave out.
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',', allow_hyphen_values = true)]
    pub drop: Vec<ColumnRef>,

    /// Whether a text file begins with column names: auto, yes or no.
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub header: Header,

    /// The format, where it shows neither in the content nor in the name: csv, tsv, npy, npz, parquet, arrow, libsvm.
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<Format>,

    /// Labels in a file of their own, for NPY: one a line, or a one-dimensional NPY.
    #[arg(long, value_name = "FILE")]
    pub labels_file: Option<PathBuf>,

    /// Leave out rows with missing or impossible values instead of stopping at the first; they are counted.
    #[arg(long)]
    pub skip_bad_rows: bool,
}

/// A whole file, ready for the library.
#[derive(Debug)]
pub struct Labelled {
    path: PathBuf,
    /// For each row, its number in the file, from 1.
    row_numbers: Vec<u64>,
    /// The features.
    pub features: Features<'static>,
    /// As many labels.
    pub labels: Labels,
    pub(crate) schema: Schema,
}

impl Labelled {
    /// A failure of the library with these rows, told by the file and its own row numbers.
    pub(crate) fn failure(&self, failure: impl Into<Located>) -> Failure {
        failure.into().in_file(&self.path, &self.row_numbers)
    }
}

/// A whole file of rows without a class.
pub(crate) struct Unlabelled {
    path: PathBuf,
    /// For each row, its number in the file, from 1.
    row_numbers: Vec<u64>,
    pub(crate) features: Features<'static>,
}

impl Unlabelled {
    /// As [`Labelled::failure`].
    pub(crate) fn failure(&self, failure: impl Into<Located>) -> Failure {
        failure.into().in_file(&self.path, &self.row_numbers)
    }
}

/// An error of the library that may name a row of a batch.
pub(crate) enum Located {
    Row(FeatureError),
    Other(Failure),
}

impl Located {
    /// Rows of a file are counted from 1, and some may have been left out.
    pub(crate) fn in_file(self, path: &Path, row_numbers: &[u64]) -> Failure {
        let number = |row: usize| row_numbers[row] as usize;
        let failure = match self {
            Located::Other(failure) => failure,
            Located::Row(error) => error.map_row(number).into(),
        };
        failure.about(path.display())
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
            FitError::Features(error) => Located::Row(error),
            other => Located::Other(other.into()),
        }
    }
}

impl From<CalibrateError> for Located {
    fn from(error: CalibrateError) -> Self {
        match error {
            CalibrateError::Features(error) => Located::Row(error),
            other => Located::Other(other.into()),
        }
    }
}

impl From<PredictError> for Located {
    fn from(error: PredictError) -> Self {
        match error {
            PredictError::Features(error) => Located::Row(error),
            other => Located::Other(other.into()),
        }
    }
}

impl DataArguments {
    /// `dimensions`: those of a model, which a sparse file cannot tell.
    pub(crate) fn options(&self, dimensions: Option<usize>) -> ReadOptions {
        ReadOptions {
            label: self.label.clone(),
            id: self.id.clone(),
            features: self.features.clone(),
            drop: self.drop.clone(),
            header: self.header,
            format: self.format,
            skip_bad_rows: self.skip_bad_rows,
            labels_file: self.labels_file.clone(),
            libsvm_columns: dimensions,
            ..ReadOptions::default()
        }
    }

    pub(crate) fn open(&self, path: &Path, dimensions: Option<usize>) -> Result<Reader, Failure> {
        Ok(evmachine_data::open(path, &self.options(dimensions))?)
    }

    /// Opens a file for a model: its columns by name, where both have names.
    pub(crate) fn open_for(&self, console: &Console, path: &Path, evm: &Evm) -> Result<Reader, Failure> {
        let reader = self.open(path, Some(evm.dimensions()))?;
        let (expected, found) = (evm.feature_names(), feature_names(reader.schema()));
        if expected.is_empty() || found.is_empty() || expected == found {
            return Ok(reader);
        }
        let sorted = |names: &[String]| {
            let mut names = names.to_vec();
            names.sort();
            names
        };
        if sorted(expected) == sorted(&found) {
            if path == Path::new("-") {
                let message = "the columns of standard input are in another order than those of the model";
                return Err(
                    Failure::new(Kind::Data, message).hint("give a file, or name them with --features")
                );
            }
            console.detail("the columns are in another order than the model's and were taken by name");
            let by_name = expected.iter().map(|name| ColumnRef::Name(name.clone())).collect();
            return Self { features: by_name, ..self.clone() }.open(path, Some(evm.dimensions()));
        }
        if let Some((expected, found)) =
            expected.iter().zip(&found).find(|(expected, found)| expected != found)
        {
            console.warn(format!(
                "{}: column {found:?} stands where the model was trained on {expected:?}; are these the same features?",
                path.display()
            ));
        }
        Ok(reader)
    }

    /// The flags as they were typed, for a command to come.
    pub(crate) fn flags(&self) -> String {
        let one = |flag: &str, column: &Option<ColumnRef>| {
            column.as_ref().map_or(String::new(), |column| format!(" {flag} {}", typed(column)))
        };
        let many = |flag: &str, columns: &[ColumnRef]| match columns {
            [] => String::new(),
            columns => format!(" {flag} {}", columns.iter().map(typed).collect::<Vec<_>>().join(",")),
        };
        let labels = self.labels_file.as_ref();
        let labels = labels.map_or(String::new(), |path| format!(" --labels-file {}", path.display()));
        [
            one("--label", &self.label),
            one("--id", &self.id),
            many("--features", &self.features),
            many("--drop", &self.drop),
            labels,
        ]
        .concat()
    }

    /// Reads the features of a file whose rows are of no known class; it may lack the column of the labels.
    pub(crate) fn read_unlabelled(
        &self,
        console: &Console,
        path: &Path,
        evm: Option<&Evm>,
    ) -> Result<Unlabelled, Failure> {
        let open = |arguments: &Self| match evm {
            Some(evm) => arguments.open_for(console, path, evm),
            None => arguments.open(path, None),
        };
        let fits =
            |reader: &Reader| evm.is_none_or(|evm| reader.schema().feature_names.len() == evm.dimensions());
        let without = Self { label: None, labels_file: None, ..self.clone() };
        let mut reader = match open(self) {
            Ok(reader) if fits(&reader) => reader,
            // Without the label column a number names a feature, and a name nothing. What is said is what the flags
            // as given come to.
            first => match open(&without) {
                Ok(reader) if fits(&reader) => reader,
                _ => first?,
            },
        };
        let (features, _, row_numbers) = collect(console, path, &mut reader)?;
        Ok(Unlabelled { path: path.to_owned(), row_numbers, features })
    }

    /// Reads a file with labels into memory; for a model, where there is one already.
    pub fn read_labelled(
        &self,
        console: &Console,
        path: &Path,
        evm: Option<&Evm>,
    ) -> Result<Labelled, Failure> {
        let mut reader = match evm {
            Some(evm) => self.open_for(console, path, evm)?,
            None => self.open(path, None)?,
        };
        let (features, names, row_numbers) = collect(console, path, &mut reader)?;
        if names.len() < features.rows() {
            return Err(no_labels(reader.schema()));
        }
        let labels = Labels::new(names)?;
        let schema = reader.schema().clone();
        console.detail(format!(
            "{}: {} rows of {} features, {} classes, read as {}",
            path.display(),
            features.rows(),
            features.columns(),
            labels.names().len(),
            schema.format
        ));
        Ok(Labelled { path: path.to_owned(), row_numbers, features, labels, schema })
    }
}

/// All rows of a reader: features, labels as far as there are any, and numbers in the file.
fn collect(
    console: &Console,
    path: &Path,
    reader: &mut Reader,
) -> Result<(Features<'static>, Vec<String>, Vec<u64>), Failure> {
    let bar = console.bar(None, "reading");
    let (mut values, mut names, mut row_numbers) = (Vec::new(), Vec::new(), Vec::new());
    let mut columns = reader.schema().feature_names.len();
    for batch in reader.by_ref() {
        interrupt::check()?;
        let batch: Batch = batch?;
        columns = batch.columns;
        bar.inc(batch.rows as u64);
        values.extend(batch.features);
        row_numbers.extend(batch.row_numbers);
        names.extend(batch.labels.into_iter().flatten());
    }
    bar.finish_and_clear();
    report_skipped(console, reader.skipped());
    let features =
        Features::new(values, columns).map_err(|error| Failure::from(error).about(path.display()))?;
    Ok((features, names, row_numbers))
}

/// The names of the features, where the file gives them.
pub(crate) fn feature_names(schema: &Schema) -> Vec<String> {
    if schema.named { schema.feature_names.clone() } else { Vec::new() }
}

/// A column as it is typed in a shell.
pub(crate) fn typed(column: &ColumnRef) -> String {
    let side = |number: Option<i64>| number.map_or(String::new(), |number| number.to_string());
    match column {
        ColumnRef::Name(name) if name.contains(char::is_whitespace) => format!("{name:?}"),
        ColumnRef::Name(name) => name.clone(),
        ColumnRef::Number(number) => number.to_string(),
        ColumnRef::Range { start, end } => format!("{}:{}", side(*start), side(*end)),
    }
}

fn no_labels(schema: &Schema) -> Failure {
    let last = schema.feature_names.last().map_or("CLASS", String::as_str);
    let hint = match schema.format {
        Format::Npy => "give them with --labels-file FILE".to_owned(),
        Format::Npz => "name the array that holds them, such as --label y".to_owned(),
        _ => format!("name the column that holds them, such as --label {last:?} or --label 0"),
    };
    Failure::new(Kind::Usage, "the rows have no labels, and this command needs them").hint(hint)
}

pub(crate) fn report_skipped(console: &Console, skipped: &Skipped) {
    if skipped.rows == 0 {
        return;
    }
    console.warn(format!("{} bad rows were left out", skipped.rows));
    for (place, problem) in &skipped.reasons {
        console.say(format!("  {place}: {problem}"));
    }
}
