//! Feature tables in Parquet files.

use std::fs::File;

use ::parquet::arrow::ProjectionMask;
use ::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};

use crate::columnar::{Layout, contained};
use crate::error::DataError;
use crate::format::Format;
use crate::options::ReadOptions;
use crate::parquet_footer::check_depth;
use crate::reader::Opened;
use crate::source::Source;

/// Opens a Parquet file; row groups are decoded a few thousand rows at a time.
pub(crate) fn open(source: &Source, options: &ReadOptions) -> Result<Opened, DataError> {
    let file = source.file.clone();
    let Some(path) = source.path.as_ref().filter(|_| !source.compressed) else {
        return Err(DataError::NotStreamable { file, format: Format::Parquet });
    };
    let mut opened = File::open(path).map_err(|error| DataError::opening(&file, error))?;
    check_depth(&mut opened).map_err(|error| DataError::reading(&file, error))?;
    let builder = contained(&file, || {
        let builder =
            ParquetRecordBatchReaderBuilder::try_new(opened).map_err(|error| parquet_error(&file, error))?;
        check_chunks(&file, builder.metadata(), source.length)?;
        Ok(builder)
    })?;
    let layout = Layout::new(&file, builder.schema(), options)?;
    let total = builder.metadata().file_metadata().num_rows();
    if total <= 0 {
        return Err(DataError::NoRows { file });
    }
    let projection = ProjectionMask::roots(builder.parquet_schema(), layout.needed.iter().copied());
    let builder = builder.with_batch_size(layout.rows_at_once(options)).with_projection(projection);
    let batches = contained(&file, || builder.build().map_err(|error| parquet_error(&file, error)))?;
    layout.open(&file, Format::Parquet, Box::new(batches), Some(total.cast_unsigned()))
}

/// Refuses a file whose columns reach beyond its end: the decoder allocates at once what they claim.
fn check_chunks(file: &str, metadata: &ParquetMetaData, size: Option<u64>) -> Result<(), DataError> {
    for column in metadata.row_groups().iter().flat_map(RowGroupMetaData::columns) {
        let (start, length) = column.byte_range();
        if start.saturating_add(length) > size.unwrap_or(u64::MAX) {
            let detail = format!("the column `{}` reaches beyond its end", column.column_path().string());
            return Err(DataError::Truncated { file: file.to_owned(), detail });
        }
    }
    Ok(())
}

fn parquet_error(file: &str, error: ParquetError) -> DataError {
    let file = file.to_owned();
    match error {
        ParquetError::EOF(detail) => DataError::Truncated { file, detail },
        ParquetError::General(detail) if detail.contains("Corrupt footer") => {
            DataError::Truncated { file, detail: "the Parquet footer is missing".to_owned() }
        }
        ParquetError::General(detail) => DataError::Damaged { file, detail },
        other => DataError::Damaged { file, detail: other.to_string() },
    }
}
