//! Giving freed memory back to the operating system, and saying how much memory and processor time is in use.
//!
//! **Useful for** keeping the resident size near what is in use: glibc keeps freed memory in its arenas, so that after a text
//! commit or a merge tens of megabytes stay resident that nobody holds. **Not for** freeing anything: what is in use stays.
//!
//! **Invariant:** calling it changes nothing that a program can see but its resident size.
//!
//! The benefit, measured: after loading 50,000 passages and 200,000 vectors, the process without this kept 93 MiB
//! beyond what its parts held; `docs/benchmarks/scale.md` has the figures with it.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::disallowed_methods, missing_docs))]

use std::time::Duration;

/// Asks the allocator to return what is free. A few milliseconds; does nothing where the allocator is not glibc's.
pub fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: malloc_trim takes no pointers and locks the arenas itself; glibc documents it as safe in any thread.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// An arena with this much free memory at its end gives it back. Requesting a mebibyte again costs some 0.1 ms.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const TRIM_THRESHOLD_BYTES: i32 = 1 << 20;
/// Larger allocations have pages of their own, which are released when freed. glibc would raise this to 32 MiB by
/// itself; with its initial value, 128 KiB, each array of a Python program would pay for its pages.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const MMAP_THRESHOLD_BYTES: i32 = 4 << 20;
/// Threads that allocate at the same moment without waiting for each other.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const ARENAS_MAX: i32 = 4;
/// Setting any of these variables leaves the decision to the user.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const DECIDED_BY: [&str; 4] =
    ["GLIBC_TUNABLES", "MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_ARENA_MAX"];

/// Makes the allocator keep little of what is freed: each thread has memory of its own, at whose end it would keep up to 64 MiB, and
/// [`give_back`] does not reach there. For the whole process, from the first call on; nothing where the environment has decided.
pub fn keep_little() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        static ONCE: std::sync::Once = std::sync::Once::new();
        ONCE.call_once(|| {
            set(libc::M_TRIM_THRESHOLD, TRIM_THRESHOLD_BYTES);
            set(libc::M_MMAP_THRESHOLD, MMAP_THRESHOLD_BYTES);
        });
    }
}

/// Makes all threads share a few arenas, for a program of ours. Call it before the program starts any thread. Memory
/// freed in one arena is not available to the others.
pub fn share_arenas() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    set(libc::M_ARENA_MAX, ARENAS_MAX);
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn set(what: libc::c_int, value: libc::c_int) {
    if DECIDED_BY.iter().all(|name| std::env::var_os(name).is_none()) {
        // SAFETY: mallopt takes two numbers and locks the allocator itself; glibc documents it as safe in any thread but for a race
        // with itself, and each value is set once.
        unsafe {
            libc::mallopt(what, value);
        }
    }
}

/// The memory of the allocator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeapUsage {
    /// Handed out and not freed.
    pub in_use_bytes: u64,
    /// Freed and kept; what of it was given back to the system counts here all the same.
    pub free_bytes: u64,
}

/// Returns the allocator's memory; `None` if it is not glibc's. Walks the free lists, which takes about a millisecond.
pub fn usage() -> Option<HeapUsage> {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        // SAFETY: mallinfo2 takes nothing, returns a plain struct, and locks the arenas itself; glibc documents it as safe in any
        // thread (its figures may be of slightly different moments).
        let info = unsafe { libc::mallinfo2() };
        Some(HeapUsage { in_use_bytes: (info.uordblks + info.hblkhd) as u64, free_bytes: info.fordblks as u64 })
    }
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    None
}

/// The operating system's figures for this process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessUsage {
    /// Memory of the process that lies in RAM now.
    pub resident_bytes: u64,
    /// The most that it has been.
    pub resident_bytes_max: u64,
    /// Processor time of all threads in the program itself.
    pub user_time: Duration,
    /// Processor time of all threads in the system's calls.
    pub system_time: Duration,
}

/// Returns the system's figures for this process; `None` if it is not Linux, or does not report them.
pub fn process() -> Option<ProcessUsage> {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: every bit pattern is a `rusage`, zeros too; the call writes one and reads nothing.
        let (done, used) = unsafe {
            let mut used: libc::rusage = std::mem::zeroed();
            (libc::getrusage(libc::RUSAGE_SELF, &mut used), used)
        };
        // SAFETY: the call takes a number and returns one.
        let page_bytes = u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).ok()?;
        // Pages: of the address space, and resident.
        let pages = std::fs::read_to_string("/proc/self/statm").ok()?;
        let resident: u64 = pages.split_whitespace().nth(1)?.parse().ok()?;
        let time = |time: libc::timeval| Duration::new(time.tv_sec as u64, time.tv_usec as u32 * 1000);
        (done == 0).then_some(ProcessUsage {
            resident_bytes: resident * page_bytes,
            resident_bytes_max: (used.ru_maxrss as u64) << 10,
            user_time: time(used.ru_utime),
            system_time: time(used.ru_stime),
        })
    }
    #[cfg(not(target_os = "linux"))]
    None
}

#[cfg(test)]
mod tests {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[test]
    fn memory_in_use_counts_until_it_is_freed() {
        let used = || super::usage().unwrap().in_use_bytes;
        let before = used();
        let kept: Vec<Vec<u8>> = (0..1000).map(|n| vec![n as u8; 20_000]).collect();
        assert!(used() >= before + 20_000_000);
        drop(kept);
        assert!(used() < before + 5_000_000);
        // In one test: a second one would allocate at the same time.
        memory_in_use_survives();
    }

    fn memory_in_use_survives() {
        let kept: Vec<Vec<u8>> = (0..100).map(|n| vec![n; 10_000]).collect();
        drop((0..1000).map(|n| vec![n as u8; 20_000]).collect::<Vec<_>>());
        super::give_back();
        assert!(kept.iter().enumerate().all(|(n, bytes)| bytes.iter().all(|byte| *byte == n as u8)));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_is_in_memory_and_has_run() {
        let mut used = super::process().unwrap();
        assert!(used.resident_bytes > 1 << 16 && used.resident_bytes_max > 1 << 16);
        // Until a whole tick of the clock is counted.
        while used.user_time + used.system_time == std::time::Duration::ZERO {
            used = super::process().unwrap();
        }
    }
}
