//! Codes against a query in more bits than theirs.

use std::arch::x86_64::*;

use crate::scalar;

/// # Safety
/// The CPU has AVX-512 F and BW; both slices are equally long and at most 4,096.
#[target_feature(enable = "avx512f,avx512bw")]
pub(crate) unsafe fn dot_i8_i16(codes: &[i8], query: &[i16]) -> i64 {
    let mut total = 0;
    // 512 products of at most 2^7 * 2^14 sum to at most 2^30: no lane and no sum of lanes overflows.
    for (codes, query) in codes.chunks(512).zip(query.chunks(512)) {
        let mut sum = _mm512_setzero_si512();
        let whole = codes.len() / 32 * 32;
        for i in (0..whole).step_by(32) {
            // SAFETY: i + 32 <= whole <= the length of both slices; 32 one-byte and 32 two-byte elements are read.
            let (x, y) = unsafe {
                (_mm256_loadu_si256(codes.as_ptr().add(i).cast()), _mm512_loadu_si512(query.as_ptr().add(i).cast()))
            };
            sum = _mm512_add_epi32(sum, _mm512_madd_epi16(_mm512_cvtepi8_epi16(x), y));
        }
        total += i64::from(_mm512_reduce_add_epi32(sum));
        total += scalar::dot_i8_i16(&codes[whole..], &query[whole..]);
    }
    total
}

/// # Safety
/// The CPU has AVX-512 F, BW, VL and VNNI; `query` is a multiple of 64 long and `codes` half of it.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
pub(crate) unsafe fn dot_u4_i8(codes: &[u8], query: &[i8]) -> i32 {
    let mut sum = _mm512_setzero_si512();
    for chunk in 0..query.len() / 64 {
        // SAFETY: chunk * 64 + 64 <= query.len() and chunk * 32 + 32 <= codes.len().
        let (codes, query) = unsafe {
            (unpack(codes.as_ptr().add(chunk * 32)), _mm512_loadu_si512(query.as_ptr().add(chunk * 64).cast()))
        };
        sum = _mm512_dpbusd_epi32(sum, codes, query);
    }
    _mm512_reduce_add_epi32(sum)
}

/// 64 codes in the order of their dimensions: both copies of 32 bytes, the upper one shifted to its high halves.
///
/// # Safety
/// 32 bytes can be read.
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
#[inline]
pub(super) unsafe fn unpack(codes: *const u8) -> __m512i {
    // SAFETY: the caller's promise.
    let bytes = unsafe { _mm256_loadu_si256(codes.cast()) };
    let shifts = _mm512_set_epi64(4, 4, 4, 4, 0, 0, 0, 0);
    _mm512_and_si512(_mm512_srlv_epi64(_mm512_broadcast_i64x4(bytes), shifts), _mm512_set1_epi8(15))
}
