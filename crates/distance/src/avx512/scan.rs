//! The fast scan: 64 bytes, four groups of four dimensions of sixteen rows in either half, at a time.

use std::arch::x86_64::*;

use crate::fast_scan::{BLOCK_ROWS, Factors, GROUPS_PER_U16, LookupTable};

/// # Safety
/// The CPU has AVX-512 F, BW and VL; `codes` is as long as the table's entries, a multiple of 64.
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
pub(crate) unsafe fn scan_block(
    codes: &[u8],
    table: &LookupTable,
    factors: &Factors,
    threshold: f32,
    out: &mut [f32; BLOCK_ROWS],
) -> u32 {
    // SAFETY: the caller's promise.
    let sums = unsafe { sum_entries(codes, table) };
    let (step, bias) = (_mm512_set1_ps(table.step), _mm512_set1_ps(table.bias));
    let mut above = 0;
    for (rows, sum) in sums.into_iter().enumerate() {
        let (add, scale) = load_factors(factors, rows);
        // Multiply and add apart, as the scalar code does: a fused one would round differently.
        let value = _mm512_add_ps(_mm512_mul_ps(step, _mm512_cvtepi32_ps(sum)), bias);
        let estimate = _mm512_add_ps(add, _mm512_mul_ps(scale, value));
        // SAFETY: `out` has 32 elements and rows < 2.
        unsafe { _mm512_storeu_ps(out.as_mut_ptr().add(rows * 16), estimate) };
        let greater = _mm512_cmp_ps_mask::<_CMP_GT_OQ>(estimate, _mm512_set1_ps(threshold));
        above |= u32::from(greater) << (rows * 16);
    }
    above
}

/// # Safety
/// The CPU has AVX-512 F, BW and VL; `high` and `low` are as long as the table's entries, a multiple of 64.
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
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
            *sum = _mm512_add_epi32(_mm512_add_epi32(*sum, *sum), low);
        }
    }
    let (step, bias) = table.units(1 + usize::from(low.is_some()));
    let (step, bias, base) = (_mm512_set1_ps(step), _mm512_set1_ps(bias), _mm512_set1_ps(base));
    let mut above = 0;
    for (rows, sum) in sums.into_iter().enumerate() {
        let (add, scale) = load_factors(factors, rows);
        let value = _mm512_add_ps(_mm512_mul_ps(step, _mm512_cvtepi32_ps(sum)), bias);
        let estimate = _mm512_add_ps(_mm512_add_ps(base, add), _mm512_mul_ps(scale, value));
        // SAFETY: `out` has 32 elements and rows < 2.
        unsafe { _mm512_storeu_ps(out.as_mut_ptr().add(rows * 16), estimate) };
        let greater = _mm512_cmp_ps_mask::<_CMP_GT_OQ>(estimate, _mm512_set1_ps(threshold));
        above |= u32::from(greater) << (rows * 16);
    }
    above
}

/// Each row's sum of the entries that its codes look up, sixteen rows a register.
///
/// # Safety
/// `codes` is as long as the table's entries, a multiple of 64.
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
#[inline]
unsafe fn sum_entries(codes: &[u8], table: &LookupTable) -> [__m512i; 2] {
    let half = _mm512_set1_epi8(15);
    let mut sums = [_mm512_setzero_si512(); 2];
    for (codes, entries) in codes.chunks(GROUPS_PER_U16 * 16).zip(table.entries.chunks(GROUPS_PER_U16 * 16)) {
        // Per half: sums of whole 16-bit words and of their high bytes; the low bytes follow from both (modulo 2^16).
        let mut words = [_mm512_setzero_si512(); 2];
        let mut highs = [_mm512_setzero_si512(); 2];
        for i in (0..codes.len()).step_by(64) {
            // SAFETY: both slices are equally long multiples of 64 bytes, so i + 64 is within them.
            let (bytes, entries) = unsafe {
                (_mm512_loadu_si512(codes.as_ptr().add(i).cast()), _mm512_loadu_si512(entries.as_ptr().add(i).cast()))
            };
            let patterns = [_mm512_and_si512(bytes, half), _mm512_and_si512(_mm512_srli_epi16::<4>(bytes), half)];
            for rows in 0..2 {
                let values = _mm512_shuffle_epi8(entries, patterns[rows]);
                words[rows] = _mm512_add_epi16(words[rows], values);
                highs[rows] = _mm512_add_epi16(highs[rows], _mm512_srli_epi16::<8>(values));
            }
        }
        for rows in 0..2 {
            // The four 128-bit lanes took alternating groups: added, they hold rows 0, 2, .. and 1, 3, .. of sixteen.
            let even = add_lanes(_mm512_sub_epi16(words[rows], _mm512_slli_epi16::<8>(highs[rows])));
            let odd = add_lanes(highs[rows]);
            let sixteen = _mm256_set_m128i(_mm_unpackhi_epi16(even, odd), _mm_unpacklo_epi16(even, odd));
            sums[rows] = _mm512_add_epi32(sums[rows], _mm512_cvtepu16_epi32(sixteen));
        }
    }
    sums
}

/// Loads the addends and the factors for the values of rows `16 * sixteen..16 * sixteen + 16`.
#[target_feature(enable = "avx512f")]
#[inline]
fn load_factors(factors: &Factors, sixteen: usize) -> (__m512, __m512) {
    let (add, scale) = (&factors.0[sixteen * 64..][..64], &factors.0[128 + sixteen * 64..][..64]);
    // SAFETY: both slices are 64 bytes, sixteen f32 each.
    unsafe { (_mm512_loadu_ps(add.as_ptr().cast()), _mm512_loadu_ps(scale.as_ptr().cast())) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
#[inline]
fn add_lanes(words: __m512i) -> __m128i {
    let two = _mm256_add_epi16(_mm512_castsi512_si256(words), _mm512_extracti64x4_epi64::<1>(words));
    _mm_add_epi16(_mm256_castsi256_si128(two), _mm256_extracti128_si256::<1>(two))
}
