//! One bounded cache of verified blocks for all open index files, shared fairly by their owners.
//!
//! Each tenant has a handle of its own ([`BlockCache::for_another`]); a tenant that reads everything evicts its own
//! blocks before those of tenants that hold less: see [`shares`].

mod in_use;
mod shares;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use quick_cache::sync::Cache;
use quick_cache::{DefaultHashBuilder, Lifecycle, OptionsBuilder, Weighter};

use in_use::InUse;
pub(crate) use in_use::Usage;
use shares::{Owner, Owners, Shard, Share};

/// From this capacity on there are several shards, each with a lock of its own.
const SHARDED_FROM_BYTES: u64 = 16 << 20;
const SHARDS_MIN: u64 = 4;
/// Making room looks at every block of one shard at worst, so larger caches have more of them.
const SHARD_BYTES_MAX: u64 = 16 << 20;

/// One in this many of the blocks that a crowded cache lacks is read into it. The blocks wanted most are read soon, so
/// the cache comes to hold them; and reading a block costs as much as twenty rows, so the reading all but vanishes
/// among the rows.
const ADMITTED_OF: u64 = 16;

/// Which block of which open file.
pub(crate) type BlockKey = (u64, u64);

/// A block in the cache, and whose it is. Copies, which is what readers get, are nobody's.
struct CachedBlock {
    bytes: Arc<[u8]>,
    share: Option<Arc<Share>>,
}

impl CachedBlock {
    /// The key, the reference counts and the cache's own entry are counted too, or many tiny files would be free.
    fn weight(&self) -> u64 {
        self.bytes.len() as u64 + 96
    }
}

impl Clone for CachedBlock {
    fn clone(&self) -> Self {
        Self { bytes: self.bytes.clone(), share: None }
    }
}

impl Drop for CachedBlock {
    /// Evicted, replaced or forgotten: each of these ends here.
    fn drop(&mut self) {
        if let Some(share) = &self.share {
            share.give_back(self.weight());
        }
    }
}

#[derive(Clone)]
struct BytesOf;

impl Weighter<BlockKey, CachedBlock> for BytesOf {
    fn weight(&self, _key: &BlockKey, held: &CachedBlock) -> u64 {
        held.weight()
    }
}

/// Which blocks stay when room is made.
#[derive(Clone)]
struct FairShares;

impl Lifecycle<BlockKey, CachedBlock> for FairShares {
    type RequestState = ();

    fn is_pinned(&self, _key: &BlockKey, held: &CachedBlock) -> bool {
        held.share.as_ref().is_some_and(|share| share.is_protected())
    }
}

/// The state that all handles of one cache share.
struct Pool {
    blocks: Cache<BlockKey, CachedBlock, BytesOf, DefaultHashBuilder, FairShares>,
    shards: Box<[Arc<Shard>]>,
    owners: Owners,
    capacity_bytes: AtomicU64,
    in_use: InUse,
    /// Times that a file was read from, block or less.
    reads: AtomicU64,
    /// Times that a block was wanted for a few bytes, was not there, and nothing else spoke for reading it.
    passed_over: AtomicU64,
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
            in_use: InUse::default(),
            reads: AtomicU64::new(0),
            passed_over: AtomicU64::new(0),
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

    /// Times that a file was read from so far, by all owners: a whole block, or a few bytes by themselves.
    pub fn file_reads(&self) -> u64 {
        self.pool.reads.load(Ordering::Relaxed)
    }

    /// Whether the files in use are larger than the cache, so that blocks read for a few bytes push each other out. A sixteenth more
    /// may be in use: not every block of a file is asked for. A file that is only open does not count.
    pub fn is_crowded(&self) -> bool {
        let capacity = self.capacity_bytes();
        self.pool.in_use.bytes() > capacity + capacity / 16
    }

    /// To be called now and then: an owner that has asked for nothing since the last but one time loses the protection of its share,
    /// and a file that was not read since then no longer crowds the cache.
    pub fn age(&self) {
        self.pool.owners.age();
        self.pool.in_use.age();
    }

    pub(crate) fn add_file(&self, bytes: u64) -> Arc<Usage> {
        self.pool.in_use.add(bytes)
    }

    pub(crate) fn note_read(&self) {
        self.pool.reads.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether a block that is wanted for a few bytes is read all the same: one time of [`ADMITTED_OF`].
    pub(crate) fn admits(&self) -> bool {
        self.pool.passed_over.fetch_add(1, Ordering::Relaxed) % ADMITTED_OF == ADMITTED_OF - 1
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
        let found = self.peek(key);
        if found.is_none() {
            self.owner.note_miss();
        }
        found
    }

    /// The same where doing without the block is no miss.
    pub(crate) fn peek(&self, key: BlockKey) -> Option<Arc<[u8]>> {
        self.owner.note_use();
        self.pool.blocks.get(&key).map(|held| held.bytes.clone())
    }

    pub(crate) fn insert(&self, key: BlockKey, block: Arc<[u8]>) {
        let share = &self.shares[self.pool.blocks.shard_index(&key)];
        let held = CachedBlock { bytes: block, share: Some(share.clone()) };
        // Before it is in: so somebody holds more than a fair share whenever room has to be made.
        share.take(held.weight());
        self.pool.blocks.insert(key, held);
    }

    pub(crate) fn forget_file(&self, file: u64) {
        self.pool.blocks.retain(|key, _| key.0 != file);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_in_use_that_do_not_fit_crowd_the_cache_and_files_that_are_only_open_do_not() {
        let cache = BlockCache::new(16 << 20);
        let files: Vec<_> = [16 << 20, 1 << 20, 1, 100 << 20].map(|bytes| cache.add_file(bytes)).into();
        files[0].note();
        assert!(!cache.is_crowded(), "everything in use fits");
        files[1].note();
        assert!(!cache.is_crowded(), "a sixteenth more may be in use");
        files[2].note();
        assert!(cache.is_crowded());
        cache.set_capacity(32 << 20);
        assert!(!cache.is_crowded());
        cache.set_capacity(16 << 20);
        cache.age();
        files[0].note();
        assert!(cache.is_crowded(), "used since the last but one time");
        cache.age();
        assert!(!cache.is_crowded(), "only the first was used since");
        files[1].note();
        files[2].note();
        assert!(cache.is_crowded());
        drop(files);
        assert!(!cache.is_crowded(), "closed");
    }
}
