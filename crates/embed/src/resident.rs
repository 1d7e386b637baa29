//! The memory that loading a model adds to the process.

/// Resident memory when loading began.
pub struct Before(Option<u64>);

impl Before {
    pub fn now() -> Self {
        Self(process_resident_bytes())
    }

    /// The growth since then, at least `files_bytes`: memory freed in between hides growth, and the files' contents are
    /// resident in any case.
    pub fn growth(self, files_bytes: u64) -> u64 {
        let growth = self.0.zip(process_resident_bytes()).map_or(0, |(before, after)| after.saturating_sub(before));
        growth.max(files_bytes)
    }
}

/// Resident memory of this process, where the system tells it in a file.
fn process_resident_bytes() -> Option<u64> {
    // Pages that are counted now: the counters of `/proc/self/status` are off by megabytes on machines with many processors.
    let smaps = std::fs::read_to_string("/proc/self/smaps_rollup").ok()?;
    let line = smaps.lines().find_map(|line| line.strip_prefix("Rss:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib * 1024)
}
