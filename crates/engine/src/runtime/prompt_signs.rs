//! The signs of the vectors that caches compare, by scope: what lookups by meaning search in memory.
//!
//! **Useful for** scopes of caches, whose vectors lie in rows. **Not for** vectors of collections, which have indexes.
//!
//! **Invariant:** the signs are derived, and equal to the rows of their scope: a writer that changes the rows changes
//! the signs before any caller hears of it. Signs may go at any time. All of them together stay within what the cache
//! of index blocks lends, and give way first.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use nuthatch_store::Shard;
use nuthatch_vector::SignCodes;
use parking_lot::{Mutex, RwLock};

/// A scope: its cache, and its hash.
pub(crate) type ScopeKey = (Shard, [u8; 32]);

#[derive(Default)]
pub(crate) struct PromptSigns {
    scopes: Mutex<Scopes>,
    held_bytes: AtomicU64,
}

#[derive(Default)]
struct Scopes {
    kept: HashMap<ScopeKey, Kept>,
    /// Scopes for which there was no room, with how much there was.
    too_large: HashMap<ScopeKey, u64>,
    uses: u64,
}

struct Kept {
    signs: Arc<RwLock<SignCodes>>,
    bytes: u64,
    /// The higher, the later.
    used: u64,
}

impl PromptSigns {
    /// The signs of a scope, if they are here.
    pub fn get(&self, scope: &ScopeKey) -> Option<Arc<RwLock<SignCodes>>> {
        let mut scopes = self.scopes.lock();
        scopes.uses += 1;
        let used = scopes.uses;
        let kept = scopes.kept.get_mut(scope)?;
        kept.used = used;
        Some(kept.signs.clone())
    }

    /// Whether there was no room for a scope when there was about as much as this.
    pub fn is_too_large(&self, scope: &ScopeKey, room_bytes: u64) -> bool {
        let scopes = self.scopes.lock();
        scopes.too_large.get(scope).is_some_and(|room_then| room_bytes <= room_then + room_then / 4)
    }

    pub fn note_too_large(&self, scope: ScopeKey, room_bytes: u64) {
        self.scopes.lock().too_large.insert(scope, room_bytes);
    }

    /// Keeps what was read. The caller keeps writers of the scope's cache away.
    pub fn keep(&self, scope: ScopeKey, signs: SignCodes) -> Arc<RwLock<SignCodes>> {
        let (bytes, signs) = (signs.bytes(), Arc::new(RwLock::new(signs)));
        let mut scopes = self.scopes.lock();
        scopes.uses += 1;
        let kept = Kept { signs: signs.clone(), bytes, used: scopes.uses };
        let before = scopes.kept.insert(scope, kept).map_or(0, |before| before.bytes);
        self.count(&scopes, bytes, before);
        signs
    }

    /// Changes what is here of a scope. True when it holds more than before.
    pub fn change(&self, scope: &ScopeKey, change: impl FnOnce(&mut SignCodes)) -> bool {
        let Some(signs) = self.scopes.lock().kept.get(scope).map(|kept| kept.signs.clone()) else { return false };
        let bytes = {
            let mut signs = signs.write();
            change(&mut signs);
            signs.bytes()
        };
        let mut scopes = self.scopes.lock();
        let Some(kept) = scopes.kept.get_mut(scope).filter(|kept| Arc::ptr_eq(&kept.signs, &signs)) else {
            return false;
        };
        let before = std::mem::replace(&mut kept.bytes, bytes);
        self.count(&scopes, bytes, before);
        bytes > before
    }

    /// Forgets all scopes of a cache.
    pub fn forget(&self, cache: Shard) {
        let mut scopes = self.scopes.lock();
        scopes.too_large.retain(|(shard, _), _| *shard != cache);
        let gone: Vec<ScopeKey> = scopes.kept.keys().filter(|(shard, _)| *shard == cache).copied().collect();
        gone.iter().for_each(|scope| self.remove(&mut scopes, scope));
    }

    /// Lets scopes go, those used longest ago first, until the others hold no more than `bytes_max`.
    pub fn fit_into(&self, bytes_max: u64) {
        if self.held_bytes() <= bytes_max {
            return;
        }
        let mut scopes = self.scopes.lock();
        while self.held_bytes() > bytes_max {
            let Some(oldest) = scopes.kept.iter().min_by_key(|(_, kept)| kept.used).map(|(scope, _)| *scope) else {
                return;
            };
            self.remove(&mut scopes, &oldest);
        }
    }

    pub fn held_bytes(&self) -> u64 {
        self.held_bytes.load(Ordering::Relaxed)
    }

    /// Returns the bytes that the scopes of a tenant hold.
    pub fn bytes_of(&self, tenant: u32) -> u64 {
        let scopes = self.scopes.lock();
        scopes.kept.iter().filter(|((shard, _), _)| shard.tenant == tenant).map(|(_, kept)| kept.bytes).sum()
    }

    fn remove(&self, scopes: &mut Scopes, scope: &ScopeKey) {
        if let Some(gone) = scopes.kept.remove(scope) {
            self.count(scopes, 0, gone.bytes);
        }
    }

    /// Under the lock, so that numbers cannot cross.
    fn count(&self, _: &Scopes, more: u64, less: u64) {
        self.held_bytes.store(self.held_bytes() + more - less, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(cache: u32, at: u8) -> ScopeKey {
        (Shard { tenant: 1, collection: cache }, [at; 32])
    }

    fn signs(rows: u64) -> SignCodes {
        let mut signs = SignCodes::new(64).unwrap();
        (0..rows).for_each(|id| signs.insert(id, &[1.0; 64]));
        signs
    }

    #[test]
    fn scopes_used_longest_ago_give_way_and_bytes_add_up() {
        let pool = PromptSigns::default();
        for at in 0..3 {
            pool.keep(scope(1, at), signs(100));
        }
        let each = signs(100).bytes();
        assert_eq!((pool.held_bytes(), pool.bytes_of(1), pool.bytes_of(2)), (3 * each, 3 * each, 0));
        assert!(pool.get(&scope(1, 0)).is_some());
        pool.fit_into(2 * each);
        assert!(pool.get(&scope(1, 1)).is_none() && pool.get(&scope(1, 0)).is_some());
        assert!(pool.change(&scope(1, 0), |signs| (100..5_000).for_each(|id| signs.insert(id, &[1.0; 64]))));
        assert!(!pool.change(&scope(1, 1), |_| unreachable!("it is gone")));
        pool.keep(scope(2, 0), signs(100));
        pool.forget(scope(1, 0).0);
        assert_eq!(pool.held_bytes(), each);
        pool.fit_into(0);
        assert_eq!(pool.held_bytes(), 0);
    }
}
