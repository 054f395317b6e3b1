//! A file that nobody else changes meanwhile.

use std::fs::{self, File, TryLockError};
use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

/// Between two looks at a file that somebody else holds.
const PAUSE: Duration = Duration::from_millis(80);

/// Holds a file from reading it to replacing it, so that two processes that both read, change and write it come one after the other.
/// It binds only those who ask for it. Dropping it lets the file go.
#[derive(Debug)]
pub struct Held(#[allow(dead_code, reason = "holds the lock while it is open")] File);

impl Held {
    /// Waits until nobody else holds the file. `waits` is called some ten times a second while it has to, and may break it off,
    /// which is an error of the kind [`Interrupted`](io::ErrorKind::Interrupted).
    ///
    /// ```
    /// # use std::ops::ControlFlow;
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("count");
    /// evmachine_files::write(&path, b"1")?;
    /// let held = evmachine_files::Held::wait(&path, || ControlFlow::Continue(()))?;
    /// evmachine_files::write(&path, b"2")?;
    /// drop(held);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn wait(path: &Path, mut waits: impl FnMut() -> ControlFlow<()>) -> io::Result<Self> {
        loop {
            let file = File::open(path)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    if waits().is_break() {
                        return Err(io::Error::new(io::ErrorKind::Interrupted, "waiting was broken off"));
                    }
                    // A lock that was waited for could not be broken off.
                    std::thread::sleep(PAUSE);
                    continue;
                }
                // Where files cannot be locked, there is nothing to wait for.
                Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {
                    return Ok(Self(file));
                }
                Err(TryLockError::Error(error)) => return Err(error),
            }
            // Whoever held it may have put another file in its place.
            if is_same(&file, path)? {
                return Ok(Self(file));
            }
        }
    }
}

#[cfg(unix)]
fn is_same(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let (held, named) = (file.metadata()?, fs::metadata(path)?);
    Ok((held.dev(), held.ino()) == (named.dev(), named.ino()))
}

#[cfg(not(unix))]
fn is_same(_: &File, path: &Path) -> io::Result<bool> {
    fs::metadata(path).map(|_| true)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_between_reading_and_writing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("count");
        crate::write(&path, b"0").unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..10 {
                        let _held = Held::wait(&path, || ControlFlow::Continue(())).unwrap();
                        let count: usize = fs::read_to_string(&path).unwrap().parse().unwrap();
                        crate::write(&path, (count + 1).to_string().as_bytes()).unwrap();
                    }
                });
            }
        });
        assert_eq!(fs::read_to_string(&path).unwrap(), "40");
    }

    #[test]
    fn waiting_can_be_broken_off() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("count");
        crate::write(&path, b"0").unwrap();
        let _held = Held::wait(&path, || ControlFlow::Continue(())).unwrap();
        let mut asked = 0;
        let other = Held::wait(&path, || {
            asked += 1;
            if asked < 3 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        assert_eq!(other.unwrap_err().kind(), io::ErrorKind::Interrupted);
        assert_eq!(asked, 3);
    }
}
