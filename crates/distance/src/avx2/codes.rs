//! Codes against a query in more bits than theirs.

use std::arch::x86_64::*;

use super::bytes::add_i32;
use crate::scalar;

/// # Safety
/// The CPU has AVX2; both slices are equally long and at most 4,096.
#[target_feature(enable = "avx2")]
pub(crate) unsafe fn dot_i8_i16(codes: &[i8], query: &[i16]) -> i64 {
    let mut total = 0;
    // 512 products of at most 2^7 * 2^14 sum to at most 2^30: no lane and no sum of lanes overflows.
    for (codes, query) in codes.chunks(512).zip(query.chunks(512)) {
        let mut sum = _mm256_setzero_si256();
        let whole = codes.len() / 16 * 16;
        for i in (0..whole).step_by(16) {
            // SAFETY: i + 16 <= whole <= the length of both slices; 16 one-byte and 16 two-byte elements are read.
            let (x, y) = unsafe {
                (_mm_loadu_si128(codes.as_ptr().add(i).cast()), _mm256_loadu_si256(query.as_ptr().add(i).cast()))
            };
            sum = _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_cvtepi8_epi16(x), y));
        }
        total += i64::from(add_i32(sum)) + scalar::dot_i8_i16(&codes[whole..], &query[whole..]);
    }
    total
}

/// # Safety
/// The CPU has AVX2; `query` is a multiple of 64 long and `codes` half of it.
#[target_feature(enable = "avx2")]
pub(crate) unsafe fn dot_u4_i8(codes: &[u8], query: &[i8]) -> i32 {
    let half = _mm256_set1_epi8(15);
    let ones = _mm256_set1_epi16(1);
    let mut sum = _mm256_setzero_si256();
    for chunk in 0..query.len() / 64 {
        // SAFETY: chunk * 64 + 64 <= query.len() and chunk * 32 + 32 <= codes.len().
        let (bytes, low, high) = unsafe {
            (
                _mm256_loadu_si256(codes.as_ptr().add(chunk * 32).cast()),
                _mm256_loadu_si256(query.as_ptr().add(chunk * 64).cast()),
                _mm256_loadu_si256(query.as_ptr().add(chunk * 64 + 32).cast()),
            )
        };
        // A pair sums to at most 2 * 15 * 128 = 3,840, two of them to 7,680: no saturation in 16 bits.
        let pairs = _mm256_add_epi16(
            _mm256_maddubs_epi16(_mm256_and_si256(bytes, half), low),
            _mm256_maddubs_epi16(_mm256_and_si256(_mm256_srli_epi16::<4>(bytes), half), high),
        );
        sum = _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, ones));
    }
    add_i32(sum)
}

/// # Safety
/// The CPU has AVX2; `query` is a multiple of 64 long, the codes of each row half of it, and there are as many rows as outputs.
#[target_feature(enable = "avx2")]
pub(crate) unsafe fn dot_u4_i8_many(query: &[i8], rows: &[&[u8]], out: &mut [i32]) {
    for (row, out) in rows.iter().zip(out) {
        // SAFETY: the caller's promise.
        *out = unsafe { dot_u4_i8(row, query) };
    }
}
