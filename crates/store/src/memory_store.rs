//! The store in memory: one persistent ordered map a table, of which a snapshot is a copy that shares every node.
//!
//! **Useful for** `:memory:` databases and for tests. **Not for** data that must outlive the process: `sync` returns at once.
//!
//! **Invariant:** a reader never waits for another reader, waits for a writer only while that one applies a small batch, and sees
//! each batch whole or not at all.

use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use parking_lot::{Mutex, RwLock};
use rpds::RedBlackTreeMapSync;

use crate::reclaim::{POLL, WAIT_MAX};
use crate::{
    Batch, Checkpoint, Damage, Direction, Estimate, Extent, LogHole, Op, OwnedSnapshot, Position, Reader, Result,
    Store, StoreError, StoreMemory, Table, Upkeep, Visit,
};

/// Batches up to this many changes are applied in place; larger ones to a copy, which costs more and keeps no reader
/// waiting.
const IN_PLACE_OPS_MAX: usize = 64;
/// The memory of a row beyond its key and value: a node and an entry of the map, and four headers of the allocator.
const ROW_BYTES: u64 = 160;

/// A store without files. Gone with its last handle.
#[derive(Default)]
pub struct MemoryStore {
    state: RwLock<Arc<State>>,
    /// Held by the writer, so that batches applied to a copy take their turn, too.
    writing: Mutex<()>,
    open: Arc<Open>,
}

type Rows = RedBlackTreeMapSync<Box<[u8]>, Box<[u8]>>;
/// One of them.
type StoredRow<'s> = (&'s Box<[u8]>, &'s Box<[u8]>);

/// Everything as of one write.
#[derive(Clone, Default)]
struct State {
    tables: [Rows; Table::ALL.len()],
    /// Batches so far.
    sequence: u64,
    /// About how much memory the rows take.
    bytes: u64,
}

/// Open snapshots by what they show.
type Open = Mutex<BTreeMap<u64, usize>>;

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    fn now(&self) -> Arc<State> {
        self.state.read().clone()
    }

    fn read_point(&self) -> ReadPoint {
        // Counted under the lock: the next writer, which then looks for older snapshots, finds this one.
        let state = self.state.read();
        *self.open.lock().entry(state.sequence).or_default() += 1;
        ReadPoint { state: state.clone(), open: self.open.clone() }
    }
}

impl Store for MemoryStore {
    fn write(&self, batch: Batch) -> Result<Position> {
        let ops = batch.into_ops();
        let _writing = self.writing.lock();
        if ops.is_empty() {
            return Ok(Position(self.latest()));
        }
        let is_small = ops.len() <= IN_PLACE_OPS_MAX && !ops.iter().any(|op| matches!(op, Op::DeleteRange { .. }));
        if is_small {
            return Ok(Position(Arc::make_mut(&mut self.state.write()).apply(ops)));
        }
        let mut next = State::clone(&self.now());
        let sequence = next.apply(ops);
        let before = std::mem::replace(&mut *self.state.write(), Arc::new(next));
        drop(before); // without the lock: it may free many rows
        Ok(Position(sequence))
    }

    fn sync(&self, _position: Position) -> Result<()> {
        Ok(())
    }

    fn sync_all(&self) -> Result<()> {
        Ok(())
    }

    fn latest(&self) -> u64 {
        self.state.read().sequence
    }

    fn snapshot(&self) -> Box<dyn Reader + '_> {
        Box::new(self.read_point())
    }

    fn owned_snapshot(self: Arc<Self>) -> OwnedSnapshot {
        let read_point = self.read_point();
        let latest = read_point.state.sequence;
        OwnedSnapshot::new(Box::new(read_point), latest)
    }

    fn get_cached(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.get(table, key)
    }

    fn scan_cached(
        &self,
        table: Table,
        from: &[u8],
        to: &[u8],
        direction: Direction,
        visit: &mut Visit<'_>,
    ) -> Result<()> {
        self.scan(table, from, to, direction, visit)
    }

    fn cached_snapshot(&self) -> Box<dyn Reader + '_> {
        self.snapshot()
    }

    fn upkeep(&self) -> Option<&dyn Upkeep> {
        Some(self)
    }
}

impl Reader for MemoryStore {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(self.state.read().get(table, key))
    }

    fn multi_get(&self, table: Table, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>> {
        let state = self.now();
        Ok(keys.iter().map(|key| state.get(table, key)).collect())
    }

    fn scan(&self, table: Table, from: &[u8], to: &[u8], direction: Direction, visit: &mut Visit<'_>) -> Result<()> {
        self.now().scan(table, from, to, direction, visit); // a copy: `visit` may write
        Ok(())
    }
}

impl State {
    /// Returns the sequence of the batch.
    fn apply(&mut self, ops: Vec<Op>) -> u64 {
        for op in ops {
            match op {
                Op::Put { table, key, value } => self.put(table, key, value),
                Op::Delete { table, key } => self.delete(table, &key),
                Op::DeleteRange { table, from, to } => {
                    let range = self.range(table, &from, &to);
                    let keys: Vec<Box<[u8]>> = range.into_iter().flatten().map(|(key, _)| key.clone()).collect();
                    keys.iter().for_each(|key| self.delete(table, key));
                }
            }
        }
        self.sequence += 1;
        self.sequence
    }

    fn put(&mut self, table: Table, key: Vec<u8>, value: Vec<u8>) {
        let rows = &mut self.tables[table as usize];
        if let Some((key, old)) = rows.get_key_value(key.as_slice()) {
            self.bytes -= row_bytes(key, old);
        }
        self.bytes += row_bytes(&key, &value);
        rows.insert_mut(key.into(), value.into());
    }

    fn delete(&mut self, table: Table, key: &[u8]) {
        let rows = &mut self.tables[table as usize];
        // Asked first: removing a key that is not there copies nodes for nothing.
        if let Some(old) = rows.get(key) {
            self.bytes -= row_bytes(key, old);
            rows.remove_mut(key);
        }
    }

    fn get(&self, table: Table, key: &[u8]) -> Option<Vec<u8>> {
        self.tables[table as usize].get(key).map(|value| value.to_vec())
    }

    fn scan(&self, table: Table, from: &[u8], to: &[u8], direction: Direction, visit: &mut Visit<'_>) {
        let Some(mut rows) = self.range(table, from, to) else { return };
        let mut next = || match direction {
            Direction::Forward => rows.next(),
            Direction::Reverse => rows.next_back(),
        };
        while let Some((key, value)) = next() {
            if let ControlFlow::Break(()) = visit(key, value) {
                return;
            }
        }
    }

    /// The rows in `from..to`; `None` when the range holds no key, whatever the rows are.
    fn range<'s>(
        &'s self,
        table: Table,
        from: &'s [u8],
        to: &'s [u8],
    ) -> Option<impl DoubleEndedIterator<Item = StoredRow<'s>>> {
        let end = match to {
            [] => Bound::Unbounded,
            to if from >= to => return None,
            to => Bound::Excluded(to),
        };
        Some(self.tables[table as usize].range::<[u8], _>((Bound::Included(from), end)))
    }
}

fn row_bytes(key: &[u8], value: &[u8]) -> u64 {
    (key.len() + value.len()) as u64 + ROW_BYTES
}

/// A snapshot.
struct ReadPoint {
    state: Arc<State>,
    open: Arc<Open>,
}

impl Drop for ReadPoint {
    fn drop(&mut self) {
        let mut open = self.open.lock();
        if let Some(count) = open.get_mut(&self.state.sequence) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.state.sequence);
            }
        }
    }
}

impl Reader for ReadPoint {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(self.state.get(table, key))
    }

    fn multi_get(&self, table: Table, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>> {
        Ok(keys.iter().map(|key| self.state.get(table, key)).collect())
    }

    fn scan(&self, table: Table, from: &[u8], to: &[u8], direction: Direction, visit: &mut Visit<'_>) -> Result<()> {
        self.state.scan(table, from, to, direction, visit);
        Ok(())
    }
}

/// Nothing is written anywhere, so there is little to do.
impl Upkeep for MemoryStore {
    fn flush(&self) -> Result<()> {
        Ok(())
    }

    fn tidy(&self, _flush: bool) -> Result<bool> {
        Ok(false)
    }

    /// Deleted data is freed with the last snapshot that shows it.
    fn reclaim_before(&self, _extent: Extent, sequence: u64) -> Result<()> {
        let started = Instant::now();
        while self.open.lock().first_key_value().is_some_and(|(oldest, _)| *oldest < sequence) {
            if started.elapsed() > WAIT_MAX {
                return Err(StoreError::old_snapshot());
            }
            std::thread::sleep(POLL);
        }
        Ok(())
    }

    fn empty_spare_logs(&self) -> Result<()> {
        Ok(())
    }

    fn checkpoint(&self, _folder: &Path) -> Result<Option<Box<dyn Checkpoint>>> {
        Ok(None)
    }

    fn record_checksums(&self) -> Result<()> {
        Ok(())
    }

    fn verify(&self) -> Result<Vec<Damage>> {
        Ok(Vec::new())
    }

    fn torn_tail(&self) -> Option<&LogHole> {
        None
    }

    fn memory(&self) -> Result<StoreMemory> {
        let bytes = self.state.read().bytes;
        Ok(StoreMemory { cache_bytes: bytes, write_buffer_bytes: bytes, table_reader_bytes: 0 })
    }

    fn release_cache(&self) {}

    fn estimate(&self, _table: Table, _from: &[u8], _to: &[u8]) -> Result<Option<Estimate>> {
        Ok(None)
    }
}
