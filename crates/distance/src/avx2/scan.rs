//! The fast scan: 32 bytes, two groups of four dimensions of sixteen rows in either half, at a time.

use std::arch::x86_64::*;

use crate::fast_scan::{BLOCK_ROWS, Factors, GROUPS_PER_U16, LookupTable};

/// # Safety
/// The CPU has AVX2; `codes` is as long as the table's entries, a multiple of 64.
#[target_feature(enable = "avx2")]
pub(crate) unsafe fn scan_block(
    codes: &[u8],
    table: &LookupTable,
    factors: &Factors,
    threshold: f32,
    out: &mut [f32; BLOCK_ROWS],
) -> u32 {
    // SAFETY: the caller's promise.
    let sums = unsafe { sum_entries(codes, table) };
    let (step, bias) = (_mm256_set1_ps(table.step), _mm256_set1_ps(table.bias));
    let mut above = 0;
    for (eight, sum) in sums.into_iter().enumerate() {
        let (add, scale) = load_factors(factors, eight);
        // Multiply and add apart, as the scalar code does: a fused one would round differently.
        let value = _mm256_add_ps(_mm256_mul_ps(step, _mm256_cvtepi32_ps(sum)), bias);
        let estimate = _mm256_add_ps(add, _mm256_mul_ps(scale, value));
        // SAFETY: `out` has 32 elements and eight < 4.
        unsafe { _mm256_storeu_ps(out.as_mut_ptr().add(eight * 8), estimate) };
        let greater = _mm256_cmp_ps::<_CMP_GT_OQ>(estimate, _mm256_set1_ps(threshold));
        above |= (_mm256_movemask_ps(greater) as u32) << (eight * 8);
    }
    above
}

/// # Safety
/// The CPU has AVX2; `high` and `low` are as long as the table's entries, a multiple of 64.
#[target_feature(enable = "avx2")]
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
            *sum = _mm256_add_epi32(_mm256_add_epi32(*sum, *sum), low);
        }
    }
    let (step, bias) = table.units(1 + usize::from(low.is_some()));
    let (step, bias, base) = (_mm256_set1_ps(step), _mm256_set1_ps(bias), _mm256_set1_ps(base));
    let mut above = 0;
    for (eight, sum) in sums.into_iter().enumerate() {
        let (add, scale) = load_factors(factors, eight);
        let value = _mm256_add_ps(_mm256_mul_ps(step, _mm256_cvtepi32_ps(sum)), bias);
        let estimate = _mm256_add_ps(_mm256_add_ps(base, add), _mm256_mul_ps(scale, value));
        // SAFETY: `out` has 32 elements and eight < 4.
        unsafe { _mm256_storeu_ps(out.as_mut_ptr().add(eight * 8), estimate) };
        let greater = _mm256_cmp_ps::<_CMP_GT_OQ>(estimate, _mm256_set1_ps(threshold));
        above |= (_mm256_movemask_ps(greater) as u32) << (eight * 8);
    }
    above
}

/// Each row's sum of the entries that its codes look up, eight rows a register.
///
/// # Safety
/// `codes` is as long as the table's entries, a multiple of 64.
#[target_feature(enable = "avx2")]
#[inline]
unsafe fn sum_entries(codes: &[u8], table: &LookupTable) -> [__m256i; 4] {
    let half = _mm256_set1_epi8(15);
    let mut sums = [_mm256_setzero_si256(); 4];
    for (codes, entries) in codes.chunks(GROUPS_PER_U16 * 16).zip(table.entries.chunks(GROUPS_PER_U16 * 16)) {
        // Per half: sums of whole 16-bit words and of their high bytes; the low bytes follow from both (modulo 2^16).
        let mut words = [_mm256_setzero_si256(); 2];
        let mut highs = [_mm256_setzero_si256(); 2];
        for i in (0..codes.len()).step_by(32) {
            // SAFETY: both slices are equally long multiples of 32 bytes, so i + 32 is within them.
            let (bytes, entries) = unsafe {
                (_mm256_loadu_si256(codes.as_ptr().add(i).cast()), _mm256_loadu_si256(entries.as_ptr().add(i).cast()))
            };
            let patterns = [_mm256_and_si256(bytes, half), _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), half)];
            for rows in 0..2 {
                let values = _mm256_shuffle_epi8(entries, patterns[rows]);
                words[rows] = _mm256_add_epi16(words[rows], values);
                highs[rows] = _mm256_add_epi16(highs[rows], _mm256_srli_epi16::<8>(values));
            }
        }
        for rows in 0..2 {
            let even = _mm256_sub_epi16(words[rows], _mm256_slli_epi16::<8>(highs[rows]));
            // The two 128-bit lanes took alternating groups: added, they hold rows 0, 2, .. and 1, 3, .. of sixteen.
            let even = _mm_add_epi16(_mm256_castsi256_si128(even), _mm256_extracti128_si256::<1>(even));
            let odd = _mm_add_epi16(_mm256_castsi256_si128(highs[rows]), _mm256_extracti128_si256::<1>(highs[rows]));
            let first = _mm256_cvtepu16_epi32(_mm_unpacklo_epi16(even, odd));
            let second = _mm256_cvtepu16_epi32(_mm_unpackhi_epi16(even, odd));
            sums[rows * 2] = _mm256_add_epi32(sums[rows * 2], first);
            sums[rows * 2 + 1] = _mm256_add_epi32(sums[rows * 2 + 1], second);
        }
    }
    sums
}

/// Loads the addends and the factors for the values of rows `8 * eight..8 * eight + 8`.
#[target_feature(enable = "avx2")]
#[inline]
fn load_factors(factors: &Factors, eight: usize) -> (__m256, __m256) {
    let (add, scale) = (&factors.0[eight * 32..][..32], &factors.0[128 + eight * 32..][..32]);
    // SAFETY: both slices are 32 bytes, eight f32 each.
    unsafe { (_mm256_loadu_ps(add.as_ptr().cast()), _mm256_loadu_ps(scale.as_ptr().cast())) }
}
