//! A tenant's data as Redis numbers it: databases, each a keyspace, with the collections behind its vector sets.

use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use nuthatch_link::{Collection, Database, Durability, ErrorKind, Keyspace};
use parking_lot::{Mutex, MutexGuard, RwLock};

use crate::cursors::Cursors;
use crate::failure::Outcome;
use crate::growth::Growth;

/// Locks for elements of vector sets, which are read before they are written; and as many for aggregates with rows.
const STRIPES: usize = 64;

/// The state that all connections of one tenant share. Make one per tenant, and give the same to all of its
/// connections.
pub struct Tenant {
    pub(crate) database: Database,
    spaces: Mutex<HashMap<usize, Arc<Space>>>,
    collections: Mutex<HashMap<String, Collection>>,
    pub(crate) cursors: Mutex<Cursors>,
    /// Writers share it; a transaction that others keep getting in the way of has it alone.
    pub(crate) turn: RwLock<()>,
    /// Changes of elements hold it shared; creating, emptying and dropping a vector set hold it exclusively.
    pub(crate) sets: RwLock<()>,
    stripes: [Mutex<()>; STRIPES],
    /// A writer of rows holds the lock of their key. Without it, most clients of one key would conflict and try again.
    turns: [Mutex<()>; STRIPES],
    /// Of lists and sorted sets.
    pub(crate) growth: Growth,
    /// Connections that have become this tenant's, since the server began: each is numbered by it. A number that counted those of
    /// others, too, would tell of them.
    connections: AtomicU64,
    /// Commands that they have sent.
    commands: AtomicU64,
}

/// One numbered database.
pub(crate) struct Space {
    pub number: usize,
    pub keyspace: Keyspace,
    /// Some key is a vector set, or was: a write over a key first checks what it is.
    pub has_sets: AtomicBool,
    /// Some key is an aggregate with rows, or was: as with vector sets.
    pub has_rows: AtomicBool,
    /// When rows may have to go that no key names any more; never: the greatest number.
    pub purge_at_ms: AtomicU64,
    /// The keyspace with the rows of aggregates.
    pub rows_name: String,
    rows: OnceLock<Keyspace>,
}

impl Tenant {
    /// The tenant whose data this is.
    pub fn new(database: Database) -> Arc<Self> {
        Arc::new(Self {
            database,
            spaces: Mutex::default(),
            collections: Mutex::default(),
            cursors: Mutex::default(),
            turn: RwLock::default(),
            sets: RwLock::default(),
            stripes: std::array::from_fn(|_| Mutex::default()),
            turns: std::array::from_fn(|_| Mutex::default()),
            growth: Growth::default(),
            connections: AtomicU64::default(),
            commands: AtomicU64::default(),
        })
    }

    /// False once the tenant was dropped, even when there is another of its name.
    pub fn is_there(&self) -> bool {
        self.database.limits().is_ok()
    }

    /// The number of a connection that becomes this tenant's; the first one is 1.
    pub(crate) fn number_connection(&self) -> u64 {
        self.connections.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// How many connections have become this tenant's.
    pub(crate) fn connections(&self) -> u64 {
        self.connections.load(Ordering::Relaxed)
    }

    pub(crate) fn count_command(&self) {
        self.commands.fetch_add(1, Ordering::Relaxed);
    }

    /// How many commands this tenant has sent.
    pub(crate) fn commands(&self) -> u64 {
        self.commands.load(Ordering::Relaxed)
    }

    /// The database of that number; its keyspace is made when there is none.
    pub(crate) fn space(&self, number: usize) -> Outcome<Arc<Space>> {
        if let Some(space) = self.spaces.lock().get(&number) {
            return Ok(space.clone());
        }
        let keyspace = self.database.kv(&keyspace_name(number))?;
        let has_sets = !self.set_collections(number)?.is_empty();
        let rows_name = format!("{}.rows", keyspace_name(number));
        let has_rows = self.database.keyspace_names()?.contains(&rows_name);
        let space = Arc::new(Space {
            number,
            keyspace,
            has_sets: AtomicBool::new(has_sets),
            has_rows: AtomicBool::new(has_rows),
            purge_at_ms: AtomicU64::new(if has_rows { 0 } else { u64::MAX }),
            rows_name,
            rows: OnceLock::new(),
        });
        Ok(self.spaces.lock().entry(number).or_insert(space).clone())
    }

    /// Forgets a dropped keyspace: the next use creates it again.
    pub(crate) fn forget_space(&self, number: usize) {
        self.spaces.lock().remove(&number);
    }

    /// Names of the collections behind the vector sets of a database.
    pub(crate) fn set_collections(&self, number: usize) -> Outcome<Vec<String>> {
        let prefix = collection_prefix(number);
        let names = self.database.collection_names()?;
        Ok(names.into_iter().filter(|name| name.starts_with(&prefix)).collect())
    }

    pub(crate) fn collection(&self, name: &str) -> nuthatch_link::Result<Collection> {
        let known = self.collections.lock().get(name).cloned();
        if let Some(collection) = known {
            match collection.len() {
                // Another face has dropped it; one of the same name may have come since.
                Err(error) if error.kind == ErrorKind::NotFound => self.forget_collection(name),
                _ => return Ok(collection),
            }
        }
        let collection = self.database.existing_collection(name)?;
        self.collections.lock().insert(name.to_string(), collection.clone());
        Ok(collection)
    }

    pub(crate) fn forget_collection(&self, name: &str) {
        self.collections.lock().remove(name);
    }

    pub(crate) fn drop_collection(&self, name: &str) -> Outcome<()> {
        self.forget_collection(name);
        self.database.drop_collection(name)?;
        Ok(())
    }

    /// Keeps others off an element of a vector set.
    pub(crate) fn lock_element(&self, collection: &str, element: &[u8]) -> MutexGuard<'_, ()> {
        let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one((collection, element));
        self.stripes[hash as usize % STRIPES].lock()
    }

    /// Keeps others off the rows of a key.
    pub(crate) fn lock_rows(&self, database: usize, key: &[u8]) -> MutexGuard<'_, ()> {
        self.turns[stripe(database, key)].lock()
    }

    /// The same of several keys.
    pub(crate) fn lock_rows_of<'k>(
        &self,
        database: usize,
        keys: impl Iterator<Item = &'k [u8]>,
    ) -> Vec<MutexGuard<'_, ()>> {
        // All callers lock in the same order, so no two wait for each other.
        let stripes: BTreeSet<usize> = keys.map(|key| stripe(database, key)).collect();
        stripes.into_iter().map(|stripe| self.turns[stripe].lock()).collect()
    }
}

/// Which lock is that of the rows of a key.
fn stripe(database: usize, key: &[u8]) -> usize {
    BuildHasherDefault::<DefaultHasher>::default().hash_one((database, key)) as usize % STRIPES
}

impl Space {
    /// Whether a write over a key may leave something behind elsewhere.
    pub fn is_checked_before_writes(&self) -> bool {
        self.has_sets.load(Ordering::Acquire) || self.has_rows.load(Ordering::Acquire)
    }

    /// The keyspace with the rows of aggregates; it is made when there is none.
    pub fn rows(&self, tenant: &Tenant) -> Outcome<&Keyspace> {
        if let Some(rows) = self.rows.get() {
            return Ok(rows);
        }
        let rows = tenant.database.kv(&self.rows_name)?;
        Ok(self.rows.get_or_init(|| rows))
    }

    /// Whether its keyspace was dropped, even when there is another of its name by now.
    pub fn is_gone(&self) -> bool {
        let is_gone =
            |keyspace: &Keyspace| keyspace.contains(" ").is_err_and(|error| error.kind == ErrorKind::NotFound);
        is_gone(&self.keyspace) || self.rows.get().is_some_and(is_gone)
    }

    /// Deletes every key and the collections of all vector sets. The rows of aggregates are left.
    pub fn flush(&self, tenant: &Tenant, durability: Durability) -> Outcome<()> {
        let _alone = tenant.sets.write();
        self.keyspace.with_durability(durability).delete_prefix("")?;
        tenant.set_collections(self.number)?.iter().try_for_each(|name| tenant.drop_collection(name))
    }
}

pub(crate) fn keyspace_name(number: usize) -> String {
    format!("redis.{number}")
}

/// Returns the prefix of the collections' names.
pub(crate) fn collection_prefix(number: usize) -> String {
    format!("redis.{number}.")
}
