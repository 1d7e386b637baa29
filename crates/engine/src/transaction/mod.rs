//! Batches over everything, and what a transaction that writes one has read.
//!
//! **Useful for** writes that stand or fall together. **Not for** reading with a transaction's own writes: the crate `link` does.
//!
//! **Invariant:** a transaction that commits is serialisable: everything that it read, or wrote, is unchanged at the moment of its
//! commit, so it might as well have run whole at that moment.
//!
//! Optimistic: nothing is locked while it runs. It reads a snapshot; the commit compares what was read with what is there now
//! (H. T. Kung and J. T. Robinson, "On Optimistic Methods for Concurrency Control", 1981, backward validation, by value). Values
//! are compared in the store itself, so it makes no difference whether what others committed has been flushed, or how long ago.

mod batch;
mod reads;

pub use batch::WriteBatch;
pub use reads::Reads;
