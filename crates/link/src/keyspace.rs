//! Keyspaces as callers see them.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use nuthatch_engine::Result;
use nuthatch_engine::codec::Bytes;
use nuthatch_engine::durability::Durability;
use nuthatch_engine::kv::{Entry, KeyPage, KeyScan, Keyspace as LocalKeyspace, Kind, KvOp};
use nuthatch_engine::ops::{Op, keys, on};

use crate::route::Route;
use crate::rows::{From, Inner};

/// The reads of a keyspace. A [`Keyspace`], a snapshot's keyspace and a transaction's keyspace all offer them. In a
/// snapshot, keys that had not expired when it was taken stay until it ends.
#[derive(Clone)]
pub struct Keys<'t> {
    pub(crate) from: From<'t>,
}

/// A handle on a keyspace. Cheap to clone; safe to share between threads and with forks of the process.
#[derive(Clone)]
pub struct Keyspace {
    keys: Keys<'static>,
    inner: Arc<Inner>,
    durability: Durability,
}

impl Keys<'_> {
    /// The keyspace's name.
    pub fn name(&self) -> &str {
        self.from.name()
    }

    /// The value of a key; `None` when there is none, or it has expired.
    pub fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<Vec<u8>>> {
        Ok(self.ask(keys::Get(key.as_ref().into()))?.map(|value| value.0))
    }

    /// The value of a key with when it expires.
    pub fn entry(&self, key: impl AsRef<[u8]>) -> Result<Option<Entry>> {
        Ok(self.entries(&[key])?.pop().flatten())
    }

    /// The values of several keys, in their order, as of one moment.
    pub fn multi_get<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Vec<Option<Vec<u8>>>> {
        let values = self.ask(keys::MultiGet(several(keys)))?;
        Ok(values.into_iter().map(|value| value.map(|value| value.0)).collect())
    }

    /// The values of several keys with when they expire, in their order, as of one moment.
    pub fn entries<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Vec<Option<Entry>>> {
        self.ask(keys::Entries(several(keys)))
    }

    /// Whether the key is there and has not expired.
    pub fn contains(&self, key: impl AsRef<[u8]>) -> Result<bool> {
        self.ask(keys::Contains(key.as_ref().into()))
    }

    /// How long a key has to live: `None` when it is not there, `Some(None)` when it never expires.
    pub fn expires_in(&self, key: impl AsRef<[u8]>) -> Result<Option<Option<Duration>>> {
        self.ask(keys::ExpiresIn(key.as_ref().into()))
    }

    /// One page of keys, as of one moment.
    ///
    /// # Errors
    /// `Invalid` for a limit of 0 or over 10,000, or a cursor that is none.
    pub fn scan(&self, scan: &KeyScan) -> Result<KeyPage> {
        self.ask(scan.clone())
    }

    /// About how many keys begin with `prefix`: exact up to 10,000, from the sizes of files beyond. Keys that have expired and
    /// those that were deleted lately may still count.
    pub fn count_estimate(&self, prefix: impl AsRef<[u8]>) -> Result<u64> {
        self.ask(keys::CountEstimate(prefix.as_ref().into()))
    }

    pub(crate) fn ask<O: Op<On = on::Keys>>(&self, op: O) -> Result<O::Answer> {
        self.from.ask(op)
    }
}

/// Reads are those of [`Keys`].
impl Deref for Keyspace {
    type Target = Keys<'static>;

    fn deref(&self) -> &Keys<'static> {
        &self.keys
    }
}

impl Keyspace {
    pub(crate) fn held(link: Route, local: LocalKeyspace) -> Self {
        Self::of(Inner::held(link, local))
    }

    pub(crate) fn served(link: Route, name: &str, id: u32) -> Self {
        Self::of(Inner::served(link, name, Kind::Plain, id))
    }

    fn of(inner: Inner) -> Self {
        let inner = Arc::new(inner);
        Self { keys: Keys { from: From::Now(inner.clone()) }, inner, durability: Durability::default() }
    }

    /// The same keyspace, written with another durability.
    pub fn with_durability(&self, durability: Durability) -> Self {
        Self { durability, ..self.clone() }
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

    /// Sets and deletes several keys, all or nothing. Of several changes of one key, the last one counts.
    pub fn multi_put(&self, ops: Vec<KvOp>) -> Result<()> {
        self.write(keys::MultiPut(ops))
    }

    /// Deletes keys; returns how many of them existed.
    pub fn delete<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<u64> {
        self.write(keys::Delete(several(keys)))
    }

    /// Deletes all keys that begin with `prefix` (an empty one: all keys); says how many. Up to 10,000 are one batch.
    pub fn delete_prefix(&self, prefix: impl AsRef<[u8]>) -> Result<u64> {
        self.write(keys::DeletePrefix(prefix.as_ref().into()))
    }

    /// Sets the key to `new` (or deletes it, `None`) if its value is `expected` (or it is not there, `None`). True when it was.
    pub fn compare_and_set(
        &self,
        key: impl AsRef<[u8]>,
        expected: Option<&[u8]>,
        new: Option<&[u8]>,
        expires_in: Option<Duration>,
    ) -> Result<bool> {
        let (expected, new) = (expected.map(Into::into), new.map(Into::into));
        self.write(keys::CompareAndSet { key: key.as_ref().into(), expected, new, expires_in })
    }

    /// Writes the change of a key if value and expiry are `expected` (or it is not there, `None`). True when they were.
    pub fn write_if(&self, expected: Option<&Entry>, op: KvOp) -> Result<bool> {
        self.write(keys::WriteIf { expected: expected.cloned(), op })
    }

    /// Adds `by` to a whole number in decimal digits, 0 when the key is not there, and returns the sum. Keeps the key's
    /// expiry.
    ///
    /// # Errors
    /// `Invalid` when the value is no whole number, or the sum is beyond 64 bits.
    pub fn increment(&self, key: impl AsRef<[u8]>, by: i64) -> Result<i64> {
        self.write(keys::Increment { key: key.as_ref().into(), by })
    }

    /// Appends to a value, an empty one when the key is not there, and returns the new length. Keeps the key's expiry.
    pub fn append(&self, key: impl AsRef<[u8]>, more: &[u8]) -> Result<u64> {
        self.write(keys::Append { key: key.as_ref().into(), more: more.into() })
    }

    /// Changes when a key expires; `None`: never. False when it is not there.
    pub fn expire(&self, key: impl AsRef<[u8]>, expires_in: Option<Duration>) -> Result<bool> {
        self.write(keys::Expire { key: key.as_ref().into(), expires_in })
    }

    fn write<O: Op<On = on::Keys>>(&self, op: O) -> Result<O::Answer> {
        self.inner.ask(op, self.durability)
    }
}

fn several<K: AsRef<[u8]>>(keys: &[K]) -> Vec<Bytes> {
    keys.iter().map(|key| key.as_ref().into()).collect()
}
