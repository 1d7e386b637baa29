//! Exact sums of integer products. VNNI multiplies unsigned by signed bytes, so one side is shifted by 128 and the shift
//! taken back. Zeros, which fill up the rest of a vector, add nothing.

use std::arch::x86_64::*;

use super::keep_last;
use crate::{avx2, scalar};

/// # Safety
/// The CPU has AVX-512 F, BW and VNNI, and AVX2; both slices are equally long.
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
pub(crate) unsafe fn dot_i8(a: &[i8], b: &[i8]) -> i32 {
    if a.len() < 64 {
        // SAFETY: the caller's promise.
        return unsafe { avx2::dot_i8(a, b) };
    }
    let shift = _mm512_set1_epi8(i8::MIN);
    // (a + 128) * b and, apart, 128 * b: two chains of either, so that no multiplication waits for the one before.
    let (mut shifted, mut shifts) = ([_mm512_setzero_si512(); 2], [_mm512_setzero_si512(); 2]);
    let whole = a.len() / 128 * 128;
    for i in (0..whole).step_by(128) {
        for chain in 0..2 {
            // SAFETY: i + 128 <= whole <= the length of both slices, one byte an element, and chain < 2.
            let (x, y) = unsafe { (load(a, i + chain * 64), load(b, i + chain * 64)) };
            shifted[chain] = _mm512_dpbusd_epi32(shifted[chain], _mm512_xor_si512(x, shift), y);
            shifts[chain] = _mm512_dpbusd_epi32(shifts[chain], shift, y);
        }
    }
    let mut add = |x, y| {
        shifted[0] = _mm512_dpbusd_epi32(shifted[0], _mm512_xor_si512(x, shift), y);
        shifts[0] = _mm512_dpbusd_epi32(shifts[0], shift, y);
    };
    let mut at = whole;
    if at + 64 <= a.len() {
        // SAFETY: just compared.
        unsafe { add(load(a, at), load(b, at)) };
        at += 64;
    }
    if at < a.len() {
        // SAFETY: at < a.len() < at + 64, and a.len() >= 64.
        unsafe { add(load_tail(a, at), load_tail(b, at)) };
    }
    let (shifted, shifts) = (_mm512_add_epi32(shifted[0], shifted[1]), _mm512_add_epi32(shifts[0], shifts[1]));
    _mm512_reduce_add_epi32(_mm512_sub_epi32(shifted, shifts))
}

/// # Safety
/// The CPU has AVX-512 F, BW and VNNI, and AVX2; both slices are equally long.
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
pub(crate) unsafe fn dot_u8(a: &[u8], b: &[u8]) -> i32 {
    if a.len() < 64 {
        // SAFETY: the caller's promise.
        return unsafe { avx2::dot_u8(a, b) };
    }
    let (shift, ones) = (_mm512_set1_epi8(i8::MIN), _mm512_set1_epi8(1));
    // a * (b - 128) and, apart, the sum of a.
    let (mut shifted, mut sum) = (_mm512_setzero_si512(), _mm512_setzero_si512());
    let whole = a.len() / 64 * 64;
    for i in (0..whole).step_by(64) {
        // SAFETY: i + 64 <= whole <= the length of both slices, one byte an element.
        let (x, y) = unsafe { (load(a, i), load(b, i)) };
        shifted = _mm512_dpbusd_epi32(shifted, x, _mm512_xor_si512(y, shift));
        sum = _mm512_dpbusd_epi32(sum, x, ones);
    }
    if whole < a.len() {
        // SAFETY: whole < a.len() < whole + 64, and a.len() >= 64.
        let (x, y) = unsafe { (load_tail(a, whole), load_tail(b, whole)) };
        shifted = _mm512_dpbusd_epi32(shifted, x, _mm512_xor_si512(y, shift));
        sum = _mm512_dpbusd_epi32(sum, x, ones);
    }
    _mm512_reduce_add_epi32(_mm512_add_epi32(shifted, _mm512_slli_epi32::<7>(sum)))
}

/// # Safety
/// The CPU has AVX-512 F, BW and VNNI, and AVX2; both slices are equally long.
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
pub(crate) unsafe fn l2_squared_i8(a: &[i8], b: &[i8]) -> i32 {
    if a.len() < 64 {
        // SAFETY: the caller's promise.
        return unsafe { avx2::l2_squared_i8(a, b) };
    }
    // Both counted from -128: the same differences between bytes without a sign.
    let from_least = _mm512_set1_epi8(i8::MIN);
    let mut sums = [_mm512_setzero_si512(); 2];
    let whole = a.len() / 64 * 64;
    for i in (0..whole).step_by(64) {
        // SAFETY: i + 64 <= whole <= the length of both slices, one byte an element.
        let (x, y) = unsafe { (load(a, i), load(b, i)) };
        add_squares(&mut sums, _mm512_xor_si512(x, from_least), _mm512_xor_si512(y, from_least));
    }
    if whole < a.len() {
        // SAFETY: whole < a.len() < whole + 64, and a.len() >= 64.
        let (x, y) = unsafe { (load_tail(a, whole), load_tail(b, whole)) };
        add_squares(&mut sums, _mm512_xor_si512(x, from_least), _mm512_xor_si512(y, from_least));
    }
    _mm512_reduce_add_epi32(_mm512_add_epi32(sums[0], sums[1]))
}

/// # Safety
/// The CPU has AVX-512 F, BW and VNNI, and AVX2; both slices are equally long.
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
pub(crate) unsafe fn l2_squared_u8(a: &[u8], b: &[u8]) -> i32 {
    if a.len() < 64 {
        // SAFETY: the caller's promise.
        return unsafe { avx2::l2_squared_u8(a, b) };
    }
    let mut sums = [_mm512_setzero_si512(); 2];
    let whole = a.len() / 64 * 64;
    for i in (0..whole).step_by(64) {
        // SAFETY: i + 64 <= whole <= the length of both slices, one byte an element.
        let (x, y) = unsafe { (load(a, i), load(b, i)) };
        add_squares(&mut sums, x, y);
    }
    if whole < a.len() {
        // SAFETY: whole < a.len() < whole + 64, and a.len() >= 64.
        let (x, y) = unsafe { (load_tail(a, whole), load_tail(b, whole)) };
        add_squares(&mut sums, x, y);
    }
    _mm512_reduce_add_epi32(_mm512_add_epi32(sums[0], sums[1]))
}

/// # Safety
/// The CPU has AVX-512 F and BW, AVX2 and POPCNT; both slices are equally long.
#[target_feature(enable = "avx512f,avx512bw")]
pub(crate) unsafe fn hamming(a: &[u8], b: &[u8]) -> u32 {
    // The first Xeons with VNNI count no bits in vectors.
    if a.len() >= 64 && is_x86_feature_detected!("avx512vpopcntdq") {
        // SAFETY: just detected and compared; the caller's promise for the lengths.
        unsafe { hamming_popcnt(a, b) }
    } else {
        // SAFETY: the caller's promise.
        unsafe { avx2::hamming(a, b) }
    }
}

/// # Safety
/// The CPU has AVX-512 F, BW and VPOPCNTDQ; both slices are equally long and at least 64.
#[target_feature(enable = "avx512f,avx512bw,avx512vpopcntdq")]
unsafe fn hamming_popcnt(a: &[u8], b: &[u8]) -> u32 {
    let mut sum = _mm512_setzero_si512();
    let whole = a.len() / 64 * 64;
    for i in (0..whole).step_by(64) {
        // SAFETY: i + 64 <= whole <= the length of both slices.
        let (x, y) = unsafe { (load(a, i), load(b, i)) };
        sum = _mm512_add_epi64(sum, _mm512_popcnt_epi64(_mm512_xor_si512(x, y)));
    }
    if whole < a.len() {
        // SAFETY: whole < a.len() < whole + 64, and a.len() >= 64.
        let (x, y) = unsafe { (load_tail(a, whole), load_tail(b, whole)) };
        sum = _mm512_add_epi64(sum, _mm512_popcnt_epi64(_mm512_xor_si512(x, y)));
    }
    _mm512_reduce_add_epi64(sum) as u32
}

/// # Safety
/// The CPU has AVX-512 F, BW and VL, AVX2 and POPCNT.
#[target_feature(enable = "avx512f,avx512bw")]
pub(crate) unsafe fn add_hamming(word: u64, words: &[u64], counts: &mut [u16]) {
    if is_x86_feature_detected!("avx512vpopcntdq") {
        // SAFETY: just detected.
        unsafe { add_hamming_popcnt(word, words, counts) }
    } else {
        // SAFETY: the caller's promise.
        unsafe { avx2::add_hamming(word, words, counts) }
    }
}

/// # Safety
/// The CPU has AVX-512 F, BW, VL and VPOPCNTDQ.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vpopcntdq")]
unsafe fn add_hamming_popcnt(word: u64, words: &[u64], counts: &mut [u16]) {
    scalar::add_hamming(word, words, counts);
}

/// Adds the squares of the differences of unsigned bytes, in two chains.
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
#[inline]
fn add_squares(sums: &mut [__m512i; 2], x: __m512i, y: __m512i) {
    let zero = _mm512_setzero_si512();
    // One of the two saturates to zero, the other is the absolute difference.
    let difference = _mm512_or_si512(_mm512_subs_epu8(x, y), _mm512_subs_epu8(y, x));
    let (low, high) = (_mm512_unpacklo_epi8(difference, zero), _mm512_unpackhi_epi8(difference, zero));
    sums[0] = _mm512_dpwssd_epi32(sums[0], low, low);
    sums[1] = _mm512_dpwssd_epi32(sums[1], high, high);
}

/// # Safety
/// `T` is one byte and `at + 64 <= slice.len()`.
#[target_feature(enable = "avx512f")]
#[inline]
pub(super) unsafe fn load<T>(slice: &[T], at: usize) -> __m512i {
    // SAFETY: the caller's promise.
    unsafe { _mm512_loadu_si512(slice.as_ptr().add(at).cast()) }
}

/// Zeros and then the bytes from `at` to the end.
///
/// # Safety
/// `T` is one byte, `at < slice.len() < at + 64` and `slice.len() >= 64`.
#[target_feature(enable = "avx512f")]
#[inline]
pub(super) unsafe fn load_tail<T>(slice: &[T], at: usize) -> __m512i {
    // SAFETY: the 64 bytes before the slice's end.
    keep_last(unsafe { load(slice, slice.len() - 64) }, slice.len() - at)
}
