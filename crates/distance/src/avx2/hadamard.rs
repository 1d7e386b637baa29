//! The fast Hadamard transform: six stages in eight registers of eight, the others as they are written for all levels.

use std::arch::x86_64::*;

use crate::hadamard::{IN_REGISTERS, further_stages};
use crate::scalar;

/// # Safety
/// The CPU has AVX2; both slices are equally long, a power of two.
#[target_feature(enable = "avx2")]
pub(crate) unsafe fn hadamard(values: &mut [f32], flips: &[u32], scale: f32) {
    if values.len() < IN_REGISTERS {
        return scalar::hadamard(values, flips, scale);
    }
    for (values, flips) in values.as_chunks_mut::<IN_REGISTERS>().0.iter_mut().zip(flips.as_chunks().0) {
        let mut registers = [_mm256_setzero_ps(); 8];
        for (i, register) in registers.iter_mut().enumerate() {
            let flips: &[u32; IN_REGISTERS] = flips;
            // SAFETY: i < 8, so that i * 8 + 8 is within both arrays.
            let (x, flips) = unsafe {
                (_mm256_loadu_ps(values.as_ptr().add(i * 8)), _mm256_loadu_ps(flips.as_ptr().add(i * 8).cast()))
            };
            *register = within(_mm256_xor_ps(x, flips));
        }
        for half in [1, 2, 4] {
            for i in (0..8).filter(|i| i & half == 0) {
                let (a, b) = (registers[i], registers[i + half]);
                (registers[i], registers[i + half]) = (_mm256_add_ps(a, b), _mm256_sub_ps(a, b));
            }
        }
        for (i, register) in registers.into_iter().enumerate() {
            // SAFETY: i < 8, so that i * 8 + 8 is within the array.
            unsafe { _mm256_storeu_ps(values.as_mut_ptr().add(i * 8), register) };
        }
    }
    further_stages(values, scale);
}

/// The three stages within a register: each lane and its partner become their sum and their difference.
#[target_feature(enable = "avx2")]
#[inline]
fn within(x: __m256) -> __m256 {
    let partner = _mm256_permute_ps::<0b10_11_00_01>(x);
    let x = _mm256_blend_ps::<0xAA>(_mm256_add_ps(x, partner), _mm256_sub_ps(partner, x));
    let partner = _mm256_permute_ps::<0b01_00_11_10>(x);
    let x = _mm256_blend_ps::<0xCC>(_mm256_add_ps(x, partner), _mm256_sub_ps(partner, x));
    let partner = _mm256_permute2f128_ps::<1>(x, x);
    _mm256_blend_ps::<0xF0>(_mm256_add_ps(x, partner), _mm256_sub_ps(partner, x))
}
