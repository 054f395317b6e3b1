//! A look at the pages of a Parquet file before its decoder, which believes what their headers claim.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use crate::parquet_footer::{Compact, DEPTH_LIMIT, INTEGER, STRUCT};

/// Most headers of pages are shorter.
const FIRST_LOOK: u64 = 256;
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
/// decoder would look for their ends for minutes.
pub(crate) fn walk(file: &mut File, start: u64, length: u64) -> io::Result<Claims> {
    let damaged = |detail: &str| io::Error::new(io::ErrorKind::InvalidData, detail.to_owned());
    let mut claims = Claims::default();
    let end = start.saturating_add(length);
    let mut position = start;
    let mut buffer = Vec::new();
    while position < end {
        let mut found = None;
        for look in [FIRST_LOOK, HEADER_LIMIT] {
            buffer.clear();
            file.seek(SeekFrom::Start(position))?;
            file.by_ref().take(look.min(end - position)).read_to_end(&mut buffer)?;
            let mut bytes = Compact(&buffer);
            found = PageHeader::read(&mut bytes).map(|header| (header, buffer.len() - bytes.0.len()));
            if found.is_some() || end - position <= look {
                break;
            }
        }
        let Some((header, read)) = found else { return Err(damaged("the header of a page is not readable")) };
        claims.largest_page = claims.largest_page.max(header.unpacked);
        claims.values = claims.values.saturating_add(header.values);
        position = position.saturating_add(read as u64).saturating_add(header.packed);
    }
    if position > end { Err(damaged("a page reaches beyond its column")) } else { Ok(claims) }
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
