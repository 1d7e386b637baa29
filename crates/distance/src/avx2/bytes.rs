//! Exact sums of integer products, widened to 16 bits where a pair of products could overflow.

use std::arch::x86_64::*;

use crate::scalar;

/// # Safety
/// The CPU has AVX2; both slices are equally long.
#[target_feature(enable = "avx2")]
pub(crate) unsafe fn dot_i8(a: &[i8], b: &[i8]) -> i32 {
    let mut sums = [_mm256_setzero_si256(); 2];
    let whole = a.len() / 32 * 32;
    for i in (0..whole).step_by(32) {
        for (half, sum) in sums.iter_mut().enumerate() {
            // SAFETY: i + 32 <= whole <= the length of both slices, one byte an element, and half < 2.
            let (x, y) = unsafe { (load_16(a, i + half * 16), load_16(b, i + half * 16)) };
            *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(_mm256_cvtepi8_epi16(x), _mm256_cvtepi8_epi16(y)));
        }
    }
    add_i32(_mm256_add_epi32(sums[0], sums[1])) + scalar::dot_i8(&a[whole..], &b[whole..])
}

/// # Safety
/// The CPU has AVX2; both slices are equally long.
#[target_feature(enable = "avx2")]
pub(crate) unsafe fn dot_u8(a: &[u8], b: &[u8]) -> i32 {
    let mut sums = [_mm256_setzero_si256(); 2];
    let whole = a.len() / 32 * 32;
    for i in (0..whole).step_by(32) {
        for (half, sum) in sums.iter_mut().enumerate() {
            // SAFETY: i + 32 <= whole <= the length of both slices, one byte an element, and half < 2.
            let (x, y) = unsafe { (load_16(a, i + half * 16), load_16(b, i + half * 16)) };
            *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(_mm256_cvtepu8_epi16(x), _mm256_cvtepu8_epi16(y)));
        }
    }
    add_i32(_mm256_add_epi32(sums[0], sums[1])) + scalar::dot_u8(&a[whole..], &b[whole..])
}

/// # Safety
/// The CPU has AVX2; both slices are equally long.
#[target_feature(enable = "avx2")]
pub(crate) unsafe fn l2_squared_i8(a: &[i8], b: &[i8]) -> i32 {
    // Both counted from -128: the same differences between bytes without a sign.
    let from_least = _mm256_set1_epi8(i8::MIN);
    let mut sum = _mm256_setzero_si256();
    let whole = a.len() / 32 * 32;
    for i in (0..whole).step_by(32) {
        // SAFETY: i + 32 <= whole <= the length of both slices, one byte an element.
        let (x, y) = unsafe { (load_32(a, i), load_32(b, i)) };
        sum = add_squares(sum, _mm256_xor_si256(x, from_least), _mm256_xor_si256(y, from_least));
    }
    add_i32(sum) + scalar::l2_squared_i8(&a[whole..], &b[whole..])
}

/// # Safety
/// The CPU has AVX2; both slices are equally long.
#[target_feature(enable = "avx2")]
pub(crate) unsafe fn l2_squared_u8(a: &[u8], b: &[u8]) -> i32 {
    let mut sum = _mm256_setzero_si256();
    let whole = a.len() / 32 * 32;
    for i in (0..whole).step_by(32) {
        // SAFETY: i + 32 <= whole <= the length of both slices, one byte an element.
        let (x, y) = unsafe { (load_32(a, i), load_32(b, i)) };
        sum = add_squares(sum, x, y);
    }
    add_i32(sum) + scalar::l2_squared_u8(&a[whole..], &b[whole..])
}

/// Bits counted by table, sixteen patterns of four at a time: Muła, Kurz, Lemire, "Faster population counts using AVX2
/// instructions" (2018).
///
/// # Safety
/// The CPU has AVX2 and POPCNT; both slices are equally long.
#[target_feature(enable = "avx2,popcnt")]
pub(crate) unsafe fn hamming(a: &[u8], b: &[u8]) -> u32 {
    let half = _mm256_set1_epi8(15);
    let bits = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
    let mut sum = _mm256_setzero_si256();
    let whole = a.len() / 32 * 32;
    for i in (0..whole).step_by(32) {
        // SAFETY: i + 32 <= whole <= the length of both slices.
        let (x, y) = unsafe { (load_32(a, i), load_32(b, i)) };
        let differing = _mm256_xor_si256(x, y);
        let low = _mm256_shuffle_epi8(bits, _mm256_and_si256(differing, half));
        let high = _mm256_shuffle_epi8(bits, _mm256_and_si256(_mm256_srli_epi16::<4>(differing), half));
        sum = _mm256_add_epi64(sum, _mm256_sad_epu8(_mm256_add_epi8(low, high), _mm256_setzero_si256()));
    }
    // A distance fits 32 bits, so the upper halves of the four sums are zero.
    add_i32(sum) as u32 + scalar::hamming(&a[whole..], &b[whole..])
}

/// # Safety
/// The CPU has POPCNT.
#[target_feature(enable = "avx2,popcnt")]
pub(crate) unsafe fn add_hamming(word: u64, words: &[u64], counts: &mut [u16]) {
    scalar::add_hamming(word, words, counts);
}

/// `sum` plus the squares of the differences of unsigned bytes.
#[target_feature(enable = "avx2")]
#[inline]
fn add_squares(sum: __m256i, x: __m256i, y: __m256i) -> __m256i {
    let zero = _mm256_setzero_si256();
    // One of the two saturates to zero, the other is the absolute difference.
    let difference = _mm256_or_si256(_mm256_subs_epu8(x, y), _mm256_subs_epu8(y, x));
    let (low, high) = (_mm256_unpacklo_epi8(difference, zero), _mm256_unpackhi_epi8(difference, zero));
    _mm256_add_epi32(sum, _mm256_add_epi32(_mm256_madd_epi16(low, low), _mm256_madd_epi16(high, high)))
}

/// # Safety
/// `T` is one byte and `at + 16 <= slice.len()`.
#[target_feature(enable = "avx2")]
#[inline]
unsafe fn load_16<T>(slice: &[T], at: usize) -> __m128i {
    // SAFETY: the caller's promise.
    unsafe { _mm_loadu_si128(slice.as_ptr().add(at).cast()) }
}

/// # Safety
/// `T` is one byte and `at + 32 <= slice.len()`.
#[target_feature(enable = "avx2")]
#[inline]
unsafe fn load_32<T>(slice: &[T], at: usize) -> __m256i {
    // SAFETY: the caller's promise.
    unsafe { _mm256_loadu_si256(slice.as_ptr().add(at).cast()) }
}

/// The sum of the lanes.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn add_i32(sum: __m256i) -> i32 {
    let four = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256::<1>(sum));
    let two = _mm_add_epi32(four, _mm_shuffle_epi32::<0b01_00_11_10>(four));
    _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32::<0b10_11_00_01>(two)))
}
