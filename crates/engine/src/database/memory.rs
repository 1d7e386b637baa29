//! The memory of this process as the operating system reports it.

use nuthatch_heap::HeapUsage;

/// Mappings that are no larger than this and allow nothing guard the end of a thread's stack.
const GUARD_BYTES_MAX: u64 = 64 << 10;

/// Resident bytes of the process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct ProcessMemory {
    /// Heap and stacks.
    pub anonymous_bytes: u64,
    /// Mapped files: the program itself, its libraries, and index files when the database was opened `mapped`.
    pub file_bytes: u64,
}

impl ProcessMemory {
    /// Adds up the pages that are there, a millisecond for each gigabyte or so: `/proc/self/status` is quicker, and off by megabytes on
    /// machines with many processors, where each counts by itself. `None` where the system does not tell (anything but Linux).
    pub fn now() -> Option<Self> {
        let read = |file: &str| std::fs::read_to_string(file).ok();
        // Some sandboxes have the second alone.
        read("/proc/self/smaps_rollup").or_else(|| read("/proc/self/smaps")).map(|smaps| Self::of(&smaps))
    }

    fn of(smaps: &str) -> Self {
        let sum = |field: &str| smaps.lines().filter_map(|line| kib(line.strip_prefix(field)?)).sum::<u64>() * 1024;
        let anonymous_bytes = sum("Anonymous:");
        Self { anonymous_bytes, file_bytes: sum("Rss:").saturating_sub(anonymous_bytes) }
    }
}

/// The number of `  17 kB`.
fn kib(value: &str) -> Option<u64> {
    value.trim().strip_suffix("kB")?.trim().parse().ok()
}

/// Where the resident bytes of the process are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mappings {
    /// Anonymous memory that is no stack and no variable of the program: what the allocator has of the system.
    pub heap_bytes: u64,
    pub stack_bytes: u64,
    /// The program, its libraries and their variables, and mapped index files.
    pub program_bytes: u64,
}

impl Mappings {
    fn of(smaps: &str) -> Self {
        let mut all = Self::default();
        let (mut guarded, mut is_stack, mut is_named) = (false, false, false);
        for line in smaps.lines() {
            let mut words = line.split_ascii_whitespace();
            let Some(first) = words.next() else { continue };
            if let Some((from, to)) = first.split_once('-') {
                let address = |text| u64::from_str_radix(text, 16).unwrap_or(0);
                let bytes = address(to).saturating_sub(address(from));
                let rights = words.next().unwrap_or_default();
                let name = words.nth(3).unwrap_or_default();
                is_stack = name == "[stack]" || name.is_empty() && guarded && rights.starts_with("rw");
                is_named = !name.is_empty() && name != "[heap]";
                guarded = name.is_empty() && rights.starts_with("---") && bytes <= GUARD_BYTES_MAX;
            } else if let Some(resident) = line.strip_prefix("Rss:") {
                let bytes = kib(resident).unwrap_or(0) * 1024;
                match (is_stack, is_named) {
                    (true, _) => all.stack_bytes += bytes,
                    (false, true) => all.program_bytes += bytes,
                    (false, false) => all.heap_bytes += bytes,
                }
            }
        }
        all
    }
}

/// Returns the resident memory, from one reading of `/proc/self/smaps`, which takes some milliseconds. `None` where
/// that file does not exist.
pub(crate) fn mapped() -> Option<(ProcessMemory, Mappings)> {
    let smaps = std::fs::read_to_string("/proc/self/smaps").ok()?;
    Some((ProcessMemory::of(&smaps), Mappings::of(&smaps)))
}

/// The whole process by part, measured in three ways: the system's, the allocator's and the engine's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Accounted {
    /// In use, and in none of the engine's parts: buffers of calls under way, everything of the program that is not the engine.
    pub heap_other_bytes: u64,
    /// Freed, kept by the allocator, and resident.
    pub heap_free_bytes: u64,
    /// Memory that other allocators in the process hold: Python has its own.
    pub foreign_bytes: u64,
    pub stack_bytes: u64,
    pub program_bytes: u64,
}

impl Accounted {
    /// `parts`: bytes of heap that the engine's parts say they hold.
    pub fn new(parts: u64, heap: HeapUsage, mappings: Mappings) -> Self {
        // Memory that was handed out and never written to is not resident, nor is memory that was freed and returned to
        // the system.
        let in_use = heap.in_use_bytes.min(mappings.heap_bytes);
        let kept = mappings.heap_bytes - in_use;
        let heap_free_bytes = kept.min(heap.free_bytes);
        Self {
            heap_other_bytes: in_use.saturating_sub(parts),
            heap_free_bytes,
            foreign_bytes: kept - heap_free_bytes,
            stack_bytes: mappings.stack_bytes,
            program_bytes: mappings.program_bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_are_told_apart() {
        let smaps = "00400000-00500000 r-xp 00000000 08:01 17 /usr/bin/program\nRss: 900 kB\n\
                     01000000-01200000 rw-p 00000000 00:00 0 [heap]\nRss: 2000 kB\n\
                     7f0000000000-7f0000001000 ---p 00000000 00:00 0 \nRss: 0 kB\n\
                     7f0000001000-7f0000801000 rw-p 00000000 00:00 0 \nRss: 40 kB\n\
                     7f0000801000-7f0001801000 rw-p 00000000 00:00 0 \nRss: 300 kB\n\
                     7ffd00000000-7ffd00021000 rw-p 00000000 00:00 0 [stack]\nRss: 60 kB\n";
        let expected = Mappings { heap_bytes: 2300 << 10, stack_bytes: 100 << 10, program_bytes: 900 << 10 };
        assert_eq!(Mappings::of(smaps), expected);
    }

    #[test]
    fn pages_of_files_that_the_process_changed_are_anonymous() {
        let smaps = "00400000-00500000 rw-p 00000000 08:01 17 /usr/bin/program\nSize: 1024 kB\nRss: 900 kB\nAnonymous: 100 kB\n\
                     01000000-01200000 rw-p 00000000 00:00 0 [heap]\nSize: 2048 kB\nRss: 2000 kB\nAnonymous: 2000 kB\n";
        let expected = ProcessMemory { anonymous_bytes: 2100 << 10, file_bytes: 800 << 10 };
        assert_eq!(ProcessMemory::of(smaps), expected);
    }

    #[test]
    fn what_was_never_written_to_is_in_no_part() {
        let heap = HeapUsage { in_use_bytes: 100, free_bytes: 50 };
        let told = Accounted::new(60, heap, Mappings { heap_bytes: 90, stack_bytes: 7, program_bytes: 9 });
        assert_eq!((told.heap_other_bytes, told.heap_free_bytes, told.foreign_bytes), (30, 0, 0));
    }

    #[test]
    fn what_was_given_back_to_the_system_is_not_counted_as_kept() {
        let heap = HeapUsage { in_use_bytes: 100, free_bytes: 50 };
        let mappings = Mappings { heap_bytes: 120, stack_bytes: 7, program_bytes: 9 };
        let told = Accounted::new(60, heap, mappings);
        let expected =
            Accounted { heap_other_bytes: 40, heap_free_bytes: 20, foreign_bytes: 0, stack_bytes: 7, program_bytes: 9 };
        assert_eq!(told, expected);
        let told = Accounted::new(60, heap, Mappings { heap_bytes: 180, ..mappings });
        assert_eq!((told.heap_free_bytes, told.foreign_bytes), (50, 30), "more than the allocator ever had");
    }
}
