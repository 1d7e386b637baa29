//! What a request did, in numbers that a later answer can be made of.

use serde::{Deserialize, Serialize};

/// What a write did, as far as its answer tells. What one request does in several batches adds up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {
    pub inserted: u64,
    pub replaced: u64,
    pub deleted: u64,
    /// Files whose entries were removed.
    pub files: u64,
    /// What an increment, an append, a compare-and-set or an expiry said.
    pub said: i64,
    /// Collections and keyspaces that were dropped.
    pub dropped: u64,
}

impl Done {
    pub fn and(self, more: Self) -> Self {
        Self {
            inserted: self.inserted + more.inserted,
            replaced: self.replaced + more.replaced,
            deleted: self.deleted + more.deleted,
            files: self.files + more.files,
            said: self.said + more.said,
            dropped: self.dropped + more.dropped,
        }
    }
}

/// What such a change of a key says, as [`Done::said`] keeps it.
pub trait Said: Copy {
    fn said(self) -> i64;
}

impl Said for bool {
    fn said(self) -> i64 {
        self.into()
    }
}

impl Said for i64 {
    fn said(self) -> i64 {
        self
    }
}

impl Said for u64 {
    /// Lengths of values, which are far below.
    fn said(self) -> i64 {
        self as i64
    }
}
