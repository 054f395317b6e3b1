//! Prediction files.

use std::io::{self, BufWriter, Write};

use crate::destination::Destination;
use crate::error::{DataError, csv_error};
use crate::output::{ColumnType, ColumnValues, OutputColumn, OutputFormat, Target, check_shape};

const BUFFER_BYTES: usize = 1 << 17;

/// Writes predictions batch by batch.
///
/// A file is written under a temporary name beside the target and renamed by [`Writer::finish`];
/// a writer that is dropped before leaves nothing behind.
pub struct Writer {
    file: String,
    columns: Vec<OutputColumn>,
    sink: Sink,
}

enum Sink {
    Csv(Box<csv::Writer<Destination>>),
    Jsonl(BufWriter<Destination>),
    #[cfg(feature = "parquet")]
    Parquet(crate::parquet_writer::ParquetWriter),
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Writer")
            .field("file", &self.file)
            .field("columns", &self.columns)
            .finish_non_exhaustive()
    }
}

impl Writer {
    /// Begins a file with the given columns.
    pub fn create(
        target: &Target,
        format: OutputFormat,
        columns: &[OutputColumn],
    ) -> Result<Self, DataError> {
        let file = target.name();
        let destination = Destination::create(target)?;
        let sink = match format {
            OutputFormat::Csv => {
                let mut writer =
                    csv::WriterBuilder::new().buffer_capacity(BUFFER_BYTES).from_writer(destination);
                writer
                    .write_record(columns.iter().map(|column| &column.name))
                    .map_err(|error| DataError::writing(&file, csv_error(error)))?;
                Sink::Csv(Box::new(writer))
            }
            OutputFormat::Jsonl => Sink::Jsonl(BufWriter::with_capacity(BUFFER_BYTES, destination)),
            #[cfg(feature = "parquet")]
            OutputFormat::Parquet => {
                Sink::Parquet(crate::parquet_writer::ParquetWriter::create(&file, destination, columns)?)
            }
            #[cfg(not(feature = "parquet"))]
            OutputFormat::Parquet => return Err(DataError::NotBuilt { file, format: "Parquet" }),
        };
        Ok(Self { file, columns: columns.to_vec(), sink })
    }

    /// Appends rows: one vector for each column, all of the same length.
    #[cfg_attr(
        not(feature = "parquet"),
        expect(clippy::needless_pass_by_value, reason = "Parquet and Arrow take the values")
    )]
    pub fn write(&mut self, values: Vec<ColumnValues>) -> Result<(), DataError> {
        let rows = check_shape(&self.file, &self.columns, &values)?;
        let outcome = match &mut self.sink {
            Sink::Csv(writer) => write_csv(writer, rows, &values),
            Sink::Jsonl(writer) => write_jsonl(writer, rows, &self.columns, &values),
            #[cfg(feature = "parquet")]
            Sink::Parquet(writer) => return writer.write(&self.file, values),
        };
        outcome.map_err(|error| DataError::writing(&self.file, error))
    }

    /// Completes the file and gives it its name.
    pub fn finish(self) -> Result<(), DataError> {
        let file = self.file;
        let destination = match self.sink {
            Sink::Csv(writer) => writer.into_inner().map_err(csv::IntoInnerError::into_error),
            Sink::Jsonl(writer) => writer.into_inner().map_err(io::IntoInnerError::into_error),
            #[cfg(feature = "parquet")]
            Sink::Parquet(writer) => Ok(writer.into_destination(&file)?),
        };
        destination.and_then(Destination::finish).map_err(|error| DataError::writing(&file, error))
    }
}

/// The shortest digits that read back as the same number; nothing for NaN.
fn print_float(output: &mut impl Write, value: f64, missing: &str) -> io::Result<()> {
    if value.is_nan() { output.write_all(missing.as_bytes()) } else { write!(output, "{value:?}") }
}

fn write_csv(writer: &mut csv::Writer<Destination>, rows: usize, values: &[ColumnValues]) -> io::Result<()> {
    let mut field = Vec::new();
    for row in 0..rows {
        for column in values {
            field.clear();
            match column {
                ColumnValues::Text(texts) => field.extend_from_slice(texts[row].as_bytes()),
                ColumnValues::Float(floats) => print_float(&mut field, floats[row], "")?,
                ColumnValues::Integer(integers) => write!(field, "{}", integers[row])?,
                ColumnValues::Boolean(truths) => write!(field, "{}", truths[row])?,
            }
            writer.write_field(&field).map_err(csv_error)?;
        }
        writer.write_record(None::<&[u8]>).map_err(csv_error)?;
    }
    Ok(())
}

fn write_jsonl(
    writer: &mut impl Write,
    rows: usize,
    columns: &[OutputColumn],
    values: &[ColumnValues],
) -> io::Result<()> {
    for row in 0..rows {
        writer.write_all(b"{")?;
        for (index, (column, values)) in columns.iter().zip(values).enumerate() {
            if index > 0 {
                writer.write_all(b",")?;
            }
            print_json_string(writer, &column.name)?;
            writer.write_all(b":")?;
            match values {
                ColumnValues::Text(texts) if column.kind == ColumnType::Json => {
                    writer.write_all(texts[row].replace(['\n', '\r'], " ").as_bytes())?;
                }
                ColumnValues::Text(texts) => print_json_string(writer, &texts[row])?,
                // JSON knows no infinities.
                ColumnValues::Float(floats) if floats[row].is_infinite() => writer.write_all(b"null")?,
                ColumnValues::Float(floats) => print_float(writer, floats[row], "null")?,
                ColumnValues::Integer(integers) => write!(writer, "{}", integers[row])?,
                ColumnValues::Boolean(truths) => write!(writer, "{}", truths[row])?,
            }
        }
        writer.write_all(b"}\n")?;
    }
    Ok(())
}

fn print_json_string(writer: &mut impl Write, text: &str) -> io::Result<()> {
    writer.write_all(b"\"")?;
    let mut rest = text;
    while let Some(index) =
        rest.find(|character: char| character < ' ' || character == '"' || character == '\\')
    {
        writer.write_all(&rest.as_bytes()[..index])?;
        match rest.as_bytes()[index] {
            quoted @ (b'"' | b'\\') => writer.write_all(&[b'\\', quoted])?,
            b'\n' => writer.write_all(b"\\n")?,
            b'\t' => writer.write_all(b"\\t")?,
            control => write!(writer, "\\u{control:04x}")?,
        }
        rest = &rest[index + 1..];
    }
    writer.write_all(rest.as_bytes())?;
    writer.write_all(b"\"")
}
