//! Snapshots: everything as it was at one moment.
//!
//! **Useful for** reports, exports and paging that must not see writes between two reads.
//! **Not for** keeping the past: a snapshot holds on to what later writes replace, so it ends when it is too old.
//!
//! **Invariant:** records, files, keys and searches of one snapshot show the same batches, each whole.

mod collection;
mod ending;
mod keyspace;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use nuthatch_store::{OwnedSnapshot, Shard};
use parking_lot::{Mutex, RwLock};

pub use collection::SnapshotCollection;
pub(crate) use ending::Ending;
pub use keyspace::SnapshotKeyspace;

use crate::call::Call;
use crate::collection::Core;
use crate::kv::{Kind, Space};
use crate::runtime::Runtime;
use crate::state::State;
use crate::tenant::Tenant;
use crate::{Error, ErrorKind, Result, What};

/// A consistent view of all data of its tenant. Cheap to take and to clone; ends with its last clone, with the
/// database, when it is older than [`crate::Options::snapshot_age_max`], or when it delays an erasure for too long
/// ([`crate::Options::erasure_grace`]).
#[derive(Clone)]
pub struct Snapshot {
    pub(crate) view: Arc<View>,
    /// The call that reads it.
    pub(crate) call: Call,
}

pub(crate) struct View {
    pub shared: Arc<Runtime>,
    pub lookup: Arc<dyn Lookup>,
    pub tenant: Arc<Tenant>,
    pub taken_at_ms: u64,
    taken: Instant,
    /// How long it may go unread; unset for one that is not kept for another process or a client.
    idle_max: OnceLock<Duration>,
    /// When it was last read; counted where `idle_max` is set.
    read_at_ms: AtomicU64,
    /// Of the last write that it shows.
    sequence: u64,
    /// Why it refuses reads. Set before it releases what it holds, so that no read begins while the last ones end.
    ended: OnceLock<Error>,
    held: RwLock<Option<OpenSnapshot>>,
}

pub(crate) struct OpenSnapshot {
    pub store: OwnedSnapshot,
    /// By name. Collections that were not open then join when a call asks for them.
    collections: Mutex<HashMap<String, Arc<Pinned>>>,
    /// By name, as of the first call for each: a later one of the same name is another.
    keyspaces: Mutex<HashMap<String, Arc<Space>>>,
}

/// A collection as it was.
pub(crate) struct Pinned {
    pub core: Arc<Core>,
    pub state: RwLock<State>,
}

/// Finds the collections and keyspaces that a snapshot is asked for. The registry, in the layer above, implements it.
pub(crate) trait Lookup: Send + Sync {
    /// The open collections of a tenant.
    fn open_collections_of(&self, tenant: u32) -> Vec<Arc<Core>>;

    /// A collection, opened if it is not; `NotFound` when there is none.
    fn collection(&self, tenant: &Arc<Tenant>, name: &str) -> Result<Arc<Core>>;

    /// A keyspace, made when there is none and `create` says so; `NotFound` else.
    fn keyspace(&self, tenant: &Arc<Tenant>, name: &str, kind: Kind, create: bool) -> Result<Arc<Space>>;
}

/// The snapshots of a database that may still be there.
#[derive(Default)]
pub(crate) struct Snapshots {
    views: Mutex<Vec<Weak<View>>>,
}

impl Snapshot {
    /// The same snapshot, on behalf of somebody.
    pub fn on_behalf_of(&self, call: &Call) -> Self {
        Self { view: self.view.clone(), call: call.clone() }
    }

    /// How long ago it was taken.
    pub fn age(&self) -> Duration {
        self.view.age()
    }

    /// The time as its readers see it.
    pub fn now_ms(&self) -> u64 {
        self.view.shared.options.clock.now_ms()
    }

    /// True when nothing can be read of it any more.
    pub fn has_ended(&self) -> bool {
        self.view.has_ended()
    }

    /// From now on it ends when it goes unread for that long: its owner may have gone without closing it.
    pub fn end_when_idle(&self, after: Duration) {
        self.view.read_at_ms.store(self.now_ms(), Ordering::Relaxed);
        self.view.idle_max.set(after).ok(); // the first time stays
    }

    /// Releases what it holds; every later call gets this error.
    pub fn end(&self, why: Error) {
        self.view.end(why);
    }

    /// The collection of that name.
    ///
    /// # Errors
    /// `NotFound` when there was none; `Closed` when the snapshot has ended.
    pub fn collection(&self, name: &str) -> Result<SnapshotCollection> {
        self.view.with(|held| self.view.pinned(held, name))?;
        Ok(SnapshotCollection { view: self.view.clone(), name: name.to_string(), call: self.call.clone() })
    }

    /// The keyspace of that name and kind; an empty one when there was none.
    pub fn keyspace(&self, name: &str, kind: Kind) -> Result<SnapshotKeyspace> {
        let space = self.view.with(|held| self.view.space(held, name, kind))?;
        Ok(SnapshotKeyspace { view: self.view.clone(), name: name.to_string(), space, call: self.call.clone() })
    }

    /// The same, with the shard of its keys; creates it when there was none.
    pub fn made_keyspace(&self, name: &str, kind: Kind) -> Result<(SnapshotKeyspace, Shard)> {
        let made = self.view.lookup.keyspace(&self.view.tenant, name, kind, true)?;
        let kept = self.keyspace(name, kind)?;
        let shard = kept.space.as_ref().map_or(made.shard, |space| space.shard);
        Ok((kept, shard))
    }
}

impl View {
    pub fn take(
        shared: &Arc<Runtime>,
        lookup: Arc<dyn Lookup>,
        snapshots: &Snapshots,
        tenant: &Arc<Tenant>,
    ) -> Result<Arc<Self>> {
        // Nobody is between writing and showing.
        let _commit = shared.store.commit.write();
        shared.check_open()?;
        tenant.check()?;
        let store = shared.store.owned_snapshot()?;
        let pin = |core: &Arc<Core>| {
            let state = RwLock::new(core.state.read().pinned());
            (core.name.clone(), Arc::new(Pinned { core: core.clone(), state }))
        };
        let collections = Mutex::new(lookup.open_collections_of(tenant.number).iter().map(pin).collect());
        let taken_at_ms = shared.options.clock.now_ms();
        let view = Arc::new(Self {
            shared: shared.clone(),
            lookup,
            tenant: tenant.clone(),
            taken_at_ms,
            taken: Instant::now(),
            idle_max: OnceLock::new(),
            read_at_ms: AtomicU64::new(taken_at_ms),
            sequence: store.latest(),
            ended: OnceLock::new(),
            held: RwLock::new(Some(OpenSnapshot { store, collections, keyspaces: Mutex::default() })),
        });
        snapshots.add(&view);
        Ok(view)
    }

    pub fn age(&self) -> Duration {
        Duration::from_millis(self.shared.options.clock.now_ms().saturating_sub(self.taken_at_ms))
    }

    /// Reads from it, unless it has ended. A read that has begun runs to its end, unless it reads inside itself.
    pub fn with<T>(&self, read: impl FnOnce(&OpenSnapshot) -> Result<T>) -> Result<T> {
        self.end_if_due();
        if self.idle_max.get().is_some() {
            self.read_at_ms.store(self.shared.options.clock.now_ms(), Ordering::Relaxed);
        }
        // Recursive: a read inside another must not wait for an end that waits for it.
        match (&*self.held.read_recursive(), self.ended.get()) {
            (Some(held), None) => return read(held),
            (None, None) => return Err(Error::internal("a snapshot holds nothing and has not ended")),
            (_, Some(_)) => {}
        }
        self.let_go();
        Err(self.ended.get().cloned().unwrap_or_else(Error::closed))
    }

    /// Refuses reads from here on when it is too old, or when nobody has read it for too long.
    fn end_if_due(&self) {
        let most = self.shared.options.snapshot_age_max;
        if self.age() > most {
            let why =
                format!("the snapshot ended because it was older than {} s; take another one", most.as_secs_f64());
            self.refuse(Error::new(ErrorKind::Conflict, why));
        }
        if let Some(most) = self.idle_max.get() {
            let read_at_ms = self.read_at_ms.load(Ordering::Relaxed);
            let idle = Duration::from_millis(self.shared.options.clock.now_ms().saturating_sub(read_at_ms));
            if idle > *most {
                let why =
                    format!("the snapshot was not read for {} s and has ended; take another one", most.as_secs_f64());
                self.refuse(Error::new(ErrorKind::Conflict, why));
            }
        }
    }

    /// Refuses new reads. True when this ended it, false when it had ended before.
    fn refuse(&self, why: Error) -> bool {
        self.ended.set(why).is_ok()
    }

    /// Releases what an ended one holds, unless a read is under way: the next call does. True when it holds nothing.
    fn let_go(&self) -> bool {
        let Some(mut held) = self.held.try_write() else { return false };
        let gone = self.ended.get().and_then(|_| held.take());
        let is_empty = held.is_none();
        drop(held);
        drop(gone); // without the lock
        is_empty
    }

    /// True when nothing can be read of it any more.
    pub fn has_ended(&self) -> bool {
        self.end_if_due();
        self.ended.get().is_some()
    }

    /// Releases what it holds once no read is under way; every later call gets this error.
    pub fn end(&self, why: Error) {
        self.refuse(why);
        let gone = self.held.write().take();
        drop(gone); // without the lock
    }

    /// A keyspace, if there is one or was one at the first call for it.
    fn space(&self, held: &OpenSnapshot, name: &str, kind: Kind) -> Result<Option<Arc<Space>>> {
        if let Some(space) = held.keyspaces.lock().get(name) {
            kind.check(name, space.kind)?;
            return Ok(Some(space.clone()));
        }
        match self.lookup.keyspace(&self.tenant, name, kind, false) {
            Ok(space) => Ok(Some(held.keyspaces.lock().entry(name.to_string()).or_insert(space).clone())),
            Err(error) if error.kind == ErrorKind::NotFound => Ok(None), // it may be made yet
            Err(error) => Err(error),
        }
    }

    /// A collection as it was, pinned now if it has not been opened before.
    pub fn pinned(&self, held: &OpenSnapshot, name: &str) -> Result<Arc<Pinned>> {
        if let Some(pinned) = held.collections.lock().get(name) {
            return Ok(pinned.clone());
        }
        let (id, sequence) = collection::stored(&held.store, self.tenant.number, name)?.ok_or_else(|| {
            let why = format!("collection {name:?} did not exist when the snapshot was taken");
            Error::not_found(why).about(What::Collection, name)
        })?;
        let core = self.lookup.collection(&self.tenant, name)?;
        if core.shard.collection != id {
            return Err(Error::not_found(format!(
                "collection {name:?} was dropped and created again after the snapshot was taken; take another one"
            ))
            .about(What::Collection, name));
        }
        let state = {
            let state = core.state.read();
            match state.sequence == sequence {
                true => state.pinned(),
                // Written to before anybody had opened it: its records are all there, and are searched one by one.
                false => State::unindexed("the collection was not open when the snapshot was taken"),
            }
        };
        let pinned = Arc::new(Pinned { core, state: RwLock::new(state) });
        Ok(held.collections.lock().entry(name.to_string()).or_insert(pinned).clone())
    }
}

impl Snapshots {
    fn add(&self, view: &Arc<View>) {
        let mut views = self.views.lock();
        views.retain(|view| view.strong_count() > 0);
        views.push(Arc::downgrade(view));
    }

    fn all(&self) -> Vec<Arc<View>> {
        self.views.lock().iter().filter_map(Weak::upgrade).collect()
    }

    /// Ends those that are too old, or that went unread for too long.
    pub fn end_due(&self) {
        for view in self.all().iter().filter(|view| view.has_ended()) {
            view.let_go();
        }
    }

    /// Ends those of a tenant that is dropped, and waits for the reads under way.
    pub fn end_all_of(&self, tenant: &Tenant) {
        let of_it = |view: &&Arc<View>| view.tenant.number == tenant.number;
        self.all().iter().filter(of_it).for_each(|view| view.end(crate::tenant::dropped(&tenant.name)));
    }

    /// Ends them all, and waits for the reads under way.
    pub fn close(&self) {
        self.all().iter().for_each(|view| view.end(Error::closed()));
    }

    /// How many still hold data, and the age of the oldest. `of`: only those of this tenant.
    pub fn open(&self, of: Option<u32>) -> (u64, Duration) {
        let is_meant = |view: &Arc<View>| of.is_none_or(|of| view.tenant.number == of);
        let open = self.all().into_iter().filter(is_meant);
        let open: Vec<_> = open.filter(|view| view.held.read_recursive().is_some()).collect();
        (open.len() as u64, open.iter().map(|view| view.age()).max().unwrap_or_default())
    }
}
