//! The header of an NPY file.

use std::io::{self, Read};

use crate::error::DataError;
use crate::npy_type::ElementType;
use crate::source::Bytes;

/// No honest header is longer; the length field of version 2 could say four gigabytes.
const HEADER_LIMIT: usize = 1 << 20;

/// The description of an array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NpyHeader {
    pub(crate) element: ElementType,
    pub(crate) fortran_order: bool,
    pub(crate) shape: Vec<u64>,
    /// Bytes before the first element.
    pub(crate) data_start: u64,
}

/// Names an array in messages.
#[derive(Debug, Clone)]
pub(crate) struct ArrayName {
    pub(crate) file: String,
    /// The member of an archive; `None` for a file of its own.
    pub(crate) member: Option<String>,
}

impl ArrayName {
    pub(crate) fn unsuitable(&self, detail: impl Into<String>, advice: impl Into<String>) -> DataError {
        let array = self.member.as_ref().map_or("the array".to_owned(), |name| format!("the array `{name}`"));
        DataError::UnsuitableArray {
            file: self.file.clone(),
            array,
            detail: detail.into(),
            advice: advice.into(),
        }
    }

    pub(crate) fn truncated(&self, detail: impl Into<String>) -> DataError {
        DataError::Truncated { file: self.file.clone(), detail: detail.into() }
    }

    fn damaged(&self, detail: impl Into<String>) -> DataError {
        DataError::Damaged { file: self.file.clone(), detail: detail.into() }
    }

    /// Reads exactly as much as fits into `buffer`; an end before that is a truncated file.
    fn read_exact(&self, bytes: &mut Bytes, buffer: &mut [u8]) -> Result<(), DataError> {
        bytes.read_exact(buffer).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => self.truncated("it ends within the header"),
            _ => DataError::reading(&self.file, error),
        })
    }
}

impl NpyHeader {
    /// Reads the header. `length` is the size of the whole array file where it is known; a file that is
    /// too short for its shape is refused here, before anything is allocated for it.
    pub(crate) fn read(name: &ArrayName, bytes: &mut Bytes, length: Option<u64>) -> Result<Self, DataError> {
        let mut start = [0; 10];
        name.read_exact(bytes, &mut start)?;
        if !start.starts_with(b"\x93NUMPY") {
            return Err(name.damaged("the NPY magic is missing"));
        }
        let low = [start[8], start[9]];
        let (header_length, data_start) = match start[6] {
            1 => (usize::from(u16::from_le_bytes(low)), 10),
            2 | 3 => {
                let mut high = [0; 2];
                name.read_exact(bytes, &mut high)?;
                (u32::from_le_bytes([low[0], low[1], high[0], high[1]]) as usize, 12)
            }
            version => return Err(name.damaged(format!("NPY version {version} is unknown"))),
        };
        if header_length > HEADER_LIMIT {
            return Err(name.damaged(format!("its header claims a length of {header_length} bytes")));
        }
        let mut text = vec![0; header_length];
        name.read_exact(bytes, &mut text)?;
        let text = String::from_utf8_lossy(&text);
        let mut header = Self::parse(name, &text)?;
        header.data_start = data_start + header_length as u64;
        header.check_length(name, length)?;
        Ok(header)
    }

    fn parse(name: &ArrayName, text: &str) -> Result<Self, DataError> {
        let missing = |key: &str| name.damaged(format!("its header has no `{key}`"));
        let description = value_of(text, "descr").ok_or_else(|| missing("descr"))?;
        let order = value_of(text, "fortran_order").ok_or_else(|| missing("fortran_order"))?;
        let shape = value_of(text, "shape").ok_or_else(|| missing("shape"))?;
        if description.starts_with('[') {
            return Err(name.unsuitable("has named fields", "Save a plain matrix of dtype float32"));
        }
        let description = quoted(description).ok_or_else(|| name.damaged("its dtype is not readable"))?;
        let element = ElementType::parse(description).ok_or_else(|| {
            if description.contains('O') {
                name.unsuitable(
                    "holds Python objects, and pickle is not loaded",
                    "Save it with dtype float32, or with dtype str for labels",
                )
            } else {
                name.unsuitable(format!("has dtype `{description}`"), "Save it with dtype float32")
            }
        })?;
        let fortran_order = match order {
            order if order.starts_with("True") => true,
            order if order.starts_with("False") => false,
            _ => return Err(name.damaged("its `fortran_order` is neither True nor False")),
        };
        let shape = tuple(shape).ok_or_else(|| name.damaged("its shape is not readable"))?;
        Ok(Self { element, fortran_order, shape, data_start: 0 })
    }

    fn check_length(&self, name: &ArrayName, length: Option<u64>) -> Result<(), DataError> {
        let elements = self.shape.iter().try_fold(1u64, |product, &axis| product.checked_mul(axis));
        let needed = elements.and_then(|elements| elements.checked_mul(self.element.size as u64));
        let Some(needed) = needed else {
            return Err(name.damaged(format!("its shape {} is impossibly large", self.shape_text())));
        };
        let present = length.map(|length| length.saturating_sub(self.data_start));
        match present {
            Some(present) if present < needed => Err(name.truncated(format!(
                "the shape {} needs {needed} bytes of data and there are {present}",
                self.shape_text()
            ))),
            _ => Ok(()),
        }
    }

    /// Whether the elements of a row lie apart.
    pub(crate) fn is_by_columns(&self) -> bool {
        self.fortran_order && matches!(self.shape.as_slice(), &[rows, columns] if rows > 1 && columns > 1)
    }

    /// The shape as Python writes it.
    pub(crate) fn shape_text(&self) -> String {
        match self.shape.as_slice() {
            [single] => format!("({single},)"),
            axes => {
                let axes: Vec<String> = axes.iter().map(u64::to_string).collect();
                format!("({})", axes.join(", "))
            }
        }
    }
}

/// What follows `'key':` in a Python dictionary.
fn value_of<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let after = |quote: char| text.split_once(&format!("{quote}{key}{quote}")).map(|(_, rest)| rest);
    let rest = after('\'').or_else(|| after('"'))?;
    Some(rest.trim_start().strip_prefix(':')?.trim_start())
}

/// The text between the quote at the beginning and its partner.
fn quoted(text: &str) -> Option<&str> {
    let quote = text.chars().next().filter(|&first| first == '\'' || first == '"')?;
    text[1..].split_once(quote).map(|(inside, _)| inside)
}

fn tuple(text: &str) -> Option<Vec<u64>> {
    let (inside, _) = text.strip_prefix('(')?.split_once(')')?;
    let axes = inside.split(',').map(str::trim).filter(|axis| !axis.is_empty());
    axes.map(|axis| axis.trim_end_matches('L').parse().ok()).collect()
}
