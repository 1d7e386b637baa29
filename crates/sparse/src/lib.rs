//! Sparse vectors: a weight for a few of four billion terms, and an inverted file that finds the greatest dot products.
//!
//! **What it is.** [`SparseVector`] is what a learned sparse model (SPLADE and its like) makes of a text. [`PostingsWriter`] writes the
//! vectors of a segment as posting lists, [`Postings`] searches them, and [`FreshVectors`] holds those that no file has yet.
//!
//! **What it is useful for.** Finding by expanded words, with weights that a model has learned. **Not for** texts (`nuthatch-text` counts
//! words) and not for making the vectors: a model is the caller's.
//!
//! **The invariant it keeps.** A score is the sum of the products over the shared terms, in 32 bits, term by term in ascending order;
//! posting lists, fresh vectors and [`SparseVector::dot`] give it bit for bit.
//!
//! ```
//! use nuthatch_sparse::SparseVector;
//!
//! let document = SparseVector::new(vec![7, 2], vec![0.5, 1.0])?;
//! let query = SparseVector::new(vec![2, 9], vec![2.0, 3.0])?;
//! assert_eq!(query.dot(&document), Some(2.0));
//! # Ok::<(), nuthatch_sparse::SparseError>(())
//! ```

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::disallowed_methods, missing_docs))]

mod error;
mod fresh;
mod postings;
mod vector;
mod writer;

pub use error::SparseError;
pub use fresh::FreshVectors;
pub use nuthatch_segment::Rows;
pub use postings::{Found, Postings};
pub use vector::{SparseVector, TERMS_MAX};
pub use writer::PostingsWriter;

/// Version of the layout of a file of posting lists, drawn in `docs/internals/data-folder.md`.
pub const POSTINGS_VERSION: u32 = 1;

/// Slots of one container: two bytes name a slot in it, and its scores fit into a core's own cache.
pub(crate) const CONTAINER_SLOTS: u32 = 16_384;
/// Bytes of an entry of a container's terms: term, number of postings, greatest weight, where its postings begin.
pub(crate) const ENTRY_BYTES: usize = 16;
/// Entries of one group: its first term stays in memory.
pub(crate) const GROUP_ENTRIES: usize = 64;
/// At the end of the data: version, slots, containers, a zero, where the directory begins.
pub(crate) const TAIL_BYTES: usize = 24;
/// Of a container in the directory: where its entries begin, how many there are.
pub(crate) const DIRECTORY_BYTES: usize = 12;
