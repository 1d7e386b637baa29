//! The graph of a large segment: a Vamana graph of which every node is one record that answers everything a hop asks.
//!
//! **Useful for** searching millions of rows without holding anything of theirs in memory: a hop reads one record of 1 to 16 KiB with
//! the neighbours' ids, their 1- or 2-bit codes relative to the node, and the node's own code.
//! **Not for** small segments (scanning 1-bit codes is quicker below some ten thousand rows), and not for filters that few rows
//! pass (their codes are read directly): `index` decides.
//!
//! **Invariant:** the bytes depend on the rows, their order and the parameters alone, not on threads or the CPU.
//!
//! Distances in the graph are squared Euclidean ones between rotated residuals: of unit vectors under cosine; of vectors
//! *lifted* under dot. A row `x` is lifted to `(x, sqrt(M² - |x|²))` with `M` the greatest length, a query to `(q, 0)`: the nearest
//! lifted row is then the one with the greatest dot product (Bachrach et al., RecSys 2014).

mod among;
pub mod build;
mod edge_coder;
mod filtered;
mod front;
mod layout;
pub(crate) mod partitioned;
mod pool;
mod walk;
pub(crate) mod writer;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use nuthatch_distance::BLOCK_ROWS;
use nuthatch_segment::{Access, ReadAhead, RecordFile, SegmentError};

use self::layout::{GraphHeader, RecordLayout};
use self::walk::Scratch;
use crate::{Codes, Element, Result};

pub(crate) use filtered::Reach;
pub use layout::{GRAPH_FORMAT_OLDEST_READABLE, GRAPH_FORMAT_VERSION};
pub use walk::WalkStats;
pub(crate) use walk::{Bounds, Ef, Extent};

pub(crate) const GRAPH_FILE: &str = "graph";
/// One search in this many walks a graph that was cold before.
const LOOK_AGAIN: u32 = 4;
/// The same where there is no memory for all of it: it stays cold, unless what is asked for lies together.
const LOOK_AGAIN_IN_VAIN: u32 = 64;
/// The number of walks whose memory is kept for the next ones.
const SCRATCH_KEPT: usize = 16;

/// The open graph of one segment. Resident: the entry table (11 KiB at 128 dimensions, 28 at 1,024) and the memory of some walks.
pub(crate) struct Graph {
    header: GraphHeader,
    layout: RecordLayout,
    file: Arc<RecordFile>,
    scratch: parking_lot::Mutex<Vec<Scratch>>,
    looked_at: AtomicU32,
    look_again: u32,
}

impl Graph {
    /// Opens `graph` in `dir`, which must belong to the `codes` in the same folder.
    pub(crate) fn open(dir: &Path, codes: &Codes, element: Element, access: Access) -> Result<Self> {
        let file = RecordFile::open(&dir.join(GRAPH_FILE), access)?;
        let (header, layout) = GraphHeader::read(&file)?;
        let of_codes = &codes.header;
        let same = (header.rows, header.dim, header.metric, header.seed, header.element)
            == (of_codes.rows, of_codes.dim, of_codes.metric, of_codes.seed, element);
        if !same {
            return Err(SegmentError::corrupt(file.path(), "its header differs from that of codes1 next to it").into());
        }
        let look_again = if file.could_be_cached() { LOOK_AGAIN } else { LOOK_AGAIN_IN_VAIN };
        let scratch = parking_lot::Mutex::new(Vec::new());
        Ok(Self { header, layout, file, scratch, looked_at: AtomicU32::new(0), look_again })
    }

    /// Whether its records are handed out in place now.
    pub(crate) fn is_mapped(&self) -> bool {
        self.file.is_mapped()
    }

    /// Reads the whole file and checks every checksum.
    pub(crate) fn verify(&self) -> Result<()> {
        Ok(self.file.verify()?)
    }

    /// See [`RecordFile::read_ahead`].
    pub(crate) fn read_ahead(&self, go_on: &mut dyn FnMut() -> bool) -> Result<ReadAhead> {
        Ok(self.file.read_ahead(go_on)?)
    }

    /// The share of records that come from the disk, of late. Now and then it says none: who never looks never learns that
    /// they have become warm, nor makes them so.
    pub(crate) fn cold_share(&self) -> f64 {
        let share = self.file.cold_share();
        match share > 0.0 && !self.looked_at.fetch_add(1, Ordering::Relaxed).is_multiple_of(self.look_again) {
            true => share,
            false => 0.0,
        }
    }

    /// The neighbours of every node, as they were built: where the next build begins.
    pub(crate) fn edges(&self) -> Result<build::Edges> {
        let mut edges = build::Edges::with_capacity(self.header.entries.clone(), self.header.rows as usize);
        let mut reader = self.file.reader();
        let nodes: Vec<u32> = (0..self.header.rows).collect();
        for nodes in nodes.chunks(nuthatch_segment::RecordReader::BATCH_MAX) {
            reader.read(nodes, &mut |_, bytes| {
                let record = self.layout.record(bytes);
                let neighbours = (0..record.degree()).map(|edge| record.neighbour(edge));
                edges.push(&neighbours.filter(|node| *node < self.header.rows).collect::<Vec<u32>>());
                Ok::<(), crate::VectorError>(())
            })?;
        }
        Ok(edges)
    }

    /// Blocks of the entry table with the nodes that they stand for.
    fn entry_blocks(&self) -> impl Iterator<Item = (&[u8], &[u32])> {
        self.header.entry_blocks.chunks_exact(self.layout.block_bytes()).zip(self.header.entries.chunks(BLOCK_ROWS))
    }

    fn scratch(&self) -> Scratch {
        self.scratch.lock().pop().unwrap_or_else(|| Scratch::new(self.file.reader()))
    }

    fn keep(&self, scratch: Scratch) {
        let mut kept = self.scratch.lock();
        if kept.len() < SCRATCH_KEPT {
            kept.push(scratch);
        }
    }
}
