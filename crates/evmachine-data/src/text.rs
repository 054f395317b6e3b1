//! Feature tables in text: comma, semicolon, tab or space separated.

use std::borrow::Cow;

use csv::ByteRecord;

use crate::batch::{Collector, RowText, WantedTexts};
use crate::brief::brief;
use crate::columns::Plan;
use crate::dialect::Separator;
use crate::error::DataError;
use crate::format::Format;
use crate::header::Names;
use crate::notice::Notice;
use crate::number::{self, Field};
use crate::options::{Header, ReadOptions};
use crate::problem::{Place, RowProblem};
use crate::reader::{Opened, RowSource, Schema};
use crate::records::{Extent, Records};
use crate::source::{Bytes, Source};

/// How many records are looked at before a column is called one of words.
const SAMPLE_RECORDS: usize = 100;

/// Opens a text table.
pub(crate) fn open(mut source: Source, options: &ReadOptions, format: Format) -> Result<Opened, DataError> {
    let file = source.file.clone();
    let (sample, extent) = source.sample_lines()?;
    let separator = if format == Format::Tsv { Separator::Byte(b'\t') } else { Separator::sniff(sample) };
    let sample = sample_records(&file, sample, separator, extent)?;
    let names = Names::find(&file, &sample, options)?;
    let plan = if names.in_file {
        Plan::by_name(&file, &names.columns, names.index.as_slice(), options)?
    } else {
        Plan::resolve(&file, &names.columns, options)?
    };
    let data = &sample[usize::from(names.in_file)..];
    if data.is_empty() {
        return Err(DataError::NoRows { file });
    }
    check_columns(&file, data, &names, &plan, options)?;
    let format = if separator == Separator::Byte(b'\t') { Format::Tsv } else { Format::Csv };
    let mut schema = Schema { named: names.in_file, ..Schema::from_plan(format, &names.columns, &plan) };
    if names.doubtful {
        schema.notices.push(Notice::DoubtfulHeader);
    }
    let wanted = WantedTexts::of(&plan);
    let mut records = Records::new(source.into_bytes(), separator, Extent::Whole);
    let mut record = ByteRecord::new();
    if names.in_file {
        records.next(&mut record).map_err(|error| DataError::reading(&file, error))?;
    }
    let table = Table { records, record, plan, names: names.columns };
    Ok(Opened::new(schema, wanted, Box::new(table)))
}

fn sample_records(
    file: &str,
    sample: &[u8],
    separator: Separator,
    extent: Extent,
) -> Result<Vec<ByteRecord>, DataError> {
    let mut records = Records::new(sample, separator, extent);
    let mut found = Vec::new();
    let mut record = ByteRecord::new();
    while found.len() < SAMPLE_RECORDS
        && records.next(&mut record).map_err(|error| DataError::reading(file, error))?.is_some()
    {
        found.push(record.clone());
    }
    Ok(found)
}

/// Refuses a feature column that holds words in every sampled row, which no skipping of rows would
/// help, and one whose only word is on a first line that may be a header.
fn check_columns(
    file: &str,
    data: &[ByteRecord],
    names: &Names,
    plan: &Plan,
    options: &ReadOptions,
) -> Result<(), DataError> {
    let may_be_header = !names.in_file && options.header == Header::Auto;
    let is_word = |record: &ByteRecord, column: usize| {
        record.get(column).is_some_and(|field| number::parse(field) == Field::Word)
    };
    for &column in &plan.features {
        if !is_word(&data[0], column) {
            continue;
        }
        let everywhere = data.iter().all(|record| is_word(record, column));
        if everywhere || (may_be_header && !options.skip_bad_rows) {
            return Err(DataError::TextColumn {
                file: file.to_owned(),
                column: names.columns[column].clone(),
                reference: Box::new(names.reference(column)),
                value: shown(&data[0][column]),
                place: Place { row: 1, line: data[0].position().map(csv::Position::line) },
                may_be_header,
            });
        }
    }
    Ok(())
}

/// A field for a message.
fn shown(field: &[u8]) -> String {
    let text = String::from_utf8_lossy(field);
    brief(text.trim()).into_owned()
}

struct Table {
    records: Records<Bytes>,
    record: ByteRecord,
    plan: Plan,
    names: Vec<String>,
}

impl Table {
    /// Appends the features of the present record to the batch.
    fn parse(&self, collector: &mut Collector) -> Result<(), RowProblem> {
        if self.record.len() != self.names.len() {
            return Err(RowProblem::Ragged { expected: self.names.len(), found: self.record.len() });
        }
        let takes_missing = collector.takes_missing();
        let features = collector.features();
        for &column in &self.plan.features {
            let field = &self.record[column];
            let name = || self.names[column].clone();
            match number::parse(field) {
                Field::Number(value) => features.push(value),
                Field::Missing if takes_missing => features.push(f32::NAN),
                Field::Missing => return Err(RowProblem::Missing { column: name() }),
                Field::Word => {
                    return Err(RowProblem::NotANumber { column: name(), value: shown(field) });
                }
            }
        }
        Ok(())
    }

    fn text(&self, column: Option<usize>) -> Result<Option<Cow<'_, str>>, RowProblem> {
        let Some(column) = column else { return Ok(None) };
        let text = std::str::from_utf8(&self.record[column])
            .map_err(|_| RowProblem::NotText { column: self.names[column].clone() })?;
        Ok(Some(Cow::Borrowed(text)))
    }
}

impl RowSource for Table {
    fn fill(&mut self, collector: &mut Collector) -> Result<bool, DataError> {
        while collector.room() > 0 {
            let next = self.records.next(&mut self.record);
            let line = next.map_err(|error| DataError::reading(collector.file(), error))?;
            if line.is_none() {
                return Ok(false);
            }
            let parsed = self.parse(collector).and_then(|()| {
                let kept: Result<Vec<_>, RowProblem> =
                    self.plan.kept.iter().map(|&column| self.text(Some(column))).collect();
                Ok(RowText {
                    line,
                    label: self.text(self.plan.label)?,
                    id: self.text(self.plan.id)?,
                    kept: kept?,
                })
            });
            match parsed {
                Ok(text) => {
                    let original =
                        |feature: usize| number::parse_double(&self.record[self.plan.features[feature]]);
                    collector.accept(text, original)?;
                }
                Err(problem) => collector.reject(line, problem)?,
            }
        }
        Ok(true)
    }
}
