//! Feature matrices in NPY files.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use crate::batch::{Collector, RowText};
use crate::columns::{Plan, check_count, numbered_names};
use crate::error::DataError;
use crate::npy_header::{ArrayName, NpyHeader};
use crate::npy_type::ElementType;
use crate::options::{ColumnRef, ReadOptions};
use crate::reader::{Opened, RowSource, Schema};
use crate::source::{Bytes, Source, spool};
use crate::{batch::WantedTexts, format::Format};

/// How many bytes of rows are decoded at a time, so that they stay in the cache.
const BLOCK_BYTES: usize = 1 << 18;

/// Opens a file that holds one array.
pub(crate) fn open(source: Source, options: &ReadOptions) -> Result<Opened, DataError> {
    let name = ArrayName { file: source.file.clone(), member: None };
    if let Some(label @ ColumnRef::Name(_)) = &options.label {
        return Err(DataError::UnsuitableOption {
            file: name.file,
            option: format!("the label column {label}"),
            format: Format::Npy,
            advice: "Its columns have no names: give the number of one, or a file of labels".to_owned(),
        });
    }
    let length = source.length;
    let plain = source.path.clone().filter(|_| length.is_some());
    let mut bytes = source.into_bytes();
    let header = NpyHeader::read(&name, &mut bytes, length)?;
    let data = match plain {
        Some(path) if header.is_by_columns() => {
            let file = File::open(&path).map_err(|error| DataError::opening(&name.file, error))?;
            Data::Columns { file, start: header.data_start }
        }
        _ => Data::new(&name, &header, bytes)?,
    };
    open_matrix(name, &header, data, options, Format::Npy)
}

/// Prepares the rows of the matrix described by `header`.
pub(crate) fn open_matrix(
    name: ArrayName,
    header: &NpyHeader,
    data: Data,
    options: &ReadOptions,
    format: Format,
) -> Result<Opened, DataError> {
    if !header.element.is_numeric() {
        return Err(
            name.unsuitable("holds text", "Give a matrix of numbers; labels belong in a file of their own")
        );
    }
    let &[rows, width] = header.shape.as_slice() else {
        return Err(name.unsuitable(
            format!("has the shape {}", header.shape_text()),
            "Reshape it to one row per sample and one column per feature",
        ));
    };
    check_count(&name.file, width)?;
    if rows == 0 {
        return Err(DataError::NoRows { file: name.file });
    }
    let width = width as usize;
    let names = numbered_names(width);
    let plan = Plan::resolve(&name.file, &names, options)?;
    let schema = Schema::from_plan(format, &names, &plan);
    let wanted = WantedTexts::of(&plan);
    let direct = plan.is_everything(width);
    let matrix =
        Matrix { name, element: header.element, rows, width, next: 0, data, plan, direct, block: Vec::new() };
    Ok(Opened::new(schema, wanted, Box::new(matrix)).with_rows(rows))
}

/// The elements of a matrix in the order in which they are stored.
pub(crate) enum Data {
    /// Row after row.
    Rows(Bytes),
    /// Column after column, from the byte `start` of the file.
    Columns { file: File, start: u64 },
}

impl Data {
    /// The elements that follow a header just read from `bytes`; a matrix stored by columns goes into a
    /// temporary file, because its rows are scattered over all of it.
    pub(crate) fn new(name: &ArrayName, header: &NpyHeader, bytes: Bytes) -> Result<Self, DataError> {
        if header.is_by_columns() {
            Ok(Self::Columns { file: spool(&name.file, bytes)?, start: 0 })
        } else {
            Ok(Self::Rows(bytes))
        }
    }
}

struct Matrix {
    name: ArrayName,
    element: ElementType,
    rows: u64,
    width: usize,
    /// The next row to read, from 0.
    next: u64,
    data: Data,
    plan: Plan,
    /// Whether the features are all columns in order.
    direct: bool,
    /// Rows read and not yet decoded.
    block: Vec<u8>,
}

impl Matrix {
    /// Reads `count` rows into the block, row after row.
    fn read_block(&mut self, count: usize) -> Result<(), DataError> {
        let size = self.element.size;
        let row_bytes = self.width * size;
        self.block.resize(count * row_bytes, 0);
        let outcome = match &mut self.data {
            Data::Rows(bytes) => bytes.read_exact(&mut self.block),
            Data::Columns { file, start } => {
                let mut column_bytes = vec![0; count * size];
                (0..self.width).try_for_each(|column| {
                    let offset = *start + (column as u64 * self.rows + self.next) * size as u64;
                    file.seek(SeekFrom::Start(offset))?;
                    file.read_exact(&mut column_bytes)?;
                    let targets = self.block.chunks_exact_mut(row_bytes);
                    for (target, element) in targets.zip(column_bytes.chunks_exact(size)) {
                        target[column * size..][..size].copy_from_slice(element);
                    }
                    Ok(())
                })
            }
        };
        outcome.map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => {
                self.name.truncated(format!("{} rows are announced and it ends before", self.rows))
            }
            _ => DataError::reading(&self.name.file, error),
        })
    }

    fn block_rows(&self, room: usize) -> usize {
        let remaining = usize::try_from(self.rows - self.next).unwrap_or(usize::MAX);
        let cached = match self.data {
            Data::Rows(_) => (BLOCK_BYTES / (self.width * self.element.size)).max(1),
            Data::Columns { .. } => usize::MAX,
        };
        room.min(remaining).min(cached)
    }
}

impl RowSource for Matrix {
    fn fill(&mut self, collector: &mut Collector) -> Result<bool, DataError> {
        let (element, size) = (self.element, self.element.size);
        while self.next < self.rows {
            let count = self.block_rows(collector.room());
            if count == 0 {
                return Ok(true);
            }
            self.read_block(count)?;
            self.next += count as u64;
            for row in self.block.chunks_exact(self.width * size) {
                let cell = |column: usize| &row[column * size..][..size];
                if self.direct {
                    element.decode(row, collector.features());
                } else {
                    let chosen = self.plan.features.iter().map(|&column| element.number(cell(column)) as f32);
                    collector.features().extend(chosen);
                }
                let text = |column: Option<usize>| {
                    column.and_then(|column| element.text(cell(column)).map(Into::into))
                };
                let kept = self.plan.kept.iter().map(|&column| text(Some(column))).collect();
                let text = RowText { line: None, label: text(self.plan.label), id: text(self.plan.id), kept };
                collector.accept(text, |feature| element.number(cell(self.plan.features[feature])))?;
            }
        }
        Ok(false)
    }
}
