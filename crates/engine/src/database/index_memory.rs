//! The memory that open indexes keep, held within the budget: norms, dictionaries, row ids, readers; and the cache of
//! index blocks, which gives way to these and to [answers](crate::runtime::MemoryPool).
//!
//! It has a share, `rest`. When open collections hold more, those without recent calls are closed; the excess of the
//! others is taken from the block cache, down to a quarter of the cache's share; anything beyond that is closed as soon
//! as no caller holds it, the largest first. Many small collections therefore cost files and a moment to open them
//! again, and a large one costs cache, never memory.
//!
//! **Invariant:** after [`Runtime::fit`](crate::runtime::Runtime::fit), caches and residents together hold no more than their shares, unless callers hold collections
//! that take more than the share and three quarters of the cache.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::collection::Core;
use crate::database::Registry;

impl Registry {
    pub(crate) fn fit_into(&self, share: u64, lendable: u64) {
        let mut over = self.resident_bytes().saturating_sub(share);
        if over > 0 {
            self.close_while(|core| !core.upkeep.used.load(Ordering::Relaxed), 0);
            over = self.resident_bytes().saturating_sub(share);
        }
        if over > lendable {
            self.close_while(|_| true, share + lendable);
            over = self.resident_bytes().saturating_sub(share);
        }
        self.shared.memory.index_over_bytes.store(over, Ordering::Relaxed);
    }

    /// Bytes that the indexes of open collections hold, outside of the caches.
    fn resident_bytes(&self) -> u64 {
        self.open_collections().iter().map(|core| core.resident_bytes()).sum()
    }

    /// Closes collections that nobody holds and that may go, the largest first, until the others hold no more than `bytes_max`.
    fn close_while(&self, may_go: impl Fn(&Core) -> bool, bytes_max: u64) {
        let mut open: Vec<(u64, Arc<Core>)> =
            self.open_collections().into_iter().map(|core| (core.resident_bytes(), core)).collect();
        let mut all: u64 = open.iter().map(|(bytes, _)| bytes).sum();
        open.sort_by_key(|(bytes, _)| std::cmp::Reverse(*bytes));
        for (bytes, core) in open {
            if all <= bytes_max {
                return;
            }
            if may_go(&core) && self.let_go(core) {
                all -= bytes;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Ordering;
    use crate::database::Database;
    use crate::*;

    #[test]
    fn the_cache_gives_way_first_and_then_collections_that_nobody_holds() {
        let folder = tempfile::tempdir().unwrap();
        let db = Database::open(folder.path(), Options { background: false, ..Options::default() }).unwrap();
        let (shared, registry) = (&db.inner.shared, &db.inner.registry);
        for name in ["a", "b", "c"] {
            let options = CollectionOptions { embedder: EmbedderChoice::None, ..CollectionOptions::default() };
            let notes = db.collection(name, options).unwrap();
            notes.upsert((0..20).map(|n| Record::new(format!("{n}")).text("a stone in the river")).collect()).unwrap();
            notes.wait_until_indexed(None).unwrap();
        }
        let held = db.existing_collection("b").unwrap();
        let bytes = registry.resident_bytes();
        assert!(bytes > 0);
        let cache = shared.memory.budget.block_cache_bytes;
        let fit_into = |share, lendable| {
            registry.fit_into(share, lendable);
            shared.memory.fit_cache();
            cache - shared.memory.cache.capacity_bytes()
        };
        assert_eq!(fit_into(bytes, bytes), 0);
        assert_eq!((fit_into(bytes / 2, bytes), registry.open_collections().len()), (bytes.div_ceil(2), 3));
        let left = fit_into(0, 750);
        let open: Vec<String> = registry.open_collections().iter().map(|core| core.name.clone()).collect();
        assert_eq!((open, left), (vec!["b".to_string()], registry.resident_bytes()));
        shared.memory.index_over_bytes.store(2 * cache, Ordering::Relaxed);
        shared.memory.fit_cache();
        assert_eq!(shared.memory.cache.capacity_bytes(), cache / 4, "it keeps a quarter");
        assert_eq!(held.row_count().unwrap(), 20);
        assert_eq!(db.existing_collection("a").unwrap().row_count().unwrap(), 20);
    }
}
