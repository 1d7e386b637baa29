//! The result of a request, as numbers from which a later answer can be built.

use serde::{Deserialize, Serialize};

/// The result of a write, as far as its answer reports it. Several batches of one request add up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// How many things were written that were not there.
    pub inserted: u64,
    /// How many things were written in place of earlier ones.
    pub replaced: u64,
    /// How many things are gone.
    pub deleted: u64,
    /// Files whose entries were removed.
    pub files: u64,
    /// The result of an increment, an append, a compare-and-set or an expiry.
    pub value: i64,
    /// Collections and keyspaces that were dropped.
    pub dropped: u64,
}

impl Outcome {
    /// Both together.
    pub fn and(self, more: Self) -> Self {
        Self {
            inserted: self.inserted + more.inserted,
            replaced: self.replaced + more.replaced,
            deleted: self.deleted + more.deleted,
            files: self.files + more.files,
            value: self.value + more.value,
            dropped: self.dropped + more.dropped,
        }
    }
}

/// The result of such a change of a key, in the form that [`Outcome::value`] stores.
pub trait OutcomeValue: Copy {
    /// As a number: a `bool` as 0 or 1.
    fn outcome_value(self) -> i64;
}

impl OutcomeValue for bool {
    fn outcome_value(self) -> i64 {
        self.into()
    }
}

impl OutcomeValue for i64 {
    fn outcome_value(self) -> i64 {
        self
    }
}

impl OutcomeValue for u64 {
    /// Lengths of values, which are far below.
    fn outcome_value(self) -> i64 {
        self as i64
    }
}
