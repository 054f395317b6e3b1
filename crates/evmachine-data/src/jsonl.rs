//! Feature tables of one JSON object a line: columns of numbers, or one column of arrays of numbers.

use std::collections::{HashMap, HashSet};
use std::io::{self, BufRead, BufReader, Read};

use crate::batch::{Collector, RowText, WantedTexts};
use crate::brief::brief;
use crate::columns::{Plan, check_count, vector_column};
use crate::error::DataError;
use crate::format::Format;
use crate::json_cell::{Cell, Members, Vector};
use crate::options::ReadOptions;
use crate::problem::{Place, RowProblem};
use crate::reader::{Opened, RowSource, Schema};
use crate::records::RECORD_LIMIT;
use crate::source::{Bytes, Source};

/// How many lines are looked at to find the columns.
const SAMPLE_LINES: usize = 100;
const BUFFER_BYTES: usize = 1 << 18;

/// Opens a file of JSON lines. Its columns are the members of the first objects; later ones may lack some, and others are
/// not looked at.
pub(crate) fn open(mut source: Source, options: &ReadOptions) -> Result<Opened, DataError> {
    let file = source.file.clone();
    let sample = Sample::read(&file, source.sample_lines()?.0)?;
    let plan = match vector_column(&sample.names, options.wanted_names()) {
        Some(vector) => {
            let options = ReadOptions { expected: vec![vector], ..options.clone() };
            Plan::by_name(&file, &sample.names, &[], &options)?
        }
        None => Plan::by_name(&file, &sample.names, &[], options)?,
    };
    let vector = sample.check(&file, &plan)?;
    let mut schema = Schema::from_plan(Format::Jsonl, &sample.names, &plan);
    if let Some((name, width)) = &vector {
        schema.feature_names = (0..*width).map(|element| format!("{name}_{element}")).collect();
    }
    let wanted = WantedTexts::of(&plan);
    let needed =
        plan.features.iter().copied().chain(plan.label).chain(plan.id).chain(plan.kept.iter().copied());
    let slots: HashMap<String, usize> =
        needed.enumerate().map(|(slot, column)| (sample.names[column].clone(), slot)).collect();
    let names = plan.features.iter().map(|&column| sample.names[column].clone()).collect();
    let kept = (slots.len() - plan.kept.len()..).zip(&plan.kept);
    let kept = kept.map(|(slot, &column)| (slot, sample.names[column].clone())).collect();
    let rows = JsonRows {
        lines: Lines { reader: BufReader::with_capacity(BUFFER_BYTES, source.into_bytes()), number: 0 },
        line: Vec::new(),
        cells: vec![Cell::Null; slots.len()],
        slots,
        names,
        label: plan.label.map(|column| (plan.features.len(), sample.names[column].clone())),
        id: plan.id.map(|column| {
            (plan.features.len() + usize::from(plan.label.is_some()), sample.names[column].clone())
        }),
        kept,
        vector,
    };
    Ok(Opened::new(schema, wanted, Box::new(rows)))
}

fn parse(line: &[u8]) -> Result<Members, RowProblem> {
    serde_json::from_slice(line).map_err(|error| RowProblem::NotAnObject { detail: error.to_string() })
}

/// The first rows.
struct Sample {
    /// The members, in the order in which they first appear.
    names: Vec<String>,
    rows: Vec<HashMap<String, Cell>>,
}

impl Sample {
    fn read(file: &str, text: &[u8]) -> Result<Self, DataError> {
        let mut lines = Lines { reader: text, number: 0 };
        let (mut line, mut first_problem, mut looked_at) = (Vec::new(), None, 0);
        let (mut names, mut known, mut rows) = (Vec::new(), HashSet::new(), Vec::new());
        while looked_at < SAMPLE_LINES
            && let Some(number) = lines.next(&mut line).map_err(|error| DataError::reading(file, error))?
        {
            looked_at += 1;
            match parse(&line) {
                Ok(Members(members)) => {
                    for (name, _) in &members {
                        if known.insert(name.clone()) {
                            names.push(name.clone());
                        }
                    }
                    check_count(file, names.len() as u64)?;
                    rows.push(members.into_iter().collect());
                }
                Err(problem) => {
                    let place = Place { row: looked_at as u64, line: Some(number) };
                    first_problem = first_problem.or(Some((place, problem)));
                }
            }
        }
        match first_problem {
            Some((place, problem)) if names.is_empty() => {
                Err(DataError::BadRow { file: file.to_owned(), place, problem })
            }
            _ if rows.is_empty() => Err(DataError::EmptyFile { file: file.to_owned() }),
            _ => Ok(Self { names, rows }),
        }
    }

    fn cells(&self, column: usize) -> impl Iterator<Item = &Cell> {
        let name = &self.names[column];
        self.rows.iter().filter_map(move |row| row.get(name)).filter(|cell| **cell != Cell::Null)
    }

    /// Refuses columns that are of no use in any row; returns the column of vectors, if that is what features come from, and
    /// their length.
    fn check(&self, file: &str, plan: &Plan) -> Result<Option<(String, usize)>, DataError> {
        let kept = plan.kept.iter().map(|&column| (Some(column), "column to keep"));
        for (column, purpose) in [(plan.label, "label"), (plan.id, "id")].into_iter().chain(kept) {
            let Some(column) = column else { continue };
            if let Some(cell) = self.cells(column).next()
                && self.cells(column).all(|cell| cell.text().is_none())
            {
                return Err(DataError::UnprintableColumn {
                    file: file.to_owned(),
                    column: self.names[column].clone(),
                    purpose,
                    kind: cell.kind().to_owned(),
                });
            }
        }
        let mut vector = None;
        for &column in &plan.features {
            let useless = |cell: &Cell| matches!(cell, Cell::Text(_) | Cell::Object);
            if let Some(cell) = self.cells(column).next().filter(|_| self.cells(column).all(useless)) {
                return Err(DataError::ColumnType {
                    file: file.to_owned(),
                    column: self.names[column].clone(),
                    kind: cell.kind().to_owned(),
                });
            }
            let width = self.cells(column).find_map(|cell| match cell {
                Cell::Vector(Vector { values, .. }) if !values.is_empty() => Some(values.len()),
                _ => None,
            });
            vector = vector.or(width.map(|width| (column, width)));
        }
        let Some((column, width)) = vector else { return Ok(None) };
        if let Some(&other) = plan.features.iter().find(|&&other| other != column) {
            return Err(DataError::MixedFeatures {
                file: file.to_owned(),
                list: self.names[column].clone(),
                other: self.names[other].clone(),
            });
        }
        check_count(file, width as u64)?;
        Ok(Some((self.names[column].clone(), width)))
    }
}

/// The lines that are not blank.
struct Lines<R> {
    reader: R,
    number: u64,
}

impl<R: BufRead> Lines<R> {
    /// Reads the next line and returns its number.
    fn next(&mut self, line: &mut Vec<u8>) -> io::Result<Option<u64>> {
        loop {
            line.clear();
            match self.reader.by_ref().take(RECORD_LIMIT).read_until(b'\n', line)? as u64 {
                0 => return Ok(None),
                RECORD_LIMIT => {
                    return Err(io::Error::new(io::ErrorKind::InvalidData, "a line is longer than 32 MiB"));
                }
                _ => self.number += 1,
            }
            if !line.trim_ascii().is_empty() {
                return Ok(Some(self.number));
            }
        }
    }
}

struct JsonRows {
    lines: Lines<BufReader<Bytes>>,
    line: Vec<u8>,
    /// The cells of the present row: features, label, id, kept.
    cells: Vec<Cell>,
    /// By the name of a member, its place among the cells.
    slots: HashMap<String, usize>,
    /// The columns that are features.
    names: Vec<String>,
    label: Option<(usize, String)>,
    id: Option<(usize, String)>,
    kept: Vec<(usize, String)>,
    /// The column of vectors and their length.
    vector: Option<(String, usize)>,
}

impl JsonRows {
    /// Puts the features of the present line into the batch.
    fn parse(&mut self, collector: &mut Collector) -> Result<(), RowProblem> {
        let Members(members) = parse(&self.line)?;
        self.cells.fill(Cell::Null);
        for (name, cell) in members {
            if let Some(&slot) = self.slots.get(&name) {
                self.cells[slot] = cell;
            }
        }
        let not_a_number = |column: &str, value: &str| RowProblem::NotANumber {
            column: column.to_owned(),
            value: brief(value).into_owned(),
        };
        let missing = |column: &str| RowProblem::Missing { column: column.to_owned() };
        let Some((name, width)) = &self.vector else {
            for (name, cell) in self.names.iter().zip(&self.cells) {
                match cell.number() {
                    Some(number) => collector.features().push(number as f32),
                    None if *cell == Cell::Null && collector.takes_missing() => {
                        collector.features().push(f32::NAN);
                    }
                    None if *cell == Cell::Null => return Err(missing(name)),
                    None => {
                        let text = cell.text().unwrap_or_else(|| cell.kind().to_owned());
                        return Err(not_a_number(name, &text));
                    }
                }
            }
            return Ok(());
        };
        match &self.cells[0] {
            Cell::Vector(vector) if vector.values.len() == *width => match &vector.bad {
                Some((element, None)) if !collector.takes_missing() => {
                    Err(missing(&collector.name(*element)))
                }
                Some((element, Some(text))) => Err(not_a_number(&collector.name(*element), text)),
                _ => {
                    collector.features().extend(vector.values.iter().map(|&value| value as f32));
                    Ok(())
                }
            },
            Cell::Vector(vector) => Err(RowProblem::VectorLength {
                column: name.clone(),
                expected: *width,
                found: vector.values.len(),
            }),
            Cell::Null => Err(missing(name)),
            other => Err(not_a_number(name, &other.text().unwrap_or_else(|| other.kind().to_owned()))),
        }
    }

    fn text(&self, column: Option<&(usize, String)>) -> Result<Option<String>, RowProblem> {
        let Some((slot, name)) = column else { return Ok(None) };
        let text = self.cells[*slot].text();
        text.map(Some).ok_or_else(|| RowProblem::NotText { column: name.clone() })
    }

    fn original(&self, feature: usize) -> f64 {
        match &self.cells[0] {
            Cell::Vector(vector) => vector.values[feature],
            _ => self.cells[feature].number().unwrap_or(f64::NAN),
        }
    }
}

impl RowSource for JsonRows {
    fn fill(&mut self, collector: &mut Collector) -> Result<bool, DataError> {
        while collector.room() > 0 {
            let next = self.lines.next(&mut self.line);
            let line = next.map_err(|error| DataError::reading(collector.file(), error))?;
            if line.is_none() {
                return Ok(false);
            }
            let parsed = self.parse(collector).and_then(|()| {
                let kept = self.kept.iter().map(|column| self.text(Some(column)));
                let kept: Result<Vec<_>, RowProblem> = kept.collect();
                Ok((self.text(self.label.as_ref())?, self.text(self.id.as_ref())?, kept?))
            });
            match parsed {
                Ok((label, id, kept)) => {
                    let kept = kept.into_iter().map(|text| text.map(Into::into)).collect();
                    let text = RowText { line, label: label.map(Into::into), id: id.map(Into::into), kept };
                    collector.accept(text, |feature| self.original(feature))?;
                }
                Err(problem) => collector.reject(line, problem)?,
            }
        }
        Ok(true)
    }
}
