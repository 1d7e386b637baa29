//! The store on RocksDB, in one folder, for one process.

use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, RwLock};
use rocksdb::{
    BlockBasedIndexType, BlockBasedOptions, BlockBasedTablePinningTier, Cache, ColumnFamily, DB, DBCompressionType,
    DBRecoveryMode, InfoLogger, LogLevel, Options, ReadOptions, ReadTier, WriteBatch, WriteBufferManager, WriteOptions,
};

use crate::commit_queue::CommitQueue;
use crate::log_check::{LogHole, SyncMark, Verdict, check_logs, end_of, logs, obsolete_logs};
use crate::rocks_threads::Threads;
use crate::{
    Batch, Direction, Estimate, Op, OwnedSnapshot, Position, Reader, Result, Store, StoreError, StoreMemory, Table,
    Upkeep, Visit,
};

/// How much memory the embedded store may use.
#[derive(Clone, Copy, Debug)]
pub struct StoreOptions {
    /// Blocks, index and filter blocks, and the write buffers charged to the same cache.
    pub cache_bytes: usize,
    /// Unflushed writes.
    pub write_buffer_bytes: usize,
}

/// How long closing waits for RocksDB to recover from a full disk: while there is room, it is recovering, and that takes as long
/// as the machine is busy; while there is none, it has not begun.
const RECOVERY_WAIT_MAX: Duration = Duration::from_secs(20);
const FULL_WAIT_MAX: Duration = Duration::from_secs(3);

/// By itself the store reads a block, and more at a time with each that follows, from the beginning in each page of a listing.
const READAHEAD_BYTES: usize = 512 << 10;
/// Of a write buffer, for its filter.
const MEMTABLE_BLOOM_RATIO: f64 = 0.05;
/// Caches from this size on keep the index and filter partitions of open files where no look-up is needed to find them. Those of
/// `OPEN_FILES_MAX` files of 16 MiB, with keys of 39 bytes and values of 256, are 145 MB.
const PARTITIONS_PINNED_FROM_BYTES: usize = 512 << 20;
const OPEN_FILES_MAX: i32 = 256;
/// Obsolete logs that are kept to be written over.
const LOGS_RECYCLED_MAX: usize = 4;

/// The embedded store. One process at a time: the engine's lock file sees to that, RocksDB's own lock backs it up.
pub struct RocksStore {
    pub(crate) db: DB,
    /// After `db`: what goes when the store is closed.
    _spare_logs: SpareLogs,
    _threads: Threads,
    folder: PathBuf,
    cache: Cache,
    /// Held shared by calls that may make RocksDB begin a new log.
    pub(crate) turning_logs: RwLock<()>,
    /// One at a time compacts on request: the other would wait for `turning_logs`, and writers for that.
    pub(crate) compacting: Mutex<()>,
    /// Two calls that note checksums at the same time would write the same temporary file.
    noting: Mutex<()>,
    cache_bytes: usize,
    /// How the live state is read; made once, because each one is an allocation.
    live: ReadOptions,
    /// The same for what is in memory alone.
    cached: ReadOptions,
    written: AtomicU64,
    /// RocksDB's sequence up to which the log is durable: the sync mark of the next batch.
    synced: AtomicU64,
    pub(crate) commits: CommitQueue,
    torn_tail: Option<LogHole>,
    /// RocksDB has said that the disk is full, and may be recovering from that in a thread of its own.
    was_full: AtomicBool,
    recovers_with_bytes: u64,
}

impl RocksStore {
    /// Opens or creates the store in `folder`. A torn tail of the log (a crash) is cut and told by
    /// [`torn_tail`](Self::torn_tail); damage before it is refused with the file's name, because what follows the damage was
    /// acknowledged.
    pub fn open(folder: &Path, options: StoreOptions) -> Result<Self> {
        let torn_tail = match check_logs(folder, None) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            verdict => match verdict.map_err(StoreError::io(folder))? {
                Verdict::Whole => None,
                Verdict::Torn { hole, later } => {
                    hole.cut(&later).map_err(StoreError::io(folder))?;
                    Some(hole)
                }
                Verdict::Damaged { hole, .. } => {
                    let what = hole.describe();
                    return Err(StoreError::Corrupt { path: hole.path, what });
                }
            },
        };
        // RocksDB's clock cache answers a tenth faster, but keeps what it holds when its capacity is lowered: nothing could be given
        // back to the system.
        let cache = Cache::new_lru_cache(options.cache_bytes);
        let db_options = db_options(&options, &cache);
        let tables = Table::ALL.map(|table| (table.name(), table_options(table, &options, &cache)));
        let threads = Threads::wanted();
        let db =
            DB::open_cf_with_opts(&db_options, folder, tables).map_err(|error| crate::verify::blame(folder, error))?;
        let synced = AtomicU64::new(db.latest_sequence_number()); // recovery has written it to table files
        Ok(Self {
            db,
            _spare_logs: SpareLogs(folder.to_path_buf()),
            _threads: threads,
            folder: folder.to_path_buf(),
            cache,
            turning_logs: RwLock::default(),
            compacting: Mutex::default(),
            noting: Mutex::default(),
            cache_bytes: options.cache_bytes,
            live: ReadOptions::default(),
            cached: in_memory_alone(ReadOptions::default()),
            written: AtomicU64::new(0),
            synced,
            commits: CommitQueue::default(),
            torn_tail,
            was_full: AtomicBool::new(false),
            recovers_with_bytes: memtable_bytes(&options) as u64,
        })
    }

    /// Whether there is as much room on the disk as RocksDB wants before it recovers: that of one write buffer.
    fn has_room(&self) -> bool {
        rustix::fs::statvfs(&self.folder)
            .is_ok_and(|disk| disk.f_bavail.saturating_mul(disk.f_frsize) >= self.recovers_with_bytes)
    }

    /// Where the log was cut at opening, because a crash had left its end unfinished. Nothing before it is missing.
    pub fn torn_tail(&self) -> Option<&LogHole> {
        self.torn_tail.as_ref()
    }

    /// Fsyncs of the log that writers waited for so far.
    pub fn syncs(&self) -> u64 {
        self.commits.syncs()
    }

    /// Bytes held in memory.
    pub fn memory(&self) -> Result<StoreMemory> {
        let usage = rocksdb::perf::get_memory_usage_stats(Some(&[&self.db]), Some(&[&self.cache]))
            .map_err(|error| self.error(error))?;
        Ok(StoreMemory {
            cache_bytes: usage.cache_total,
            write_buffer_bytes: usage.mem_table_total,
            table_reader_bytes: usage.mem_table_readers_total,
        })
    }

    /// Drops the blocks that nobody is reading; unflushed writes stay.
    pub fn release_cache(&self) {
        let mut cache = self.cache.clone(); // a handle on the same cache
        cache.set_capacity(0);
        cache.set_capacity(self.cache_bytes);
    }

    /// Writes the write buffers to table files, so that the next open replays nothing.
    pub fn flush(&self) -> Result<()> {
        let _turning = self.turning_logs.read();
        self.flush_tables()
    }

    /// Flushes, and overwrites everything in the logs that no log needs any more with zeros: logs are recycled and keep
    /// their old contents until new writes happen to cover them. Writers wait for it. For erasing, which must leave no
    /// byte behind.
    pub fn scrub_logs(&self) -> Result<()> {
        let _turning = self.turning_logs.write();
        self.flush_tables()?;
        scrub(&self.folder).map_err(StoreError::io(&self.folder))
    }

    /// Gives the space of logs that are kept to be written over back to the disk. Writers wait for a moment, and later for
    /// the disk to give it again. For a store that nobody uses for a while.
    #[allow(clippy::disallowed_methods, reason = "it shortens files that have their names")]
    pub fn empty_spare_logs(&self) -> Result<()> {
        let _turning = self.turning_logs.write();
        let empty = |path: PathBuf| unless_gone(|| std::fs::OpenOptions::new().write(true).open(path)?.set_len(0));
        let emptied = obsolete_logs(&self.folder).and_then(|logs| logs.into_iter().try_for_each(empty));
        emptied.map_err(StoreError::io(&self.folder))
    }

    fn flush_tables(&self) -> Result<()> {
        self.commits.refuse_when_stopped()?;
        for table in Table::ALL {
            self.db.flush_cf(self.table(table)).map_err(|error| self.error(error))?;
        }
        Ok(())
    }

    /// Notes the checksums of table files written since the last call, for [`crate::verify`]. Cheap when there are none.
    pub fn record_checksums(&self) -> Result<()> {
        let _noting = self.noting.lock();
        let live = self.db.live_files().map_err(|error| self.error(error))?;
        let names: Vec<String> = live.into_iter().map(|file| file.name.trim_start_matches('/').to_string()).collect();
        crate::verify::record_checksums(&self.folder, Some(&names))
    }

    /// Reads every live block, so that RocksDB checks it. The first error names its file.
    pub fn read_everything(&self) -> Vec<StoreError> {
        let mut errors = Vec::new();
        for table in Table::ALL {
            let mut options = ReadOptions::default();
            options.set_verify_checksums(true);
            options.fill_cache(false);
            let mut rows = self.db.raw_iterator_cf_opt(self.table(table), options);
            rows.seek_to_first();
            while rows.valid() {
                rows.next();
            }
            if let Err(error) = rows.status() {
                errors.push(self.error(error));
            }
        }
        errors
    }

    /// RocksDB's sequence of the last write: everything up to here is in the log files.
    pub(crate) fn published(&self) -> u64 {
        self.db.latest_sequence_number()
    }

    pub(crate) fn db(&self) -> &DB {
        &self.db
    }

    /// Where the store is.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn table(&self, table: Table) -> &ColumnFamily {
        self.db.cf_handle(table.name()).expect("every table is opened with the store")
    }

    pub(crate) fn error(&self, error: rocksdb::Error) -> StoreError {
        let error = StoreError::from_rocksdb(&self.folder, error);
        if matches!(error, StoreError::Full { .. }) {
            self.was_full.store(true, Ordering::SeqCst);
        }
        error
    }
}

impl Drop for RocksStore {
    /// RocksDB recovers from a full disk by itself, in a thread; closing it in the middle of that waits for ever.
    fn drop(&mut self) {
        let began = Instant::now();
        while self.was_full.load(Ordering::SeqCst) && self.db.write(WriteBatch::default()).is_err() {
            let patience = if self.has_room() { RECOVERY_WAIT_MAX } else { FULL_WAIT_MAX };
            if began.elapsed() > patience {
                break;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Removes obsolete logs when the store has been closed: only an open one writes over them.
struct SpareLogs(PathBuf);

impl Drop for SpareLogs {
    fn drop(&mut self) {
        // Best effort: the next opening removes what is left.
        for log in obsolete_logs(&self.0).unwrap_or_default() {
            std::fs::remove_file(log).ok();
        }
    }
}

/// Writes zeros over obsolete logs, and behind the end of the others. RocksDB deletes obsolete logs at any time. The caller keeps
/// writers off, so that no log is begun: one that is gone was deleted, and not given another name.
#[allow(clippy::disallowed_methods, reason = "it writes over files that have their names")]
fn scrub(folder: &Path) -> std::io::Result<()> {
    let obsolete = obsolete_logs(folder)?;
    for (number, path) in logs(folder)? {
        unless_gone(|| {
            let end = if obsolete.contains(&path) { 0 } else { end_of(&path, number)? };
            let mut file = std::fs::OpenOptions::new().write(true).open(&path)?;
            let length = file.metadata()?.len();
            file.seek(SeekFrom::Start(end))?;
            std::io::copy(&mut std::io::repeat(0).take(length.saturating_sub(end)), &mut file)?;
            file.sync_data()
        })?;
    }
    Ok(())
}

/// Runs an operation on a file; a missing file is no error.
fn unless_gone(done: impl FnOnce() -> std::io::Result<()>) -> std::io::Result<()> {
    done().or_else(|error| if error.kind() == ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

impl Store for RocksStore {
    fn write(&self, batch: Batch) -> Result<Position> {
        self.commits.refuse_when_stopped()?;
        // As long as it will be: one that grows as it is filled is copied over and over, and ends twice as long.
        let mut rocks = WriteBatch::with_capacity_bytes(batch.log_bytes());
        rocks.put_log_data(SyncMark(self.synced.load(Ordering::SeqCst)).encode());
        for op in batch.into_ops() {
            match op {
                Op::Put { table, key, value } => rocks.put_cf(self.table(table), key, value),
                Op::Delete { table, key } => rocks.delete_cf(self.table(table), key),
                Op::DeleteRange { table, from, to } => rocks.delete_range_cf(self.table(table), from, to),
            }
        }
        let mut options = WriteOptions::default();
        let _turning = self.turning_logs.read();
        options.set_sync(false); // `sync` makes it durable, for many writers at once
        if let Err(error) = self.db.write_opt(rocks, &options) {
            self.commits.refuse_when_stopping()?;
            return Err(self.error(error));
        }
        Ok(Position(self.written.fetch_add(1, Ordering::SeqCst) + 1))
    }

    fn sync(&self, position: Position) -> Result<()> {
        let written = || self.written.load(Ordering::SeqCst);
        self.commits.wait(position.0, written, || {
            let reached = self.db.latest_sequence_number();
            self.db.flush_wal(true).map_err(|error| {
                let what = error.to_string();
                self.error(error);
                what
            })?;
            self.synced.fetch_max(reached, Ordering::SeqCst);
            Ok(())
        })
    }

    fn sync_all(&self) -> Result<()> {
        self.sync(Position(self.written.load(Ordering::SeqCst)))
    }

    fn latest(&self) -> u64 {
        self.db.latest_sequence_number()
    }

    fn snapshot(&self) -> Box<dyn Reader + '_> {
        Box::new(Snapshot { store: self, snapshot: self.db.snapshot() })
    }

    fn owned_snapshot(self: Arc<Self>) -> OwnedSnapshot {
        let mut latest = 0;
        let cell = SnapshotCell::new(self, |store| {
            let snapshot = store.db.snapshot();
            latest = snapshot.sequence_number();
            snapshot
        });
        OwnedSnapshot::new(Box::new(cell), latest)
    }

    fn get_cached(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.read(&self.cached, table, key)
    }

    fn scan_cached(
        &self,
        table: Table,
        from: &[u8],
        to: &[u8],
        direction: Direction,
        visit: &mut Visit<'_>,
    ) -> Result<()> {
        self.scan_with(in_memory_alone(ReadOptions::default()), table, from, to, direction, visit)
    }

    fn cached_snapshot(&self) -> Box<dyn Reader + '_> {
        let snapshot = self.db.snapshot();
        let options = in_memory_alone(at(&snapshot));
        Box::new(CachedSnapshot { store: self, options, snapshot })
    }

    fn upkeep(&self) -> Option<&dyn Upkeep> {
        Some(self)
    }
}

impl Reader for RocksStore {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.read(&self.live, table, key)
    }

    fn multi_get(&self, table: Table, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>> {
        self.read_many(&self.live, table, keys)
    }

    fn scan(&self, table: Table, from: &[u8], to: &[u8], direction: Direction, visit: &mut Visit<'_>) -> Result<()> {
        self.scan_with(ReadOptions::default(), table, from, to, direction, visit)
    }

    fn scan_once(&self, table: Table, from: &[u8], to: &[u8], visit: &mut Visit<'_>) -> Result<()> {
        self.scan_with(past_the_cache(ReadOptions::default()), table, from, to, Direction::Forward, visit)
    }

    fn scan_through(&self, table: Table, from: &[u8], to: &[u8], visit: &mut Visit<'_>) -> Result<()> {
        self.scan_with(in_large_pieces(ReadOptions::default()), table, from, to, Direction::Forward, visit)
    }
}

impl RocksStore {
    /// From the sizes of table files; what is only in write buffers does not count.
    pub(crate) fn estimated(&self, table: Table, from: &[u8], to: &[u8]) -> Result<Estimate> {
        let number = |name: &rocksdb::properties::PropName| {
            let value = self.db.property_int_value_cf(self.table(table), name);
            Ok(value.map_err(|error| self.error(error))?.unwrap_or(0))
        };
        Ok(Estimate {
            bytes: self.db.get_approximate_sizes_cf(self.table(table), &[rocksdb::Range::new(from, to)]).iter().sum(),
            table_keys: number(rocksdb::properties::ESTIMATE_NUM_KEYS)?,
            table_bytes: number(rocksdb::properties::TOTAL_SST_FILES_SIZE)?,
        })
    }
}

type RocksSnapshot<'t> = rocksdb::Snapshot<'t>;

self_cell::self_cell!(
    struct SnapshotCell {
        owner: Arc<RocksStore>,
        #[not_covariant]
        dependent: RocksSnapshot,
    }
);

impl Reader for SnapshotCell {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.with_dependent(|store, snapshot| store.read(&at(snapshot), table, key))
    }

    fn multi_get(&self, table: Table, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>> {
        self.with_dependent(|store, snapshot| store.read_many(&at(snapshot), table, keys))
    }

    fn scan(&self, table: Table, from: &[u8], to: &[u8], direction: Direction, visit: &mut Visit<'_>) -> Result<()> {
        self.with_dependent(|store, snapshot| store.scan_with(at(snapshot), table, from, to, direction, visit))
    }

    fn scan_once(&self, table: Table, from: &[u8], to: &[u8], visit: &mut Visit<'_>) -> Result<()> {
        self.with_dependent(|store, snapshot| {
            store.scan_with(past_the_cache(at(snapshot)), table, from, to, Direction::Forward, visit)
        })
    }

    fn scan_through(&self, table: Table, from: &[u8], to: &[u8], visit: &mut Visit<'_>) -> Result<()> {
        self.with_dependent(|store, snapshot| {
            store.scan_with(in_large_pieces(at(snapshot)), table, from, to, Direction::Forward, visit)
        })
    }
}

/// A snapshot that reads only from memory.
struct CachedSnapshot<'t> {
    store: &'t RocksStore,
    /// Before `snapshot`, to which they point.
    options: ReadOptions,
    snapshot: RocksSnapshot<'t>,
}

impl Reader for CachedSnapshot<'_> {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.store.read(&self.options, table, key)
    }

    fn multi_get(&self, table: Table, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>> {
        // One by one: RocksDB's own look-up of many reads their blocks from the disk, whatever it was told.
        keys.iter().map(|key| self.store.read(&self.options, table, key)).collect()
    }

    fn scan(&self, table: Table, from: &[u8], to: &[u8], direction: Direction, visit: &mut Visit<'_>) -> Result<()> {
        // Options of its own: they are given the bounds.
        self.store.scan_with(in_memory_alone(at(&self.snapshot)), table, from, to, direction, visit)
    }
}

struct Snapshot<'t> {
    store: &'t RocksStore,
    snapshot: RocksSnapshot<'t>,
}

/// Options that read as of a snapshot.
fn at(snapshot: &RocksSnapshot<'_>) -> ReadOptions {
    let mut options = ReadOptions::default();
    options.set_snapshot(snapshot);
    options
}

/// The same, where nothing is read from the disk.
fn in_memory_alone(mut options: ReadOptions) -> ReadOptions {
    options.set_read_tier(ReadTier::BlockCache);
    options
}

/// The same, with no trace left in the cache.
fn past_the_cache(mut options: ReadOptions) -> ReadOptions {
    options.fill_cache(false);
    options
}

/// The same, and as much at a time as a disk likes to give.
fn in_large_pieces(options: ReadOptions) -> ReadOptions {
    let mut options = past_the_cache(options);
    options.set_readahead_size(READAHEAD_BYTES);
    options
}

impl Reader for Snapshot<'_> {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.store.read(&at(&self.snapshot), table, key)
    }

    fn multi_get(&self, table: Table, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>> {
        self.store.read_many(&at(&self.snapshot), table, keys)
    }

    fn scan(&self, table: Table, from: &[u8], to: &[u8], direction: Direction, visit: &mut Visit<'_>) -> Result<()> {
        self.store.scan_with(at(&self.snapshot), table, from, to, direction, visit)
    }

    fn scan_once(&self, table: Table, from: &[u8], to: &[u8], visit: &mut Visit<'_>) -> Result<()> {
        self.store.scan_with(past_the_cache(at(&self.snapshot)), table, from, to, Direction::Forward, visit)
    }

    fn scan_through(&self, table: Table, from: &[u8], to: &[u8], visit: &mut Visit<'_>) -> Result<()> {
        self.store.scan_with(in_large_pieces(at(&self.snapshot)), table, from, to, Direction::Forward, visit)
    }
}

impl RocksStore {
    pub(crate) fn read(&self, options: &ReadOptions, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.db.get_cf_opt(self.table(table), key, options).map_err(|error| self.error(error))
    }

    fn read_many(&self, options: &ReadOptions, table: Table, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>> {
        let sorted = keys.is_sorted();
        self.db
            .batched_multi_get_cf_opt(self.table(table), keys, sorted, options)
            .into_iter()
            .map(|value| match value {
                Ok(value) => Ok(value.map(|bytes| bytes.to_vec())),
                Err(error) => Err(self.error(error)),
            })
            .collect()
    }

    pub(crate) fn scan_with(
        &self,
        options: ReadOptions,
        table: Table,
        from: &[u8],
        to: &[u8],
        direction: Direction,
        visit: &mut Visit<'_>,
    ) -> Result<()> {
        scan_rows(&self.db, self.table(table), options, from, to, direction, visit).map_err(|error| self.error(error))
    }
}

pub(crate) fn scan_rows(
    db: &DB,
    table: &ColumnFamily,
    mut options: ReadOptions,
    from: &[u8],
    to: &[u8],
    direction: Direction,
    visit: &mut Visit<'_>,
) -> std::result::Result<(), rocksdb::Error> {
    options.set_iterate_lower_bound(from);
    if !to.is_empty() {
        options.set_iterate_upper_bound(to);
    }
    let mut rows = db.raw_iterator_cf_opt(table, options);
    match direction {
        Direction::Forward => rows.seek_to_first(),
        Direction::Reverse => rows.seek_to_last(),
    }
    while let Some((key, value)) = rows.item() {
        if let ControlFlow::Break(()) = visit(key, value) {
            return Ok(());
        }
        match direction {
            Direction::Forward => rows.next(),
            Direction::Reverse => rows.prev(),
        }
    }
    rows.status()
}

fn db_options(options: &StoreOptions, cache: &Cache) -> Options {
    let mut db = Options::default();
    db.create_if_missing(true);
    db.create_missing_column_families(true);
    db.set_write_buffer_manager(&WriteBufferManager::new_write_buffer_manager_with_cache(
        options.write_buffer_bytes,
        false,
        cache.clone(),
    ));
    // The writer that leads a group puts all of its writes into the memtable: waking each of them to put in its own costs more than
    // that, when writes are small and processors few.
    db.set_allow_concurrent_memtable_write(false);
    db.set_max_background_jobs(2);
    db.set_max_open_files(OPEN_FILES_MAX);
    db.set_max_total_wal_size(4 * options.write_buffer_bytes as u64);
    // Written over, a log is synced without telling the file system of its growth.
    db.set_recycle_log_file_num(LOGS_RECYCLED_MAX);
    // `log_check` finds torn or damaged records, and cuts or refuses them, before RocksDB sees them.
    db.set_wal_recovery_mode(DBRecoveryMode::PointInTime);
    db.set_max_manifest_file_size(16 << 10); // `reclaim` wants a new one now and then
    db.set_stats_dump_period_sec(0);
    db.set_stats_persist_period_sec(0);
    db.set_skip_stats_update_on_db_open(true);
    db.set_compaction_readahead_size(256 << 10);
    db.set_bytes_per_sync(1 << 20);
    quiet(&mut db);
    db
}

/// RocksDB would write an info log (LOG) next to the data that no one reads; its failures come back as errors.
pub(crate) fn quiet(db: &mut Options) {
    db.set_info_logger(InfoLogger::new_callback_logger(LogLevel::Fatal, |_, _| {}));
}

/// Of each table.
fn memtable_bytes(budget: &StoreOptions) -> usize {
    budget.write_buffer_bytes / 2
}

pub(crate) fn table_options(table: Table, budget: &StoreOptions, cache: &Cache) -> Options {
    let mut blocks = BlockBasedOptions::default();
    blocks.set_block_cache(cache);
    blocks.set_format_version(6);
    // Index and filter blocks are inside the budget; partitioned, so that one lookup does not pull in a whole file's index.
    blocks.set_cache_index_and_filter_blocks(true);
    blocks.set_cache_index_and_filter_blocks_with_high_priority(true);
    blocks.set_pin_l0_filter_and_index_blocks_in_cache(true);
    blocks.set_index_type(BlockBasedIndexType::TwoLevelIndexSearch);
    blocks.set_metadata_block_size(4096);
    // Pinned blocks are charged to the cache as before, but found without its locks; the top of an index is a few KiB a
    // file.
    blocks.set_top_level_index_pinning_tier(BlockBasedTablePinningTier::All);
    if budget.cache_bytes >= PARTITIONS_PINNED_FROM_BYTES {
        blocks.set_partition_pinning_tier(BlockBasedTablePinningTier::All);
    }
    let mut options = Options::default();
    // Rows and changes are numbered upwards, so their files never overlap and compaction only renames them.
    match table {
        Table::Vectors => {
            blocks.set_block_size(16 << 10);
            options.set_compression_type(DBCompressionType::None);
        }
        Table::Records | Table::Files => {
            blocks.set_block_size(16 << 10);
            options.set_compression_type(DBCompressionType::Lz4);
            options.set_bottommost_compression_type(DBCompressionType::Zstd);
        }
        Table::Ids | Table::Kv => {
            if table == Table::Kv {
                // Keys that are asked for often lie among others that are not: of small blocks more of the former fit.
                blocks.set_block_size(2 << 10);
            }
            if table == Table::Ids {
                // Most ids of a write are new: that they are is known without looking for their place among those that came before.
                options.set_memtable_whole_key_filtering(true);
                options.set_memtable_prefix_bloom_ratio(MEMTABLE_BLOOM_RATIO);
            }
            blocks.set_bloom_filter(10.0, false);
            blocks.set_partition_filters(true);
            options.set_compression_type(DBCompressionType::Lz4);
        }
        // Numbered upwards, too. A large value is a block of its own; chunks of files are compressed together with their
        // neighbours, and never again: their tables are renamed, not rewritten.
        Table::Blobs => {
            blocks.set_block_size(64 << 10);
            options.set_compression_type(DBCompressionType::Zstd);
        }
        Table::Catalog | Table::Log | Table::Expiry => options.set_compression_type(DBCompressionType::Lz4),
    }
    options.set_block_based_table_factory(&blocks);
    options.set_write_buffer_size(memtable_bytes(budget));
    options.set_target_file_size_base(16 << 20);
    options.set_max_bytes_for_level_base(64 << 20);
    options
}
