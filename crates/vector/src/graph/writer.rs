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

/// What the records are made from: all of one segment, in the order of its slots.
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
        entry_blocks: entry_blocks(source, &layout, &entries),
        entries,
    };
    Ok(file.finish(&meta.to_bytes(&layout))?)
}

fn records(source: &Source<'_>, layout: &RecordLayout, range: std::ops::Range<u32>) -> Result<Vec<u8>> {
    let mut bytes = vec![0; range.len() * (layout.stride - 4)];
    let own_at = RECORD_HEAD_BYTES;
    let ids_at = own_at + layout.own_bytes;
    let block_at = ids_at + DEGREE_MAX * 4;
    let mut coder = EdgeCoder::new(*layout, source.build.padded_dim());
    let (mut node_vector, mut neighbours) = (Vec::new(), Neighbours::default());
    let mut pages = Pages::new(&source.codes.four, Width::Four, source.codes.header.padded_dim());
    for (node, record) in range.clone().zip(bytes.chunks_exact_mut(layout.stride - 4)) {
        let row = source.build.row(node);
        row.decode_into(&mut node_vector);
        let edges = source.edges.neighbours(node);
        neighbours.decode(source.build, edges);
        let block = &mut record[block_at..block_at + layout.block_bytes()];
        coder.code((&node_vector, row.lift()), neighbours.iter(), block);
        for edge in 0..DEGREE_MAX {
            let at = ids_at + edge * 4;
            record[at..at + 4].copy_from_slice(&edges.get(edge).copied().unwrap_or(u32::MAX).to_le_bytes());
        }
        let (own, factors) = pages.row(node)?;
        if layout.own == Own::Nibbles {
            record[own_at..own_at + layout.own_bytes].copy_from_slice(own);
        }
        record[..4].copy_from_slice(&factors.add.to_le_bytes());
        record[4..8].copy_from_slice(&factors.scale.to_le_bytes());
        record[8..10].copy_from_slice(&(edges.len() as u16).to_le_bytes());
    }
    if layout.own == Own::Stored {
        let slots: Vec<u32> = range.clone().collect();
        for slots in slots.chunks(RecordReader::BATCH_MAX) {
            source.vectors.read(slots, |slot, stored| {
                let at = (slot - range.start) as usize * (layout.stride - 4) + own_at;
                bytes[at..at + layout.own_bytes].copy_from_slice(stored);
                Ok(())
            })?;
        }
    }
    Ok(bytes)
}

/// The entries, coded around the centroid as a node's neighbours are around it.
fn entry_blocks(source: &Source<'_>, layout: &RecordLayout, entries: &[u32]) -> Vec<u8> {
    let centroid = vec![0.0; source.build.padded_dim()];
    let mut coder = EdgeCoder::new(*layout, centroid.len());
    let mut neighbours = Neighbours::default();
    let mut blocks = Vec::new();
    for entries in entries.chunks(DEGREE_MAX) {
        let start = blocks.len();
        blocks.resize(start + layout.block_bytes(), 0);
        neighbours.decode(source.build, entries);
        coder.code((&centroid, 0.0), neighbours.iter(), &mut blocks[start..]);
    }
    blocks
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
