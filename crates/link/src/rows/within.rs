//! The rows of a keyspace or a graph inside a transaction.

use std::collections::BTreeMap;

use nuthatch_engine::Result;
use nuthatch_engine::kv::{Entry, KeyPage, KeyScan, Kind, KvOp, Rows};
use nuthatch_store::{Shard, Table};

use super::SnapshotRows;
use crate::work::{Work, Working};

/// The rows of a keyspace or a graph, with a transaction's own writes. Reads are noted, also those of absent rows.
pub(crate) struct Within<'t> {
    pub work: &'t Working,
    pub kept: SnapshotRows,
    pub name: String,
    pub kind: Kind,
    pub shard: Shard,
}

impl Within<'_> {
    pub fn depend_on_keys<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<()> {
        self.work.with(|work| {
            keys.iter().for_each(|key| work.reads.key(Table::Kv, self.shard.key(key.as_ref())));
            Ok(())
        })
    }

    pub fn depend_on_scan(&self, scan: &KeyScan) -> Result<()> {
        let Some((from, to)) = scan.bounds(self.shard)? else { return Ok(()) };
        self.work.with(|work| {
            work.reads.range(Table::Kv, from, to);
            Ok(())
        })
    }

    /// Changes several rows; none of them if one is invalid.
    pub fn write(&self, ops: Vec<KvOp>) -> Result<()> {
        ops.iter().try_for_each(KvOp::check)?;
        self.work.with(|work| {
            for op in &ops {
                work.reads.key(Table::Kv, self.shard.key(op.key()));
            }
            work.batch.change(&self.name, self.kind, ops);
            Ok(())
        })
    }

    /// Returns the transaction's own write of a key, if there is one.
    fn written(&self, work: &Work, key: &[u8]) -> Option<Option<Entry>> {
        let (value, expires_at_ms) = match work.batch.changed(&self.name, self.kind)?.get(key)? {
            KvOp::Put { value, expires_in, .. } => {
                (value, expires_in.map(|left| self.now_ms().saturating_add(left.as_millis() as u64)))
            }
            KvOp::PutUntil { value, expires_at_ms, .. } => (value, Some(*expires_at_ms)),
            KvOp::Delete { .. } => return Some(None),
        };
        Some(Some(Entry { value: value.clone(), expires_at_ms }))
    }
}

impl Rows for Within<'_> {
    fn entries(&self, keys: &[Vec<u8>]) -> Result<Vec<Option<Entry>>> {
        let mut unwritten = Vec::new();
        let written = self.work.with(|work| {
            let own = keys.iter().map(|key| {
                let written = self.written(work, key);
                if written.is_none() {
                    work.reads.key(Table::Kv, self.shard.key(key));
                    unwritten.push(key.clone());
                }
                written
            });
            Ok(own.collect::<Vec<_>>())
        })?;
        let mut kept = if unwritten.is_empty() { Vec::new() } else { self.kept.entries(&unwritten)? }.into_iter();
        Ok(written.into_iter().map(|written| written.unwrap_or_else(|| kept.next().flatten())).collect())
    }

    /// One page of keys, with what the transaction has written.
    fn page(&self, scan: &KeyScan) -> Result<KeyPage> {
        let Some((from, to)) = scan.bounds(self.shard)? else { return Ok(KeyPage::default()) };
        let own = self.work.with(|work| {
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
            return self.kept.page(scan);
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
            let page = self.kept.page(&KeyScan { cursor, ..scan.clone() })?;
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

    fn now_ms(&self) -> u64 {
        self.kept.clock_ms()
    }

    fn estimate(&self, prefix: &[u8]) -> Result<u64> {
        self.kept.estimate(prefix)
    }

    /// Depends on the key alone, not on those after it.
    fn contains(&self, key: &[u8]) -> Result<bool> {
        Ok(self.entries(&[key.to_vec()])?.pop().flatten().is_some())
    }
}
