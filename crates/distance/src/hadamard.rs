//! The fast Hadamard transform, of which random rotations are made.

use crate::level::{Level, dispatch};

/// Flips the signs of `values` where `flips` has the highest bit set (its other bits are zero), transforms them in place (Hadamard's
/// matrix in its natural order, not normalised), and multiplies them by `scale`. Every level gives the same bits: each output is
/// the same additions in the same order.
///
/// # Panics
/// When there are not as many flips as values, or the number of values is no power of two.
#[inline]
pub fn hadamard(values: &mut [f32], flips: &[u32], scale: f32) {
    hadamard_on(Level::best(), values, flips, scale);
}

/// [`hadamard`] on a chosen level.
#[inline]
pub fn hadamard_on(level: Level, values: &mut [f32], flips: &[u32], scale: f32) {
    assert_eq!(values.len(), flips.len(), "hadamard: lengths differ");
    assert!(values.len().is_power_of_two(), "hadamard: {} values", values.len());
    dispatch!(level, hadamard(values, flips, scale));
}

/// Values that the levels take through the first stages in registers; fewer go to the scalar code.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(crate) const IN_REGISTERS: usize = 64;

/// The stages after that of [`IN_REGISTERS`], two of them in one pass over memory. Inlined, it has the instructions of the caller's level.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[inline(always)]
pub(crate) fn further_stages(values: &mut [f32], scale: f32) {
    let mut half = IN_REGISTERS;
    while half * 4 < values.len() {
        two_stages(values, half, 1.0);
        half *= 4;
    }
    match values.len() / half {
        4 => two_stages(values, half, scale),
        2 => {
            let (left, right) = values.split_at_mut(half);
            for (a, b) in left.iter_mut().zip(right) {
                (*a, *b) = ((*a + *b) * scale, (*a - *b) * scale);
            }
        }
        _ => values.iter_mut().for_each(|x| *x *= scale),
    }
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[inline(always)]
fn two_stages(values: &mut [f32], half: usize, scale: f32) {
    for four in values.chunks_exact_mut(half * 4) {
        let (front, back) = four.split_at_mut(half * 2);
        let ((a, b), (c, d)) = (front.split_at_mut(half), back.split_at_mut(half));
        for (((a, b), c), d) in a.iter_mut().zip(b).zip(c).zip(d) {
            let (sum, difference) = (*a + *b, *a - *b);
            let (sum_back, difference_back) = (*c + *d, *c - *d);
            (*a, *b) = ((sum + sum_back) * scale, (difference + difference_back) * scale);
            (*c, *d) = ((sum - sum_back) * scale, (difference - difference_back) * scale);
        }
    }
}
