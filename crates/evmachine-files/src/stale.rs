//! What killed processes left behind.

use std::fs::{self, File};
use std::path::Path;

use crate::{PREFIX, SUFFIX};

/// Removes temporary files of this crate that no process holds. What cannot be looked at or removed stays.
///
/// Each is locked before it is removed. Whoever made it waits for that lock and then looks whether the file is still there.
pub(crate) fn remove(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let is_ours = name.to_str().is_some_and(|name| name.starts_with(PREFIX) && name.ends_with(SUFFIX));
        if !is_ours || !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        let Ok(file) = File::open(entry.path()) else { continue };
        if file.try_lock().is_ok() {
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_holds_is_removed_by_the_next_write() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| {
            let path = folder.path().join(name);
            let file = File::create(&path).unwrap();
            (path, file)
        };
        let (abandoned, _) = file(".evmachine-abc.partial");
        let (held, holder) = file(".evmachine-def.partial");
        holder.lock().unwrap();
        let (others, _) = file(".evmachine-notes");
        crate::write(&folder.path().join("model"), b"x").unwrap();
        let there = [&abandoned, &held, &others].map(|path| path.exists());
        assert_eq!(there, [false, true, true]);
    }

    /// Many writers at once each remove what is left behind, and never what another one is about to lock.
    #[test]
    fn nobody_takes_a_file_away_from_its_writer() {
        let folder = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let path = folder.path().join(format!("{writer}"));
                scope.spawn(move || {
                    for round in 0..100 {
                        crate::write(&path, format!("{round}").as_bytes()).unwrap();
                    }
                });
            }
        });
        let mut names: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["0", "1", "2", "3"]);
    }
}
