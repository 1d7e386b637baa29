//! AVX2 + FMA. Callers have checked lengths and CPU; loads are unaligned.

use std::arch::x86_64::*;

use crate::fast_scan::{BLOCK_ROWS, Factors, GROUPS_PER_U16, LookupTable};

/// # Safety
/// The CPU has AVX2 and FMA; both slices are equally long.
#[target_feature(enable = "avx2,fma")]
pub(crate) unsafe fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [_mm256_setzero_ps(); 4];
    let whole = a.len() / 32 * 32;
    for i in (0..whole).step_by(32) {
        for (lane, sum) in sums.iter_mut().enumerate() {
            // SAFETY: i + 32 <= whole <= the length of both slices, and lane < 4.
            let (x, y) = unsafe { (load_f32(a, i + lane * 8), load_f32(b, i + lane * 8)) };
            *sum = _mm256_fmadd_ps(x, y, *sum);
        }
    }
    add_four(sums) + crate::scalar::dot(&a[whole..], &b[whole..])
}

/// # Safety
/// The CPU has AVX2 and FMA; both slices are equally long.
#[target_feature(enable = "avx2,fma")]
pub(crate) unsafe fn l2_squared(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [_mm256_setzero_ps(); 4];
    let whole = a.len() / 32 * 32;
    for i in (0..whole).step_by(32) {
        for (lane, sum) in sums.iter_mut().enumerate() {
            // SAFETY: i + 32 <= whole <= the length of both slices, and lane < 4.
            let (x, y) = unsafe { (load_f32(a, i + lane * 8), load_f32(b, i + lane * 8)) };
            let difference = _mm256_sub_ps(x, y);
            *sum = _mm256_fmadd_ps(difference, difference, *sum);
        }
    }
    add_four(sums) + crate::scalar::l2_squared(&a[whole..], &b[whole..])
}

/// # Safety
/// The CPU has AVX2; both slices are equally long.
#[target_feature(enable = "avx2")]
pub(crate) unsafe fn dot_i8(a: &[i8], b: &[i8]) -> i32 {
    let mut sum = _mm256_setzero_si256();
    let whole = a.len() / 16 * 16;
    for i in (0..whole).step_by(16) {
        // SAFETY: i + 16 <= whole <= the length of both slices, one byte an element.
        let (x, y) = unsafe { (_mm_loadu_si128(a.as_ptr().add(i).cast()), _mm_loadu_si128(b.as_ptr().add(i).cast())) };
        let products = _mm256_madd_epi16(_mm256_cvtepi8_epi16(x), _mm256_cvtepi8_epi16(y));
        sum = _mm256_add_epi32(sum, products);
    }
    add_i32(sum) + crate::scalar::dot_i8(&a[whole..], &b[whole..])
}

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
        total += i64::from(add_i32(sum)) + crate::scalar::dot_i8_i16(&codes[whole..], &query[whole..]);
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
/// The CPU has AVX2; `codes` is as long as the table's entries, a multiple of 256.
#[target_feature(enable = "avx2")]
pub(crate) unsafe fn scan_block(
    codes: &[u8],
    table: &LookupTable,
    factors: &Factors,
    threshold: f32,
    out: &mut [f32; BLOCK_ROWS],
) -> u32 {
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
    let (step, bias) = (_mm256_set1_ps(table.step), _mm256_set1_ps(table.bias));
    let mut above = 0;
    for (eight, sum) in sums.into_iter().enumerate() {
        // SAFETY: `factors` is 256 bytes: eight f32 at 32 * eight (< 128) and again 128 further on.
        let (add, scale) = unsafe {
            (
                _mm256_loadu_ps(factors.0.as_ptr().add(eight * 32).cast()),
                _mm256_loadu_ps(factors.0.as_ptr().add(128 + eight * 32).cast()),
            )
        };
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
/// `at + 8 <= slice.len()`.
#[target_feature(enable = "avx2")]
#[inline]
unsafe fn load_f32(slice: &[f32], at: usize) -> __m256 {
    // SAFETY: the caller's promise.
    unsafe { _mm256_loadu_ps(slice.as_ptr().add(at)) }
}

#[target_feature(enable = "avx2")]
#[inline]
fn add_four(sums: [__m256; 4]) -> f32 {
    let sum = _mm256_add_ps(_mm256_add_ps(sums[0], sums[1]), _mm256_add_ps(sums[2], sums[3]));
    let four = _mm_add_ps(_mm256_castps256_ps128(sum), _mm256_extractf128_ps::<1>(sum));
    let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)))
}

#[target_feature(enable = "avx2")]
#[inline]
fn add_i32(sum: __m256i) -> i32 {
    let four = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256::<1>(sum));
    let two = _mm_add_epi32(four, _mm_shuffle_epi32::<0b01_00_11_10>(four));
    _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32::<0b10_11_00_01>(two)))
}
