//! How a database is opened, and how its one memory budget is shared out.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use nuthatch_segment::{Access, usable_memory_bytes};
use nuthatch_store::{Store, StoreOptions};
use parking_lot::Mutex;

use crate::clock::Clock;
use crate::{Error, Result};

/// The smallest budget that the parts can work in: tantivy's writer alone takes 15 MB while it commits.
pub const MEMORY_BUDGET_MIN_BYTES: u64 = 32 << 20;
/// The default budget.
pub const MEMORY_BUDGET_DEFAULT_BYTES: u64 = 64 << 20;

/// The default memory for building a graph, unless a quarter of what the process may use is less. With the program and
/// some 20 MiB that it takes outside the budget, the process stays within the budget plus 256 MB.
pub const BUILD_MEMORY_DEFAULT_BYTES: u64 = 224 << 20;

/// The longest that a snapshot may delay an erasure.
pub const ERASURE_GRACE_MAX: Duration = Duration::from_secs(60);

/// How a database is opened.
#[derive(Clone, Debug)]
pub struct Options {
    /// Bytes for caches, write buffers, fresh rows, text writers, sealing and merging together. A loaded embedding
    /// model is reported separately (`stats().memory.embedder_bytes`), since its size is the model's.
    pub memory_budget_bytes: u64,
    /// Where to look for the default model besides the standard places.
    pub model_dirs: Vec<PathBuf>,
    /// Named in the lock file, so that a refusal can say who holds the folder.
    pub program: String,
    /// Rows that may wait outside the indexes (searched exactly) before they are sealed into a segment.
    pub fresh_rows_max: usize,
    /// Bytes of memory for building the graph of a large segment, outside the budget: 480 a row at 128 dimensions, 730
    /// at 384, 1,370 at 1,024. A graph of more rows is built in shards, which takes half as long again.
    pub build_memory_bytes: u64,
    /// Threads that build a graph.
    pub build_threads: usize,
    /// Whether the graphs and vectors of segments are mapped instead of read: a search takes about half the time, but mapped
    /// pages count as resident, and a disk that fails ends the process. `None`: each file by itself, while it comes from
    /// the page cache and twice the memory of all mapped files is free.
    pub mapped: Option<bool>,
    /// How long a write of durability `Interval` may wait for its fsync.
    pub sync_interval_ms: u64,
    /// How old a snapshot or transaction may become before it is ended: the data that it shows cannot be cleaned up
    /// until then.
    pub snapshot_age_max: Duration,
    /// How many snapshots and transactions are kept for each tenant at a time, for other processes and over the network together.
    pub snapshots_max: usize,
    /// How long a kept one may go unread before it is ended; `None`: until it is too old.
    pub snapshot_idle_max: Option<Duration>,
    /// How long an erasure, a reclaim or the drop of a tenant waits for older snapshots and transactions, of any
    /// tenant, before it ends them; a minute at most.
    pub erasure_grace: Duration,
    /// The source of the current time.
    pub clock: Clock,
    /// False for tests and tools that want to decide themselves when sealing and merging happen.
    pub background: bool,
    /// Fail instead of creating the folder.
    pub must_exist: bool,
    /// Hold the folder exclusively: other processes are refused instead of served, and so is this one when another
    /// holds it.
    pub exclusive: bool,
    /// The layer that every batch of the folder's store goes through: a log that several machines share. A folder that
    /// is a copy of such a log cannot be opened without it.
    pub store_layer: Option<StoreLayer>,
}

/// Puts a store of the caller's in front of a folder's own.
#[derive(Clone)]
pub struct StoreLayer {
    layering: Arc<Layering>,
    /// A store that is already open, until a folder is opened with it.
    open: Arc<Mutex<Option<Arc<dyn Store>>>>,
}

type Layering = dyn Fn(Arc<dyn Store>) -> Arc<dyn Store> + Send + Sync;

impl StoreLayer {
    /// `layering` is called once each time that a folder is opened.
    pub fn new(layering: impl Fn(Arc<dyn Store>) -> Arc<dyn Store> + Send + Sync + 'static) -> Self {
        Self { layering: Arc::new(layering), open: Arc::default() }
    }

    /// The same, over a store that is open already: the folder's own, with [`Options::store_options`]. The first time that a folder is
    /// opened with these options it takes the store as it is, which spares closing and opening it.
    #[must_use]
    pub fn over_open(self, store: Arc<dyn Store>) -> Self {
        Self { open: Arc::new(Mutex::new(Some(store))), ..self }
    }

    pub(crate) fn take_open(&self) -> Option<Arc<dyn Store>> {
        self.open.lock().take()
    }

    pub(crate) fn over(&self, store: Arc<dyn Store>) -> Arc<dyn Store> {
        (self.layering)(store)
    }
}

impl fmt::Debug for StoreLayer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("StoreLayer")
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            memory_budget_bytes: MEMORY_BUDGET_DEFAULT_BYTES,
            model_dirs: Vec::new(),
            program: program_name(),
            fresh_rows_max: 8192,
            build_memory_bytes: build_memory_default(),
            build_threads: std::thread::available_parallelism().map_or(1, usize::from).div_ceil(2).min(8),
            mapped: None,
            sync_interval_ms: 100,
            snapshot_age_max: Duration::from_secs(600),
            snapshots_max: 128,
            snapshot_idle_max: None,
            erasure_grace: Duration::from_secs(10),
            clock: Clock::system(),
            background: true,
            must_exist: false,
            exclusive: false,
            store_layer: None,
        }
    }
}

impl Options {
    /// How the store of a folder is opened with these options.
    pub fn store_options(&self) -> StoreOptions {
        Budget::split(self.memory_budget_bytes).store
    }

    /// Checks whether a database can be opened with these options; opens nothing.
    ///
    /// # Errors
    /// `Invalid` for a value out of bounds.
    pub fn check(&self) -> Result<()> {
        nuthatch_vector::Level::from_environment().map_err(|error| Error::invalid(error.to_string()))?;
        if self.erasure_grace > ERASURE_GRACE_MAX {
            return Err(Error::invalid(format!(
                "the erasure grace is {} s; give at most {} s, because every erasure waits for it",
                self.erasure_grace.as_secs_f64(),
                ERASURE_GRACE_MAX.as_secs()
            )));
        }
        match self.memory_budget_bytes < MEMORY_BUDGET_MIN_BYTES {
            true => Err(Error::invalid(format!(
                "the memory budget is {} bytes; give at least {MEMORY_BUDGET_MIN_BYTES} (32 MiB)",
                self.memory_budget_bytes
            ))),
            false => Ok(()),
        }
    }

    pub(crate) fn access(&self) -> Access {
        match self.mapped {
            None => Access::Auto,
            Some(true) => Access::Mapped,
            Some(false) => Access::Read,
        }
    }
}

/// The shares of the budget.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    pub store: StoreOptions,
    /// Verified blocks of index files.
    pub block_cache_bytes: u64,
    /// Fresh rows of all collections: codes, payloads, term frequencies.
    pub fresh_bytes: u64,
    /// One text commit or merge, or the columns of one segment, at a time.
    pub work_bytes: u64,
    /// The resident parts of open indexes.
    pub rest_bytes: u64,
}

/// The cache of index blocks keeps at least this fraction of its share, and lends as much to answers in the making.
const CACHE_KEPT_ONE_IN: u64 = 4;

impl Budget {
    /// Returns the memory that large answers may hold together while they are made; the cache of index blocks lends it.
    pub fn answer_bytes(&self) -> u64 {
        self.block_cache_bytes / CACHE_KEPT_ONE_IN
    }

    /// Returns the memory that large batches may hold together while they are written; the cache of index blocks lends
    /// it, too.
    pub fn write_bytes(&self) -> u64 {
        self.block_cache_bytes / CACHE_KEPT_ONE_IN
    }

    /// The part that the cache gives up when others need it.
    pub fn lendable_bytes(&self) -> u64 {
        self.block_cache_bytes - self.block_cache_bytes / CACHE_KEPT_ONE_IN
    }

    pub fn split(total: u64) -> Self {
        let work_bytes = (total / 4).max(15_500_000);
        let rest = total - work_bytes;
        Self {
            // RocksDB charges its write buffers to its cache; the two are given separately so that neither starves.
            store: StoreOptions { cache_bytes: (rest / 4) as usize, write_buffer_bytes: (rest / 8) as usize },
            block_cache_bytes: rest / 2,
            fresh_bytes: rest / 6,
            work_bytes,
            rest_bytes: rest / 12,
        }
    }
}

/// Scales with the machine, so that a default does not get a small container killed.
fn build_memory_default() -> u64 {
    usable_memory_bytes().map_or(BUILD_MEMORY_DEFAULT_BYTES, |bytes| BUILD_MEMORY_DEFAULT_BYTES.min(bytes / 4))
}

fn program_name() -> String {
    std::env::args_os()
        .next()
        .map(PathBuf::from)
        .and_then(|path| path.file_name().map(|name| name.to_string_lossy().into_owned()))
        .unwrap_or_else(|| "unknown program".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shares_never_exceed_the_budget() {
        for total in [MEMORY_BUDGET_MIN_BYTES, MEMORY_BUDGET_DEFAULT_BYTES, 1 << 30] {
            let split = Budget::split(total);
            // The write buffers are charged to the cache, so they are not added a second time.
            let sum = split.store.cache_bytes as u64
                + split.block_cache_bytes
                + split.fresh_bytes
                + split.work_bytes
                + split.rest_bytes;
            assert!(sum <= total, "{sum} of {total}");
        }
    }
}
