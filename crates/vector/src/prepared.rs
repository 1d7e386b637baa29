//! A query, made ready for the codes of one segment.
//!
//! An estimate errs by the product of the query with what the row's code misses. That points in a random direction, so the
//! error is near normal with deviation `scale * |q - c|` times the root mean square of what is missed in one coordinate (RaBitQ,
//! theorem 3.2). Both are known, so every estimate comes with its own error and no pool sizes need to be guessed.

use std::cell::OnceCell;

use nuthatch_distance::{LookupTable, dot_u4_i8, dot_u4_i8_many};

use crate::pages::{ROWS_AT_ONCE, factors_of};
use crate::quantiser::{Factors, ROUND, greatest, lane_dot, unit_scale};
use crate::{Metric, Rotation};

/// The error of a ±1 code for a normally distributed coordinate: `sqrt(1 - 2 / pi)`.
const SIGNS_MISS: f32 = 0.603;
/// The error of a 4-bit code, in its steps: rounding, `sqrt(1 / 12)`, and a little for the ends of the scale.
const NIBBLES_MISS: f32 = 0.30;
/// Deviations that bound a 1-bit estimate from above, and a 4-bit one from both sides. Measured: `examples/scan.rs`.
const SIGNS_DEVIATIONS: f32 = 2.0;
const NIBBLES_DEVIATIONS: f32 = 2.0;

pub(crate) struct Prepared {
    /// The rotated residual of the query to the centroid.
    rotated: Vec<f32>,
    norm_squared: f32,
    /// The part that the similarities of all rows share.
    pub(crate) base: f32,
    /// A walk over a graph does without it.
    table: OnceCell<LookupTable>,
    /// The rotated query in 8 bits, for the 4-bit codes.
    codes: Vec<i8>,
    step: f32,
    /// `7.5 * sum(codes)`: 4-bit code `u` stands for `u - 7.5`.
    offset: f32,
    /// Error of `<4-bit code, query>`.
    error: f32,
}

impl Prepared {
    pub(crate) fn new(query: &[f32], metric: Metric, centroid: &[f32], rotation: &Rotation) -> Self {
        let unit = unit_scale(metric, query);
        let query: Vec<f32> = query.iter().map(|x| x * unit).collect();
        let from_centroid: Vec<f32> = query.iter().zip(centroid).map(|(x, c)| x - c).collect();
        let base = match metric {
            Metric::Cosine | Metric::Dot => lane_dot(&query, centroid),
            Metric::L2 | Metric::Hamming => -lane_dot(&from_centroid, &from_centroid),
        };
        let mut rotated = Vec::new();
        rotation.rotate(&from_centroid, &mut rotated);
        let greatest = greatest(&rotated);
        let per_step = if greatest > f32::MIN_POSITIVE { 127.0 / greatest } else { 0.0 };
        let codes: Vec<i8> = rotated.iter().map(|x| (x * per_step + ROUND).to_bits() as i8).collect();
        let sum: i32 = codes.iter().map(|code| i32::from(*code)).sum();
        let norm_squared = lane_dot(&rotated, &rotated);
        let norm = norm_squared.sqrt();
        Self {
            rotated,
            norm_squared,
            base,
            table: OnceCell::new(),
            codes,
            step: greatest / 127.0,
            offset: 7.5 * sum as f32,
            error: NIBBLES_DEVIATIONS * NIBBLES_MISS * norm,
        }
    }

    /// Tables for the 1-bit codes, raised by the margin that makes their estimates upper bounds.
    pub(crate) fn table(&self) -> &LookupTable {
        let margin = SIGNS_DEVIATIONS * SIGNS_MISS * self.norm_squared.sqrt();
        self.table.get_or_init(|| LookupTable::new(&self.rotated).raised_by(margin))
    }

    /// Tables for the first `scanned` dimensions, without a margin.
    pub(crate) fn edge_table(&self, scanned: usize) -> LookupTable {
        LookupTable::new(&self.rotated[..scanned])
    }

    /// The squared distance of the query from the centroid.
    pub(crate) fn norm_squared(&self) -> f32 {
        self.norm_squared
    }

    /// The estimate of a row by its 4-bit code, without `base`, and its error.
    pub(crate) fn estimate(&self, nibbles: &[u8], factors: Factors) -> (f32, f32) {
        self.estimate_of(dot_u4_i8(nibbles, &self.codes), factors)
    }

    /// Calls `take` with [`estimate`](Self::estimate) of each of up to [`ROWS_AT_ONCE`] units of `codes4`.
    #[inline]
    pub(crate) fn estimate_many(&self, slots: &[u32], units: &[&[u8]], mut take: impl FnMut(u32, f32, f32)) {
        let code_bytes = self.codes.len() / 2;
        let mut codes: [&[u8]; ROWS_AT_ONCE] = [&[]; ROWS_AT_ONCE];
        let mut dots = [0; ROWS_AT_ONCE];
        let (codes, dots) = (&mut codes[..units.len()], &mut dots[..units.len()]);
        codes.iter_mut().zip(units).for_each(|(codes, unit)| *codes = &unit[..code_bytes]);
        dot_u4_i8_many(&self.codes, codes, dots);
        for ((slot, unit), dot) in slots.iter().zip(units).zip(dots) {
            let (similarity, error) = self.estimate_of(*dot, factors_of(&unit[code_bytes..]));
            take(*slot, similarity, error);
        }
    }

    #[inline]
    fn estimate_of(&self, dot: i32, factors: Factors) -> (f32, f32) {
        let code_dot = dot as f32 - self.offset;
        let similarity = factors.add + factors.scale * (self.step * code_dot);
        (similarity, factors.scale * self.error)
    }
}
