//! What killed processes left behind.

use std::fs::{self, File};
use std::path::Path;
use std::time::Duration;

use crate::{PREFIX, SUFFIX};

/// Between being made and being locked, a temporary file looks abandoned; it is not for so long.
const AGE: Duration = Duration::from_secs(60);

/// Removes temporary files of this crate that no process holds. What cannot be looked at or removed stays.
pub(crate) fn remove(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let is_ours = name.to_str().is_some_and(|name| name.starts_with(PREFIX) && name.ends_with(SUFFIX));
        let is_old = || {
            let metadata = entry.metadata().ok().filter(fs::Metadata::is_file)?;
            metadata.modified().ok()?.elapsed().ok().filter(|age| *age >= AGE)
        };
        if is_ours && is_old().is_some() && is_free(&entry.path()) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn is_free(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| file.try_lock().is_ok())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn what_nobody_holds_is_removed_by_the_next_write() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, age: u64| {
            let path = folder.path().join(name);
            let file = File::create(&path).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(age)).unwrap();
            (path, file)
        };
        let (abandoned, _) = file(".evmachine-abc.partial", 120);
        let (held, holder) = file(".evmachine-def.partial", 120);
        holder.lock().unwrap();
        let (fresh, _) = file(".evmachine-ghi.partial", 1);
        let (others, _) = file(".evmachine-notes", 120);
        crate::write(&folder.path().join("model"), b"x").unwrap();
        let there = [&abandoned, &held, &fresh, &others].map(|path| path.exists());
        assert_eq!(there, [false, true, true, true]);
    }
}
