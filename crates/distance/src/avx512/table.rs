//! The tables of the fast scan: all sixteen sign patterns of a group in one register.

use std::arch::x86_64::*;

use crate::fast_scan::{Sums, per_step};

/// The patterns that have the bit of each dimension set.
const SET: [__mmask16; 4] = [0xAAAA, 0xCCCC, 0xF0F0, 0xFF00];

/// # Safety
/// The CPU has AVX-512F; `query` is a multiple of 16 long, `entries` four times that.
#[target_feature(enable = "avx512f")]
pub(crate) unsafe fn fill_table(query: &[f32], entries: &mut [u8]) -> Sums {
    let sums = magnitudes(query);
    let (per_step, half) = (_mm512_set1_ps(per_step(sums.widest)), _mm512_set1_ps(0.5));
    for (group, entries) in query.as_chunks::<4>().0.iter().zip(entries.as_chunks_mut::<16>().0) {
        let mut above_least = _mm512_setzero_ps();
        for (x, set) in group.iter().zip(SET) {
            let twice = _mm512_set1_ps(2.0 * x);
            let zero = _mm512_setzero_ps();
            let unset = _mm512_max_ps(_mm512_sub_ps(zero, twice), zero);
            above_least = _mm512_add_ps(above_least, _mm512_mask_max_ps(unset, set, twice, zero));
        }
        // Multiply and add apart, as the scalar code does: a fused one would round differently.
        let entry = _mm512_cvttps_epi32(_mm512_add_ps(_mm512_mul_ps(above_least, per_step), half));
        // SAFETY: `entries` is sixteen bytes.
        unsafe { _mm_storeu_si128(entries.as_mut_ptr().cast(), _mm512_cvtepi32_epi8(entry)) };
    }
    sums
}

#[target_feature(enable = "avx512f")]
#[inline]
fn magnitudes(query: &[f32]) -> Sums {
    let (mut whole, mut widest) = (_mm512_setzero_ps(), _mm512_setzero_ps());
    for sixteen in query.as_chunks::<16>().0 {
        // SAFETY: sixteen floats are read.
        let x = _mm512_abs_ps(unsafe { _mm512_loadu_ps(sixteen.as_ptr()) });
        whole = _mm512_add_ps(whole, x);
        let pairs = _mm512_add_ps(x, _mm512_permute_ps::<0b10_11_00_01>(x));
        widest = _mm512_max_ps(widest, _mm512_add_ps(pairs, _mm512_permute_ps::<0b01_00_11_10>(pairs)));
    }
    let mut lanes = [0.0f32; 16];
    // SAFETY: sixteen floats are written.
    unsafe { _mm512_storeu_ps(lanes.as_mut_ptr(), whole) };
    Sums { widest: _mm512_reduce_max_ps(widest), whole: lanes.iter().sum() }
}
