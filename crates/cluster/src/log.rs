//! The operations that the protocol needs from the storage of a group's log.
//!
//! [`ObjectLog`](crate::ObjectLog) answers with conditional writes to object storage, [`RowLog`](crate::RowLog) with a database whose
//! rows can be compared and set.

use crate::{Base, Entry, Known, Mark, Result, Slot};

/// The outcome of [`Log::append`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Appended {
    /// The entry is in the log.
    Stored,
    /// This entry was there before: another one, or the same one sent earlier.
    Occupied(Entry),
}

/// The log of one group. Every call may be repeated.
pub trait Log: Send + Sync {
    /// The cluster's bucket, where its checkpoints lie.
    fn base(&self) -> &Base;

    /// How the log is named to people: no credentials.
    fn address(&self) -> &str;

    /// The entry in a slot; `None` when there is none yet.
    ///
    /// # Errors
    /// `Unreachable`; `Corrupt`, naming the entry. `Trimmed`: the log had one. A log that keeps fences may say `None` then.
    fn read(&self, slot: Slot) -> Result<Option<Entry>>;

    /// Puts an entry into a slot that is empty.
    ///
    /// # Errors
    /// `Unreachable`: whether the entry is there, or will be, is unknown. `Corrupt`, naming what is there instead. `Trimmed`.
    fn append(&self, slot: Slot, entry: &Entry) -> Result<Appended>;

    /// Returns the mark of the newest checkpoint, or the default if there is none: a reader uses it to learn whether it
    /// reads where the log was trimmed. `None` for a log that reports this itself
    /// ([`ClusterError::Trimmed`](crate::ClusterError::Trimmed)).
    ///
    /// # Errors
    /// `Unreachable`.
    fn newest(&self) -> Result<Option<Mark>> {
        Ok(Some(self.base().checkpoints()?.last().copied().unwrap_or_default()))
    }

    /// Returns the state of the log at its end.
    ///
    /// # Errors
    /// `Unreachable`, `Corrupt`.
    fn head(&self) -> Result<Known>;

    /// The slots after one that have an entry, with their bytes.
    ///
    /// # Errors
    /// `Unreachable`.
    fn slots(&self, after: Slot) -> Result<Vec<(Slot, u64)>>;

    /// Removes the entries up to a slot that a checkpoint has. How many went.
    ///
    /// # Errors
    /// `Unreachable`: some may be gone.
    fn trim(&self, through: Slot) -> Result<u64>;
}
