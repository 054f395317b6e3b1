//! The records of a text file, before anything is known of their meaning.

use std::io::{self, BufRead, BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use csv::ByteRecord;

use crate::dialect::{Separator, words};
use crate::error::csv_error;

/// The most bytes of one record; only a quote that is never closed makes one longer.
const RECORD_LIMIT: u64 = 256 << 20;
const BUFFER_BYTES: usize = 1 << 18;

/// Cuts text into records and those into fields.
pub(crate) enum Records<R: Read> {
    /// Fields separated by a byte and perhaps quoted.
    Quoted { reader: Box<csv::Reader<Guard<R>>>, allowance: Allowance },
    /// Fields separated by spaces.
    Spaced { lines: BufReader<Guard<R>>, allowance: Allowance, line: u64, buffer: Vec<u8> },
}

impl<R: Read> Records<R> {
    pub(crate) fn new(bytes: R, separator: Separator) -> Self {
        let allowance = Allowance::default();
        let guarded = Guard { bytes, allowance: allowance.clone() };
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
                Ok(found.then(|| record.position().map_or(0, csv::Position::line)))
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

/// How many bytes may still be read for the present record.
#[derive(Clone, Default)]
pub(crate) struct Allowance(Arc<AtomicU64>);

impl Allowance {
    fn renew(&self) {
        self.0.store(RECORD_LIMIT, Ordering::Relaxed);
    }
}

/// Ends the input when a record outgrows its allowance, before it outgrows the memory.
pub(crate) struct Guard<R> {
    bytes: R,
    allowance: Allowance,
}

impl<R: Read> Read for Guard<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.bytes.read(buffer)?;
        let left = self.allowance.0.load(Ordering::Relaxed);
        let Some(left) = left.checked_sub(count as u64) else {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "a record is longer than 256 MiB, perhaps because a quote is never closed",
            ));
        };
        self.allowance.0.store(left, Ordering::Relaxed);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use csv::ByteRecord;

    use super::Records;
    use crate::dialect::Separator;

    fn all(text: &str, separator: Separator) -> Vec<(u64, Vec<String>)> {
        let mut records = Records::new(text.as_bytes(), separator);
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
        let found = all(" 1  2\n\n\t3 4 \r\n", Separator::Spaces);
        assert_eq!(found, [(1, fields(&["1", "2"])), (3, fields(&["3", "4"]))]);
    }
}
