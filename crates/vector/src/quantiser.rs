//! From a row to its codes.
//!
//! RaBitQ (Gao and Long, SIGMOD 2024) for 1 bit, its extension (Gao et al., "Practical and Asymptotically Optimal
//! Quantization of High-Dimensional Vectors", SIGMOD 2025) for 4 bits. With `r` the row's rotated residual to the centroid
//! and `x` its code, `<r, q> ≈ <x, q> * |r|² / <x, r>` is an unbiased estimate for any `q`, because the part of `x` not
//! along `r` points in a random direction. For every metric the similarity of row `o = c + r` to query `q` is then
//! `base(q) + add(o) + scale(o) * <x, q - c>`:
//!
//! | metric | base | add | scale |
//! |---|---|---|---|
//! | dot, cosine (of normalised vectors) | `<c, q>` | `<r, c>` | `|r|² / <x, r>` |
//! | L2 (minus the squared distance) | `-|q - c|²` | `-|r|²` | `2 |r|² / <x, r>` |
//!
//! so the error is proportional to `|r| |q - c|`, whatever the data's distance from the origin.

use crate::validate::{norm, validate_finite};
use crate::{Metric, Result, Rotation, validate};

/// The values that an estimate needs of a row besides its code.
#[derive(Clone, Copy, Default)]
pub(crate) struct Factors {
    pub(crate) add: f32,
    pub(crate) scale: f32,
}

/// Codes rows around one centroid. Holds the codes of the row pushed last.
pub(crate) struct Quantiser {
    metric: Metric,
    rotation: Rotation,
    centroid: Vec<f32>,
    residual: Vec<f32>,
    /// The rotated residual.
    pub(crate) rotated: Vec<f32>,
    /// Signs, one bit a dimension.
    pub(crate) signs: Vec<u8>,
    pub(crate) signs_factors: Factors,
    /// 4-bit codes in the order of [`nuthatch_distance::dot_u4_i8`]; code `u` stands for `u - 7.5`.
    pub(crate) nibbles: Vec<u8>,
    pub(crate) nibbles_factors: Factors,
}

impl Quantiser {
    pub(crate) fn new(dim: usize, metric: Metric, seed: u64, centroid: &[f32]) -> Result<Self> {
        validate_finite(centroid, dim)?;
        let rotation = Rotation::new(dim, seed)?;
        let padded_dim = rotation.padded_dim();
        Ok(Self {
            metric,
            rotation,
            centroid: centroid.to_vec(),
            residual: vec![0.0; dim],
            rotated: Vec::with_capacity(padded_dim),
            signs: vec![0; padded_dim / 8],
            signs_factors: Factors::default(),
            nibbles: vec![0; padded_dim / 2],
            nibbles_factors: Factors::default(),
        })
    }

    pub(crate) fn code(&mut self, row: &[f32]) -> Result<()> {
        self.rotate(row)?;
        let norm_squared = lane_dot(&self.rotated, &self.rotated);
        let (add, factor) = match self.metric {
            Metric::Cosine | Metric::Dot => (lane_dot(&self.residual, &self.centroid), 1.0),
            Metric::L2 | Metric::Hamming => (-norm_squared, 2.0),
        };
        let factors = |code_dot: f32| Factors {
            add,
            // A row at the centroid has no direction: its estimate is what is added, and exact.
            scale: if code_dot > f32::MIN_POSITIVE { factor * norm_squared / code_dot } else { 0.0 },
        };
        self.signs_factors = factors(take_signs(&self.rotated, &mut self.signs));
        self.nibbles_factors = factors(take_nibbles(&self.rotated, norm_squared, &mut self.nibbles));
        Ok(())
    }

    /// Leaves the rotated residual of a row in `rotated`, and no codes.
    pub(crate) fn rotate(&mut self, row: &[f32]) -> Result<()> {
        validate(row, self.centroid.len(), self.metric)?;
        let unit = unit_scale(self.metric, row);
        for ((r, x), c) in self.residual.iter_mut().zip(row).zip(&self.centroid) {
            *r = x * unit - c;
        }
        self.rotation.rotate(&self.residual, &mut self.rotated);
        Ok(())
    }
}

/// By what to multiply a vector before it is coded or compared.
pub(crate) fn unit_scale(metric: Metric, vector: &[f32]) -> f32 {
    match metric {
        Metric::Cosine => (1.0 / norm(vector)) as f32,
        Metric::Dot | Metric::L2 | Metric::Hamming => 1.0,
    }
}

/// Writes the signs and returns `<±1 code, rotated>`.
fn take_signs(rotated: &[f32], signs: &mut [u8]) -> f32 {
    for (byte, eight) in signs.iter_mut().zip(rotated.chunks_exact(8)) {
        *byte = (0..8).map(|bit| u8::from(eight[bit] > 0.0) << bit).sum();
    }
    lanes(rotated, rotated, |x, _| x.abs())
}

/// Distance between neighbouring codes, in standard deviations of a coordinate. The best for normally distributed ones is
/// 0.335; each row takes the best of a few around it.
const STEPS: [f32; 6] = [0.26, 0.29, 0.32, 0.35, 0.38, 0.42];
/// Added to a small float, it rounds it to the nearest integer and leaves that in the low bits.
pub(crate) const ROUND: f32 = 12_582_912.0;

/// Writes the 4-bit codes whose direction is nearest and returns `<code, rotated>`.
fn take_nibbles(rotated: &[f32], norm_squared: f32, nibbles: &mut [u8]) -> f32 {
    let deviation = (norm_squared / rotated.len() as f32).sqrt();
    if deviation <= f32::MIN_POSITIVE {
        nibbles.fill(0);
        return 0.0;
    }
    let (mut best_cosine, mut best_dot, mut best_per_step) = (0.0, 0.0, 0.0);
    for step in STEPS {
        let per_step = 1.0 / (step * deviation);
        let code_dot = lanes(rotated, rotated, |x, _| (code_of(x, per_step) - ROUND - 7.5) * x);
        let code_norm = lanes(rotated, rotated, |x, _| {
            let code = code_of(x, per_step) - ROUND - 7.5;
            code * code
        });
        let cosine = code_dot / code_norm.sqrt();
        if cosine > best_cosine {
            (best_cosine, best_dot, best_per_step) = (cosine, code_dot, per_step);
        }
    }
    for (bytes, values) in nibbles.chunks_exact_mut(32).zip(rotated.chunks_exact(64)) {
        let (low, high) = values.split_at(32);
        for ((byte, low), high) in bytes.iter_mut().zip(low).zip(high) {
            let nibble = |x: f32| code_of(x, best_per_step).to_bits() as u8 & 15;
            *byte = nibble(*low) | nibble(*high) << 4;
        }
    }
    best_dot
}

/// The code of one coordinate, 0 to 15, plus [`ROUND`].
fn code_of(x: f32, per_step: f32) -> f32 {
    (x * per_step).clamp(-7.5, 7.5) + 7.5 + ROUND
}

pub(crate) fn lane_dot(a: &[f32], b: &[f32]) -> f32 {
    lanes(a, b, |x, y| x * y)
}

/// The greatest magnitude, in sixteen lanes.
pub(crate) fn greatest(values: &[f32]) -> f32 {
    let mut lanes = [0.0f32; 16];
    let larger = |a: f32, b: f32| if a > b { a } else { b };
    let chunks = values.chunks_exact(16);
    let rest = chunks.remainder().iter().fold(0.0, |greatest, x| larger(x.abs(), greatest));
    for chunk in chunks {
        lanes.iter_mut().zip(chunk).for_each(|(lane, x)| *lane = larger(x.abs(), *lane));
    }
    lanes.into_iter().fold(rest, larger)
}

/// A sum in sixteen lanes and a fixed order: quick, and the same bits on every CPU, unlike the dispatched kernels.
pub(crate) fn lanes(a: &[f32], b: &[f32], term: impl Fn(f32, f32) -> f32) -> f32 {
    let mut lanes = [0.0f32; 16];
    let (a_chunks, b_chunks) = (a.chunks_exact(16), b.chunks_exact(16));
    let rest = a_chunks.remainder().iter().zip(b_chunks.remainder());
    let rest: f32 = rest.map(|(x, y)| term(*x, *y)).sum();
    for (x, y) in a_chunks.zip(b_chunks) {
        for lane in 0..16 {
            lanes[lane] += term(x[lane], y[lane]);
        }
    }
    lanes.iter().sum::<f32>() + rest
}
