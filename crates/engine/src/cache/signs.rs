//! The vectors of a scope in memory, as signs: which prompts are near is found there, and how near they are from their rows.

use std::ops::ControlFlow;
use std::sync::Arc;

use nuthatch_store::Shard;
use nuthatch_vector::SignCodes;
use parking_lot::RwLock;

use crate::Result;
use crate::cache::value::decode_vector;
use crate::cache::{Cache, key};
use crate::kv::{KeyScan, Live, Rows};
use crate::runtime::Runtime;

/// Prompts that are compared exactly. Signs say the angle to some degrees, so that the nearest eight are among them.
const COMPARED: usize = 24;
/// Vectors of one page.
const PAGE: usize = 2_000;
/// Rows between two looks at whether there is room for more.
const LOOK_EVERY: usize = 1_000;

/// A changed vector: its scope, its entry, and the row, if there is one.
pub(crate) type ChangedVector = (key::Hash, u64, Option<Vec<u8>>);

/// Forgets the signs of a cache with the last handle on it.
pub(crate) struct Kept {
    shared: Arc<Runtime>,
    cache: Shard,
}

impl Kept {
    pub fn of(shared: Arc<Runtime>, cache: Shard) -> Self {
        Self { shared, cache }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.shared.memory.signs.forget(self.cache);
    }
}

impl Cache {
    /// The entries of a scope whose vectors may be among the nearest; `None` where all of them have to be looked at, because there
    /// is no room for their signs.
    pub(crate) fn near(&self, scope: &key::Hash, vector: &[f32]) -> Result<Option<Vec<u64>>> {
        let signs = match self.keyspace.space.shared.memory.signs.get(&self.scope_key(scope)) {
            Some(signs) => signs,
            None => match self.load(scope, vector.len())? {
                Some(signs) => signs,
                None => return Ok(None),
            },
        };
        let signs = signs.read();
        if signs.dim() != vector.len() {
            return Ok(None); // the cache has just got other vectors
        }
        let found = signs.search(vector, COMPARED);
        Ok(Some(found.into_iter().map(|(entry, _)| entry).collect()))
    }

    /// Reads the signs of a scope from its rows. Writers wait meanwhile, so that no change falls between.
    fn load(&self, scope: &key::Hash, dim: usize) -> Result<Option<Arc<RwLock<SignCodes>>>> {
        let space = &*self.keyspace.space;
        let (memory, of) = (&space.shared.memory, self.scope_key(scope));
        let room = memory.room_for_signs();
        if memory.signs.is_too_large(&of, room) {
            return Ok(None);
        }
        let signs = {
            space.check_open()?;
            let _writer = space.lock(std::iter::once(key::STATE));
            if let Some(signs) = memory.signs.get(&of) {
                return Ok(Some(signs)); // somebody else was first
            }
            let store = space.shared.store()?;
            let rows = Live { space, reader: &*store.snapshot() };
            let Some(signs) = read(&rows, scope, dim, room)? else {
                memory.signs.note_too_large(of, room);
                return Ok(None);
            };
            memory.signs.keep(of, signs)
        };
        memory.fit_cache();
        Ok(Some(signs))
    }

    /// Brings the signs in memory to what was written. The caller keeps other writers off.
    pub(crate) fn step(&self, changed: Vec<ChangedVector>) {
        let memory = &self.keyspace.space.shared.memory;
        let (mut has_grown, mut has_others) = (false, false);
        for (scope, entry, row) in changed {
            let vector = row.as_deref().and_then(decode_vector).map(|vector| vector.components());
            has_grown |= memory.signs.change(&self.scope_key(&scope), |signs| match &vector {
                Some(vector) if vector.len() == signs.dim() => signs.insert(entry, vector),
                Some(_) => has_others = true,
                None => drop(signs.remove(entry)),
            });
        }
        if has_others {
            memory.signs.forget(self.keyspace.space.shard);
        }
        if has_grown {
            memory.fit_cache();
        }
    }

    fn scope_key(&self, scope: &key::Hash) -> (Shard, key::Hash) {
        (self.keyspace.space.shard, *scope)
    }
}

/// All vectors of a scope, expired ones too: they leave with the sweep. `None` when they take more than `bytes_max`.
fn read(rows: &dyn Rows, scope: &key::Hash, dim: usize, bytes_max: u64) -> Result<Option<SignCodes>> {
    let mut signs = SignCodes::new(dim)?;
    let (mut fits, mut looked) = (true, 0);
    rows.each(KeyScan { limit: PAGE, ..KeyScan::prefix(key::vectors_of(scope)) }, &mut |row, value| {
        let vector = decode_vector(value).map(|vector| vector.components());
        if let (Some(entry), Some(vector)) = (key::number_of(row), vector.filter(|vector| vector.len() == dim)) {
            signs.insert(entry, &vector);
        }
        looked += 1;
        fits = looked % LOOK_EVERY != 0 || signs.bytes() <= bytes_max;
        Ok(if fits { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    })?;
    Ok(Some(signs).filter(|signs| fits && signs.bytes() <= bytes_max))
}
