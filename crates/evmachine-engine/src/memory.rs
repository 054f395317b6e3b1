//! How much memory this process may use.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Where it cannot be told.
const UNKNOWN: usize = 1 << 30;
/// One call may take a quarter of it for tails, and another for covers.
const SHARE: u64 = 4;

/// Bytes of a run that says nothing else: a quarter of the memory that the machine has, or that the groups of processes around this one
/// are limited to (cgroups); 1 GiB where the system does not say.
pub(crate) fn default_bytes() -> usize {
    static BYTES: OnceLock<usize> = OnceLock::new();
    *BYTES.get_or_init(|| if cfg!(miri) { UNKNOWN } else { share(limit(Path::new("/"))) })
}

fn share(limit: Option<u64>) -> usize {
    limit.map_or(UNKNOWN, |bytes| usize::try_from(bytes / SHARE).unwrap_or(usize::MAX))
}

/// Bytes of memory that may be used, by what Linux writes below that root.
fn limit(root: &Path) -> Option<u64> {
    let read = |path: &Path| fs::read_to_string(root.join(path)).ok();
    let total = read(Path::new("proc/meminfo")).and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
        line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
    })?;
    let groups = read(Path::new("proc/self/cgroup")).unwrap_or_default();
    // No limit is the word `max`, or a number beyond all memory.
    let limits = groups.lines().flat_map(limits_of).filter_map(|path| read(&path)?.trim().parse().ok());
    Some(limits.fold(total, u64::min))
}

/// The files that may limit a group, and those of all groups around it. Lines are `number:controllers:path`; version 2 has number 0
/// and no controllers.
fn limits_of(line: &str) -> Vec<PathBuf> {
    let mut parts = line.splitn(3, ':');
    let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next()) else {
        return Vec::new();
    };
    let (mount, name) = match controllers {
        "" => ("sys/fs/cgroup", "memory.max"),
        _ if controllers.split(',').any(|controller| controller == "memory") => {
            ("sys/fs/cgroup/memory", "memory.limit_in_bytes")
        }
        _ => return Vec::new(),
    };
    // Within a container the path may be that of the machine, which is not there: its own group is the root then.
    let group = Path::new(path.trim_start_matches('/'));
    group.ancestors().map(|group| Path::new(mount).join(group).join(name)).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    /// What a machine of 8 GiB with those files says.
    fn told(files: &[(&str, &str)]) -> Option<u64> {
        let place = tempfile::tempdir().unwrap();
        for (name, text) in
            [("proc/meminfo", "MemTotal:        8388608 kB\nMemFree:          100 kB\n")].iter().chain(files)
        {
            let path = place.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        limit(place.path())
    }

    #[test]
    #[cfg_attr(miri, ignore = "reads files")]
    fn the_least_of_machine_and_groups() {
        assert_eq!(told(&[]), Some(8 * GIB));
        let group = ("proc/self/cgroup", "0::/user.slice/job\n");
        assert_eq!(told(&[group]), Some(8 * GIB));
        assert_eq!(told(&[group, ("sys/fs/cgroup/user.slice/job/memory.max", "max\n")]), Some(8 * GIB));
        let job = ("sys/fs/cgroup/user.slice/job/memory.max", "2147483648\n");
        assert_eq!(told(&[group, job]), Some(2 * GIB));
        let slice = ("sys/fs/cgroup/user.slice/memory.max", "1073741824\n");
        assert_eq!(told(&[group, job, slice]), Some(GIB), "of the group around it");
        let root = ("sys/fs/cgroup/memory.max", "536870912\n");
        assert_eq!(told(&[("proc/self/cgroup", "0::/\n"), root]), Some(GIB / 2), "of a container");
        assert_eq!(told(&[group, root]), Some(GIB / 2), "of a container that has the path of the machine");
    }

    #[test]
    #[cfg_attr(miri, ignore = "reads files")]
    fn groups_of_version_1() {
        let groups = ("proc/self/cgroup", "5:cpu,cpuacct:/job\n4:memory:/job\n");
        let own = ("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "3221225472\n");
        assert_eq!(told(&[groups, own]), Some(3 * GIB));
        let all = ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
        assert_eq!(told(&[groups, all]), Some(8 * GIB), "no limit");
    }

    #[test]
    #[cfg_attr(miri, ignore = "reads files")]
    fn a_quarter_or_what_it_is_elsewhere() {
        let nothing = tempfile::tempdir().unwrap();
        assert_eq!(limit(nothing.path()), None);
        assert_eq!((share(None), share(Some(8 * GIB))), (1 << 30, 2 << 30));
    }
}
