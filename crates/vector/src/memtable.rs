//! Rows that are in no segment yet, searched in memory.
//!
//! A row is kept as int8 codes with a scale, the length of what the codes miss, and its own length; the query is split into
//! 15 bits and what they miss. With row `x = s·c + e` and query `q = t·d + g`, `<x, q> = s·t·<c, d> + s·<c, g> + <e, q>`, and
//! Cauchy-Schwarz bounds the last two terms: `|s·c|·|g| + |e|·|q|`. So each similarity has a lower and an upper bound that
//! hold for any data, and a search returns every row that can be among the best: comparing those exactly is an exact search.

use nuthatch_distance::{I16_QUERY_MAX, dot_i8_i16};

use crate::best::Best;
use crate::bounds::retain_reaching;
use crate::validate::{norm, validate_dim};
use crate::{Metric, Result, validate};

/// Fresh rows of a collection. About `dim + 21` bytes a row; the full vectors live in the store.
#[derive(Clone)]
pub struct VectorMemtable {
    dim: usize,
    metric: Metric,
    /// Ascending; removed rows stay until [`VectorMemtable::remove`] compacts.
    row_ids: Vec<u64>,
    rows: Vec<Row>,
    codes: Vec<i8>,
    removed: usize,
}

#[derive(Clone, Copy)]
struct Row {
    /// Value of one code step.
    scale: f32,
    /// Length of what the codes miss, rounded up.
    residual_norm: f32,
    /// Length of the row.
    norm: f32,
    live: bool,
}

/// A row that may be among the best: its exact similarity lies within the bounds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct MemtableCandidate {
    /// The number that the row was pushed under.
    pub row_id: u64,
    /// The exact similarity is not below.
    pub lower: f32,
    /// The exact similarity is not above.
    pub upper: f32,
}

impl VectorMemtable {
    /// Without rows. Fails for a dimension that is not supported.
    pub fn new(dim: usize, metric: Metric) -> Result<Self> {
        validate_dim(dim)?;
        Ok(Self { dim, metric, row_ids: Vec::new(), rows: Vec::new(), codes: Vec::new(), removed: 0 })
    }

    /// Adds a raw row. Ascending ids append; any other order is right but moves what lies behind, and an id that is there
    /// already is replaced.
    pub fn push(&mut self, row_id: u64, vector: &[f32]) -> Result<()> {
        validate(vector, self.dim, self.metric)?;
        let at = match self.row_ids.binary_search(&row_id) {
            Ok(at) => {
                self.removed -= usize::from(!self.rows[at].live);
                at
            }
            Err(at) => {
                let start = at * self.dim;
                self.row_ids.insert(at, row_id);
                self.rows.insert(at, Row { scale: 0.0, residual_norm: 0.0, norm: 0.0, live: true });
                self.codes.splice(start..start, std::iter::repeat_n(0, self.dim));
                at
            }
        };
        self.rows[at] = code(vector, &mut self.codes[at * self.dim..(at + 1) * self.dim]);
        Ok(())
    }

    /// Adds the live rows of another memtable of the same field, whose ids all lie behind those that are here.
    pub fn append(&mut self, other: &VectorMemtable) {
        let rows = other.row_ids.iter().zip(&other.rows).zip(other.codes.chunks_exact(other.dim));
        for ((row_id, row), codes) in rows.filter(|((_, row), _)| row.live) {
            self.row_ids.push(*row_id);
            self.rows.push(*row);
            self.codes.extend_from_slice(codes);
        }
    }

    /// Forgets a row; false when it is not there.
    pub fn remove(&mut self, row_id: u64) -> bool {
        let Ok(at) = self.row_ids.binary_search(&row_id) else {
            return false;
        };
        let was_live = std::mem::replace(&mut self.rows[at].live, false);
        self.removed += usize::from(was_live);
        if self.removed > 64 && self.removed > self.rows.len() / 2 {
            self.compact();
        }
        was_live
    }

    /// Live rows.
    pub fn len(&self) -> usize {
        self.rows.len() - self.removed
    }

    /// True when there is no live row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Dimension of a row.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// How rows are compared with a query.
    pub fn metric(&self) -> Metric {
        self.metric
    }

    /// Bytes of memory held.
    pub fn bytes(&self) -> u64 {
        let bytes = self.codes.capacity()
            + self.row_ids.capacity() * size_of::<u64>()
            + self.rows.capacity() * size_of::<Row>();
        bytes as u64
    }

    /// Ids of the live rows, ascending.
    pub fn rows(&self) -> impl Iterator<Item = u64> + '_ {
        let live = self.row_ids.iter().zip(&self.rows).filter(|(_, row)| row.live);
        live.map(|(row_id, _)| *row_id)
    }

    /// Every row passing `keep` whose upper bound reaches the `limit`-th best lower bound, highest upper bound first (then the
    /// lowest id): the exact `limit` best are among them. All that pass when they are no more than `limit`.
    pub fn search(&self, query: &[f32], keep: impl Fn(u64) -> bool, limit: usize) -> Result<Vec<MemtableCandidate>> {
        let mut search = MemtableSearch::new(query, self.dim, self.metric, limit)?;
        search.look_at(self, keep);
        Ok(search.finish())
    }

    /// Forgets the rows that do not pass `keep`, and gives their memory back.
    pub fn retain(&mut self, mut keep: impl FnMut(u64) -> bool) {
        for (row_id, row) in self.row_ids.iter().zip(&mut self.rows) {
            row.live &= keep(*row_id);
        }
        self.compact();
    }

    fn compact(&mut self) {
        let mut kept = 0;
        for at in 0..self.rows.len() {
            if self.rows[at].live {
                self.codes.copy_within(at * self.dim..(at + 1) * self.dim, kept * self.dim);
                self.row_ids[kept] = self.row_ids[at];
                self.rows[kept] = self.rows[at];
                kept += 1;
            }
        }
        self.codes.truncate(kept * self.dim);
        self.row_ids.truncate(kept);
        self.rows.truncate(kept);
        self.codes.shrink_to_fit();
        self.row_ids.shrink_to_fit();
        self.rows.shrink_to_fit();
        self.removed = 0;
    }
}

/// One search of several memtables of the same field, as if they were one: see [`VectorMemtable::search`].
pub struct MemtableSearch {
    query: Query,
    limit: usize,
    lowers: Best,
    candidates: Vec<MemtableCandidate>,
}

impl MemtableSearch {
    /// A search for the `limit` best rows. Fails where [`validate`](crate::validate()) refuses the query.
    pub fn new(query: &[f32], dim: usize, metric: Metric, limit: usize) -> Result<Self> {
        validate(query, dim, metric)?;
        let query = Query::new(query, metric);
        Ok(Self { query, limit, lowers: Best::new(limit), candidates: Vec::new() })
    }

    /// Takes what can be among the best so far of the rows passing `keep`, which is asked in their order.
    pub fn look_at(&mut self, memtable: &VectorMemtable, mut keep: impl FnMut(u64) -> bool) {
        if self.limit == 0 {
            return;
        }
        let rows = memtable.row_ids.iter().zip(&memtable.rows).zip(memtable.codes.chunks_exact(memtable.dim));
        for ((row_id, row), codes) in rows {
            if row.live && keep(*row_id) {
                let (lower, upper) = self.query.bounds(row, codes);
                if upper >= self.lowers.threshold() {
                    // Which row it is does not matter here: the bar is what is wanted.
                    self.lowers.push(0, lower);
                    self.candidates.push(MemtableCandidate { row_id: *row_id, lower, upper });
                }
            }
        }
    }

    /// As [`VectorMemtable::search`].
    pub fn finish(self) -> Vec<MemtableCandidate> {
        let mut candidates = self.candidates;
        retain_reaching(&mut candidates, self.limit, |candidate| (candidate.lower, candidate.upper));
        candidates.sort_unstable_by(|a, b| b.upper.total_cmp(&a.upper).then(a.row_id.cmp(&b.row_id)));
        candidates
    }
}

fn code(vector: &[f32], codes: &mut [i8]) -> Row {
    let greatest = vector.iter().fold(0.0f32, |greatest, x| greatest.max(x.abs()));
    let scale = (greatest / 127.0).max(f32::MIN_POSITIVE);
    // Several sums, so that none of the additions waits for the one before.
    let mut missed = [0.0; 4];
    for (at, (x, code)) in vector.iter().zip(codes).enumerate() {
        *code = nearest(x / scale);
        let rest = f64::from(*x) - f64::from(scale) * f64::from(*code);
        missed[at % 4] += rest * rest;
    }
    Row { scale, residual_norm: round_up(missed.iter().sum::<f64>().sqrt()), norm: round_up(norm(vector)), live: true }
}

/// The whole number that is nearest, of one between -128 and 127: behind the point of a float of this size is no room for anything else, so
/// its last byte is that number. A call of the system's library for each component would take longer than all the rest.
fn nearest(value: f32) -> i8 {
    const NO_FRACTION: f32 = (3 << 22) as f32;
    (value + NO_FRACTION).to_bits() as i8
}

/// The next 32-bit float that is surely not below.
fn round_up(value: f64) -> f32 {
    (value as f32).next_up()
}

struct Query {
    metric: Metric,
    codes: Vec<i16>,
    scale: f64,
    residual_norm: f64,
    norm: f64,
    /// Relative rounding error of the 32-bit sums that the exact comparison will make: they are inside the bounds too.
    rounding: f64,
}

impl Query {
    fn new(query: &[f32], metric: Metric) -> Self {
        let greatest = query.iter().fold(0.0f32, |greatest, x| greatest.max(x.abs()));
        let scale = f64::from(greatest.max(f32::MIN_POSITIVE)) / f64::from(I16_QUERY_MAX);
        let codes: Vec<i16> = query.iter().map(|x| (f64::from(*x) / scale).round() as i16).collect();
        let missed: f64 =
            query.iter().zip(&codes).map(|(x, code)| (f64::from(*x) - scale * f64::from(*code)).powi(2)).sum();
        Self {
            metric,
            scale,
            codes,
            residual_norm: missed.sqrt(),
            norm: norm(query),
            // Sums run in at least sixteen lanes: dim / 16 additions in a row, a few more to join lanes, norms and quotient.
            rounding: (query.len() as f64 / 16.0 + 32.0) * f64::from(f32::EPSILON) * 2.0,
        }
    }

    fn bounds(&self, row: &Row, codes: &[i8]) -> (f32, f32) {
        let dot = f64::from(row.scale) * self.scale * dot_i8_i16(codes, &self.codes) as f64;
        let (norm, residual_norm) = (f64::from(row.norm), f64::from(row.residual_norm));
        let lengths = norm * self.norm;
        let error = (norm + residual_norm) * self.residual_norm + residual_norm * self.norm;
        let (middle, error) = match self.metric {
            Metric::Dot => (dot, error + lengths * self.rounding),
            Metric::Cosine => (dot / lengths, error / lengths + self.rounding),
            Metric::L2 | Metric::Hamming => {
                let farthest = (norm + self.norm).powi(2);
                let middle = 2.0 * dot - norm * norm - self.norm * self.norm;
                (middle, 2.0 * error + farthest * self.rounding)
            }
        };
        (((middle - error) as f32).next_down(), ((middle + error) as f32).next_up())
    }
}
