//! Codes against a query in more bits than theirs.

use std::arch::aarch64::*;

use crate::scalar;

/// # Safety
/// The CPU has NEON; both slices are equally long and at most 4,096.
#[target_feature(enable = "neon")]
pub(crate) unsafe fn dot_i8_i16(codes: &[i8], query: &[i16]) -> i64 {
    let mut total = 0;
    // 512 products of at most 2^7 * 2^14 sum to at most 2^30: no lane and no sum of lanes overflows.
    for (codes, query) in codes.chunks(512).zip(query.chunks(512)) {
        let mut sums = [vdupq_n_s32(0); 2];
        let whole = codes.len() / 8 * 8;
        for i in (0..whole).step_by(8) {
            // SAFETY: i + 8 <= whole <= the length of both slices.
            let (x, y) = unsafe { (vmovl_s8(vld1_s8(codes.as_ptr().add(i))), vld1q_s16(query.as_ptr().add(i))) };
            sums[0] = vmlal_s16(sums[0], vget_low_s16(x), vget_low_s16(y));
            sums[1] = vmlal_high_s16(sums[1], x, y);
        }
        total += i64::from(vaddvq_s32(vaddq_s32(sums[0], sums[1])));
        total += scalar::dot_i8_i16(&codes[whole..], &query[whole..]);
    }
    total
}

/// # Safety
/// The CPU has NEON; `query` is a multiple of 64 long and `codes` half of it.
#[target_feature(enable = "neon")]
pub(crate) unsafe fn dot_u4_i8(codes: &[u8], query: &[i8]) -> i32 {
    let mut sum = vdupq_n_s32(0);
    for (codes, query) in codes.chunks_exact(32).zip(query.chunks_exact(64)) {
        for sixteen in [0, 16] {
            // SAFETY: sixteen + 16 <= 32 = codes.len() and sixteen + 32 + 16 <= 64 = query.len().
            let (bytes, low, high) = unsafe {
                (
                    vld1q_u8(codes.as_ptr().add(sixteen)),
                    vld1q_s8(query.as_ptr().add(sixteen)),
                    vld1q_s8(query.as_ptr().add(sixteen + 32)),
                )
            };
            let low_codes = vreinterpretq_s8_u8(vandq_u8(bytes, vdupq_n_u8(15)));
            let high_codes = vreinterpretq_s8_u8(vshrq_n_u8::<4>(bytes));
            // Two products of at most 15 * 128 a lane: no overflow in 16 bits.
            let first = vmull_s8(vget_low_s8(low_codes), vget_low_s8(low));
            let second = vmull_high_s8(low_codes, low);
            sum = vpadalq_s16(sum, vmlal_s8(first, vget_low_s8(high_codes), vget_low_s8(high)));
            sum = vpadalq_s16(sum, vmlal_high_s8(second, high_codes, high));
        }
    }
    vaddvq_s32(sum)
}

/// # Safety
/// The CPU has NEON; `query` is a multiple of 64 long, the codes of each row half of it, and there are as many rows as outputs.
#[target_feature(enable = "neon")]
pub(crate) unsafe fn dot_u4_i8_many(query: &[i8], rows: &[&[u8]], out: &mut [i32]) {
    for (row, out) in rows.iter().zip(out) {
        // SAFETY: the caller's promise.
        *out = unsafe { dot_u4_i8(row, query) };
    }
}
