//! The memory that everything open in a folder shares: the budget, the cache of index blocks, and the pools of answers and batches.
//!
//! **Useful for** taking a share and giving it back. **Not for** what open indexes keep resident: the registry adds that up, in
//! `database/index_memory.rs`.
//!
//! **Invariant:** the cache's capacity is its share of the budget, less what pools have borrowed and what indexes hold over theirs.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use nuthatch_segment::BlockCache;
use parking_lot::Mutex;

use crate::options::Budget;
use crate::runtime::{MemoryPool, PromptSigns};
use crate::tenant::DEFAULT;

pub(crate) struct Memory {
    pub budget: Budget,
    /// The default tenant's handle of the cache; of others, [`Self::cache_of`].
    pub cache: Arc<BlockCache>,
    /// Of the tenants that have a collection open.
    caches: Mutex<HashMap<u32, Weak<BlockCache>>>,
    /// Of answers while they are made.
    pub answers: MemoryPool,
    /// Of batches while they are written.
    pub writes: MemoryPool,
    /// Of the vectors of caches.
    pub signs: PromptSigns,
    /// By how much open indexes are over their share.
    pub index_over_bytes: AtomicU64,
    /// Held by the one user of the budget's share for work: a text commit or merge, the columns of a segment. Its
    /// holder waits for nothing else.
    pub working: Mutex<()>,
}

impl Memory {
    pub fn new(budget: Budget) -> Self {
        Self {
            cache: BlockCache::new(budget.block_cache_bytes),
            caches: Mutex::default(),
            answers: MemoryPool::new(budget.answer_bytes()),
            writes: MemoryPool::new(budget.write_bytes()),
            signs: PromptSigns::default(),
            index_over_bytes: AtomicU64::new(0),
            working: Mutex::new(()),
            budget,
        }
    }

    /// A tenant's handle of the cache: what its collections read through it counts as its own.
    pub fn cache_of(&self, tenant: u32) -> Arc<BlockCache> {
        if tenant == DEFAULT {
            return self.cache.clone();
        }
        let mut caches = self.caches.lock();
        if let Some(cache) = caches.get(&tenant).and_then(Weak::upgrade) {
            return cache;
        }
        caches.retain(|_, cache| cache.strong_count() > 0);
        let cache = self.cache.for_another();
        caches.insert(tenant, Arc::downgrade(&cache));
        cache
    }

    /// Gives the cache the part of its share that no one else has.
    pub fn fit_cache(&self) {
        self.signs.fit_into(self.room_for_signs());
        let over = self.taken_bytes().saturating_add(self.signs.held_bytes());
        self.cache.set_capacity(self.budget.block_cache_bytes - over.min(self.budget.lendable_bytes()));
    }

    /// Returns the bytes that the signs of caches may hold: the part that the cache of index blocks lends, and that
    /// nothing else has taken.
    pub fn room_for_signs(&self) -> u64 {
        self.budget.lendable_bytes().saturating_sub(self.taken_bytes())
    }

    /// Of the cache's share, by answers, batches and indexes.
    fn taken_bytes(&self) -> u64 {
        let lent = self.answers.lent_bytes().saturating_add(self.writes.lent_bytes());
        self.index_over_bytes.load(Ordering::Relaxed).saturating_add(lent)
    }
}
