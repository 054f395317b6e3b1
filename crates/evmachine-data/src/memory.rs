//! How much memory there is.

use std::fs;

use crate::error::DataError;
use crate::options::ReadOptions;

/// The bytes that reading may take: those of the options, else what the system has left, else everything.
pub(crate) fn limit(options: &ReadOptions) -> u64 {
    options.memory.or_else(available).unwrap_or(u64::MAX)
}

/// An error of reading because of what would have to be allocated.
#[derive(Debug, thiserror::Error)]
#[error("it needs {needed} bytes of memory, and {limit} are left")]
pub(crate) struct NoRoom {
    pub(crate) needed: u64,
    pub(crate) limit: u64,
}

/// Refuses what a file would have a decoder allocate at once.
#[cfg_attr(
    not(feature = "parquet"),
    expect(dead_code, reason = "files of other formats are read row by row")
)]
pub(crate) fn check(file: &str, needed: u64, options: &ReadOptions) -> Result<(), DataError> {
    let limit = limit(options);
    if needed > limit { Err(DataError::TooLarge { file: file.to_owned(), needed, limit }) } else { Ok(()) }
}

/// The least of what the machine, the control group and the limits of the process leave, on Linux.
fn available() -> Option<u64> {
    let read = |path: &str| fs::read_to_string(path).ok();
    let machine = read("/proc/meminfo").and_then(|text| kilobytes(&text, "MemAvailable:"));
    let group = read("/sys/fs/cgroup/memory.max").and_then(|most| {
        let used = read("/sys/fs/cgroup/memory.current")?.trim().parse().ok()?;
        Some(most.trim().parse::<u64>().ok()?.saturating_sub(used))
    });
    let addresses = read("/proc/self/limits").and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("Max address space"))?;
        let most: u64 = line.split_whitespace().next()?.parse().ok()?;
        let used = read("/proc/self/status").and_then(|text| kilobytes(&text, "VmSize:"))?;
        Some(most.saturating_sub(used))
    });
    [machine, group, addresses].into_iter().flatten().min()
}

fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kilobytes| kilobytes << 10)
}

#[cfg(test)]
mod tests {
    use super::{available, kilobytes};

    #[test]
    fn amounts_are_in_kilobytes() {
        assert_eq!(kilobytes("MemTotal: 9 kB\nMemAvailable:   3 kB\n", "MemAvailable:"), Some(3 << 10));
        assert_eq!(kilobytes("", "VmSize:"), None);
        if cfg!(target_os = "linux") {
            assert!(available().is_some_and(|bytes| bytes > 1 << 20));
        }
    }
}
