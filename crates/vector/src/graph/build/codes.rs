//! The int8 codes that a graph is built on, all of them in memory.
//!
//! `v ≈ scale · code`, one scale a row. The distance of two rows is `norm + norm - 2 · scale · scale · <code, code>` plus the
//! squared difference of their lifts, with norms of the codes themselves, so that a row is at distance 0 from itself.

use nuthatch_distance::dot_i8;

/// Codes lie in chunks of about this size, so that growing never holds everything twice.
const CHUNK_BYTES: usize = 4 << 20;
/// Rows begin at cache lines: one of 128 dimensions then touches two, not three.
const LINE: usize = 64;
/// The CPU itself notices when more than a few lines are read in a row.
const TOUCHED_LINES: usize = 8;
/// Added to a small float, it rounds it to the nearest integer and leaves that in the low bits.
const ROUND: f32 = 12_582_912.0;

/// The codes of all rows, in the order of their slots. Memory: `padded_dim + 12` bytes a row.
pub struct BuildCodes {
    padded_dim: usize,
    /// A chunk holds `1 << chunk_shift` rows.
    chunk_shift: u32,
    chunks: Vec<Chunk>,
    len: usize,
}

struct Chunk {
    codes: Vec<i8>,
    /// Where in `codes` the first row is: at a cache line. The vector has its capacity from the start and never moves.
    first: usize,
    factors: Vec<Factors>,
}

#[derive(Clone, Copy, Debug)]
struct Factors {
    scale: f32,
    /// Squared length of the coded vector.
    norm: f32,
    lift: f32,
}

/// One row, ready to be compared with many.
#[derive(Clone, Copy)]
pub(crate) struct Row<'a> {
    pub(crate) codes: &'a [i8],
    factors: Factors,
}

impl BuildCodes {
    /// `padded_dim` is the length of rotated vectors, at most 4,096.
    pub fn new(padded_dim: usize) -> Self {
        let chunk_shift = (CHUNK_BYTES / padded_dim.max(1)).max(1).ilog2();
        Self { padded_dim, chunk_shift, chunks: Vec::new(), len: 0 }
    }

    /// Adds the row of the next slot: its rotated residual, and its lift (0 except under the dot product).
    ///
    /// # Panics
    /// When the length is not that of rotated vectors.
    pub fn push(&mut self, rotated: &[f32], lift: f32) {
        assert_eq!(rotated.len(), self.padded_dim, "a rotated vector is as long as the padded dimension");
        let chunk = self.room();
        let greatest = rotated.iter().fold(0.0f32, |greatest, x| greatest.max(x.abs()));
        let (scale, per_step) =
            if greatest < f32::MIN_POSITIVE { (0.0, 0.0) } else { (greatest / 127.0, 127.0 / greatest) };
        chunk.codes.extend(rotated.iter().map(|x| (x * per_step + ROUND).to_bits() as i8));
        self.finish_row(scale, lift);
    }

    /// Adds a row as [`Row::to_bytes`] wrote it. `None` when that is not as long as a row of these codes.
    pub(crate) fn push_bytes(&mut self, bytes: &[u8]) -> Option<()> {
        let (scale, bytes) = bytes.split_first_chunk::<4>()?;
        let (lift, codes) = bytes.split_first_chunk::<4>()?;
        if codes.len() != self.padded_dim {
            return None;
        }
        self.room().codes.extend(codes.iter().map(|code| *code as i8));
        self.finish_row(f32::from_le_bytes(*scale), f32::from_le_bytes(*lift));
        Some(())
    }

    /// Keeps the first rows alone.
    pub(crate) fn truncate(&mut self, rows: usize) {
        self.len = self.len.min(rows);
        self.chunks.truncate(self.len.div_ceil(1 << self.chunk_shift).max(1));
        let in_last = self.len - (self.chunks.len().saturating_sub(1) << self.chunk_shift);
        if let Some(last) = self.chunks.last_mut() {
            last.codes.truncate(last.first + in_last * self.padded_dim);
            last.factors.truncate(in_last);
        }
    }

    /// The chunk that the next row goes into.
    fn room(&mut self) -> &mut Chunk {
        if self.len == self.chunks.len() << self.chunk_shift {
            self.chunks.push(Chunk::new(self.padded_dim << self.chunk_shift, 1 << self.chunk_shift));
        }
        self.chunks.last_mut().expect("there is one now")
    }

    /// Completes the row whose codes were added last.
    fn finish_row(&mut self, scale: f32, lift: f32) {
        let chunk = self.chunks.last_mut().expect("its codes are in it");
        let codes = &chunk.codes[chunk.codes.len() - self.padded_dim..];
        let norm = scale * scale * dot_i8(codes, codes) as f32;
        chunk.factors.push(Factors { scale, norm, lift });
        self.len += 1;
    }

    /// Rows.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True when there is no row.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The distance of two rows, never negative.
    pub fn distance(&self, a: u32, b: u32) -> f32 {
        self.row(a).distance(&self.row(b))
    }

    /// Replaces every lift by what `lift` makes of it.
    pub(crate) fn map_lifts(&mut self, lift: impl Fn(f32) -> f32) {
        for factors in self.chunks.iter_mut().flat_map(|chunk| &mut chunk.factors) {
            factors.lift = lift(factors.lift);
        }
    }

    /// Bytes of memory held.
    pub fn bytes(&self) -> u64 {
        let chunk = |chunk: &Chunk| chunk.codes.len() + chunk.factors.len() * size_of::<Factors>();
        self.chunks.iter().map(chunk).sum::<usize>() as u64
    }

    pub(crate) fn padded_dim(&self) -> usize {
        self.padded_dim
    }

    /// Asks for the memory of many rows at once, so that comparing them costs one wait and not many. Loads rather than
    /// prefetch instructions: they are wanted in a moment anyway.
    #[inline]
    pub(crate) fn touch(&self, rows: &[u32]) {
        let mut sum = 0i8;
        for row in rows {
            let row = self.row(*row);
            sum = row.codes.iter().step_by(LINE).take(TOUCHED_LINES).fold(sum, |sum, code| sum ^ code);
            sum ^= row.factors.scale.to_bits() as i8;
        }
        std::hint::black_box(sum);
    }

    #[inline]
    pub(crate) fn row(&self, row: u32) -> Row<'_> {
        let chunk = &self.chunks[(row >> self.chunk_shift) as usize];
        let at = (row & ((1 << self.chunk_shift) - 1)) as usize;
        let start = chunk.first + at * self.padded_dim;
        Row { codes: &chunk.codes[start..start + self.padded_dim], factors: chunk.factors[at] }
    }
}

impl Chunk {
    fn new(bytes: usize, rows: usize) -> Self {
        let mut codes: Vec<i8> = Vec::with_capacity(bytes + LINE);
        let first = codes.as_ptr().align_offset(LINE).min(LINE);
        codes.resize(first, 0);
        Self { codes, first, factors: Vec::with_capacity(rows) }
    }
}

impl Row<'_> {
    #[inline]
    pub(crate) fn distance(&self, other: &Row<'_>) -> f32 {
        let (a, b) = (self.factors, other.factors);
        let dot = dot_i8(self.codes, other.codes) as f32;
        let lift = a.lift - b.lift;
        (a.norm + b.norm - 2.0 * (a.scale * b.scale) * dot + lift * lift).max(0.0)
    }

    /// Adds the coded vector to `sums`.
    pub(crate) fn add_to(&self, sums: &mut [f64]) {
        for (sum, code) in sums.iter_mut().zip(self.codes) {
            *sum += f64::from(self.factors.scale) * f64::from(*code);
        }
    }

    /// The squared distance to a point that is no row.
    pub(crate) fn distance_to(&self, point: &[f64], lift: f64) -> f64 {
        let scale = f64::from(self.factors.scale);
        let sum: f64 = self.codes.iter().zip(point).map(|(code, x)| (scale * f64::from(*code) - x).powi(2)).sum();
        sum + (f64::from(self.factors.lift) - lift).powi(2)
    }

    /// The coded vector.
    pub(crate) fn decode_into(&self, vector: &mut Vec<f32>) {
        vector.clear();
        vector.extend(self.codes.iter().map(|code| self.factors.scale * f32::from(*code)));
    }

    pub(crate) fn lift(&self) -> f32 {
        self.factors.lift
    }

    /// Appends scale, lift and codes, from which [`BuildCodes::push_bytes`] makes the same row.
    pub(crate) fn to_bytes(self, bytes: &mut Vec<u8>) {
        bytes.extend(self.factors.scale.to_le_bytes());
        bytes.extend(self.factors.lift.to_le_bytes());
        bytes.extend(self.codes.iter().map(|code| *code as u8));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_those_of_the_vectors_within_the_step_of_the_codes() {
        let mut codes = BuildCodes::new(64);
        let vector = |row: usize| -> Vec<f32> { (0..64).map(|i| ((row * 64 + i) as f32 * 0.7).sin()).collect() };
        (0..3).for_each(|row| codes.push(&vector(row), row as f32));
        for (a, b) in [(0, 1), (1, 2), (2, 0)] {
            let exact: f32 = vector(a).iter().zip(vector(b)).map(|(x, y)| (x - y) * (x - y)).sum();
            let exact = exact + (a as f32 - b as f32).powi(2);
            let distance = codes.distance(a as u32, b as u32);
            assert!((distance / exact - 1.0).abs() < 0.02, "{distance} for {exact}");
            assert_eq!(distance, codes.distance(b as u32, a as u32));
            assert_eq!(codes.distance(a as u32, a as u32), 0.0);
        }
    }

    #[test]
    fn rows_begin_at_cache_lines_in_every_chunk() {
        let mut codes = BuildCodes::new(4096);
        let vector = vec![1.0; 4096];
        (0..2500).for_each(|_| codes.push(&vector, 0.0));
        assert_eq!((codes.len(), codes.chunks.len()), (2500, 3));
        assert!((0..2500).all(|row| codes.row(row).codes.as_ptr().addr().is_multiple_of(LINE)));
        assert_eq!(
            codes.bytes(),
            2500 * (4096 + 12) + codes.chunks.iter().map(|chunk| chunk.first as u64).sum::<u64>()
        );
    }

    #[test]
    fn zero_rows_have_zero_codes() {
        let mut codes = BuildCodes::new(64);
        codes.push(&[0.0; 64], 0.0);
        codes.push(&[1e-42; 64], 0.0);
        assert_eq!(codes.distance(0, 1), 0.0);
    }
}
