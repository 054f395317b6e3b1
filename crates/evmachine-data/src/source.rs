//! Where bytes come from: a file or standard input, decompressed, with a look at the beginning.

use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use zstd::stream::read::Decoder;

use crate::error::{DataError, display_name, is_standard_input};
use crate::records::Extent;

/// How much is read ahead to tell the format, the delimiter and the header.
const SAMPLE_BYTES: usize = 1 << 20;
/// The most that is read ahead for the sake of two whole lines.
const SAMPLE_LIMIT: usize = 1 << 25;

/// What some programs put before UTF-8 text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Anything bytes can be read from.
pub(crate) type Bytes = Box<dyn Read + Send>;

/// An opened input whose first bytes can be seen before they are read.
pub(crate) struct Source {
    /// The name for messages.
    pub(crate) file: String,
    /// The path, unless this is standard input.
    pub(crate) path: Option<PathBuf>,
    /// The size of the content, known for uncompressed files only.
    pub(crate) length: Option<u64>,
    /// Whether the content was compressed as a whole, by gzip or Zstandard.
    pub(crate) compressed: bool,
    /// How many bytes of a byte order mark come before the content.
    mark: u64,
    prefix: Vec<u8>,
    /// Whether the prefix is all there is.
    whole: bool,
    rest: Bytes,
}

impl Source {
    /// Opens `path`, or standard input for `-`, and looks at its beginning.
    pub(crate) fn open(path: &Path) -> Result<Self, DataError> {
        let file = display_name(path);
        if is_standard_input(path) {
            return Self::from_bytes(file, None, None, Box::new(io::stdin()));
        }
        let opened = File::open(path).map_err(|error| DataError::opening(&file, error))?;
        let metadata = opened.metadata().map_err(|error| DataError::opening(&file, error))?;
        if metadata.is_dir() {
            return Err(DataError::IsDirectory { file });
        }
        let length = metadata.is_file().then_some(metadata.len());
        Self::from_bytes(file, Some(path.to_owned()), length, Box::new(opened))
    }

    fn from_bytes(
        file: String,
        path: Option<PathBuf>,
        length: Option<u64>,
        mut bytes: Bytes,
    ) -> Result<Self, DataError> {
        let mut magic = Vec::new();
        read_more(&mut bytes, &mut magic, 4).map_err(|error| DataError::reading(&file, error))?;
        if magic.is_empty() {
            return Err(DataError::EmptyFile { file });
        }
        let (is_gzip, is_zstd) = (magic.starts_with(b"\x1f\x8b"), magic == b"\x28\xb5\x2f\xfd");
        let compressed = is_gzip || is_zstd;
        let joined = Cursor::new(magic).chain(bytes);
        let (length, rest): (_, Bytes) = if is_gzip {
            (None, Box::new(MultiGzDecoder::new(io::BufReader::with_capacity(1 << 17, joined))))
        } else if is_zstd {
            let decoder = Decoder::new(joined).map_err(|error| DataError::reading(&file, error))?;
            (None, Box::new(ZstdErrors(decoder)))
        } else {
            (length, Box::new(joined))
        };
        let mut source =
            Self { file, path, length, compressed, mark: 0, prefix: Vec::new(), whole: false, rest };
        source.extend_prefix(SAMPLE_BYTES)?;
        if source.prefix.starts_with(BYTE_ORDER_MARK) {
            source.prefix.drain(..BYTE_ORDER_MARK.len());
            source.mark = BYTE_ORDER_MARK.len() as u64;
        }
        if source.prefix.is_empty() {
            return Err(DataError::EmptyFile { file: source.file });
        }
        Ok(source)
    }

    fn extend_prefix(&mut self, target: usize) -> Result<(), DataError> {
        let missing = target.saturating_sub(self.prefix.len());
        let read = read_more(&mut self.rest, &mut self.prefix, missing)
            .map_err(|error| DataError::reading(&self.file, error))?;
        self.whole = read < missing;
        Ok(())
    }

    /// The first bytes of the content.
    pub(crate) fn prefix(&self) -> &[u8] {
        &self.prefix
    }

    /// Whole lines from the beginning, two at least where the file has them, and whether they are all of it.
    pub(crate) fn sample_lines(&mut self) -> Result<(&[u8], Extent), DataError> {
        while !self.whole && self.prefix.len() < SAMPLE_LIMIT && line_ends(&self.prefix).nth(1).is_none() {
            self.extend_prefix(self.prefix.len() * 2)?;
        }
        if self.whole {
            return Ok((&self.prefix, Extent::Whole));
        }
        let end = line_ends(&self.prefix).last().map_or(self.prefix.len(), |last| last + 1);
        Ok((&self.prefix[..end], Extent::Beginning))
    }

    /// All bytes from the beginning.
    pub(crate) fn into_bytes(self) -> Bytes {
        if self.whole {
            Box::new(Cursor::new(self.prefix))
        } else {
            Box::new(Cursor::new(self.prefix).chain(self.rest))
        }
    }

    /// The content as a file that can be read twice; what came compressed or through a pipe goes into a
    /// temporary file, which vanishes with the handle.
    pub(crate) fn into_file(self) -> Result<File, DataError> {
        let file = self.file.clone();
        match &self.path {
            Some(path) if self.length.is_some() => {
                let mut opened = File::open(path).map_err(|error| DataError::opening(&file, error))?;
                opened.seek(SeekFrom::Start(self.mark)).map_err(|error| DataError::reading(&file, error))?;
                Ok(opened)
            }
            _ => spool(&file, self.into_bytes()),
        }
    }
}

/// The most bytes of a temporary file, 64 GiB: a file of some megabytes may unpack to all of a disk.
const SPOOL_LIMIT: u64 = 64 << 30;

/// Copies bytes into a temporary file and goes back to its beginning.
pub(crate) fn spool(file: &str, bytes: Bytes) -> Result<File, DataError> {
    spool_within(SPOOL_LIMIT, file, bytes)
}

fn spool_within(limit: u64, file: &str, bytes: Bytes) -> Result<File, DataError> {
    let mut copy = tempfile::tempfile().map_err(|error| DataError::writing("a temporary file", error))?;
    let copied = io::copy(&mut bytes.take(limit.saturating_add(1)), &mut copy);
    if copied.map_err(|error| DataError::reading(file, error))? > limit {
        return Err(DataError::Unpacked { file: file.to_owned(), limit });
    }
    copy.seek(SeekFrom::Start(0)).map_err(|error| DataError::reading(file, error))?;
    Ok(copy)
}

/// The decoder of Zstandard calls all damage an error of the system.
struct ZstdErrors<R>(R);

impl<R: Read> Read for ZstdErrors<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer).map_err(|error| match error.kind() {
            io::ErrorKind::Other => io::Error::new(io::ErrorKind::InvalidData, error),
            _ => error,
        })
    }
}

fn line_ends(bytes: &[u8]) -> impl Iterator<Item = usize> {
    bytes.iter().enumerate().filter(|&(_, &byte)| byte == b'\n').map(|(index, _)| index)
}

/// Reads until `count` bytes were appended or the input ended; returns how many there were.
fn read_more(bytes: &mut Bytes, buffer: &mut Vec<u8>, count: usize) -> io::Result<usize> {
    bytes.take(count as u64).read_to_end(buffer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_temporary_file_has_a_limit() {
        let spooled = |limit| spool_within(limit, "a.npy.gz", Box::new(Cursor::new(vec![7; 100])));
        assert_eq!(spooled(100).unwrap().metadata().unwrap().len(), 100);
        let error = spooled(99).unwrap_err().to_string();
        assert!(error.starts_with("a.npy.gz unpacks to more than 99 bytes"), "{error}");
    }
}
