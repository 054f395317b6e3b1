//! Values that are written to a file without a name and read where they lie in it: room for more than fits the memory.
//!
//! The file is gone with the process, however that ends. What was read of it does not stay in the memory of the process: a thread
//! hands such pages back to the system many times a second, and reading them again costs little while the system still has them.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use memmap2::Mmap;

/// Between two times that pages are handed back.
const PAUSE: Duration = Duration::from_millis(20);

/// Values on their way into a file.
#[derive(Debug)]
pub struct Spool {
    file: File,
    values: usize,
}

impl Spool {
    /// An empty one in that folder.
    pub fn create(folder: &Path) -> io::Result<Self> {
        let file = tempfile::tempfile_in(folder).map_err(|error| io::Error::from(error.kind()))?;
        Ok(Self { file, values: 0 })
    }

    /// Writes values that begin at a place, counted in values. A full disk is an error here, and not when they are read.
    pub fn write(&mut self, first: usize, values: &[f32]) -> io::Result<()> {
        write_at(&mut self.file, bytemuck::cast_slice(values), 4 * first as u64)?;
        self.values = self.values.max(first + values.len());
        Ok(())
    }

    /// All values, to be read. Those that were never written are 0, but must be followed by one that was.
    pub fn finish(self) -> io::Result<Spooled> {
        if self.values == 0 {
            return Ok(Spooled(None));
        }
        // SAFETY: the file has no name, so that no other process can change or cut it, and nobody here writes to it any more.
        let map = Arc::new(unsafe { Mmap::map(&self.file) }?);
        KEPT.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(&map));
        start();
        Ok(Spooled(Some(map)))
    }
}

#[cfg(unix)]
fn write_at(file: &mut File, bytes: &[u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, offset)
}

#[cfg(not(unix))]
fn write_at(file: &mut File, bytes: &[u8], offset: u64) -> io::Result<()> {
    use std::io::{Seek, SeekFrom, Write};
    file.seek(SeekFrom::Start(offset))?;
    file.write_all(bytes)
}

/// Values in a file, as a slice.
#[derive(Debug, Clone)]
pub struct Spooled(Option<Arc<Mmap>>);

impl Deref for Spooled {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        // A map begins at a page, so that its values are aligned.
        self.0.as_deref().map_or(&[], |map| bytemuck::cast_slice(map))
    }
}

/// What is mapped.
static KEPT: Mutex<Vec<Weak<Mmap>>> = Mutex::new(Vec::new());

/// Starts the thread that hands pages back, unless it runs. It ends when nothing is mapped any more.
fn start() {
    static RUNS: Mutex<bool> = Mutex::new(false);
    let runs = || RUNS.lock().unwrap_or_else(PoisonError::into_inner);
    let mut started = runs();
    if *started {
        return;
    }
    let work = move || loop {
        std::thread::sleep(PAUSE);
        let mut running = runs();
        let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|map| map.upgrade().is_some_and(|map| hand_back(&map)));
        if kept.is_empty() {
            *running = false;
            return;
        }
    };
    *started = std::thread::Builder::new().name("spool".to_owned()).spawn(work).is_ok();
}

/// Lets the pages of a map go from the memory of this process; whether that can be done.
#[cfg(unix)]
fn hand_back(map: &Mmap) -> bool {
    // SAFETY: the map is shared and of a file that nobody changes; whoever reads a page again gets the same bytes from the file.
    unsafe { map.unchecked_advise(memmap2::UncheckedAdvice::DontNeed) }.is_ok()
}

#[cfg(not(unix))]
fn hand_back(_: &Mmap) -> bool {
    false
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]
mod tests {
    use super::*;

    #[test]
    fn values_come_back_from_wherever_they_were_written() {
        let folder = tempfile::tempdir().unwrap();
        let mut spool = Spool::create(folder.path()).unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "it has no name");
        let values: Vec<f32> = (0..u16::MAX).cycle().take(100_000).map(f32::from).chain([0.5]).collect();
        let (first, second) = values.split_at(70_001);
        spool.write(70_001, second).unwrap();
        spool.write(0, first).unwrap();
        let spooled = spool.finish().unwrap();
        let other = spooled.clone();
        drop(spooled);
        for _ in 0..5 {
            assert_eq!(&other[..], values);
            std::thread::sleep(PAUSE);
        }
        assert_eq!(&Spool::create(folder.path()).unwrap().finish().unwrap()[..], [0.0; 0]);
        assert!(Spool::create(&folder.path().join("nowhere")).is_err());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn what_was_read_does_not_stay_in_memory() {
        let resident = || -> usize {
            let status = std::fs::read_to_string("/proc/self/status").unwrap();
            let line = status.lines().find_map(|line| line.strip_prefix("RssFile:")).unwrap();
            line.trim().trim_end_matches(" kB").parse().unwrap()
        };
        let folder = tempfile::tempdir().unwrap();
        let mut spool = Spool::create(folder.path()).unwrap();
        // 64 MiB
        let part = vec![1.0; 1 << 20];
        (0..16).for_each(|number| spool.write(number << 20, &part).unwrap());
        let spooled = spool.finish().unwrap();
        let sum: f64 = spooled.iter().map(|&value| f64::from(value)).sum();
        assert_eq!(sum, f64::from(16 << 20));
        let enough = (0..500).any(|_| {
            std::thread::sleep(PAUSE);
            resident() < 40 << 10
        });
        assert!(enough, "{} kB stay", resident());
    }
}
