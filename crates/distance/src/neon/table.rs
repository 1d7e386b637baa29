//! The tables of the fast scan: the sixteen sign patterns of a group in four registers.

use std::arch::aarch64::*;

use crate::fast_scan::{Sums, per_step};

/// # Safety
/// The CPU has NEON; `query` is a multiple of 16 long, `entries` four times that.
#[target_feature(enable = "neon")]
pub(crate) unsafe fn fill_table(query: &[f32], entries: &mut [u8]) -> Sums {
    let sums = magnitudes(query);
    let (per_step, half) = (vdupq_n_f32(per_step(sums.widest)), vdupq_n_f32(0.5));
    // Multiply and add apart, as the scalar code does: a fused one would round differently.
    let entry = |above_least| vmovn_u32(vcvtq_u32_f32(vaddq_f32(vmulq_f32(above_least, per_step), half)));
    let (odd, upper): ([u32; 4], [u32; 4]) = ([0, u32::MAX, 0, u32::MAX], [0, 0, u32::MAX, u32::MAX]);
    // SAFETY: four numbers are read of each.
    let (odd, upper) = unsafe { (vld1q_u32(odd.as_ptr()), vld1q_u32(upper.as_ptr())) };
    for (group, entries) in query.as_chunks::<4>().0.iter().zip(entries.as_chunks_mut::<16>().0) {
        let [a, b, c, d] = group.map(|x| {
            let (twice, zero) = (vdupq_n_f32(2.0 * x), vdupq_n_f32(0.0));
            (vmaxq_f32(vsubq_f32(zero, twice), zero), vmaxq_f32(twice, zero))
        });
        let two = vaddq_f32(vbslq_f32(odd, a.1, a.0), vbslq_f32(upper, b.1, b.0));
        let (unset, set) = (vaddq_f32(two, c.0), vaddq_f32(two, c.1));
        let first = vcombine_u16(entry(vaddq_f32(unset, d.0)), entry(vaddq_f32(set, d.0)));
        let second = vcombine_u16(entry(vaddq_f32(unset, d.1)), entry(vaddq_f32(set, d.1)));
        // SAFETY: `entries` is sixteen bytes.
        unsafe { vst1q_u8(entries.as_mut_ptr(), vcombine_u8(vmovn_u16(first), vmovn_u16(second))) };
    }
    sums
}

#[target_feature(enable = "neon")]
#[inline]
fn magnitudes(query: &[f32]) -> Sums {
    let (mut whole, mut widest) = ([vdupq_n_f32(0.0); 4], vdupq_n_f32(0.0));
    for sixteen in query.as_chunks::<16>().0 {
        for (i, whole) in whole.iter_mut().enumerate() {
            // SAFETY: i < 4, so that i * 4 + 4 is within the sixteen floats.
            let x = vabsq_f32(unsafe { vld1q_f32(sixteen.as_ptr().add(i * 4)) });
            *whole = vaddq_f32(*whole, x);
            let pairs = vaddq_f32(x, vrev64q_f32(x));
            widest = vmaxq_f32(widest, vaddq_f32(pairs, vextq_f32::<2>(pairs, pairs)));
        }
    }
    let mut lanes = [0.0f32; 16];
    for (i, whole) in whole.into_iter().enumerate() {
        // SAFETY: i < 4, so that i * 4 + 4 is within the array.
        unsafe { vst1q_f32(lanes.as_mut_ptr().add(i * 4), whole) };
    }
    Sums { widest: vmaxvq_f32(widest), whole: lanes.iter().sum() }
}
