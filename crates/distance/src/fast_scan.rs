//! The 1-bit fast scan: 32 rows at once, four dimensions per table lookup.
//!
//! After André, Kermarrec, Le Scouarnec, "Quicker ADC" (TPAMI 2019) for the register-sized tables, and Gao and Long,
//! "RaBitQ" (SIGMOD 2024), section 3.3.2, for sign codes.
//!
//! A block holds the sign bits of 32 rows. Group `g` (dimensions `4g..4g + 4`) takes 16 bytes: byte `j` has the four bits
//! of row `j` in its low half and those of row `j + 16` in its high half, so one byte shuffle looks up 16 rows. With them
//! go the rows' factors: 32 little-endian `f32` to add, then 32 to multiply by.

use crate::level::{Kind, Level};
#[cfg(target_arch = "x86_64")]
use crate::{avx2, avx512};
use crate::{dispatch, scalar};

/// Rows of one block.
pub const BLOCK_ROWS: usize = 32;
/// Bytes of one block's factors.
pub const BLOCK_FACTOR_BYTES: usize = BLOCK_ROWS * 8;
/// Groups whose 8-bit entries may be summed in 16 bits: 256 * 255 < 65,536.
#[cfg(target_arch = "x86_64")]
pub(crate) const GROUPS_PER_U16: usize = 256;

/// The tables of one query: for each group of four dimensions the sums of `±query` for all 16 sign patterns, in 8 bits.
pub struct LookupTable {
    pub(crate) entries: Vec<u8>,
    pub(crate) step: f32,
    pub(crate) bias: f32,
}

impl LookupTable {
    /// Tables for a rotated query whose length is a multiple of 64.
    ///
    /// # Panics
    /// When it is not.
    pub fn new(query: &[f32]) -> Self {
        assert!(query.len().is_multiple_of(64), "LookupTable: {} dimensions", query.len());
        let widest = query.chunks_exact(4).map(|group| group.iter().map(|x| x.abs()).sum::<f32>());
        let widest = 2.0 * widest.fold(0.0, f32::max);
        let per_step = if widest > 0.0 { 255.0 / widest } else { 0.0 };
        let mut entries = Vec::with_capacity(query.len() * 4);
        for group in query.chunks_exact(4) {
            for pattern in 0..16u8 {
                // Counted from the group's least value, so that every entry is at least zero.
                let above_least: f32 = (0..4)
                    .map(|i| match (pattern >> i & 1 == 1, group[i] > 0.0) {
                        (true, true) | (false, false) => 2.0 * group[i].abs(),
                        _ => 0.0,
                    })
                    .sum();
                entries.push((above_least * per_step + 0.5) as u8);
            }
        }
        Self { entries, step: widest / 255.0, bias: -query.iter().map(|x| x.abs()).sum::<f32>() }
    }

    /// The same tables, but every `<±1 code, query>` comes out greater by `margin`: with the error of an estimate as margin, a
    /// scan compares upper bounds at no cost (where scales are not negative).
    pub fn raised_by(mut self, margin: f32) -> Self {
        self.bias += margin;
        self
    }

    /// Dimensions.
    pub fn dim(&self) -> usize {
        self.entries.len() / 4
    }
}

/// The factors of one block, as they lie in a file.
pub(crate) struct Factors<'a>(pub(crate) &'a [u8; BLOCK_FACTOR_BYTES]);

impl Factors<'_> {
    pub(crate) fn add(&self, row: usize) -> f32 {
        self.at(row * 4)
    }

    pub(crate) fn scale(&self, row: usize) -> f32 {
        self.at(BLOCK_ROWS * 4 + row * 4)
    }

    fn at(&self, byte: usize) -> f32 {
        f32::from_le_bytes(self.0[byte..byte + 4].try_into().expect("four bytes"))
    }
}

/// Lays the sign bits of up to 32 rows out as one block. `signs` holds `dim / 8` bytes a row, bit `i` of byte `b` is
/// dimension `8b + i`; missing rows become zeros. `out` takes `dim * 4` bytes.
///
/// # Panics
/// When the lengths do not fit each other.
pub fn pack_block(signs: &[u8], dim: usize, out: &mut [u8]) {
    let row_bytes = dim / 8;
    assert!(dim.is_multiple_of(64) && dim > 0, "pack_block: {dim} dimensions");
    assert_eq!(out.len(), dim * 4, "pack_block: output length");
    assert!(
        signs.len().is_multiple_of(row_bytes) && signs.len() <= row_bytes * BLOCK_ROWS,
        "pack_block: {} bytes of signs",
        signs.len()
    );
    out.fill(0);
    for (row, signs) in signs.chunks_exact(row_bytes).enumerate() {
        let (j, shift) = (row % 16, row / 16 * 4);
        for (pair, byte) in signs.iter().enumerate() {
            out[pair * 32 + j] |= (byte & 15) << shift;
            out[pair * 32 + 16 + j] |= (byte >> 4) << shift;
        }
    }
}

/// Estimates of the 32 rows of a block: `out[row] = add[row] + scale[row] * <±1 code, query>`. Bit `row` of the answer is set
/// where the estimate is greater than `threshold`. Every level gives the same bits.
///
/// # Panics
/// When `codes` is not `dim * 4` bytes or `factors` not [`BLOCK_FACTOR_BYTES`].
pub fn scan_block(
    codes: &[u8],
    factors: &[u8],
    table: &LookupTable,
    threshold: f32,
    out: &mut [f32; BLOCK_ROWS],
) -> u32 {
    scan_block_on(Level::best(), codes, factors, table, threshold, out)
}

/// [`scan_block`] on a chosen level.
pub fn scan_block_on(
    level: Level,
    codes: &[u8],
    factors: &[u8],
    table: &LookupTable,
    threshold: f32,
    out: &mut [f32; BLOCK_ROWS],
) -> u32 {
    assert_eq!(codes.len(), table.entries.len(), "scan_block: lengths differ");
    let factors = Factors(factors.try_into().expect("scan_block: 256 bytes of factors"));
    dispatch!(level, scan_block(codes, table, &factors, threshold, out))
}
