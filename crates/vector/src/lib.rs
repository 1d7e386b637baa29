//! Vector search within one segment: quantisers, code files, the graph, stored vectors, and the memtable of rows that are not in a
//! segment yet.
//!
//! **Useful for** finding, among millions of rows and without holding them in memory, the nearest few: [`IndexWriter`] writes the
//! files of a segment, [`Index`] searches them by the cheapest plan and compares exactly, [`VectorMemtable`] searches fresh rows,
//! [`retain_reaching`] says which of the candidates of all of them must be compared.
//! **Not for** row ids, tombstones and filters' meaning (a caller passes the slots that count), choosing what to merge, or a
//! manifest.
//!
//! **Invariants:** the bytes written depend only on (seed, centroid, rows in order), and a search's answer only on the files
//! and the query, on any CPU. A memtable's bounds always contain the exact similarity. Bytes read are never trusted further than
//! their checksums: a header that contradicts its file is [`SegmentError::Corrupt`](nuthatch_segment::SegmentError::Corrupt),
//! never a panic.
//!
//! The layout of the files is drawn in `docs/rfcs/0003-vector-codes.md` and `0008-vector-graph.md`, and in the private modules
//! `layout` and `graph::layout`.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::disallowed_methods, missing_docs))]

mod best;
mod bounds;
mod centroid;
mod codes;
mod element;
mod error;
mod gather;
mod graph;
mod index;
mod layout;
mod members;
mod memtable;
mod metric;
mod pages;
mod prepared;
mod quantiser;
mod reached;
mod refine;
mod rotation;
mod rows;
mod sample;
mod search;
mod signs;
mod validate;
mod vectors;
mod writer;

pub use bounds::retain_reaching;
pub use centroid::Centroid;
pub use codes::Codes;
pub use element::{Element, Exact};
pub use error::{Result, VectorError};
pub use graph::build::{BuildCodes, BuildParameters, Edges, GraphBuilder, Progress};
pub use graph::{GRAPH_FORMAT_OLDEST_READABLE, GRAPH_FORMAT_VERSION, WalkStats};
pub use index::{
    Accuracy, BuildOptions, EF_MAX, EF_MIN, GRAPH_ROWS_AT_LEISURE, Index, IndexOptions, IndexWriter, Plan,
    RECALL_DEFAULT, RECALL_MAX, RECALL_MIN, SHARDS_EXTENSION, SegmentHits, graph_build_bytes, graph_rows_at_once,
    graph_rows_max, graph_rows_min,
};
pub use layout::{CODES_FORMAT_OLDEST_READABLE, CODES_FORMAT_VERSION};
pub use memtable::{MemtableCandidate, MemtableSearch, VectorMemtable};
pub use metric::Metric;
pub use nuthatch_distance::{Level, UnknownLevel};
pub use nuthatch_segment::Rows;
pub use reached::Reached;
pub use rotation::Rotation;
pub use search::Candidate;
pub use signs::SignCodes;
pub use validate::{DIM_MAX, DIM_MIN, validate};
pub use vectors::{VECTORS_FORMAT_OLDEST_READABLE, VECTORS_FORMAT_VERSION};
pub use writer::CodesWriter;
