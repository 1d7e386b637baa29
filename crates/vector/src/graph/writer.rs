//! Writing the file `graph`: every node's record from the finished edges.

use std::path::Path;

use nuthatch_segment::{RecordFileWriter, RecordReader};

use super::GRAPH_FILE;
use super::build::{BuildCodes, Edges};
use super::edge_coder::EdgeCoder;
use super::layout::{DEGREE_MAX, ENTRIES_MAX, GraphHeader, Own, RECORD_HEAD_BYTES, RecordLayout};
use crate::layout::Width;
use crate::pages::Pages;
use crate::vectors::Vectors;
use crate::{Codes, Result};

/// Records that one thread makes before they are written.
const CHUNK: usize = 1024;

/// The source of the records: one whole segment, in the order of its slots.
pub(crate) struct Source<'a> {
    pub(crate) codes: &'a Codes,
    pub(crate) vectors: &'a Vectors,
    pub(crate) build: &'a BuildCodes,
    pub(crate) edges: &'a Edges,
    pub(crate) lift_max_squared: f32,
}

/// Writes `graph` in `dir`; returns its size in bytes. The same bytes for any number of threads. Memory: a chunk of records a thread.
pub(crate) fn write(dir: &Path, source: &Source<'_>, threads: usize) -> Result<u64> {
    let header = &source.codes.header;
    let layout = RecordLayout::new(header.dim, source.vectors.element());
    let mut file = RecordFileWriter::create(&dir.join(GRAPH_FILE), layout.stride)?;
    let rows = source.edges.len() as u32;
    let mut next = 0;
    while next < rows {
        let starts = (0..threads.max(1) as u32).map(|at| next.saturating_add(at * CHUNK as u32));
        let ranges: Vec<_> =
            starts.take_while(|start| *start < rows).map(|start| start..rows.min(start + CHUNK as u32)).collect();
        next = ranges.last().expect("at least one").end;
        let chunks: Vec<Result<Vec<u8>>> = std::thread::scope(|scope| {
            let workers: Vec<_> =
                ranges.into_iter().map(|range| scope.spawn(|| records(source, &layout, range))).collect();
            workers.into_iter().map(|worker| worker.join().expect("coding does not panic")).collect()
        });
        for chunk in chunks {
            for record in chunk?.chunks_exact(layout.stride - 4) {
                file.push(record)?;
            }
        }
    }
    let entries: Vec<u32> = source.edges.entries().iter().copied().take(ENTRIES_MAX).collect();
    let meta = GraphHeader {
        rows,
        dim: header.dim,
        metric: header.metric,
        element: source.vectors.element(),
        seed: header.seed,
        lift_max_squared: source.lift_max_squared,
        entry_blocks: entry_blocks(source.build, &layout, &entries),
        entries,
    };
    Ok(file.finish(&meta.to_bytes(&layout))?)
}

fn records(source: &Source<'_>, layout: &RecordLayout, range: std::ops::Range<u32>) -> Result<Vec<u8>> {
    let mut bytes = vec![0; range.len() * (layout.stride - 4)];
    let mut maker = RecordMaker::new(*layout, source.build);
    let mut pages = Pages::new(&source.codes.four, Width::Four, source.codes.header.padded_dim());
    for (node, record) in range.clone().zip(bytes.chunks_exact_mut(layout.stride - 4)) {
        maker.put_neighbours(node, source.edges.neighbours(node), |neighbour| neighbour, record);
        let (own, factors) = pages.row(node)?;
        layout.put_factors(factors, record);
        if layout.own == Own::Nibbles {
            layout.put_own(own, record);
        }
    }
    if layout.own == Own::Stored {
        let slots: Vec<u32> = range.clone().collect();
        for slots in slots.chunks(RecordReader::BATCH_MAX) {
            source.vectors.read(slots, |slot, stored| {
                let at = (slot - range.start) as usize * (layout.stride - 4);
                layout.put_own(stored, &mut bytes[at..at + layout.stride - 4]);
                Ok(())
            })?;
        }
    }
    Ok(bytes)
}

/// The entries, coded around the centroid as a node's neighbours are around it; their rows are `entries` of `codes`.
pub(super) fn entry_blocks(codes: &BuildCodes, layout: &RecordLayout, entries: &[u32]) -> Vec<u8> {
    let centroid = vec![0.0; codes.padded_dim()];
    let mut coder = EdgeCoder::new(*layout, centroid.len());
    let mut neighbours = Neighbours::default();
    let mut blocks = Vec::new();
    for entries in entries.chunks(DEGREE_MAX) {
        let start = blocks.len();
        blocks.resize(start + layout.block_bytes(), 0);
        neighbours.decode(codes, entries);
        coder.code((&centroid, 0.0), neighbours.iter(), &mut blocks[start..]);
    }
    blocks
}

/// Makes the part of records that tells of a node's neighbours.
pub(super) struct RecordMaker<'a> {
    layout: RecordLayout,
    codes: &'a BuildCodes,
    coder: EdgeCoder,
    node_vector: Vec<f32>,
    neighbours: Neighbours,
}

impl<'a> RecordMaker<'a> {
    pub(super) fn new(layout: RecordLayout, codes: &'a BuildCodes) -> Self {
        let coder = EdgeCoder::new(layout, codes.padded_dim());
        Self { layout, codes, coder, node_vector: Vec::new(), neighbours: Neighbours::default() }
    }

    /// `edges` are rows of the codes; `slot_of` says what they are called in the record.
    pub(super) fn put_neighbours(&mut self, node: u32, edges: &[u32], slot_of: impl Fn(u32) -> u32, record: &mut [u8]) {
        let row = self.codes.row(node);
        row.decode_into(&mut self.node_vector);
        self.neighbours.decode(self.codes, edges);
        let ids_at = RECORD_HEAD_BYTES + self.layout.own_bytes;
        let block_at = ids_at + DEGREE_MAX * 4;
        let block = &mut record[block_at..block_at + self.layout.block_bytes()];
        self.coder.code((&self.node_vector, row.lift()), self.neighbours.iter(), block);
        for edge in 0..DEGREE_MAX {
            let at = ids_at + edge * 4;
            let slot = edges.get(edge).map_or(u32::MAX, |neighbour| slot_of(*neighbour));
            record[at..at + 4].copy_from_slice(&slot.to_le_bytes());
        }
        record[8..10].copy_from_slice(&(edges.len() as u16).to_le_bytes());
    }
}

/// Decoded build codes of up to 32 nodes.
#[derive(Default)]
struct Neighbours {
    vectors: Vec<(Vec<f32>, f32)>,
    len: usize,
}

impl Neighbours {
    fn decode(&mut self, codes: &BuildCodes, nodes: &[u32]) {
        self.vectors.resize_with(self.vectors.len().max(nodes.len()), Default::default);
        self.len = nodes.len();
        for (node, (vector, lift)) in nodes.iter().zip(&mut self.vectors) {
            let row = codes.row(*node);
            row.decode_into(vector);
            *lift = row.lift();
        }
    }

    fn iter(&self) -> impl Iterator<Item = (&[f32], f32)> {
        self.vectors[..self.len].iter().map(|(vector, lift)| (vector.as_slice(), *lift))
    }
}
