//! Prediction files in Parquet.

use std::io;
use std::sync::Arc;

use ::parquet::arrow::ArrowWriter;
use ::parquet::basic::Compression;
use ::parquet::errors::ParquetError;
use ::parquet::file::properties::WriterProperties;
use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use crate::destination::Destination;
use crate::error::DataError;
use crate::output::{ColumnType, ColumnValues, OutputColumn};

/// Writes batches of columns, compressed by Snappy.
pub(crate) struct ParquetWriter {
    writer: Box<ArrowWriter<Destination>>,
    schema: SchemaRef,
}

impl ParquetWriter {
    pub(crate) fn create(
        file: &str,
        destination: Destination,
        columns: &[OutputColumn],
    ) -> Result<Self, DataError> {
        let schema = Arc::new(arrow_schema(columns));
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let writer = ArrowWriter::try_new(destination, schema.clone(), Some(properties))
            .map_err(|error| parquet_error(file, error))?;
        Ok(Self { writer: Box::new(writer), schema })
    }

    pub(crate) fn write(&mut self, file: &str, values: Vec<ColumnValues>) -> Result<(), DataError> {
        let arrays = values.into_iter().map(into_array).collect();
        let batch = RecordBatch::try_new(self.schema.clone(), arrays).map_err(ParquetError::from);
        batch.and_then(|batch| self.writer.write(&batch)).map_err(|error| parquet_error(file, error))
    }

    pub(crate) fn into_destination(self, file: &str) -> Result<Destination, DataError> {
        self.writer.into_inner().map_err(|error| parquet_error(file, error))
    }
}

fn arrow_schema(columns: &[OutputColumn]) -> Schema {
    let field = |column: &OutputColumn| match column.kind {
        ColumnType::Text | ColumnType::Json => Field::new(&column.name, DataType::Utf8, false),
        ColumnType::Float => Field::new(&column.name, DataType::Float64, true),
        ColumnType::Integer => Field::new(&column.name, DataType::Int64, false),
        ColumnType::Boolean => Field::new(&column.name, DataType::Boolean, false),
    };
    Schema::new(columns.iter().map(field).collect::<Vec<_>>())
}

fn into_array(values: ColumnValues) -> ArrayRef {
    match values {
        ColumnValues::Text(texts) => Arc::new(StringArray::from(texts)),
        ColumnValues::Float(floats) => {
            let present = |value: f64| if value.is_nan() { None } else { Some(value) };
            Arc::new(floats.into_iter().map(present).collect::<Float64Array>())
        }
        ColumnValues::Integer(integers) => Arc::new(Int64Array::from(integers)),
        ColumnValues::Boolean(truths) => Arc::new(BooleanArray::from(truths)),
    }
}

fn parquet_error(file: &str, error: ParquetError) -> DataError {
    let source = match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(other) => io::Error::other(other),
        },
        other => io::Error::other(other),
    };
    DataError::writing(file, source)
}
