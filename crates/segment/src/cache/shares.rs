//! The shares of a cache that its owners hold, and the choice of blocks that stay when the cache makes room.
//!
//! A fair share of a shard is its capacity divided by the number of owners that hold any of it. An owner that holds no
//! more than that, and asks now and then, is protected: the cache makes room among the blocks of owners that hold more,
//! by its own order of use. So every owner can use the room that others leave, and an owner that reads everything does
//! not empty the cache of the others.
//!
//! **Invariant:** when a shard is full, some owner in it is not protected: owners that each hold no more than a fair
//! share of it hold no more than all of it. The block that is about to come in is counted already.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

/// Somebody who reads through the cache.
#[derive(Default)]
pub(super) struct Owner {
    /// Has asked since the cache was aged last.
    used: AtomicBool,
    /// Had asked between the last two times.
    was_used: AtomicBool,
    missed: AtomicU64,
}

impl Owner {
    pub fn note_use(&self) {
        // Read first: a line of memory that many threads write would slow them all.
        if !self.used.load(Ordering::Relaxed) {
            self.used.store(true, Ordering::Relaxed);
        }
    }

    pub fn note_miss(&self) {
        self.missed.fetch_add(1, Ordering::Relaxed);
    }

    pub fn missed(&self) -> u64 {
        self.missed.load(Ordering::Relaxed)
    }

    fn asks(&self) -> bool {
        self.used.load(Ordering::Relaxed) || self.was_used.load(Ordering::Relaxed)
    }

    fn age(&self) {
        self.was_used.store(self.used.swap(false, Ordering::Relaxed), Ordering::Relaxed);
    }
}

/// Those that have a handle of the cache.
#[derive(Default)]
pub(super) struct Owners(Mutex<Vec<Weak<Owner>>>);

impl Owners {
    pub fn add(&self) -> Arc<Owner> {
        let owner = Arc::<Owner>::default();
        let mut owners = self.0.lock();
        owners.retain(|owner| owner.strong_count() > 0);
        owners.push(Arc::downgrade(&owner));
        owner
    }

    pub fn age(&self) {
        self.0.lock().iter().filter_map(Weak::upgrade).for_each(|owner| owner.age());
    }
}

/// A part of the cache with a lock and an order of its own.
pub(super) struct Shard {
    capacity_bytes: AtomicU64,
    /// Owners that hold something of it.
    owners: AtomicU64,
}

impl Shard {
    pub fn new(capacity_bytes: u64) -> Self {
        Self { capacity_bytes: AtomicU64::new(capacity_bytes), owners: AtomicU64::new(0) }
    }

    pub fn set_capacity(&self, capacity_bytes: u64) {
        self.capacity_bytes.store(capacity_bytes, Ordering::Relaxed);
    }
}

/// One owner's share of one shard.
pub(super) struct Share {
    owner: Arc<Owner>,
    shard: Arc<Shard>,
    bytes: AtomicU64,
}

impl Share {
    pub fn new(owner: Arc<Owner>, shard: Arc<Shard>) -> Self {
        Self { owner, shard, bytes: AtomicU64::new(0) }
    }

    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    pub fn take(&self, bytes: u64) {
        if self.bytes.fetch_add(bytes, Ordering::Relaxed) == 0 {
            self.shard.owners.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub fn give_back(&self, bytes: u64) {
        let held = self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        debug_assert!(held >= bytes, "what is given back was taken");
        if held == bytes {
            self.shard.owners.fetch_sub(1, Ordering::Relaxed);
        }
    }

    pub fn is_protected(&self) -> bool {
        let owners = self.shard.owners.load(Ordering::Relaxed).max(1);
        self.owner.asks() && self.bytes() <= self.shard.capacity_bytes.load(Ordering::Relaxed) / owners
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn when_a_shard_is_full_somebody_is_not_protected() {
        let mut dice = fastrand::Rng::with_seed(1);
        for owners in 1..9 {
            let shard = Arc::new(Shard::new(1000));
            let shares: Vec<Share> = (0..owners).map(|_| Share::new(Arc::default(), shard.clone())).collect();
            let mut all = 0;
            while all <= 1000 {
                let share = &shares[dice.usize(..owners)];
                share.owner.note_use();
                let bytes = dice.u64(1..40);
                share.take(bytes);
                all += bytes;
            }
            assert!(shares.iter().any(|share| share.bytes() > 0 && !share.is_protected()), "{owners} owners");
        }
    }

    #[test]
    fn who_asks_for_nothing_is_not_protected_for_long() {
        let owners = Owners::default();
        let share = Share::new(owners.add(), Arc::new(Shard::new(1000)));
        share.owner.note_use();
        share.take(10);
        owners.age();
        assert!(share.is_protected());
        owners.age();
        assert!(!share.is_protected());
    }
}
