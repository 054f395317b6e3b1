//! A look at the pages of a Parquet file before its decoder, which believes what their headers claim.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use crate::parquet_footer::{Compact, DEPTH_LIMIT, INTEGER, STRUCT};

/// Most headers of pages are shorter.
const FIRST_LOOK: u64 = 256;
/// What is read at once where pages are short.
const NEAR_LOOK: u64 = 1 << 16;
/// No honest header, which may hold the smallest and the largest value of its page, is longer.
const HEADER_LIMIT: u64 = 16 << 20;

/// What the pages of a column chunk claim.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Claims {
    /// The most bytes of a page once it is unpacked.
    pub(crate) largest_page: u64,
    /// Values on all pages.
    pub(crate) values: u64,
}

/// Walks over the pages of a column chunk, which lies within the file. Broken or endless headers are an error here; the
/// decoder would look for their ends for minutes. The time is that of reading all headers a few times.
pub(crate) fn walk(file: &mut File, start: u64, length: u64) -> io::Result<Claims> {
    let mut claims = Claims::default();
    let end = start.saturating_add(length);
    let mut position = start;
    let mut window = Window { start, bytes: Vec::new() };
    let mut look = FIRST_LOOK;
    while position < end {
        let seen = window.from(position);
        let mut rest = Compact(seen);
        if let Some(header) = PageHeader::read(&mut rest) {
            claims.largest_page = claims.largest_page.max(header.unpacked);
            claims.values = claims.values.saturating_add(header.values);
            let read = (seen.len() - rest.0.len()) as u64;
            position = position.saturating_add(read).saturating_add(header.packed);
            look = if header.packed < NEAR_LOOK { NEAR_LOOK } else { FIRST_LOOK };
            continue;
        }
        let looked = seen.len() as u64;
        if looked >= HEADER_LIMIT.min(end - position) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the header of a page is not readable"));
        }
        window.read(file, position, look.max(4 * looked).min(end - position))?;
    }
    Ok(claims)
}

/// A part of a file.
struct Window {
    start: u64,
    bytes: Vec<u8>,
}

impl Window {
    /// What is known of the file from a position on.
    fn from(&self, position: u64) -> &[u8] {
        let offset = position.checked_sub(self.start).and_then(|offset| usize::try_from(offset).ok());
        offset.and_then(|offset| self.bytes.get(offset..)).unwrap_or_default()
    }

    fn read(&mut self, file: &mut File, start: u64, length: u64) -> io::Result<()> {
        self.start = start;
        self.bytes.resize(length as usize, 0);
        file.seek(SeekFrom::Start(start))?;
        file.read_exact(&mut self.bytes)
    }
}

/// The parts of the header of a page that say how much follows.
#[derive(Default)]
struct PageHeader {
    unpacked: u64,
    packed: u64,
    /// None in a dictionary, whose entries are no values of rows.
    values: u64,
}

impl PageHeader {
    fn read(bytes: &mut Compact<'_>) -> Option<Self> {
        let (mut header, mut last) = (Self::default(), 0);
        loop {
            let (id, kind) = bytes.field(last)?;
            match (id, kind) {
                (_, 0) => return Some(header),
                (2, INTEGER) => header.unpacked = u64::try_from(bytes.number()?).ok()?,
                (3, INTEGER) => header.packed = u64::try_from(bytes.number()?).ok()?,
                // The headers of data pages, in both versions, begin with the number of values.
                (5 | 8, STRUCT) => header.values = values(bytes)?,
                _ => bytes.skip(kind, DEPTH_LIMIT)?,
            }
            last = id;
        }
    }
}

/// The first field of a structure, which is read to its end.
fn values(bytes: &mut Compact<'_>) -> Option<u64> {
    let (mut values, mut last) = (0, 0);
    loop {
        let (id, kind) = bytes.field(last)?;
        match (id, kind) {
            (_, 0) => return Some(values),
            (1, INTEGER) => values = u64::try_from(bytes.number()?).ok()?,
            _ => bytes.skip(kind, DEPTH_LIMIT)?,
        }
        last = id;
    }
}
