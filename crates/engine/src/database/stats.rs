//! Statistics of a database, on disk and in memory, by part.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use nuthatch_store::{StoreMemory, Upkeep};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Result;
use crate::below::files_below;
use crate::collection::{CollectionInfo, Core};
use crate::database::Database;
use crate::database::memory::{self, Accounted};
use crate::index::TEXT;
use crate::snapshot::Lookup;

/// Statistics of a database, on disk and in memory.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Stats {
    /// All collections of the tenant.
    pub collections: Vec<CollectionInfo>,
    /// Of the disk.
    pub disk: DiskStats,
    /// Of memory.
    pub memory: MemoryStats,
    /// Snapshots and transactions that hold on to what has been replaced since.
    pub snapshots: u64,
    /// How old the oldest of them is; it ends at [`crate::Options::snapshot_age_max`].
    pub snapshot_age: Duration,
}

/// Bytes of the folder's files.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct DiskStats {
    /// The store of record; of a tenant other than the default one, what its limit counts.
    pub store_bytes: u64,
    /// Indexes, which can be built again.
    pub indexes_bytes: u64,
    /// Damaged files that were moved aside.
    pub quarantine_bytes: u64,
    /// The whole folder; of a tenant other than the default one, the sum of the above.
    pub total_bytes: u64,
}

/// Resident bytes by part, and what the operating system measures for the whole process.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct MemoryStats {
    /// The memory that the engine may use, set by [`crate::Options`].
    pub budget_bytes: u64,
    /// RocksDB's cache, its write buffers included.
    pub store_cache_bytes: u64,
    /// Of these, unflushed writes.
    pub store_write_buffer_bytes: u64,
    /// RocksDB's indexes and filters of open tables.
    pub store_table_reader_bytes: u64,
    /// Verified blocks of index files.
    pub block_cache_bytes: u64,
    /// Rows that wait outside the indexes.
    pub fresh_bytes: u64,
    /// The estimated memory of searches, listings and reads under way.
    pub answer_bytes: u64,
    /// The parts of text indexes that lie in memory.
    pub text_index_bytes: u64,
    /// Row ids and dead rows of open segments, and other open indexes except the text index; the signs of caches' vectors.
    pub segment_bytes: u64,
    /// The graph under construction: outside the budget, bounded by `build_memory`.
    pub build_bytes: u64,
    /// Embedding models, outside the budget.
    pub embedder_bytes: u64,
    /// Sum of the parts that the budget covers.
    pub engine_bytes: u64,
    /// In use, but by none of the parts above: writes under way, text writers, and the program that the engine is in.
    pub heap_other_bytes: u64,
    /// Freed, and kept by the allocator for the next allocation.
    pub heap_free_bytes: u64,
    /// Memory that other allocators of the process hold, such as Python's.
    pub foreign_bytes: u64,
    /// Stacks of all threads.
    pub stack_bytes: u64,
    /// The program, its libraries and their variables; mapped index files.
    pub program_bytes: u64,
    /// Sum of all parts: what should be equal to `process_anonymous_bytes` and `process_file_bytes` together.
    pub accounted_bytes: u64,
    /// Heap and stacks of the whole process, as the system measures them; 0 where it does not tell.
    pub process_anonymous_bytes: u64,
    /// Mapped files of the whole process.
    pub process_file_bytes: u64,
}

impl DiskStats {
    /// For clients that read JSON: the fields, and their deprecated names.
    pub fn as_json(&self) -> Value {
        with_deprecated_names(self)
    }
}

impl MemoryStats {
    /// For clients that read JSON: the fields, and their deprecated names.
    pub fn as_json(&self) -> Value {
        with_deprecated_names(self)
    }
}

/// Adds each `store_*` as `truth_*`, its former name: one version keeps both, so that readers have time to follow.
fn with_deprecated_names(stats: &impl Serialize) -> Value {
    let mut json = serde_json::to_value(stats).expect("plain numbers are JSON");
    let fields = json.as_object_mut().expect("a struct is an object");
    let renamed: Vec<_> = fields
        .iter()
        .filter_map(|(name, bytes)| Some((format!("truth_{}", name.strip_prefix("store_")?), bytes.clone())))
        .collect();
    fields.extend(renamed);
    json
}

impl Database {
    /// Rows, bytes on disk and bytes resident, by part. A scoped handle reports only its tenant: its stored bytes as
    /// its limits count them, its indexes, and the memory of its open collections.
    pub fn stats(&self) -> Result<Stats> {
        let (shared, registry) = (&self.inner.shared, &self.inner.registry);
        self.check_open()?;
        let collections = self.collections()?;
        if !self.tenant.is_default() {
            return self.stats_of_tenant(collections);
        }
        let folder = &shared.folder;
        let files = files_below(folder.root())?;
        let bytes_below = |part: &Path| {
            files.iter().filter(|(path, _)| path.starts_with(part)).map(|(_, file)| file.bytes).sum::<u64>()
        };
        let disk = DiskStats {
            store_bytes: bytes_below(&folder.store()),
            indexes_bytes: bytes_below(&folder.indexes()),
            quarantine_bytes: bytes_below(&folder.quarantine()),
            total_bytes: bytes_below(folder.root()),
        };
        let store = shared.store()?.upkeep().map_or(Ok(StoreMemory::default()), Upkeep::memory)?;
        let mut memory = MemoryStats {
            budget_bytes: shared.options.memory_budget_bytes,
            store_cache_bytes: store.cache_bytes,
            store_write_buffer_bytes: store.write_buffer_bytes,
            store_table_reader_bytes: store.table_reader_bytes,
            block_cache_bytes: shared.memory.cache.resident_bytes(),
            answer_bytes: shared.memory.answers.held_bytes(),
            embedder_bytes: shared.embedders.bytes(),
            ..MemoryStats::of(&registry.open_collections())
        };
        memory.segment_bytes += shared.memory.signs.held_bytes();
        memory.engine_bytes = memory.store_cache_bytes
            + memory.store_table_reader_bytes
            + memory.block_cache_bytes
            + memory.fresh_bytes
            + memory.answer_bytes
            + memory.text_index_bytes
            + memory.segment_bytes;
        memory.account_for_the_rest();
        let (snapshots, snapshot_age) = registry.snapshots.open(None);
        Ok(Stats { collections, disk, memory, snapshots, snapshot_age })
    }
}

impl Database {
    fn stats_of_tenant(&self, collections: Vec<CollectionInfo>) -> Result<Stats> {
        let (shared, registry) = (&self.inner.shared, &self.inner.registry);
        let indexes = files_below(&shared.folder.indexes_of(self.tenant.number))?;
        let store_bytes = self.tenant.usage(&shared.store)?.bytes;
        let indexes_bytes = indexes.values().map(|file| file.bytes).sum();
        let total_bytes = store_bytes + indexes_bytes;
        let disk = DiskStats { store_bytes, indexes_bytes, quarantine_bytes: 0, total_bytes };
        let mut memory = MemoryStats::of(&registry.open_collections_of(self.tenant.number));
        memory.block_cache_bytes = shared.memory.cache_of(self.tenant.number).owner_bytes();
        memory.segment_bytes += shared.memory.signs.bytes_of(self.tenant.number);
        memory.engine_bytes =
            memory.block_cache_bytes + memory.fresh_bytes + memory.text_index_bytes + memory.segment_bytes;
        memory.accounted_bytes = memory.engine_bytes + memory.build_bytes;
        let (snapshots, snapshot_age) = registry.snapshots.open(Some(self.tenant.number));
        Ok(Stats { collections, disk, memory, snapshots, snapshot_age })
    }
}

impl MemoryStats {
    /// Sums the memory that open collections hold.
    fn of(cores: &[Arc<Core>]) -> Self {
        let mut memory = Self::default();
        for core in cores {
            {
                let state = core.state.read();
                memory.fresh_bytes += state.fresh_bytes();
                for index in &core.indexes {
                    let part = match index.id() {
                        TEXT => &mut memory.text_index_bytes,
                        _ => &mut memory.segment_bytes,
                    };
                    *part += index.resident_bytes(&state);
                }
            }
            memory.build_bytes += core.build_bytes();
        }
        memory
    }

    /// Adds what only the system can report. Adds nothing where it does not.
    fn account_for_the_rest(&mut self) {
        let parts = self.engine_bytes + self.build_bytes + self.embedder_bytes;
        self.accounted_bytes = parts;
        let Some(((process, mappings), heap)) = memory::mapped().zip(nuthatch_heap::usage()) else { return };
        let rest = Accounted::new(parts, heap, mappings);
        (self.heap_other_bytes, self.heap_free_bytes) = (rest.heap_other_bytes, rest.heap_free_bytes);
        (self.stack_bytes, self.program_bytes) = (rest.stack_bytes, rest.program_bytes);
        self.foreign_bytes = rest.foreign_bytes;
        self.accounted_bytes += rest.heap_other_bytes + rest.heap_free_bytes + rest.foreign_bytes;
        self.accounted_bytes += rest.stack_bytes + rest.program_bytes;
        (self.process_anonymous_bytes, self.process_file_bytes) = (process.anonymous_bytes, process.file_bytes);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use crate::database::Database;
    use crate::index::Indexed;
    use crate::*;

    #[test]
    fn listings_and_statistics_open_nothing_and_tell_what_an_open_collection_tells() {
        let folder = tempfile::tempdir().unwrap();
        let open = || Database::open(folder.path(), Options { background: false, ..Options::default() }).unwrap();
        let db = open();
        let field = VectorFieldOptions { dim: Some(3), ..VectorFieldOptions::default() };
        for name in ["empty", "sealed", "half"] {
            let options = CollectionOptions {
                dim: Some(2),
                embedder: EmbedderChoice::None,
                vectors: BTreeMap::from([("title".to_string(), field)]),
                ..CollectionOptions::default()
            };
            let notes = db.collection(name, options).unwrap();
            let record = |n: usize| Record::new(format!("{n}")).text("a stone").vector(vec![n as f32, 1.0]);
            if name != "empty" {
                notes.upsert((0..50).map(record).collect()).unwrap();
                notes.wait_until_indexed(None).unwrap();
            }
            if name == "half" {
                notes.upsert((40..60).map(record).collect()).unwrap();
                notes.delete(&["3", "59"].map(String::from)).unwrap();
            }
        }
        let expected = db.collections().unwrap();
        assert_eq!(expected.iter().map(|info| info.rows).collect::<Vec<_>>(), [0, 58, 50], "by name");
        assert_eq!(expected[1].fresh_rows, 19);
        db.close().unwrap();

        let db = open();
        let (shared, registry) = (&db.inner.shared, &db.inner.registry);
        assert_eq!(db.collections().unwrap(), expected);
        assert_eq!(db.stats().unwrap().collections, expected);
        assert_eq!(registry.open_collections().len(), 0);
        assert_eq!(shared.memory.cache.file_reads(), 0, "no index file was read");
        for info in &expected {
            let of_open = db.existing_collection(&info.name).unwrap().info();
            assert_eq!(&of_open, info);
        }
        assert_eq!(db.collections().unwrap(), expected);
    }

    #[test]
    fn a_closed_collection_whose_manifest_is_damaged_is_listed_as_degraded() {
        let folder = tempfile::tempdir().unwrap();
        let open = || Database::open(folder.path(), Options { background: false, ..Options::default() }).unwrap();
        let db = open();
        let options = CollectionOptions { embedder: EmbedderChoice::None, ..CollectionOptions::default() };
        let notes = db.collection("notes", options).unwrap();
        notes.upsert((0..20).map(|n| Record::new(format!("{n}")).text("a stone")).collect()).unwrap();
        notes.wait_until_indexed(None).unwrap();
        let manifest = notes.core.segments_folder().join("MANIFEST");
        drop(notes);
        db.close().unwrap();
        let mut bytes = std::fs::read(&manifest).unwrap();
        bytes[10] ^= 1;
        std::fs::write(&manifest, bytes).unwrap();
        let info = &open().collections().unwrap()[0];
        assert!(info.degraded.len() == 1 && info.degraded[0].contains("MANIFEST"), "{info:?}");
        assert_eq!((info.rows, info.segments), (20, 0));
    }

    #[test]
    fn json_answers_to_the_deprecated_names_too() {
        let disk = DiskStats { store_bytes: 7, total_bytes: 9, ..DiskStats::default() }.as_json();
        assert_eq!(
            (&disk["store_bytes"], &disk["truth_bytes"], &disk["total_bytes"]),
            (&7.into(), &7.into(), &9.into())
        );
        let memory = MemoryStats { store_cache_bytes: 5, ..MemoryStats::default() }.as_json();
        assert_eq!((&memory["store_cache_bytes"], &memory["truth_cache_bytes"]), (&5.into(), &5.into()));
        assert_eq!(memory.as_object().unwrap().keys().filter(|name| name.starts_with("truth_")).count(), 3);
    }
}
