//! Folders on disk and trees in a database: storing one in the other, comparing the two, and writing a tree out again.
//!
//! **Useful for** `nuthatch add --tree`, `diff`, `restore-files`, and whatever else has a folder in one hand and a
//! [`Tree`](nuthatch_link::Tree) in the other.
//! **Not for** keeping them in step by itself: every call looks at the folder once.
//!
//! **Invariant:** what [`restore()`] writes is what [`add()`] read, in bytes, permission bits, times and targets of links; and neither
//! reads or writes outside the folder that it was given.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::disallowed_methods, missing_docs))]

mod add;
mod compare;
mod disk;
mod patch;
mod renames;
mod restore;
mod walk;

pub use add::{AddOptions, Added, add};
pub use compare::compare;
pub use patch::{Patch, Side, patch};
pub use renames::with_similar;
pub use restore::{RestoreOptions, Restored, restore};
pub use walk::{Skipped, Walk};
