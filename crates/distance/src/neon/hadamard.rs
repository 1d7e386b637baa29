//! The fast Hadamard transform: six stages in sixteen registers of four, the others as they are written for all levels.

use std::arch::aarch64::*;

use crate::hadamard::{IN_REGISTERS, further_stages};
use crate::scalar;

/// # Safety
/// The CPU has NEON; both slices are equally long, a power of two.
#[target_feature(enable = "neon")]
pub(crate) unsafe fn hadamard(values: &mut [f32], flips: &[u32], scale: f32) {
    if values.len() < IN_REGISTERS {
        return scalar::hadamard(values, flips, scale);
    }
    for (values, flips) in values.as_chunks_mut::<IN_REGISTERS>().0.iter_mut().zip(flips.as_chunks().0) {
        let mut registers = [vdupq_n_f32(0.0); 16];
        for (i, register) in registers.iter_mut().enumerate() {
            let flips: &[u32; IN_REGISTERS] = flips;
            // SAFETY: i < 16, so that i * 4 + 4 is within both arrays.
            let (x, flips) = unsafe { (vld1q_f32(values.as_ptr().add(i * 4)), vld1q_u32(flips.as_ptr().add(i * 4))) };
            *register = within(vreinterpretq_f32_u32(veorq_u32(vreinterpretq_u32_f32(x), flips)));
        }
        for half in [1, 2, 4, 8] {
            for i in (0..16).filter(|i| i & half == 0) {
                let (a, b) = (registers[i], registers[i + half]);
                (registers[i], registers[i + half]) = (vaddq_f32(a, b), vsubq_f32(a, b));
            }
        }
        for (i, register) in registers.into_iter().enumerate() {
            // SAFETY: i < 16, so that i * 4 + 4 is within the array.
            unsafe { vst1q_f32(values.as_mut_ptr().add(i * 4), register) };
        }
    }
    further_stages(values, scale);
}

/// The two stages within a register: each lane and its partner become their sum and their difference.
#[target_feature(enable = "neon")]
#[inline]
fn within(x: float32x4_t) -> float32x4_t {
    let partner = vrev64q_f32(x);
    let x = vtrn1q_f32(vaddq_f32(x, partner), vsubq_f32(x, partner));
    let partner = vextq_f32::<2>(x, x);
    vcombine_f32(vget_low_f32(vaddq_f32(x, partner)), vget_low_f32(vsubq_f32(x, partner)))
}
