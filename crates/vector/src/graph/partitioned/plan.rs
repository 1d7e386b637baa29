//! How rows are cut into shards.
//!
//! ```text
//! a sealed file of: "NUTSHARD"  version u32  bytes of the fingerprint u32  fingerprint
//!                   rows u64  rows of a shard at most u64  beam u64  seed u64  alpha f32
//!                   shards u32
//!                   every shard: rows u32
//!                   every shard: its centroid, as a row of `BuildCodes`: scale f32  lift f32  codes i8 * padded_dim
//! ```

use std::path::Path;

use nuthatch_segment::{read_sealed, write_sealed};

use super::shards::ROW_HEAD_BYTES;
use super::{Rows, Settings};
use crate::Result;
use crate::graph::build::{BuildCodes, Row};
use crate::rotation::padded_dim;

const MAGIC: &[u8; 8] = b"NUTSHARD";
const VERSION: u32 = 1;
const PLAN_FILE: &str = "plan";
/// The number of other shards in which a row meets others.
pub(super) const GUESTS: usize = 4;
/// The rows of other shards that may be in memory, for each row at home.
const OTHERS_PER_ROW: u64 = 3;
/// As many as there are entries, so that one of each is among them.
pub(super) const SHARDS_MAX: usize = super::ENTRIES_MAX;
/// So full are shards on the average, of what they may hold: in percent.
const FILLED_PERCENT: u64 = 80;
/// Fewer rows make no graph worth linking.
const SHARD_ROWS_MIN: u64 = 1024;

/// Rows of a shard at most.
pub(super) fn shard_rows_max(padded_dim: usize, memory_bytes: u64) -> u64 {
    let codes = padded_dim as u64 + 12 + 4;
    // A list of 48 places while the graph is built; then rows of others, three kinds of lists, and whom a row met and who met it.
    let building = codes + 210;
    let linking = codes * (1 + OTHERS_PER_ROW) + 1000;
    (memory_bytes / building.max(linking)).max(SHARD_ROWS_MIN)
}

/// Rows of other shards that are in memory while a shard is linked.
pub(super) fn others_max(padded_dim: usize, memory_bytes: u64) -> usize {
    usize::try_from(shard_rows_max(padded_dim, memory_bytes) * OTHERS_PER_ROW).unwrap_or(usize::MAX)
}

/// Returns the most rows of one graph that can be built in about `memory_bytes` bytes of memory.
pub(crate) fn rows_max(dim: usize, memory_bytes: u64) -> u64 {
    let filled = shard_rows_max(padded_dim(dim), memory_bytes) * FILLED_PERCENT / 100;
    (filled * SHARDS_MAX as u64).min(u64::from(u32::MAX / 2))
}

/// Returns the number of shards for `rows` rows.
pub(super) fn shards_for(rows: u64, shard_rows_max: u64) -> usize {
    rows.div_ceil((shard_rows_max * FILLED_PERCENT / 100).max(1)).max(1) as usize
}

pub(super) struct Plan {
    rows: Vec<u32>,
    /// The middle of each shard.
    pub(super) centroids: BuildCodes,
}

impl Plan {
    pub(super) fn new(rows: Vec<u32>, centroids: BuildCodes) -> Self {
        Self { rows, centroids }
    }

    pub(super) fn shards(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn rows_of(&self, shard: usize) -> usize {
        self.rows[shard] as usize
    }

    /// The number of a shard's first row among the rows of all shards, one shard behind the other.
    pub(super) fn first_of(&self, shard: usize) -> u32 {
        self.rows[..shard].iter().sum()
    }

    /// The shard of a row, by its number among the rows of all shards, and its place there.
    pub(super) fn place_of(&self, number: u32) -> (usize, u32) {
        let mut at = number;
        for (shard, rows) in self.rows.iter().enumerate() {
            match at.checked_sub(*rows) {
                Some(rest) => at = rest,
                None => return (shard, at),
            }
        }
        (self.rows.len() - 1, at)
    }

    /// The shards by the distance of their centroids, the nearest first.
    pub(super) fn nearest(&self, row: &Row<'_>, order: &mut Vec<(f32, u32)>) {
        order.clear();
        order.extend((0..self.rows.len() as u32).map(|shard| (row.distance(&self.centroids.row(shard)), shard)));
        order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    }

    pub(super) fn set_rows(&mut self, rows: Vec<u32>) {
        self.rows = rows;
    }

    pub(super) fn write(&self, rows: &Rows<'_>, settings: &Settings<'_>, fingerprint: &[u8]) -> Result<()> {
        let mut bytes = identity(rows, settings, fingerprint);
        bytes.extend((self.rows.len() as u32).to_le_bytes());
        self.rows.iter().for_each(|rows| bytes.extend(rows.to_le_bytes()));
        (0..self.rows.len() as u32).for_each(|shard| self.centroids.row(shard).to_bytes(&mut bytes));
        Ok(write_sealed(&file_in(settings.folder.as_path()), &bytes)?)
    }

    /// Reads the plan that an earlier process left for a build of the same rows with the same parameters; `None` if
    /// there is none.
    pub(super) fn read(rows: &Rows<'_>, settings: &Settings<'_>, fingerprint: &[u8]) -> Option<Self> {
        let bytes = read_sealed(&file_in(&settings.folder)).ok()??;
        let rest = bytes.strip_prefix(identity(rows, settings, fingerprint).as_slice())?;
        let (shards, rest) = rest.split_first_chunk::<4>()?;
        let shards = Some(u32::from_le_bytes(*shards) as usize).filter(|shards| (1..=SHARDS_MAX).contains(shards))?;
        let (of_shards, mut rest) = rest.split_at_checked(shards * 4)?;
        let of_shards: Vec<u32> = of_shards.as_chunks::<4>().0.iter().map(|rows| u32::from_le_bytes(*rows)).collect();
        let mut centroids = BuildCodes::new(rows.codes.header.padded_dim());
        for _ in 0..shards {
            let (centroid, after) = rest.split_at_checked(ROW_HEAD_BYTES + centroids.padded_dim())?;
            centroids.push_bytes(centroid)?;
            rest = after;
        }
        let whole = of_shards.iter().map(|rows| u64::from(*rows)).sum::<u64>() == u64::from(rows.codes.rows());
        (whole && rest.is_empty()).then(|| Self::new(of_shards, centroids))
    }
}

fn file_in(folder: &Path) -> std::path::PathBuf {
    folder.join(PLAN_FILE)
}

fn identity(rows: &Rows<'_>, settings: &Settings<'_>, fingerprint: &[u8]) -> Vec<u8> {
    let parameters = &settings.parameters;
    let mut bytes = MAGIC.to_vec();
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend((fingerprint.len() as u32).to_le_bytes());
    bytes.extend(fingerprint);
    bytes.extend(u64::from(rows.codes.rows()).to_le_bytes());
    bytes.extend(shard_rows_max(rows.codes.header.padded_dim(), settings.memory_bytes).to_le_bytes());
    bytes.extend((parameters.beam as u64).to_le_bytes());
    bytes.extend(parameters.seed.to_le_bytes());
    bytes.extend(parameters.alpha.to_le_bytes());
    bytes
}
