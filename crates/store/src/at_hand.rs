//! Reading what is in memory: write buffers and blocks that are in the cache.
//!
//! **Useful for** threads that serve many, and must not wait for the disk for one of them. **Not for** anything else: whoever may wait
//! reads the store itself.
//!
//! **Invariant:** an answer is what the store itself would answer; whatever would take a read of the disk is
//! [`StoreError::NotAtHand`], and is remembered for [`AtHand::unless_missed`].

use std::cell::Cell;

use rocksdb::{ReadOptions, ReadTier};

use crate::rocks_store::{RocksSnapshot, at};
use crate::{Direction, Reader, Result, RocksStore, StoreError, Table, Visit};

/// The store, as far as it is in memory.
pub struct AtHand<'t> {
    store: &'t RocksStore,
    snapshot: Option<RocksSnapshot<'t>>,
    has_missed: Cell<bool>,
}

impl RocksStore {
    /// What is in memory of the live state.
    pub fn at_hand(&self) -> AtHand<'_> {
        AtHand { store: self, snapshot: None, has_missed: Cell::new(false) }
    }

    /// The same as of one moment, for several reads that belong together.
    pub fn at_hand_as_of_now(&self) -> AtHand<'_> {
        AtHand { snapshot: Some(self.db().snapshot()), ..self.at_hand() }
    }
}

impl AtHand<'_> {
    /// What a call has made of its reads; `None` where it failed because something was not in memory.
    pub fn unless_missed<T, E>(&self, made: std::result::Result<T, E>) -> std::result::Result<Option<T>, E> {
        match made {
            Err(_) if self.has_missed.get() => Ok(None),
            made => made.map(Some),
        }
    }

    fn options(&self) -> ReadOptions {
        let mut options = self.snapshot.as_ref().map_or_else(ReadOptions::default, at);
        options.set_read_tier(ReadTier::BlockCache);
        options
    }

    fn noticed<T>(&self, read: Result<T>) -> Result<T> {
        if matches!(read, Err(StoreError::NotAtHand)) {
            self.has_missed.set(true);
        }
        read
    }
}

impl Reader for AtHand<'_> {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.noticed(self.store.read(&self.options(), table, key))
    }

    fn multi_get(&self, table: Table, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>> {
        // One by one: the store's own look-up of many reads their blocks from the disk, whatever it was told.
        let options = self.options();
        self.noticed(keys.iter().map(|key| self.store.read(&options, table, key)).collect())
    }

    fn scan(&self, table: Table, from: &[u8], to: &[u8], direction: Direction, visit: &mut Visit<'_>) -> Result<()> {
        self.noticed(self.store.scan_with(self.options(), table, from, to, direction, visit))
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use super::*;
    use crate::{Batch, Store, StoreOptions};

    const OPTIONS: StoreOptions = StoreOptions { cache_bytes: 8 << 20, write_buffer_bytes: 1 << 20 };

    fn written(folder: &std::path::Path) -> RocksStore {
        let store = RocksStore::open(folder, OPTIONS).unwrap();
        let mut batch = Batch::new();
        for key in 0..100u8 {
            batch.put(Table::Kv, vec![key], vec![key; 100]);
        }
        store.write(batch).unwrap();
        store
    }

    #[test]
    fn what_was_just_written_is_at_hand_and_what_is_not_there_is_known_not_to_be() {
        let folder = tempfile::tempdir().unwrap();
        let store = written(folder.path());
        let at_hand = store.at_hand();
        assert_eq!(at_hand.get(Table::Kv, &[7]).unwrap(), Some(vec![7; 100]));
        assert_eq!(at_hand.get(Table::Kv, &[200]).unwrap(), None);
        assert!(!at_hand.has_missed.get());
    }

    #[test]
    fn what_lies_on_the_disk_is_missed_until_somebody_has_read_it() {
        let folder = tempfile::tempdir().unwrap();
        let store = written(folder.path());
        store.flush().unwrap();
        store.release_cache();
        let reads: [fn(&AtHand<'_>) -> Result<()>; 3] = [
            |at_hand| at_hand.get(Table::Kv, &[7]).map(drop),
            |at_hand| at_hand.multi_get(Table::Kv, &[vec![7], vec![8]]).map(drop),
            |at_hand| at_hand.scan(Table::Kv, &[7], &[9], Direction::Forward, &mut |_, _| ControlFlow::Continue(())),
        ];
        for read in reads {
            let at_hand = store.at_hand();
            assert!(matches!(read(&at_hand), Err(StoreError::NotAtHand)));
            assert!(at_hand.has_missed.get());
        }
        assert_eq!(store.get(Table::Kv, &[7]).unwrap(), Some(vec![7; 100]));
        for read in reads {
            let at_hand = store.at_hand();
            read(&at_hand).unwrap();
            assert!(!at_hand.has_missed.get());
        }
    }

    #[test]
    fn reads_as_of_one_moment_do_not_see_what_comes_later() {
        let folder = tempfile::tempdir().unwrap();
        let store = written(folder.path());
        let (moment, live) = (store.at_hand_as_of_now(), store.at_hand());
        let mut batch = Batch::new();
        batch.put(Table::Kv, vec![7], vec![1]);
        store.write(batch).unwrap();
        assert_eq!(moment.get(Table::Kv, &[7]).unwrap(), Some(vec![7; 100]));
        assert_eq!(live.get(Table::Kv, &[7]).unwrap(), Some(vec![1]));
    }
}
