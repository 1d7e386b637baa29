//! The fast scan: sixteen bytes, one group of four dimensions of sixteen rows in either half, at a time.

use std::arch::aarch64::*;

use crate::fast_scan::{BLOCK_ROWS, Factors, GROUPS_PER_U16, LookupTable};

/// # Safety
/// The CPU has NEON; `codes` is as long as the table's entries, a multiple of 16.
#[target_feature(enable = "neon")]
pub(crate) unsafe fn scan_block(
    codes: &[u8],
    table: &LookupTable,
    factors: &Factors,
    threshold: f32,
    out: &mut [f32; BLOCK_ROWS],
) -> u32 {
    // SAFETY: the caller's promise.
    let sums = unsafe { sum_entries(codes, table) };
    let (step, bias) = (vdupq_n_f32(table.step), vdupq_n_f32(table.bias));
    let row_bits: [u32; 4] = [1, 2, 4, 8];
    // SAFETY: four elements are read.
    let row_bits = unsafe { vld1q_u32(row_bits.as_ptr()) };
    let mut above = 0;
    for (four, sum) in sums.into_iter().enumerate() {
        let (add, scale) = load_factors(factors, four);
        // Multiply and add apart, as the scalar code does: a fused one would round differently.
        let value = vaddq_f32(vmulq_f32(step, vcvtq_f32_u32(sum)), bias);
        let estimate = vaddq_f32(add, vmulq_f32(scale, value));
        // SAFETY: `out` has 32 elements and four < 8.
        unsafe { vst1q_f32(out.as_mut_ptr().add(four * 4), estimate) };
        let greater = vcgtq_f32(estimate, vdupq_n_f32(threshold));
        above |= vaddvq_u32(vandq_u32(greater, row_bits)) << (four * 4);
    }
    above
}

/// # Safety
/// The CPU has NEON; `high` and `low` are as long as the table's entries, a multiple of 16.
#[target_feature(enable = "neon")]
pub(crate) unsafe fn scan_edges(
    high: &[u8],
    low: Option<&[u8]>,
    table: &LookupTable,
    factors: &Factors,
    (base, threshold): (f32, f32),
    out: &mut [f32; BLOCK_ROWS],
) -> u32 {
    // SAFETY: the caller's promise.
    let mut sums = unsafe { sum_entries(high, table) };
    if let Some(low) = low {
        // SAFETY: the caller's promise.
        let low = unsafe { sum_entries(low, table) };
        for (sum, low) in sums.iter_mut().zip(low) {
            *sum = vaddq_u32(vaddq_u32(*sum, *sum), low);
        }
    }
    let (step, bias) = table.units(1 + usize::from(low.is_some()));
    let (step, bias, base) = (vdupq_n_f32(step), vdupq_n_f32(bias), vdupq_n_f32(base));
    let row_bits: [u32; 4] = [1, 2, 4, 8];
    // SAFETY: four elements are read.
    let row_bits = unsafe { vld1q_u32(row_bits.as_ptr()) };
    let mut above = 0;
    for (four, sum) in sums.into_iter().enumerate() {
        let (add, scale) = load_factors(factors, four);
        let value = vaddq_f32(vmulq_f32(step, vcvtq_f32_u32(sum)), bias);
        let estimate = vaddq_f32(vaddq_f32(base, add), vmulq_f32(scale, value));
        // SAFETY: `out` has 32 elements and four < 8.
        unsafe { vst1q_f32(out.as_mut_ptr().add(four * 4), estimate) };
        let greater = vcgtq_f32(estimate, vdupq_n_f32(threshold));
        above |= vaddvq_u32(vandq_u32(greater, row_bits)) << (four * 4);
    }
    above
}

/// Each row's sum of the entries that its codes look up, four rows a register.
///
/// # Safety
/// `codes` is as long as the table's entries, a multiple of 16.
#[target_feature(enable = "neon")]
#[inline]
unsafe fn sum_entries(codes: &[u8], table: &LookupTable) -> [uint32x4_t; 8] {
    let mut sums = [vdupq_n_u32(0); 8];
    for (codes, entries) in codes.chunks(GROUPS_PER_U16 * 16).zip(table.entries.chunks(GROUPS_PER_U16 * 16)) {
        // Eight rows a register.
        let mut words = [vdupq_n_u16(0); 4];
        for i in (0..codes.len()).step_by(16) {
            // SAFETY: both slices are equally long multiples of 16 bytes, so i + 16 is within them.
            let (bytes, entries) = unsafe { (vld1q_u8(codes.as_ptr().add(i)), vld1q_u8(entries.as_ptr().add(i))) };
            let first = vqtbl1q_u8(entries, vandq_u8(bytes, vdupq_n_u8(15)));
            let second = vqtbl1q_u8(entries, vshrq_n_u8::<4>(bytes));
            words[0] = vaddw_u8(words[0], vget_low_u8(first));
            words[1] = vaddw_high_u8(words[1], first);
            words[2] = vaddw_u8(words[2], vget_low_u8(second));
            words[3] = vaddw_high_u8(words[3], second);
        }
        for (eight, words) in words.into_iter().enumerate() {
            sums[eight * 2] = vaddw_u16(sums[eight * 2], vget_low_u16(words));
            sums[eight * 2 + 1] = vaddw_high_u16(sums[eight * 2 + 1], words);
        }
    }
    sums
}

/// Loads the addends and the factors for the values of rows `4 * four..4 * four + 4`.
#[target_feature(enable = "neon")]
#[inline]
fn load_factors(factors: &Factors, four: usize) -> (float32x4_t, float32x4_t) {
    let (add, scale) = (&factors.0[four * 16..][..16], &factors.0[128 + four * 16..][..16]);
    // SAFETY: both slices are 16 bytes, which may lie at any address.
    let (add, scale) = unsafe { (vld1q_u8(add.as_ptr()), vld1q_u8(scale.as_ptr())) };
    (vreinterpretq_f32_u8(add), vreinterpretq_f32_u8(scale))
}
