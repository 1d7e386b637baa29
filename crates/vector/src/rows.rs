//! Rows in blocks, as the kernels compare them.

use nuthatch_distance::BLOCK_ROWS;

/// The blocks of `rows` rows, each with a bit for every row that exists.
pub(crate) fn blocks(rows: u32) -> impl Iterator<Item = (u32, u32)> {
    let (whole, rest) = (rows / BLOCK_ROWS as u32, rows % BLOCK_ROWS as u32);
    let last = (rest > 0).then(|| (whole, (1 << rest) - 1));
    (0..whole).map(|block| (block, u32::MAX)).chain(last)
}
