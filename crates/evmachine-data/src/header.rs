//! Whether a text file begins with the names of its columns.

use std::collections::HashSet;

use csv::ByteRecord;

use crate::columns::{Plan, check_count, numbered_name, numbered_names};
use crate::error::DataError;
use crate::number::{Field, is_number, parse};
use crate::options::{ColumnRef, Header, ReadOptions};

/// So many numbers that count columns are hardly data.
const SURELY_COUNTED: usize = 8;
/// Fewer than so many numbers in a row count by chance.
const PERHAPS_COUNTED: usize = 3;

/// The names of the columns and whether they take up the first record.
pub(crate) struct Names {
    pub(crate) columns: Vec<String>,
    pub(crate) in_file: bool,
    /// Whether the first record may be a header all the same.
    pub(crate) doubtful: bool,
    /// The first column, where it looks like the index of a data frame.
    pub(crate) index: Option<usize>,
}

impl Names {
    /// Decides by the rule of [`Header::Auto`], unless the options decide.
    pub(crate) fn find(file: &str, sample: &[ByteRecord], options: &ReadOptions) -> Result<Self, DataError> {
        let Some(first) = sample.first() else {
            return Err(DataError::EmptyFile { file: file.to_owned() });
        };
        check_count(file, first.len() as u64)?;
        let verdict = match options.header {
            Header::Yes => Verdict::Header,
            Header::No => Verdict::Data,
            Header::Auto if options.names_columns() || has_all(first, options.wanted_names()) => {
                Verdict::Header
            }
            Header::Auto => {
                let plan = Plan::resolve(file, &numbered_names(first.len()), options)?;
                judge(first, &sample[1..], &plan)
            }
        };
        let in_file = verdict == Verdict::Header;
        let columns = if in_file {
            first.iter().enumerate().map(|(column, field)| column_name(column, field)).collect()
        } else {
            numbered_names(first.len())
        };
        let index = Some(0).filter(|_| in_file && is_index(first, &sample[1..]));
        Ok(Self { columns, in_file, doubtful: verdict == Verdict::Doubtful, index })
    }

    /// A column as options name it: by its name, where the file has names.
    pub(crate) fn reference(&self, column: usize) -> ColumnRef {
        if self.in_file {
            ColumnRef::Name(self.columns[column].clone())
        } else {
            ColumnRef::Number(i64::try_from(column).expect("no file has more than 2^20 columns"))
        }
    }
}

/// Data frames leave the name of their index empty; it goes by its number then.
fn column_name(column: usize, field: &[u8]) -> String {
    let name = String::from_utf8_lossy(field).trim().to_owned();
    if name.is_empty() { numbered_name(column) } else { name }
}

/// Whether the first column has no name and holds what an index does: integers unlike each other, or words. A data frame
/// that was read with its index as a column and written again calls that `Unnamed: 0`.
fn is_index(first: &ByteRecord, rows: &[ByteRecord]) -> bool {
    let unnamed = first.get(0).is_some_and(|name| matches!(name.trim_ascii(), b"" | b"Unnamed: 0"));
    let entries: Vec<&[u8]> = rows.iter().filter_map(|row| row.get(0)).map(<[u8]>::trim_ascii).collect();
    let integers = entries.iter().all(|entry| !entry.is_empty() && entry.iter().all(u8::is_ascii_digit));
    let words = entries.iter().all(|entry| parse(entry) == Field::Word);
    let distinct: HashSet<&[u8]> = entries.iter().copied().collect();
    unnamed
        && first.len() > 1
        && !entries.is_empty()
        && distinct.len() == entries.len()
        && (integers || words)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Header,
    Data,
    /// Data by default.
    Doubtful,
}

fn has_all(first: &ByteRecord, expected: &[String]) -> bool {
    let fields: HashSet<&[u8]> = first.iter().map(<[u8]>::trim_ascii).collect();
    !expected.is_empty() && expected.iter().all(|name| fields.contains(name.as_bytes()))
}

fn judge(first: &ByteRecord, rows: &[ByteRecord], plan: &Plan) -> Verdict {
    let fields = |record: &ByteRecord| -> Vec<Vec<u8>> {
        plan.features.iter().filter_map(|&column| record.get(column).map(<[u8]>::to_vec)).collect()
    };
    let header = |is: bool| if is { Verdict::Header } else { Verdict::Data };
    let names = fields(first);
    let has_numbers = names.iter().any(|field| is_number(field));
    let Some(second) = rows.first().map(fields) else { return header(!has_numbers) };
    if !has_numbers {
        return header(second.iter().any(|field| is_number(field)));
    }
    let Some(count) = counted(&names) else { return Verdict::Data };
    if is_witnessed(count, first, rows) {
        Verdict::Header
    } else if counted(&second).is_some() || count < PERHAPS_COUNTED {
        Verdict::Data
    } else if count < SURELY_COUNTED {
        Verdict::Doubtful
    } else {
        Verdict::Header
    }
}

/// Whether a field of the first record that is no number speaks for a header: it is empty above a column of values, a word
/// above one of numbers, or above words and not one of those that come again and again. Two numbers, such as truth values, count too
/// often for the last.
fn is_witnessed(count: usize, first: &ByteRecord, rows: &[ByteRecord]) -> bool {
    let below = |column: usize| rows.iter().filter_map(move |row| row.get(column)).map(<[u8]>::trim_ascii);
    first.iter().enumerate().any(|(column, name)| {
        let name = name.trim_ascii();
        if name.is_empty() {
            return below(column).all(|entry| !entry.is_empty());
        }
        if parse(name) != Field::Word {
            return false;
        }
        let usual: [&[u8]; 6] = [b"class", b"label", b"labels", b"target", b"species", b"y"];
        let distinct: HashSet<&[u8]> = below(column).collect();
        let come_again = distinct.len() < rows.len() && count >= PERHAPS_COUNTED;
        let is_usual = usual.iter().any(|usual| name.eq_ignore_ascii_case(usual));
        !distinct.contains(name) && (come_again || is_usual || below(column).all(is_number))
    })
}

/// How many of the fields are numbers, where these are 0, 1, 2, … or 1, 2, 3, …. A field without a number, such as the name
/// of a column of words, does not interrupt the count.
fn counted(fields: &[Vec<u8>]) -> Option<usize> {
    let numbers: Vec<&Vec<u8>> = fields.iter().filter(|field| is_number(field)).collect();
    let counts_from = |start: usize| {
        let expected = (start..).map(|number| number.to_string());
        numbers.iter().zip(expected).all(|(field, number)| field.trim_ascii() == number.as_bytes())
    };
    (counts_from(0) || counts_from(1)).then_some(numbers.len())
}

#[cfg(test)]
mod tests {
    use csv::ByteRecord;

    use super::Names;
    use crate::options::{ColumnRef, Header, ReadOptions};

    fn has_header(first: &str, second: Option<&str>, options: &ReadOptions) -> bool {
        let record = |line: &str| line.split(',').map(str::to_owned).collect::<Vec<_>>().into();
        let sample: Vec<ByteRecord> = std::iter::once(first).chain(second).map(record).collect();
        Names::find("file", &sample, options).unwrap().in_file
    }

    #[test]
    fn the_rule_of_auto() {
        let plain = ReadOptions::default();
        let label_last = ReadOptions { label: Some(ColumnRef::Number(-1)), ..ReadOptions::default() };
        assert!(has_header("a,b,c", Some("1,2,3"), &plain));
        assert!(!has_header("1,2,3", Some("4,5,6"), &plain));
        assert!(has_header("a,b,class", Some("1,2,cat"), &label_last));
        assert!(!has_header("1,2,cat", Some("3,4,dog"), &label_last));
        assert!(has_header("id,a,b", Some("x7,1,2"), &plain));
        assert!(has_header("0,1,2,3,4,5,6,7,label", Some("5,6,7,8,9,9,9,9,cat"), &label_last));
        assert!(!has_header("0,1,2", Some("1,2,3"), &plain));
        assert!(!has_header("0,1", Some("5,6"), &plain));
        assert!(has_header("a,b", None, &plain));
        assert!(!has_header("1,2", None, &plain));
        assert!(!has_header("a,b", Some("c,d"), &plain));
        assert!(has_header("1,2", Some("3,4"), &ReadOptions { header: Header::Yes, ..plain.clone() }));
        assert!(!has_header("a,b", Some("3,4"), &ReadOptions { header: Header::No, ..plain }));
    }

    fn names(lines: &[&str], options: &ReadOptions) -> Names {
        let record = |line: &&str| line.split(',').map(str::to_owned).collect::<Vec<_>>().into();
        Names::find("file", &lines.iter().map(record).collect::<Vec<_>>(), options).unwrap()
    }

    #[test]
    fn names_that_count_columns_are_told_from_a_row() {
        let label = |number| ReadOptions { label: Some(ColumnRef::Number(number)), ..ReadOptions::default() };
        assert!(names(&["class,0,1,2,3", "a,5,6,7,8", "b,1,2,3,5"], &label(0)).in_file);
        assert!(names(&["class,0,1,2,3", "a,1,2,3,4", "b,5,6,7,8"], &label(0)).in_file);
        assert!(names(&["class,0,1,2,3", "a,5,6,7,8", "b,1,2,3,5"], &ReadOptions::default()).in_file);
        assert!(names(&["kind,0,1,2", "a,5,6,7", "a,1,2,5"], &label(0)).in_file);
        assert!(names(&["kind,0,1", "7,5,6", "8,1,2"], &label(0)).in_file);
        assert!(names(&[",0,1,2", "0,5,6,7"], &ReadOptions::default()).in_file);
        let row = names(&["a,0,1,2", "a,5,6,7", "b,1,2,5"], &label(0));
        assert!(!row.in_file && row.doubtful);
        let doubtful = names(&["0,1,2,3", "5,6,7,8"], &ReadOptions::default());
        assert!(!doubtful.in_file && doubtful.doubtful);
        assert!(!names(&["0,1", "5,6"], &ReadOptions::default()).doubtful);
        let expected = ["1", "0"].map(str::to_owned).to_vec();
        assert!(names(&["0,1", "5,6"], &ReadOptions { expected, ..ReadOptions::default() }).in_file);
    }

    #[test]
    fn the_index_of_a_data_frame_is_recognised() {
        let index = |lines: &[&str]| names(lines, &ReadOptions::default()).index;
        assert_eq!(index(&[",a,b", "0,5,6", "1,5,6"]), Some(0));
        assert_eq!(index(&[",a,b", "17,5,6", "3,5,6"]), Some(0));
        assert_eq!(index(&["Unnamed: 0,a", "0,5", "1,5"]), Some(0));
        assert_eq!(index(&[",a,b", "x,5,6", "y,5,6"]), Some(0));
        assert_eq!(index(&[",a,b", "3,5,6", "3,5,6"]), None);
        assert_eq!(index(&[",a,b", "0.5,5,6", "1.5,5,6"]), None);
        assert_eq!(index(&["n,a,b", "0,5,6", "1,5,6"]), None);
    }

    #[test]
    fn a_column_asked_for_by_name_proves_a_header() {
        let named = ReadOptions { label: Some(ColumnRef::Name("2019".into())), ..ReadOptions::default() };
        assert!(has_header("2018,2019", Some("1,2"), &named));
    }
}
