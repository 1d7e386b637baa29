//! One query against the 4-bit codes of many rows.

use std::arch::x86_64::*;

use super::codes::{dot_u4_i8, unpack};

/// Four rows side by side: the query is loaded once for all, and one tree of additions ends four sums.
///
/// # Safety
/// The CPU has AVX-512 F, BW, VL and VNNI; `query` is a multiple of 64 long, the codes of each row half of it, and there are as many
/// rows as outputs.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
pub(crate) unsafe fn dot_u4_i8_many(query: &[i8], rows: &[&[u8]], out: &mut [i32]) {
    let (fours, rest) = rows.as_chunks::<4>();
    let (fours_out, rest_out) = out.as_chunks_mut::<4>();
    for (four, out) in fours.iter().zip(fours_out) {
        let mut sums = [_mm512_setzero_si512(); 4];
        for chunk in 0..query.len() / 64 {
            // SAFETY: chunk * 64 + 64 <= query.len().
            let query = unsafe { _mm512_loadu_si512(query.as_ptr().add(chunk * 64).cast()) };
            for (row, sum) in four.iter().zip(&mut sums) {
                // SAFETY: the row is half as long as the query, so chunk * 32 + 32 <= row.len().
                let codes = unsafe { unpack(row.as_ptr().add(chunk * 32)) };
                *sum = _mm512_dpbusd_epi32(*sum, codes, query);
            }
        }
        // SAFETY: `out` has four elements.
        unsafe { _mm_storeu_si128(out.as_mut_ptr().cast(), add_each(sums)) };
    }
    for (row, out) in rest.iter().zip(rest_out) {
        // SAFETY: the caller's promise.
        *out = unsafe { dot_u4_i8(row, query) };
    }
}

/// The sum of the lanes of each of four registers.
#[target_feature(enable = "avx512f")]
#[inline]
fn add_each(sums: [__m512i; 4]) -> __m128i {
    let pair = |x, y| _mm512_add_epi32(_mm512_unpacklo_epi32(x, y), _mm512_unpackhi_epi32(x, y));
    let (first, second) = (pair(sums[0], sums[1]), pair(sums[2], sums[3]));
    let four = _mm512_add_epi32(_mm512_unpacklo_epi64(first, second), _mm512_unpackhi_epi64(first, second));
    let two = _mm256_add_epi32(_mm512_castsi512_si256(four), _mm512_extracti64x4_epi64::<1>(four));
    _mm_add_epi32(_mm256_castsi256_si128(two), _mm256_extracti128_si256::<1>(two))
}
