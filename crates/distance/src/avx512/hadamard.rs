//! The fast Hadamard transform: six stages in four registers of sixteen, the others as they are written for all levels.

use std::arch::x86_64::*;

use crate::hadamard::{IN_REGISTERS, further_stages};
use crate::scalar;

/// # Safety
/// The CPU has AVX-512F; both slices are equally long, a power of two.
#[target_feature(enable = "avx512f")]
pub(crate) unsafe fn hadamard(values: &mut [f32], flips: &[u32], scale: f32) {
    if values.len() < IN_REGISTERS {
        return scalar::hadamard(values, flips, scale);
    }
    for (values, flips) in values.as_chunks_mut::<IN_REGISTERS>().0.iter_mut().zip(flips.as_chunks().0) {
        let mut registers = [_mm512_setzero_ps(); 4];
        for (i, register) in registers.iter_mut().enumerate() {
            let flips: &[u32; IN_REGISTERS] = flips;
            // SAFETY: i < 4, so that i * 16 + 16 is within both arrays.
            let (x, flips) = unsafe {
                (
                    _mm512_loadu_si512(values.as_ptr().add(i * 16).cast()),
                    _mm512_loadu_si512(flips.as_ptr().add(i * 16).cast()),
                )
            };
            *register = within(_mm512_castsi512_ps(_mm512_xor_si512(x, flips)));
        }
        let [a, b, c, d] = registers;
        let (sum, difference) = (_mm512_add_ps(a, b), _mm512_sub_ps(a, b));
        let (sum_back, difference_back) = (_mm512_add_ps(c, d), _mm512_sub_ps(c, d));
        let registers = [
            _mm512_add_ps(sum, sum_back),
            _mm512_add_ps(difference, difference_back),
            _mm512_sub_ps(sum, sum_back),
            _mm512_sub_ps(difference, difference_back),
        ];
        for (i, register) in registers.into_iter().enumerate() {
            // SAFETY: i < 4, so that i * 16 + 16 is within the array.
            unsafe { _mm512_storeu_ps(values.as_mut_ptr().add(i * 16), register) };
        }
    }
    further_stages(values, scale);
}

/// The four stages within a register: each lane and its partner become their sum and their difference.
#[target_feature(enable = "avx512f")]
#[inline]
fn within(x: __m512) -> __m512 {
    let stage = |x, partner, second| _mm512_mask_sub_ps(_mm512_add_ps(x, partner), second, partner, x);
    let x = stage(x, _mm512_permute_ps::<0b10_11_00_01>(x), 0xAAAA);
    let x = stage(x, _mm512_permute_ps::<0b01_00_11_10>(x), 0xCCCC);
    let x = stage(x, _mm512_shuffle_f32x4::<0b10_11_00_01>(x, x), 0xF0F0);
    stage(x, _mm512_shuffle_f32x4::<0b01_00_11_10>(x, x), 0xFF00)
}
