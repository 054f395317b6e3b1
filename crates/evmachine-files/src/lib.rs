//! Files that appear under their name only once they are complete: written under a temporary name in the same folder, brought
//! to the disk, and renamed. Whoever stops half-way leaves what was there before; what a killed process left behind, the next one that
//! writes there removes, however soon it comes. Whoever reads a file, changes it and writes it again holds it meanwhile ([`Held`]).

mod held;
mod spool;
mod stale;

use std::fs::{self, File, Metadata};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

pub use held::Held;
pub use spool::{Spool, Spooled};

const PREFIX: &str = ".evmachine-";
const SUFFIX: &str = ".partial";

/// A file in the making. Dropping it without [`Draft::finish`] leaves nothing behind.
#[derive(Debug)]
pub struct Draft(Place);

#[derive(Debug)]
enum Place {
    /// A pipe or a device, which cannot be replaced by renaming.
    Direct(File),
    /// A temporary file in the folder of the target; dropping it deletes it.
    Staged { temporary: NamedTempFile, target: PathBuf },
}

impl Draft {
    /// Begins a file that will be called `path`. The folder must be there; a folder of that name is an error. A link is followed, and
    /// what it names is replaced; pipes and devices are written to directly. A file that is replaced keeps its mode and, where the
    /// system allows it, its owner; a new one has what the umask allows.
    pub fn create(path: &Path) -> io::Result<Self> {
        let target = match fs::canonicalize(path) {
            Ok(target) => target,
            Err(error) if error.kind() == io::ErrorKind::NotFound => path.to_owned(),
            Err(error) => return Err(error),
        };
        let before = match fs::metadata(&target) {
            Ok(metadata) if metadata.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            Ok(metadata) if !metadata.is_file() => {
                return Ok(Self(Place::Direct(File::options().write(true).open(&target)?)));
            }
            Ok(metadata) => Some(metadata),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let folder = folder_of(&target);
        fs::metadata(folder)?;
        stale::remove(folder);
        let temporary = staged(folder, before.is_some())?;
        if let Some(before) = &before {
            take_over(temporary.as_file(), before)?;
        }
        Ok(Self(Place::Staged { temporary, target }))
    }

    /// Brings the file to the disk and gives it its name.
    pub fn finish(self) -> io::Result<()> {
        match self.0 {
            Place::Direct(mut file) => file.flush(),
            Place::Staged { temporary, target } => {
                temporary.as_file().sync_all()?;
                temporary.persist(target).map(drop).map_err(|error| error.error)
            }
        }
    }

    fn file(&mut self) -> &mut File {
        match &mut self.0 {
            Place::Direct(file) => file,
            Place::Staged { temporary, .. } => temporary.as_file_mut(),
        }
    }
}

impl Write for Draft {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file().flush()
    }
}

/// Writes a whole file.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut draft = Draft::create(path)?;
    draft.write_all(bytes)?;
    draft.finish()
}

/// As [`write()`], and makes the folder where it is not there.
pub fn write_with_folder(path: &Path, bytes: &[u8]) -> io::Result<()> {
    fs::create_dir_all(folder_of(path))?;
    write(path, bytes)
}

/// A temporary file in the folder, locked so that nobody takes it for one that was left behind.
fn staged(folder: &Path, private: bool) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX).suffix(SUFFIX);
    // Temporary files are private by default; a new file is not. The umask applies.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(if private { 0o600 } else { 0o666 }));
    #[cfg(not(unix))]
    let _ = private;
    loop {
        // The kind alone: the error itself names the temporary file.
        let temporary = builder.tempfile_in(folder).map_err(|error| io::Error::from(error.kind()))?;
        // Where files cannot be locked, none is removed.
        let _ = temporary.as_file().lock();
        // Before it was locked, another process may have taken it for abandoned.
        if temporary.path().try_exists().unwrap_or(true) {
            return Ok(temporary);
        }
    }
}

/// Gives a file the owner, if that may be, and the mode of the one that it will replace.
#[cfg(unix)]
fn take_over(file: &File, before: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, fchown};
    let own = file.metadata()?;
    if (own.uid(), own.gid()) != (before.uid(), before.gid()) {
        // Only root may give files away; for others the group alone may be theirs to choose.
        let _ = fchown(file, Some(before.uid()), Some(before.gid()))
            .or_else(|_| fchown(file, None, Some(before.gid())));
    }
    file.set_permissions(before.permissions())
}

#[cfg(not(unix))]
fn take_over(_: &File, _: &Metadata) -> io::Result<()> {
    Ok(())
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_replaced_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        write(&path, b"first").unwrap();
        let mut draft = Draft::create(&path).unwrap();
        draft.write_all(b"second").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"first", "not before it is finished");
        assert_eq!(names(folder.path()).len(), 2);
        drop(draft);
        assert_eq!(names(folder.path()), ["a.txt"]);
        let mut draft = Draft::create(&path).unwrap();
        draft.write_all(b"third").unwrap();
        draft.finish().unwrap();
        assert_eq!((fs::read(&path).unwrap(), names(folder.path()).len()), (b"third".to_vec(), 1));
    }

    #[test]
    fn folders_are_made_where_asked_for_and_refused_as_files() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("one/two/a.txt");
        assert_eq!(write(&deep, b"x").unwrap_err().kind(), io::ErrorKind::NotFound);
        write_with_folder(&deep, b"x").unwrap();
        assert_eq!(fs::read(&deep).unwrap(), b"x");
        let error = write(&folder.path().join("one"), b"x").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::IsADirectory);
    }

    #[test]
    #[cfg(unix)]
    fn links_stay_links_devices_stay_devices_and_others_may_read() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("a.txt"), folder.path().join("link"));
        write(&path, b"first").unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        write(&link, b"second").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&path).unwrap(), b"second");
        assert_ne!(fs::metadata(&path).unwrap().permissions().mode() & 0o400, 0);
        write(Path::new("/dev/null"), b"gone").unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }

    #[test]
    #[cfg(unix)]
    fn a_replaced_file_keeps_its_mode() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        write(&path, b"first").unwrap();
        for mode in [0o600, 0o640, 0o444] {
            fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
            write(&path, b"second").unwrap();
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, mode);
        }
    }

    #[test]
    #[cfg(unix)]
    fn a_pipe_is_written_through() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        let reader = std::thread::spawn({
            let path = path.clone();
            move || fs::read(path).unwrap()
        });
        write(&path, b"through").unwrap();
        assert_eq!(reader.join().unwrap(), b"through");
        assert!(!fs::metadata(&path).unwrap().is_file(), "still a pipe");
    }
}
