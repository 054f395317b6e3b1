//! Opening feature files and reading them batch by batch.

use std::path::Path;

use crate::batch::{Batch, Collector, WantedTexts};
use crate::columns::Plan;
use crate::error::DataError;
use crate::format::Format;
use crate::gather::Gathering;
use crate::labels::LabelStream;
use crate::notice::Notice;
use crate::options::ReadOptions;
use crate::problem::Skipped;
use crate::source::Source;
#[cfg(feature = "parquet")]
use crate::{arrow, parquet};
use crate::{jsonl, libsvm, npy, npz, text};

/// What a file consists of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schema {
    /// The format found or asked for.
    pub format: Format,
    /// The features in the order in which batches hold them. Columns without names are called
    /// `column_0`, `column_1` and so on; LIBSVM features go by their index.
    pub feature_names: Vec<String>,
    /// Whether the file names its columns: a text file with a header, JSON lines, Parquet and Arrow.
    pub named: bool,
    /// The column, array or file of the labels.
    pub label_name: Option<String>,
    /// The column or array of the identifiers.
    pub id_name: Option<String>,
    /// What was taken for granted and may be wrong.
    pub notices: Vec<Notice>,
}

impl Schema {
    /// The schema of a file whose columns are all called by `names`.
    pub(crate) fn from_plan(format: Format, names: &[String], plan: &Plan) -> Self {
        let named = matches!(format, Format::Parquet | Format::Arrow | Format::Jsonl);
        let notice = |column: usize| {
            if named {
                Notice::NamedIndex { name: names[column].clone() }
            } else {
                Notice::IndexColumn { column }
            }
        };
        Self {
            format,
            feature_names: plan.features.iter().map(|&column| names[column].clone()).collect(),
            named,
            label_name: plan.label.map(|column| names[column].clone()),
            id_name: plan.id.map(|column| names[column].clone()),
            notices: plan.indexes.iter().map(|&column| notice(column)).collect(),
        }
    }
}

/// A format's way of delivering rows.
pub(crate) trait RowSource: Send {
    /// Hands rows over until the collector has no room; returns whether more may come.
    fn fill(&mut self, collector: &mut Collector) -> Result<bool, DataError>;
}

/// A file of which everything but the rows was read.
pub(crate) struct Opened {
    pub(crate) schema: Schema,
    pub(crate) wanted: WantedTexts,
    rows: Box<dyn RowSource>,
    /// How many rows there are, where the format says so.
    total: Option<u64>,
    label_stream: Option<LabelStream>,
    id_stream: Option<LabelStream>,
}

impl Opened {
    pub(crate) fn new(schema: Schema, wanted: WantedTexts, rows: Box<dyn RowSource>) -> Self {
        Self { schema, wanted, rows, total: None, label_stream: None, id_stream: None }
    }

    pub(crate) fn with_rows(mut self, total: u64) -> Self {
        self.total = Some(total);
        self
    }

    /// Takes labels from elsewhere; `name` is what the schema calls them.
    pub(crate) fn with_labels(mut self, name: String, stream: LabelStream) -> Result<Self, DataError> {
        self.check_total(&stream)?;
        self.schema.label_name = Some(name);
        self.wanted.labels = true;
        self.label_stream = Some(stream);
        Ok(self)
    }

    /// Takes ids from elsewhere.
    pub(crate) fn with_ids(mut self, name: String, stream: LabelStream) -> Result<Self, DataError> {
        self.check_total(&stream)?;
        self.schema.id_name = Some(name);
        self.wanted.ids = true;
        self.id_stream = Some(stream);
        Ok(self)
    }

    fn check_total(&self, stream: &LabelStream) -> Result<(), DataError> {
        self.total.map_or(Ok(()), |rows| stream.expect_total(rows))
    }
}

/// Opens a feature file; `-` stands for standard input, which may carry CSV, TSV, JSON lines, LIBSVM,
/// NPY or an Arrow stream.
///
/// Mistakes that concern the file as a whole are found here, those of rows while iterating.
pub fn open(path: &Path, options: &ReadOptions) -> Result<Reader, DataError> {
    let source = Source::open(path)?;
    let file = source.file.clone();
    let format = Format::detect(&source, options.format)?;
    let mut opened = match format {
        Format::Csv | Format::Tsv => text::open(source, options, format),
        Format::Jsonl => jsonl::open(source, options),
        Format::Libsvm => libsvm::open(source, options),
        Format::Npy => npy::open(source, options),
        Format::Npz => npz::open(&source, options),
        #[cfg(feature = "parquet")]
        Format::Parquet => parquet::open(&source, options),
        #[cfg(feature = "parquet")]
        Format::Arrow => arrow::open(source, options),
        #[cfg(not(feature = "parquet"))]
        Format::Parquet => Err(DataError::NotBuilt { file: file.clone(), format: "Parquet" }),
        #[cfg(not(feature = "parquet"))]
        Format::Arrow => Err(DataError::NotBuilt { file: file.clone(), format: "Arrow" }),
    }?;
    let announced = opened.total;
    if let Some(labels) = &options.labels_file {
        let stream = LabelStream::open(&file, labels)?;
        if opened.wanted.labels {
            let first = if format == Format::Libsvm { "the lines" } else { "a column" };
            return Err(DataError::TwoLabels { file, first, labels: stream.name().to_owned() });
        }
        opened = opened.with_labels(stream.name().to_owned(), stream)?;
    }
    let names = opened.schema.feature_names.clone();
    let mut collector = Collector::new(&file, names, opened.wanted, options);
    collector.label_stream = opened.label_stream;
    collector.id_stream = opened.id_stream;
    Ok(Reader { schema: opened.schema, rows: Some(opened.rows), announced, collector })
}

/// An open feature file, read batch by batch.
///
/// The iteration ends after the first error.
pub struct Reader {
    schema: Schema,
    /// `None` once the end was reached.
    rows: Option<Box<dyn RowSource>>,
    announced: Option<u64>,
    collector: Collector,
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Reader").field("schema", &self.schema).finish_non_exhaustive()
    }
}

impl Reader {
    /// What the file consists of.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// How many rows there are by what the file says, where it does.
    pub fn announced(&self) -> Option<u64> {
        self.announced
    }

    /// The bad rows left out up to now; complete once the iteration ended.
    pub fn skipped(&self) -> &Skipped {
        self.collector.skipped()
    }

    fn advance(&mut self) -> Result<Option<Batch>, DataError> {
        let Some(mut rows) = self.rows.take() else { return Ok(None) };
        if rows.fill(&mut self.collector)? {
            self.rows = Some(rows);
        } else {
            self.collector.finish()?;
        }
        Ok(self.collector.take())
    }
}

impl Iterator for Reader {
    type Item = Result<Batch, DataError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.advance().transpose()
    }
}

/// A whole file in memory.
#[derive(Debug, Clone, PartialEq)]
pub struct Dataset {
    /// What the file consists of.
    pub schema: Schema,
    /// All good rows.
    pub data: Batch,
    /// The rows left out.
    pub skipped: Skipped,
}

/// Reads a whole file at once; one that does not fit into memory is an error.
pub fn read_all(path: &Path, options: &ReadOptions) -> Result<Dataset, DataError> {
    let mut reader = open(path, options)?;
    let file = reader.collector.file().to_owned();
    let mut gathering = Gathering::new(options);
    if let Some(rows) = reader.announced {
        gathering.expect(&file, rows, reader.schema.feature_names.len())?;
    }
    while let Some(batch) = reader.advance()? {
        gathering.add(&file, batch)?;
    }
    Ok(Dataset {
        schema: reader.schema,
        data: gathering.finish(),
        skipped: reader.collector.skipped().clone(),
    })
}
