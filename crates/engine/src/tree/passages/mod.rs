//! Searching trees: passages of their files' contents, found as of any moment.
//!
//! Passages hang on contents, so a copy, a rename or another version costs none, and nothing is made again. They lie in one
//! collection a tenant, whose name no caller can have. It is derived: whatever is missing in it is made before a search
//! answers, and what belongs to no content any more is swept. A search at a moment is one among the passages of the contents
//! that the tree had then. [RFC 0057](../../../../../docs/rfcs/0057-searching-trees.md) has what was weighed.
//!
//! **Invariant:** a search finds what it would find if the store held the tree as it was at that moment, and nothing else.

mod live;
mod make;
mod search;
mod source;
mod sweep;

use std::sync::Arc;

use parking_lot::Mutex;

pub use make::{MakePassages, PassagesMade, Unread};
pub use search::{SearchTree, TreeAnswer};

use crate::collection::Collection;
use crate::tree::Trees;
use live::Live;

/// This process's in-memory state for the passages of a tenant's trees.
#[derive(Default)]
pub(super) struct Attached {
    /// Held while passages are made or swept: neither may see the other's work half done.
    working: Mutex<()>,
    /// The states of trees at some moments, the most recently requested last.
    lives: Mutex<Vec<Arc<Live>>>,
}

/// The passages of a tenant's trees.
pub(crate) struct TreePassages {
    pub trees: Trees,
    pub collection: Collection,
}
