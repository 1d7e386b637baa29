//! The keyspace that callers see: the local one where this process holds the folder, requests where another does.

use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;

use crate::codec::Bytes;
use crate::database::Database as LocalDatabase;
use crate::durability::Durability;
use crate::kv::{Entry, KeyPage, KeyScan, Keyspace as LocalKeyspace, KvOp};
use crate::process::limits::Limits;
use crate::process::request::{KvCall, Place, Request};
use crate::process::route::Route;
use crate::process::side::{Anchor, Side, the_same};
use crate::{EmbedderChoice, Result, What};

/// A handle on a keyspace. Cheap to clone; safe to share between threads and with forks of the process.
#[derive(Clone)]
pub struct Keyspace {
    anchor: Arc<Anchor<LocalKeyspace>>,
    durability: Durability,
}

impl Keyspace {
    pub(crate) fn held(link: Route, local: LocalKeyspace) -> Self {
        let place = Place { name: local.name().to_string(), id: local.space.shard.collection };
        Self { anchor: Arc::new(Anchor::held(link, place, local)), durability: Durability::default() }
    }

    pub(crate) fn served(link: Route, name: &str, id: u32) -> Self {
        let place = Place { name: name.to_string(), id };
        Self { anchor: Arc::new(Anchor::served(link, place)), durability: Durability::default() }
    }

    pub fn name(&self) -> &str {
        &self.anchor.place.name
    }

    /// The same keyspace, written with another durability.
    pub fn with_durability(&self, durability: Durability) -> Self {
        Self { anchor: self.anchor.clone(), durability }
    }

    /// The value of a key; `None` when there is none, or it has expired.
    pub fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<Vec<u8>>> {
        match self.side()? {
            Side::Here(local) => local.get(key),
            Side::There(link) => {
                let value: Option<Bytes> = self.ask(&link, KvCall::Get(key.as_ref().into()))?;
                Ok(value.map(|value| value.0))
            }
        }
    }

    /// The values of several keys, in their order, as of one moment.
    pub fn multi_get<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Vec<Option<Vec<u8>>>> {
        match self.side()? {
            Side::Here(local) => local.multi_get(keys),
            Side::There(link) => {
                let values: Vec<Option<Bytes>> = self.ask(&link, KvCall::MultiGet(several(keys)))?;
                Ok(values.into_iter().map(|value| value.map(|value| value.0)).collect())
            }
        }
    }

    /// The values of several keys with when they expire, in their order, as of one moment.
    pub fn entries<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Vec<Option<Entry>>> {
        self.either(|local| local.entries(keys), || KvCall::Entries(several(keys)))
    }

    pub fn contains(&self, key: impl AsRef<[u8]>) -> Result<bool> {
        self.either(|local| local.contains(key.as_ref()), || KvCall::Contains(key.as_ref().into()))
    }

    /// How long a key has to live: `None` when it is not there, `Some(None)` when it never expires.
    pub fn expires_in(&self, key: impl AsRef<[u8]>) -> Result<Option<Option<Duration>>> {
        self.either(|local| local.expires_in(key.as_ref()), || KvCall::ExpiresIn(key.as_ref().into()))
    }

    /// One page of keys, as of one moment.
    ///
    /// # Errors
    /// `Invalid` for a limit of 0 or over 10,000, or a cursor that is none.
    pub fn scan(&self, scan: &KeyScan) -> Result<KeyPage> {
        self.either(|local| local.scan(scan), || KvCall::Scan(scan.clone()))
    }

    /// About how many keys begin with `prefix`: exact up to 10,000, from the sizes of files beyond. Keys that have expired and
    /// those that were deleted lately may still count.
    pub fn count_estimate(&self, prefix: impl AsRef<[u8]>) -> Result<u64> {
        self.either(|local| local.count_estimate(prefix.as_ref()), || KvCall::CountEstimate(prefix.as_ref().into()))
    }

    /// Sets a key. It never expires.
    ///
    /// # Errors
    /// `Invalid` for an empty key or one over 65,535 bytes; `Exhausted` for a value over 64 MiB or a full disk.
    pub fn put(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<()> {
        self.multi_put(vec![KvOp::Put { key: key.as_ref().into(), value: value.as_ref().into(), expires_in: None }])
    }

    /// Sets a key that is gone after `expires_in`.
    pub fn put_expiring(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>, expires_in: Duration) -> Result<()> {
        let expires_in = Some(expires_in);
        self.multi_put(vec![KvOp::Put { key: key.as_ref().into(), value: value.as_ref().into(), expires_in }])
    }

    /// Sets and deletes several keys, all or nothing. Of several changes of one key the last holds.
    pub fn multi_put(&self, ops: Vec<KvOp>) -> Result<()> {
        match self.side()? {
            Side::Here(local) => local.multi_put(ops),
            Side::There(link) => self.ask(&link, KvCall::MultiPut(ops)),
        }
    }

    /// Deletes keys; says how many of them were there.
    pub fn delete<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<u64> {
        self.either(|local| local.delete(keys), || KvCall::Delete(several(keys)))
    }

    /// Deletes all keys that begin with `prefix` (an empty one: all keys); says how many. Up to 10,000 are one batch.
    pub fn delete_prefix(&self, prefix: impl AsRef<[u8]>) -> Result<u64> {
        self.either(|local| local.delete_prefix(prefix.as_ref()), || KvCall::DeletePrefix(prefix.as_ref().into()))
    }

    /// Sets the key to `new` (or deletes it, `None`) if its value is `expected` (or it is not there, `None`). True when it was.
    pub fn compare_and_set(
        &self,
        key: impl AsRef<[u8]>,
        expected: Option<&[u8]>,
        new: Option<&[u8]>,
        expires_in: Option<Duration>,
    ) -> Result<bool> {
        let key = key.as_ref();
        self.either(
            |local| local.compare_and_set(key, expected, new, expires_in),
            || KvCall::CompareAndSet {
                key: key.into(),
                expected: expected.map(Into::into),
                new: new.map(Into::into),
                expires_in,
            },
        )
    }

    /// Writes the change of a key if value and expiry are `expected` (or it is not there, `None`). True when they were.
    pub fn write_if(&self, expected: Option<&Entry>, op: KvOp) -> Result<bool> {
        match self.side()? {
            Side::Here(local) => local.write_if(expected, op),
            Side::There(link) => self.ask(&link, KvCall::WriteIf { expected: expected.cloned(), op }),
        }
    }

    /// Adds `by` to a whole number in decimal digits, 0 when the key is not there, and says the sum. When it expires stays.
    ///
    /// # Errors
    /// `Invalid` when the value is no whole number, or the sum is beyond 64 bits.
    pub fn increment(&self, key: impl AsRef<[u8]>, by: i64) -> Result<i64> {
        self.either(|local| local.increment(key.as_ref(), by), || KvCall::Increment { key: key.as_ref().into(), by })
    }

    /// Appends to a value, an empty one when the key is not there, and says its length then. When it expires stays.
    pub fn append(&self, key: impl AsRef<[u8]>, more: &[u8]) -> Result<u64> {
        let key = key.as_ref();
        self.either(|local| local.append(key, more), || KvCall::Append { key: key.into(), more: more.into() })
    }

    /// Changes when a key expires; `None`: never. False when it is not there.
    pub fn expire(&self, key: impl AsRef<[u8]>, expires_in: Option<Duration>) -> Result<bool> {
        let key = key.as_ref();
        self.either(|local| local.expire(key, expires_in), || KvCall::Expire { key: key.into(), expires_in })
    }

    fn ask<T: DeserializeOwned>(&self, link: &Route, call: KvCall) -> Result<T> {
        let keyspace = self.anchor.place.clone();
        let request = Request::InKeyspace { keyspace, durability: self.durability, call };
        link.ask(request, &EmbedderChoice::None, &Limits::default())
    }

    fn side(&self) -> Result<Side<LocalKeyspace>> {
        let hand = |local: &LocalKeyspace| local.with_durability(self.durability);
        self.anchor.side(hand, |db| find(db, &self.anchor.place))
    }

    fn either<T: DeserializeOwned>(
        &self,
        here: impl FnOnce(&LocalKeyspace) -> Result<T>,
        there: impl FnOnce() -> KvCall,
    ) -> Result<T> {
        match self.side()? {
            Side::Here(local) => here(&local),
            Side::There(link) => self.ask(&link, there()),
        }
    }
}

/// The keyspace that a handle means, unless it was dropped.
pub(crate) fn find(db: &LocalDatabase, place: &Place) -> Result<LocalKeyspace> {
    the_same(What::Keyspace, place, db.existing_keyspace(&place.name), |found| found.space.shard.collection)
}

pub(crate) fn several<K: AsRef<[u8]>>(keys: &[K]) -> Vec<Bytes> {
    keys.iter().map(|key| key.as_ref().into()).collect()
}
