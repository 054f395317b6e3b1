//! The records of a text file, before anything is known of their meaning.

use std::io::{self, BufRead, BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use csv::ByteRecord;

use crate::dialect::{Separator, words};
use crate::error::csv_error;

/// The most bytes of one record; only a quote that is never closed makes one longer.
pub(crate) const RECORD_LIMIT: u64 = 32 << 20;
/// What follows the content, on a line of its own: within a field where a quote is left open.
const END: &[u8] = b"\n\0end";
const BUFFER_BYTES: usize = 1 << 18;

/// How much of a file bytes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// All of it, or all from somewhere on: a quote must be closed at their end.
    Whole,
    /// A part, which may end anywhere.
    Beginning,
}

/// A quote that the end of the content leaves open.
#[derive(Debug, thiserror::Error)]
#[error("a quote is never closed")]
pub(crate) struct OpenQuote {
    /// Where its record begins, from 1.
    pub(crate) line: u64,
}

/// Cuts text into records and those into fields.
pub(crate) enum Records<R: Read> {
    /// Fields separated by a byte and perhaps quoted.
    Quoted { reader: Box<csv::Reader<Guard<R>>>, allowance: Allowance },
    /// Fields separated by spaces.
    Spaced { lines: BufReader<Guard<R>>, allowance: Allowance, line: u64, buffer: Vec<u8> },
}

impl<R: Read> Records<R> {
    pub(crate) fn new(bytes: R, separator: Separator, extent: Extent) -> Self {
        let allowance = Allowance::default();
        let is_marked = extent == Extent::Whole && matches!(separator, Separator::Byte(_));
        let end = if is_marked { END } else { &[] };
        let guarded = Guard { bytes, allowance: allowance.clone(), end };
        match separator {
            Separator::Byte(byte) => {
                let mut builder = csv::ReaderBuilder::new();
                builder.has_headers(false).flexible(true).delimiter(byte).buffer_capacity(BUFFER_BYTES);
                Self::Quoted { reader: Box::new(builder.from_reader(guarded)), allowance }
            }
            Separator::Spaces => Self::Spaced {
                lines: BufReader::with_capacity(BUFFER_BYTES, guarded),
                allowance,
                line: 0,
                buffer: Vec::new(),
            },
        }
    }

    /// Reads the next record that is not blank and returns the line it begins on, or `None` at the end.
    pub(crate) fn next(&mut self, record: &mut ByteRecord) -> io::Result<Option<u64>> {
        match self {
            Self::Quoted { reader, allowance } => {
                allowance.renew();
                let found = reader.read_byte_record(record).map_err(csv_error)?;
                // A record ends at a carriage return, and the line feed behind it is counted with the next.
                let late = |at: &csv::Position| u64::from(at.byte() > 0 && allowance.has_returns());
                let line = record.position().map_or(0, |at| at.line() + late(at));
                let read = reader.position().byte();
                if found && allowance.ended_at() == Some(read) {
                    let last = record.iter().next_back().unwrap_or_default();
                    if record.len() == 1 && last == &END[1..] {
                        return Ok(None);
                    }
                    return Err(io::Error::new(io::ErrorKind::InvalidData, OpenQuote { line }));
                }
                Ok(found.then_some(line))
            }
            Self::Spaced { lines, allowance, line, buffer } => loop {
                allowance.renew();
                buffer.clear();
                if lines.read_until(b'\n', buffer)? == 0 {
                    return Ok(None);
                }
                *line += 1;
                record.clear();
                words(buffer).for_each(|word| record.push_field(word));
                if !record.is_empty() {
                    return Ok(Some(*line));
                }
            },
        }
    }
}

/// How many bytes may still be read for the present record, and how many there were in all.
#[derive(Clone, Default)]
pub(crate) struct Allowance(Arc<Counts>);

#[derive(Default)]
struct Counts {
    left: AtomicU64,
    read: AtomicU64,
    ended: AtomicBool,
    /// Whether the first line feed was looked for, and follows a carriage return.
    line_seen: AtomicBool,
    returns: AtomicBool,
}

impl Allowance {
    fn renew(&self) {
        self.0.left.store(RECORD_LIMIT, Ordering::Relaxed);
    }

    /// Whether lines end with a carriage return and a line feed, as the first one does.
    fn has_returns(&self) -> bool {
        self.0.returns.load(Ordering::Relaxed)
    }

    fn look_for_returns(&self, bytes: &[u8]) {
        if self.0.line_seen.load(Ordering::Relaxed) {
            return;
        }
        if let Some(at) = bytes.iter().position(|&byte| byte == b'\n') {
            self.0.line_seen.store(true, Ordering::Relaxed);
            self.0.returns.store(at > 0 && bytes[at - 1] == b'\r', Ordering::Relaxed);
        }
    }

    /// Where the mark of the end is passed, once it was handed over.
    fn ended_at(&self) -> Option<u64> {
        self.0.ended.load(Ordering::Relaxed).then(|| self.0.read.load(Ordering::Relaxed))
    }
}

/// Ends the input when a record outgrows its allowance, before it outgrows the memory.
pub(crate) struct Guard<R> {
    bytes: R,
    allowance: Allowance,
    /// What is left of the mark of the end.
    end: &'static [u8],
}

impl<R: Read> Read for Guard<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let counts = &self.allowance.0;
        let mut count = self.bytes.read(buffer)?;
        self.allowance.look_for_returns(&buffer[..count]);
        if count == 0 && !buffer.is_empty() && !self.end.is_empty() {
            count = self.end.read(buffer)?;
            counts.ended.store(self.end.is_empty(), Ordering::Relaxed);
        }
        counts.read.fetch_add(count as u64, Ordering::Relaxed);
        let left = counts.left.load(Ordering::Relaxed);
        let Some(left) = left.checked_sub(count as u64) else {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "a record is longer than 32 MiB, perhaps because a quote is never closed",
            ));
        };
        counts.left.store(left, Ordering::Relaxed);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use csv::ByteRecord;

    use super::{Extent, OpenQuote, Records};
    use crate::dialect::Separator;

    fn all(text: &str, separator: Separator) -> Vec<(u64, Vec<String>)> {
        let mut records = Records::new(text.as_bytes(), separator, Extent::Whole);
        let mut record = ByteRecord::new();
        let mut found = Vec::new();
        while let Some(line) = records.next(&mut record).unwrap() {
            let fields = record.iter().map(|field| String::from_utf8_lossy(field).into_owned()).collect();
            found.push((line, fields));
        }
        found
    }

    #[test]
    fn lines_are_counted_over_blank_ones_and_quotes() {
        let fields = |fields: &[&str]| fields.iter().map(ToString::to_string).collect::<Vec<_>>();
        let found = all("a,b\n\n\"x\ny\",2\n3,4", Separator::Byte(b','));
        assert_eq!(found[0], (1, fields(&["a", "b"])));
        assert_eq!(found[1].1, fields(&["x\ny", "2"]));
        assert_eq!(found[2], (5, fields(&["3", "4"])));
        let found = all("a,b\r\n1,2\r\n3,4\r\n", Separator::Byte(b','));
        assert_eq!(found.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [1, 2, 3]);
        let found = all(" 1  2\n\n\t3 4 \r\n", Separator::Spaces);
        assert_eq!(found, [(1, fields(&["1", "2"])), (3, fields(&["3", "4"]))]);
    }

    #[test]
    fn a_quote_that_is_never_closed_is_found_at_the_end() {
        let mut record = ByteRecord::new();
        for (text, line) in [("a,\"b\n1,2\n", 1), ("a,b\n\"1,2\n3,4", 2), ("a,b\n1,\"", 2)] {
            let mut records = Records::new(text.as_bytes(), Separator::Byte(b','), Extent::Whole);
            let error = loop {
                match records.next(&mut record) {
                    Ok(found) => assert!(found.is_some(), "{text:?}"),
                    Err(error) => break error,
                }
            };
            let open = error.get_ref().and_then(|inner| inner.downcast_ref::<OpenQuote>());
            assert_eq!(open.map(|open| open.line), Some(line), "{text:?}");
        }
        for text in
            ["", "\n", "a\n", "a", "\"a\"", "a\r\n\r\n", "\"a\n\"\n", "end", "\0end\na\n", "a\n\0end\n"]
        {
            let lines = text.lines().filter(|line| !line.is_empty()).count();
            let expected = if text == "\"a\n\"\n" { 1 } else { lines };
            assert_eq!(all(text, Separator::Byte(b',')).len(), expected, "{text:?}");
        }
    }
}
