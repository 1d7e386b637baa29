//! From a recall to the `ef` that reaches it, measured on the segment's own rows when its graph was built.
//!
//! A sealed file `efforts` of lines `limit recall ef`. Queries are rows of the segment moved away from themselves by the
//! distance of their neighbours, so that they are no rows any more.

use std::path::Path;

use nuthatch_segment::{SegmentError, read_sealed, write_sealed};

use super::Index;
use crate::graph::{Bounds, Extent};
use crate::prepared::Prepared;
use crate::rotation::splitmix64;
use crate::{Result, Rows, validate};

const EF_TABLE_FILE: &str = "efforts";
/// Targets that are measured.
pub(crate) const RECALLS: [f32; 6] = [0.9, 0.95, 0.98, 0.99, 0.995, 0.999];
/// Limits that are measured; in between and beyond, values of `ef` are drawn as a line.
pub(crate) const LIMITS: [usize; 2] = [10, 100];

/// The `ef` for each of [`LIMITS`] and [`RECALLS`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct EfTable(pub(crate) [[usize; RECALLS.len()]; LIMITS.len()]);

impl Default for EfTable {
    /// What clustered data needs, roughly; for segments without a graph it is never asked.
    fn default() -> Self {
        Self([[24, 40, 80, 120, 200, 500], [130, 170, 240, 320, 450, 900]])
    }
}

impl EfTable {
    /// The pool that reaches `recall` of the `limit` best.
    pub(crate) fn ef(&self, recall: f32, limit: usize) -> usize {
        let at = RECALLS.iter().position(|measured| *measured >= recall).unwrap_or(RECALLS.len() - 1);
        let (few, many) = (self.0[0][at] as f64, self.0[1][at] as f64);
        let slope = ((many - few) / (LIMITS[1] - LIMITS[0]) as f64).max(1.0);
        let ef = match limit > LIMITS[0] {
            true => few + slope * (limit - LIMITS[0]) as f64,
            false => few,
        };
        (ef.ceil() as usize).max(limit)
    }

    pub(crate) fn write(&self, dir: &Path) -> Result<()> {
        let mut body = String::new();
        for (limit, row) in LIMITS.iter().zip(&self.0) {
            for (recall, ef) in RECALLS.iter().zip(row) {
                body += &format!("{limit} {recall} {ef}\n");
            }
        }
        Ok(write_sealed(&dir.join(EF_TABLE_FILE), body.as_bytes())?)
    }

    pub(crate) fn read(dir: &Path) -> Result<Self> {
        let path = dir.join(EF_TABLE_FILE);
        let corrupt = |what: &str| SegmentError::corrupt(&path, what);
        let body = read_sealed(&path)?.ok_or_else(|| corrupt("it is missing"))?;
        let body = String::from_utf8(body).map_err(|_| corrupt("it is not text"))?;
        let mut table = Self::default();
        let mut lines = body.lines();
        for (at, limit) in LIMITS.iter().enumerate() {
            for (place, recall) in RECALLS.iter().enumerate() {
                let line = lines.next().ok_or_else(|| corrupt("a line is missing"))?;
                let ef = line.strip_prefix(&format!("{limit} {recall} ")).and_then(|ef| ef.parse().ok());
                table.0[at][place] = ef.ok_or_else(|| corrupt("a line is malformed"))?;
            }
        }
        Ok(table)
    }
}

/// Queries that values of `ef` are measured with.
const QUERIES: u32 = 96;
/// Values of `ef` that are tried: each so many percent of the one before.
const GROWTH_PERCENT: usize = 130;
/// Which neighbour's distance a query is moved by, and how many times.
const NEIGHBOUR: usize = 10;
const NOISE: f32 = 1.0;
/// What queries made of rows may miss of what a target allows: the rest is for queries that are less like them.
const MISSED_SHARE: f32 = 0.5;
/// What a target is given that no smaller `ef` reached: a scan is cheaper then, and misses next to nothing.
const EF_TRIED_MAX: usize = 4096;

/// Measures the `ef` that each recall takes, with rows of the segment as queries.
pub(crate) fn measure(index: &Index) -> Result<EfTable> {
    let mut table = EfTable([[EF_TRIED_MAX; RECALLS.len()]; LIMITS.len()]);
    let Some(graph) = &index.graph else { return Ok(table) };
    let queries = queries(index)?;
    for (at, limit) in LIMITS.into_iter().enumerate() {
        let queries: Vec<(Prepared, &[f32], f32)> = queries
            .iter()
            .map(|query| Ok((index.prepare(query), query.as_slice(), reach(index, query, limit)?)))
            .collect::<Result<_>>()?;
        let (mut ef, mut target) = (limit, 0);
        while target < RECALLS.len() && ef <= EF_TRIED_MAX && !index.scans_rather_than(ef) {
            let mut found = 0;
            for (prepared, query, reach) in &queries {
                let extent = Extent::Ef(ef);
                let bounds = Bounds { rows: Rows::All, limit, extent, stop: &|| false, sample: &|_| Ok(Vec::new()) };
                let candidates = graph.walk(query, prepared, &bounds)?.candidates;
                let slots: Vec<u32> = candidates.iter().map(|candidate| candidate.slot).collect();
                let similarities = index.compare(query, &slots)?;
                found += similarities.iter().filter(|similarity| *similarity >= reach).count().min(limit);
            }
            let recall = found as f32 / (limit * queries.len().max(1)) as f32;
            while target < RECALLS.len() && 1.0 - recall <= (1.0 - RECALLS[target]) * MISSED_SHARE {
                table.0[at][target] = ef;
                target += 1;
            }
            ef = (ef * GROWTH_PERCENT / 100).max(ef + 1);
        }
    }
    Ok(table)
}

/// Rows, each moved in a random direction by as far as its tenth neighbour is.
fn queries(index: &Index) -> Result<Vec<Vec<f32>>> {
    let step = (index.rows() / QUERIES).max(1);
    let mut numbers = index.codes.header.seed;
    // One of each `step` rows, at random: every `step`-th would be all alike where rows come by turns.
    let starts = (0..index.rows()).step_by(step as usize).take(QUERIES as usize);
    let slots: Vec<u32> = starts.map(|start| start + (splitmix64(&mut numbers) % u64::from(step)) as u32).collect();
    let stored = |slots: &[u32]| -> Result<Vec<Vec<f32>>> {
        let mut vectors = Vec::with_capacity(slots.len());
        index.read_stored(slots, &mut |_, stored| {
            vectors.push(index.element().decode(stored, index.dim()));
            Ok(())
        })?;
        Ok(vectors)
    };
    let rows = stored(&slots)?;
    let mut queries = Vec::with_capacity(rows.len());
    for row in &rows {
        let candidates = index.codes.search(row, Rows::All, NEIGHBOUR + 1)?;
        let Some(neighbour) = candidates.get(NEIGHBOUR).or(candidates.last()) else { continue };
        let mut moved_by = distance(&stored(&[neighbour.slot])?[0], row);
        if moved_by == 0.0 {
            // Its neighbours are copies of it. Other rows of the sample are farther than need be: a little too careful.
            let others = rows.iter().map(|other| distance(other, row)).filter(|distance| *distance > 0.0);
            moved_by = others.reduce(f32::min).unwrap_or_default();
        }
        // Near enough to normally distributed: eight uniform bytes each.
        let direction: Vec<f32> = (0..row.len())
            .map(|_| splitmix64(&mut numbers).to_le_bytes().iter().map(|byte| f32::from(*byte) - 127.5).sum())
            .collect();
        let length = direction.iter().map(|x| x * x).sum::<f32>().sqrt().max(f32::MIN_POSITIVE);
        let moved: Vec<f32> = row.iter().zip(direction).map(|(q, x)| q + x / length * moved_by * NOISE).collect();
        // The longest vectors that are allowed may become too long.
        queries.push(if validate(&moved, index.dim(), index.metric()).is_ok() { moved } else { row.clone() });
    }
    Ok(queries)
}

fn distance(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(x, y)| (x - y) * (x - y)).sum::<f32>().sqrt()
}

/// The similarity of the `limit`-th best row, as scanning the codes finds it.
fn reach(index: &Index, query: &[f32], limit: usize) -> Result<f32> {
    let candidates = index.codes.search(query, Rows::All, limit)?;
    let slots: Vec<u32> = candidates.iter().map(|candidate| candidate.slot).collect();
    let mut similarities = index.compare(query, &slots)?;
    similarities.sort_unstable_by(|a, b| b.total_cmp(a));
    Ok(similarities.get(limit - 1).or(similarities.last()).copied().unwrap_or(f32::NEG_INFINITY))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn efforts_come_back_from_their_file_and_grow_with_recall_and_limit() {
        let folder = tempfile::tempdir().unwrap();
        let mut table = EfTable::default();
        table.0[0][2] = 77;
        table.write(folder.path()).unwrap();
        let read = EfTable::read(folder.path()).unwrap();
        assert_eq!(read, table);
        assert_eq!(read.ef(0.98, 10), 77);
        assert_eq!(read.ef(0.97, 1), 77);
        assert!(read.ef(0.99, 50) > read.ef(0.99, 10));
        assert!(read.ef(0.9, 10_000) >= 10_000);
        assert!(read.ef(1.0, 10) == read.ef(0.999, 10));
    }

    #[test]
    fn a_damaged_file_is_named() {
        let folder = tempfile::tempdir().unwrap();
        assert!(EfTable::read(folder.path()).unwrap_err().to_string().contains("efforts"));
        write_sealed(&folder.path().join(EF_TABLE_FILE), b"10 0.9 x\n").unwrap();
        assert!(EfTable::read(folder.path()).is_err());
    }
}
