//! Which format a file is in, by its first bytes and its extension.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use crate::dialect::{looks_like_jsonl, looks_like_libsvm};
use crate::error::DataError;
use crate::foreign;
use crate::source::Source;

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
    /// One JSON object a line.
    Jsonl,
}

impl Format {
    /// The names [`FromStr`] accepts, for messages.
    pub(crate) const NAMES: &'static str = "csv, tsv, jsonl, npy, npz, parquet, arrow, libsvm";

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

    /// The format an extension stands for; a `.gz` or `.zst` at the end is looked through. `.txt` and `.data` say
    /// nothing more than that the file is text, and are taken for CSV.
    pub fn from_extension(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        match extension.as_str() {
            "gz" | "zst" | "zstd" => Self::from_extension(Path::new(path.file_stem()?)),
            "csv" | "txt" | "data" => Some(Self::Csv),
            "tsv" | "tab" => Some(Self::Tsv),
            "npy" => Some(Self::Npy),
            "npz" => Some(Self::Npz),
            "parquet" | "pq" => Some(Self::Parquet),
            "arrow" | "arrows" | "feather" | "ipc" => Some(Self::Arrow),
            "jsonl" | "ndjson" => Some(Self::Jsonl),
            "svm" | "libsvm" | "svmlight" => Some(Self::Libsvm),
            _ => None,
        }
    }

    /// Whether the format is made of lines.
    pub fn is_text(self) -> bool {
        matches!(self, Self::Csv | Self::Tsv | Self::Libsvm | Self::Jsonl)
    }

    /// Decides from what is known of a file: the option, the first bytes, the extension, in this order.
    pub(crate) fn detect(source: &Source, wanted: Option<Self>) -> Result<Self, DataError> {
        let (file, path, prefix) = (&source.file, source.path.as_deref(), source.prefix());
        let proven = Self::from_magic(prefix);
        let extension = path.and_then(Self::from_extension);
        let expected = match (wanted, proven) {
            (Some(wanted), _) => Some(wanted),
            (None, Some(proven)) => return Ok(proven),
            (None, None) => extension,
        };
        if prefix.starts_with(b"\xff\xfe") || prefix.starts_with(b"\xfe\xff") {
            return Err(DataError::Utf16 { file: file.clone() });
        }
        if proven.is_none() && wanted != Some(Self::Jsonl) {
            foreign::refuse(file, path, prefix)?;
        }
        let is_other = |format: Self| {
            if format.is_text() { proven.is_some() } else { proven != Some(format) }
        };
        let nul = prefix.iter().position(|&byte| byte == 0).filter(|_| proven.is_none());
        match (expected, nul) {
            (Some(format), Some(position)) if format.is_text() => {
                let line = prefix[..position].split(|&byte| byte == b'\n').count() as u64;
                Err(DataError::NulByte { file: file.clone(), line })
            }
            (Some(format), _) if is_other(format) => {
                Err(DataError::WrongMagic { file: file.clone(), expected: format, found: escape(prefix) })
            }
            (Some(format), _)
                if wanted.is_some() || matches!(format, Self::Libsvm | Self::Jsonl) || !format.is_text() =>
            {
                Ok(format)
            }
            (None, Some(_)) => Err(DataError::UnknownFormat { file: file.clone(), found: escape(prefix) }),
            _ if looks_like_jsonl(prefix) => Ok(Self::Jsonl),
            (Some(Self::Tsv), _) => Ok(Self::Tsv),
            _ if looks_like_libsvm(prefix) => Ok(Self::Libsvm),
            _ => Ok(Self::Csv),
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
            Self::Jsonl => "JSON lines",
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
            "jsonl" | "ndjson" => Ok(Self::Jsonl),
            other => Err(format!("`{other}` is none of {}", Self::NAMES)),
        }
    }
}
