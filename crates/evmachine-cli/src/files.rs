//! Files, written whole or not at all.

use std::io::Write;
use std::path::Path;

use crate::failure::{Failure, Kind};

/// Writes to a temporary name beside `path` and renames it; makes the folder if it is not there.
pub(crate) fn write(path: &Path, content: impl AsRef<[u8]>) -> Result<(), Failure> {
    let write = || -> std::io::Result<()> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder)?;
        let mut builder = tempfile::Builder::new();
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644));
        let mut file = builder.tempfile_in(folder).map_err(|error| std::io::Error::from(error.kind()))?;
        file.write_all(content.as_ref())?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    };
    write().map_err(|error| Failure::new(Kind::Other, error.to_string()).about(path.display()))
}
