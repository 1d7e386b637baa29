//! Which row goes into which shard.
//!
//! k-means (Lloyd 1982) on a sample; then every row goes to the nearest centroid whose shard has room.

use nuthatch_segment::{RecordReader, SegmentError, sync_folder};

use super::plan::{Plan, SHARDS_MAX, shard_rows_max, shards_for};
use super::shards::{Shards, push};
use super::{Rows, Settings, Steps, remove_folder};
use crate::graph::build::{BuildCodes, scatter};
use crate::graph::layout::Own;
use crate::layout::Width;
use crate::pages::Pages;
use crate::quantiser::Quantiser;
use crate::{Metric, Result, VectorError};

/// Rows that are looked at for one centroid.
const SAMPLE_PER_SHARD: usize = 256;
const ROUNDS: usize = 10;

/// Writes the rows of every shard, then the plan, so that a plan that is there is whole.
pub(super) fn assign(
    rows: &Rows<'_>,
    settings: &Settings<'_>,
    shards: &Shards<'_>,
    progress: &mut Steps<'_>,
) -> Result<Plan> {
    remove_folder(shards.folder)?;
    std::fs::create_dir_all(shards.folder).map_err(|error| SegmentError::io(shards.folder, error))?;
    let count = u64::from(rows.codes.rows());
    let rows_max = shard_rows_max(shards.padded_dim, settings.memory_bytes);
    let shard_count = shards_for(count, rows_max).min(SHARDS_MAX);
    let rows_max = rows_max.max(count.div_ceil(shard_count as u64)) as u32;
    let mut reader = CodedRows::new(rows)?;
    let mut plan = Plan::new(vec![0; shard_count], reader.centroids(shard_count, settings)?);
    let mut writers = (0..shard_count).map(|shard| shards.writer(shard)).collect::<Result<Vec<_>>>()?;
    let mut filled = vec![0u32; shard_count];
    let (mut row_bytes, mut record, mut order) = (Vec::new(), Vec::new(), Vec::new());
    let mut pages = Pages::new(&rows.codes.four, Width::Four, shards.padded_dim);
    let slots: Vec<u32> = (0..rows.codes.rows()).collect();
    for batch in slots.chunks(RecordReader::BATCH_MAX) {
        if progress.tell_of(0).is_break() {
            return Err(VectorError::Stopped);
        }
        reader.read(batch, |slot, codes, stored| {
            let row = codes.row(codes.len() as u32 - 1);
            plan.nearest(&row, &mut order);
            let home =
                order.iter().find(|(_, shard)| filled[*shard as usize] < rows_max).map_or(0, |(_, shard)| *shard);
            filled[home as usize] += 1;
            row_bytes.clear();
            row.to_bytes(&mut row_bytes);
            let (nibbles, factors) = pages.row(slot)?;
            let own = match shards.layout.own {
                Own::Nibbles => nibbles,
                Own::Stored => stored,
            };
            push(&mut writers[home as usize], &mut record, (slot, &row_bytes), (factors, own))
        })?;
    }
    for writer in writers {
        writer.finish(&[])?;
    }
    plan.set_rows(filled);
    sync_folder(shards.folder)?;
    if let Some(fingerprint) = settings.fingerprint {
        plan.write(rows, settings, fingerprint)?;
    }
    Ok(plan)
}

/// The rows of a segment, in the form that graphs are built on.
struct CodedRows<'a> {
    rows: &'a Rows<'a>,
    quantiser: Quantiser,
    codes: BuildCodes,
    row: Vec<f32>,
}

impl<'a> CodedRows<'a> {
    fn new(rows: &'a Rows<'a>) -> Result<Self> {
        let header = &rows.codes.header;
        let quantiser = Quantiser::new(header.dim, header.metric, header.seed, &header.centroid)?;
        Ok(Self { rows, quantiser, codes: BuildCodes::new(header.padded_dim()), row: Vec::new() })
    }

    /// Calls `visit(slot, codes, stored)` for each slot; the last of the codes is that of the row.
    fn read(&mut self, slots: &[u32], mut visit: impl FnMut(u32, &BuildCodes, &[u8]) -> Result<()>) -> Result<()> {
        let Self { rows, quantiser, codes, row } = self;
        codes.truncate(0);
        let header = &rows.codes.header;
        rows.vectors.read(slots, |slot, stored| {
            rows.vectors.element().decode_into(stored, header.dim, row);
            quantiser.rotate(row)?;
            codes.push(&quantiser.rotated, lift(header.metric, row, rows.lift_max_squared));
            visit(slot, codes, stored)
        })
    }

    /// Returns the centroids of `count` clusters of a sample.
    fn centroids(&mut self, count: usize, settings: &Settings<'_>) -> Result<BuildCodes> {
        let header = &self.rows.codes.header;
        let (rows, padded_dim) = (header.rows as usize, header.padded_dim());
        let room = (settings.memory_bytes / 2 / (padded_dim as u64 + 16)) as usize;
        let sample = (count * SAMPLE_PER_SHARD).min(room.max(count)).min(rows).max(1);
        let slots: Vec<u32> = (0..sample).map(|at| (at * rows / sample) as u32).collect();
        self.read(&slots, |_, _, _| Ok(()))?;
        let sample = std::mem::replace(&mut self.codes, BuildCodes::new(padded_dim));
        Ok(cluster(&sample, count, settings.parameters.seed))
    }
}

/// A row is lifted to the length of the longest, see [`super::super`].
fn lift(metric: Metric, row: &[f32], lift_max_squared: f32) -> f32 {
    match metric {
        Metric::Dot => (lift_max_squared - row.iter().map(|x| x * x).sum::<f32>()).max(0.0).sqrt(),
        Metric::Cosine | Metric::L2 | Metric::Hamming => 0.0,
    }
}

/// Returns the means of `count` clusters, which begin at rows that a hash picks.
fn cluster(rows: &BuildCodes, count: usize, seed: u64) -> BuildCodes {
    let padded_dim = rows.padded_dim();
    let mut order: Vec<u32> = (0..rows.len() as u32).collect();
    order.sort_by_cached_key(|row| scatter(seed as u32, *row));
    let mut means = Means::new(count, padded_dim);
    for at in 0..count {
        means.add(at, rows, order[at % order.len()]);
    }
    let mut centroids = means.codes();
    for _ in 0..ROUNDS {
        let mut next = Means::new(count, padded_dim);
        for row in 0..rows.len() as u32 {
            let of_row = rows.row(row);
            let distances = (0..count as u32).map(|at| (of_row.distance(&centroids.row(at)), at));
            let nearest = distances.min_by(|a, b| a.0.total_cmp(&b.0)).map_or(0, |(_, at)| at);
            next.add(nearest as usize, rows, row);
        }
        next.keep_empty(&means);
        means = next;
        centroids = means.codes();
    }
    centroids
}

/// Sums of the rows of clusters.
struct Means {
    sums: Vec<Vec<f64>>,
    lifts: Vec<f64>,
    rows: Vec<u32>,
}

impl Means {
    fn new(count: usize, padded_dim: usize) -> Self {
        Self { sums: vec![vec![0.0; padded_dim]; count], lifts: vec![0.0; count], rows: vec![0; count] }
    }

    fn add(&mut self, cluster: usize, rows: &BuildCodes, row: u32) {
        let row = rows.row(row);
        row.add_to(&mut self.sums[cluster]);
        self.lifts[cluster] += f64::from(row.lift());
        self.rows[cluster] += 1;
    }

    /// A cluster that lost all rows stays where it was.
    fn keep_empty(&mut self, before: &Self) {
        for cluster in (0..self.rows.len()).filter(|cluster| self.rows[*cluster] == 0).collect::<Vec<_>>() {
            self.sums[cluster].clone_from(&before.sums[cluster]);
            (self.lifts[cluster], self.rows[cluster]) = (before.lifts[cluster], before.rows[cluster]);
        }
    }

    fn codes(&self) -> BuildCodes {
        let mut codes = BuildCodes::new(self.sums.first().map_or(0, Vec::len));
        for ((sums, lift), rows) in self.sums.iter().zip(&self.lifts).zip(&self.rows) {
            let scale = 1.0 / f64::from((*rows).max(1));
            let mean: Vec<f32> = sums.iter().map(|sum| (sum * scale) as f32).collect();
            codes.push(&mean, (lift * scale) as f32);
        }
        codes
    }
}
