//! Writing a keyspace: one call, one batch.

use std::collections::HashSet;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::sync::atomic::Ordering;
use std::time::Duration;

use nuthatch_store::{Batch, Table};
use parking_lot::{Mutex, MutexGuard};

use crate::call::{Call, Outcome, OutcomeValue};
use crate::kv::page::KeyScan;
use crate::kv::value::{Body, Stored};
use crate::kv::{Keyspace, STRIPES, Space};
use crate::{Error, ErrorKind, Result};

/// Longest key in bytes.
pub const KEY_BYTES_MAX: usize = 65_535;
/// Longest value in bytes.
pub const VALUE_BYTES_MAX: usize = 64 << 20;
/// From here on a value lies in a table of its own, whose files compaction need not rewrite.
const LARGE_VALUE_BYTES: usize = 64 << 10;
/// Keys deleted by one batch of `delete_prefix`.
const DELETED_AT_ONCE: usize = 10_000;

/// Times that a batch's bytes are in memory at most while it is written, and what a change takes besides.
const COPIES: u64 = 3;
const OP_OVERHEAD_BYTES: u64 = 256;

/// One change of a key.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum KvOp {
    /// Writes a key, whether it was there or not.
    Put {
        /// The key, up to [`KEY_BYTES_MAX`].
        #[serde(with = "crate::codec::bytes")]
        key: Vec<u8>,
        /// Its value, up to [`VALUE_BYTES_MAX`].
        #[serde(with = "crate::codec::bytes")]
        value: Vec<u8>,
        /// `None`: it never expires.
        expires_in: Option<Duration>,
    },
    /// Removes a key; one that is not there is no error.
    Delete {
        /// The key.
        #[serde(with = "crate::codec::bytes")]
        key: Vec<u8>,
    },
    /// As `Put`, with the moment itself: for callers whose protocol names moments, which a duration would shift.
    PutUntil {
        /// The key, up to [`KEY_BYTES_MAX`].
        #[serde(with = "crate::codec::bytes")]
        key: Vec<u8>,
        /// Its value, up to [`VALUE_BYTES_MAX`].
        #[serde(with = "crate::codec::bytes")]
        value: Vec<u8>,
        /// Milliseconds since 1970. One that has passed: the key is gone at once.
        expires_at_ms: u64,
    },
}

/// A value, and when it expires.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Entry {
    /// All bytes of it.
    #[serde(with = "crate::codec::bytes")]
    pub value: Vec<u8>,
    /// Milliseconds since 1970; `None`: never.
    pub expires_at_ms: Option<u64>,
}

/// How staged changes move the counters of their keyspace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Staged {
    pub keys: i64,
    pub bytes: i64,
}

impl KvOp {
    /// The key that it changes.
    pub fn key(&self) -> &[u8] {
        match self {
            Self::Put { key, .. } | Self::Delete { key } | Self::PutUntil { key, .. } => key,
        }
    }

    /// Of its key and value.
    fn bytes(&self) -> u64 {
        let value = match self {
            Self::Put { value, .. } | Self::PutUntil { value, .. } => value.len(),
            Self::Delete { .. } => 0,
        };
        (self.key().len() + value) as u64
    }

    /// Whether it could be written.
    ///
    /// # Errors
    /// `Invalid` for an empty or too long key, or no time to live; `Exhausted` for too large a value.
    pub fn check(&self) -> Result<()> {
        check_key(self.key())?;
        match self {
            Self::Put { value, .. } | Self::PutUntil { value, .. } if value.len() > VALUE_BYTES_MAX => Err(Error::new(
                ErrorKind::Exhausted,
                format!(
                    "the value has {} bytes, and the limit is {VALUE_BYTES_MAX} (64 MiB); split it over several keys",
                    value.len()
                ),
            )),
            Self::Put { expires_in: Some(Duration::ZERO), .. } => {
                Err(Error::invalid("the time to live is 0; give a positive one, or delete the key"))
            }
            _ => Ok(()),
        }
    }
}

impl Keyspace {
    /// Sets and deletes several keys, all or nothing. Of several changes of one key the last holds.
    pub fn multi_put(&self, ops: Vec<KvOp>) -> Result<()> {
        ops.iter().try_for_each(KvOp::check)?;
        self.space.write(ops, self.durability, &self.call)
    }

    /// Deletes keys; says how many of them were there.
    pub fn delete<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<u64> {
        let ops: Vec<KvOp> = keys.iter().map(|key| KvOp::Delete { key: key.as_ref().into() }).collect();
        ops.iter().try_for_each(KvOp::check)?;
        let ops = latest_of_each_key(ops);
        let space = &self.space;
        let position = {
            let _commit = space.shared.store.commit.read();
            space.check_open()?;
            let _keys = space.lock(ops.iter().map(KvOp::key));
            let store = space.shared.store()?;
            let mut there = Vec::new();
            for op in ops {
                if space.stored(&*store, op.key(), space.now_ms())?.is_some() {
                    there.push(op);
                }
            }
            let mut batch = Batch::new();
            let deleted = there.len() as u64;
            let staged = space.stage(&mut batch, there)?;
            self.call.sign(&mut batch, Outcome { deleted, ..Outcome::default() });
            (space.write_staged(batch, staged)?, deleted)
        };
        space.shared.make_durable(position.0, self.durability)?;
        Ok(position.1)
    }

    /// Deletes all keys that begin with `prefix` (an empty one: all keys); says how many. Up to 10,000 are one batch.
    pub fn delete_prefix(&self, prefix: impl AsRef<[u8]>) -> Result<u64> {
        let space = &self.space;
        let scan = KeyScan { limit: DELETED_AT_ONCE, keys_only: true, ..KeyScan::prefix(prefix.as_ref()) };
        let mut deleted = 0;
        loop {
            let position = {
                let _commit = space.shared.store.commit.write();
                space.check_open()?;
                let reservation = &mut space.shared.reservation_at_once();
                let page = space.page(&*space.shared.store()?, &scan, 0, reservation)?; // 0: what has expired, too
                if page.entries.is_empty() {
                    return Ok(deleted);
                }
                let gone = page.entries.len() as u64;
                deleted += gone;
                let mut batch = Batch::new();
                self.call.sign(&mut batch, Outcome { deleted: gone, ..Outcome::default() });
                let gone = page.entries.into_iter().map(|(key, _)| KvOp::Delete { key });
                let staged = space.stage(&mut batch, gone.collect())?;
                space.write_staged(batch, staged)?
            };
            space.shared.make_durable(position, self.durability)?;
        }
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
        let op = match new {
            Some(value) => KvOp::Put { key: key.into(), value: value.into(), expires_in },
            None => KvOp::Delete { key: key.into() },
        };
        op.check()?;
        self.update(key, |_, old| match old.as_deref() == expected {
            true => Ok((Some(op), true)),
            false => Ok((None, false)),
        })
    }

    /// Writes the change of a key if value and expiry are `expected` (or it is not there, `None`). True when they were.
    pub fn write_if(&self, expected: Option<&Entry>, op: KvOp) -> Result<bool> {
        op.check()?;
        let key = op.key().to_vec();
        self.update_entry(&key, |_, old| match old.as_ref() == expected {
            true => Ok((Some(op), true)),
            false => Ok((None, false)),
        })
    }

    /// Adds `by` to a whole number in decimal digits, 0 when the key is not there, and says the sum. When it expires stays.
    ///
    /// # Errors
    /// `Invalid` when the value is no whole number, or the sum is beyond 64 bits.
    pub fn increment(&self, key: impl AsRef<[u8]>, by: i64) -> Result<i64> {
        let key = key.as_ref();
        check_key(key)?;
        self.update(key, |expires_in, old| {
            let number = match &old {
                None => 0,
                Some(bytes) => std::str::from_utf8(bytes)
                    .ok()
                    .and_then(|text| text.parse::<i64>().ok())
                    .ok_or_else(|| Error::invalid(format!("the value of {} is not a 64-bit integer", shown(key))))?,
            };
            let sum = number
                .checked_add(by)
                .ok_or_else(|| Error::invalid(format!("{number} + {by} does not fit into 64 bits")))?;
            Ok((Some(KvOp::Put { key: key.into(), value: sum.to_string().into_bytes(), expires_in }), sum))
        })
    }

    /// Appends to a value, an empty one when the key is not there, and says its length then. When it expires stays.
    pub fn append(&self, key: impl AsRef<[u8]>, more: &[u8]) -> Result<u64> {
        let key = key.as_ref();
        check_key(key)?;
        self.update(key, |expires_in, old| {
            let mut value = old.unwrap_or_default();
            value.extend_from_slice(more);
            let length = value.len() as u64;
            let op = KvOp::Put { key: key.into(), value, expires_in };
            op.check()?;
            Ok((Some(op), length))
        })
    }

    /// Changes when a key expires; `None`: never. False when it is not there.
    pub fn expire(&self, key: impl AsRef<[u8]>, expires_in: Option<Duration>) -> Result<bool> {
        let key = key.as_ref();
        self.update(key, |_, old| {
            let Some(value) = old else { return Ok((None, false)) };
            let op = KvOp::Put { key: key.into(), value, expires_in };
            op.check()?;
            Ok((Some(op), true))
        })
    }

    /// Reads a key and writes it atomically. The change gets the old value and how long it had to live.
    fn update<T: OutcomeValue>(
        &self,
        key: &[u8],
        change: impl FnOnce(Option<Duration>, Option<Vec<u8>>) -> Result<(Option<KvOp>, T)>,
    ) -> Result<T> {
        self.update_entry(key, |now, old| {
            let expires_at_ms = old.as_ref().and_then(|old| old.expires_at_ms);
            change(expires_at_ms.map(|at| Duration::from_millis(at - now)), old.map(|old| old.value))
        })
    }

    /// The same, given the time and the old entry.
    fn update_entry<T: OutcomeValue>(
        &self,
        key: &[u8],
        change: impl FnOnce(u64, Option<Entry>) -> Result<(Option<KvOp>, T)>,
    ) -> Result<T> {
        let space = &self.space;
        let (position, outcome) = {
            let _commit = space.shared.store.commit.read();
            space.check_open()?;
            let _key = space.lock(std::iter::once(key));
            let store = space.shared.store()?;
            let now = space.now_ms();
            let stored = space.stored(&*store, key, now)?;
            let old = stored.map(|stored| space.entry_of(&*store, stored)).transpose()?;
            let (op, outcome) = change(now, old)?;
            let Some(op) = op else { return Ok(outcome) };
            let mut batch = Batch::new();
            let staged = space.stage(&mut batch, vec![op])?;
            self.call.sign(&mut batch, Outcome { value: outcome.outcome_value(), ..Outcome::default() });
            (space.write_staged(batch, staged)?, outcome)
        };
        space.shared.make_durable(position, self.durability)?;
        Ok(outcome)
    }
}

/// The estimated memory of writing such changes: themselves, the batch, and the log's copy of it.
pub(crate) fn batch_bytes<'o>(ops: impl ExactSizeIterator<Item = &'o KvOp>) -> u64 {
    ops.len() as u64 * OP_OVERHEAD_BYTES + ops.map(KvOp::bytes).sum::<u64>() * COPIES
}

impl Space {
    fn write(&self, ops: Vec<KvOp>, durability: crate::Durability, call: &Call) -> Result<()> {
        let ops = latest_of_each_key(ops);
        let reservation = self.shared.reserve_to_write(batch_bytes(ops.iter()))?;
        let position = {
            let _commit = self.shared.store.commit.read();
            self.check_open()?;
            let _keys = self.lock(ops.iter().map(KvOp::key));
            let mut batch = Batch::new();
            let staged = self.stage(&mut batch, ops)?;
            call.sign(&mut batch, Outcome::default());
            self.write_staged(batch, staged)?
        };
        drop(reservation);
        self.shared.make_durable(position, durability)
    }

    /// Keeps other writers off these keys.
    pub(crate) fn lock<'s, 'k>(&'s self, keys: impl ExactSizeIterator<Item = &'k [u8]>) -> Vec<MutexGuard<'s, ()>> {
        if keys.len() >= STRIPES {
            return self.stripes.iter().map(Mutex::lock).collect();
        }
        let hasher = BuildHasherDefault::<DefaultHasher>::default();
        let mut stripes: Vec<usize> = keys.map(|key| hasher.hash_one(key) as usize % STRIPES).collect();
        // In one order, so that two batches never wait for each other.
        stripes.sort_unstable();
        stripes.dedup();
        stripes.into_iter().map(|at| self.stripes[at].lock()).collect()
    }

    /// Adds changes to a batch, each of another key, and clears what the old values left. The caller keeps other
    /// writers off the keys until the batch is written.
    pub(crate) fn stage(&self, batch: &mut Batch, ops: Vec<KvOp>) -> Result<Staged> {
        let now = self.now_ms();
        let mut staged = Staged::default();
        for op in ops {
            if self.leaves_traces()
                && let Some(bytes) = self.stage_removal(batch, op.key())?
            {
                staged.keys -= 1;
                staged.bytes -= bytes as i64;
            }
            let (key, value, expires_at_ms) = match op {
                KvOp::Delete { key } => {
                    batch.delete(Table::Kv, self.shard.key(&key));
                    continue;
                }
                KvOp::Put { key, value, expires_in } => {
                    (key, value, expires_in.map(|left| now.saturating_add(left.as_millis().max(1) as u64)))
                }
                KvOp::PutUntil { key, value, expires_at_ms } => (key, value, Some(expires_at_ms)),
            };
            if let Some(at) = expires_at_ms {
                self.expires.store(true, Ordering::Release);
                batch.put(Table::Expiry, self.expiry_key(at, &key), Vec::new());
                self.next_due_ms.fetch_min(at, Ordering::AcqRel);
            }
            let body = match value.len() >= LARGE_VALUE_BYTES {
                false => Body::Inline(value),
                true => {
                    self.has_large.store(true, Ordering::Release);
                    let number = self.next_blob()?;
                    let bytes = value.len() as u64;
                    batch.put(Table::Blobs, self.shard.number_key(number), value);
                    Body::Large { number, bytes }
                }
            };
            let stored = Stored { body, expires_at_ms };
            staged.keys += 1;
            staged.bytes += stored.counted_bytes(key.len()) as i64;
            batch.put(Table::Kv, self.shard.key(&key), stored.encode());
        }
        Ok(staged)
    }

    /// Removes a key, with what its value has in other tables. Returns the bytes counted for it, if it was there.
    fn stage_removal(&self, batch: &mut Batch, key: &[u8]) -> Result<Option<u64>> {
        let Some(old) = self.shared.store()?.get(Table::Kv, &self.shard.key(key))? else { return Ok(None) };
        let old = Stored::decode(old)?;
        let counted = old.counted_bytes(key.len());
        if let Some(at) = old.expires_at_ms {
            batch.delete(Table::Expiry, self.expiry_key(at, key));
        }
        if let Body::Large { number, .. } = old.body {
            batch.delete(Table::Blobs, self.shard.number_key(number));
        }
        Ok(Some(counted))
    }

    pub(crate) fn expiry_key(&self, at_ms: u64, key: &[u8]) -> Vec<u8> {
        let mut full = self.shard.number_key(at_ms);
        full.extend_from_slice(key);
        full
    }
}

/// The effective changes, in their order: of several of one key the last.
fn latest_of_each_key(mut ops: Vec<KvOp>) -> Vec<KvOp> {
    if ops.len() < 2 {
        return ops;
    }
    let mut seen = HashSet::with_capacity(ops.len());
    let mut holds: Vec<bool> = ops.iter().rev().map(|op| seen.insert(op.key())).collect();
    if holds.iter().all(|holds| *holds) {
        return ops;
    }
    ops.retain(|_| holds.pop().expect("one for each change"));
    ops
}

fn check_key(key: &[u8]) -> Result<()> {
    match key.len() {
        1..=KEY_BYTES_MAX => Ok(()),
        0 => Err(Error::invalid("the key is empty; give at least one byte")),
        bytes => Err(Error::invalid(format!("the key has {bytes} bytes; the limit is {KEY_BYTES_MAX}"))),
    }
}

/// A key for an error message.
fn shown(key: &[u8]) -> String {
    crate::record::shortened(&String::from_utf8_lossy(key)).to_string()
}
