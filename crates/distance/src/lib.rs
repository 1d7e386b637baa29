//! Distance kernels with run-time dispatch: one safe function per kernel, one implementation per instruction set.
//!
//! **Useful for** exact reranking (`f32` dot product and squared Euclidean distance), int8 codes, 4-bit codes
//! against an 8-bit query, and the 1-bit fast scan over blocks of 32 rows.
//! **Not for** deciding what the numbers mean: quantisers, estimators and metrics live in `nuthatch-vector`.
//!
//! **Invariant:** every instruction set gives the same answer. Integer kernels and [`scan_block`] agree bit for bit
//! with the scalar code (no fused multiply-add where a rounding could decide who is a candidate); the two `f32` sums
//! differ only in the order of additions. This is the workspace's address for `unsafe` arithmetic: each block states
//! why it is sound, and every length is checked in the safe function in front of it.
//!
//! Levels: scalar (everywhere; written so that compilers vectorise it, which on aarch64 means NEON), AVX2 + FMA, and
//! AVX-512 with VNNI. A hand-written NEON module would slot in beside `avx2` as one more [`Level`].

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod fast_scan;
mod level;
mod scalar;

pub use fast_scan::{BLOCK_FACTOR_BYTES, BLOCK_ROWS, LookupTable, pack_block, scan_block, scan_block_on};
pub use level::Level;

use level::Kind;

/// Runs the implementation of one level. The calls are sound because a `Level` exists only where the CPU has it.
macro_rules! dispatch {
    ($level:expr, $kernel:ident($($argument:expr),*)) => {
        match $level.kind() {
            Kind::Scalar => scalar::$kernel($($argument),*),
            // SAFETY: a `Level` of this kind is only made after the CPU reported AVX2 and FMA; lengths were checked above.
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => unsafe { avx2::$kernel($($argument),*) },
            // SAFETY: a `Level` of this kind is only made after the CPU reported AVX-512 F, BW, VL and VNNI; lengths were
            // checked above.
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => unsafe { avx512::$kernel($($argument),*) },
        }
    };
}
pub(crate) use dispatch;

/// Dot product of two equally long vectors.
///
/// # Panics
/// When the lengths differ.
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    dot_on(Level::best(), a, b)
}

/// [`dot`] on a chosen level: for tests and benchmarks.
pub fn dot_on(level: Level, a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len(), "dot: lengths differ");
    dispatch!(level, dot(a, b))
}

/// Squared Euclidean distance of two equally long vectors.
///
/// # Panics
/// When the lengths differ.
pub fn l2_squared(a: &[f32], b: &[f32]) -> f32 {
    l2_squared_on(Level::best(), a, b)
}

/// [`l2_squared`] on a chosen level.
pub fn l2_squared_on(level: Level, a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len(), "l2_squared: lengths differ");
    dispatch!(level, l2_squared(a, b))
}

/// Longest vector of the integer kernels: their 32-bit accumulators cannot overflow up to here.
pub const DIM_MAX: usize = 4096;

/// Dot product of two int8 vectors, exact.
///
/// # Panics
/// When the lengths differ or exceed [`DIM_MAX`].
pub fn dot_i8(a: &[i8], b: &[i8]) -> i32 {
    dot_i8_on(Level::best(), a, b)
}

/// [`dot_i8`] on a chosen level.
pub fn dot_i8_on(level: Level, a: &[i8], b: &[i8]) -> i32 {
    assert_eq!(a.len(), b.len(), "dot_i8: lengths differ");
    assert!(a.len() <= DIM_MAX, "dot_i8: longer than {DIM_MAX}");
    dispatch!(level, dot_i8(a, b))
}

/// Asks the CPU to bring `bytes` near, without waiting: a batch of rows at random addresses then costs one wait, not many.
/// Does nothing where there is no such instruction.
pub fn prefetch(bytes: &[u8]) {
    #[cfg(target_arch = "x86_64")]
    for line in bytes.chunks(64) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch reads nothing that the program sees and faults nowhere; the address is inside `bytes` anyway.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = bytes;
}

/// Largest absolute value that [`dot_i8_i16`] takes in its second argument.
pub const I16_QUERY_MAX: i16 = 1 << 14;

/// Dot product of an int8 code with a finer, 16-bit query, exact while the query stays within ±[`I16_QUERY_MAX`]
/// (beyond it the sum may wrap; it is never undefined).
///
/// # Panics
/// When the lengths differ or exceed [`DIM_MAX`].
pub fn dot_i8_i16(codes: &[i8], query: &[i16]) -> i64 {
    dot_i8_i16_on(Level::best(), codes, query)
}

/// [`dot_i8_i16`] on a chosen level.
pub fn dot_i8_i16_on(level: Level, codes: &[i8], query: &[i16]) -> i64 {
    assert_eq!(codes.len(), query.len(), "dot_i8_i16: lengths differ");
    assert!(codes.len() <= DIM_MAX, "dot_i8_i16: longer than {DIM_MAX}");
    dispatch!(level, dot_i8_i16(codes, query))
}

/// Dot product of 4-bit codes with an int8 query, exact.
///
/// Layout: every 64 dimensions take 32 bytes; byte `j` holds dimension `j` in its low half and `j + 32` in its high half.
///
/// # Panics
/// When `query` is not a multiple of 64 long, is longer than [`DIM_MAX`], or `codes` is not half as long.
pub fn dot_u4_i8(codes: &[u8], query: &[i8]) -> i32 {
    dot_u4_i8_on(Level::best(), codes, query)
}

/// [`dot_u4_i8`] on a chosen level.
pub fn dot_u4_i8_on(level: Level, codes: &[u8], query: &[i8]) -> i32 {
    assert_eq!(codes.len() * 2, query.len(), "dot_u4_i8: lengths differ");
    assert!(query.len().is_multiple_of(64) && query.len() <= DIM_MAX, "dot_u4_i8: {} dimensions", query.len());
    dispatch!(level, dot_u4_i8(codes, query))
}
