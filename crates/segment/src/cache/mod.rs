//! One bounded cache of verified blocks for all open index files, shared fairly by their owners.
//!
//! Each tenant has a handle of its own ([`BlockCache::for_another`]); whoever reads everything through one takes room from itself
//! before it takes any from those who hold less: see [`shares`].

mod shares;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use quick_cache::sync::Cache;
use quick_cache::{DefaultHashBuilder, Lifecycle, OptionsBuilder, Weighter};

use shares::{Owner, Owners, Shard, Share};

/// From this capacity on there are several shards, each with a lock of its own.
const SHARDED_FROM_BYTES: u64 = 16 << 20;
const SHARDS_MIN: u64 = 4;
/// Making room looks at every block of one shard at worst, so larger caches have more of them.
const SHARD_BYTES_MAX: u64 = 16 << 20;

/// Which block of which open file.
pub(crate) type BlockKey = (u64, u64);

/// A block in the cache, and whose it is. Copies, which is what readers get, are nobody's.
struct Held {
    bytes: Arc<[u8]>,
    share: Option<Arc<Share>>,
}

impl Held {
    /// The key, the reference counts and the cache's own entry are counted too, or many tiny files would be free.
    fn weight(&self) -> u64 {
        self.bytes.len() as u64 + 96
    }
}

impl Clone for Held {
    fn clone(&self) -> Self {
        Self { bytes: self.bytes.clone(), share: None }
    }
}

impl Drop for Held {
    /// Evicted, replaced or forgotten: each of these ends here.
    fn drop(&mut self) {
        if let Some(share) = &self.share {
            share.give_back(self.weight());
        }
    }
}

#[derive(Clone)]
struct BytesOf;

impl Weighter<BlockKey, Held> for BytesOf {
    fn weight(&self, _key: &BlockKey, held: &Held) -> u64 {
        held.weight()
    }
}

/// Which blocks stay when room is made.
#[derive(Clone)]
struct FairShares;

impl Lifecycle<BlockKey, Held> for FairShares {
    type RequestState = ();

    fn is_pinned(&self, _key: &BlockKey, held: &Held) -> bool {
        held.share.as_ref().is_some_and(|share| share.is_protected())
    }
}

/// What all handles of one cache share.
struct Pool {
    blocks: Cache<BlockKey, Held, BytesOf, DefaultHashBuilder, FairShares>,
    shards: Box<[Arc<Shard>]>,
    owners: Owners,
    capacity_bytes: AtomicU64,
    /// Bytes of all files that are open on it.
    open_bytes: AtomicU64,
}

/// Verified blocks of index files, bounded in bytes, shared by every reader of a database: one owner's handle of it.
pub struct BlockCache {
    pool: Arc<Pool>,
    owner: Arc<Owner>,
    /// By shard.
    shares: Box<[Arc<Share>]>,
}

impl BlockCache {
    /// A cache that holds at most `capacity_bytes` (at least one block per shard is always let in).
    pub fn new(capacity_bytes: u64) -> Arc<Self> {
        let blocks_expected = (capacity_bytes as usize / crate::BLOCK_BYTES).max(8);
        // Few shards: quick_cache splits the capacity evenly among them, and a 64 KiB block must fit into a shard.
        let shards = match capacity_bytes >= SHARDED_FROM_BYTES {
            true => (capacity_bytes / SHARD_BYTES_MAX).max(SHARDS_MIN) as usize,
            false => 1,
        };
        let options = OptionsBuilder::new()
            .shards(shards)
            .estimated_items_capacity(blocks_expected)
            .weight_capacity(capacity_bytes)
            .build()
            .expect("all options are given");
        let blocks = Cache::with_options(options, BytesOf, DefaultHashBuilder::default(), FairShares);
        let shards = (0..blocks.num_shards()).map(|_| Arc::new(Shard::new(blocks.shard_capacity())));
        let pool = Pool {
            shards: shards.collect(),
            blocks,
            owners: Owners::default(),
            capacity_bytes: AtomicU64::new(capacity_bytes),
            open_bytes: AtomicU64::new(0),
        };
        Self::of(Arc::new(pool))
    }

    /// The same cache for another owner: files that are opened with it are that owner's.
    pub fn for_another(&self) -> Arc<Self> {
        Self::of(self.pool.clone())
    }

    fn of(pool: Arc<Pool>) -> Arc<Self> {
        let owner = pool.owners.add();
        let shares = pool.shards.iter().map(|shard| Arc::new(Share::new(owner.clone(), shard.clone()))).collect();
        Arc::new(Self { pool, owner, shares })
    }

    /// Bytes held now, by all owners.
    pub fn resident_bytes(&self) -> u64 {
        self.pool.blocks.weight()
    }

    /// Bytes that this owner holds.
    pub fn owner_bytes(&self) -> u64 {
        self.shares.iter().map(|share| share.bytes()).sum()
    }

    /// Blocks that this owner wanted and the cache did not have, so far.
    pub fn missed_blocks(&self) -> u64 {
        self.owner.missed()
    }

    /// The limit in bytes, of all owners together.
    pub fn capacity_bytes(&self) -> u64 {
        self.pool.capacity_bytes.load(Ordering::Relaxed)
    }

    /// Whether the open files are larger than the cache, so that blocks read for a few bytes push each other out. A sixteenth more
    /// may be open: not everything that is open is asked for.
    pub fn is_crowded(&self) -> bool {
        let capacity = self.capacity_bytes();
        self.pool.open_bytes.load(Ordering::Relaxed) > capacity + capacity / 16
    }

    /// To be called now and then: an owner that has asked for nothing since the last but one time loses the protection of its share.
    pub fn age(&self) {
        self.pool.owners.age();
    }

    pub(crate) fn count_file(&self, bytes: u64) {
        self.pool.open_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Changes the limit; what is over it goes at once.
    pub fn set_capacity(&self, capacity_bytes: u64) {
        if capacity_bytes == self.pool.capacity_bytes.swap(capacity_bytes, Ordering::Relaxed) {
            return;
        }
        let of_shard = capacity_bytes.div_ceil(self.pool.shards.len() as u64);
        self.pool.shards.iter().for_each(|shard| shard.set_capacity(of_shard));
        self.pool.blocks.set_capacity(capacity_bytes);
    }

    /// Drops every block: memory goes back when the database is idle.
    pub fn clear(&self) {
        self.pool.blocks.clear();
    }

    pub(crate) fn get(&self, key: BlockKey) -> Option<Arc<[u8]>> {
        self.owner.note_use();
        let found = self.pool.blocks.get(&key).map(|held| held.bytes.clone());
        if found.is_none() {
            self.owner.note_miss();
        }
        found
    }

    pub(crate) fn insert(&self, key: BlockKey, block: Arc<[u8]>) {
        let share = &self.shares[self.pool.blocks.shard_index(&key)];
        let held = Held { bytes: block, share: Some(share.clone()) };
        // Before it is in: so somebody holds more than a fair share whenever room has to be made.
        share.take(held.weight());
        self.pool.blocks.insert(key, held);
    }

    pub(crate) fn forget_file(&self, file: u64, bytes: u64) {
        self.pool.open_bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.pool.blocks.retain(|key, _| key.0 != file);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_do_not_fit_crowd_the_cache_until_enough_are_closed() {
        let cache = BlockCache::new(16 << 20);
        cache.count_file(16 << 20);
        assert!(!cache.is_crowded(), "everything fits");
        cache.count_file(1 << 20);
        assert!(!cache.is_crowded(), "a sixteenth more may be open");
        cache.count_file(1);
        assert!(cache.is_crowded());
        cache.set_capacity(32 << 20);
        assert!(!cache.is_crowded());
        cache.set_capacity(16 << 20);
        cache.forget_file(0, 1);
        assert!(!cache.is_crowded());
    }
}
