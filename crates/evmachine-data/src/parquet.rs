//! Feature tables in Parquet files.

use std::fs::File;
use std::path::Path;

use ::parquet::arrow::ProjectionMask;
use ::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use ::parquet::basic::Compression;
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};

use crate::columnar::{Layout, contained};
use crate::error::DataError;
use crate::format::Format;
use crate::memory;
use crate::options::ReadOptions;
use crate::parquet_footer::check_depth;
use crate::parquet_pages::walk;
use crate::reader::Opened;
use crate::source::Source;

/// How many values of lists a byte of a file may stand for without suspicion.
const VALUES_PER_BYTE: u64 = 64;
/// What a value of a list takes at most while it is decoded: itself, as a double, and its levels.
const BYTES_PER_VALUE: u64 = 24;

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
        check_codecs(&file, builder.metadata())?;
        Ok(builder)
    })?;
    let layout = Layout::new(&file, builder.schema(), options)?;
    let total = builder.metadata().file_metadata().num_rows();
    if total <= 0 {
        return Err(DataError::NoRows { file });
    }
    check_pages(source, path, builder.metadata(), &layout, options)?;
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

/// Refuses a file in a kind of compression that the decoder was built without.
fn check_codecs(file: &str, metadata: &ParquetMetaData) -> Result<(), DataError> {
    let mut columns = metadata.row_groups().iter().flat_map(RowGroupMetaData::columns);
    let codec = columns.find_map(|column| match column.compression() {
        Compression::BROTLI(_) => Some("Brotli"),
        Compression::LZO => Some("LZO"),
        _ => None,
    });
    match codec {
        Some(codec) => Err(DataError::Foreign {
            file: file.to_owned(),
            what: format!("a Parquet file compressed by {codec}"),
            advice: "Write it with the compression snappy, zstd or gzip",
        }),
        None => Ok(()),
    }
}

/// Refuses pages that are broken or would take more memory than there is, before the decoder makes room for them.
///
/// A row of a column of lists is decoded as a whole and may, for all that is known, have all values of its row group.
/// Run lengths can claim any number of them, so more than the bytes of the chunk justify must fit into memory at once.
fn check_pages(
    source: &Source,
    path: &Path,
    metadata: &ParquetMetaData,
    layout: &Layout,
    options: &ReadOptions,
) -> Result<(), DataError> {
    let file = &source.file;
    let mut opened = File::open(path).map_err(|error| DataError::opening(file, error))?;
    let schema = metadata.file_metadata().schema_descr();
    for group in metadata.row_groups() {
        for (leaf, column) in group.columns().iter().enumerate() {
            if layout.needed.binary_search(&schema.get_column_root_idx(leaf)).is_err() {
                continue;
            }
            let (start, length) = column.byte_range();
            let claims = walk(&mut opened, start, length).map_err(|error| DataError::reading(file, error))?;
            memory::check(file, claims.largest_page, options)?;
            let is_nested = column.column_descr().max_rep_level() > 0;
            if is_nested && claims.values > length.saturating_mul(VALUES_PER_BYTE) {
                memory::check(file, claims.values.saturating_mul(BYTES_PER_VALUE), options)?;
            }
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
