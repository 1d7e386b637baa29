//! What the operating system says that this process holds.

/// Resident bytes of the process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct ProcessMemory {
    /// Heap and stacks.
    pub anonymous_bytes: u64,
    /// Mapped files: the program itself, its libraries.
    pub file_bytes: u64,
}

impl ProcessMemory {
    /// `None` where the system does not tell (anything but Linux).
    pub fn now() -> Option<Self> {
        let status = std::fs::read_to_string("/proc/self/status").ok()?;
        let kib = |field: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(field))?;
            line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()
        };
        Some(Self {
            anonymous_bytes: kib("RssAnon:")? * 1024,
            file_bytes: (kib("RssFile:")? + kib("RssShmem:")?) * 1024,
        })
    }
}
