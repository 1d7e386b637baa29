//! From a recall to the walk that reaches it, measured on the segment's own rows when its graph was built.
//!
//! Two sealed files: `efforts` has lines `limit recall ef`, `slacks` lines `limit recall slack` (see [`Ef`]; a segment of an
//! earlier version has none). Queries are rows of the segment moved away from themselves by the distance of their neighbours, so
//! that they are no rows any more.

use std::fmt::Display;
use std::path::Path;
use std::str::FromStr;

use nuthatch_segment::{SegmentError, read_sealed, write_sealed};

use super::Index;
use crate::graph::{Bounds, Ef, Extent};
use crate::prepared::Prepared;
use crate::rotation::splitmix64;
use crate::{Reached, Result, Rows, validate};

const EF_TABLE_FILE: &str = "efforts";
const SLACKS_FILE: &str = "slacks";
/// Targets that are measured.
pub(crate) const RECALLS: [f32; 6] = [0.9, 0.95, 0.98, 0.99, 0.995, 0.999];
/// Limits that are measured; in between and beyond, values of `ef` are drawn as a line.
pub(crate) const LIMITS: [usize; 2] = [10, 100];

/// A value for each of [`LIMITS`] and [`RECALLS`].
type Table<T> = [[T; RECALLS.len()]; LIMITS.len()];

/// The walks that reach a recall.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct EfTable {
    pools: Table<usize>,
    /// Infinite where none suffices, or none was measured.
    slacks: Table<f32>,
}

impl Default for EfTable {
    /// Rough values for clustered data; segments without a graph never use them.
    fn default() -> Self {
        Self::of([[24, 40, 80, 120, 200, 500], [130, 170, 240, 320, 450, 900]])
    }
}

impl EfTable {
    fn of(pools: Table<usize>) -> Self {
        Self { pools, slacks: [[f32::INFINITY; RECALLS.len()]; LIMITS.len()] }
    }

    /// The walk that reaches `recall` of the `limit` best.
    pub(crate) fn ef(&self, recall: f32, limit: usize) -> Ef {
        let at = RECALLS.iter().position(|measured| *measured >= recall).unwrap_or(RECALLS.len() - 1);
        let (few, many) = (self.pools[0][at] as f64, self.pools[1][at] as f64);
        let slope = ((many - few) / (LIMITS[1] - LIMITS[0]) as f64).max(1.0);
        let (pool, slack) = match limit > LIMITS[0] {
            true => (few + slope * (limit - LIMITS[0]) as f64, self.slacks[0][at].max(self.slacks[1][at])),
            false => (few, self.slacks[0][at]),
        };
        Ef { pool: (pool.ceil() as usize).max(limit), slack: slack * SLACK_FACTOR + SLACK_MORE }
    }

    pub(crate) fn write(&self, dir: &Path) -> Result<()> {
        write_table(&dir.join(SLACKS_FILE), &self.slacks)?;
        write_table(&dir.join(EF_TABLE_FILE), &self.pools)
    }

    pub(crate) fn read(dir: &Path) -> Result<Self> {
        let path = dir.join(EF_TABLE_FILE);
        let pools = read_table(&path)?.ok_or_else(|| SegmentError::corrupt(&path, "it is missing"))?;
        let slacks_path = dir.join(SLACKS_FILE);
        let slacks = read_table(&slacks_path)?.unwrap_or(Self::of(pools).slacks);
        match slacks.as_flattened().iter().all(|slack| *slack >= 0.0) {
            true => Ok(Self { pools, slacks }),
            false => Err(SegmentError::corrupt(&slacks_path, "a slack is negative or no number").into()),
        }
    }
}

fn write_table<T: Display>(path: &Path, table: &Table<T>) -> Result<()> {
    let mut body = String::new();
    for (limit, row) in LIMITS.iter().zip(table) {
        for (recall, value) in RECALLS.iter().zip(row) {
            body += &format!("{limit} {recall} {value}\n");
        }
    }
    Ok(write_sealed(path, body.as_bytes())?)
}

/// `None` when there is no such file.
fn read_table<T: FromStr + Copy + Default>(path: &Path) -> Result<Option<Table<T>>> {
    let Some(body) = read_sealed(path)? else { return Ok(None) };
    let corrupt = |what: &str| SegmentError::corrupt(path, what);
    let body = String::from_utf8(body).map_err(|_| corrupt("it is not text"))?;
    let mut table = Table::default();
    let mut lines = body.lines();
    for (at, limit) in LIMITS.iter().enumerate() {
        for (place, recall) in RECALLS.iter().enumerate() {
            let line = lines.next().ok_or_else(|| corrupt("a line is missing"))?;
            let value = line.strip_prefix(&format!("{limit} {recall} ")).and_then(|value| value.parse().ok());
            table[at][place] = value.ok_or_else(|| corrupt("a line is malformed"))?;
        }
    }
    Ok(Some(table))
}

/// Queries that values of `ef` are measured with.
const QUERIES: u32 = 96;
/// The growth of `ef` between trials: each value is this percentage of the one before.
const GROWTH_PERCENT: usize = 130;
/// Which neighbour's distance a query is moved by, and how many times.
const NEIGHBOUR: usize = 10;
const NOISE: f32 = 1.0;
/// The share of a target's allowed misses granted to queries made of rows: the rest is for queries that are less like
/// them.
const MISSED_SHARE: f32 = 0.5;
/// The `ef` of a target that no smaller `ef` reached: a scan is cheaper then, and misses next to nothing.
const EF_TRIED_MAX: usize = 4096;

/// Slacks that are tried, least first.
const SLACKS: [f32; 11] = [0.0, 0.01, 0.02, 0.035, 0.05, 0.065, 0.08, 0.1, 0.14, 0.2, 0.3];
/// The pool of a walk that is to end by distance, as a multiple of what suffices.
const SLACK_POOL_FACTOR: usize = 3;
/// A search may use this multiple of the slack that rows of the segment took, plus `SLACK_MORE`: its queries are
/// farther from the rows, so that more of them lie about as far as the last one found.
const SLACK_FACTOR: f32 = 2.0;
const SLACK_MORE: f32 = 0.05;

/// Measures the walk that each recall takes, with rows of the segment as queries.
pub(crate) fn measure(index: &Index) -> Result<EfTable> {
    let mut table = EfTable::of([[EF_TRIED_MAX; RECALLS.len()]; LIMITS.len()]);
    let queries = queries(index)?;
    for (at, limit) in LIMITS.into_iter().enumerate() {
        let trial = Trial::new(index, &queries, limit)?;
        let (mut ef, mut target, mut tried) = (limit, 0, limit);
        while target < RECALLS.len() && ef <= EF_TRIED_MAX && !index.scans_rather_than(Ef::whole(ef)) {
            let recall = trial.recall(ef, None)?;
            while target < RECALLS.len() && reaches(recall, RECALLS[target]) {
                table.pools[at][target] = ef;
                target += 1;
            }
            tried = ef;
            ef = (ef * GROWTH_PERCENT / 100).max(ef + 1);
        }
        let mut target = 0;
        for slack in SLACKS {
            let recall = trial.recall(tried * SLACK_POOL_FACTOR, Some(slack))?;
            while target < RECALLS.len() && reaches(recall, RECALLS[target]) {
                table.slacks[at][target] = slack;
                target += 1;
            }
        }
    }
    Ok(table)
}

fn reaches(recall: f32, target: f32) -> bool {
    1.0 - recall <= (1.0 - target) * MISSED_SHARE
}

/// Walks with queries of which the true neighbours are known.
struct Trial<'a> {
    index: &'a Index,
    limit: usize,
    /// Prepared, raw, and the similarity of the last of the true neighbours.
    queries: Vec<(Prepared, &'a [f32], f32)>,
}

impl<'a> Trial<'a> {
    fn new(index: &'a Index, queries: &'a [Vec<f32>], limit: usize) -> Result<Self> {
        let with_truth =
            |query: &'a Vec<f32>| Ok((index.prepare(query), query.as_slice(), reach(index, query, limit)?));
        Ok(Self { index, limit, queries: queries.iter().map(with_truth).collect::<Result<_>>()? })
    }

    /// The average recall of walks with this pool; with a slack, of those that end by distance from the true neighbours.
    fn recall(&self, pool: usize, slack: Option<f32>) -> Result<f32> {
        let Some(graph) = &self.index.graph else { return Ok(0.0) };
        let limit = self.limit;
        let mut found = 0;
        for (prepared, query, reach) in &self.queries {
            let mut reached = Reached::new(limit);
            if slack.is_some() {
                (0..limit).for_each(|_| reached.offer(*reach));
            }
            let extent = Extent::Ef(Ef { pool, slack: slack.unwrap_or(f32::INFINITY) });
            let bounds = Bounds { rows: Rows::All, limit, extent, stop: &|| false, sample: &|_| Ok(Vec::new()) };
            let candidates = graph.walk(query, prepared, &bounds, &mut reached)?.candidates;
            let slots: Vec<u32> = candidates.iter().map(|candidate| candidate.slot).collect();
            let similarities = self.index.compare(query, &slots)?;
            found += similarities.iter().filter(|similarity| *similarity >= reach).count().min(limit);
        }
        Ok(found as f32 / (limit * self.queries.len().max(1)) as f32)
    }
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
    fn walks_come_back_from_their_files_and_grow_with_recall_and_limit() {
        let folder = tempfile::tempdir().unwrap();
        let mut table = EfTable::default();
        (table.pools[0][2], table.slacks[0][2], table.slacks[1][2]) = (77, 0.05, 0.1);
        table.write(folder.path()).unwrap();
        let read = EfTable::read(folder.path()).unwrap();
        assert_eq!(read, table);
        let pool = |recall, limit| read.ef(recall, limit).pool;
        assert_eq!((pool(0.98, 10), pool(0.97, 1)), (77, 77));
        assert!(pool(0.99, 50) > pool(0.99, 10));
        assert!(pool(0.9, 10_000) >= 10_000);
        assert_eq!(read.ef(1.0, 10), read.ef(0.999, 10));
        let slack = |recall, limit| read.ef(recall, limit).slack;
        assert!(slack(0.98, 10) >= 0.05 && slack(0.98, 11) >= 0.1 && slack(0.98, 11).is_finite());
        assert_eq!(slack(0.99, 10), f32::INFINITY);
        // A segment of an earlier version.
        std::fs::remove_file(folder.path().join(SLACKS_FILE)).unwrap();
        let earlier = EfTable::read(folder.path()).unwrap();
        assert_eq!((earlier.ef(0.98, 10).pool, earlier.ef(0.98, 10).slack), (77, f32::INFINITY));
    }

    #[test]
    fn a_damaged_file_is_named() {
        let folder = tempfile::tempdir().unwrap();
        assert!(EfTable::read(folder.path()).unwrap_err().to_string().contains("efforts"));
        write_sealed(&folder.path().join(EF_TABLE_FILE), b"10 0.9 x\n").unwrap();
        assert!(EfTable::read(folder.path()).is_err());
        for slack in [-0.1, f32::NAN] {
            let mut table = EfTable::default();
            table.slacks[1][3] = slack;
            table.write(folder.path()).unwrap();
            assert!(EfTable::read(folder.path()).unwrap_err().to_string().contains("slacks"));
        }
        std::fs::write(folder.path().join(SLACKS_FILE), b"torn").unwrap();
        assert!(EfTable::read(folder.path()).unwrap_err().to_string().contains("slacks"));
    }
}
