//! How many records of a collection have their vector, of those that are to have one.

use serde::{Deserialize, Serialize};

use crate::descriptor::meta::Counters;

/// How far the vectors of a collection have come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pending {
    /// Records that have their vector.
    pub vectors: u64,
    /// Records that have one, or are to have one.
    pub records: u64,
}

impl Pending {
    pub(crate) fn of(counters: &Counters) -> Self {
        Self { vectors: counters.vectors, records: counters.vectors + counters.pending }
    }

    pub(crate) fn if_any(self) -> Option<Self> {
        (self.vectors < self.records).then_some(self)
    }

    /// Rounded down: 100 only when all are there.
    pub fn percent(self) -> u64 {
        (self.vectors * 100).checked_div(self.records).unwrap_or(100)
    }
}
