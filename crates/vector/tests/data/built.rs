//! Indexes for tests, built from a matrix in a folder of their own, and the store to judge their answers by.
#![allow(dead_code)]

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use nuthatch_segment::{Access, BlockCache};
use nuthatch_vector::*;
use tempfile::TempDir;

use crate::data::{Matrix, clusters};

pub const LIMIT: usize = 10;

/// The kind of rows in a test.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    pub dim: usize,
    pub metric: Metric,
    pub element: Element,
}

/// Clusters of rows as `element` can hold them, and queries from the same clusters.
pub fn clustered(kind: Kind, rows: usize, queries: usize, spread: f32, seed: u64) -> (Matrix, Matrix) {
    let (mut rows, mut queries) = clusters(kind.dim, rows, queries, 40, spread, seed);
    let held = |x: f32| match kind.element {
        Element::F32 => x,
        Element::F16 => Element::F16.decode(&Element::F16.encode(&[x]).unwrap(), 1)[0],
        Element::Int8 => (x * 30.0).round().clamp(-128.0, 127.0),
        Element::Uint8 => (x * 30.0 + 128.0).round().clamp(0.0, 255.0),
        Element::Binary => f32::from(u8::from(x > 0.0)),
    };
    rows.values.iter_mut().chain(&mut queries.values).for_each(|x| *x = held(*x));
    (rows, queries)
}

/// An index with a graph, and the folder that it is in.
pub struct Built {
    pub folder: TempDir,
    pub index: Index,
}

/// Room for all blocks of a test's segment: the planner finds scanning cheap.
pub fn roomy() -> Arc<BlockCache> {
    BlockCache::new(256 << 20)
}

/// Room for next to none: the planner finds walking cheaper than scanning even where there are few rows.
pub fn cramped() -> Arc<BlockCache> {
    BlockCache::new(1)
}

/// Built on one thread, opened mapped and so that walks are preferred.
pub fn built(kind: Kind, rows: &Matrix) -> Built {
    let folder = tempfile::tempdir().unwrap();
    build(folder.path(), kind, rows, 1);
    let index = open(folder.path(), Access::Mapped);
    Built { folder, index }
}

pub fn open(folder: &Path, access: Access) -> Index {
    Index::open(folder, &cramped(), access).unwrap()
}

pub fn build(folder: &Path, kind: Kind, rows: &Matrix, threads: usize) {
    let progress = &mut |_| ControlFlow::Continue(());
    let options = BuildOptions { threads, previous: None, checkpoint: None, progress };
    build_with(folder, kind, rows, options).unwrap();
}

pub fn build_with(folder: &Path, kind: Kind, rows: &Matrix, options: BuildOptions<'_>) -> Result<Index> {
    writer(folder, kind, rows, 42).finish(options, &roomy(), Access::Mapped)
}

/// All rows pushed.
pub fn writer(folder: &Path, kind: Kind, rows: &Matrix, seed: u64) -> IndexWriter {
    writer_within(u64::MAX, folder, kind, rows, seed)
}

/// The same with `build_memory_bytes` bytes of memory for building the graph.
pub fn writer_within(build_memory_bytes: u64, folder: &Path, kind: Kind, rows: &Matrix, seed: u64) -> IndexWriter {
    let Kind { dim, metric, element } = kind;
    let mut centroid = Centroid::new(dim, metric).unwrap();
    rows.rows().for_each(|row| centroid.add(row).unwrap());
    let options =
        IndexOptions { dim, metric, element, seed, centroid: centroid.mean(), graph: true, build_memory_bytes };
    let mut writer = IndexWriter::create(folder, options).unwrap();
    rows.rows().for_each(|row| writer.push(&element.encode(row).unwrap()).unwrap());
    writer
}

/// The exact similarity of the `limit`-th best of the rows that match: an answer that reaches it is right.
pub fn reach(metric: Metric, rows: &Matrix, query: &[f32], limit: usize, matches: impl Fn(u32) -> bool) -> f32 {
    let matching = (0..rows.len()).filter(|slot| matches(*slot as u32));
    let mut exact: Vec<f32> = matching.map(|slot| metric.similarity(query, rows.row(slot))).collect();
    match limit.min(exact.len()) {
        0 => f32::INFINITY,
        limit => *exact.select_nth_unstable_by(limit - 1, |a, b| b.total_cmp(a)).1,
    }
}

/// How many of the `limit` best were found: rows whose exact similarity reaches `reach`.
pub fn hits(index: &Index, query: &[f32], found: &SegmentHits, reach: f32, limit: usize) -> usize {
    let mut slots: Vec<u32> = found.candidates.iter().map(|candidate| candidate.slot).collect();
    slots.sort_unstable();
    slots.dedup();
    assert_eq!(slots.len(), found.candidates.len(), "a row is a candidate twice");
    let similarities = index.compare(query, &slots).unwrap();
    similarities.iter().filter(|similarity| **similarity >= reach).count().min(limit)
}

/// The average results of several queries.
#[derive(Clone, Copy, Debug, Default)]
pub struct Measured {
    pub recall: f64,
    /// Mean hops of a walk.
    pub hops: f64,
    /// Share of the queries that a walk answered.
    pub walked: f64,
}

/// Searches all rows for every query.
pub fn measure(index: &Index, rows: &Matrix, queries: &Matrix, limit: usize, accuracy: Accuracy) -> Measured {
    let mut sums = Measured::default();
    for query in queries.rows() {
        let found = index.search(query, Rows::All, limit, accuracy, &|| false).unwrap();
        assert!(found.candidates.len() >= limit.min(rows.len()));
        let reach = reach(index.metric(), rows, query, limit, |_| true);
        sums.recall += hits(index, query, &found, reach, limit) as f64 / limit.min(rows.len()) as f64;
        sums.hops += found.walk.hops as f64;
        sums.walked += f64::from(u8::from(matches!(found.plan, Plan::Walk { .. })));
    }
    let asked = queries.len() as f64;
    Measured { recall: sums.recall / asked, hops: sums.hops / asked, walked: sums.walked / asked }
}
