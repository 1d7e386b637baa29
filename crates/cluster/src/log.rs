//! What the protocol needs of the place where a group's log lies.
//!
//! Object storage answers these calls with conditional writes ([`ObjectLog`](crate::ObjectLog)). A database with a row that can be
//! compared and set can, too: `append` is then the entry's rows, and the change of the head from one slot to the next.

use crate::{Entry, Manifest, Mark, Result, Slot};

/// What came of [`Log::append`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Appended {
    /// The entry is in the log.
    Stored,
    /// This entry was there before: another one, or the same one sent earlier.
    Occupied(Entry),
}

/// The log of one group, and its checkpoints. Every call may be repeated.
pub trait Log: Send + Sync {
    /// The entry in a slot; `None` when there is none, or none any more.
    ///
    /// # Errors
    /// `Unreachable`; `Corrupt`, naming the object.
    fn read(&self, slot: Slot) -> Result<Option<Entry>>;

    /// Puts an entry into a slot that is empty.
    ///
    /// # Errors
    /// `Unreachable`: whether the entry is there, or will be, is unknown. `Corrupt`, naming what is there instead.
    fn append(&self, slot: Slot, entry: &Entry) -> Result<Appended>;

    /// What the checkpoints have, the newest last.
    ///
    /// # Errors
    /// `Unreachable`.
    fn checkpoints(&self) -> Result<Vec<Mark>>;

    /// The manifest of a checkpoint.
    ///
    /// # Errors
    /// `NotFound`, `Unreachable`; `Corrupt`, naming the object.
    fn manifest(&self, checkpoint: Mark) -> Result<Manifest>;

    /// Lists a checkpoint whose every object is there.
    ///
    /// # Errors
    /// `Unreachable`: it may be listed.
    fn publish(&self, manifest: &Manifest) -> Result<()>;

    /// Removes the entries up to a slot that a checkpoint has, but for those that are kept for ever
    /// ([`Entry::is_kept`]). How many went.
    ///
    /// # Errors
    /// `Unreachable`: some may be gone.
    fn trim(&self, through: Slot) -> Result<u64>;
}
