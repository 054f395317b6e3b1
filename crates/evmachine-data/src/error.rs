//! What can go wrong with a file, said so that its owner knows what to do next.

mod system;

use std::io;

use crate::brief::{brief, megabytes, passage, suggestion};
use crate::format::Format;
use crate::options::ColumnRef;
use crate::problem::{Place, RowProblem};

pub(crate) use self::system::{csv_error, display_name, is_standard_input};

/// Why a file could not be read or written.
///
/// `file` is the path as it was given, or `standard input` / `standard output`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// No such file.
    #[error("{file} does not exist. Check the path")]
    NotFound {
        /// The file asked for.
        file: String,
    },
    /// The operating system refused access.
    #[error("{file} may not be opened by this user. Change its permissions, or run as its owner")]
    NoPermission {
        /// The file asked for.
        file: String,
    },
    /// A directory where a file was expected.
    #[error("{file} is a directory. Name a file inside it, or several")]
    IsDirectory {
        /// The directory.
        file: String,
    },
    /// Reading failed part of the way through.
    #[error("{file} could not be read: {source}. Check the disk or the network share it lies on")]
    Read {
        /// The file being read.
        file: String,
        /// What the operating system said.
        source: io::Error,
    },
    /// Writing failed.
    #[error("{file} could not be written: {source}. Check that the folder exists, is writable and has space")]
    Write {
        /// The file being written.
        file: String,
        /// What the operating system said.
        source: io::Error,
    },
    /// Not a single byte.
    #[error("{file} is empty. Check the program that wrote it")]
    EmptyFile {
        /// The empty file.
        file: String,
    },
    /// A file with a header or a schema, and nothing below it.
    #[error("{file} has columns but no rows. Check the program that wrote it")]
    NoRows {
        /// The file without rows.
        file: String,
    },
    /// Rows were skipped until none was left.
    #[error("{file}: all {skipped} rows are bad; the first: {first}. Correct the file")]
    NoGoodRows {
        /// The file.
        file: String,
        /// How many rows were skipped.
        skipped: u64,
        /// Where and why the first one was.
        first: String,
    },
    /// The file ends before the data it announces.
    #[error("{file} is truncated: {}. Copy or export it again", passage(detail))]
    Truncated {
        /// The file.
        file: String,
        /// What is missing.
        detail: String,
    },
    /// The bytes are not what the name or the options say they are.
    #[error(
        "{file} is not in {expected} format: it begins with {found}. Correct its extension, or name its format"
    )]
    WrongMagic {
        /// The file.
        file: String,
        /// What it should have been.
        expected: Format,
        /// The first bytes, escaped.
        found: String,
    },
    /// Neither the bytes nor the name tell the format.
    #[error("{file} is in no known format: it begins with {found}. Name one of {}", Format::NAMES)]
    UnknownFormat {
        /// The file.
        file: String,
        /// The first bytes, escaped.
        found: String,
    },
    /// A format, or a kind of compression, that is known and not read.
    #[error("{file} is {what}, which is not read. {advice}")]
    Foreign {
        /// The file.
        file: String,
        /// What it is, such as `an Excel workbook`.
        what: String,
        /// What to do.
        advice: &'static str,
    },
    /// A byte that no text has.
    #[error(
        "{file} holds a NUL byte in line {line}, and is no text table. \
         If it is text, save it as UTF-8; otherwise correct its extension"
    )]
    NulByte {
        /// The file.
        file: String,
        /// The line, from 1.
        line: u64,
    },
    /// A quote that the end of the file leaves open.
    #[error(
        "{file}: a quote is opened in the record of line {line} and never closed. Close it, or double it where it is part of the text"
    )]
    OpenQuote {
        /// The file.
        file: String,
        /// Where the record begins, from 1.
        line: u64,
    },
    /// More than memory holds.
    #[error(
        "{file} would take {} of memory, and {} are left. Give a part of it",
        megabytes(*needed),
        megabytes(*limit)
    )]
    TooLarge {
        /// The file.
        file: String,
        /// Bytes that it would take, as far as is known.
        needed: u64,
        /// Bytes that there are.
        limit: u64,
    },
    /// What comes compressed or through a pipe and must be read twice is more than a temporary file may hold.
    #[error(
        "{file} unpacks to more than {limit} bytes, the most that is kept in a temporary file. Unpack it first, and name the unpacked file"
    )]
    Unpacked {
        /// The file.
        file: String,
        /// The most bytes of a temporary file.
        limit: u64,
    },
    /// Features that a model was trained on and the file lacks.
    #[error(
        "{file} lacks {count} of the features that are needed: {missing}; {known}. \
         Give a file with these columns, or choose the features"
    )]
    MissingFeatures {
        /// The file.
        file: String,
        /// How many are missing.
        count: usize,
        /// The first of them, quoted.
        missing: String,
        /// The columns there are, as a phrase.
        known: String,
    },
    /// One of several files differs from the first.
    #[error("{file} and {first} have unlike columns: {detail}. Give files with the same columns")]
    UnlikeFiles {
        /// The file.
        file: String,
        /// The first file.
        first: String,
        /// In what they differ.
        detail: String,
    },
    /// There are not as many files of labels as of features.
    #[error(
        "{file}: {files} files and {labels} file{s} of labels. Give one for each, in the same order", s = plural(*labels)
    )]
    LabelFiles {
        /// The first file.
        file: String,
        /// Files of features.
        files: usize,
        /// Files of labels.
        labels: usize,
    },
    /// Text that is not UTF-8.
    #[error("{file} is UTF-16 text. Save it as UTF-8")]
    Utf16 {
        /// The file.
        file: String,
    },
    /// The structure of a binary file is broken.
    #[error("{file} is damaged: {}. Copy or export it again", passage(detail))]
    Damaged {
        /// The file.
        file: String,
        /// What the decoder met.
        detail: String,
    },
    /// An array that cannot be a feature matrix or a list of labels.
    #[error("{file}: {} {}. {advice}", passage(array), passage(detail))]
    UnsuitableArray {
        /// The file.
        file: String,
        /// Which array, such as `the array` or ``the array `X` ``.
        array: String,
        /// What it is.
        detail: String,
        /// What to do.
        advice: String,
    },
    /// Several matrices in an archive, or none, and no name that tells which one holds the features.
    #[error(
        "{file} has {matrices} matrices of floats and none with a usual name; {known}. Name the one that holds the features"
    )]
    NoMatrix {
        /// The archive.
        file: String,
        /// How many matrices it has.
        matrices: usize,
        /// The arrays there are, as a phrase.
        known: String,
    },
    /// A choice that makes no sense for this format.
    #[error("{file}: {} does not apply to {format} files. {advice}", passage(option))]
    UnsuitableOption {
        /// The file.
        file: String,
        /// What was chosen, such as ``the label column `y` ``.
        option: String,
        /// The format of the file.
        format: Format,
        /// What to do.
        advice: String,
    },
    /// A format that needs random access came through a pipe or compressed.
    #[error(
        "{file}: {format} cannot be read through a pipe, gzip or Zstandard, because its index is at the end. \
         Save it to a file first, not compressed as a whole"
    )]
    NotStreamable {
        /// Where the bytes came from.
        file: String,
        /// The format.
        format: Format,
    },
    /// A column that does not exist.
    #[error("{file} has no column {}; {known}.{}", brief(column), suggestion(closest.as_deref()))]
    UnknownColumn {
        /// The file.
        file: String,
        /// The column asked for, quoted.
        column: String,
        /// The columns there are, as a phrase.
        known: String,
        /// The name most like the one asked for, if one is near.
        closest: Option<String>,
    },
    /// Two columns of one name.
    #[error(
        "{file} has two columns called `{}`, numbers {first} and {second}. Rename one of them",
        brief(column)
    )]
    DuplicateColumn {
        /// The file.
        file: String,
        /// The name.
        column: String,
        /// The number of the first, from 0.
        first: usize,
        /// The number of the second, from 0.
        second: usize,
    },
    /// A column chosen for two purposes.
    #[error(
        "{file}: column `{}` is asked for both as {one} and as {other}. Choose one of them",
        brief(column)
    )]
    ColumnConflict {
        /// The file.
        file: String,
        /// The column.
        column: String,
        /// Its first purpose.
        one: &'static str,
        /// Its second purpose.
        other: &'static str,
    },
    /// A range where a single column is needed.
    #[error("{file}: {purpose} is one column, not the range {range}. Give a name or a number")]
    RangeForOne {
        /// The file.
        file: String,
        /// What the column is for.
        purpose: &'static str,
        /// The range as typed.
        range: String,
    },
    /// Label, id and drop leave nothing.
    #[error("{file} has no feature columns left: label, id and columns to leave out are all there are")]
    NoFeatures {
        /// The file.
        file: String,
    },
    /// More columns than any feature vector has.
    #[error("{file} has {columns} columns, more than the limit of {limit}. Check the column numbers in it")]
    TooManyColumns {
        /// The file.
        file: String,
        /// How many there are.
        columns: u64,
        /// How many are allowed.
        limit: u64,
    },
    /// A column of words among the features of a text file.
    #[error(
        "{file}: column `{}` is not numeric: {place} holds `{}`. \
         Make it the label or the id, or leave it out{}",
        brief(column),
        brief(value),
        if *may_be_header { "; if the first line is a header, say so" } else { "" }
    )]
    TextColumn {
        /// The file.
        file: String,
        /// The column.
        column: String,
        /// The column as options name it.
        reference: Box<ColumnRef>,
        /// The first value that is not a number.
        value: String,
        /// Where that value is.
        place: Place,
        /// Whether the value may be a heading.
        may_be_header: bool,
    },
    /// A column of a type that is not a number in a Parquet or Arrow file.
    #[error(
        "{file}: column `{}` is not numeric: its type is {}. \
         Make it the label or the id, or leave it out",
        brief(column),
        passage(kind)
    )]
    ColumnType {
        /// The file.
        file: String,
        /// The column.
        column: String,
        /// Its type.
        kind: String,
    },
    /// A label or id column of a type that has no plain text form.
    #[error(
        "{file}: column `{}` cannot be the {purpose}: its type is {}. Convert it to text or integers",
        brief(column),
        passage(kind)
    )]
    UnprintableColumn {
        /// The file.
        file: String,
        /// The column.
        column: String,
        /// `label` or `id`.
        purpose: &'static str,
        /// Its type.
        kind: String,
    },
    /// Lists and numbers among the features.
    #[error(
        "{file}: column `{}` holds vectors and column `{}` is a feature too. \
         Choose the one, or leave out the other",
        brief(list),
        brief(other)
    )]
    MixedFeatures {
        /// The file.
        file: String,
        /// The column of lists.
        list: String,
        /// Another feature column.
        other: String,
    },
    /// A row that cannot be used, when bad rows are not skipped.
    #[error("{file}: {place}: {problem}. {}, or have bad rows left out", problem.remedy())]
    BadRow {
        /// The file.
        file: String,
        /// Which row.
        place: Place,
        /// What is wrong with it.
        problem: RowProblem,
    },
    /// Labels come from two places.
    #[error("{file}: labels are asked for both from {first} and from {labels}. Leave one of them out")]
    TwoLabels {
        /// The file.
        file: String,
        /// Where the first labels come from.
        first: &'static str,
        /// The labels file.
        labels: String,
    },
    /// The labels file is longer or shorter than the data.
    #[error(
        "{labels} has {label_rows} labels but {file} has {rows} rows. \
         Give one label for each row, without a heading"
    )]
    LabelCount {
        /// The data file.
        file: String,
        /// The labels file.
        labels: String,
        /// How many rows the data has; `more than N` while it is still being read.
        rows: String,
        /// How many labels there are; `more than N` while they are still being read.
        label_rows: String,
    },
    /// The program was built without that format.
    #[error(
        "{file}: this program was built without {format}; build it with the cargo feature `parquet`, which is on by default"
    )]
    NotBuilt {
        /// The file.
        file: String,
        /// The format.
        format: &'static str,
    },
    /// The extension of an output file says nothing.
    #[error(
        "{file}: the extension does not tell the output format. Use .csv, .jsonl or .parquet, or name the format"
    )]
    UnknownOutput {
        /// The output file.
        file: String,
    },
    /// Values that do not fit the columns a writer was created with.
    #[error(
        "{file}: column `{column}` {detail}. Hand over one vector of the declared type per column, all as long"
    )]
    OutputShape {
        /// The output file.
        file: String,
        /// The column.
        column: String,
        /// What does not fit.
        detail: String,
    },
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}
