//! A scratch in a folder of its own.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use evmachine_files::{Spool, write};
use thiserror::Error;
use xxhash_rust::xxh3::xxh3_64;

use super::{Scratch, ScratchRoom, SharedValues};

/// What a run is of: rows, parameters, and whatever else its results depend on.
const JOB: &str = "job";
/// Held while a process uses the folder.
const LOCK: &str = "lock";
/// What results are called.
const RESULTS: [&str; 3] = ["meeting-", "fits-", "tails-"];
const SUFFIX: &str = ".evmachine";

/// A folder that holds results of one run, for one process at a time.
///
/// ```
/// use evmachine::scratch::{Scratch, ScratchFolder};
///
/// # let above = tempfile::tempdir()?;
/// # let path = above.path().join("scratch");
/// let scratch = ScratchFolder::open(&path)?;
/// assert!(!scratch.begin("letters, tail size 75", false)?, "nothing is there yet");
/// scratch.keep("fits-1-0", b"found")?;
/// drop(scratch);
///
/// let scratch = ScratchFolder::open(&path)?;
/// assert!(scratch.holds("letters, tail size 75")?);
/// assert!(scratch.begin("letters, tail size 75", true)?);
/// assert_eq!(scratch.load("fits-1-0")?, Some(b"found".to_vec()));
/// scratch.clear()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ScratchFolder {
    path: PathBuf,
    made: bool,
    _lock: File,
}

impl ScratchFolder {
    /// Opens the folder, which is made if it is not there and the one above is, for this process alone. Nothing is removed yet.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, FolderError> {
        let path = path.into();
        let failed = |error: io::Error| FolderError::Failed { path: path.clone(), reason: error.to_string() };
        let made = match fs::create_dir(&path) {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
            Err(error) => return Err(failed(error)),
        };
        if let Some(name) = names(&path).map_err(failed)?.into_iter().find(|name| !is_ours(name)) {
            return Err(FolderError::Foreign { path, name });
        }
        let lock =
            File::options().create(true).truncate(false).write(true).open(path.join(LOCK)).map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(FolderError::Busy { path }),
            // Where files cannot be locked, nobody is kept out.
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {}
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        Ok(Self { path, made, _lock: lock })
    }

    /// Whether there are results of that very run, which was interrupted.
    pub fn holds(&self, job: &str) -> Result<bool, FolderError> {
        let same = fs::read_to_string(self.path.join(JOB)).is_ok_and(|found| found == job);
        let found = names(&self.path).map_err(|error| self.failed(&error))?;
        Ok(same && found.iter().any(|name| is_result(name)))
    }

    /// Begins a run, or goes on with one: whether there is something to go on from. Results of another run are removed, or, where one
    /// is to be gone on with, refused.
    pub fn begin(&self, job: &str, resume: bool) -> Result<bool, FolderError> {
        let failed = |error: io::Error| self.failed(&error);
        let found = match fs::read_to_string(self.path.join(JOB)) {
            Ok(found) => Some(found),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(failed(error)),
        };
        match found {
            Some(found) if resume && found == job => return Ok(true),
            Some(_) if resume => return Err(FolderError::Another { path: self.path.clone() }),
            _ => {}
        }
        self.remove_results().map_err(failed)?;
        write(&self.path.join(JOB), job.as_bytes()).map_err(failed)?;
        Ok(false)
    }

    /// Removes all results, and the folder if it was made for them.
    pub fn clear(self) -> Result<(), FolderError> {
        let cleared = self.remove_results().and_then(|()| {
            remove(&self.path.join(LOCK))?;
            if self.made || names(&self.path)?.is_empty() { fs::remove_dir(&self.path) } else { Ok(()) }
        });
        cleared.map_err(|error| self.failed(&error))
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn failed(&self, error: &io::Error) -> FolderError {
        FolderError::Failed { path: self.path.clone(), reason: error.to_string() }
    }

    /// The job goes first: whoever is killed meanwhile leaves nothing that a run would go on from.
    fn remove_results(&self) -> io::Result<()> {
        remove(&self.path.join(JOB))?;
        let results = names(&self.path)?.into_iter().filter(|name| is_result(name));
        results.map(|name| self.path.join(name)).try_for_each(|path| remove(&path))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.path.join(format!("{name}{SUFFIX}"))
    }
}

impl Scratch for ScratchFolder {
    fn place(&self) -> String {
        self.path.display().to_string()
    }

    fn load(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        let mut bytes = match fs::read(self.file(name)) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let Some(at) = bytes.len().checked_sub(8) else { return Ok(None) };
        let whole = bytes[at..] == xxh3_64(&bytes[..at]).to_le_bytes();
        bytes.truncate(at);
        // What is damaged is found again.
        Ok(whole.then_some(bytes))
    }

    fn keep(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        write(&self.file(name), &[bytes, &xxh3_64(bytes).to_le_bytes()].concat())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        remove(&self.file(name))
    }

    fn room(&self) -> io::Result<Box<dyn ScratchRoom>> {
        Ok(Box::new(SpoolRoom(Spool::create(&self.path)?)))
    }
}

struct SpoolRoom(Spool);

impl ScratchRoom for SpoolRoom {
    fn write(&mut self, first: usize, values: &[f32]) -> io::Result<()> {
        self.0.write(first, values)
    }

    fn finish(self: Box<Self>) -> io::Result<SharedValues> {
        Ok(Arc::new(self.0.finish()?))
    }
}

fn names(path: &Path) -> io::Result<Vec<String>> {
    fs::read_dir(path)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
}

fn is_result(name: &str) -> bool {
    name.ends_with(SUFFIX) && RESULTS.iter().any(|result| name.starts_with(result))
}

/// Results, and what processes that were killed have left half-written.
fn is_ours(name: &str) -> bool {
    is_result(name) || name == JOB || name == LOCK || name.starts_with(".evmachine-")
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// A folder cannot serve as scratch.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FolderError {
    /// It holds something else.
    #[error("{path} holds {name:?}, which is no result of a run: name a folder that is empty or not there")]
    Foreign {
        /// The folder.
        path: PathBuf,
        /// A file in it.
        name: String,
    },
    /// Another process uses it.
    #[error("{path} is used by another process")]
    Busy {
        /// The folder.
        path: PathBuf,
    },
    /// Its results are those of other rows or parameters.
    #[error(
        "{path} holds what a run with other data, parameters or another processor has found: begin anew, or give what was given then"
    )]
    Another {
        /// The folder.
        path: PathBuf,
    },
    /// The system does not allow it.
    #[error("{path}: {reason}")]
    Failed {
        /// The folder.
        path: PathBuf,
        /// What it says.
        reason: String,
    },
}
