//! A build that was interrupted, as a file.
//!
//! ```text
//! a block file of: "NUTBUILD"  version u32  bytes of the fingerprint u32  fingerprint
//!                  rows u64  beam u64  seed u64  alpha f32  entries u32
//!                  entries: u32 each
//!                  every row: degree u8 (255: not inserted yet), neighbours u32 each
//! ```

use std::io::Write;
use std::path::Path;

use nuthatch_segment::{BlockCache, BlockFile, BlockFileWriter, SegmentError, rename_durably};

use super::adjacency::{ABSENT, Adjacency, CAPACITY};
use super::order::ENTRIES_MAX;
use super::{BuildCodes, BuildParameters, GraphBuilder};
use crate::Result;

const MAGIC: &[u8; 8] = b"NUTBUILD";
/// Part of what a checkpoint must match: any change of how graphs are built raises it.
const VERSION: u32 = 2;
/// A checkpoint is read once, in order.
const CACHE_BYTES: u64 = 1 << 20;

impl<'a> GraphBuilder<'a> {
    /// Saves what is built so far, atomically and durably. `fingerprint` says of which rows, in which order.
    pub fn checkpoint(&self, path: &Path, fingerprint: &[u8]) -> Result<()> {
        let beside = path.with_extension("writing");
        let io = |source| SegmentError::io(&beside, source);
        if let Err(error) = std::fs::remove_file(&beside)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            return Err(io(error).into());
        }
        let mut file = BlockFileWriter::create(&beside)?;
        let mut bytes = self.head(fingerprint);
        for row in 0..self.codes.len() as u32 {
            if self.adjacency.contains(row) {
                let neighbours = self.adjacency.neighbours(row);
                bytes.push(neighbours.len() as u8);
                bytes.extend(neighbours.iter().flat_map(|neighbour| neighbour.to_le_bytes()));
            } else {
                bytes.push(ABSENT);
            }
            if bytes.len() > nuthatch_segment::BLOCK_BYTES {
                file.write_all(&bytes).map_err(io)?;
                bytes.clear();
            }
        }
        file.write_all(&bytes).map_err(io)?;
        file.finish()?;
        Ok(rename_durably(&beside, path)?)
    }

    /// Continues a build where [`checkpoint`](Self::checkpoint) was called; the graph is the same in the end as without
    /// the interruption. `None` when there is no checkpoint, when it is damaged, or when it is one of other rows or
    /// parameters: then the build starts over.
    pub fn resume(codes: &'a BuildCodes, parameters: BuildParameters, path: &Path, fingerprint: &[u8]) -> Option<Self> {
        let file = BlockFile::open(path, &BlockCache::new(CACHE_BYTES)).ok()?;
        let mut reader = Reader { file: &file, at: 0 };
        let head = identity(codes, &parameters, fingerprint);
        let mut found = vec![0; head.len()];
        reader.fill(&mut found).filter(|()| found == head)?;
        let entries = reader.number()? as usize;
        let entries = (entries <= ENTRIES_MAX).then(|| reader.numbers(entries)).flatten()?;
        let mut adjacency = Adjacency::new(codes.len());
        for row in 0..codes.len() as u32 {
            let mut degree = [0];
            reader.fill(&mut degree)?;
            if degree[0] != ABSENT {
                let degree = Some(usize::from(degree[0])).filter(|degree| *degree <= CAPACITY)?;
                adjacency.all().set(row, &reader.numbers(degree)?);
            }
        }
        let present = |row: &u32| (*row as usize) < codes.len() && adjacency.contains(*row);
        let rows = (0..codes.len() as u32).filter(present);
        let whole = entries.first().is_none_or(present)
            && entries.iter().all(|entry| (*entry as usize) < codes.len())
            && entries.is_empty() == codes.is_empty()
            && rows.into_iter().all(|row| adjacency.neighbours(row).iter().all(present));
        whole.then(|| Self::with_adjacency(codes, parameters, adjacency, entries))
    }

    fn head(&self, fingerprint: &[u8]) -> Vec<u8> {
        let mut bytes = identity(self.codes, &self.parameters, fingerprint);
        bytes.extend((self.entries.len() as u32).to_le_bytes());
        bytes.extend(self.entries.iter().flat_map(|entry| entry.to_le_bytes()));
        bytes
    }
}

/// Returns the beginning of a checkpoint: everything that determines the graph.
fn identity(codes: &BuildCodes, parameters: &BuildParameters, fingerprint: &[u8]) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend((fingerprint.len() as u32).to_le_bytes());
    bytes.extend(fingerprint);
    bytes.extend((codes.len() as u64).to_le_bytes());
    bytes.extend((parameters.beam as u64).to_le_bytes());
    bytes.extend(parameters.seed.to_le_bytes());
    bytes.extend(parameters.alpha.to_le_bytes());
    bytes
}

struct Reader<'a> {
    file: &'a BlockFile,
    at: u64,
}

impl Reader<'_> {
    fn fill(&mut self, out: &mut [u8]) -> Option<()> {
        self.file.read_at(self.at, out).ok()?;
        self.at += out.len() as u64;
        Some(())
    }

    fn number(&mut self) -> Option<u32> {
        let mut bytes = [0; 4];
        self.fill(&mut bytes)?;
        Some(u32::from_le_bytes(bytes))
    }

    fn numbers(&mut self, count: usize) -> Option<Vec<u32>> {
        let mut bytes = vec![0; count * 4];
        self.fill(&mut bytes)?;
        Some(bytes.as_chunks::<4>().0.iter().map(|number| u32::from_le_bytes(*number)).collect())
    }
}
