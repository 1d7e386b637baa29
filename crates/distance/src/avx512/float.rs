//! Sums of `f32` products: four registers of sixteen, added at the end.

use std::arch::x86_64::*;

use super::keep_last;
use crate::scalar;

/// # Safety
/// The CPU has AVX-512F; both slices are equally long.
#[target_feature(enable = "avx512f")]
pub(crate) unsafe fn dot(a: &[f32], b: &[f32]) -> f32 {
    if a.len() < 16 {
        return scalar::dot(a, b);
    }
    let mut sums = [_mm512_setzero_ps(); 4];
    let whole = a.len() / 64 * 64;
    for i in (0..whole).step_by(64) {
        for (lane, sum) in sums.iter_mut().enumerate() {
            // SAFETY: i + 64 <= whole <= the length of both slices, and lane < 4.
            let (x, y) = unsafe { (load_f32(a, i + lane * 16), load_f32(b, i + lane * 16)) };
            *sum = _mm512_fmadd_ps(x, y, *sum);
        }
    }
    let mut at = whole;
    while at + 16 <= a.len() {
        // SAFETY: just compared.
        let (x, y) = unsafe { (load_f32(a, at), load_f32(b, at)) };
        sums[0] = _mm512_fmadd_ps(x, y, sums[0]);
        at += 16;
    }
    if at < a.len() {
        // SAFETY: a.len() >= 16.
        let (x, y) = unsafe { (load_f32(a, a.len() - 16), load_f32(b, a.len() - 16)) };
        let (x, y) = (keep_last_f32(x, a.len() - at), keep_last_f32(y, a.len() - at));
        sums[1] = _mm512_fmadd_ps(x, y, sums[1]);
    }
    add_four(sums)
}

/// # Safety
/// The CPU has AVX-512F; both slices are equally long.
#[target_feature(enable = "avx512f")]
pub(crate) unsafe fn l2_squared(a: &[f32], b: &[f32]) -> f32 {
    if a.len() < 16 {
        return scalar::l2_squared(a, b);
    }
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
    let mut at = whole;
    while at + 16 <= a.len() {
        // SAFETY: just compared.
        let (x, y) = unsafe { (load_f32(a, at), load_f32(b, at)) };
        let difference = _mm512_sub_ps(x, y);
        sums[0] = _mm512_fmadd_ps(difference, difference, sums[0]);
        at += 16;
    }
    if at < a.len() {
        // SAFETY: a.len() >= 16.
        let (x, y) = unsafe { (load_f32(a, a.len() - 16), load_f32(b, a.len() - 16)) };
        let (x, y) = (keep_last_f32(x, a.len() - at), keep_last_f32(y, a.len() - at));
        let difference = _mm512_sub_ps(x, y);
        sums[1] = _mm512_fmadd_ps(difference, difference, sums[1]);
    }
    add_four(sums)
}

/// # Safety
/// The CPU has AVX-512F; both slices are equally long.
#[target_feature(enable = "avx512f")]
pub(crate) unsafe fn dot_f16(a: &[u16], b: &[f32]) -> f32 {
    if a.len() < 16 {
        return scalar::dot_f16(a, b);
    }
    let mut sums = [_mm512_setzero_ps(); 4];
    let whole = a.len() / 64 * 64;
    for i in (0..whole).step_by(64) {
        for (lane, sum) in sums.iter_mut().enumerate() {
            // SAFETY: i + 64 <= whole <= the length of both slices, and lane < 4.
            let (x, y) = unsafe { (load_f16(a, i + lane * 16), load_f32(b, i + lane * 16)) };
            *sum = _mm512_fmadd_ps(x, y, *sum);
        }
    }
    let mut at = whole;
    while at + 16 <= a.len() {
        // SAFETY: just compared.
        let (x, y) = unsafe { (load_f16(a, at), load_f32(b, at)) };
        sums[0] = _mm512_fmadd_ps(x, y, sums[0]);
        at += 16;
    }
    if at < a.len() {
        // SAFETY: a.len() >= 16.
        let (x, y) = unsafe { (load_f16(a, a.len() - 16), load_f32(b, a.len() - 16)) };
        let (x, y) = (keep_last_f32(x, a.len() - at), keep_last_f32(y, a.len() - at));
        sums[1] = _mm512_fmadd_ps(x, y, sums[1]);
    }
    add_four(sums)
}

/// # Safety
/// The CPU has AVX-512F; both slices are equally long.
#[target_feature(enable = "avx512f")]
pub(crate) unsafe fn l2_squared_f16(a: &[u16], b: &[f32]) -> f32 {
    if a.len() < 16 {
        return scalar::l2_squared_f16(a, b);
    }
    let mut sums = [_mm512_setzero_ps(); 4];
    let whole = a.len() / 64 * 64;
    for i in (0..whole).step_by(64) {
        for (lane, sum) in sums.iter_mut().enumerate() {
            // SAFETY: i + 64 <= whole <= the length of both slices, and lane < 4.
            let (x, y) = unsafe { (load_f16(a, i + lane * 16), load_f32(b, i + lane * 16)) };
            let difference = _mm512_sub_ps(x, y);
            *sum = _mm512_fmadd_ps(difference, difference, *sum);
        }
    }
    let mut at = whole;
    while at + 16 <= a.len() {
        // SAFETY: just compared.
        let (x, y) = unsafe { (load_f16(a, at), load_f32(b, at)) };
        let difference = _mm512_sub_ps(x, y);
        sums[0] = _mm512_fmadd_ps(difference, difference, sums[0]);
        at += 16;
    }
    if at < a.len() {
        // SAFETY: a.len() >= 16.
        let (x, y) = unsafe { (load_f16(a, a.len() - 16), load_f32(b, a.len() - 16)) };
        let (x, y) = (keep_last_f32(x, a.len() - at), keep_last_f32(y, a.len() - at));
        let difference = _mm512_sub_ps(x, y);
        sums[1] = _mm512_fmadd_ps(difference, difference, sums[1]);
    }
    add_four(sums)
}

/// # Safety
/// `at + 16 <= slice.len()`.
#[target_feature(enable = "avx512f")]
#[inline]
unsafe fn load_f32(slice: &[f32], at: usize) -> __m512 {
    // SAFETY: the caller's promise.
    unsafe { _mm512_loadu_ps(slice.as_ptr().add(at)) }
}

/// # Safety
/// `at + 16 <= slice.len()`.
#[target_feature(enable = "avx512f")]
#[inline]
unsafe fn load_f16(slice: &[u16], at: usize) -> __m512 {
    // SAFETY: the caller's promise: sixteen elements of two bytes.
    _mm512_cvtph_ps(unsafe { _mm256_loadu_si256(slice.as_ptr().add(at).cast()) })
}

/// Zeros before the last `elements` of a register.
#[target_feature(enable = "avx512f")]
#[inline]
fn keep_last_f32(register: __m512, elements: usize) -> __m512 {
    _mm512_castsi512_ps(keep_last(_mm512_castps_si512(register), elements * 4))
}

#[target_feature(enable = "avx512f")]
#[inline]
fn add_four(sums: [__m512; 4]) -> f32 {
    _mm512_reduce_add_ps(_mm512_add_ps(_mm512_add_ps(sums[0], sums[1]), _mm512_add_ps(sums[2], sums[3])))
}
