//! How much memory this process may use: the limit of its control group, which is its container's, or the machine's memory.

use std::path::{Path, PathBuf};

/// The least of all limits that hold; `None` where the system does not tell (anything but Linux).
pub fn usable_memory_bytes() -> Option<u64> {
    let machine = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| figure(&text, "MemTotal:"));
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let limits = groups.lines().flat_map(|line| limits_of(line, Path::new("/sys/fs/cgroup")));
    machine.into_iter().chain(limits).min()
}

/// Returns the smallest of the memory that the machine can still give without taking it from anybody, and the rest of
/// each limit; `None` where the system does not report it. A container's page cache counts as used, although it can be
/// given back: the estimate errs on the low side.
pub(crate) fn free_memory_bytes() -> Option<u64> {
    let machine = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| figure(&text, "MemAvailable:"))?;
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let left = groups.lines().flat_map(|line| left_of(line, Path::new("/sys/fs/cgroup")));
    left.chain([machine]).min()
}

/// The same, except that a page cache that can be given back counts as free, a container's own too.
pub(crate) fn available_memory_bytes() -> Option<u64> {
    let machine = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| figure(&text, "MemAvailable:"))?;
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let available = groups.lines().flat_map(|line| available_of(line, Path::new("/sys/fs/cgroup")));
    available.chain([machine]).min()
}

fn figure(meminfo: &str, name: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

/// Limits of one line of `/proc/self/cgroup` (`0::/a/b`, or `4:memory:/a/b`), from its group up to the root.
fn limits_of(line: &str, mounted: &Path) -> Vec<u64> {
    groups_of(line, mounted).into_iter().filter_map(|group| group.limit()).collect()
}

/// Returns the rest of each of these limits.
fn left_of(line: &str, mounted: &Path) -> Vec<u64> {
    let left = |group: Group| Some(group.limit()?.saturating_sub(group.read(group.usage)?));
    groups_of(line, mounted).into_iter().filter_map(left).collect()
}

/// Returns the rest of each of these limits, plus the page cache that counts against it.
fn available_of(line: &str, mounted: &Path) -> Vec<u64> {
    let available = |group: Group| {
        let taken = group.read(group.usage)?.saturating_sub(group.page_cache_bytes());
        Some(group.limit()?.saturating_sub(taken))
    };
    groups_of(line, mounted).into_iter().filter_map(available).collect()
}

/// A control group, and the names of what it says of memory.
struct Group {
    folder: PathBuf,
    limit: &'static str,
    usage: &'static str,
    page_cache: [&'static str; 2],
}

impl Group {
    fn limit(&self) -> Option<u64> {
        self.read(self.limit)
    }

    /// Bytes of files in its page cache; what lies on a `tmpfs` is not among them, because it cannot be given back.
    fn page_cache_bytes(&self) -> u64 {
        let figures = std::fs::read_to_string(self.folder.join("memory.stat")).unwrap_or_default();
        let figure = |line: &str| {
            let (name, bytes) = line.split_once(' ')?;
            self.page_cache.contains(&name).then(|| bytes.trim().parse::<u64>().ok())?
        };
        figures.lines().filter_map(figure).sum()
    }

    fn read(&self, file: &str) -> Option<u64> {
        std::fs::read_to_string(self.folder.join(file)).ok()?.trim().parse().ok()
    }
}

fn groups_of(line: &str, mounted: &Path) -> Vec<Group> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { return Vec::new() };
    let (root, limit, usage, page_cache) = match controllers {
        "" => (mounted.to_path_buf(), "memory.max", "memory.current", ["active_file", "inactive_file"]),
        "memory" => {
            let page_cache = ["total_active_file", "total_inactive_file"];
            (mounted.join("memory"), "memory.limit_in_bytes", "memory.usage_in_bytes", page_cache)
        }
        _ => return Vec::new(),
    };
    let group = root.join(path.trim_start_matches('/'));
    // Inside a container the path may be one of the host, which is not there: its own limit is then at the root.
    let folders = group.ancestors().take_while(|folder| folder.starts_with(&root));
    folders.map(|folder| Group { folder: folder.to_path_buf(), limit, usage, page_cache }).collect()
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
        assert_eq!(available_of("0::/a/b", mounted.path()), [600], "no page cache is known of");
        write("a/memory.stat", "anon 90\nactive_file 100\ninactive_file 50\nfile 310\n");
        assert_eq!(available_of("0::/a/b", mounted.path()), [750]);
        write("memory/a/memory.usage_in_bytes", "1500\n");
        write("memory/a/memory.stat", "active_file 1\ntotal_active_file 200\ntotal_inactive_file 100\n");
        assert_eq!(available_of("4:memory:/a", mounted.path()), [800]);
        write("a/memory.current", "1001\n");
        assert_eq!(left_of("0::/a/b", mounted.path()), [0]);
        assert_eq!(available_of("0::/a/b", mounted.path()), [149]);
    }
}
