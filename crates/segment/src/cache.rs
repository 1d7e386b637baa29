//! One bounded cache of verified blocks for all open index files.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use quick_cache::Weighter;
use quick_cache::sync::Cache;

/// Which block of which open file.
pub(crate) type BlockKey = (u64, u64);

#[derive(Clone)]
struct BytesOf;

impl Weighter<BlockKey, Arc<[u8]>> for BytesOf {
    fn weight(&self, _key: &BlockKey, block: &Arc<[u8]>) -> u64 {
        // The key, the reference counts and the cache's own entry are counted too, or many tiny files would be free.
        block.len() as u64 + 96
    }
}

/// Verified blocks of index files, bounded in bytes, shared by every reader of a database.
pub struct BlockCache {
    blocks: Cache<BlockKey, Arc<[u8]>, BytesOf>,
    /// Bytes of all files that are open on it.
    open_bytes: AtomicU64,
}

impl BlockCache {
    /// A cache that holds at most `capacity_bytes` (at least one block per shard is always let in).
    pub fn new(capacity_bytes: u64) -> Arc<Self> {
        let blocks_expected = (capacity_bytes as usize / crate::BLOCK_BYTES).max(8);
        Arc::new(Self {
            // Few shards: quick_cache splits the capacity evenly among them, and a 64 KiB block must fit into a shard.
            blocks: Cache::with_options(
                quick_cache::OptionsBuilder::new()
                    .shards(if capacity_bytes >= 16 << 20 { 4 } else { 1 })
                    .estimated_items_capacity(blocks_expected)
                    .weight_capacity(capacity_bytes)
                    .build()
                    .expect("all options are given"),
                BytesOf,
                Default::default(),
                Default::default(),
            ),
            open_bytes: AtomicU64::new(0),
        })
    }

    /// Bytes held now.
    pub fn resident_bytes(&self) -> u64 {
        self.blocks.weight()
    }

    /// The limit in bytes.
    pub fn capacity_bytes(&self) -> u64 {
        self.blocks.capacity()
    }

    /// Whether the open files are so much larger than the cache that blocks read for a few bytes push each other out.
    pub fn is_crowded(&self) -> bool {
        self.open_bytes.load(Ordering::Relaxed) / 3 > self.capacity_bytes() / 2
    }

    pub(crate) fn count_file(&self, bytes: u64) {
        self.open_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Drops every block: memory goes back when the database is idle.
    pub fn clear(&self) {
        self.blocks.clear();
    }

    pub(crate) fn get(&self, key: BlockKey) -> Option<Arc<[u8]>> {
        self.blocks.get(&key)
    }

    pub(crate) fn insert(&self, key: BlockKey, block: Arc<[u8]>) {
        self.blocks.insert(key, block);
    }

    pub(crate) fn forget_file(&self, file: u64, bytes: u64) {
        self.open_bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.blocks.retain(|key, _| key.0 != file);
    }
}
