//! Codes of a node's neighbours, relative to the node.
//!
//! With node `c`, neighbour `x`, `r = x - c` (rotated) and its code `b` over the first dimensions,
//! `<r, v> ≈ <b, v> |r|² / <b, r>` for any `v` (RaBitQ, Gao and Long, SIGMOD 2024; coded around the node as in SymphonyQG, Gou et
//! al., SIGMOD 2025). So with nearness `n(q, x) = -|q - x|²`:
//!
//! `n(q, x) = n(q, c) - |r|² + 2 <r, q - c> ≈ n(q, c) + add + scale <b, q>` where
//! `scale = 2 |r|² / <b, r>` and `add = -|r|² - scale <b, c>`,
//!
//! which needs one table a query and nothing a hop. The error is proportional to `|r| |q - c|`: it shrinks as the search
//! comes near. A lift `a` (see [`super`]) adds `a_c² - a_x²`.

use nuthatch_distance::{BLOCK_ROWS, pack_block};

use super::layout::RecordLayout;
use crate::quantiser::{lane_dot, lanes};

/// Widths of the four levels of two bits, in standard deviations of a coordinate; 0.996 is best for normal ones.
const STEPS: [f32; 4] = [0.8, 0.93, 1.06, 1.2];

pub(crate) struct EdgeCoder {
    layout: RecordLayout,
    residual: Vec<f32>,
    /// For each plane the sign bits of up to 32 neighbours.
    planes: [Vec<u8>; 2],
}

impl EdgeCoder {
    pub(crate) fn new(layout: RecordLayout, padded_dim: usize) -> Self {
        Self { layout, residual: vec![0.0; padded_dim], planes: [Vec::new(), Vec::new()] }
    }

    /// Codes up to 32 neighbours of a node into a block of `layout.block_bytes()`. Vectors are rotated; each comes with its lift.
    pub(crate) fn code<'v>(
        &mut self,
        (node, node_lift): (&[f32], f32),
        neighbours: impl Iterator<Item = (&'v [f32], f32)>,
        block: &mut [u8],
    ) {
        let scanned = self.layout.scanned;
        let code_bytes = self.layout.code_bytes();
        self.planes.iter_mut().for_each(Vec::clear);
        block[code_bytes..].fill(0);
        for (row, (vector, lift)) in neighbours.take(BLOCK_ROWS).enumerate() {
            for ((r, x), c) in self.residual.iter_mut().zip(vector).zip(node) {
                *r = x - c;
            }
            let norm_squared = lane_dot(&self.residual, &self.residual);
            let residual = &self.residual[..scanned];
            let (code_dot_residual, code_dot_node) = match self.layout.planes {
                1 => take_signs(residual, &node[..scanned], &mut self.planes[0]),
                _ => take_pairs(residual, &node[..scanned], norm_squared, self.residual.len(), &mut self.planes),
            };
            // A neighbour at the node itself has no direction; what is added is exact then.
            let scale = match code_dot_residual > f32::MIN_POSITIVE {
                true => 2.0 * norm_squared / code_dot_residual,
                false => 0.0,
            };
            let add = -norm_squared - scale * code_dot_node + (node_lift * node_lift - lift * lift);
            let at = code_bytes + row * 4;
            block[at..at + 4].copy_from_slice(&add.to_le_bytes());
            let at = at + BLOCK_ROWS * 4;
            block[at..at + 4].copy_from_slice(&scale.to_le_bytes());
        }
        for (plane, signs) in self.planes.iter().take(self.layout.planes).enumerate() {
            pack_block(signs, scanned, &mut block[plane * scanned * 4..(plane + 1) * scanned * 4]);
        }
    }
}

/// Appends the signs; `<±1 code, residual>` and `<±1 code, node>`.
fn take_signs(residual: &[f32], node: &[f32], signs: &mut Vec<u8>) -> (f32, f32) {
    push_bits(residual, signs, |x| x > 0.0);
    let sign = |x: f32| if x > 0.0 { 1.0f32 } else { -1.0 };
    (lanes(residual, residual, |x, _| x.abs()), lanes(residual, node, |x, c| sign(x) * c))
}

/// Appends both planes of a code in -1.5, -0.5, 0.5, 1.5; `<code, residual>` and `<code, node>`.
fn take_pairs(residual: &[f32], node: &[f32], norm_squared: f32, dim: usize, planes: &mut [Vec<u8>; 2]) -> (f32, f32) {
    let deviation = (norm_squared / dim as f32).sqrt().max(f32::MIN_POSITIVE);
    let level = |x: f32, bound: f32| {
        let far = if x.abs() > bound { 1.5f32 } else { 0.5 };
        far.copysign(x)
    };
    let (mut best_cosine, mut best_bound) = (f32::NEG_INFINITY, deviation);
    for step in STEPS {
        let bound = step * deviation;
        let code_dot = lanes(residual, residual, |x, _| level(x, bound) * x);
        let code_norm = lanes(residual, residual, |x, _| if x.abs() > bound { 2.25 } else { 0.25 });
        let cosine = code_dot / code_norm.sqrt();
        if cosine > best_cosine {
            (best_cosine, best_bound) = (cosine, bound);
        }
    }
    let [high, low] = planes;
    push_bits(residual, high, |x| x.is_sign_positive());
    // 1.5 = 1 + 1/2, 0.5 = 1 - 1/2: the lower plane is set where the code lies above its half's middle.
    push_bits(residual, low, |x| (x.abs() > best_bound) == x.is_sign_positive());
    (lanes(residual, residual, |x, _| level(x, best_bound) * x), lanes(residual, node, |x, c| level(x, best_bound) * c))
}

fn push_bits(values: &[f32], bits: &mut Vec<u8>, set: impl Fn(f32) -> bool) {
    bits.extend(values.chunks_exact(8).map(|eight| (0..8).map(|i| u8::from(set(eight[i])) << i).sum::<u8>()));
}
