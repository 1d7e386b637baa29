//! A keyspace as it was.

use std::sync::Arc;

use crate::Result;
use crate::call::{Call, Watched};
use crate::kv::{Entry, KeyPage, KeyScan, Rows, Space};
use crate::runtime::Reservation;
use crate::snapshot::View;

/// A keyspace of a [`crate::Snapshot`]. Keys that had not expired then remain for as long as the snapshot.
#[derive(Clone)]
pub struct SnapshotKeyspace {
    pub(crate) view: Arc<View>,
    pub(crate) name: String,
    /// `None`: there is none, so there is nothing in it.
    pub(crate) space: Option<Arc<Space>>,
    pub(crate) call: Call,
}

impl SnapshotKeyspace {
    /// The name within its tenant.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The time now, for writes that expire.
    pub fn clock_ms(&self) -> u64 {
        self.view.shared.options.clock.now_ms()
    }
}

impl Rows for SnapshotKeyspace {
    fn entries(&self, keys: &[Vec<u8>]) -> Result<Vec<Option<Entry>>> {
        self.view.with(|held| match &self.space {
            Some(space) => {
                let waits = self.call.waits();
                let reader = Watched::new(&held.store, waits);
                space.entries(&reader, keys, self.view.taken_at_ms, &mut space.shared.reservation(waits))
            }
            None => Ok(vec![None; keys.len()]),
        })
    }

    fn page(&self, scan: &KeyScan) -> Result<KeyPage> {
        self.view.with(|held| match &self.space {
            Some(space) => {
                let waits = self.call.waits();
                let reader = Watched::new(&held.store, waits);
                space.page(&reader, scan, self.view.taken_at_ms, &mut space.shared.reservation(waits))
            }
            None => Ok(KeyPage::default()),
        })
    }

    fn now_ms(&self) -> u64 {
        self.view.taken_at_ms
    }

    fn row_of(&self, collection: u32, id: &str) -> Result<Option<u64>> {
        self.view.with(|held| match &self.space {
            Some(space) => space.row_of(&Watched::new(&held.store, self.call.waits()), collection, id),
            None => Ok(None),
        })
    }

    fn record_bytes(&self, collection: u32, row: u64) -> Result<Option<Vec<u8>>> {
        self.view.with(|held| match &self.space {
            Some(space) => space.record_bytes(&Watched::new(&held.store, self.call.waits()), collection, row),
            None => Ok(None),
        })
    }

    fn collection_number(&self, name: &str) -> Result<Option<u32>> {
        self.view.with(|held| match &self.space {
            Some(space) => space.collection_number(&Watched::new(&held.store, self.call.waits()), name),
            None => Ok(None),
        })
    }

    fn room(&self) -> Option<Reservation<'_>> {
        self.space.as_ref().map(|space| space.shared.reservation_at_once())
    }

    fn blobs(&self, numbers: &[u64]) -> Result<Vec<Option<Vec<u8>>>> {
        self.view.with(|held| match &self.space {
            Some(space) => space.blobs(&Watched::new(&held.store, self.call.waits()), numbers),
            None => Ok(vec![None; numbers.len()]),
        })
    }

    /// From the sizes that the files have now.
    fn estimate(&self, prefix: &[u8]) -> Result<u64> {
        self.space.as_ref().map_or(Ok(0), |space| space.estimate(prefix))
    }
}
