//! What the operating system says, sorted into the errors of this crate.

use std::io;
use std::path::Path;

use super::DataError;
use crate::memory::NoRoom;
use crate::records::OpenQuote;

impl DataError {
    /// Whether the reader of standard output went away, as `head` does; no failure of this program.
    pub fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Write { source, .. } if source.kind() == io::ErrorKind::BrokenPipe)
    }

    /// Sorts an error of opening a file for reading into its variant.
    pub(crate) fn opening(file: &str, source: io::Error) -> Self {
        let file = file.to_owned();
        match source.kind() {
            io::ErrorKind::NotFound => Self::NotFound { file },
            io::ErrorKind::PermissionDenied => Self::NoPermission { file },
            io::ErrorKind::IsADirectory => Self::IsDirectory { file },
            _ => Self::Read { file, source },
        }
    }

    /// Sorts an error of reading an open file: compressed data that stops early is a truncated file.
    pub(crate) fn reading(file: &str, source: io::Error) -> Self {
        let file = file.to_owned();
        if let Some(room) = source.get_ref().and_then(|inner| inner.downcast_ref::<NoRoom>()) {
            return Self::TooLarge { file, needed: room.needed, limit: room.limit };
        }
        if let Some(open) = source.get_ref().and_then(|inner| inner.downcast_ref::<OpenQuote>()) {
            return Self::OpenQuote { file, line: open.line };
        }
        match source.kind() {
            io::ErrorKind::UnexpectedEof => {
                Self::Truncated { file, detail: "the data stops in the middle".to_owned() }
            }
            io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => {
                Self::Damaged { file, detail: source.to_string() }
            }
            _ => Self::Read { file, source },
        }
    }

    /// An error of writing `file`.
    pub(crate) fn writing(file: &str, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::IsADirectory => Self::IsDirectory { file: file.to_owned() },
            _ => Self::Write { file: file.to_owned(), source },
        }
    }
}

/// The operating system's part of a CSV error, whose kind the library's own conversion loses.
pub(crate) fn csv_error(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::new(io::ErrorKind::InvalidData, format!("{other:?}")),
    }
}

/// The name by which a path appears in messages.
pub(crate) fn display_name(path: &Path) -> String {
    if is_standard_input(path) { "standard input".to_owned() } else { path.display().to_string() }
}

/// `-` stands for standard input.
pub(crate) fn is_standard_input(path: &Path) -> bool {
    path == Path::new("-")
}
