//! A keyspace inside a transaction.

use std::collections::BTreeMap;
use std::time::Duration;

use nuthatch_store::{Shard, Table};

use crate::Result;
use crate::kv::{Entry, KeyPage, KeyScan, Kind, KvOp};
use crate::process::SnapshotKeyspace;
use crate::transaction::{Transaction, Work};

/// A keyspace as the transaction sees it: as it was when that began, and what it has written itself.
pub struct TransactionKeyspace<'t> {
    pub(crate) transaction: &'t Transaction,
    pub(crate) kept: SnapshotKeyspace,
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) shard: Shard,
}

impl TransactionKeyspace<'_> {
    pub fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<Vec<u8>>> {
        Ok(self.entry(key)?.map(|entry| entry.value))
    }

    /// The value of a key with when it expires.
    pub fn entry(&self, key: impl AsRef<[u8]>) -> Result<Option<Entry>> {
        let key = key.as_ref();
        let written = self.transaction.with(|work| {
            let written = self.written(work, key);
            if written.is_none() {
                work.reads.key(Table::Kv, self.shard.key(key));
            }
            Ok(written)
        })?;
        match written {
            Some(entry) => Ok(entry),
            None => Ok(self.kept.entries(&[key])?.pop().flatten()),
        }
    }

    /// The values of several keys, in their order.
    pub fn multi_get<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Vec<Option<Vec<u8>>>> {
        let mut unwritten = Vec::new();
        let written = self.transaction.with(|work| {
            let own = keys.iter().map(|key| {
                let key = key.as_ref();
                let written = self.written(work, key);
                if written.is_none() {
                    work.reads.key(Table::Kv, self.shard.key(key));
                    unwritten.push(key);
                }
                written
            });
            Ok(own.collect::<Vec<_>>())
        })?;
        let mut kept = if unwritten.is_empty() { Vec::new() } else { self.kept.multi_get(&unwritten)? }.into_iter();
        let value = |written: Option<Option<Entry>>| match written {
            Some(entry) => entry.map(|entry| entry.value),
            None => kept.next().flatten(),
        };
        Ok(written.into_iter().map(value).collect())
    }

    /// As if these keys had been read: the commit conflicts when one of them has changed.
    pub fn depend_on_keys<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<()> {
        self.transaction.with(|work| {
            keys.iter().for_each(|key| work.reads.key(Table::Kv, self.shard.key(key.as_ref())));
            Ok(())
        })
    }

    /// As if these keys had been listed, up to the end of their range.
    ///
    /// # Errors
    /// `Invalid` for a cursor that is none.
    pub fn depend_on_scan(&self, scan: &KeyScan) -> Result<()> {
        let Some((from, to)) = scan.bounds(self.shard)? else { return Ok(()) };
        self.transaction.with(|work| {
            work.reads.range(Table::Kv, from, to);
            Ok(())
        })
    }

    pub fn put(&self, key: impl Into<Vec<u8>>, value: impl Into<Vec<u8>>) -> Result<()> {
        self.multi_put(vec![KvOp::Put { key: key.into(), value: value.into(), expires_in: None }])
    }

    pub fn put_expiring(&self, key: impl Into<Vec<u8>>, value: impl Into<Vec<u8>>, expires_in: Duration) -> Result<()> {
        self.multi_put(vec![KvOp::Put { key: key.into(), value: value.into(), expires_in: Some(expires_in) }])
    }

    pub fn delete(&self, key: impl Into<Vec<u8>>) -> Result<()> {
        self.multi_put(vec![KvOp::Delete { key: key.into() }])
    }

    /// Sets and deletes several keys; none when one of them cannot be.
    pub fn multi_put(&self, ops: Vec<KvOp>) -> Result<()> {
        ops.iter().try_for_each(KvOp::check)?;
        self.transaction.with(|work| {
            for op in &ops {
                work.reads.key(Table::Kv, self.shard.key(op.key()));
            }
            work.batch.change(&self.name, self.kind, ops);
            Ok(())
        })
    }

    /// One page of keys, with what the transaction has written.
    pub fn scan(&self, scan: &KeyScan) -> Result<KeyPage> {
        let Some((from, to)) = scan.bounds(self.shard)? else { return Ok(KeyPage::default()) };
        let own = self.transaction.with(|work| {
            work.reads.range(Table::Kv, from.clone(), to.clone());
            let ops = work.batch.changed(&self.name, self.kind).into_iter().flat_map(BTreeMap::values);
            let own: BTreeMap<Vec<u8>, Option<Vec<u8>>> = ops
                .map(|op| match op {
                    KvOp::Put { key, value, .. } | KvOp::PutUntil { key, value, .. } => {
                        (key.clone(), Some(value.clone()))
                    }
                    KvOp::Delete { key } => (key.clone(), None),
                })
                .filter(|(key, _)| (from.as_slice()..to.as_slice()).contains(&self.shard.key(key).as_slice()))
                .collect();
            Ok(own)
        })?;
        if own.is_empty() {
            return self.kept.scan(scan);
        }
        let comes_after = |one: &[u8], other: &[u8]| if scan.reverse { one < other } else { one > other };
        let mut entries: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
        let mut cursor = scan.cursor.clone();
        let mut own: Vec<_> = own.into_iter().collect();
        if scan.reverse {
            own.reverse();
        }
        let mut own = own.into_iter().peekable();
        loop {
            let page = self.kept.scan(&KeyScan { cursor, ..scan.clone() })?;
            cursor = page.cursor;
            let mut add = |key: Vec<u8>, value: Option<Vec<u8>>| {
                let value = value.map(|value| if scan.keys_only { Vec::new() } else { value });
                entries.extend(value.map(|value| (key, value)));
            };
            for (key, value) in page.entries {
                while let Some((before, written)) = own.next_if(|(before, _)| comes_after(&key, before)) {
                    add(before, written);
                }
                match own.next_if(|(same, _)| *same == key) {
                    Some((_, written)) => add(key, written),
                    None => add(key, Some(value)),
                }
            }
            if cursor.is_none() {
                own.by_ref().for_each(|(key, written)| add(key, written));
            }
            if cursor.is_none() || entries.len() > scan.limit {
                break;
            }
        }
        let more = cursor.is_some() || entries.len() > scan.limit;
        entries.truncate(scan.limit);
        let cursor = entries.last().filter(|_| more).map(|(key, _)| KeyScan::cursor_after(key));
        Ok(KeyPage { entries, cursor })
    }

    /// What the transaction has written for a key, if it has.
    fn written(&self, work: &Work, key: &[u8]) -> Option<Option<Entry>> {
        let (value, expires_at_ms) = match work.batch.changed(&self.name, self.kind)?.get(key)? {
            KvOp::Put { value, expires_in, .. } => {
                let now = self.transaction.snapshot.now_ms();
                (value, expires_in.map(|left| now.saturating_add(left.as_millis() as u64)))
            }
            KvOp::PutUntil { value, expires_at_ms, .. } => (value, Some(*expires_at_ms)),
            KvOp::Delete { .. } => return Some(None),
        };
        Some(Some(Entry { value: value.clone(), expires_at_ms }))
    }
}
