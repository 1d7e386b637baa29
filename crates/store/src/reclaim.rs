//! Rewriting the files that still hold deleted or replaced bytes: logs, table files, the MANIFEST.
//!
//! **Useful for** proving that deleted means gone, and for a store that has shrunk. **Not for** making deletions
//! visible: they are visible at once. **Invariant:** when [`RocksStore::reclaim`] returns, every file from before the
//! call is gone, except table files outside the requested extent, and no file holds what was deleted before the call.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use rocksdb::{BottommostLevelCompaction, CompactOptions};

use crate::{Batch, Extent, Result, RocksStore, Shard, Store, StoreError, Table};

/// How long readers of old states and open files are waited for.
pub(crate) const WAIT_MAX: Duration = Duration::from_secs(60);
pub(crate) const POLL: Duration = Duration::from_millis(20);
/// Key of what is written and deleted again to make the MANIFEST grow; no shard has it, because collections count from 1.
const PADDING: Shard = Shard { tenant: u32::MAX, collection: 0 };
/// Rounds of padding after which something else must be wrong; 40 are enough by calculation.
const PADDING_ROUNDS_MAX: usize = 100;
/// The least that one round adds.
const PADDING_BYTES_MIN: usize = 2048;
/// Table files with one deletion in this many entries are worth rewriting.
const DELETED_ONE_IN: u64 = 4;
/// Deletions below this number are not worth a look.
const DELETIONS_MIN: u64 = 1000;
/// Unflushed bytes from which an idle store flushes in any case: its log goes with them.
const IDLE_FLUSH_BYTES: u64 = 1 << 20;
/// Smaller amounts are not worth a rewrite.
const WORTH_BYTES: u64 = 256 << 10;

impl RocksStore {
    /// Rewrites everything in `extent` that may hold bytes of deleted or replaced values: takes as long as reading and
    /// writing all of it. Reads and writes go on; bytes deleted during the call may stay until the next one.
    ///
    /// # Errors
    /// [`StoreError::Held`] while a snapshot from before the call is open, or a reader keeps an old file.
    pub fn reclaim(&self, extent: Extent) -> Result<()> {
        self.reclaim_before(extent, self.latest())
    }

    /// The same with what had been deleted by the write of this sequence ([`latest`](Self::latest)); snapshots that show that write are
    /// in nobody's way.
    pub fn reclaim_before(&self, extent: Extent, sequence: u64) -> Result<()> {
        self.commits.refuse_when_stopped()?;
        let _compacting = self.compacting.lock();
        self.wait_for_snapshots(sequence)?;
        self.flush()?;
        let before = self.live_tables()?;
        let mut options = CompactOptions::default();
        options.set_exclusive_manual_compaction(true);
        options.set_bottommost_level_compaction(BottommostLevelCompaction::Force);
        // The catalog holds something of everything.
        let whole = |table: &str| extent == Extent::Everything || table == Table::Catalog.name();
        let (from, to) = extent.bounds();
        for table in Table::ALL {
            match whole(table.name()) {
                true => self.compact(table, None, None, &options),
                false => self.compact(table, Some(&from), Some(to.as_slice()).filter(|to| !to.is_empty()), &options),
            }
        }
        let concerns = |file: &rocksdb::LiveFile| {
            whole(&file.column_family_name)
                || file.end_key.as_ref().is_none_or(|end| *end >= from)
                    && file.start_key.as_ref().is_none_or(|start| to.is_empty() || *start < to)
        };
        let (old, _): (Vec<_>, Vec<_>) = before.into_iter().partition(concerns);
        // RocksDB leaves out a file that has keys on both sides of the extent and none inside. Such files cannot be
        // recognised here, so each remaining file is rewritten around a key that it has.
        for file in self.still_there(&old)? {
            let table = Table::ALL.into_iter().find(|table| table.name() == file.column_family_name);
            if let (Some(table), Some(key)) = (table, &file.start_key) {
                self.compact(table, Some(key), Some(key), &options);
            }
        }
        // A compaction that fails says nothing here: what it left is what tells.
        if let Some(left) = self.still_there(&old)?.first() {
            let path = self.folder().join(left.name.trim_start_matches('/'));
            let what = "it could not be rewritten; is the disk full?".to_string();
            return Err(StoreError::Io { path, what });
        }
        self.renew_manifest()?;
        let old: Vec<String> = old.iter().map(|file| file.name.trim_start_matches('/').to_string()).collect();
        self.wait_until_gone(&old)?;
        // Last, because everything before it writes logs.
        self.scrub_logs()
    }

    /// For a store that nobody is writing to: flushes what makes the log long, and rewrites tables in which much is deleted or
    /// overwritten. True when there was something to do. `flush`: in any case.
    pub fn tidy(&self, flush: bool) -> Result<bool> {
        self.commits.refuse_when_stopped()?;
        let Some(_compacting) = self.compacting.try_lock() else { return Ok(false) };
        let number = |table: Table, name: &str| -> Result<u64> {
            let value = self.db.property_int_value_cf(self.table(table), name).map_err(|error| self.error(error))?;
            Ok(value.unwrap_or(0))
        };
        let (mut unflushed, mut deleted) = (0, 0);
        for table in Table::ALL {
            unflushed += number(table, "rocksdb.cur-size-active-mem-table")?;
            deleted += number(table, "rocksdb.num-deletes-active-mem-table")?;
        }
        let stored: u64 = self.live_tables()?.iter().map(|file| file.size as u64).sum();
        let is_long = unflushed >= WORTH_BYTES && unflushed >= stored / 4;
        let mut worked = flush || is_long || unflushed >= IDLE_FLUSH_BYTES || deleted >= DELETIONS_MIN;
        if worked {
            self.flush()?;
        }
        let files = self.live_tables()?;
        for table in Table::ALL {
            let [entries, deletions, ranges] = self.entries(table)?;
            let is_worn = deletions >= DELETIONS_MIN && deletions * DELETED_ONE_IN >= entries;
            if ranges > 0 || is_worn || is_layered(files.iter().filter(|file| file.column_family_name == table.name()))
            {
                self.compact(table, None, None, &CompactOptions::default());
                worked = true;
            }
        }
        Ok(worked)
    }

    /// Entries of a table's files, how many of them are deletions, and how many delete whole ranges.
    fn entries(&self, table: Table) -> Result<[u64; 3]> {
        let name = rocksdb::properties::AGGREGATED_TABLE_PROPERTIES;
        let text = self.db.property_value_cf(self.table(table), name).map_err(|error| self.error(error))?;
        let text = text.unwrap_or_default();
        let field = |name: &str| -> u64 {
            let value = text.split(';').find_map(|part| part.trim().strip_prefix(name)?.strip_prefix('='));
            value.and_then(|value| value.trim().parse().ok()).unwrap_or(0)
        };
        Ok(["# entries", "# deletions", "# range deletions"].map(field))
    }

    fn compact(&self, table: Table, from: Option<&[u8]>, to: Option<&[u8]>, options: &CompactOptions) {
        let _turning = self.turning_logs.read(); // it flushes first
        self.db.compact_range_cf_opt(self.table(table), from, to, options);
    }

    /// A snapshot from before the deletions keeps what they deleted.
    fn wait_for_snapshots(&self, sequence: u64) -> Result<()> {
        let started = Instant::now();
        loop {
            let oldest = self.db.property_int_value("rocksdb.oldest-snapshot-sequence");
            match oldest.map_err(|error| self.error(error))? {
                Some(oldest) if (1..sequence).contains(&oldest) && started.elapsed() < WAIT_MAX => {
                    std::thread::sleep(POLL);
                }
                Some(oldest) if (1..sequence).contains(&oldest) => {
                    return Err(StoreError::old_snapshot());
                }
                _ => return Ok(()),
            }
        }
    }

    /// The MANIFEST names the first and last key of each file that there ever was since it was begun. RocksDB begins a new one
    /// when the old is six times as long as a new one would be, and cannot be told to: so it gets something to write.
    fn renew_manifest(&self) -> Result<()> {
        let current = self.folder().join("CURRENT");
        let named = || std::fs::read_to_string(&current).map_err(StoreError::io(&current));
        let before = named()?;
        let manifest = std::fs::metadata(self.folder().join(before.trim_end()));
        let bytes = manifest.map_err(StoreError::io(&current))?.len() as usize;
        // One round writes it four times: as first and last key, of the value and of its deletion. Small pieces, because
        // what is left of it in the new MANIFEST counts as a part of how long that ought to be.
        let key = PADDING.key(&vec![0; (bytes / 32).max(PADDING_BYTES_MIN)]);
        let (table, options) = (Table::Catalog, CompactOptions::default());
        for _ in 0..PADDING_ROUNDS_MAX {
            let mut put = Batch::new();
            put.put(table, key.clone(), Vec::new());
            self.write(put)?;
            self.compact(table, Some(&key), Some(&key), &options);
            let mut delete = Batch::new();
            delete.delete(table, key.clone());
            self.write(delete)?;
            self.compact(table, Some(&key), Some(&key), &options);
            if named()? != before {
                return self.wait_until_gone(&[before.trim_end().to_string()]);
            }
        }
        Err(StoreError::Io { path: current.clone(), what: "RocksDB did not begin a new MANIFEST".to_string() })
    }

    fn wait_until_gone(&self, names: &[String]) -> Result<()> {
        let started = Instant::now();
        loop {
            match names.iter().find(|name| self.folder().join(name).exists()) {
                None => return Ok(()),
                Some(name) if started.elapsed() > WAIT_MAX => {
                    return Err(StoreError::Held(format!("a reader has {name} open, which holds deleted bytes")));
                }
                Some(_) => std::thread::sleep(POLL),
            }
        }
    }

    fn still_there<'f>(&self, files: &'f [rocksdb::LiveFile]) -> Result<Vec<&'f rocksdb::LiveFile>> {
        let now: HashSet<String> = self.live_tables()?.into_iter().map(|file| file.name).collect();
        Ok(files.iter().filter(|file| now.contains(&file.name)).collect())
    }

    fn live_tables(&self) -> Result<Vec<rocksdb::LiveFile>> {
        self.db.live_files().map_err(|error| self.error(error))
    }
}

/// True when what lies above the lowest level may be a third of a table: as much of it may be overwritten.
fn is_layered<'f>(files: impl Iterator<Item = &'f rocksdb::LiveFile>) -> bool {
    let (mut lowest, mut below, mut all) = (0, 0, 0);
    for file in files {
        let bytes = file.size as u64;
        all += bytes;
        below = match file.level {
            level if level > lowest => bytes,
            // Files of the first level overlap.
            0 if lowest == 0 => below.max(bytes),
            level if level == lowest => below + bytes,
            _ => below,
        };
        lowest = lowest.max(file.level);
    }
    let above = all - below;
    above >= WORTH_BYTES && above * 2 >= below
}
