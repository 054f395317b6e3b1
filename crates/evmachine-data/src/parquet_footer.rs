//! A look at the schema of a Parquet file before its decoder, which descends into it by recursion.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

/// How deeply groups of columns may lie in each other. Deeper ones would exhaust the stack of the decoder, which
/// ends the process.
pub(crate) const DEPTH_LIMIT: usize = 100;

/// The types of the Thrift compact protocol that a schema is made of.
pub(crate) const INTEGER: u8 = 5;
const BINARY: u8 = 8;
const LIST: u8 = 9;
pub(crate) const STRUCT: u8 = 12;

/// Refuses a file whose schema is too deep. A footer that is missing or cut off is left for the decoder to
/// report. The file is left at its beginning.
pub(crate) fn check_depth(file: &mut File) -> io::Result<()> {
    const TAIL: u64 = 8;
    let size = file.metadata()?.len();
    let mut tail = [0; TAIL as usize];
    let Some(end) = size.checked_sub(TAIL) else { return Ok(()) };
    file.seek(SeekFrom::Start(end))?;
    file.read_exact(&mut tail)?;
    let [length @ .., b'P', b'A', b'R', b'1'] = tail else { return Ok(()) };
    let length = u64::from(u32::from_le_bytes(length));
    let Some(start) = end.checked_sub(length) else { return Ok(()) };
    let mut footer = vec![0; length as usize];
    file.seek(SeekFrom::Start(start))?;
    file.read_exact(&mut footer)?;
    file.seek(SeekFrom::Start(0))?;
    let detail = match Compact(&footer).depth() {
        Some(depth) if depth <= DEPTH_LIMIT => return Ok(()),
        Some(_) => "its columns lie too deeply in each other",
        None => "its footer is not readable",
    };
    Err(io::Error::new(io::ErrorKind::InvalidData, detail))
}

/// Bytes in the Thrift compact protocol. Everything is `None` where they are not.
pub(crate) struct Compact<'a>(pub(crate) &'a [u8]);

impl Compact<'_> {
    /// How deep the schema of a footer is, counted up to one more than the limit.
    fn depth(&mut self) -> Option<usize> {
        let mut last = 0;
        loop {
            let (id, kind) = self.field(last)?;
            match (id, kind) {
                (2, LIST) => break,
                (1, INTEGER) => self.skip(kind, DEPTH_LIMIT)?,
                _ => return None,
            }
            last = id;
        }
        let (count, STRUCT) = self.list()? else { return None };
        let (mut deepest, mut left) = (0, Vec::new());
        for _ in 0..count {
            while left.pop_if(|children| *children == 0).is_some() {}
            if let Some(children) = left.last_mut() {
                *children -= 1;
            }
            let children = self.children()?;
            if children > 0 {
                left.push(children);
                deepest = deepest.max(left.len());
            }
            if deepest > DEPTH_LIMIT {
                break;
            }
        }
        Some(deepest)
    }

    /// Reads an element of the schema and returns how many of those after it lie in it.
    fn children(&mut self) -> Option<u32> {
        let (mut children, mut last) = (0, 0);
        loop {
            let (id, kind) = self.field(last)?;
            match (id, kind) {
                (_, 0) => return Some(children),
                (5, INTEGER) => children = u32::try_from(self.number()?).ok()?,
                (1..=3 | 6..=9, INTEGER) | (4, BINARY) | (10, STRUCT) => self.skip(kind, DEPTH_LIMIT)?,
                (1..=10, _) => return None,
                _ => self.skip(kind, DEPTH_LIMIT)?,
            }
            last = id;
        }
    }

    fn take(&mut self, count: u64) -> Option<&[u8]> {
        let (taken, rest) = self.0.split_at_checked(usize::try_from(count).ok()?)?;
        self.0 = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|taken| taken[0])
    }

    /// A number of seven bits a byte.
    fn unsigned(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    /// A number whose lowest bit is its sign.
    pub(crate) fn number(&mut self) -> Option<i64> {
        self.unsigned().map(|bits| (bits >> 1).cast_signed() ^ -(bits & 1).cast_signed())
    }

    /// The number and the type of the next field after that of number `last`; the type is 0 at the end.
    pub(crate) fn field(&mut self, last: i64) -> Option<(i64, u8)> {
        let byte = self.byte()?;
        let id = match byte >> 4 {
            _ if byte == 0 => last,
            0 => self.number()?,
            step => last.checked_add(step.into())?,
        };
        Some((id, byte & 0xf))
    }

    /// The length of a list and the type of its elements.
    fn list(&mut self) -> Option<(u64, u8)> {
        let byte = self.byte()?;
        let length = if byte >> 4 == 0xf { self.unsigned()? } else { u64::from(byte >> 4) };
        Some((length, byte & 0xf))
    }

    /// Passes over a value.
    pub(crate) fn skip(&mut self, kind: u8, depth: usize) -> Option<()> {
        let deeper = depth.checked_sub(1)?;
        match kind {
            // Truth values are part of the type.
            1 | 2 => {}
            3 => self.take(1).map(|_| ())?,
            4..=6 => self.unsigned().map(|_| ())?,
            7 => self.take(8).map(|_| ())?,
            BINARY => {
                let length = self.unsigned()?;
                self.take(length)?;
            }
            LIST | 10 => {
                let (length, kind) = self.list()?;
                for _ in 0..length {
                    // Only in lists do they take up a byte.
                    self.skip(if matches!(kind, 1 | 2) { 3 } else { kind }, deeper)?;
                }
            }
            STRUCT => {
                let mut last = 0;
                loop {
                    let (id, kind) = self.field(last)?;
                    if kind == 0 {
                        break;
                    }
                    self.skip(kind, deeper)?;
                    last = id;
                }
            }
            _ => return None,
        }
        Some(())
    }
}
