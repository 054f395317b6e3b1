//! Whether a text file begins with the names of its columns.

use csv::ByteRecord;

use crate::columns::{Plan, numbered_name, numbered_names};
use crate::error::DataError;
use crate::number::is_number;
use crate::options::{ColumnRef, Header, ReadOptions};

/// The names of the columns and whether they take up the first record.
pub(crate) struct Names {
    pub(crate) names: Vec<String>,
    pub(crate) in_file: bool,
}

impl Names {
    /// Decides by the rule of [`Header::Auto`], unless the options decide.
    pub(crate) fn find(file: &str, sample: &[ByteRecord], options: &ReadOptions) -> Result<Self, DataError> {
        let Some(first) = sample.first() else {
            return Err(DataError::EmptyFile { file: file.to_owned() });
        };
        let in_file = match options.header {
            Header::Yes => true,
            Header::No => false,
            Header::Auto if options.names_columns() => true,
            Header::Auto => {
                let plan = Plan::resolve(file, &numbered_names(first.len()), options)?;
                looks_like_header(first, sample.get(1), &plan.features)
            }
        };
        let names = if in_file {
            first.iter().enumerate().map(|(column, field)| column_name(column, field)).collect()
        } else {
            numbered_names(first.len())
        };
        Ok(Self { names, in_file })
    }

    /// A column as options name it: by its name, where the file has names.
    pub(crate) fn reference(&self, column: usize) -> ColumnRef {
        if self.in_file {
            ColumnRef::Name(self.names[column].clone())
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

fn looks_like_header(first: &ByteRecord, second: Option<&ByteRecord>, features: &[usize]) -> bool {
    let fields = |record: &ByteRecord| -> Vec<Vec<u8>> {
        features.iter().filter_map(|&column| record.get(column).map(<[u8]>::to_vec)).collect()
    };
    let first = fields(first);
    let has_numbers = first.iter().any(|field| is_number(field));
    let Some(second) = second.map(fields) else { return !has_numbers };
    if has_numbers {
        counts_columns(&first) && !counts_columns(&second)
    } else {
        second.iter().any(|field| is_number(field))
    }
}

/// Whether the numbers among the fields are 0, 1, 2, … or 1, 2, 3, …, eight at least, because fewer may
/// well be data. A field without
/// a number, such as the name of a column of words, does not interrupt the count.
fn counts_columns(fields: &[Vec<u8>]) -> bool {
    let numbers: Vec<&Vec<u8>> = fields.iter().filter(|field| is_number(field)).collect();
    let counts_from = |start: usize| {
        let expected = (start..).map(|number| number.to_string());
        numbers.iter().zip(expected).all(|(field, number)| field.trim_ascii() == number.as_bytes())
    };
    numbers.len() >= 8 && (counts_from(0) || counts_from(1))
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

    #[test]
    fn a_column_asked_for_by_name_proves_a_header() {
        let named = ReadOptions { label: Some(ColumnRef::Name("2019".into())), ..ReadOptions::default() };
        assert!(has_header("2018,2019", Some("1,2"), &named));
    }
}
