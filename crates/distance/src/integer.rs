//! Integers, exact: int8 and uint8 rows, int8 and 4-bit codes, and bits.

use crate::level::{Level, dispatch};

/// Longest vector of the integer kernels: their 32-bit accumulators cannot overflow up to here.
pub const DIM_MAX: usize = 4096;

/// Dot product of two int8 vectors, exact.
///
/// # Panics
/// When the lengths differ or exceed [`DIM_MAX`].
#[inline]
pub fn dot_i8(a: &[i8], b: &[i8]) -> i32 {
    dot_i8_on(Level::best(), a, b)
}

/// [`dot_i8`] on a chosen level.
#[inline]
pub fn dot_i8_on(level: Level, a: &[i8], b: &[i8]) -> i32 {
    assert_eq!(a.len(), b.len(), "dot_i8: lengths differ");
    assert!(a.len() <= DIM_MAX, "dot_i8: longer than {DIM_MAX}");
    dispatch!(level, dot_i8(a, b))
}

/// Squared Euclidean distance of two int8 vectors, exact.
///
/// # Panics
/// When the lengths differ or exceed [`DIM_MAX`].
#[inline]
pub fn l2_squared_i8(a: &[i8], b: &[i8]) -> i32 {
    l2_squared_i8_on(Level::best(), a, b)
}

/// [`l2_squared_i8`] on a chosen level.
#[inline]
pub fn l2_squared_i8_on(level: Level, a: &[i8], b: &[i8]) -> i32 {
    assert_eq!(a.len(), b.len(), "l2_squared_i8: lengths differ");
    assert!(a.len() <= DIM_MAX, "l2_squared_i8: longer than {DIM_MAX}");
    dispatch!(level, l2_squared_i8(a, b))
}

/// Dot product of two uint8 vectors, exact.
///
/// # Panics
/// When the lengths differ or exceed [`DIM_MAX`].
#[inline]
pub fn dot_u8(a: &[u8], b: &[u8]) -> i32 {
    dot_u8_on(Level::best(), a, b)
}

/// [`dot_u8`] on a chosen level.
#[inline]
pub fn dot_u8_on(level: Level, a: &[u8], b: &[u8]) -> i32 {
    assert_eq!(a.len(), b.len(), "dot_u8: lengths differ");
    assert!(a.len() <= DIM_MAX, "dot_u8: longer than {DIM_MAX}");
    dispatch!(level, dot_u8(a, b))
}

/// Squared Euclidean distance of two uint8 vectors, exact.
///
/// # Panics
/// When the lengths differ or exceed [`DIM_MAX`].
#[inline]
pub fn l2_squared_u8(a: &[u8], b: &[u8]) -> i32 {
    l2_squared_u8_on(Level::best(), a, b)
}

/// [`l2_squared_u8`] on a chosen level.
#[inline]
pub fn l2_squared_u8_on(level: Level, a: &[u8], b: &[u8]) -> i32 {
    assert_eq!(a.len(), b.len(), "l2_squared_u8: lengths differ");
    assert!(a.len() <= DIM_MAX, "l2_squared_u8: longer than {DIM_MAX}");
    dispatch!(level, l2_squared_u8(a, b))
}

/// Number of differing bits of two equally long bit vectors of less than 2^32 bits.
///
/// # Panics
/// When the lengths differ.
#[inline]
pub fn hamming(a: &[u8], b: &[u8]) -> u32 {
    hamming_on(Level::best(), a, b)
}

/// [`hamming`] on a chosen level.
#[inline]
pub fn hamming_on(level: Level, a: &[u8], b: &[u8]) -> u32 {
    assert_eq!(a.len(), b.len(), "hamming: lengths differ");
    dispatch!(level, hamming(a, b))
}

/// Adds to each count the number of bits in which a word of many rows differs from the query's: `words` has the same 64 bits of
/// each row side by side, so that eight rows are compared at once. Counts wrap.
///
/// # Panics
/// When the lengths differ.
#[inline]
pub fn add_hamming(word: u64, words: &[u64], counts: &mut [u16]) {
    add_hamming_on(Level::best(), word, words, counts);
}

/// [`add_hamming`] on a chosen level.
#[inline]
pub fn add_hamming_on(level: Level, word: u64, words: &[u64], counts: &mut [u16]) {
    assert_eq!(words.len(), counts.len(), "add_hamming: lengths differ");
    dispatch!(level, add_hamming(word, words, counts));
}

/// Largest absolute value that [`dot_i8_i16`] takes in its second argument.
pub const I16_QUERY_MAX: i16 = 1 << 14;

/// Dot product of an int8 code with a finer, 16-bit query, exact while the query stays within ±[`I16_QUERY_MAX`]
/// (beyond it the sum may wrap; it is never undefined).
///
/// # Panics
/// When the lengths differ or exceed [`DIM_MAX`].
#[inline]
pub fn dot_i8_i16(codes: &[i8], query: &[i16]) -> i64 {
    dot_i8_i16_on(Level::best(), codes, query)
}

/// [`dot_i8_i16`] on a chosen level.
#[inline]
pub fn dot_i8_i16_on(level: Level, codes: &[i8], query: &[i16]) -> i64 {
    assert_eq!(codes.len(), query.len(), "dot_i8_i16: lengths differ");
    assert!(codes.len() <= DIM_MAX, "dot_i8_i16: longer than {DIM_MAX}");
    dispatch!(level, dot_i8_i16(codes, query))
}

/// Dot product of 4-bit codes with an int8 query, exact.
///
/// Layout: every 64 dimensions take 32 bytes; byte `j` holds dimension `j` in its low half and `j + 32` in its high half.
///
/// # Panics
/// When `query` is not a multiple of 64 long, is longer than [`DIM_MAX`], or `codes` is not half as long.
#[inline]
pub fn dot_u4_i8(codes: &[u8], query: &[i8]) -> i32 {
    dot_u4_i8_on(Level::best(), codes, query)
}

/// [`dot_u4_i8`] on a chosen level.
#[inline]
pub fn dot_u4_i8_on(level: Level, codes: &[u8], query: &[i8]) -> i32 {
    assert_eq!(codes.len() * 2, query.len(), "dot_u4_i8: lengths differ");
    assert!(query.len().is_multiple_of(64) && query.len() <= DIM_MAX, "dot_u4_i8: {} dimensions", query.len());
    dispatch!(level, dot_u4_i8(codes, query))
}

/// [`dot_u4_i8`] of a query with the codes of many rows, at any addresses that are in a cache or were prefetched: faster than one
/// call a row, because four rows go side by side and their sums are finished together.
///
/// # Panics
/// When the query is no multiple of 64 long or exceeds [`DIM_MAX`], the codes of a row are not half as long, or there are not as many
/// outputs as rows.
#[inline]
pub fn dot_u4_i8_many(query: &[i8], rows: &[&[u8]], out: &mut [i32]) {
    dot_u4_i8_many_on(Level::best(), query, rows, out)
}

/// [`dot_u4_i8_many`] on a chosen level.
#[inline]
pub fn dot_u4_i8_many_on(level: Level, query: &[i8], rows: &[&[u8]], out: &mut [i32]) {
    assert!(query.len().is_multiple_of(64), "dot_u4_i8_many: {} dimensions", query.len());
    assert!(query.len() <= DIM_MAX, "dot_u4_i8_many: longer than {DIM_MAX}");
    assert!(rows.iter().all(|row| row.len() * 2 == query.len()), "dot_u4_i8_many: lengths differ");
    assert_eq!(rows.len(), out.len(), "dot_u4_i8_many: number of outputs");
    dispatch!(level, dot_u4_i8_many(query, rows, out))
}
