//! Feature tables in Arrow IPC files and streams.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};

use arrow_ipc::reader::{FileReader, StreamReader, read_footer_length};
use arrow_ipc::{Block, RecordBatch, root_as_footer, root_as_message};

use crate::columnar::{Layout, RecordBatches, arrow_error, contained};
use crate::error::DataError;
use crate::format::Format;
use crate::options::ReadOptions;
use crate::reader::Opened;
use crate::source::Source;

/// Uncompressed lengths up to this are believed of any file.
const ALWAYS_ALLOWED: u64 = 1 << 30;
/// How many times larger than the whole file a buffer may be.
const EXPANSION: u64 = 1024;

/// Opens an Arrow file or stream. Each of its record batches is decoded as a whole.
pub(crate) fn open(source: Source, options: &ReadOptions) -> Result<Opened, DataError> {
    let file = source.file.clone();
    if source.prefix().starts_with(b"ARROW1") {
        open_file(&file, &source, options)
    } else {
        open_stream(&file, source, options)
    }
}

/// The file format has an index at its end.
fn open_file(file: &str, source: &Source, options: &ReadOptions) -> Result<Opened, DataError> {
    let Some(path) = source.path.as_ref().filter(|_| !source.compressed) else {
        return Err(DataError::NotStreamable { file: file.to_owned(), format: Format::Arrow });
    };
    let open = || File::open(path).map_err(|error| DataError::opening(file, error));
    contained(file, || check_lengths(file, open()?))?;
    let read = |projection: Option<Vec<usize>>| {
        let opened = open()?;
        contained(file, || {
            FileReader::try_new(BufReader::new(opened), projection).map_err(|error| arrow_error(file, error))
        })
    };
    let layout = Layout::new(file, &read(None)?.schema(), options)?;
    let batches = read(Some(layout.needed.clone()))?;
    layout.open(file, Format::Arrow, Box::new(batches), None)
}

fn open_stream(file: &str, source: Source, options: &ReadOptions) -> Result<Opened, DataError> {
    let bytes = BufReader::with_capacity(1 << 17, source.into_bytes());
    let reader =
        contained(file, || StreamReader::try_new(bytes, None).map_err(|error| arrow_error(file, error)))?;
    let layout = Layout::new(file, &reader.schema(), options)?;
    let needed = layout.needed.clone();
    let batches: RecordBatches = Box::new(reader.map(move |batch| batch?.project(&needed)));
    layout.open(file, Format::Arrow, batches, None)
}

/// Refuses a file in which a compressed buffer claims to be larger than the file justifies. The decoder
/// allocates at once what it claims, and a failed allocation ends the process. Any other damage is left
/// for the decoder to report.
fn check_lengths(name: &str, mut file: File) -> Result<(), DataError> {
    match greatest_length(&mut file) {
        Ok(Some((length, size))) if length > ALWAYS_ALLOWED.max(size.saturating_mul(EXPANSION)) => {
            let detail = format!("a buffer in it claims a length of {length} bytes");
            Err(DataError::Damaged { file: name.to_owned(), detail })
        }
        Ok(_) => Ok(()),
        Err(error) => Err(DataError::reading(name, error)),
    }
}

/// The greatest uncompressed length and the size of the file; `None` when the structure is broken.
fn greatest_length(file: &mut File) -> io::Result<Option<(u64, u64)>> {
    let size = file.metadata()?.len();
    let mut end = [0; 10];
    let Some(end_start) = size.checked_sub(end.len() as u64) else { return Ok(None) };
    read_at(file, end_start, &mut end)?;
    let Some(footer_start) =
        read_footer_length(end).ok().and_then(|length| end_start.checked_sub(length as u64))
    else {
        return Ok(None);
    };
    let mut footer = vec![0; (end_start - footer_start) as usize];
    read_at(file, footer_start, &mut footer)?;
    let Ok(footer) = root_as_footer(&footer) else { return Ok(None) };
    let mut greatest = 0;
    for block in footer.dictionaries().into_iter().chain(footer.recordBatches()).flatten() {
        greatest = greatest.max(greatest_in_block(file, size, block)?);
    }
    Ok(Some((greatest, size)))
}

fn greatest_in_block(file: &mut File, size: u64, block: &Block) -> io::Result<u64> {
    let offset = u64::try_from(block.offset()).unwrap_or(u64::MAX);
    let metadata_length = u64::try_from(block.metaDataLength()).unwrap_or(u64::MAX);
    let body = offset.saturating_add(metadata_length);
    if body > size {
        return Ok(0);
    }
    let mut metadata = vec![0; metadata_length as usize];
    read_at(file, offset, &mut metadata)?;
    let prefix = if metadata.starts_with(&[0xff; 4]) { 8 } else { 4 };
    let message = metadata.get(prefix..).and_then(|message| root_as_message(message).ok());
    let batch: Option<RecordBatch<'_>> = message.and_then(|message| {
        message.header_as_record_batch().or_else(|| message.header_as_dictionary_batch()?.data())
    });
    let compressed = batch.filter(|batch| batch.compression().is_some());
    let mut greatest = 0;
    for buffer in compressed.and_then(|batch| batch.buffers()).into_iter().flatten() {
        let start = u64::try_from(buffer.offset()).ok().and_then(|offset| body.checked_add(offset));
        let Some(start) = start.filter(|start| buffer.length() >= 8 && size.saturating_sub(*start) >= 8)
        else {
            continue;
        };
        let mut length = [0; 8];
        read_at(file, start, &mut length)?;
        // A negative length marks a buffer that is stored as it is.
        greatest = greatest.max(u64::try_from(i64::from_le_bytes(length)).unwrap_or(0));
    }
    Ok(greatest)
}

fn read_at(file: &mut File, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
    file.seek(SeekFrom::Start(offset))?;
    file.read_exact(buffer)
}
