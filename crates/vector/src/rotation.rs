//! A seeded random rotation that costs n log n.
//!
//! Random signs and fast Hadamard transforms in turn (Ailon and Chazelle 2009; Andoni et al., "Practical and Optimal LSH for
//! Angular Distance", 2015). Dimensions that are no power of two are padded to a multiple of 64 only: the transform of the
//! largest power of two runs over the front and the back in turn, with one step of Kac's walk between the halves, as the
//! RaBitQ authors' library does. After it every coordinate of a unit vector is near N(0, 1/n), which is what the quantisers
//! assume, and lengths and dot products are kept.
//!
//! Plain additions in a fixed order, no fused multiply-add: the same bits on every CPU. The sign generator is written out
//! here because it is part of the file format.

use nuthatch_distance::hadamard;

use crate::Result;
use crate::validate::validate_dim;

const ROUNDS: usize = 4;
/// Rotated vectors are a multiple of this long, as the kernels want.
const PAD: usize = 64;

/// The rotation of one (dimension, seed).
pub struct Rotation {
    dim: usize,
    padded_dim: usize,
    /// Sign bits to flip, `ROUNDS` times `padded_dim`.
    flips: Vec<u32>,
}

impl Rotation {
    /// The same for the same two numbers, on every machine. Fails for a dimension that is not supported.
    pub fn new(dim: usize, seed: u64) -> Result<Self> {
        validate_dim(dim)?;
        let padded_dim = padded_dim(dim);
        let mut state = seed;
        let mut flips = Vec::with_capacity(ROUNDS * padded_dim);
        for _ in 0..ROUNDS * padded_dim / 64 {
            let bits = splitmix64(&mut state);
            flips.extend((0..64).map(|bit| ((bits >> bit) as u32 & 1) << 31));
        }
        Ok(Self { dim, padded_dim, flips })
    }

    /// The dimension.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Length of a rotated vector: the dimension, rounded up to a multiple of 64.
    pub fn padded_dim(&self) -> usize {
        self.padded_dim
    }

    /// Rotates `vector` (of the dimension; what is missing counts as zero) into `rotated`.
    pub fn rotate(&self, vector: &[f32], rotated: &mut Vec<f32>) {
        rotated.clear();
        rotated.extend_from_slice(&vector[..vector.len().min(self.dim)]);
        rotated.resize(self.padded_dim, 0.0);
        let span = 1 << self.padded_dim.ilog2();
        let scale = 1.0 / (span as f32).sqrt();
        for (round, flips) in self.flips.chunks_exact(self.padded_dim).enumerate() {
            let start = if round % 2 == 0 { 0 } else { self.padded_dim - span };
            let outside = if start == 0 { span..self.padded_dim } else { 0..start };
            for (x, flip) in rotated[outside.clone()].iter_mut().zip(&flips[outside]) {
                *x = f32::from_bits(x.to_bits() ^ flip);
            }
            hadamard(&mut rotated[start..start + span], &flips[start..start + span], scale);
            if span < self.padded_dim {
                kac_step(rotated);
            }
        }
    }
}

pub(crate) fn padded_dim(dim: usize) -> usize {
    dim.next_multiple_of(PAD)
}

/// Turns every pair of (front half, back half) by 45 degrees.
fn kac_step(values: &mut [f32]) {
    let (front, back) = values.split_at_mut(values.len() / 2);
    for (a, b) in front.iter_mut().zip(back) {
        let (sum, difference) = (*a + *b, *a - *b);
        *a = sum * std::f32::consts::FRAC_1_SQRT_2;
        *b = difference * std::f32::consts::FRAC_1_SQRT_2;
    }
}

/// Steele, Lea, Flood, "Fast splittable pseudorandom number generators" (2014).
pub(crate) fn splitmix64(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
