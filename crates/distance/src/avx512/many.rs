//! One int8 query against many rows.

use std::arch::x86_64::*;

use super::bytes::{dot_i8, load, load_tail};
use crate::avx2;

/// Four rows side by side: 128 times the query's sum is taken once for all, and one tree of additions ends four sums.
///
/// # Safety
/// The CPU has AVX-512 F, BW and VNNI, and AVX2; all rows are as long as the query, and there are as many as outputs.
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
pub(crate) unsafe fn dot_i8_many(query: &[i8], rows: &[&[i8]], out: &mut [i32]) {
    if query.len() < 64 {
        // SAFETY: the caller's promise.
        return unsafe { avx2::dot_i8_many(query, rows, out) };
    }
    let shift = _mm512_set1_epi8(i8::MIN);
    let whole = query.len() / 64 * 64;
    let mut shifts = _mm512_setzero_si512();
    for i in (0..whole).step_by(64) {
        // SAFETY: i + 64 <= whole <= query.len().
        shifts = _mm512_dpbusd_epi32(shifts, shift, unsafe { load(query, i) });
    }
    if whole < query.len() {
        // SAFETY: whole < query.len() < whole + 64, and query.len() >= 64.
        shifts = _mm512_dpbusd_epi32(shifts, shift, unsafe { load_tail(query, whole) });
    }
    let shifts = _mm_set1_epi32(_mm512_reduce_add_epi32(shifts));

    let (fours, rest) = rows.as_chunks::<4>();
    let (fours_out, rest_out) = out.as_chunks_mut::<4>();
    for (four, out) in fours.iter().zip(fours_out) {
        let mut sums = [_mm512_setzero_si512(); 4];
        for i in (0..whole).step_by(64) {
            // SAFETY: i + 64 <= whole <= query.len().
            let y = unsafe { load(query, i) };
            for (row, sum) in four.iter().zip(&mut sums) {
                // SAFETY: the row is as long as the query.
                *sum = _mm512_dpbusd_epi32(*sum, _mm512_xor_si512(unsafe { load(row, i) }, shift), y);
            }
        }
        if whole < query.len() {
            // SAFETY: whole < query.len() < whole + 64, and query.len() >= 64.
            let y = unsafe { load_tail(query, whole) };
            for (row, sum) in four.iter().zip(&mut sums) {
                // SAFETY: the row is as long as the query.
                *sum = _mm512_dpbusd_epi32(*sum, _mm512_xor_si512(unsafe { load_tail(row, whole) }, shift), y);
            }
        }
        let totals = _mm_sub_epi32(add_each(sums), shifts);
        // SAFETY: `out` has four elements.
        unsafe { _mm_storeu_si128(out.as_mut_ptr().cast(), totals) };
    }
    for (row, out) in rest.iter().zip(rest_out) {
        // SAFETY: the caller's promise.
        *out = unsafe { dot_i8(row, query) };
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
