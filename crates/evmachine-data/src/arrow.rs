//! Feature tables in Arrow IPC files and streams.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufReader, Cursor, Read, Seek, SeekFrom};

use arrow_ipc::reader::{FileReader, StreamReader, read_footer_length};
use arrow_ipc::{Block, Message, root_as_footer, root_as_message};

use crate::columnar::{Layout, RecordBatches, arrow_error, contained};
use crate::error::DataError;
use crate::format::Format;
use crate::memory::{self, NoRoom};
use crate::options::ReadOptions;
use crate::reader::Opened;
use crate::source::Source;

/// Uncompressed lengths up to this are believed of any file.
const ALWAYS_ALLOWED: u64 = 1 << 28;
/// How many times larger than the whole file, or its message in a stream, a buffer may be.
const EXPANSION: u64 = 1024;

/// What a message begins with, before its length.
const CONTINUATION: [u8; 4] = [0xff; 4];

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
    contained(file, || check_lengths(file, open()?, options))?;
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
    let bytes = Guarded::new(BufReader::with_capacity(1 << 17, source.into_bytes()), memory::limit(options));
    let reader =
        contained(file, || StreamReader::try_new(bytes, None).map_err(|error| arrow_error(file, error)))?;
    let layout = Layout::new(file, &reader.schema(), options)?;
    let needed = layout.needed.clone();
    let batches: RecordBatches = Box::new(reader.map(move |batch| batch?.project(&needed)));
    layout.open(file, Format::Arrow, batches, None)
}

/// Refuses a file whose parts reach beyond its end, or in which a compressed buffer claims to be larger than
/// the file justifies. The decoder allocates at once what they claim, and a failed allocation ends the
/// process. Most other damage is left for the decoder to report.
fn check_lengths(name: &str, mut file: File, options: &ReadOptions) -> Result<(), DataError> {
    match greatest_lengths(&mut file) {
        Ok(Some((lengths, size))) => {
            check_length(lengths.greatest, size).map_err(|error| DataError::reading(name, error))?;
            memory::check(name, lengths.sum, options)
        }
        Ok(None) => Ok(()),
        Err(error) => Err(DataError::reading(name, error)),
    }
}

/// Refuses an uncompressed length that `size` bytes do not justify.
fn check_length(length: u64, size: u64) -> io::Result<()> {
    if length > ALWAYS_ALLOWED.max(size.saturating_mul(EXPANSION)) {
        return Err(damaged(&format!("a buffer in it claims a length of {length} bytes")));
    }
    Ok(())
}

fn damaged(detail: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, detail)
}

/// The uncompressed lengths that a message claims.
#[derive(Debug, Clone, Copy, Default)]
struct Lengths {
    greatest: u64,
    sum: u64,
}

impl Lengths {
    fn add(&mut self, length: u64) {
        self.greatest = self.greatest.max(length);
        self.sum = self.sum.saturating_add(length);
    }
}

/// The greatest lengths, each of some message, and the size of the file; `None` when the structure is broken.
fn greatest_lengths(file: &mut File) -> io::Result<Option<(Lengths, u64)>> {
    let size = file.metadata()?.len();
    let mut end = [0; 10];
    let Some(end_start) = size.checked_sub(end.len() as u64) else { return Ok(None) };
    read_at(file, end_start, &mut end)?;
    let Ok(footer_length) = read_footer_length(end) else { return Ok(None) };
    let footer_start = end_start.checked_sub(footer_length as u64).ok_or(io::ErrorKind::UnexpectedEof)?;
    let mut footer = vec![0; (end_start - footer_start) as usize];
    read_at(file, footer_start, &mut footer)?;
    let Ok(footer) = root_as_footer(&footer) else { return Ok(None) };
    let mut all = Lengths::default();
    for block in footer.dictionaries().into_iter().chain(footer.recordBatches()).flatten() {
        let lengths = lengths_in_block(file, size, block)?;
        all.greatest = all.greatest.max(lengths.greatest);
        all.sum = all.sum.max(lengths.sum);
    }
    Ok(Some((all, size)))
}

fn lengths_in_block(file: &mut File, size: u64, block: &Block) -> io::Result<Lengths> {
    let unsigned = |number: i64| u64::try_from(number).unwrap_or(u64::MAX);
    let (offset, metadata_length) = (unsigned(block.offset()), unsigned(block.metaDataLength().into()));
    let body = offset.saturating_add(metadata_length);
    if body.saturating_add(unsigned(block.bodyLength())) > size {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let mut metadata = vec![0; metadata_length as usize];
    read_at(file, offset, &mut metadata)?;
    let prefix = if metadata.starts_with(&CONTINUATION) { 8 } else { 4 };
    // The decoder would look for the rest of a message that is not whole here in the body.
    let message = metadata.get(prefix..).and_then(|message| root_as_message(message).ok());
    let message = message.ok_or_else(|| damaged("a message in it is not readable"))?;
    let mut lengths = Lengths::default();
    for start in compressed_buffers(message) {
        let Some(start) = body.checked_add(start).filter(|start| size.saturating_sub(*start) >= 8) else {
            continue;
        };
        let mut length = [0; 8];
        read_at(file, start, &mut length)?;
        lengths.add(claimed(length));
    }
    Ok(lengths)
}

/// Where in the body of a message its compressed buffers begin. Each begins with its uncompressed length.
fn compressed_buffers(message: Message<'_>) -> Vec<u64> {
    let batch = message.header_as_record_batch().or_else(|| message.header_as_dictionary_batch()?.data());
    let compressed = batch.filter(|batch| batch.compression().is_some());
    let buffers = compressed.and_then(|batch| batch.buffers()).into_iter().flatten();
    buffers
        .filter(|buffer| buffer.length() >= 8)
        .filter_map(|buffer| u64::try_from(buffer.offset()).ok())
        .collect()
}

/// The uncompressed length at the beginning of a buffer; a negative one marks a buffer stored as it is.
fn claimed(length: [u8; 8]) -> u64 {
    u64::try_from(i64::from_le_bytes(length)).unwrap_or(0)
}

/// The bytes of a stream, which end in an error where a compressed buffer claims to be larger than its message
/// justifies.
struct Guarded<R> {
    bytes: R,
    /// What was looked at and is not handed over yet.
    seen: Cursor<Vec<u8>>,
    /// The length of the body of the present message, and how much of it was read.
    body: u64,
    position: u64,
    /// Where in that body compressed buffers begin, ascending.
    buffers: VecDeque<u64>,
    /// What the present message takes so far once it is decoded, and the most it may.
    decoded: u64,
    limit: u64,
}

impl<R: Read> Guarded<R> {
    fn new(bytes: R, limit: u64) -> Self {
        let (seen, buffers) = (Cursor::default(), VecDeque::new());
        Self { bytes, seen, body: 0, position: 0, buffers, decoded: 0, limit }
    }

    /// Counts what the decoder makes room for at once.
    fn take_room(&mut self, bytes: u64) -> io::Result<()> {
        self.decoded = self.decoded.saturating_add(bytes);
        if self.decoded > self.limit {
            let error = NoRoom { needed: self.decoded, limit: self.limit };
            return Err(io::Error::new(io::ErrorKind::OutOfMemory, error));
        }
        Ok(())
    }

    /// Reads up to `count` bytes more to look at.
    fn look(&mut self, count: u64) -> io::Result<()> {
        self.bytes.by_ref().take(count).read_to_end(self.seen.get_mut()).map(|_| ())
    }

    /// Reads the next message up to its body. What is wrong with it is left for the decoder to report.
    fn next_message(&mut self) -> io::Result<()> {
        (self.body, self.position, self.decoded) = (0, 0, 0);
        self.buffers.clear();
        self.look(4)?;
        if *self.seen.get_ref() == CONTINUATION {
            self.look(4)?;
        }
        let start = self.seen.get_ref().len();
        let Some(length) = self.seen.get_ref().last_chunk().map(|length| i32::from_le_bytes(*length)) else {
            return Ok(());
        };
        let length = u64::try_from(length).unwrap_or(0);
        self.look(length)?;
        if ((self.seen.get_ref().len() - start) as u64) < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if let Ok(message) = root_as_message(&self.seen.get_ref()[start..]) {
            let body = u64::try_from(message.bodyLength()).unwrap_or(0);
            let mut buffers = compressed_buffers(message);
            buffers.sort_unstable();
            buffers.dedup();
            (self.body, self.buffers) = (body, buffers.into());
            self.take_room(body)?;
        }
        Ok(())
    }

    /// Reads the length at the beginning of the buffer that begins at `start`, no later than here.
    fn next_length(&mut self, start: u64) -> io::Result<()> {
        if start < self.position {
            return Err(damaged("buffers in it overlap"));
        }
        self.buffers.pop_front();
        self.look((self.body - self.position).min(8))?;
        self.position += self.seen.get_ref().len() as u64;
        let Some(length) = self.seen.get_ref().first_chunk().map(|length| claimed(*length)) else {
            return Ok(());
        };
        check_length(length, self.body)?;
        self.take_room(length)
    }
}

impl<R: Read> Read for Guarded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.seen.read(buffer)?;
        if count > 0 || buffer.is_empty() {
            return Ok(count);
        }
        self.seen = Cursor::default();
        let next = self.buffers.front().copied().unwrap_or(u64::MAX).min(self.body);
        if self.position == self.body {
            self.next_message()?;
            self.seen.read(buffer)
        } else if next <= self.position {
            self.next_length(next)?;
            self.seen.read(buffer)
        } else {
            let room = usize::try_from(next - self.position).unwrap_or(usize::MAX).min(buffer.len());
            let count = self.bytes.read(&mut buffer[..room])?;
            self.position += count as u64;
            Ok(count)
        }
    }
}

fn read_at(file: &mut File, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
    file.seek(SeekFrom::Start(offset))?;
    file.read_exact(buffer)
}
