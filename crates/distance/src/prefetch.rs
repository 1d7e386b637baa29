//! Bringing memory near before it is read.

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
const LINE_BYTES: usize = 64;

/// Asks the CPU to bring `bytes` near, without waiting: a batch of rows at random addresses then costs one wait, not many.
/// Does nothing where there is no such instruction.
#[inline]
pub fn prefetch(bytes: &[u8]) {
    #[cfg(target_arch = "x86_64")]
    for line in lines(bytes) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch reads nothing that the program sees and faults nowhere; the address is in a line of `bytes` anyway.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.cast()) };
    }
    #[cfg(target_arch = "aarch64")]
    for line in lines(bytes) {
        // SAFETY: a prefetch reads nothing that the program sees and faults nowhere; the address is in a line of `bytes` anyway.
        unsafe {
            std::arch::asm!("prfm pldl1keep, [{line}]", line = in(reg) line, options(nostack, preserves_flags, readonly));
        }
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = bytes;
}

/// Where each cache line that has some of `bytes` begins: 76 bytes at any address may lie in three.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[inline]
fn lines(bytes: &[u8]) -> impl Iterator<Item = *const u8> {
    let before = bytes.as_ptr() as usize % LINE_BYTES;
    let first = bytes.as_ptr().wrapping_sub(before);
    (0..before + bytes.len()).step_by(LINE_BYTES).map(move |at| first.wrapping_add(at))
}
