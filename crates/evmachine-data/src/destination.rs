//! Files that appear under their name only once they are complete.

use std::fs::{self, File};
use std::io::{self, Stdout, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::error::DataError;
use crate::output::Target;

/// Where bytes are written until [`Destination::finish`].
pub(crate) enum Destination {
    /// Standard output.
    Stdout(Stdout),
    /// A pipe or a device, which cannot be replaced by renaming.
    Direct(File),
    /// A temporary file in the folder of the target; dropping it deletes it.
    Staged { temporary: NamedTempFile, target: PathBuf },
}

impl Destination {
    pub(crate) fn create(target: &Target) -> Result<Self, DataError> {
        let Target::Path(path) = target else { return Ok(Self::Stdout(io::stdout())) };
        let file = target.name();
        let failed = |error| DataError::writing(&file, error);
        // A link keeps pointing where it does: what it points to is replaced.
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.clone());
        match fs::metadata(&target) {
            Ok(metadata) if metadata.is_dir() => return Err(DataError::IsDirectory { file }),
            Ok(metadata) if !metadata.is_file() => {
                let opened = File::options().write(true).open(&target).map_err(failed)?;
                return Ok(Self::Direct(opened));
            }
            _ => {}
        }
        let folder =
            target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut builder = tempfile::Builder::new();
        builder.prefix(".evmachine-").suffix(".partial");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            builder.permissions(fs::Permissions::from_mode(0o666));
        }
        let temporary = builder.tempfile_in(folder).map_err(failed)?;
        Ok(Self::Staged { temporary, target })
    }

    /// Makes the file complete and gives it its name.
    pub(crate) fn finish(self) -> io::Result<()> {
        match self {
            Self::Stdout(mut stdout) => stdout.flush(),
            Self::Direct(mut file) => file.flush(),
            Self::Staged { temporary, target } => {
                temporary.as_file().sync_all()?;
                temporary.persist(target).map(|_| ()).map_err(|error| error.error)
            }
        }
    }
}

impl Write for Destination {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout(stdout) => stdout.write(bytes),
            Self::Direct(file) => file.write(bytes),
            Self::Staged { temporary, .. } => temporary.as_file_mut().write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(stdout) => stdout.flush(),
            Self::Direct(file) => file.flush(),
            Self::Staged { temporary, .. } => temporary.as_file_mut().flush(),
        }
    }
}
