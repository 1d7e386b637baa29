//! Floating point: `f32` and half-precision rows against an `f32` query.

use crate::level::{Level, dispatch};

/// Dot product of two equally long vectors.
///
/// # Panics
/// When the lengths differ.
#[inline]
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    dot_on(Level::best(), a, b)
}

/// [`dot`] on a chosen level: for tests and benchmarks.
#[inline]
pub fn dot_on(level: Level, a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len(), "dot: lengths differ");
    dispatch!(level, dot(a, b))
}

/// Squared Euclidean distance of two equally long vectors.
///
/// # Panics
/// When the lengths differ.
#[inline]
pub fn l2_squared(a: &[f32], b: &[f32]) -> f32 {
    l2_squared_on(Level::best(), a, b)
}

/// [`l2_squared`] on a chosen level.
#[inline]
pub fn l2_squared_on(level: Level, a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len(), "l2_squared: lengths differ");
    dispatch!(level, l2_squared(a, b))
}

/// Dot product of a half-precision row (the bits of IEEE 754 binary16) and an equally long query.
///
/// # Panics
/// When the lengths differ.
#[inline]
pub fn dot_f16(row: &[u16], query: &[f32]) -> f32 {
    dot_f16_on(Level::best(), row, query)
}

/// [`dot_f16`] on a chosen level.
#[inline]
pub fn dot_f16_on(level: Level, row: &[u16], query: &[f32]) -> f32 {
    assert_eq!(row.len(), query.len(), "dot_f16: lengths differ");
    dispatch!(level, dot_f16(row, query))
}

/// Squared Euclidean distance of a half-precision row (the bits of IEEE 754 binary16) and an equally long query.
///
/// # Panics
/// When the lengths differ.
#[inline]
pub fn l2_squared_f16(row: &[u16], query: &[f32]) -> f32 {
    l2_squared_f16_on(Level::best(), row, query)
}

/// [`l2_squared_f16`] on a chosen level.
#[inline]
pub fn l2_squared_f16_on(level: Level, row: &[u16], query: &[f32]) -> f32 {
    assert_eq!(row.len(), query.len(), "l2_squared_f16: lengths differ");
    dispatch!(level, l2_squared_f16(row, query))
}
