//! Bringing memory near before it is read.

/// Asks the CPU to bring `bytes` near, without waiting: a batch of rows at random addresses then costs one wait, not many.
/// Does nothing where there is no such instruction.
pub fn prefetch(bytes: &[u8]) {
    #[cfg(target_arch = "x86_64")]
    for line in bytes.chunks(64) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch reads nothing that the program sees and faults nowhere; the address is inside `bytes` anyway.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) };
    }
    #[cfg(target_arch = "aarch64")]
    for line in bytes.chunks(64) {
        // SAFETY: a prefetch reads nothing that the program sees and faults nowhere; the address is inside `bytes` anyway.
        unsafe {
            std::arch::asm!("prfm pldl1keep, [{line}]", line = in(reg) line.as_ptr(), options(nostack, preserves_flags, readonly));
        }
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = bytes;
}
