//! Keyspaces: keys and values next to the collections, in the same store and the same batches.
//!
//! **Useful for** sessions, settings, counters, queues, checkpoints: any data found by its key or by the order of keys.
//! **Not for** searching by content (collections do that).
//!
//! **Invariant:** a key has one value or none; an expired key is invisible from that moment on, whether or not its
//! bytes are still there; every operation on one key happens as if it were alone.

mod counting;
mod expiry;
mod kind;
mod meta;
mod page;
mod read;
pub(crate) mod row;
mod rows;
mod value;
mod write;

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use nuthatch_store::{Direction, Reader, Shard, Table};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

pub(crate) use counting::Counted;
pub use kind::Kind;
pub(crate) use meta::{KeyspaceMeta, Listed, keyspace_key, keyspaces};
pub use page::{KeyPage, KeyScan};
pub(crate) use read::COUNTED_KEYS;
pub use read::LivingValue;
pub(crate) use rows::Live;
pub use rows::Rows;
pub(crate) use value::{Body, Stored, inline_value, stored_inline};
pub use write::{Entry, KEY_BYTES_MAX, KvOp, VALUE_BYTES_MAX};
pub(crate) use write::{Staged, batch_bytes};

use crate::call::Call;
use crate::catalog::{self, COUNTERS};
use crate::durability::Durability;
use crate::kv::expiry::NEVER;
use crate::runtime::Runtime;
use crate::tenant::Tenant;
use crate::{Error, ErrorKind, Result};

/// Locks for operations that read before they write, by hash of the key.
const STRIPES: usize = 64;

/// A handle on a keyspace. Cheap to clone; safe to share between threads.
#[derive(Clone)]
pub struct Keyspace {
    pub(crate) space: Arc<Space>,
    pub(crate) durability: Durability,
    pub(crate) call: Call,
}

/// The state that all handles of one keyspace share.
pub(crate) struct Space {
    pub(crate) shared: Arc<Runtime>,
    pub(crate) tenant: Arc<Tenant>,
    /// Where its keys lie.
    pub shard: Shard,
    /// The name within its tenant.
    pub name: String,
    /// Whether it is a keyspace or a graph.
    pub kind: Kind,
    /// Some key expires, or has expired: writers look for what they replace.
    expires: AtomicBool,
    /// When the next key expires, at the earliest.
    next_due_ms: AtomicU64,
    /// Some value lies in the table `blobs`: the same.
    has_large: AtomicBool,
    /// The number of the next one; `None` until it could be read.
    next_large: Mutex<Option<u64>>,
    stripes: [Mutex<()>; STRIPES],
    /// A dropped keyspace refuses everything.
    pub dropped: AtomicBool,
    /// As they are stored; 0 in keyspaces of the default tenant, where nothing is counted.
    counters: Mutex<Counters>,
    /// The in-memory data of the module above that writes a kind of keyspace.
    attached: Mutex<Option<Arc<dyn Any + Send + Sync>>>,
}

/// The contents of a keyspace, as its tenant's limits count them: expired keys count until they are swept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Counters {
    pub keys: u64,
    pub bytes: u64,
}

impl Keyspace {
    /// The same keyspace, on behalf of somebody.
    pub fn on_behalf_of(&self, call: &Call) -> Self {
        Self { call: call.clone(), ..self.clone() }
    }

    /// Tells it from one of the same name that is made after it was dropped.
    pub fn id(&self) -> u32 {
        self.space.shard.collection
    }

    /// Whether it is a keyspace or a graph.
    pub fn kind(&self) -> Kind {
        self.space.kind
    }

    /// The name within its tenant.
    pub fn name(&self) -> &str {
        &self.space.name
    }

    /// The same keyspace, written with another durability.
    pub fn with_durability(&self, durability: Durability) -> Self {
        Self { durability, ..self.clone() }
    }
}

impl Space {
    /// The keyspace with this id, whatever is stored of it.
    pub(crate) fn open(
        shared: Arc<Runtime>,
        tenant: Arc<Tenant>,
        id: u32,
        name: &str,
        kind: Kind,
    ) -> Result<Arc<Self>> {
        let shard = tenant.shard(id);
        let counters: Counters = catalog::read(&shared.store, &shard.key(COUNTERS))?.unwrap_or_default();
        let expires = unless_damaged(outermost(&shared, shard, Table::Expiry, Direction::Forward))?;
        let next_large = unless_damaged(next_large(&shared, shard))?;
        let next_due = match &expires {
            Some(first) => first.as_deref().and_then(|key| key.first_chunk()).map(|bytes| u64::from_be_bytes(*bytes)),
            None => None, // nothing is swept; readers look at each value's own time
        };
        Ok(Arc::new(Self {
            shared,
            tenant,
            shard,
            name: name.to_string(),
            kind,
            expires: AtomicBool::new(expires.is_none_or(|first| first.is_some())),
            next_due_ms: AtomicU64::new(next_due.unwrap_or(NEVER)),
            has_large: AtomicBool::new(next_large != Some(0)),
            next_large: Mutex::new(next_large),
            stripes: std::array::from_fn(|_| Mutex::default()),
            dropped: AtomicBool::new(false),
            counters: Mutex::new(counters),
            attached: Mutex::default(),
        }))
    }

    /// Refuses once the database is closed, or the keyspace dropped.
    pub fn check_open(&self) -> Result<()> {
        self.shared.check_open()?;
        match self.dropped.load(Ordering::SeqCst) {
            true => Err(Error::dropped(self.kind.what(), &self.name)),
            false => Ok(()),
        }
    }

    /// A stored value as others may have it, and when it expires; `None` when it has.
    pub fn exported(&self, reader: &dyn Reader, stored: &[u8], now_ms: u64) -> Result<Option<(Vec<u8>, Option<u64>)>> {
        let stored = value::Stored::decode(stored.to_vec())?;
        match stored.is_expired(now_ms) {
            true => Ok(None),
            false => Ok(Some((self.whole(reader, stored.body)?, stored.expires_at_ms))),
        }
    }

    /// Returns the attached data, created on the first call. All callers pass the same type.
    pub(crate) fn attached<T: Any + Send + Sync>(&self, make: impl FnOnce(&Self) -> Result<T>) -> Result<Arc<T>> {
        let mut attached = self.attached.lock();
        if let Some(known) = &*attached {
            let known = known.clone().downcast().map_err(|_| ());
            return known.map_err(|()| Error::internal("a keyspace has something else attached to it"));
        }
        let made = Arc::new(make(self)?);
        *attached = Some(made.clone());
        Ok(made)
    }

    /// Takes a number in the table `blobs`.
    ///
    /// # Errors
    /// `Corrupt` while the block with the highest number in use is damaged: a guess could overwrite a value.
    pub(crate) fn next_blob(&self) -> Result<u64> {
        let mut next = self.next_large.lock();
        let number = match *next {
            Some(number) => number,
            None => next_large(&self.shared, self.shard)?,
        };
        *next = Some(number + 1);
        Ok(number)
    }

    /// Whether writers have to look for what they replace. Rows of trees never expire, and the bytes that they name are theirs
    /// to remove.
    fn leaves_traces(&self) -> bool {
        let may = self.expires.load(Ordering::Acquire) || self.has_large.load(Ordering::Acquire);
        !self.tenant.is_default() || (may && self.kind != Kind::Trees)
    }
}

/// The first or last key of a table within a shard.
fn outermost(shared: &Runtime, shard: Shard, table: Table, direction: Direction) -> Result<Option<Vec<u8>>> {
    let mut found = None;
    shared.store()?.scan(table, &shard.prefix(), &shard.end(), direction, &mut |key, _| {
        found = Some(Shard::suffix(key).to_vec());
        std::ops::ControlFlow::Break(())
    })?;
    Ok(found)
}

fn next_large(shared: &Runtime, shard: Shard) -> Result<u64> {
    let last = outermost(shared, shard, Table::Blobs, Direction::Reverse)?;
    Ok(last.and_then(|key| Some(u64::from_be_bytes(key.try_into().ok()?))).map_or(0, |last| last + 1))
}

/// `None` for damage, which must not keep the rest from serving.
fn unless_damaged<T>(read: Result<T>) -> Result<Option<T>> {
    match read {
        Ok(read) => Ok(Some(read)),
        Err(error) if matches!(error.kind, ErrorKind::Corrupt { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}
