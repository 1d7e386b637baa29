//! Idle work: tidying the store, releasing caches.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use nuthatch_store::Upkeep;

use crate::Result;
use crate::database::Registry;

/// Quiet after the last write before the store is tidied.
const TIDY_AFTER: Duration = Duration::from_secs(2);
/// Time without any call before the caches are released, and collections that no caller holds are closed.
const RELEASE_AFTER: Duration = Duration::from_secs(60);
/// Time between two checks of which tenants use the cache.
const AGED_EVERY: Duration = Duration::from_secs(10);
/// Time between two releases while the system is short of memory.
const PRESSED_EVERY: Duration = Duration::from_secs(10);

/// State that the idle thread keeps from one look to the next.
pub(crate) struct Idle {
    latest: u64,
    written: Instant,
    /// Sequence of the store when it was tidied last.
    tidied: Option<u64>,
    used: Instant,
    released: Option<Instant>,
    /// When it last looked for unused collections.
    unused: Instant,
    /// The same for tenants that do not use the cache.
    aged: Instant,
}

impl Default for Idle {
    fn default() -> Self {
        let now = Instant::now();
        Self { latest: 0, written: now, tidied: None, used: now, released: None, unused: now, aged: now }
    }
}

impl Idle {
    pub fn look(&mut self, registry: &Registry) -> Result<()> {
        let shared = &registry.shared;
        let latest = shared.store()?.latest();
        if latest != self.latest {
            (self.latest, self.written) = (latest, Instant::now());
        }
        if self.written.elapsed() >= TIDY_AFTER && self.tidied != Some(latest) {
            let wanted = shared.background.shrunk.swap(false, Ordering::SeqCst);
            if let Some(upkeep) = shared.store()?.upkeep()
                && upkeep.tidy(wanted)?
            {
                upkeep.record_checksums()?;
            }
            nuthatch_heap::give_back();
            // Its own bookkeeping is no reason to look again.
            self.latest = shared.store()?.latest();
            self.tidied = Some(self.latest);
        }
        if shared.used.swap(false, Ordering::Relaxed) {
            self.used = Instant::now();
        }
        let idle = self.used.elapsed() >= RELEASE_AFTER && self.released.is_none_or(|when| when < self.used);
        let pressed =
            self.released.is_none_or(|when| when.elapsed() >= PRESSED_EVERY) && shared.background.gauge.read().memory;
        if self.unused.elapsed() >= RELEASE_AFTER {
            registry.let_unused_go();
            self.unused = Instant::now();
        }
        if self.aged.elapsed() >= AGED_EVERY {
            shared.memory.cache.age();
            self.aged = Instant::now();
        }
        if idle || pressed {
            shared.release_caches()?;
            if idle {
                shared.store()?.upkeep().map_or(Ok(()), Upkeep::empty_spare_logs)?;
            }
            self.released = Some(Instant::now());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::database::Database;
    use crate::*;

    #[test]
    fn caches_are_let_go_and_filled_again() {
        let folder = tempfile::tempdir().unwrap();
        let db = Database::open(folder.path(), Options { background: false, ..Options::default() }).unwrap();
        let options = CollectionOptions { embedder: EmbedderChoice::None, ..Default::default() };
        let notes = db.collection("notes", options).unwrap();
        let record = |n: usize| Record::new(format!("r{n}")).text("a stone in the river");
        notes.upsert((0..2000).map(record).collect()).unwrap();
        notes.wait_until_indexed(None).unwrap();
        db.inner.shared.store().unwrap().upkeep().unwrap().flush().unwrap();
        let ask = || notes.search(&Search::text("river").mode(Mode::Text)).unwrap().hits.len();
        assert_eq!(ask(), 10);
        let memory = || db.stats().unwrap().memory;
        let before = memory();
        assert!(before.block_cache_bytes > 0);
        db.inner.shared.release_caches().unwrap();
        let after = memory();
        assert_eq!(after.block_cache_bytes, 0);
        assert!(after.store_cache_bytes < before.store_cache_bytes, "{after:?} {before:?}");
        // The store takes its time to give back what it has flushed, which counts in the cache: more than once, then.
        let is_filled_again = || {
            db.inner.shared.release_caches().unwrap();
            let after = memory();
            ask() == 10 && memory().store_cache_bytes > after.store_cache_bytes
        };
        assert!((0..100).any(|_| is_filled_again()), "the hits were read again");
    }
}
