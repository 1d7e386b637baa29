//! The bytes of the file `graph`.
//!
//! One record a node, of a fixed stride, in a record file (which adds the checksums). Node number = slot.
//!
//! ```text
//! record   head         12                     f32 add, f32 scale of the node's 4-bit code; degree u16; two zeros
//!          own          see `Own`              the node's 4-bit code as in codes4, or its stored vector
//!          ids          128                    32 u32 neighbours, u32::MAX where there is none
//!          edge codes   planes * scanned * 4   the neighbours' codes of (neighbour - node): one fast-scan block a bit plane,
//!                                              over the first `scanned` rotated dimensions
//!          factors      256                    32 f32 add, 32 f32 scale
//!          zeros up to the stride; the last 4 bytes are the record's checksum
//!
//! meta     0  magic "NUTGRAPH"      24  metric u32        44  planes u32
//!          8  version u32           28  element u32       48  scanned u32
//!         12  rows u32              32  seed u64          52  own u32 (0: 4-bit code, 1: stored vector)
//!         16  dim u32               40  stride u32        56  entries u32
//!         20  padded_dim u32                              60  lift_max_squared f32
//!         64  entries * u32 nodes, then for each 32 of them a block of edge codes and factors, coded around the centroid
//! ```
//! Everything is little endian.

use nuthatch_distance::{BLOCK_FACTOR_BYTES, BLOCK_ROWS};
use nuthatch_segment::{RecordFile, SegmentError};

use crate::layout::{metric_code, metric_of};
use crate::quantiser::Factors;
use crate::rotation::padded_dim;
use crate::validate::validate_dim;
use crate::{Element, Metric, Result};

/// Version of the layout of `graph` that is written.
pub const GRAPH_FORMAT_VERSION: u32 = 1;
/// Oldest version that is read.
pub const GRAPH_FORMAT_OLDEST_READABLE: u32 = 1;
/// Most neighbours of a node: one fast-scan block.
pub const DEGREE_MAX: usize = BLOCK_ROWS;
/// Nodes that a search may begin at.
pub(crate) const ENTRIES_MAX: usize = 256;

const MAGIC: &[u8; 8] = b"NUTGRAPH";
const HEAD_BYTES: usize = 64;
const CHECKSUM_BYTES: usize = 4;
/// Own factors, degree and its padding.
pub(crate) const RECORD_HEAD_BYTES: usize = 12;
/// Head, ids, factors, checksum.
const FIXED_BYTES: usize = RECORD_HEAD_BYTES + DEGREE_MAX * 4 + BLOCK_FACTOR_BYTES + CHECKSUM_BYTES;
/// Powers of two, so that few records straddle a page.
const STRIDES: [usize; 5] = [1024, 2048, 4096, 8192, 16_384];
/// Up to this many dimensions, a record with two bits an edge is no larger than one with one bit.
const TWO_PLANES_DIM_MAX: usize = 192;

/// The form in which a record stores its own node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Own {
    /// Its 4-bit code: an estimate with a known error.
    Nibbles,
    /// Its stored vector: exact.
    Stored,
}

/// How records of one dimension and element type are laid out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RecordLayout {
    pub(crate) stride: usize,
    pub(crate) planes: usize,
    /// Rotated dimensions that edges are coded in: after a random rotation any of them are a fair sample of all.
    pub(crate) scanned: usize,
    pub(crate) own: Own,
    pub(crate) own_bytes: usize,
}

impl RecordLayout {
    pub(crate) fn new(dim: usize, element: Element) -> Self {
        let padded_dim = padded_dim(dim);
        let planes = if padded_dim <= TWO_PLANES_DIM_MAX { 2 } else { 1 };
        let nibbles = padded_dim / 2;
        // Two planes are worth all their dimensions; of one plane three quarters do.
        let scanned_min = if planes == 2 { padded_dim } else { padded_dim / 4 * 3 };
        let needs = |scanned: usize, own: usize| FIXED_BYTES + planes * scanned * 4 + own;
        let stride = STRIDES.into_iter().find(|stride| needs(scanned_min, nibbles) <= *stride);
        let stride = stride.unwrap_or(STRIDES[STRIDES.len() - 1]);
        let scanned = ((stride - FIXED_BYTES - nibbles) / (4 * planes) / 16 * 16).min(padded_dim);
        let stored = element.row_bytes(dim);
        let (own, own_bytes) = match needs(scanned, stored) <= stride {
            true => (Own::Stored, stored),
            false => (Own::Nibbles, nibbles),
        };
        Self { stride, planes, scanned, own, own_bytes }
    }

    pub(crate) fn code_bytes(&self) -> usize {
        self.planes * self.scanned * 4
    }

    /// Edge codes and factors: what one block of an entry table takes, too.
    pub(crate) fn block_bytes(&self) -> usize {
        self.code_bytes() + BLOCK_FACTOR_BYTES
    }

    /// Writes the factors of the node's own code into its record.
    pub(crate) fn put_factors(&self, factors: Factors, record: &mut [u8]) {
        record[..4].copy_from_slice(&factors.add.to_le_bytes());
        record[4..8].copy_from_slice(&factors.scale.to_le_bytes());
    }

    /// Writes the node's own code, or its stored vector, into its record.
    pub(crate) fn put_own(&self, own: &[u8], record: &mut [u8]) {
        record[RECORD_HEAD_BYTES..RECORD_HEAD_BYTES + self.own_bytes].copy_from_slice(own);
    }

    /// Splits a record into its parts. The parts needed first come first: they have arrived when the rest is requested.
    pub(crate) fn record<'a>(&self, bytes: &'a [u8]) -> Record<'a> {
        let (head, rest) = bytes.split_at(RECORD_HEAD_BYTES);
        let (own, rest) = rest.split_at(self.own_bytes);
        let (ids, rest) = rest.split_at(DEGREE_MAX * 4);
        let (codes, rest) = rest.split_at(self.code_bytes());
        Record { head, own, ids, codes, factors: &rest[..BLOCK_FACTOR_BYTES] }
    }
}

/// One record, in place.
pub(crate) struct Record<'a> {
    head: &'a [u8],
    pub(crate) own: &'a [u8],
    ids: &'a [u8],
    pub(crate) codes: &'a [u8],
    pub(crate) factors: &'a [u8],
}

impl Record<'_> {
    pub(crate) fn own_factors(&self) -> (f32, f32) {
        let at = |byte: usize| f32::from_le_bytes(self.head[byte..byte + 4].try_into().expect("four bytes"));
        (at(0), at(4))
    }

    pub(crate) fn degree(&self) -> usize {
        usize::from(u16::from_le_bytes([self.head[8], self.head[9]])).min(DEGREE_MAX)
    }

    /// One bit an edge.
    pub(crate) fn edges(&self) -> u32 {
        ((1u64 << self.degree()) - 1) as u32
    }

    pub(crate) fn neighbour(&self, edge: usize) -> u32 {
        u32::from_le_bytes(self.ids[edge * 4..edge * 4 + 4].try_into().expect("four bytes"))
    }
}

/// The properties that the file records.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct GraphHeader {
    pub(crate) rows: u32,
    pub(crate) dim: usize,
    pub(crate) metric: Metric,
    pub(crate) element: Element,
    pub(crate) seed: u64,
    /// Under dot: the greatest squared length, which the rows were lifted to.
    pub(crate) lift_max_squared: f32,
    pub(crate) entries: Vec<u32>,
    pub(crate) entry_blocks: Vec<u8>,
}

impl GraphHeader {
    pub(crate) fn to_bytes(&self, layout: &RecordLayout) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        let own = match layout.own {
            Own::Nibbles => 0,
            Own::Stored => 1,
        };
        let put = |bytes: &mut Vec<u8>, fields: &[u32]| fields.iter().for_each(|x| bytes.extend(x.to_le_bytes()));
        put(
            &mut bytes,
            &[
                GRAPH_FORMAT_VERSION,
                self.rows,
                self.dim as u32,
                padded_dim(self.dim) as u32,
                metric_code(self.metric),
                self.element.code(),
            ],
        );
        bytes.extend(self.seed.to_le_bytes());
        put(
            &mut bytes,
            &[layout.stride as u32, layout.planes as u32, layout.scanned as u32, own, self.entries.len() as u32],
        );
        bytes.extend(self.lift_max_squared.to_le_bytes());
        put(&mut bytes, &self.entries);
        bytes.extend_from_slice(&self.entry_blocks);
        bytes
    }

    /// Reads and checks the meta block of `file`: every field, and that the file's records are as many and as long as it says.
    pub(crate) fn read(file: &RecordFile) -> Result<(Self, RecordLayout)> {
        let bytes = file.meta();
        let corrupt = |what: String| SegmentError::corrupt(file.path(), what);
        if bytes.len() < HEAD_BYTES || &bytes[..8] != MAGIC {
            return Err(corrupt("it is not a graph file".into()).into());
        }
        let field = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        let version = field(8);
        if !(GRAPH_FORMAT_OLDEST_READABLE..=GRAPH_FORMAT_VERSION).contains(&version) {
            return Err(corrupt(format!(
                "a graph of version {version}, this program reads {GRAPH_FORMAT_OLDEST_READABLE} to {GRAPH_FORMAT_VERSION}"
            ))
            .into());
        }
        let (rows, dim) = (field(12), field(16) as usize);
        validate_dim(dim).map_err(|_| corrupt(format!("{dim} dimensions")))?;
        let metric = metric_of(field(24)).ok_or_else(|| corrupt(format!("metric number {}", field(24))))?;
        let element = Element::of_code(field(28)).ok_or_else(|| corrupt(format!("element number {}", field(28))))?;
        let layout = RecordLayout::new(dim, element);
        let own = if layout.own == Own::Stored { 1 } else { 0 };
        let expected = [
            (20, padded_dim(dim)),
            (40, layout.stride),
            (44, layout.planes),
            (48, layout.scanned),
            (52, own),
            (12, file.records() as usize),
            (40, file.record_bytes()),
        ];
        for (at, expected) in expected {
            if field(at) as usize != expected {
                return Err(corrupt(format!("byte {at} of its header says {}, not {expected}", field(at))).into());
            }
        }
        let entries = field(56) as usize;
        let blocks_at = HEAD_BYTES + entries.min(ENTRIES_MAX) * 4;
        let blocks_bytes = entries.div_ceil(BLOCK_ROWS) * layout.block_bytes();
        if entries > ENTRIES_MAX || bytes.len() != blocks_at + blocks_bytes || (entries == 0 && rows > 0) {
            return Err(corrupt(format!("its header does not fit {entries} entries")).into());
        }
        let entry = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("four bytes"));
        let nodes: Vec<u32> = bytes[HEAD_BYTES..blocks_at].chunks_exact(4).map(entry).collect();
        let lift_max_squared = f32::from_bits(field(60));
        if nodes.iter().any(|node| *node >= rows) || !lift_max_squared.is_finite() {
            return Err(corrupt("its header names nodes that it does not have".into()).into());
        }
        let seed = u64::from_le_bytes(bytes[32..40].try_into().expect("eight bytes"));
        let entry_blocks = bytes[blocks_at..].to_vec();
        Ok((Self { rows, dim, metric, element, seed, lift_max_squared, entries: nodes, entry_blocks }, layout))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_every_dimension_fit_their_stride_and_scan_most_of_it() {
        for dim in (2..=4096).step_by(13).chain([128, 384, 768, 1024, 1536, 3072, 4096]) {
            for element in [Element::F32, Element::F16, Element::Uint8, Element::Binary] {
                let layout = RecordLayout::new(dim, element);
                let used = FIXED_BYTES + layout.code_bytes() + layout.own_bytes;
                assert!(used <= layout.stride, "{dim} {element}: {used} of {}", layout.stride);
                assert!(layout.scanned >= padded_dim(dim) / 4 * 3 && layout.scanned <= padded_dim(dim));
                assert_eq!(layout.scanned % 16, 0);
            }
        }
        let expect = |dim, stride, planes, scanned, own| {
            let layout = RecordLayout::new(dim, Element::F32);
            assert_eq!(
                (layout.stride, layout.planes, layout.scanned, layout.own),
                (stride, planes, scanned, own),
                "{dim}"
            );
        };
        expect(128, 2048, 2, 128, Own::Stored);
        expect(384, 2048, 1, 352, Own::Nibbles);
        expect(768, 4096, 1, 768, Own::Nibbles);
        expect(1024, 4096, 1, 784, Own::Nibbles);
    }
}
