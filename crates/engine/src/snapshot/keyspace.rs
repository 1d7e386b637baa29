//! A keyspace as it was.

use std::sync::Arc;

use crate::Result;
use crate::kv::{Entry, KeyPage, KeyScan, Space};
use crate::snapshot::View;

/// A keyspace of a [`crate::Snapshot`]. What had not expired then is there for as long as the snapshot.
#[derive(Clone)]
pub struct SnapshotKeyspace {
    pub(crate) view: Arc<View>,
    /// `None`: there is none, so there is nothing in it.
    pub(crate) space: Option<Arc<Space>>,
}

impl SnapshotKeyspace {
    /// The values of several keys, in their order.
    pub fn multi_get<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Vec<Option<Vec<u8>>>> {
        self.view.with(|held| match &self.space {
            Some(space) => space.multi_get(&held.store, keys, self.view.taken_at_ms, &mut space.shared.room()),
            None => Ok(vec![None; keys.len()]),
        })
    }

    /// The values of several keys with when they expire, in their order.
    pub fn entries<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Vec<Option<Entry>>> {
        self.view.with(|held| match &self.space {
            Some(space) => space.entries(&held.store, keys, self.view.taken_at_ms, &mut space.shared.room()),
            None => Ok(vec![None; keys.len()]),
        })
    }

    /// One page of keys.
    pub fn scan(&self, scan: &KeyScan) -> Result<KeyPage> {
        self.view.with(|held| match &self.space {
            Some(space) => space.page(&held.store, scan, self.view.taken_at_ms, &mut space.shared.room()),
            None => Ok(KeyPage::default()),
        })
    }
}
