//! Vector search within one segment: quantisers, code files, and the delta of rows that are not in a segment yet.
//!
//! **Useful for** finding, among millions of rows and without holding them in memory, the few dozen that are worth comparing
//! exactly: [`CodesWriter`] writes 1-bit and 4-bit codes of a segment's rows, [`Codes`] searches them through the block
//! cache, [`Delta`] searches fresh rows, [`retain_reaching`] says which of the
//! candidates of all of them must be compared.
//! **Not for** exact vectors (the truth holds them; the engine reranks with [`Metric::similarity`]), row ids, tombstones and
//! filters' meaning (a caller passes the slots that count), merging, or a manifest. The graph of large segments will be one
//! more file beside `codes1` and `codes4`.
//!
//! **Invariants:** the bytes written depend only on (seed, centroid, rows in order), and a search's answer only on the files
//! and the query, on any CPU. A delta's bounds always contain the exact similarity. Bytes read are never trusted further than
//! their checksums: a header that contradicts its file is [`SegmentError::Corrupt`](nuthatch_segment::SegmentError::Corrupt),
//! never a panic.
//!
//! The layout of the files is drawn in `docs/rfcs/0003-vector-codes.md` and in the private module `layout`.

mod best;
mod bounds;
mod centroid;
mod codes;
mod delta;
mod error;
mod gather;
mod layout;
mod metric;
mod pages;
mod prepared;
mod quantiser;
mod refine;
mod rotation;
mod rows;
mod search;
mod validate;
mod writer;

pub use bounds::retain_reaching;
pub use centroid::Centroid;
pub use codes::Codes;
pub use delta::{Delta, DeltaCandidate};
pub use error::{Result, VectorError};
pub use layout::{CODES_FORMAT_OLDEST_READABLE, CODES_FORMAT_VERSION};
pub use metric::Metric;
pub use rotation::Rotation;
pub use rows::Rows;
pub use search::Candidate;
pub use validate::{DIM_MAX, DIM_MIN, validate};
pub use writer::CodesWriter;
