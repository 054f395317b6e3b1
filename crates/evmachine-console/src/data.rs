//! The flags that say what data files hold, and the files themselves.

use std::path::PathBuf;
use std::slice::from_ref;

use clap::Args;
use evmachine::{Encoder, Evm, Features, Fill, Labels, Metric, Params};
use evmachine_data::{ColumnRef, Format, Header, Missing, Notice, ReadOptions, Schema, Series, Skipped};

use crate::console::Console;
use crate::failure::{Failure, Kind};
use crate::hint::Hint;
use crate::inputs::expand;
use crate::interrupt;
use crate::large::{Sink, SpooledRows, Store, Texts};
use crate::origin::{FileRows, Located, Origin};
use crate::text::counted;

/// What a data file holds.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Data")]
pub struct DataArguments {
    /// The column with the class, by name or by number from 0 (-1 is the last). Labels 1, 1.0 and "1" are one class.
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true)]
    pub label: Option<ColumnRef>,

    /// A column that identifies rows, kept in predictions and not a feature.
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true)]
    pub id: Option<ColumnRef>,

    /// The feature columns: names, numbers or ranges such as 4:20; unless given, those that the model was trained on, by
    /// name, and without a model or names all but --label, --id and --drop, which must then be numeric.
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',', allow_hyphen_values = true)]
    pub features: Vec<ColumnRef>,

    /// Columns to leave out.
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',', allow_hyphen_values = true)]
    pub drop: Vec<ColumnRef>,

    /// Whether a text file begins with column names: auto, yes or no. Rows are counted from 1 without them.
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub header: Header,

    /// The format, where it shows neither in the content nor in the name: csv, tsv, jsonl, npy, npz, parquet, arrow,
    /// libsvm.
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<Format>,

    /// Labels in a file of their own, for NPY: one a line, or a one-dimensional NPY. For several files, a pattern such as
    /// 'labels-*.npy' that stands for as many.
    #[arg(long, value_name = "FILE")]
    pub labels_file: Option<PathBuf>,

    /// Leave out rows with missing or impossible values, and rows of zeros where the metric is cosine, instead of stopping
    /// at the first; they are counted, and the others keep their numbers.
    #[arg(long)]
    pub skip_bad_rows: bool,

    /// The encoder that the vectors come from, NAME or NAME@VERSION. `train` keeps it, with what its vectors have in common; where the
    /// model has another one, the vectors are refused. Vectors that do not look like those of the model's encoder are warned of.
    #[arg(long, value_name = "NAME")]
    pub encoder: Option<Encoder>,

    /// Columns that are kept as text, and are no features.
    #[arg(skip)]
    pub kept: Vec<ColumnRef>,

    /// Whether rows must have a direction, as the cosine asks.
    #[arg(skip)]
    pub directed: bool,

    /// How missing values are filled where there is no model yet.
    #[arg(skip)]
    pub fill: Option<Fill>,

    /// What they are filled with, by column, where that is known.
    #[arg(skip)]
    pub filled: Option<Vec<f32>>,

    /// The names of the features where there is no model that has them.
    #[arg(skip)]
    pub expected: Vec<String>,
}

/// Whole files, ready for the library.
#[derive(Debug)]
pub struct Labelled {
    /// Where the rows come from.
    pub origin: Origin,
    /// The features.
    pub features: Features<'static>,
    /// As many labels.
    pub labels: Labels,
    /// What missing values were filled with, by column, where there was no model to say so.
    pub fill: Option<Vec<f32>>,
    /// The columns of the files.
    pub schema: Schema,
}

impl Labelled {
    fn remove(&mut self, row: usize) {
        let others: Vec<usize> = (0..self.features.rows()).filter(|&other| other != row).collect();
        self.features = self.features.select(&others);
        self.labels = self.labels.select(&others);
        self.origin.remove(row);
    }

    /// Some rows alone, in rising order.
    pub fn keep(&mut self, rows: &[usize]) {
        self.features = self.features.select(rows);
        self.labels = self.labels.select(rows);
        self.origin = self.origin.select(rows);
    }

    /// A failure of the library with these rows, told by their files and row numbers.
    pub fn failure(&self, failure: impl Into<Located>) -> Failure {
        self.origin.failure(failure)
    }
}

/// Whole files of rows without a class.
pub struct Unlabelled {
    /// Where the rows come from.
    pub origin: Origin,
    /// The features.
    pub features: Features<'static>,
    /// What the label column holds, where there is one.
    pub labels: Option<Vec<String>>,
    /// The columns of the files.
    pub schema: Schema,
}

impl Unlabelled {
    /// As [`Labelled::failure`].
    pub fn failure(&self, failure: impl Into<Located>) -> Failure {
        self.origin.failure(failure)
    }
}

impl DataArguments {
    /// The same for rows that are learned with these parameters.
    pub fn learned_with(&self, params: &Params) -> Self {
        Self { directed: needs_direction(params), ..self.clone() }
    }

    /// `evm`: the model that rows are read for.
    fn options(&self, evm: Option<&Evm>) -> ReadOptions {
        ReadOptions {
            label: self.label.clone(),
            id: self.id.clone(),
            kept: self.kept.clone(),
            features: self.features.clone(),
            expected: evm.map_or(&self.expected[..], Evm::feature_names).to_vec(),
            drop: self.drop.clone(),
            header: self.header,
            format: self.format,
            skip_bad_rows: self.skip_bad_rows,
            missing: match (evm.map_or(self.filled.as_deref(), Evm::fill_values), self.fill) {
                (Some(numbers), _) => Missing::Fill(numbers.to_vec()),
                (None, Some(_)) if evm.is_none() => Missing::Keep,
                (None, _) => Missing::Refuse,
            },
            directed: self.directed || evm.is_some_and(|evm| needs_direction(evm.params())),
            labels_file: self.labels_file.clone(),
            // A sparse file does not tell how many columns it has.
            libsvm_columns: evm.map(Evm::dimensions),
            ..ReadOptions::default()
        }
    }

    /// Opens files, for a model where there is one: its features by name, where both have names.
    pub fn open(&self, console: &Console, paths: &[PathBuf], evm: Option<&Evm>) -> Result<Series, Failure> {
        if let (Some(encoder), Some(evm)) = (&self.encoder, evm) {
            evm.check_encoder(encoder)?;
        }
        let labels = self.labels_file.as_ref().map_or(Ok(Vec::new()), |path| expand(from_ref(path)))?;
        let series = Series::open_labelled(&expand(paths)?, &labels, &self.options(evm))?;
        let shown = series.paths()[0].display();
        for notice in &series.schema().notices {
            console.warn(format!("{shown}: {notice}; {}", settling_flag(notice)));
        }
        let found = feature_names(series.schema());
        let expected = evm.map_or(&[][..], |evm| evm.feature_names());
        if !found.is_empty()
            && let Some((expected, found)) = expected.iter().zip(&found).find(|(one, other)| one != other)
        {
            let [expected, found] = [expected, found].map(|name| name.chars().take(80).collect::<String>());
            console.warn(format!(
                "{shown}: column {found:?} stands where the model was trained on {expected:?}; are these the same features?"
            ));
        }
        Ok(series)
    }

    /// The flags as they were typed, for a command to come.
    pub fn flags(&self) -> String {
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

    /// Reads the features of files whose rows are of no known class; they may lack the column of the labels.
    pub fn read_unlabelled(
        &self,
        console: &Console,
        paths: &[PathBuf],
        evm: Option<&Evm>,
    ) -> Result<Unlabelled, Failure> {
        let fits =
            |series: &Series| evm.is_none_or(|evm| series.schema().feature_names.len() == evm.dimensions());
        let without = Self { label: None, labels_file: None, ..self.clone() };
        let (arguments, series) = match self.open(console, paths, evm) {
            Ok(series) if fits(&series) => (self, series),
            // Without the label column a number names a feature, and a name nothing. What is said is what the flags
            // as given come to.
            first => match without.open(console, paths, evm) {
                Ok(series) if fits(&series) => (&without, series),
                _ => (self, first?),
            },
        };
        let sink = Sink::new(&arguments.options(evm), None);
        let (rows, origin, schema) = collect(console, series, sink, None)?;
        doubt_encoder(console, evm, &rows.features, &origin);
        let labels = rows.labels.map(|labels| labels.iter().map(str::to_owned).collect());
        Ok(Unlabelled { origin, features: rows.features, labels, schema })
    }

    /// As [`read_unlabelled`](Self::read_unlabelled), for rows that are learned beside known ones.
    pub fn read_strangers(
        &self,
        console: &Console,
        paths: &[PathBuf],
        known: &Labelled,
    ) -> Result<Unlabelled, Failure> {
        let filled = known.fill.clone();
        let expected = feature_names(&known.schema);
        Self { filled, expected, ..self.clone() }.read_unlabelled(console, paths, None)
    }

    /// Reads files with labels into memory; for a model, where there is one already.
    pub fn read_labelled(
        &self,
        console: &Console,
        paths: &[PathBuf],
        evm: Option<&Evm>,
    ) -> Result<Labelled, Failure> {
        self.read_large(console, paths, evm, None)
    }

    /// As [`read_labelled`](Self::read_labelled); features that do not fit the memory go to the store.
    pub fn read_large(
        &self,
        console: &Console,
        paths: &[PathBuf],
        evm: Option<&Evm>,
        store: Option<&Store>,
    ) -> Result<Labelled, Failure> {
        let series = self.open(console, paths, evm)?;
        if series.schema().label_name.is_none() {
            return Err(no_labels(series.schema(), evm.is_some()));
        }
        let sink = Sink::new(&self.options(evm), store);
        let (rows, origin, schema) = collect(console, series, sink, self.fill.filter(|_| evm.is_none()))?;
        doubt_encoder(console, evm, &rows.features, &origin);
        let SpooledRows { features, labels, fill, .. } = rows;
        let labels = Labels::new(labels.iter().flat_map(Texts::iter))?;
        console.detail(format!(
            "{}: {} of {}, {}, read as {}",
            origin.name(),
            counted(features.rows() as u64, "row"),
            counted(features.columns() as u64, "feature"),
            counted(labels.names().len() as u64, "class"),
            schema.format
        ));
        Ok(Labelled { origin, features, labels, fill, schema })
    }
}

impl DataArguments {
    /// Has the library do something with rows. Where bad rows are left out, so are those that it refuses, which may be fine as they
    /// are in the file and impossible when they are whitened.
    pub fn attempt<T, E: Into<Located>>(
        &self,
        console: &Console,
        data: &mut Labelled,
        mut call: impl FnMut(&Labelled) -> Result<T, E>,
    ) -> Result<T, Failure> {
        let mut reasons = Vec::new();
        let done = loop {
            let error = match call(data) {
                Ok(done) => break done,
                Err(error) => error.into(),
            };
            let row = error.row().filter(|_| self.skip_bad_rows && data.features.rows() > 1);
            let Some(row) = row else { return Err(data.failure(error)) };
            reasons.push(data.failure(error).message);
            data.remove(row);
        };
        if !reasons.is_empty() {
            warn_of_left_out(console, reasons.len() as u64);
            reasons.iter().take(Skipped::KEPT).for_each(|reason| console.say(format!("  {reason}")));
        }
        Ok(done)
    }
}

/// Warns of vectors that do not look like those of the model's encoder.
pub fn doubt_encoder(console: &Console, evm: Option<&Evm>, features: &Features<'_>, origin: &Origin) {
    if let Some(evm) = evm
        && let (Some(encoder), Some(doubt)) = (evm.encoder(), evm.encoder_doubt(features))
    {
        let name = origin.name();
        console
            .warn(format!("{name}: these vectors do not look like those of the encoder {encoder}: {doubt}"));
    }
}

/// All rows of some files and where they come from. The reader took no row that [`Features`] would refuse.
fn collect(
    console: &Console,
    mut series: Series,
    mut sink: Sink<'_>,
    fill: Option<Fill>,
) -> Result<(SpooledRows, Origin, Schema), Failure> {
    let bar = console.bar(None, "reading");
    let columns = series.schema().feature_names.len();
    let mut files: Vec<FileRows> = Vec::new();
    while let Some(next) = series.next() {
        interrupt::check()?;
        let (file, batch) = next?;
        bar.inc(batch.rows as u64);
        let path = &series.paths()[file];
        let name = path.display().to_string();
        if files.len() <= file
            && let Some(rows) = series.announced()
        {
            sink.expect(&name, rows, columns)?;
        }
        FileRows::extend(&mut files, path, file, batch.rows);
        sink.add(&name, batch)?;
    }
    bar.finish_and_clear();
    report_skipped(console, &series);
    let schema = series.schema().clone();
    let mut rows = sink.finish(fill)?;
    let numbers = std::mem::take(&mut rows.batch.row_numbers);
    let ids = rows.batch.ids.take();
    Ok((rows, Origin { files, numbers, ids }, schema))
}

/// Whether a row of zeros has a distance to nothing. Standardised rows are others, and the library judges them.
fn needs_direction(params: &Params) -> bool {
    params.metric == Metric::Cosine && !params.standardize
}

/// What to type where a reader was wrong.
fn settling_flag(notice: &Notice) -> String {
    match notice {
        Notice::IndexColumn { column } => settling_index(&column.to_string()),
        Notice::NamedIndex { name } => settling_index(&typed(&ColumnRef::Name(name.clone()))),
        Notice::DoubtfulHeader => "--header yes or --header no settles it".to_owned(),
        _ => "see --help".to_owned(),
    }
}

fn settling_index(column: &str) -> String {
    format!(
        "--id {column} keeps it in predictions, --drop {column} settles it, --features names it if it is one"
    )
}

/// The names of the features, where the file gives them.
pub fn feature_names(schema: &Schema) -> Vec<String> {
    if schema.named { schema.feature_names.clone() } else { Vec::new() }
}

/// A column as it is typed in a shell.
pub fn typed(column: &ColumnRef) -> String {
    let side = |number: Option<i64>| number.map_or(String::new(), |number| number.to_string());
    match column {
        ColumnRef::Name(name) if name.contains(char::is_whitespace) => format!("{name:?}"),
        ColumnRef::Name(name) => name.clone(),
        ColumnRef::Number(number) => number.to_string(),
        ColumnRef::Range { start, end } => format!("{}:{}", side(*start), side(*end)),
    }
}

/// `modelled`: whether there is a model, and the columns that were read are its features.
fn no_labels(schema: &Schema, modelled: bool) -> Failure {
    let last = schema.feature_names.last().map_or("CLASS", String::as_str);
    let hint = match schema.format {
        Format::Npy => Hint::flags(&["labels-file"], "give them with --labels-file FILE"),
        Format::Npz => Hint::flags(&["label"], "name the array that holds them, such as --label y"),
        _ if modelled => Hint::flags(&["label"], "name the column that holds them with --label COLUMN"),
        _ => Hint::flags(
            &["label"],
            format!("name the column that holds them, such as --label {last:?} or --label 0"),
        ),
    };
    Failure::new(Kind::Usage, "the rows have no labels, and this command needs them").hint(hint)
}

fn warn_of_left_out(console: &Console, rows: u64) {
    let were = if rows == 1 { "was" } else { "were" };
    console.warn(format!("{} {were} left out", counted(rows, "bad row")));
}

/// Says how many rows were left out, and why the first of them.
pub fn report_skipped(console: &Console, series: &Series) {
    let several = series.paths().len() > 1;
    let rows: u64 = series.skipped().map(|(_, skipped)| skipped.rows).sum();
    if rows == 0 {
        return;
    }
    warn_of_left_out(console, rows);
    let mut reasons = Vec::new();
    for (path, skipped) in series.skipped() {
        let file = if several { format!("{}: ", path.display()) } else { String::new() };
        reasons.extend(skipped.reasons.iter().map(|(place, problem)| format!("  {file}{place}: {problem}")));
    }
    for reason in reasons.iter().take(Skipped::KEPT) {
        console.say(reason);
    }
}
