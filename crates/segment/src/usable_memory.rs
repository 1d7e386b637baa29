//! How much memory this process may use: the limit of its control group, which is its container's, or the machine's memory.

use std::path::{Path, PathBuf};

/// The least of all limits that hold; `None` where the system does not tell (anything but Linux).
pub fn usable_memory_bytes() -> Option<u64> {
    let machine = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| figure(&text, "MemTotal:"));
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let limits = groups.lines().flat_map(|line| limits_of(line, Path::new("/sys/fs/cgroup")));
    machine.into_iter().chain(limits).min()
}

/// The least that the machine could still give without taking it from anybody, and that each limit leaves; `None` where the system
/// does not tell. What a container's page cache holds counts as taken, although it can be given back: too little rather than too much.
pub(crate) fn free_memory_bytes() -> Option<u64> {
    let machine = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| figure(&text, "MemAvailable:"))?;
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let left = groups.lines().flat_map(|line| left_of(line, Path::new("/sys/fs/cgroup")));
    left.chain([machine]).min()
}

fn figure(meminfo: &str, name: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

/// Limits of one line of `/proc/self/cgroup` (`0::/a/b`, or `4:memory:/a/b`), from its group up to the root.
fn limits_of(line: &str, mounted: &Path) -> Vec<u64> {
    groups_of(line, mounted).into_iter().filter_map(|group| group.limit()).collect()
}

/// What is left of each of these limits.
fn left_of(line: &str, mounted: &Path) -> Vec<u64> {
    let left = |group: Group| Some(group.limit()?.saturating_sub(group.read(group.usage)?));
    groups_of(line, mounted).into_iter().filter_map(left).collect()
}

/// A control group, and the names of what it says of memory.
struct Group {
    folder: PathBuf,
    limit: &'static str,
    usage: &'static str,
}

impl Group {
    fn limit(&self) -> Option<u64> {
        self.read(self.limit)
    }

    fn read(&self, file: &str) -> Option<u64> {
        std::fs::read_to_string(self.folder.join(file)).ok()?.trim().parse().ok()
    }
}

fn groups_of(line: &str, mounted: &Path) -> Vec<Group> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { return Vec::new() };
    let (root, limit, usage) = match controllers {
        "" => (mounted.to_path_buf(), "memory.max", "memory.current"),
        "memory" => (mounted.join("memory"), "memory.limit_in_bytes", "memory.usage_in_bytes"),
        _ => return Vec::new(),
    };
    let group = root.join(path.trim_start_matches('/'));
    // Inside a container the path may be one of the host, which is not there: its own limit is then at the root.
    let folders = group.ancestors().take_while(|folder| folder.starts_with(&root));
    folders.map(|folder| Group { folder: folder.to_path_buf(), limit, usage }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limits_of_a_group_and_of_those_above_it_are_read() {
        let mounted = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = mounted.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("a/b/memory.max", "max\n");
        write("a/memory.max", "1000\n");
        write("memory/a/memory.limit_in_bytes", "2000\n");
        assert_eq!(limits_of("0::/a/b", mounted.path()), [1000]);
        assert_eq!(limits_of("4:memory:/a", mounted.path()), [2000]);
        assert!(limits_of("4:cpu:/a", mounted.path()).is_empty());
        assert!(limits_of("0::/not/here", mounted.path()).is_empty());
        assert_eq!(figure("MemFree: 1 kB\nMemTotal:       24105 kB\n", "MemTotal:"), Some(24105 * 1024));
        assert!(left_of("0::/a/b", mounted.path()).is_empty(), "nobody says how much is taken");
        write("a/memory.current", "400\n");
        assert_eq!(left_of("0::/a/b", mounted.path()), [600]);
        write("a/memory.current", "1001\n");
        assert_eq!(left_of("0::/a/b", mounted.path()), [0]);
    }
}
