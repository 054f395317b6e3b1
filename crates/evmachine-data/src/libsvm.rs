//! Sparse feature files: `label index:value index:value …`, with comments after `#`.
//!
//! Indexes count from 1, or from 0 if 0 occurs anywhere in the file. What is not listed is zero.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek};

use crate::batch::{Collector, RowText, WantedTexts};
use crate::brief::brief;
use crate::columns::{COLUMN_LIMIT, Plan, check_count};
use crate::dialect::{split_pair, without_comment, words};
use crate::error::DataError;
use crate::format::Format;
use crate::number::{self, Field};
use crate::options::{ColumnRef, ReadOptions};
use crate::problem::RowProblem;
use crate::reader::{Opened, RowSource, Schema};
use crate::records::RECORD_LIMIT;
use crate::source::Source;

const BUFFER_BYTES: usize = 1 << 18;

/// Opens a LIBSVM file. It is read twice: once to find the range of the indexes, once for the rows.
pub(crate) fn open(source: Source, options: &ReadOptions) -> Result<Opened, DataError> {
    let name = source.file.clone();
    let unsuitable = |option: String, advice: &str| DataError::UnsuitableOption {
        file: name.clone(),
        option,
        format: Format::Libsvm,
        advice: advice.to_owned(),
    };
    match &options.label {
        Some(ColumnRef::Name(label)) if label == "label" => {}
        Some(other) => {
            return Err(unsuitable(
                format!("the label column {other}"),
                "Leave it out: each line begins with its label",
            ));
        }
        None => {}
    }
    if let Some(id) = &options.id {
        return Err(unsuitable(format!("the id column {id}"), "Leave it out, or use a format with columns"));
    }
    if let Some(kept) = options.kept.first() {
        return Err(unsuitable(format!("the column {kept}"), "Leave it out, or use a format with columns"));
    }
    let mut file = source.into_file()?;
    let start = file.stream_position().map_err(|error| DataError::reading(&name, error))?;
    let mut lines = Lines::new(file);
    let indexes = Indexes::scan(&name, &mut lines)?;
    let columns = indexes.columns(&name, options)?;
    let feature_names: Vec<String> =
        (0..columns).map(|column| (column as u64 + indexes.base).to_string()).collect();
    let without_label = ReadOptions { label: None, ..options.clone() };
    let plan = Plan::resolve(&name, &feature_names, &without_label)?;
    let mut schema = Schema::from_plan(Format::Libsvm, &feature_names, &plan);
    schema.label_name = Some("label".to_owned());
    lines.rewind(start).map_err(|error| DataError::reading(&name, error))?;
    let mut targets = vec![None; columns];
    for (feature, &column) in plan.features.iter().enumerate() {
        targets[column] = Some(feature);
    }
    let rows = SparseRows {
        lines,
        base: indexes.base,
        targets,
        width: plan.features.len(),
        originals: vec![0.0; plan.features.len()],
        last_seen: vec![0; columns],
        rows: 0,
    };
    Ok(Opened::new(schema, WantedTexts { labels: true, ids: false, kept: 0 }, Box::new(rows)))
}

/// The lines that hold a row.
struct Lines {
    reader: BufReader<File>,
    buffer: Vec<u8>,
    line: u64,
}

impl Lines {
    fn new(file: File) -> Self {
        Self { reader: BufReader::with_capacity(BUFFER_BYTES, file), buffer: Vec::new(), line: 0 }
    }

    fn rewind(&mut self, start: u64) -> std::io::Result<()> {
        self.line = 0;
        self.reader.seek(std::io::SeekFrom::Start(start)).map(|_| ())
    }

    /// The next line that is more than a comment, with its number.
    fn next(&mut self) -> std::io::Result<Option<(u64, &[u8])>> {
        loop {
            self.buffer.clear();
            match self.reader.by_ref().take(RECORD_LIMIT).read_until(b'\n', &mut self.buffer)? as u64 {
                0 => return Ok(None),
                RECORD_LIMIT => {
                    return Err(io::Error::new(io::ErrorKind::InvalidData, "a line is longer than 32 MiB"));
                }
                _ => {}
            }
            self.line += 1;
            if !without_comment(&self.buffer).is_empty() {
                break;
            }
        }
        Ok(Some((self.line, without_comment(&self.buffer))))
    }
}

/// The range of the indexes in a file.
struct Indexes {
    /// What the first feature is called: 0 or 1.
    base: u64,
    greatest: Option<u64>,
}

impl Indexes {
    /// Looks through the whole file; what is not readable here is reported when its row is read.
    fn scan(file: &str, lines: &mut Lines) -> Result<Self, DataError> {
        let (mut base, mut greatest, mut any) = (1, None, false);
        while let Some((_, line)) = lines.next().map_err(|error| DataError::reading(file, error))? {
            any = true;
            for (index, _) in words(line).filter_map(split_pair) {
                if let Some(index) = parse_index(index) {
                    base = base.min(index);
                    greatest = greatest.max(Some(index));
                }
            }
        }
        if any { Ok(Self { base, greatest }) } else { Err(DataError::NoRows { file: file.to_owned() }) }
    }

    fn columns(&self, file: &str, options: &ReadOptions) -> Result<usize, DataError> {
        let found = self.greatest.map_or(0, |greatest| greatest.saturating_add(1) - self.base);
        let columns = options.libsvm_columns.map_or(found, |columns| columns as u64);
        check_count(file, columns)?;
        Ok(columns.min(COLUMN_LIMIT) as usize)
    }
}

fn parse_index(index: &[u8]) -> Option<u64> {
    std::str::from_utf8(index).ok().filter(|text| !text.starts_with('+'))?.parse().ok()
}

struct SparseRows {
    lines: Lines,
    base: u64,
    /// The feature each column of the file becomes.
    targets: Vec<Option<usize>>,
    width: usize,
    /// The features of the present row at the precision of the file.
    originals: Vec<f64>,
    /// The last row, from 1, that gave a value for each column.
    last_seen: Vec<u64>,
    rows: u64,
}

impl RowSource for SparseRows {
    fn fill(&mut self, collector: &mut Collector) -> Result<bool, DataError> {
        while collector.room() > 0 {
            let next = self.lines.next().map_err(|error| DataError::reading(collector.file(), error))?;
            let Some((line, content)) = next else { return Ok(false) };
            self.rows += 1;
            self.originals.fill(0.0);
            let mut row = LibsvmRow {
                base: self.base,
                targets: &self.targets,
                originals: &mut self.originals,
                last_seen: &mut self.last_seen,
                number: self.rows,
            };
            let features = collector.features();
            let start = features.len();
            features.resize(start + self.width, 0.0);
            match row.parse(content, &mut features[start..]) {
                Ok(label) => {
                    let text =
                        RowText { line: Some(line), label: Some(label.into()), id: None, kept: Vec::new() };
                    collector.accept(text, |feature| self.originals[feature])?;
                }
                Err(problem) => collector.reject(Some(line), problem)?,
            }
        }
        Ok(true)
    }
}

/// The state a line is read into.
struct LibsvmRow<'a> {
    base: u64,
    targets: &'a [Option<usize>],
    originals: &'a mut [f64],
    last_seen: &'a mut [u64],
    number: u64,
}

impl LibsvmRow<'_> {
    /// Puts the values of a line into `features` and returns its label, empty when there is none.
    fn parse(&mut self, line: &[u8], features: &mut [f32]) -> Result<String, RowProblem> {
        let mut tokens = words(line).peekable();
        let label = tokens.next_if(|first| !first.contains(&b':')).unwrap_or_default();
        for token in tokens {
            let not_a_pair =
                || RowProblem::NotAPair { token: brief(&String::from_utf8_lossy(token)).into_owned() };
            let (index, value) = split_pair(token).ok_or_else(not_a_pair)?;
            if index == b"qid" {
                continue;
            }
            let index = parse_index(index).ok_or_else(not_a_pair)?;
            let Field::Number(single) = number::parse(value) else { return Err(not_a_pair()) };
            let column = usize::try_from(index - self.base).unwrap_or(usize::MAX);
            let Some(&target) = self.targets.get(column) else {
                return Err(RowProblem::IndexTooLarge { index, columns: self.targets.len() });
            };
            if self.last_seen[column] == self.number {
                return Err(RowProblem::RepeatedIndex { index });
            }
            self.last_seen[column] = self.number;
            if let Some(feature) = target {
                features[feature] = single;
                self.originals[feature] = number::parse_double(value);
            }
        }
        label_text(label)
    }
}

/// A plus sign before a number is dropped, so that `+1` and `1` are one class.
fn label_text(label: &[u8]) -> Result<String, RowProblem> {
    let text = std::str::from_utf8(label).map_err(|_| RowProblem::NotText { column: "label".to_owned() })?;
    let unsigned =
        text.strip_prefix('+').filter(|rest| rest.starts_with(|first: char| first.is_ascii_digit()));
    Ok(unsigned.unwrap_or(text).to_owned())
}
