//! The tables of the fast scan: the sixteen sign patterns of a group in two registers.

use std::arch::x86_64::*;

use crate::fast_scan::{Sums, per_step};

/// # Safety
/// The CPU has AVX2; `query` is a multiple of 16 long, `entries` four times that.
#[target_feature(enable = "avx2")]
pub(crate) unsafe fn fill_table(query: &[f32], entries: &mut [u8]) -> Sums {
    let sums = magnitudes(query);
    let (per_step, half) = (_mm256_set1_ps(per_step(sums.widest)), _mm256_set1_ps(0.5));
    // Multiply and add apart, as the scalar code does: a fused one would round differently.
    let entry = |above_least| _mm256_cvttps_epi32(_mm256_add_ps(_mm256_mul_ps(above_least, per_step), half));
    for (group, entries) in query.as_chunks::<4>().0.iter().zip(entries.as_chunks_mut::<16>().0) {
        let [a, b, c, (unset, set)] = group.map(|x| {
            let (twice, zero) = (_mm256_set1_ps(2.0 * x), _mm256_setzero_ps());
            (_mm256_max_ps(_mm256_sub_ps(zero, twice), zero), _mm256_max_ps(twice, zero))
        });
        let two = _mm256_add_ps(_mm256_blend_ps::<0xAA>(a.0, a.1), _mm256_blend_ps::<0xCC>(b.0, b.1));
        let three = _mm256_add_ps(two, _mm256_blend_ps::<0xF0>(c.0, c.1));
        // In each 128-bit lane four entries of the first and four of the second eight patterns.
        let words = _mm256_packs_epi32(entry(_mm256_add_ps(three, unset)), entry(_mm256_add_ps(three, set)));
        let words = _mm256_permute4x64_epi64::<0b11_01_10_00>(words);
        let bytes = _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256::<1>(words));
        // SAFETY: `entries` is sixteen bytes.
        unsafe { _mm_storeu_si128(entries.as_mut_ptr().cast(), bytes) };
    }
    sums
}

#[target_feature(enable = "avx2")]
#[inline]
fn magnitudes(query: &[f32]) -> Sums {
    let signless = _mm256_castsi256_ps(_mm256_set1_epi32(i32::MAX));
    let (mut whole, mut widest) = ([_mm256_setzero_ps(); 2], _mm256_setzero_ps());
    for sixteen in query.as_chunks::<16>().0 {
        for (i, whole) in whole.iter_mut().enumerate() {
            // SAFETY: i < 2, so that i * 8 + 8 is within the sixteen floats.
            let x = _mm256_and_ps(unsafe { _mm256_loadu_ps(sixteen.as_ptr().add(i * 8)) }, signless);
            *whole = _mm256_add_ps(*whole, x);
            let pairs = _mm256_add_ps(x, _mm256_permute_ps::<0b10_11_00_01>(x));
            widest = _mm256_max_ps(widest, _mm256_add_ps(pairs, _mm256_permute_ps::<0b01_00_11_10>(pairs)));
        }
    }
    let (mut lanes, mut widest_lanes) = ([0.0f32; 16], [0.0f32; 8]);
    // SAFETY: the arrays are two registers and one long.
    unsafe {
        _mm256_storeu_ps(lanes.as_mut_ptr(), whole[0]);
        _mm256_storeu_ps(lanes.as_mut_ptr().add(8), whole[1]);
        _mm256_storeu_ps(widest_lanes.as_mut_ptr(), widest);
    }
    Sums { widest: widest_lanes.into_iter().fold(0.0, f32::max), whole: lanes.iter().sum() }
}
