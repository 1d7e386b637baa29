//! The reads and writes of one command, as if it ran alone: each command is written once, and works by itself and
//! within EXEC.
//!
//! By itself a command reads live; at its end, when it wrote the one key that it read, the write is made on the condition that the
//! key is unchanged; when it wrote more, the command is run again in a transaction. Within EXEC all commands share one transaction.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use nuthatch_dialect::operations::Operation;
use nuthatch_link::{
    Answer, Collection, CollectionOptions, Durability, EmbedderChoice, Entry, ErrorKind, KeyPage, KeyScan, KvOp,
    Metric, Page, Record, Records, Scan, Search, StoredRecord, Transaction,
};
use serde_json::Value as Json;

use crate::aggregate::rows::{dead, expiring, owner};
use crate::aggregate::{Aggregate, Kind};
use crate::failure::{Failure, Outcome};
use crate::post_commit::PostCommit;
use crate::prepared::Prepared;
use crate::purge::flush;
use crate::tenant::{Space, Tenant, collection_prefix};
use crate::value::{Type, Value, rows_of};
use crate::vector_set::Set;

/// A command's view of its database.
pub(crate) struct CommandContext<'u> {
    pub tenant: &'u Tenant,
    pub space: &'u Arc<Space>,
    place: Execution<'u>,
    pub now_ms: u64,
    /// As they are stored.
    seen: Vec<(Vec<u8>, Option<Entry>)>,
    writes: Vec<KvOp>,
    /// Changes of rows of aggregates; a row without a value is deleted.
    row_writes: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
    /// It reads or writes rows, of one moment with its keys.
    needs_transaction: bool,
    /// Collections that were made for this; dropped again when nothing comes of it.
    created: Vec<String>,
    post_commit: Vec<PostCommit>,
    /// Records were written, past `writes`.
    wrote_records: bool,
}

enum Execution<'u> {
    /// Writes are as durable as this says.
    Live(Durability),
    Within(&'u Transaction, &'u RefCell<Prepared>),
}

/// How the writes of a command ended.
pub(crate) enum Finish {
    Done {
        wrote: bool,
    },
    /// Others have changed what was read: run the command again.
    Changed,
    /// It takes a transaction: run the command again in one.
    NeedsTransaction,
}

impl<'u> CommandContext<'u> {
    pub fn live(tenant: &'u Tenant, space: &'u Arc<Space>, durability: Durability, now_ms: u64) -> Self {
        Self::new(tenant, space, Execution::Live(durability), now_ms)
    }

    pub fn within(
        tenant: &'u Tenant,
        space: &'u Arc<Space>,
        transaction: &'u Transaction,
        prepared: &'u RefCell<Prepared>,
        now_ms: u64,
    ) -> Self {
        Self::new(tenant, space, Execution::Within(transaction, prepared), now_ms)
    }

    fn new(tenant: &'u Tenant, space: &'u Arc<Space>, place: Execution<'u>, now_ms: u64) -> Self {
        Self {
            tenant,
            space,
            place,
            now_ms,
            seen: Vec::new(),
            writes: Vec::new(),
            row_writes: BTreeMap::new(),
            needs_transaction: false,
            created: Vec::new(),
            post_commit: Vec::new(),
            wrote_records: false,
        }
    }

    /// The value of a key and when it expires.
    pub fn value(&mut self, key: &[u8]) -> Outcome<Option<(Value, Option<u64>)>> {
        let entry = self.entry(key)?;
        self.shown(key, entry)
    }

    /// The values of several keys, as of one moment.
    pub fn entries(&mut self, keys: &[Vec<u8>]) -> Outcome<Vec<Option<Entry>>> {
        match &self.place {
            Execution::Live(_) if self.writes.is_empty() => {
                let found = self.space.keyspace.entries(keys)?;
                self.seen.extend(keys.iter().cloned().zip(found.iter().cloned()));
                Ok(found)
            }
            _ => keys.iter().map(|key| self.entry(key)).collect(),
        }
    }

    /// A string and when it expires.
    pub fn string(&mut self, key: &[u8]) -> Outcome<Option<(Vec<u8>, Option<u64>)>> {
        match self.value(key)? {
            None => Ok(None),
            Some((Value::String(bytes), expires_at_ms)) => Ok(Some((bytes, expires_at_ms))),
            Some(_) => Err(Failure::wrong_type()),
        }
    }

    /// An aggregate and when it expires; an empty one when there is none.
    pub fn aggregate(&mut self, key: &[u8], kind: Kind) -> Outcome<(Aggregate, Option<u64>)> {
        match self.value(key)? {
            None => Ok((Aggregate::new(kind), None)),
            Some((Value::Aggregate(aggregate), expires_at_ms)) if aggregate.kind == kind => {
                Ok((aggregate, expires_at_ms))
            }
            Some(_) => Err(Failure::wrong_type()),
        }
    }

    /// A row of an aggregate, with this command's own writes.
    pub fn row(&mut self, row: &[u8]) -> Outcome<Option<Vec<u8>>> {
        if let Some(written) = self.row_writes.get(row) {
            return Ok(written.clone());
        }
        match &self.place {
            Execution::Live(_) => Ok(self.space.rows(self.tenant)?.get(row)?),
            Execution::Within(transaction, _) => Ok(transaction.kv(&self.space.rows_name)?.get(row)?),
        }
    }

    /// Several rows as of one moment; only before the command writes any.
    pub fn rows(&mut self, rows: &[Vec<u8>]) -> Outcome<Vec<Option<Vec<u8>>>> {
        if !self.row_writes.is_empty() {
            return rows.iter().map(|row| self.row(row)).collect();
        }
        let entries = match &self.place {
            Execution::Live(_) => self.space.rows(self.tenant)?.entries(rows)?,
            Execution::Within(transaction, _) => transaction.kv(&self.space.rows_name)?.entries(rows)?,
        };
        Ok(entries.into_iter().map(|entry| entry.map(|entry| entry.value)).collect())
    }

    /// A page of rows, without this command's own writes: commands read before they write.
    pub fn scan_rows(&mut self, scan: &KeyScan) -> Outcome<KeyPage> {
        match &self.place {
            // Others may change the key and its rows between two pages.
            Execution::Live(_) => Err(self.ask_for_transaction()),
            Execution::Within(transaction, _) => Ok(transaction.kv(&self.space.rows_name)?.scan(scan)?),
        }
    }

    /// Sets a row, or deletes it.
    pub fn put_row(&mut self, row: Vec<u8>, value: Option<Vec<u8>>) -> Outcome<()> {
        if matches!(self.place, Execution::Live(_)) {
            return Err(self.ask_for_transaction());
        }
        self.row_writes.insert(row, value);
        Ok(())
    }

    fn ask_for_transaction(&mut self) -> Failure {
        self.needs_transaction = true;
        Failure::conflict()
    }

    /// It has to be run again, in a transaction.
    pub fn needs_transaction(&self) -> bool {
        self.needs_transaction
    }

    /// A vector set and its collection.
    pub fn set(&mut self, key: &[u8]) -> Outcome<Option<(Set, Collection)>> {
        match self.value(key)? {
            None => Ok(None),
            Some((Value::Set(set), _)) => match self.tenant.collection(&set.collection) {
                Ok(collection) => Ok(Some((set, collection))),
                // Its collection was dropped through another face, or a crash came between the two: there is no set.
                Err(error) if error.kind == ErrorKind::NotFound => {
                    self.post_commit.push(PostCommit::Purge(key.to_vec()));
                    Ok(None)
                }
                Err(error) => Err(error.into()),
            },
            Some(_) => Err(Failure::wrong_type()),
        }
    }

    pub fn exists(&mut self, key: &[u8]) -> Outcome<Option<(Type, Option<u64>)>> {
        let Some(entry) = self.entry(key)? else { return Ok(None) };
        match Type::of(&entry.value) {
            Type::Set => Ok(self.shown(key, Some(entry))?.map(|(_, expires_at_ms)| (Type::Set, expires_at_ms))),
            kind => Ok(Some((kind, entry.expires_at_ms))),
        }
    }

    pub fn scan(&mut self, scan: &KeyScan) -> Outcome<KeyPage> {
        match &self.place {
            Execution::Live(_) => Ok(self.space.keyspace.scan(scan)?),
            Execution::Within(transaction, _) => Ok(transaction.kv(self.space.keyspace.name())?.scan(scan)?),
        }
    }

    /// Sets a key, whatever it held.
    pub fn put(&mut self, key: &[u8], value: Value, expires_at_ms: Option<u64>) -> Outcome<()> {
        self.let_go(key, &value)?;
        if let Value::Aggregate(aggregate) = &value {
            self.own_rows(key, aggregate, expires_at_ms)?;
        }
        let (value, expires_at_ms) = match value {
            // The store would remove the key and leave the collection behind.
            Value::Set(set) => (Value::Set(Set { expires_at_ms, ..set }), None),
            value => (value, expires_at_ms),
        };
        let (key, value) = (key.to_vec(), value.encode());
        self.writes.push(match expires_at_ms {
            Some(at) if at <= self.now_ms => KvOp::Delete { key },
            Some(expires_at_ms) => KvOp::PutUntil { key, value, expires_at_ms },
            None => KvOp::Put { key, value, expires_in: None },
        });
        Ok(())
    }

    /// Deletes a key, with the collection of a vector set.
    pub fn delete(&mut self, key: &[u8]) -> Outcome<()> {
        self.let_go(key, &Value::String(Vec::new()))?;
        self.writes.push(KvOp::Delete { key: key.to_vec() });
        Ok(())
    }

    /// The rows of an aggregate say which key they are of, and when that key expires.
    fn own_rows(&mut self, key: &[u8], aggregate: &Aggregate, expires_at_ms: Option<u64>) -> Outcome<()> {
        let Some(head) = aggregate.rows() else { return Ok(()) };
        let before = self.entry(key)?;
        let was_there = rows_of(before.as_ref())? == Some(head.id);
        if !was_there {
            self.put_row(owner(head.id), Some(key.to_vec()))?;
            self.space.has_rows.store(true, Ordering::Release);
        }
        if let Some(at) = expires_at_ms
            && !(was_there && before.and_then(|entry| entry.expires_at_ms) == Some(at))
        {
            self.put_row(expiring(at, head.id), Some(Vec::new()))?;
            self.space.purge_at_ms.fetch_min(at, Ordering::AcqRel);
        }
        Ok(())
    }

    /// Deletes a key whose value has gone elsewhere.
    pub fn leave(&mut self, key: &[u8]) {
        self.writes.push(KvOp::Delete { key: key.to_vec() });
    }

    /// A new collection for a vector set of this database. A transaction can use it only if it existed when the
    /// transaction began: the first try creates it, then the transaction restarts.
    pub fn create_collection(&mut self, key: &[u8], dim: usize) -> Outcome<String> {
        if let Execution::Within(_, prepared) = &self.place
            && let Some(name) = prepared.borrow_mut().take(self.space.number, key)
        {
            return Ok(name);
        }
        self.space.has_sets.store(true, Ordering::Release);
        let readable: String = String::from_utf8_lossy(key)
            .chars()
            .take(32)
            .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '_' })
            .collect();
        let name = format!("{}{readable}.{:08x}", collection_prefix(self.space.number), fastrand::u32(..));
        let options = CollectionOptions {
            dim: Some(dim),
            metric: Some(Metric::Cosine),
            embedder: EmbedderChoice::None,
            ..CollectionOptions::default()
        };
        self.tenant.database.collection(&name, options)?;
        match &self.place {
            Execution::Live(_) => {
                self.created.push(name.clone());
                Ok(name)
            }
            Execution::Within(_, prepared) => {
                prepared.borrow_mut().add(self.space.number, key, name);
                Err(Failure::conflict())
            }
        }
    }

    /// Sets a key that was seen not to be there, now; false when it is there by now. The set's elements come after it.
    pub fn claim(&mut self, key: &[u8], set: &Set) -> Outcome<bool> {
        let value = Value::Set(set.clone());
        self.let_go(key, &value)?;
        let value = value.encode();
        let op = KvOp::Put { key: key.to_vec(), value: value.clone(), expires_in: None };
        let held = match &self.place {
            Execution::Live(durability) => {
                let seen = self.seen.iter().rev().find(|(seen, _)| seen == key).and_then(|(_, entry)| entry.as_ref());
                self.space.keyspace.with_durability(*durability).write_if(seen, op)?
            }
            Execution::Within(..) => {
                self.writes.push(op);
                return Ok(true);
            }
        };
        if held {
            self.created.clear();
            self.seen.retain(|(seen, _)| seen != key);
            self.seen.push((key.to_vec(), Some(Entry { value, expires_at_ms: None })));
            self.wrote_records = true;
        }
        Ok(held)
    }

    /// A record of a vector set, with this transaction's own writes.
    pub fn record(&mut self, collection: &Collection, id: &str, vector: bool) -> Outcome<Option<StoredRecord>> {
        Ok(self.read(collection)?.get(&[id], vector)?.pop().flatten())
    }

    pub fn upsert(&mut self, collection: &Collection, records: Vec<Record>) -> Outcome<()> {
        self.wrote_records = true;
        match &self.place {
            Execution::Live(durability) => {
                collection.with_durability(*durability).upsert(records)?;
            }
            Execution::Within(transaction, _) => transaction.collection(collection.name())?.upsert(records)?,
        }
        Ok(())
    }

    pub fn remove(&mut self, collection: &Collection, id: &str) -> Outcome<()> {
        self.wrote_records = true;
        match &self.place {
            Execution::Live(durability) => {
                collection.with_durability(*durability).delete(&[id])?;
            }
            Execution::Within(transaction, _) => transaction.collection(collection.name())?.delete(&[id])?,
        }
        Ok(())
    }

    /// A read that every face answers by its name.
    pub fn ask(&mut self, collection: &Collection, operation: &Operation, question: Json) -> Outcome<Json> {
        Ok(operation.ask(&self.read(collection)?, question)?)
    }

    pub fn search(&mut self, collection: &Collection, search: &Search) -> Outcome<Answer> {
        Ok(self.read(collection)?.search(search)?)
    }

    /// One page of a vector set's records.
    pub fn records(&mut self, collection: &Collection, scan: &Scan) -> Outcome<Page> {
        Ok(self.read(collection)?.scan(scan)?)
    }

    pub fn count(&mut self, collection: &Collection) -> Outcome<u64> {
        Ok(self.read(collection)?.len()?)
    }

    /// Deletes every key at once; false within a transaction, where it has to be done key by key.
    pub fn flush(&mut self) -> Outcome<bool> {
        let Execution::Live(durability) = &self.place else { return Ok(false) };
        flush(self.space, self.tenant, *durability)?;
        self.wrote_records = true;
        Ok(true)
    }

    pub fn post_commit(&mut self, post_commit: PostCommit) {
        self.post_commit.push(post_commit);
    }

    /// The work that follows the commit.
    pub fn take_post_commit(&mut self) -> Vec<PostCommit> {
        std::mem::take(&mut self.post_commit)
    }

    /// Writes what a command by itself has changed.
    pub fn finish(&mut self) -> Outcome<Finish> {
        let Execution::Live(durability) = &self.place else {
            unreachable!("only commands by themselves end by themselves")
        };
        let keyspace = self.space.keyspace.with_durability(*durability);
        let mut writes = std::mem::take(&mut self.writes);
        if writes.is_empty() {
            return Ok(Finish::Done { wrote: self.wrote_records });
        }
        if self.seen.is_empty() {
            keyspace.multi_put(writes)?;
            return Ok(Finish::Done { wrote: true });
        }
        let key = writes[0].key();
        let alone = writes.iter().all(|op| op.key() == key) && self.seen.iter().all(|(seen, _)| seen == key);
        match (alone, writes.pop()) {
            (true, Some(last)) => match keyspace.write_if(self.seen[0].1.as_ref(), last)? {
                true => Ok(Finish::Done { wrote: true }),
                false => Ok(Finish::Changed),
            },
            _ => Ok(Finish::NeedsTransaction),
        }
    }

    /// The writes of a command that did nothing else and read nothing.
    pub fn into_blind_writes(self) -> Option<Vec<KvOp>> {
        let is_blind =
            self.seen.is_empty() && self.created.is_empty() && self.post_commit.is_empty() && !self.wrote_records;
        Some(self.writes).filter(|writes| is_blind && !writes.is_empty())
    }

    /// Hands what a command has changed to the transaction that it is within.
    pub fn stage(&mut self) -> Outcome<()> {
        let Execution::Within(transaction, _) = &self.place else { unreachable!("only a transaction stages") };
        let writes = std::mem::take(&mut self.writes);
        if !writes.is_empty() {
            transaction.kv(self.space.keyspace.name())?.multi_put(writes)?;
        }
        let rows: Vec<KvOp> = std::mem::take(&mut self.row_writes)
            .into_iter()
            .map(|(key, value)| match value {
                Some(value) => KvOp::Put { key, value, expires_in: None },
                None => KvOp::Delete { key },
            })
            .collect();
        if !rows.is_empty() {
            transaction.kv(&self.space.rows_name)?.multi_put(rows)?;
        }
        Ok(())
    }

    /// Drops what was made for nothing.
    pub fn undo(&mut self) -> Outcome<()> {
        std::mem::take(&mut self.created).iter().try_for_each(|name| self.tenant.drop_collection(name))
    }

    /// The records of a vector set, as they are, or as the transaction sees them.
    fn read(&self, collection: &Collection) -> Outcome<Records<'_>> {
        Ok(match &self.place {
            Execution::Live(_) => (**collection).clone(),
            Execution::Within(transaction, _) => (*transaction.collection(collection.name())?).clone(),
        })
    }

    /// Returns the entry stored for a key, including this command's own writes.
    fn entry(&mut self, key: &[u8]) -> Outcome<Option<Entry>> {
        match self.writes.iter().rev().find(|op| op.key() == key) {
            Some(KvOp::Put { value, .. }) => return Ok(Some(Entry { value: value.clone(), expires_at_ms: None })),
            Some(KvOp::PutUntil { value, expires_at_ms, .. }) => {
                return Ok(Some(Entry { value: value.clone(), expires_at_ms: Some(*expires_at_ms) }));
            }
            Some(KvOp::Delete { .. }) => return Ok(None),
            None => {}
        }
        match &self.place {
            Execution::Live(_) => {
                if let Some((_, entry)) = self.seen.iter().find(|(seen, _)| seen == key) {
                    return Ok(entry.clone());
                }
                let entry = self.space.keyspace.entries(&[key])?.pop().flatten();
                self.seen.push((key.to_vec(), entry.clone()));
                Ok(entry)
            }
            Execution::Within(transaction, _) => Ok(transaction.kv(self.space.keyspace.name())?.entry(key)?),
        }
    }

    /// As commands see it: a vector set says by itself when it expires.
    fn shown(&mut self, key: &[u8], entry: Option<Entry>) -> Outcome<Option<(Value, Option<u64>)>> {
        let Some(Entry { value, expires_at_ms }) = entry else { return Ok(None) };
        match Value::decode(value)? {
            Value::Set(set) if set.expires_at_ms.is_some_and(|at| at <= self.now_ms) => {
                self.post_commit.push(PostCommit::Purge(key.to_vec()));
                Ok(None)
            }
            Value::Set(set) => {
                let expires_at_ms = set.expires_at_ms;
                Ok(Some((Value::Set(set), expires_at_ms)))
            }
            value => Ok(Some((value, expires_at_ms))),
        }
    }

    /// Before a key is overwritten: the collection of a vector set goes with it, and so do the rows of an aggregate.
    fn let_go(&mut self, key: &[u8], next: &Value) -> Outcome<()> {
        if !self.space.is_checked_before_writes() {
            return Ok(());
        }
        let Some(entry) = self.entry(key)? else { return Ok(()) };
        match Type::of(&entry.value) {
            Type::String => {}
            Type::Aggregate(_) => {
                let next = match next {
                    Value::Aggregate(next) => next.rows().map(|head| head.id),
                    _ => None,
                };
                if let Some(id) = rows_of(Some(&entry))?.filter(|id| Some(*id) != next) {
                    self.put_row(dead(id), Some(Vec::new()))?;
                    self.post_commit.push(PostCommit::PurgeRows);
                }
            }
            Type::Set => {
                if let Value::Set(old) = Value::decode(entry.value)?
                    && !matches!(next, Value::Set(next) if next.collection == old.collection)
                {
                    self.post_commit.push(PostCommit::Drop(old.collection));
                }
            }
        }
        Ok(())
    }
}
