//! Sums of `f32` products: four registers of eight, added at the end.

use std::arch::x86_64::*;

use crate::scalar;

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
    add_four(sums) + scalar::dot(&a[whole..], &b[whole..])
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
    add_four(sums) + scalar::l2_squared(&a[whole..], &b[whole..])
}

/// # Safety
/// The CPU has AVX2, FMA and F16C; both slices are equally long.
#[target_feature(enable = "avx2,fma,f16c")]
pub(crate) unsafe fn dot_f16(a: &[u16], b: &[f32]) -> f32 {
    let mut sums = [_mm256_setzero_ps(); 4];
    let whole = a.len() / 32 * 32;
    for i in (0..whole).step_by(32) {
        for (lane, sum) in sums.iter_mut().enumerate() {
            // SAFETY: i + 32 <= whole <= the length of both slices, and lane < 4.
            let (x, y) = unsafe { (load_f16(a, i + lane * 8), load_f32(b, i + lane * 8)) };
            *sum = _mm256_fmadd_ps(x, y, *sum);
        }
    }
    add_four(sums) + scalar::dot_f16(&a[whole..], &b[whole..])
}

/// # Safety
/// The CPU has AVX2, FMA and F16C; both slices are equally long.
#[target_feature(enable = "avx2,fma,f16c")]
pub(crate) unsafe fn l2_squared_f16(a: &[u16], b: &[f32]) -> f32 {
    let mut sums = [_mm256_setzero_ps(); 4];
    let whole = a.len() / 32 * 32;
    for i in (0..whole).step_by(32) {
        for (lane, sum) in sums.iter_mut().enumerate() {
            // SAFETY: i + 32 <= whole <= the length of both slices, and lane < 4.
            let (x, y) = unsafe { (load_f16(a, i + lane * 8), load_f32(b, i + lane * 8)) };
            let difference = _mm256_sub_ps(x, y);
            *sum = _mm256_fmadd_ps(difference, difference, *sum);
        }
    }
    add_four(sums) + scalar::l2_squared_f16(&a[whole..], &b[whole..])
}

/// # Safety
/// `at + 8 <= slice.len()`.
#[target_feature(enable = "avx2")]
#[inline]
unsafe fn load_f32(slice: &[f32], at: usize) -> __m256 {
    // SAFETY: the caller's promise.
    unsafe { _mm256_loadu_ps(slice.as_ptr().add(at)) }
}

/// # Safety
/// `at + 8 <= slice.len()`.
#[target_feature(enable = "avx2,f16c")]
#[inline]
unsafe fn load_f16(slice: &[u16], at: usize) -> __m256 {
    // SAFETY: the caller's promise: eight elements of two bytes.
    _mm256_cvtph_ps(unsafe { _mm_loadu_si128(slice.as_ptr().add(at).cast()) })
}

#[target_feature(enable = "avx2")]
#[inline]
fn add_four(sums: [__m256; 4]) -> f32 {
    let sum = _mm256_add_ps(_mm256_add_ps(sums[0], sums[1]), _mm256_add_ps(sums[2], sums[3]));
    let four = _mm_add_ps(_mm256_castps256_ps128(sum), _mm256_extractf128_ps::<1>(sum));
    let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)))
}
