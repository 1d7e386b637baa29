//! AVX-512 (F, BW, VL, VNNI). Callers have checked lengths and CPU; loads are unaligned, tails are masked.

use std::arch::x86_64::*;

use crate::fast_scan::{BLOCK_ROWS, Factors, GROUPS_PER_U16, LookupTable};

/// # Safety
/// The CPU has AVX-512F; both slices are equally long.
#[target_feature(enable = "avx512f")]
pub(crate) unsafe fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [_mm512_setzero_ps(); 4];
    let whole = a.len() / 64 * 64;
    for i in (0..whole).step_by(64) {
        for (lane, sum) in sums.iter_mut().enumerate() {
            // SAFETY: i + 64 <= whole <= the length of both slices, and lane < 4.
            let (x, y) = unsafe { (load_f32(a, i + lane * 16), load_f32(b, i + lane * 16)) };
            *sum = _mm512_fmadd_ps(x, y, *sum);
        }
    }
    for i in (whole..a.len()).step_by(16) {
        // SAFETY: the masks leave out everything behind the end of the slices.
        let (x, y) = unsafe { (load_f32_tail(a, i), load_f32_tail(b, i)) };
        sums[0] = _mm512_fmadd_ps(x, y, sums[0]);
    }
    add_four(sums)
}

/// # Safety
/// The CPU has AVX-512F; both slices are equally long.
#[target_feature(enable = "avx512f")]
pub(crate) unsafe fn l2_squared(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [_mm512_setzero_ps(); 4];
    let whole = a.len() / 64 * 64;
    for i in (0..whole).step_by(64) {
        for (lane, sum) in sums.iter_mut().enumerate() {
            // SAFETY: i + 64 <= whole <= the length of both slices, and lane < 4.
            let (x, y) = unsafe { (load_f32(a, i + lane * 16), load_f32(b, i + lane * 16)) };
            let difference = _mm512_sub_ps(x, y);
            *sum = _mm512_fmadd_ps(difference, difference, *sum);
        }
    }
    for i in (whole..a.len()).step_by(16) {
        // SAFETY: the masks leave out everything behind the end of the slices.
        let (x, y) = unsafe { (load_f32_tail(a, i), load_f32_tail(b, i)) };
        let difference = _mm512_sub_ps(x, y);
        sums[0] = _mm512_fmadd_ps(difference, difference, sums[0]);
    }
    add_four(sums)
}

/// # Safety
/// The CPU has AVX-512 F and BW; both slices are equally long.
#[target_feature(enable = "avx512f,avx512bw")]
pub(crate) unsafe fn dot_i8(a: &[i8], b: &[i8]) -> i32 {
    let mut sum = _mm512_setzero_si512();
    let whole = a.len() / 32 * 32;
    for i in (0..whole).step_by(32) {
        // SAFETY: i + 32 <= whole <= the length of both slices, one byte an element.
        let (x, y) =
            unsafe { (_mm256_loadu_si256(a.as_ptr().add(i).cast()), _mm256_loadu_si256(b.as_ptr().add(i).cast())) };
        let products = _mm512_madd_epi16(_mm512_cvtepi8_epi16(x), _mm512_cvtepi8_epi16(y));
        sum = _mm512_add_epi32(sum, products);
    }
    _mm512_reduce_add_epi32(sum) + crate::scalar::dot_i8(&a[whole..], &b[whole..])
}

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
        total += crate::scalar::dot_i8_i16(&codes[whole..], &query[whole..]);
    }
    total
}

/// # Safety
/// The CPU has AVX-512 F, BW, VL and VNNI; `query` is a multiple of 64 long and `codes` half of it.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
pub(crate) unsafe fn dot_u4_i8(codes: &[u8], query: &[i8]) -> i32 {
    let half = _mm512_set1_epi8(15);
    let shifts = _mm512_set_epi64(4, 4, 4, 4, 0, 0, 0, 0);
    let mut sum = _mm512_setzero_si512();
    for chunk in 0..query.len() / 64 {
        // SAFETY: chunk * 64 + 64 <= query.len() and chunk * 32 + 32 <= codes.len().
        let (bytes, query) = unsafe {
            (
                _mm256_loadu_si256(codes.as_ptr().add(chunk * 32).cast()),
                _mm512_loadu_si512(query.as_ptr().add(chunk * 64).cast()),
            )
        };
        // Both copies of the 32 bytes, the upper one shifted to its high halves: 64 codes in the order of the dimensions.
        let codes = _mm512_and_si512(_mm512_srlv_epi64(_mm512_broadcast_i64x4(bytes), shifts), half);
        sum = _mm512_dpbusd_epi32(sum, codes, query);
    }
    _mm512_reduce_add_epi32(sum)
}

/// # Safety
/// The CPU has AVX-512 F, BW and VL; `codes` is as long as the table's entries, a multiple of 256.
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
pub(crate) unsafe fn scan_block(
    codes: &[u8],
    table: &LookupTable,
    factors: &Factors,
    threshold: f32,
    out: &mut [f32; BLOCK_ROWS],
) -> u32 {
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
    let (step, bias) = (_mm512_set1_ps(table.step), _mm512_set1_ps(table.bias));
    let mut above = 0;
    for (rows, sum) in sums.into_iter().enumerate() {
        // SAFETY: `factors` is 256 bytes: sixteen f32 at 64 * rows (< 128) and again 128 further on.
        let (add, scale) = unsafe {
            (
                _mm512_loadu_ps(factors.0.as_ptr().add(rows * 64).cast()),
                _mm512_loadu_ps(factors.0.as_ptr().add(128 + rows * 64).cast()),
            )
        };
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

#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
#[inline]
fn add_lanes(words: __m512i) -> __m128i {
    let two = _mm256_add_epi16(_mm512_castsi512_si256(words), _mm512_extracti64x4_epi64::<1>(words));
    _mm_add_epi16(_mm256_castsi256_si128(two), _mm256_extracti128_si256::<1>(two))
}

/// # Safety
/// `at + 16 <= slice.len()`.
#[target_feature(enable = "avx512f")]
#[inline]
unsafe fn load_f32(slice: &[f32], at: usize) -> __m512 {
    // SAFETY: the caller's promise.
    unsafe { _mm512_loadu_ps(slice.as_ptr().add(at)) }
}

/// Up to sixteen elements from `at`, zeros behind the end.
///
/// # Safety
/// `at < slice.len()`.
#[target_feature(enable = "avx512f")]
#[inline]
unsafe fn load_f32_tail(slice: &[f32], at: usize) -> __m512 {
    let elements = (slice.len() - at).min(16);
    let mask = (u32::MAX >> (32 - elements)) as __mmask16;
    // SAFETY: the mask admits `elements` elements, all of them within the slice; masked-out lanes are not read.
    unsafe { _mm512_maskz_loadu_ps(mask, slice.as_ptr().add(at)) }
}

#[target_feature(enable = "avx512f")]
#[inline]
fn add_four(sums: [__m512; 4]) -> f32 {
    _mm512_reduce_add_ps(_mm512_add_ps(_mm512_add_ps(sums[0], sums[1]), _mm512_add_ps(sums[2], sums[3])))
}
