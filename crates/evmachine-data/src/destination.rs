//! Where predictions go.

use std::io::{self, Stdout, Write};

use evmachine_files::Draft;

use crate::error::DataError;
use crate::output::Target;

/// Where bytes are written until [`Destination::finish`].
pub(crate) enum Destination {
    /// Standard output.
    Stdout(Stdout),
    /// A file, which appears under its name only once it is complete.
    File(Draft),
}

impl Destination {
    pub(crate) fn create(target: &Target) -> Result<Self, DataError> {
        let Target::Path(path) = target else { return Ok(Self::Stdout(io::stdout())) };
        let draft = Draft::create(path).map_err(|error| DataError::writing(&target.name(), error))?;
        Ok(Self::File(draft))
    }

    /// Makes the file complete and gives it its name.
    pub(crate) fn finish(self) -> io::Result<()> {
        match self {
            Self::Stdout(mut stdout) => stdout.flush(),
            Self::File(draft) => draft.finish(),
        }
    }
}

impl Write for Destination {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout(stdout) => stdout.write(bytes),
            Self::File(draft) => draft.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(stdout) => stdout.flush(),
            Self::File(draft) => draft.flush(),
        }
    }
}
