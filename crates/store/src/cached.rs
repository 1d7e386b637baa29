//! Reading from memory only: write buffers and cached blocks.
//!
//! **Useful for** threads that serve many connections and must not wait for the disk for one of them. **Not for**
//! anything else: a caller that may wait reads the store itself.
//!
//! **Invariant:** an answer equals the store's own; a read that would go to the disk is
//! [`StoreError::NotCached`], and is remembered for [`CachedOnly::unless_missed`].

use std::sync::atomic::{AtomicBool, Ordering};

use crate::{Direction, Reader, Result, Store, StoreError, Table, Visit};

/// The store, as far as it is in memory.
pub struct CachedOnly<'t> {
    reads: Reads<'t>,
    has_missed: AtomicBool,
}

enum Reads<'t> {
    Live(&'t dyn Store),
    ReadPoint(Box<dyn Reader + 't>),
}

impl<'t> CachedOnly<'t> {
    /// Creates a view of the live state that reads only from memory.
    pub fn live(store: &'t dyn Store) -> Self {
        Self { reads: Reads::Live(store), has_missed: AtomicBool::new(false) }
    }

    /// The same as of one moment, for several reads that belong together.
    pub fn as_of_now(store: &'t dyn Store) -> Self {
        Self { reads: Reads::ReadPoint(store.cached_snapshot()), has_missed: AtomicBool::new(false) }
    }

    /// Returns the result of a call that used these reads; `None` if it failed because something was not in memory.
    pub fn unless_missed<T, E>(&self, made: std::result::Result<T, E>) -> std::result::Result<Option<T>, E> {
        match made {
            Err(_) if self.has_missed.load(Ordering::Relaxed) => Ok(None),
            made => made.map(Some),
        }
    }

    fn noticed<T>(&self, read: Result<T>) -> Result<T> {
        if matches!(read, Err(StoreError::NotCached)) {
            self.has_missed.store(true, Ordering::Relaxed);
        }
        read
    }
}

impl Reader for CachedOnly<'_> {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.noticed(match &self.reads {
            Reads::Live(store) => store.get_cached(table, key),
            Reads::ReadPoint(read_point) => read_point.get(table, key),
        })
    }

    fn multi_get(&self, table: Table, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>> {
        keys.iter().map(|key| self.get(table, key)).collect()
    }

    fn scan(&self, table: Table, from: &[u8], to: &[u8], direction: Direction, visit: &mut Visit<'_>) -> Result<()> {
        self.noticed(match &self.reads {
            Reads::Live(store) => store.scan_cached(table, from, to, direction, visit),
            Reads::ReadPoint(read_point) => read_point.scan(table, from, to, direction, visit),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use super::*;
    use crate::{Batch, RocksStore, StoreOptions};

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
    fn what_was_just_written_is_cached_and_what_is_not_there_is_known_not_to_be() {
        let folder = tempfile::tempdir().unwrap();
        let store = written(folder.path());
        let cached = CachedOnly::live(&store);
        assert_eq!(cached.get(Table::Kv, &[7]).unwrap(), Some(vec![7; 100]));
        assert_eq!(cached.get(Table::Kv, &[200]).unwrap(), None);
        assert!(!cached.has_missed.load(Ordering::Relaxed));
    }

    #[test]
    fn what_lies_on_the_disk_is_missed_until_somebody_has_read_it() {
        let folder = tempfile::tempdir().unwrap();
        let store = written(folder.path());
        store.flush().unwrap();
        store.release_cache();
        let reads: [fn(&CachedOnly<'_>) -> Result<()>; 3] = [
            |cached| cached.get(Table::Kv, &[7]).map(drop),
            |cached| cached.multi_get(Table::Kv, &[vec![7], vec![8]]).map(drop),
            |cached| cached.scan(Table::Kv, &[7], &[9], Direction::Forward, &mut |_, _| ControlFlow::Continue(())),
        ];
        for read in reads {
            let cached = CachedOnly::live(&store);
            assert!(matches!(read(&cached), Err(StoreError::NotCached)));
            assert!(cached.has_missed.load(Ordering::Relaxed));
        }
        assert_eq!(store.get(Table::Kv, &[7]).unwrap(), Some(vec![7; 100]));
        for read in reads {
            let cached = CachedOnly::live(&store);
            read(&cached).unwrap();
            assert!(!cached.has_missed.load(Ordering::Relaxed));
        }
    }

    #[test]
    fn reads_as_of_one_moment_do_not_see_what_comes_later() {
        let folder = tempfile::tempdir().unwrap();
        let store = written(folder.path());
        let (read_point, live) = (CachedOnly::as_of_now(&store), CachedOnly::live(&store));
        let mut batch = Batch::new();
        batch.put(Table::Kv, vec![7], vec![1]);
        store.write(batch).unwrap();
        assert_eq!(read_point.get(Table::Kv, &[7]).unwrap(), Some(vec![7; 100]));
        assert_eq!(live.get(Table::Kv, &[7]).unwrap(), Some(vec![1]));
    }
}
