//! Reading a keyspace: live, or as of a snapshot.

use std::ops::ControlFlow;
use std::time::Duration;

use nuthatch_store::{CachedOnly, Direction, Reader, Shard, Table};

use crate::call::Watched;
use crate::descriptor::meta::{self, Meta, meta_key};
use crate::kv::page::{KeyPage, KeyScan};
use crate::kv::value::{Body, Stored};
use crate::kv::{Entry, Keyspace, Space};
use crate::runtime::{Reservation, in_memory, in_the_end};
use crate::{Error, Result};

/// Keys up to which [`Keyspace::count_estimate`] counts instead of estimating.
pub(crate) const COUNTED_KEYS: u64 = 10_000;
/// Values that are read together: what is read has its room when it is looked at.
const READ_AT_ONCE: usize = 256;
/// Large values are read in one go from this many on, if each is at most `BLOBS_APART` from the next by number.
const BLOBS_TOGETHER: usize = 8;
const BLOBS_APART: u64 = 4;

/// A value, and how long it has to live, if not for ever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LivingValue {
    /// All bytes of it.
    pub value: Vec<u8>,
    /// From the reading on; `None`: it never expires.
    pub expires_in: Option<Duration>,
}

impl Keyspace {
    #[cfg(test)]
    pub fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<Vec<u8>>> {
        Ok(self.entries(&[key])?.pop().flatten().map(|entry| entry.value))
    }

    /// The values of several keys with when they expire, in their order, as of one moment.
    pub fn entries<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Vec<Option<Entry>>> {
        self.space.check_open()?;
        self.call.waits().check()?;
        let store = self.space.shared.store()?;
        if let [key] = keys {
            // One read is of one moment by itself, unless its value lies elsewhere.
            match self.space.stored(&*store, key.as_ref(), self.space.now_ms())? {
                Some(Stored { body: Body::Large { .. }, .. }) => {}
                found => return Ok(vec![found.map(|stored| self.space.entry_of(&*store, stored)).transpose()?]),
            }
        }
        let (snapshot, waits) = (store.snapshot(), self.call.waits());
        let reader = Watched::new(&*snapshot, waits);
        self.space.entries(&reader, keys, self.space.now_ms(), &mut self.space.shared.reservation(waits))
    }

    /// Whether the key is there and has not expired.
    pub fn contains(&self, key: impl AsRef<[u8]>) -> Result<bool> {
        self.space.check_open()?;
        self.call.waits().check()?;
        let store = self.space.shared.store()?;
        Ok(self.space.stored(&*store, key.as_ref(), self.space.now_ms())?.is_some())
    }

    /// One page of keys, as of one moment.
    ///
    /// # Errors
    /// `Invalid` for a limit of 0 or over 10,000, or a cursor that is none.
    pub fn scan(&self, scan: &KeyScan) -> Result<KeyPage> {
        self.space.check_open()?;
        let store = self.space.shared.store()?;
        let (snapshot, waits) = (store.snapshot(), self.call.waits());
        let reader = Watched::new(&*snapshot, waits);
        self.space.page(&reader, scan, self.space.now_ms(), &mut self.space.shared.reservation(waits))
    }

    /// About how many keys begin with `prefix`: exact up to 10,000, from the sizes of files beyond. Keys that have expired and
    /// those that were deleted lately may still count.
    pub fn count_estimate(&self, prefix: impl AsRef<[u8]>) -> Result<u64> {
        self.space.check_open()?;
        let store = self.space.shared.store()?;
        let Some((from, to)) = KeyScan::prefix(prefix.as_ref()).bounds(self.space.shard)? else { return Ok(0) };
        let mut counted = 0;
        let reader = Watched::new(&*store, self.call.waits());
        reader.scan(Table::Kv, &from, &to, Direction::Forward, &mut |_, _| {
            counted += 1;
            match counted > COUNTED_KEYS {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        })?;
        if counted <= COUNTED_KEYS {
            return Ok(counted);
        }
        Ok(counted.max(self.space.estimate(prefix.as_ref())?))
    }
}

impl Space {
    /// About how many keys begin with `prefix`, from the sizes of files where the store has any.
    pub(crate) fn estimate(&self, prefix: &[u8]) -> Result<u64> {
        let store = self.shared.store()?;
        let Some((from, to)) = KeyScan::prefix(prefix).bounds(self.shard)? else { return Ok(0) };
        let estimate = |from: &[u8], to: &[u8]| match store.upkeep() {
            Some(upkeep) => upkeep.estimate(Table::Kv, from, to),
            None => Ok(None),
        };
        let Some(part) = estimate(&from, &to)? else {
            let mut all = 0;
            store.scan(Table::Kv, &from, &to, Direction::Forward, &mut |_, _| {
                all += 1;
                ControlFlow::Continue(())
            })?;
            return Ok(all);
        };
        let (keys, bytes) = match self.counted_keys() {
            // Nothing of what is another tenant's goes into the estimate.
            Some(keys) => {
                let own = estimate(&self.shard.prefix(), &self.shard.end())?;
                (keys, own.map_or(0, |own| own.bytes))
            }
            None => (part.table_keys, part.table_bytes),
        };
        let share = part.bytes as f64 / bytes.max(1) as f64;
        Ok((keys as f64 * share.min(1.0)) as u64)
    }

    pub(crate) fn now_ms(&self) -> u64 {
        self.shared.options.clock.now_ms()
    }

    /// Returns the stored value of a key if it is in memory; `None` otherwise.
    pub(crate) fn get_cached(&self, key: &[u8]) -> Result<Option<Option<LivingValue>>> {
        self.check_open()?;
        let store = self.shared.store()?;
        let (reader, now_ms) = (CachedOnly::live(&*store), self.now_ms());
        Ok(match reader.unless_missed(self.stored(&reader, key, now_ms))? {
            Some(None) => Some(None),
            Some(Some(Stored { body: Body::Inline(value), expires_at_ms })) => {
                let expires_in = expires_at_ms.map(|at| Duration::from_millis(at - now_ms));
                Some(Some(LivingValue { value, expires_in }))
            }
            // Its bytes lie elsewhere, and there are many of them.
            Some(Some(_)) | None => None,
        })
    }

    /// Returns the stored value of a key, unless it has expired.
    pub(crate) fn stored(&self, reader: &dyn Reader, key: &[u8], now_ms: u64) -> Result<Option<Stored>> {
        let Some(bytes) = reader.get(Table::Kv, &self.shard.key(key))? else { return Ok(None) };
        Ok(Some(Stored::decode(bytes)?).filter(|stored| !stored.is_expired(now_ms)))
    }

    pub(crate) fn entries<K: AsRef<[u8]>>(
        &self,
        reader: &dyn Reader,
        keys: &[K],
        now_ms: u64,
        reservation: &mut Reservation<'_>,
    ) -> Result<Vec<Option<Entry>>> {
        let mut entries = Vec::with_capacity(keys.len());
        let mut held = 0;
        for some in keys.chunks(READ_AT_ONCE) {
            let some: Vec<Vec<u8>> = some.iter().map(|key| self.shard.key(key.as_ref())).collect();
            for bytes in reader.multi_get(Table::Kv, &some)? {
                let stored = bytes.map(Stored::decode).transpose()?.filter(|stored| !stored.is_expired(now_ms));
                let bytes = stored.as_ref().map_or(0, |stored| stored.body.bytes());
                held += in_memory(1, 0) + bytes;
                reservation.holds(held, in_the_end(keys.len(), entries.len() + 1, held))?;
                entries.push(stored.map(|stored| self.entry_of(reader, stored)).transpose()?);
            }
        }
        Ok(entries)
    }

    /// Converts a stored value to the form that callers get; `reader` must be the one that returned it.
    pub(crate) fn entry_of(&self, reader: &dyn Reader, stored: Stored) -> Result<Entry> {
        Ok(Entry { value: self.whole(reader, stored.body)?, expires_at_ms: stored.expires_at_ms })
    }

    /// The row of a record of the same tenant.
    pub(crate) fn row_of(&self, reader: &dyn Reader, collection: u32, id: &str) -> Result<Option<u64>> {
        let shard = Shard { collection, ..self.shard };
        Ok(reader
            .get(Table::Ids, &shard.key(id.as_bytes()))?
            .and_then(|row| row.try_into().ok().map(u64::from_be_bytes)))
    }

    /// The stored record of a row of a collection of the same tenant.
    pub(crate) fn record_bytes(&self, reader: &dyn Reader, collection: u32, row: u64) -> Result<Option<Vec<u8>>> {
        Ok(reader.get(Table::Records, &Shard { collection, ..self.shard }.number_key(row))?)
    }

    /// The number of a collection of the same tenant.
    pub(crate) fn collection_number(&self, reader: &dyn Reader, name: &str) -> Result<Option<u32>> {
        let found: Option<Meta> = meta::read(reader, &meta_key(self.shard.tenant, name))?;
        Ok(found.map(|meta| meta.id))
    }

    /// Returns values of the table `blobs`, by number. Numbers that lie close together are read in one go, past the
    /// cache: they share blocks, and a caller that asks for that many reads a whole folder.
    pub(crate) fn blobs(&self, reader: &dyn Reader, numbers: &[u64]) -> Result<Vec<Option<Vec<u8>>>> {
        let mut wanted: Vec<(u64, usize)> = numbers.iter().copied().zip(0..).collect();
        wanted.sort_unstable();
        let mut found = vec![None; numbers.len()];
        let mut alone = Vec::new();
        for run in wanted.chunk_by(|(one, _), (next, _)| next - one <= BLOBS_APART) {
            if run.len() < BLOBS_TOGETHER {
                alone.extend_from_slice(run);
                continue;
            }
            let (from, to) = (self.shard.number_key(run[0].0), self.shard.number_key(run[run.len() - 1].0 + 1));
            let mut left = run;
            reader.scan_once(Table::Blobs, &from, &to, &mut |key, value| {
                let number = key.last_chunk().map_or(0, |number| u64::from_be_bytes(*number));
                left = &left[left.partition_point(|(wanted, _)| *wanted < number)..];
                left.iter()
                    .take_while(|(wanted, _)| *wanted == number)
                    .for_each(|(_, at)| found[*at] = Some(value.to_vec()));
                ControlFlow::Continue(())
            })?;
        }
        let keys: Vec<Vec<u8>> = alone.iter().map(|(number, _)| self.shard.number_key(*number)).collect();
        for ((_, at), value) in alone.iter().zip(reader.multi_get(Table::Blobs, &keys)?) {
            found[*at] = value;
        }
        Ok(found)
    }

    /// A value's bytes, wherever they are; `reader` must be the one that gave `body`.
    pub(crate) fn whole(&self, reader: &dyn Reader, body: Body) -> Result<Vec<u8>> {
        match body {
            Body::Inline(value) => Ok(value),
            Body::Large { number, .. } => {
                let value = reader.get(Table::Blobs, &self.shard.number_key(number))?;
                value.ok_or_else(|| Error::internal(format!("a large value of keyspace {:?} is missing", self.name)))
            }
        }
    }
}
