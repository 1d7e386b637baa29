//! How much memory this process may use: the limit of its control group, which is its container's, or the machine's memory.

use std::path::Path;

/// The least of all limits that hold; `None` where the system does not tell (anything but Linux).
pub fn usable_memory_bytes() -> Option<u64> {
    let machine = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| total(&text));
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let limits = groups.lines().flat_map(|line| limits_of(line, Path::new("/sys/fs/cgroup")));
    machine.into_iter().chain(limits).min()
}

fn total(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

/// Limits of one line of `/proc/self/cgroup` (`0::/a/b`, or `4:memory:/a/b`), from its group up to the root.
fn limits_of(line: &str, mounted: &Path) -> Vec<u64> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { return Vec::new() };
    let (root, file) = match controllers {
        "" => (mounted.to_path_buf(), "memory.max"),
        "memory" => (mounted.join("memory"), "memory.limit_in_bytes"),
        _ => return Vec::new(),
    };
    let group = root.join(path.trim_start_matches('/'));
    let read = |folder: &Path| std::fs::read_to_string(folder.join(file)).ok()?.trim().parse::<u64>().ok();
    // Inside a container the path may be one of the host, which is not there: its own limit is then at the root.
    group.ancestors().take_while(|folder| folder.starts_with(&root)).filter_map(read).collect()
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
        assert_eq!(total("MemFree: 1 kB\nMemTotal:       24105 kB\n"), Some(24105 * 1024));
    }
}
