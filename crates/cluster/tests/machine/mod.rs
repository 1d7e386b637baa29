//! A node without its server: a copy of the group in a folder, following or owning.

#![allow(dead_code, reason = "each test uses a part")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use nuthatch_cluster::*;
use nuthatch_store::{Batch, Reader, RocksStore, Shard, Store, StoreOptions, Table};

pub const LEASE_MS: u64 = 600;
const OPTIONS: StoreOptions = StoreOptions { cache_bytes: 2 << 20, write_buffer_bytes: 2 << 20 };
const SHARD: Shard = Shard { tenant: 0, collection: 7 };

pub fn key(name: &str) -> Vec<u8> {
    SHARD.key(name.as_bytes())
}

pub fn put(name: &str, value: &[u8]) -> Batch {
    let mut batch = Batch::new();
    batch.put(Table::Kv, key(name), value.to_vec());
    batch
}

/// Names and values of a copy.
pub fn rows(store: &dyn Reader) -> Vec<(String, Vec<u8>)> {
    let mut rows = Vec::new();
    let visit = &mut |key: &[u8], value: &[u8]| {
        rows.push((String::from_utf8_lossy(Shard::suffix(key)).into_owned(), value.to_vec()));
        std::ops::ControlFlow::Continue(())
    };
    store.scan_once(Table::Kv, &[], &[], visit).unwrap();
    rows
}

pub fn names(rows: &[(String, Vec<u8>)]) -> Vec<&str> {
    rows.iter().map(|(name, _)| name.as_str()).collect()
}

/// Folders of two nodes, which go with the first value.
pub fn folders() -> (tempfile::TempDir, PathBuf, PathBuf) {
    let root = tempfile::tempdir().unwrap();
    let (one, two) = (root.path().join("one"), root.path().join("two"));
    (root, one, two)
}

pub fn cluster(bucket: &Bucket) -> Arc<dyn Log> {
    ObjectLog::init(bucket, LEASE_MS).unwrap();
    Arc::new(ObjectLog::open(bucket).unwrap())
}

/// A node that follows.
pub struct Follower {
    pub store: Arc<RocksStore>,
    pub group: Group,
    log: Arc<dyn Log>,
    folder: PathBuf,
    /// Objects that were found damaged on the way.
    pub told: Vec<String>,
}

/// A node that owns.
pub struct Machine {
    pub store: Arc<LoggedStore>,
    pub owner: Arc<Owner>,
}

impl Follower {
    /// Whatever is in `folder` goes; the copy begins at the newest checkpoint.
    pub fn start(log: &Arc<dyn Log>, folder: &Path) -> Result<Self> {
        let copy = folder.join("copy");
        checkpoint::clear(&copy)?;
        let mut told = Vec::new();
        let known =
            checkpoint::restore(log.base(), &copy, &mut |error| told.push(error.to_string()))?.unwrap_or_default();
        let store = Arc::new(RocksStore::open(&copy.join("truth"), OPTIONS)?);
        let group = Group::new(uuid::Uuid::new_v4().as_u128(), "127.0.0.1:1", log.base().timing(), known, boot_clock());
        Ok(Self { store, group, log: log.clone(), folder: folder.to_path_buf(), told })
    }

    /// Follows until it owns the group.
    pub fn take_over(&mut self) -> Result<Followed> {
        self.follow(&AtomicBool::new(false))
    }

    pub fn follow(&mut self, stop: &AtomicBool) -> Result<Followed> {
        let (log, store) = (self.log.clone(), self.store.clone());
        let mut bring = |group: &Group, entry: Entry| apply(&*store, &*log, group.known().slot, &entry);
        follow(&*self.log, &mut self.group, stop, &Bell::default(), &mut bring, &mut |_| {})
    }

    pub fn own(self) -> Machine {
        let log = self.log.clone();
        self.own_through(log)
    }

    /// Owns, with its requests going through another log.
    pub fn own_through(self, log: Arc<dyn Log>) -> Machine {
        let owner = Arc::new(Owner::start(log, self.group, || {}, |_| {}).unwrap());
        let store = LoggedStore::new(self.store, owner.clone(), self.log, &self.folder.join("capture"));
        Machine { store: Arc::new(store), owner }
    }
}

/// A new node, after its takeover.
pub fn owning(log: &Arc<dyn Log>, folder: &Path) -> Machine {
    let mut follower = Follower::start(log, folder).unwrap();
    assert!(matches!(follower.take_over().unwrap(), Followed::Owns(_)));
    follower.own()
}

impl Machine {
    /// A durable write.
    pub fn put(&self, name: &str, value: &[u8]) -> nuthatch_store::Result<()> {
        let position = self.store.write(put(name, value))?;
        self.store.sync(position)
    }
}

/// Waits for something that has to come, however slow the machine is.
pub fn until(mut is_there: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_there() {
        assert!(begun.elapsed() < Duration::from_secs(120), "it does not come");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A log whose appends wait while it hangs.
pub struct Hung {
    pub log: Arc<dyn Log>,
    pub hangs: AtomicBool,
    pub waiting: AtomicUsize,
}

impl Hung {
    pub fn around(log: Arc<dyn Log>) -> Arc<Self> {
        Arc::new(Self { log, hangs: AtomicBool::new(false), waiting: AtomicUsize::new(0) })
    }
}

/// A log of whose appends every third answer is lost.
pub struct Deaf {
    pub log: Arc<dyn Log>,
    pub every: usize,
    pub done: bool,
    pub count: AtomicUsize,
}

macro_rules! reads_as_the_log_inside {
    () => {
        fn base(&self) -> &Base {
            self.log.base()
        }

        fn address(&self) -> &str {
            self.log.address()
        }

        fn read(&self, slot: Slot) -> Result<Option<Entry>> {
            self.log.read(slot)
        }

        fn newest(&self) -> Result<Option<Mark>> {
            self.log.newest()
        }

        fn head(&self) -> Result<Known> {
            self.log.head()
        }

        fn slots(&self, after: Slot) -> Result<Vec<(Slot, u64)>> {
            self.log.slots(after)
        }

        fn trim(&self, through: Slot) -> Result<u64> {
            self.log.trim(through)
        }
    };
}

impl Log for Hung {
    fn append(&self, slot: Slot, entry: &Entry) -> Result<Appended> {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        until(|| !self.hangs.load(Ordering::SeqCst));
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        self.log.append(slot, entry)
    }

    reads_as_the_log_inside!();
}

impl Log for Deaf {
    fn append(&self, slot: Slot, entry: &Entry) -> Result<Appended> {
        let is_lost = self.count.fetch_add(1, Ordering::SeqCst).is_multiple_of(self.every);
        if !is_lost || self.done {
            let appended = self.log.append(slot, entry)?;
            if !is_lost {
                return Ok(appended);
            }
        }
        let what = "a test lost the answer".into();
        Err(ClusterError::Unreachable { place: "deaf".into(), object: slot.to_string(), what })
    }

    reads_as_the_log_inside!();
}

/// A follower that sees nothing of five checkpoints and what is trimmed behind them begins again, and the owner goes on.
pub fn sleep_through_a_trim(log: &Arc<dyn Log>) {
    let (_root, one, two) = folders();
    let mut sleeper = Follower::start(log, &two).unwrap(); // sees nothing of what follows
    let machine = owning(log, &one);
    for n in 0..5 {
        machine.put(&format!("{n}"), b"v").unwrap();
        machine.store.checkpoint(1).unwrap();
    }
    assert_eq!(sleeper.take_over().unwrap(), Followed::Ended(End::Behind));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    assert_eq!(runtime.block_on(machine.owner.leave()), Ok(()), "the owner goes on");
    drop(sleeper);
    let mut again = Follower::start(log, &two).unwrap();
    drop(machine);
    assert_eq!(again.take_over().unwrap(), Followed::Owns(2));
    assert_eq!(rows(&*again.store).len(), 5);
}
