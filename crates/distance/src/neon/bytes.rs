//! Exact sums of integer products, each product in 16 bits (-128 times -128 fits) and pairs of them added to 32.

use std::arch::aarch64::*;
use std::arch::{asm, is_aarch64_feature_detected};

use crate::scalar;

/// # Safety
/// The CPU has NEON; both slices are equally long.
#[target_feature(enable = "neon")]
pub(crate) unsafe fn dot_i8(a: &[i8], b: &[i8]) -> i32 {
    if is_aarch64_feature_detected!("dotprod") {
        // SAFETY: just detected; the caller's promise for the lengths.
        unsafe { dot_i8_sdot(a, b) }
    } else {
        // SAFETY: the caller's promise.
        unsafe { dot_i8_widened(a, b) }
    }
}

/// # Safety
/// The CPU has NEON and SDOT; both slices are equally long.
#[target_feature(enable = "neon,dotprod")]
unsafe fn dot_i8_sdot(a: &[i8], b: &[i8]) -> i32 {
    let mut sums = [vdupq_n_s32(0); 4];
    let whole = a.len() / 64 * 64;
    for i in (0..whole).step_by(64) {
        for (lane, sum) in sums.iter_mut().enumerate() {
            // SAFETY: i + 64 <= whole <= the length of both slices, and lane < 4.
            let (x, y) = unsafe { (vld1q_s8(a.as_ptr().add(i + lane * 16)), vld1q_s8(b.as_ptr().add(i + lane * 16))) };
            *sum = sdot(*sum, x, y);
        }
    }
    let sum = vaddq_s32(vaddq_s32(sums[0], sums[1]), vaddq_s32(sums[2], sums[3]));
    vaddvq_s32(sum) + scalar::dot_i8(&a[whole..], &b[whole..])
}

/// `sum` plus the products of sixteen signed bytes, four in each lane.
#[target_feature(enable = "neon,dotprod")]
#[inline]
fn sdot(mut sum: int32x4_t, x: int8x16_t, y: int8x16_t) -> int32x4_t {
    // SAFETY: the CPU has the instruction (this function's target feature); it only writes its first register.
    unsafe {
        asm!(
            "sdot {0:v}.4s, {1:v}.16b, {2:v}.16b",
            inout(vreg) sum,
            in(vreg) x,
            in(vreg) y,
            options(pure, nomem, nostack, preserves_flags)
        );
    }
    sum
}

/// # Safety
/// The CPU has NEON; both slices are equally long.
#[target_feature(enable = "neon")]
unsafe fn dot_i8_widened(a: &[i8], b: &[i8]) -> i32 {
    let mut sum = vdupq_n_s32(0);
    let whole = a.len() / 16 * 16;
    for i in (0..whole).step_by(16) {
        // SAFETY: i + 16 <= whole <= the length of both slices.
        let (x, y) = unsafe { (vld1q_s8(a.as_ptr().add(i)), vld1q_s8(b.as_ptr().add(i))) };
        sum = vpadalq_s16(sum, vmull_s8(vget_low_s8(x), vget_low_s8(y)));
        sum = vpadalq_s16(sum, vmull_high_s8(x, y));
    }
    vaddvq_s32(sum) + scalar::dot_i8(&a[whole..], &b[whole..])
}

/// # Safety
/// The CPU has NEON; both slices are equally long.
#[target_feature(enable = "neon")]
pub(crate) unsafe fn l2_squared_i8(a: &[i8], b: &[i8]) -> i32 {
    let mut sum = vdupq_n_u32(0);
    let whole = a.len() / 16 * 16;
    for i in (0..whole).step_by(16) {
        // SAFETY: i + 16 <= whole <= the length of both slices.
        let (x, y) = unsafe { (vld1q_s8(a.as_ptr().add(i)), vld1q_s8(b.as_ptr().add(i))) };
        // The difference as an unsigned byte: at most 255.
        sum = add_squares(sum, vreinterpretq_u8_s8(vabdq_s8(x, y)));
    }
    vaddvq_u32(sum) as i32 + scalar::l2_squared_i8(&a[whole..], &b[whole..])
}

/// # Safety
/// The CPU has NEON; both slices are equally long.
#[target_feature(enable = "neon")]
pub(crate) unsafe fn dot_u8(a: &[u8], b: &[u8]) -> i32 {
    let mut sum = vdupq_n_u32(0);
    let whole = a.len() / 16 * 16;
    for i in (0..whole).step_by(16) {
        // SAFETY: i + 16 <= whole <= the length of both slices.
        let (x, y) = unsafe { (vld1q_u8(a.as_ptr().add(i)), vld1q_u8(b.as_ptr().add(i))) };
        sum = vpadalq_u16(sum, vmull_u8(vget_low_u8(x), vget_low_u8(y)));
        sum = vpadalq_u16(sum, vmull_high_u8(x, y));
    }
    vaddvq_u32(sum) as i32 + scalar::dot_u8(&a[whole..], &b[whole..])
}

/// # Safety
/// The CPU has NEON; both slices are equally long.
#[target_feature(enable = "neon")]
pub(crate) unsafe fn l2_squared_u8(a: &[u8], b: &[u8]) -> i32 {
    let mut sum = vdupq_n_u32(0);
    let whole = a.len() / 16 * 16;
    for i in (0..whole).step_by(16) {
        // SAFETY: i + 16 <= whole <= the length of both slices.
        let (x, y) = unsafe { (vld1q_u8(a.as_ptr().add(i)), vld1q_u8(b.as_ptr().add(i))) };
        sum = add_squares(sum, vabdq_u8(x, y));
    }
    vaddvq_u32(sum) as i32 + scalar::l2_squared_u8(&a[whole..], &b[whole..])
}

/// # Safety
/// The CPU has NEON; both slices are equally long.
#[target_feature(enable = "neon")]
pub(crate) unsafe fn hamming(a: &[u8], b: &[u8]) -> u32 {
    let mut sum = vdupq_n_u32(0);
    let whole = a.len() / 16 * 16;
    for i in (0..whole).step_by(16) {
        // SAFETY: i + 16 <= whole <= the length of both slices.
        let differing = unsafe { veorq_u8(vld1q_u8(a.as_ptr().add(i)), vld1q_u8(b.as_ptr().add(i))) };
        sum = vpadalq_u16(sum, vpaddlq_u8(vcntq_u8(differing)));
    }
    vaddvq_u32(sum) + scalar::hamming(&a[whole..], &b[whole..])
}

/// # Safety
/// The CPU has NEON.
#[target_feature(enable = "neon")]
pub(crate) unsafe fn add_hamming(word: u64, words: &[u64], counts: &mut [u16]) {
    scalar::add_hamming(word, words, counts);
}

/// `sum` plus the squares of unsigned bytes.
#[target_feature(enable = "neon")]
#[inline]
fn add_squares(sum: uint32x4_t, differences: uint8x16_t) -> uint32x4_t {
    let low = vmull_u8(vget_low_u8(differences), vget_low_u8(differences));
    vpadalq_u16(vpadalq_u16(sum, low), vmull_high_u8(differences, differences))
}
