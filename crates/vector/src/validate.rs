//! The requirements for a vector before it is stored or searched for.

use crate::{Metric, Result, VectorError};

/// Fewest dimensions of a collection.
pub const DIM_MIN: usize = 2;
/// Most dimensions of a collection.
pub const DIM_MAX: usize = 4096;

/// Outside these lengths squares of 32-bit floats overflow, or lose their digits.
const NORM_MAX: f64 = 1e18;
const NORM_MIN: f64 = 1e-18;

/// Checks one vector of a collection: its dimension, that it is finite (the error names the first position that is not), and
/// that its length can be worked with: at most 1e18, and under cosine not zero and at least 1e-18.
pub fn validate(vector: &[f32], dim: usize, metric: Metric) -> Result<()> {
    validate_finite(vector, dim)?;
    let norm = norm(vector);
    if norm == 0.0 && metric == Metric::Cosine {
        return Err(VectorError::Zero);
    }
    let min = if metric == Metric::Cosine { NORM_MIN } else { 0.0 };
    if !(min..=NORM_MAX).contains(&norm) {
        return Err(VectorError::LengthOutOfRange { norm, min, max: NORM_MAX });
    }
    Ok(())
}

/// The part of [`validate`] that also holds for a centroid, which may be zero.
pub(crate) fn validate_finite(vector: &[f32], dim: usize) -> Result<()> {
    validate_dim(dim)?;
    if vector.len() != dim {
        return Err(VectorError::WrongDimension { expected: dim, found: vector.len() });
    }
    match vector.iter().position(|x| !x.is_finite()) {
        Some(position) => Err(VectorError::NotFinite { position, value: vector[position] }),
        None => Ok(()),
    }
}

pub(crate) fn validate_dim(dim: usize) -> Result<()> {
    if (DIM_MIN..=DIM_MAX).contains(&dim) { Ok(()) } else { Err(VectorError::UnsupportedDimension { dim }) }
}

/// Euclidean length, in 64 bits: in eight lanes and a fixed order, quick and the same on every CPU.
pub(crate) fn norm(vector: &[f32]) -> f64 {
    let mut lanes = [0.0f64; 8];
    let square = |x: f32| f64::from(x) * f64::from(x);
    let chunks = vector.chunks_exact(8);
    let rest: f64 = chunks.remainder().iter().map(|x| square(*x)).sum();
    for chunk in chunks {
        lanes.iter_mut().zip(chunk).for_each(|(lane, x)| *lane += square(*x));
    }
    (lanes.iter().sum::<f64>() + rest).sqrt()
}
