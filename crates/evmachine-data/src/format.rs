//! Which format a file is in, by its first bytes and its extension.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use crate::dialect::looks_like_libsvm;
use crate::error::DataError;

/// A format of feature files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// Fields separated by commas, semicolons or spaces; the separator is found from the content.
    Csv,
    /// Fields separated by tabs.
    Tsv,
    /// One `NumPy` array.
    Npy,
    /// A ZIP archive of `NumPy` arrays.
    Npz,
    /// Apache Parquet.
    Parquet,
    /// Apache Arrow IPC, as a file (Feather version 2) or as a stream.
    Arrow,
    /// `label index:value index:value …`
    Libsvm,
}

impl Format {
    /// The names [`FromStr`] accepts, for messages.
    pub(crate) const NAMES: &'static str = "csv, tsv, npy, npz, parquet, arrow, libsvm";

    /// The format the first bytes of a file prove, if they prove one; text proves nothing.
    pub fn from_magic(prefix: &[u8]) -> Option<Self> {
        const MAGIC: [(&[u8], Format); 6] = [
            (b"\x93NUMPY", Format::Npy),
            (b"PK\x03\x04", Format::Npz),
            (b"PK\x05\x06", Format::Npz),
            (b"PAR1", Format::Parquet),
            (b"ARROW1", Format::Arrow),
            (b"\xff\xff\xff\xff", Format::Arrow),
        ];
        MAGIC.iter().find(|(magic, _)| prefix.starts_with(magic)).map(|&(_, format)| format)
    }

    /// The format an extension stands for; a `.gz` at the end is looked through. `.txt` and `.data` say
    /// nothing more than that the file is text, and are taken for CSV.
    pub fn from_extension(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        match extension.as_str() {
            "gz" => Self::from_extension(Path::new(path.file_stem()?)),
            "csv" | "txt" | "data" => Some(Self::Csv),
            "tsv" | "tab" => Some(Self::Tsv),
            "npy" => Some(Self::Npy),
            "npz" => Some(Self::Npz),
            "parquet" | "pq" => Some(Self::Parquet),
            "arrow" | "arrows" | "feather" | "ipc" => Some(Self::Arrow),
            "svm" | "libsvm" | "svmlight" => Some(Self::Libsvm),
            _ => None,
        }
    }

    /// Whether the format is made of lines.
    pub fn is_text(self) -> bool {
        matches!(self, Self::Csv | Self::Tsv | Self::Libsvm)
    }

    /// Decides from what is known of a file: the option, the first bytes, the extension, in this order.
    pub(crate) fn detect(
        file: &str,
        path: Option<&Path>,
        prefix: &[u8],
        wanted: Option<Self>,
    ) -> Result<Self, DataError> {
        let proven = Self::from_magic(prefix);
        let extension = path.and_then(Self::from_extension);
        let expected = match (wanted, proven) {
            (Some(wanted), _) => Some(wanted),
            (None, Some(proven)) => return Ok(proven),
            (None, None) => extension,
        };
        if prefix.starts_with(b"\xff\xfe") || prefix.starts_with(b"\xfe\xff") {
            return Err(DataError::Utf16 { file: file.to_owned() });
        }
        let is_text = proven.is_none() && !prefix.contains(&0);
        match expected {
            Some(format) if format.is_text() && !is_text => {
                Err(DataError::WrongMagic { file: file.to_owned(), expected: format, found: escape(prefix) })
            }
            Some(format) if !format.is_text() && proven != Some(format) => {
                Err(DataError::WrongMagic { file: file.to_owned(), expected: format, found: escape(prefix) })
            }
            Some(format) if wanted.is_some() || format == Self::Libsvm => Ok(format),
            None if !is_text => {
                Err(DataError::UnknownFormat { file: file.to_owned(), found: escape(prefix) })
            }
            Some(Self::Tsv) => Ok(Self::Tsv),
            Some(_) | None if looks_like_libsvm(prefix) => Ok(Self::Libsvm),
            Some(_) | None => Ok(Self::Csv),
        }
    }
}

/// The first bytes as a quoted string.
fn escape(prefix: &[u8]) -> String {
    format!("\"{}\"", prefix[..prefix.len().min(8)].escape_ascii())
}

impl fmt::Display for Format {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Csv => "CSV",
            Self::Tsv => "TSV",
            Self::Npy => "NPY",
            Self::Npz => "NPZ",
            Self::Parquet => "Parquet",
            Self::Arrow => "Arrow",
            Self::Libsvm => "LIBSVM",
        })
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.to_ascii_lowercase().as_str() {
            "csv" => Ok(Self::Csv),
            "tsv" => Ok(Self::Tsv),
            "npy" => Ok(Self::Npy),
            "npz" => Ok(Self::Npz),
            "parquet" => Ok(Self::Parquet),
            "arrow" | "feather" => Ok(Self::Arrow),
            "libsvm" | "svmlight" => Ok(Self::Libsvm),
            other => Err(format!("`{other}` is none of {}", Self::NAMES)),
        }
    }
}
