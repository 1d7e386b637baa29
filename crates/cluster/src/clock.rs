//! The boot clock: it runs while the machine sleeps, and nobody can set it.

use rustix::time::{ClockId, clock_gettime};

use crate::Boot;

/// Returns the current boot time.
pub fn boot_clock() -> Boot {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    let now = clock_gettime(ClockId::Boottime);
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    let now = clock_gettime(ClockId::Monotonic);
    Boot(now.tv_sec as u64 * 1000 + now.tv_nsec as u64 / 1_000_000)
}
