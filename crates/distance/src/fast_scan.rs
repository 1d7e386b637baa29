//! The 1-bit fast scan: 32 rows at once, four dimensions per table lookup.
//!
//! After André, Kermarrec, Le Scouarnec, "Quicker ADC" (TPAMI 2019) for the register-sized tables, and Gao and Long,
//! "RaBitQ" (SIGMOD 2024), section 3.3.2, for sign codes.
//!
//! A block holds the sign bits of 32 rows. Group `g` (dimensions `4g..4g + 4`) takes 16 bytes: byte `j` has the four bits
//! of row `j` in its low half and those of row `j + 16` in its high half, so one byte shuffle looks up 16 rows. With them
//! go the rows' factors: 32 little-endian `f32` to add, then 32 to multiply by.

use crate::level::{Level, dispatch};

/// Rows of one block.
pub const BLOCK_ROWS: usize = 32;
/// Bytes of one block's factors.
pub const BLOCK_FACTOR_BYTES: usize = BLOCK_ROWS * 8;
/// Scanned dimensions are a multiple of this: 64 bytes of codes, one AVX-512 register.
const DIM_STEP: usize = 16;
/// Groups whose 8-bit entries may be summed in 16 bits: 256 * 255 < 65,536.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(crate) const GROUPS_PER_U16: usize = 256;

/// The tables of one query: for each group of four dimensions the sums of `±query` for all 16 sign patterns, in 8 bits. Every level
/// makes the same.
pub struct LookupTable {
    pub(crate) entries: Vec<u8>,
    pub(crate) step: f32,
    pub(crate) bias: f32,
}

impl LookupTable {
    /// Tables for a rotated query whose length is a multiple of 16, or for that long a prefix of it.
    ///
    /// # Panics
    /// When it is not.
    pub fn new(query: &[f32]) -> Self {
        Self::new_on(Level::best(), query)
    }

    /// [`new`](Self::new) on a chosen level.
    pub fn new_on(level: Level, query: &[f32]) -> Self {
        assert!(query.len().is_multiple_of(DIM_STEP), "LookupTable: {} dimensions", query.len());
        let mut entries = vec![0; query.len() * 4];
        let Sums { widest, whole } = dispatch!(level, fill_table(query, &mut entries));
        Self { entries, step: 2.0 * widest / 255.0, bias: -whole }
    }

    /// The same tables, but every `<±1 code, query>` comes out greater by `margin`: with the error of an estimate as margin, a
    /// scan compares upper bounds at no cost (where scales are not negative). For [`scan_block`]; [`scan_edges`] has a base.
    pub fn raised_by(mut self, margin: f32) -> Self {
        self.bias += margin;
        self
    }

    /// Step and bias that turn the sum of a code's entries into `<code, query>`. Two planes are summed with weights 2 and 1, so
    /// that the sum stays an integer (below 2^24: exact as `f32`) and one multiplication is left for all levels to round alike.
    pub(crate) fn units(&self, planes: usize) -> (f32, f32) {
        if planes == 1 { (self.step, self.bias) } else { (self.step * 0.5, self.bias * 1.5) }
    }

    /// Dimensions.
    pub fn dim(&self) -> usize {
        self.entries.len() / 4
    }
}

/// Sums of a query's magnitudes, in a fixed order.
pub(crate) struct Sums {
    /// The greatest of a group.
    pub(crate) widest: f32,
    pub(crate) whole: f32,
}

/// Returns the factor that scales a group's sums, counted from its least value, to fill 8 bits.
pub(crate) fn per_step(widest: f32) -> f32 {
    let per_step = 255.0 / (2.0 * widest);
    if per_step.is_finite() { per_step } else { 0.0 }
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
    assert!(dim.is_multiple_of(DIM_STEP) && dim > 0, "pack_block: {dim} dimensions");
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
#[inline]
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
#[inline]
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

/// Estimates of the 32 edges of a graph's node: `out[row] = base + add[row] + scale[row] * <code, query>`. The code is of one or
/// two bits a dimension, `planes` blocks of signs one after another ([`pack_block`]), the high bit first: `s_0`, or
/// `s_0 + s_1 / 2`, where a two-bit code `u` stands for `u - 1.5`. Bit `row` of the answer is set where the estimate is greater than
/// `threshold`. Every level gives the same bits.
///
/// # Panics
/// When `planes` is not 1 or 2, `codes` not `planes * dim * 4` bytes or `factors` not [`BLOCK_FACTOR_BYTES`].
#[inline]
pub fn scan_edges(
    codes: &[u8],
    planes: usize,
    factors: &[u8],
    table: &LookupTable,
    (base, threshold): (f32, f32),
    out: &mut [f32; BLOCK_ROWS],
) -> u32 {
    scan_edges_on(Level::best(), codes, planes, factors, table, (base, threshold), out)
}

/// [`scan_edges`] on a chosen level.
#[inline]
pub fn scan_edges_on(
    level: Level,
    codes: &[u8],
    planes: usize,
    factors: &[u8],
    table: &LookupTable,
    (base, threshold): (f32, f32),
    out: &mut [f32; BLOCK_ROWS],
) -> u32 {
    assert!(planes == 1 || planes == 2, "scan_edges: {planes} planes");
    assert_eq!(codes.len(), planes * table.entries.len(), "scan_edges: lengths differ");
    let factors = Factors(factors.try_into().expect("scan_edges: 256 bytes of factors"));
    let (high, low) = codes.split_at(table.entries.len());
    let low = (planes == 2).then_some(low);
    dispatch!(level, scan_edges(high, low, table, &factors, (base, threshold), out))
}
