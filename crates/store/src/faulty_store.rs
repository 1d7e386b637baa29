//! A store that fails when a test says so: around any other store, at the n-th read, write or sync.
//!
//! **Useful for** tests of what stands on a store: what it tells its callers, and what it has after a power cut.
//! **Not for** damage in files, which needs files.
//!
//! **Invariant:** without a fault it answers as the store inside does.

use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::{
    Batch, Direction, MemoryStore, OwnedSnapshot, Position, Reader, Result, Store, StoreError, Table, Upkeep, Visit,
};

/// An operation that a test counts and makes fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Live or of a snapshot, one key or many.
    Read,
    /// One batch.
    Write,
    /// Making writes durable.
    Sync,
}

/// How it fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing is done, as on a full disk. The next access succeeds.
    Refused,
    /// It is done, and the caller is told that it failed: an answer that was lost on its way.
    Unanswered,
    /// Nothing is done, and no write or sync succeeds from then on, as after a failed fsync.
    Stopped,
    /// The same, because another holder has taken over with this epoch.
    Fenced(u64),
}

/// A store with faults. Make it around an empty one, so that [`after_power_cut`](Self::after_power_cut) knows everything.
pub struct FaultyStore {
    inner: Arc<dyn Store>,
    faults: Arc<Faults>,
    journal: Mutex<Journal>,
    has_upkeep: bool,
}

#[derive(Default)]
struct Faults(Mutex<Plan>);

#[derive(Default)]
struct Plan {
    /// Accesses so far: reads, writes, syncs.
    seen: [u64; 3],
    /// Faults to come, by the number of the access.
    wanted: Vec<(Access, u64, Fault)>,
    /// Why nothing more is written.
    ended: Option<Fault>,
}

/// Every batch that was applied.
#[derive(Default)]
struct Journal {
    batches: Vec<Batch>,
    /// Of these, durable ones.
    synced: usize,
}

impl FaultyStore {
    /// A store without faults, yet: it counts accesses and waits for what a test wants.
    pub fn new(inner: Arc<dyn Store>) -> Self {
        Self { inner, faults: Arc::default(), journal: Mutex::default(), has_upkeep: true }
    }

    /// As a store that looks after itself.
    pub fn without_upkeep(self) -> Self {
        Self { has_upkeep: false, ..self }
    }

    /// Makes the n-th access of this kind from now fail; 1 is the next one.
    pub fn fail(&self, access: Access, nth: u64, fault: Fault) {
        let mut plan = self.faults.0.lock();
        let number = plan.seen[access as usize] + nth;
        plan.wanted.push((access, number, fault));
    }

    /// Forgets the faults to come, and the end that one has brought.
    pub fn heal(&self) {
        let mut plan = self.faults.0.lock();
        plan.wanted.clear();
        plan.ended = None;
    }

    /// How many accesses of this kind there were so far.
    pub fn seen(&self, access: Access) -> u64 {
        self.faults.0.lock().seen[access as usize]
    }

    /// Batches that were applied and are not durable yet.
    pub fn unsynced(&self) -> usize {
        let journal = self.journal.lock();
        journal.batches.len() - journal.synced
    }

    /// Returns the store that a power cut now would leave: everything durable, and the first `kept` of the batches
    /// after that.
    pub fn after_power_cut(&self, kept: usize) -> Result<MemoryStore> {
        let journal = self.journal.lock();
        let left = MemoryStore::new();
        for batch in journal.batches.iter().take(journal.synced + kept) {
            left.write(batch.clone())?;
        }
        Ok(left)
    }
}

impl Faults {
    /// Does `act` unless it is to fail. `act` runs without the lock.
    fn around<T>(&self, access: Access, act: impl FnOnce() -> Result<T>) -> Result<T> {
        let fault = {
            let mut plan = self.0.lock();
            plan.seen[access as usize] += 1;
            let number = plan.seen[access as usize];
            let at = plan.wanted.iter().position(|(of, nth, _)| (*of, *nth) == (access, number));
            let fault = at.map(|at| plan.wanted.swap_remove(at).2);
            if access != Access::Read {
                if let Some(end @ (Fault::Stopped | Fault::Fenced(_))) = fault {
                    plan.ended = Some(end);
                }
                plan.ended.or(fault)
            } else {
                fault
            }
        };
        match fault {
            None => act(),
            Some(fault) => {
                if fault == Fault::Unanswered {
                    act()?;
                }
                Err(fault.error(access))
            }
        }
    }
}

impl Fault {
    fn error(self, access: Access) -> StoreError {
        let (path, what) = (PathBuf::from("faulty store"), format!("a test made this {access:?} fail"));
        match self {
            Self::Refused if access == Access::Write => StoreError::Full { path, what },
            Self::Refused | Self::Unanswered => StoreError::Io { path, what },
            Self::Stopped => StoreError::Stopped(what),
            Self::Fenced(epoch) => StoreError::Fenced { epoch },
        }
    }
}

impl Store for FaultyStore {
    fn write(&self, batch: Batch) -> Result<Position> {
        self.faults.around(Access::Write, || {
            let mut journal = self.journal.lock(); // in the order of the store inside
            let position = self.inner.write(batch.clone())?;
            journal.batches.push(batch);
            Ok(position)
        })
    }

    fn sync(&self, position: Position) -> Result<()> {
        self.faults.around(Access::Sync, || self.synced(|| self.inner.sync(position)))
    }

    fn sync_all(&self) -> Result<()> {
        self.faults.around(Access::Sync, || self.synced(|| self.inner.sync_all()))
    }

    fn latest(&self) -> u64 {
        self.inner.latest()
    }

    fn snapshot(&self) -> Box<dyn Reader + '_> {
        Box::new(FaultyReader { faults: self.faults.clone(), inner: self.inner.snapshot() })
    }

    fn owned_snapshot(self: Arc<Self>) -> OwnedSnapshot {
        let inner = self.inner.clone().owned_snapshot();
        let latest = inner.latest();
        OwnedSnapshot::new(Box::new(FaultyReader { faults: self.faults.clone(), inner: Box::new(inner) }), latest)
    }

    fn get_cached(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.faults.around(Access::Read, || self.inner.get_cached(table, key))
    }

    fn scan_cached(
        &self,
        table: Table,
        from: &[u8],
        to: &[u8],
        direction: Direction,
        visit: &mut Visit<'_>,
    ) -> Result<()> {
        self.faults.around(Access::Read, || self.inner.scan_cached(table, from, to, direction, visit))
    }

    fn cached_snapshot(&self) -> Box<dyn Reader + '_> {
        Box::new(FaultyReader { faults: self.faults.clone(), inner: self.inner.cached_snapshot() })
    }

    fn upkeep(&self) -> Option<&dyn Upkeep> {
        self.inner.upkeep().filter(|_| self.has_upkeep)
    }
}

impl FaultyStore {
    /// Runs `sync`; if it succeeds, everything written before is durable.
    fn synced(&self, sync: impl FnOnce() -> Result<()>) -> Result<()> {
        let written = self.journal.lock().batches.len();
        sync()?;
        let mut journal = self.journal.lock();
        journal.synced = journal.synced.max(written);
        Ok(())
    }
}

/// A view whose reads fail as those of the store do.
struct FaultyReader<R: ?Sized> {
    faults: Arc<Faults>,
    inner: Box<R>,
}

impl<R: Reader + ?Sized> Reader for FaultyReader<R> {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.faults.around(Access::Read, || self.inner.get(table, key))
    }

    fn multi_get(&self, table: Table, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>> {
        self.faults.around(Access::Read, || self.inner.multi_get(table, keys))
    }

    fn scan(&self, table: Table, from: &[u8], to: &[u8], direction: Direction, visit: &mut Visit<'_>) -> Result<()> {
        self.faults.around(Access::Read, || self.inner.scan(table, from, to, direction, visit))
    }
}

impl Reader for FaultyStore {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.faults.around(Access::Read, || self.inner.get(table, key))
    }

    fn multi_get(&self, table: Table, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>> {
        self.faults.around(Access::Read, || self.inner.multi_get(table, keys))
    }

    fn scan(&self, table: Table, from: &[u8], to: &[u8], direction: Direction, visit: &mut Visit<'_>) -> Result<()> {
        self.faults.around(Access::Read, || self.inner.scan(table, from, to, direction, visit))
    }
}
