//! Writes that are visible and not yet durable, for callers with more to do before they wait.
//!
//! **Useful for** streams: the next batch is prepared while the disk takes the last one. **Not for** single calls,
//! which wait at once.
//!
//! **Invariant:** no caller learns that a write is done before [`PendingWrite::wait`] has returned.

use std::sync::Arc;

use nuthatch_store::Position;

use crate::Result;
use crate::collection::write::COPIES;
use crate::collection::{Collection, Upserted, WriteSet, reserve_for_batch};
use crate::durability::Durability;
use crate::record::Record;
use crate::runtime::{Runtime, WriteReservation};

/// An upsert that searches see. [`wait`](Self::wait) returns once it is durable; without that call it becomes durable
/// with the next sync.
#[must_use = "it is acknowledged by `wait` alone"]
pub struct PendingWrite {
    upserted: Upserted,
    /// `None`: it is as durable as was asked for.
    sync: Option<(Arc<Runtime>, Position, Durability)>,
}

impl PendingWrite {
    /// One that another process has made durable.
    pub fn durable(upserted: Upserted) -> Self {
        Self { upserted, sync: None }
    }

    /// Returns when the write has survived what its durability promises.
    ///
    /// # Errors
    /// `Closed` when the disk refuses: the store stops writing, and the next opening shows whether this write survived.
    pub fn wait(self) -> Result<Upserted> {
        if let Some((shared, position, durability)) = self.sync {
            shared.make_durable(position, durability)?;
        }
        Ok(self.upserted)
    }
}

impl Collection {
    /// As [`upsert`](Self::upsert), but for waiting until it is durable.
    pub fn begin_upsert(&self, records: Vec<Record>) -> Result<PendingWrite> {
        self.begin_upsert_within(None, records)
    }

    /// Waits until there is memory for a batch of records of `bytes` bytes, for callers that build the records
    /// afterwards.
    ///
    /// # Errors
    /// `Closed` when the database was closed during the wait.
    pub fn reserve_to_write(&self, bytes: u64) -> Result<WriteReservation> {
        WriteReservation::take(&self.core.shared, bytes * COPIES)
    }

    /// As [`begin_upsert`](Self::begin_upsert), with the memory that was reserved before the records were made.
    pub fn begin_upsert_within(
        &self,
        reserved: Option<WriteReservation>,
        records: Vec<Record>,
    ) -> Result<PendingWrite> {
        let core = &self.core;
        // Otherwise the folder was reopened since the reservation.
        let reserved = reserved.filter(|reserved| reserved.is_of(&core.shared));
        let reserve = |bytes| match &reserved {
            Some(reserved) => {
                core.wait_for_room()?;
                reserved.for_batch(bytes)
            }
            None => reserve_for_batch(&core.shared, &[&**core], bytes),
        };
        let (position, (upserted, _)) = core.begin_reserved(WriteSet::of(records)?, &self.call, reserve)?;
        let sync = position.map(|position| (self.core.shared.clone(), position, self.durability));
        Ok(PendingWrite { upserted, sync })
    }
}
