//! The store as of one moment, in a folder next to it, for a backup to read while writing goes on.
//!
//! Table files are hard links, so it costs no copying; the files that RocksDB writes for it (MANIFEST, log, options)
//! are small.

use std::path::{Path, PathBuf};

use rocksdb::{Cache, DB, Options, ReadOptions};

use crate::rocks_store::{quiet, scan_rows, table_options};
use crate::rocks_threads::Threads;
use crate::verify::{Sums, check_files, known_sums};
use crate::{Checkpoint, Damage, Direction, Reader, Result, RocksStore, StoreError, StoreOptions, Table, Visit};

/// Memory for reading a checkpoint: it is read once, from end to end.
const READING: StoreOptions = StoreOptions { cache_bytes: 4 << 20, write_buffer_bytes: 4 << 20 };

/// An opened checkpoint. Nothing writes to it.
pub(crate) struct RocksCheckpoint {
    db: DB,
    _threads: Threads,
    folder: PathBuf,
    /// Of the table files that were old enough to have one.
    sums: Sums,
}

impl RocksStore {
    /// Makes a checkpoint in `folder`, which must not exist, and opens it. Writers wait for moments: the write buffers are written
    /// out before, which is background work, and only the switch to a new log is not.
    pub(crate) fn make_checkpoint(&self, folder: &Path) -> Result<RocksCheckpoint> {
        rocksdb::checkpoint::Checkpoint::new(self.db())
            .and_then(|checkpoint| checkpoint.create_checkpoint(folder))
            .map_err(|error| StoreError::from_rocksdb(self.folder(), error))?;
        RocksCheckpoint::open(folder, self.folder())
    }
}

impl RocksCheckpoint {
    /// Opens the checkpoint in `folder` of the store in `original`, and checks the small files that a store is opened with.
    ///
    /// # Errors
    /// `Corrupt`, naming the original's file, when one of them is damaged.
    fn open(folder: &Path, original: &Path) -> Result<Self> {
        let in_original = |path: &Path| match path.strip_prefix(folder) {
            Ok(inside) => original.join(inside),
            Err(_) => path.to_path_buf(),
        };
        if let Some(Damage { path, what }) = check_files(folder, None)?.into_iter().next() {
            return Err(StoreError::Corrupt { path: in_original(&path), what });
        }
        let cache = Cache::new_lru_cache(READING.cache_bytes);
        let mut options = Options::default();
        quiet(&mut options);
        options.set_max_open_files(64);
        let tables = Table::ALL.map(|table| (table.name(), table_options(table, &READING, &cache)));
        let threads = Threads::wanted();
        let db = DB::open_cf_with_opts_for_read_only(&options, folder, tables, false)
            .map_err(|error| StoreError::from_rocksdb(folder, error))?;
        Ok(Self { db, _threads: threads, folder: folder.to_path_buf(), sums: known_sums(original) })
    }

    fn verify_range(&self, table: Table, from: &[u8], to: &[u8], on_row: &mut dyn FnMut() -> bool) -> Result<()> {
        let mut options = ReadOptions::default();
        options.set_verify_checksums(true);
        options.fill_cache(false);
        let mut rows = self.db.raw_iterator_cf_opt(self.column(table), options);
        rows.seek(from);
        while rows.key().is_some_and(|key| key <= to) {
            if !on_row() {
                return Ok(());
            }
            rows.next();
        }
        rows.status().map_err(|error| self.error(error))
    }

    fn column(&self, table: Table) -> &rocksdb::ColumnFamily {
        self.db.cf_handle(table.name()).expect("every table is opened with the store")
    }

    fn error(&self, error: rocksdb::Error) -> StoreError {
        StoreError::from_rocksdb(&self.folder, error)
    }
}

impl Checkpoint for RocksCheckpoint {
    fn checksum(&self, name: &str) -> Option<(u64, u32)> {
        self.sums.get(name).copied()
    }

    fn verify_tables(&self, names: &[String], on_row: &mut dyn FnMut() -> bool) -> Result<()> {
        let files = self.db.live_files().map_err(|error| self.error(error))?;
        for table in Table::ALL {
            // Ranges of keys that overlap are read once.
            let mut ranges: Vec<(Vec<u8>, Vec<u8>)> = files
                .iter()
                .filter(|file| file.column_family_name == table.name())
                .filter(|file| names.iter().any(|name| name == file.name.trim_start_matches('/')))
                .filter_map(|file| Some((file.start_key.clone()?, file.end_key.clone()?)))
                .collect();
            ranges.sort();
            let mut read_upto: Option<Vec<u8>> = None;
            for (from, to) in ranges {
                let from = match read_upto.take() {
                    Some(upto) if upto > from => upto,
                    _ => from,
                };
                self.verify_range(table, &from, &to, on_row)?;
                read_upto = Some(to.max(from));
            }
        }
        Ok(())
    }
}

impl Reader for RocksCheckpoint {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.db.get_cf(self.column(table), key).map_err(|error| self.error(error))
    }

    fn multi_get(&self, table: Table, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>> {
        keys.iter().map(|key| self.get(table, key)).collect()
    }

    fn scan(&self, table: Table, from: &[u8], to: &[u8], direction: Direction, visit: &mut Visit<'_>) -> Result<()> {
        scan_rows(&self.db, self.column(table), ReadOptions::default(), from, to, direction, visit)
            .map_err(|error| self.error(error))
    }
}
