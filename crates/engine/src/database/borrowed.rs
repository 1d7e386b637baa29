//! Collections that are held for a while: those that were closed before are closed again, so that reading all of them
//! does not leave all of them open.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::Result;
use crate::collection::Core;
use crate::database::registry::CLOSE_FLUSH_ROWS;
use crate::database::{Database, Registry};
use crate::embedder::EmbedderChoice;

/// From this many on, opening another collection closes those that no caller holds. Each has files open, and a process
/// may have few.
const OPEN_MAX: usize = 256;

/// A collection, for as long as this lives.
pub(crate) struct Borrowed {
    core: Option<Arc<Core>>,
    registry: Arc<Registry>,
    was_open: bool,
}

impl Deref for Borrowed {
    type Target = Arc<Core>;

    fn deref(&self) -> &Arc<Core> {
        self.core.as_ref().expect("taken by drop alone")
    }
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        if let Some(core) = self.core.take()
            && !self.was_open
        {
            self.registry.let_go(core);
        }
    }
}

impl Database {
    /// A collection of this handle's tenant.
    pub(crate) fn borrow(&self, name: &str) -> Result<Borrowed> {
        let registry = &self.inner.registry;
        let was_open = registry.collections.lock().get(self.tenant.number, name).is_some();
        let core = Some(registry.existing_core(&self.tenant, name)?);
        Ok(Borrowed { core, registry: registry.clone(), was_open })
    }
}

impl Registry {
    /// Closes a collection that no one else holds and nothing waits for; true when it did. The next call opens it
    /// again.
    pub(crate) fn let_go(&self, core: Arc<Core>) -> bool {
        let mut open = self.collections.lock();
        let (tenant, name) = (core.tenant.number, &core.name);
        let is_known = open.get(tenant, name).is_some_and(|known| Arc::ptr_eq(known, &core));
        // Nobody can come to hold it while the list is locked: this one and the list's are all there are.
        let closed = match is_known && Arc::strong_count(&core) == 2 && may_be_closed(&core) {
            true => open.remove(tenant, name),
            false => None,
        };
        drop(open);
        let did = closed.is_some();
        drop((closed, core));
        did
    }

    /// Closes collections that no caller holds when many are open, the least recently called first: each one has files
    /// open.
    pub(crate) fn make_room(&self) {
        if self.collections.lock().len() < OPEN_MAX {
            return;
        }
        self.let_unused_go();
        let open = self.open_collections();
        if open.len() >= OPEN_MAX {
            for core in open {
                self.let_go(core);
            }
        }
    }

    /// Closes the collections that no caller holds and that had no call since the last check.
    pub(crate) fn let_unused_go(&self) {
        for core in self.open_collections() {
            if !core.upkeep.used.swap(false, Ordering::Relaxed) {
                self.let_go(core);
            }
        }
        self.shared.fit();
    }
}

/// Nothing is in memory alone that opening it would not bring back soon. An embedder is found again by its fingerprint; that a
/// collection which embeds should not do so for now is remembered nowhere else.
fn may_be_closed(core: &Core) -> bool {
    let is_muted = matches!(*core.embedder.read(), EmbedderChoice::None) && core.descriptor().meta.embeds;
    let is_wanted =
        core.upkeep.flush_wanted.load(Ordering::SeqCst) || core.upkeep.optimize_wanted.load(Ordering::SeqCst);
    let state = core.state.read();
    // Records that wait for their vectors are looked for only at the next opening of the folder.
    let is_pending = state.vectors.if_any().is_some() && core.embeds_later().unwrap_or(false);
    !is_wanted && !is_muted && !is_pending && state.degraded().is_empty() && state.fresh_rows() < CLOSE_FLUSH_ROWS
}

#[cfg(test)]
mod tests {
    use crate::CollectionOptions;
    use crate::Options;

    use super::*;

    #[test]
    fn what_nobody_uses_is_closed_unless_it_would_come_back_different() {
        let folder = tempfile::tempdir().unwrap();
        let options = Options { background: false, ..Options::default() };
        let db = Database::open(folder.path(), options).unwrap();
        let without = CollectionOptions { embedder: EmbedderChoice::None, ..CollectionOptions::default() };
        for (name, options) in [
            ("plain", CollectionOptions::default()),
            ("vectors", without.clone()),
            ("muted", CollectionOptions::default()),
            ("muted", without),
        ] {
            db.collection(name, options).unwrap();
        }
        let held = db.existing_collection("plain").unwrap();
        let registry = &db.inner.registry;
        let names = || -> Vec<String> {
            let mut names: Vec<String> = registry.open_collections().iter().map(|core| core.name.clone()).collect();
            names.sort();
            names
        };
        for _ in 0..2 {
            registry.let_unused_go();
        }
        assert_eq!(names(), ["muted", "plain"]);
        drop(held);
        registry.let_unused_go();
        assert_eq!(names(), ["muted"]);
    }
}
