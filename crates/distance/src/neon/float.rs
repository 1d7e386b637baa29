//! Sums of `f32` products: four registers of four, added at the end.

use std::arch::aarch64::*;
use std::arch::asm;

use crate::scalar;

/// # Safety
/// The CPU has NEON; both slices are equally long.
#[target_feature(enable = "neon")]
pub(crate) unsafe fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [vdupq_n_f32(0.0); 4];
    let whole = a.len() / 16 * 16;
    for i in (0..whole).step_by(16) {
        for (lane, sum) in sums.iter_mut().enumerate() {
            // SAFETY: i + 16 <= whole <= the length of both slices, and lane < 4.
            let (x, y) = unsafe { (load_f32(a, i + lane * 4), load_f32(b, i + lane * 4)) };
            *sum = vfmaq_f32(*sum, x, y);
        }
    }
    add_four(sums) + scalar::dot(&a[whole..], &b[whole..])
}

/// # Safety
/// The CPU has NEON; both slices are equally long.
#[target_feature(enable = "neon")]
pub(crate) unsafe fn l2_squared(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [vdupq_n_f32(0.0); 4];
    let whole = a.len() / 16 * 16;
    for i in (0..whole).step_by(16) {
        for (lane, sum) in sums.iter_mut().enumerate() {
            // SAFETY: i + 16 <= whole <= the length of both slices, and lane < 4.
            let (x, y) = unsafe { (load_f32(a, i + lane * 4), load_f32(b, i + lane * 4)) };
            let difference = vsubq_f32(x, y);
            *sum = vfmaq_f32(*sum, difference, difference);
        }
    }
    add_four(sums) + scalar::l2_squared(&a[whole..], &b[whole..])
}

/// # Safety
/// The CPU has NEON; both slices are equally long.
#[target_feature(enable = "neon")]
pub(crate) unsafe fn dot_f16(a: &[u16], b: &[f32]) -> f32 {
    let mut sums = [vdupq_n_f32(0.0); 4];
    let whole = a.len() / 16 * 16;
    for i in (0..whole).step_by(16) {
        for (lane, sum) in sums.iter_mut().enumerate() {
            // SAFETY: i + 16 <= whole <= the length of both slices, and lane < 4.
            let (x, y) = unsafe { (load_f16(a, i + lane * 4), load_f32(b, i + lane * 4)) };
            *sum = vfmaq_f32(*sum, x, y);
        }
    }
    add_four(sums) + scalar::dot_f16(&a[whole..], &b[whole..])
}

/// # Safety
/// The CPU has NEON; both slices are equally long.
#[target_feature(enable = "neon")]
pub(crate) unsafe fn l2_squared_f16(a: &[u16], b: &[f32]) -> f32 {
    let mut sums = [vdupq_n_f32(0.0); 4];
    let whole = a.len() / 16 * 16;
    for i in (0..whole).step_by(16) {
        for (lane, sum) in sums.iter_mut().enumerate() {
            // SAFETY: i + 16 <= whole <= the length of both slices, and lane < 4.
            let (x, y) = unsafe { (load_f16(a, i + lane * 4), load_f32(b, i + lane * 4)) };
            let difference = vsubq_f32(x, y);
            *sum = vfmaq_f32(*sum, difference, difference);
        }
    }
    add_four(sums) + scalar::l2_squared_f16(&a[whole..], &b[whole..])
}

/// # Safety
/// `at + 4 <= slice.len()`.
#[target_feature(enable = "neon")]
#[inline]
unsafe fn load_f32(slice: &[f32], at: usize) -> float32x4_t {
    // SAFETY: the caller's promise.
    unsafe { vld1q_f32(slice.as_ptr().add(at)) }
}

/// # Safety
/// `at + 4 <= slice.len()`.
#[target_feature(enable = "neon")]
#[inline]
unsafe fn load_f16(slice: &[u16], at: usize) -> float32x4_t {
    // SAFETY: the caller's promise.
    let halves = unsafe { vld1_u16(slice.as_ptr().add(at)) };
    let values: float32x4_t;
    // SAFETY: the instruction is part of NEON and only writes its output register.
    unsafe {
        asm!("fcvtl {0:v}.4s, {1:v}.4h", out(vreg) values, in(vreg) halves, options(pure, nomem, nostack, preserves_flags));
    }
    values
}

#[target_feature(enable = "neon")]
#[inline]
fn add_four(sums: [float32x4_t; 4]) -> f32 {
    vaddvq_f32(vaddq_f32(vaddq_f32(sums[0], sums[1]), vaddq_f32(sums[2], sums[3])))
}
