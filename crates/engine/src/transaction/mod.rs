//! Batches over all kinds of data, and the reads of a transaction that writes one.
//!
//! **Useful for** writes that must happen together or not at all. **Not for** reading with a transaction's own writes:
//! the crate `link` does.
//!
//! **Invariant:** a transaction that commits is serialisable: everything that it read, or wrote, is unchanged at the moment of its
//! commit, so it might as well have run whole at that moment.
//!
//! Optimistic: nothing is locked while it runs. It reads a snapshot; the commit compares what was read with what is there now
//! (H. T. Kung and J. T. Robinson, "On Optimistic Methods for Concurrency Control", 1981, backward validation, by
//! value). The store itself compares the values, so a commit does not depend on whether, or how long ago, other commits
//! were flushed.

mod batch;
mod reads;

pub use batch::WriteBatch;
pub use reads::Reads;
