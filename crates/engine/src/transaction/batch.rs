//! Atomic writes to several keyspaces and collections.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use nuthatch_store::Batch;
use serde::{Deserialize, Serialize};

use crate::Result;
use crate::call::{Call, Outcome};
use crate::collection::{Core, WriteSet, reserve_for_batch};
use crate::database::Database;
use crate::durability::Durability;
use crate::facts::{FactChanges, FactWrites};
use crate::files::{AddOptions, AddReport, FileEntry, Shelved, staged};
use crate::graph::{GraphChanges, GraphWrites, Resolved};
use crate::kv::{Counted, Kind, KvOp, Live, Space, batch_bytes};
use crate::record::Record;
use crate::runtime::Runtime;
use crate::snapshot::{Lookup, Snapshot};
use crate::tenant::{Delta, Tenant};
use crate::transaction::Reads;

/// An atomic write: all of it or nothing. Of several changes of one key or record, the last one counts.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct WriteBatch {
    /// Keyspace -> key -> its last change.
    pub(crate) keys: BTreeMap<String, BTreeMap<Vec<u8>, KvOp>>,
    pub(crate) graphs: BTreeMap<String, GraphChanges>,
    pub(crate) records: BTreeMap<String, RecordChanges>,
    pub(crate) facts: BTreeMap<String, FactChanges>,
    durability: Durability,
}

/// Changes of one collection's records.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct RecordChanges {
    /// `None`: deleted.
    changes: Vec<(String, Option<Record>)>,
    /// Id -> its place among the changes.
    places: HashMap<String, usize>,
    /// Rows of the files table, each with its value when it was read.
    files: Vec<(String, Option<Vec<u8>>)>,
    files_if: Vec<Option<FileEntry>>,
}

impl WriteBatch {
    /// An empty batch.
    pub fn new() -> Self {
        Self::default()
    }

    /// When the batch counts as written; `Commit` unless this is called.
    pub fn with_durability(self, durability: Durability) -> Self {
        Self { durability, ..self }
    }

    /// Changes keys of a keyspace, which is made when there is none.
    pub fn kv(&mut self, keyspace: &str, ops: Vec<KvOp>) -> &mut Self {
        let changes = self.keys.entry(keyspace.into()).or_default();
        changes.extend(ops.into_iter().map(|op| (op.key().to_vec(), op)));
        self
    }

    /// Writes a key that never expires.
    pub fn put(&mut self, keyspace: &str, key: impl Into<Vec<u8>>, value: impl Into<Vec<u8>>) -> &mut Self {
        self.kv(keyspace, vec![KvOp::Put { key: key.into(), value: value.into(), expires_in: None }])
    }

    /// Writes a key that expires after that time.
    pub fn put_expiring(
        &mut self,
        keyspace: &str,
        key: impl Into<Vec<u8>>,
        value: impl Into<Vec<u8>>,
        expires_in: Duration,
    ) -> &mut Self {
        self.kv(keyspace, vec![KvOp::Put { key: key.into(), value: value.into(), expires_in: Some(expires_in) }])
    }

    /// Removes a key; one that is not there is no error.
    pub fn delete(&mut self, keyspace: &str, key: impl Into<Vec<u8>>) -> &mut Self {
        self.kv(keyspace, vec![KvOp::Delete { key: key.into() }])
    }

    /// Changes nodes and edges of a graph, which is made when there is none.
    pub fn graph(&mut self, graph: &str) -> GraphWrites<'_> {
        GraphWrites { changes: self.graphs.entry(graph.into()).or_default() }
    }

    /// Records facts and takes facts back, of a name that is made when there is none. They come after all other writes of the
    /// batch, so a source may be a record that the batch itself writes.
    pub fn facts(&mut self, facts: &str) -> FactWrites<'_> {
        FactWrites { changes: self.facts.entry(facts.into()).or_default() }
    }

    /// Changes rows of a keyspace of that kind.
    pub fn change(&mut self, keyspace: &str, kind: Kind, ops: Vec<KvOp>) {
        match kind {
            Kind::Plain => drop(self.kv(keyspace, ops)),
            Kind::Graph => self.graphs.entry(keyspace.into()).or_default().extend(ops),
            Kind::Trees | Kind::Cache | Kind::Facts => {
                debug_assert!(ops.is_empty(), "these write batches of their own")
            }
        }
    }

    /// The batch's change of a record, if there is one; an inner `None` deletes it.
    pub fn changed_record(&self, collection: &str, id: &str) -> Option<&Option<Record>> {
        self.records.get(collection)?.get(id)
    }

    /// The last change of each row of a keyspace of that kind.
    pub fn changed(&self, keyspace: &str, kind: Kind) -> Option<&BTreeMap<Vec<u8>, KvOp>> {
        match kind {
            Kind::Plain => self.keys.get(keyspace),
            Kind::Graph => self.graphs.get(keyspace).map(|changes| &changes.rows),
            Kind::Trees | Kind::Cache | Kind::Facts => None,
        }
    }

    /// Inserts or replaces records of a collection, which must exist.
    pub fn upsert(&mut self, collection: &str, records: Vec<Record>) -> &mut Self {
        let changes = self.records.entry(collection.into()).or_default();
        records.into_iter().for_each(|record| changes.set(record.id.clone(), Some(record)));
        self
    }

    /// Deletes records by id; unknown ones are passed over.
    pub fn delete_records<I: Into<String>>(&mut self, collection: &str, ids: Vec<I>) -> &mut Self {
        let changes = self.records.entry(collection.into()).or_default();
        ids.into_iter().for_each(|id| changes.set(id.into(), None));
        self
    }

    /// The records that are inserted or replaced, by collection.
    pub fn records_mut(&mut self) -> impl Iterator<Item = (&str, impl Iterator<Item = &mut Record>)> {
        self.records.iter_mut().map(|(name, changes)| (name.as_str(), changes.upserts_mut()))
    }

    /// Adds files and folders to a collection, as `Collection::add` does, but written with the batch: this process
    /// reads and splits them now, and keeps them in memory. When adding is cancelled, the batch stays unchanged.
    ///
    /// # Errors
    /// As those of `Collection::add`; `Invalid` for a file that is in the batch already; `Exhausted` beyond 128 MiB.
    /// The batch stays unchanged then. Writing it is a `Conflict` when another caller has added or removed one of the
    /// files since.
    pub fn add_files(
        &mut self,
        collection: &impl Shelved,
        paths: &[PathBuf],
        options: AddOptions<'_>,
    ) -> Result<AddReport> {
        let (report, set) = collection.with_passage_sink(|sink| staged::add(sink, paths, options))?;
        self.records.entry(collection.name().into()).or_default().join(set)?;
        Ok(report)
    }

    /// Adds one document whose content the caller has, as `Collection::add_document` does, but written with the batch.
    /// A caller that depends on what was stored passes that `revision`, from `Collection::preview_document` or
    /// [`crate::FileInfo`].
    ///
    /// # Errors
    /// As those of `Collection::add_document` and [`add_files`](Self::add_files); `Conflict` for another revision.
    pub fn add_document(
        &mut self,
        collection: &impl Shelved,
        path: &str,
        content: &[u8],
        options: AddOptions<'_>,
        revision: Option<&str>,
    ) -> Result<AddReport> {
        let (report, set) =
            collection.with_passage_sink(|sink| staged::document(sink, path, content, options, revision))?;
        self.records.entry(collection.name().into()).or_default().join(set)?;
        Ok(report)
    }

    /// Removes one file with its passages, if it is of this revision.
    ///
    /// # Errors
    /// `Conflict` when it is not; else as [`remove_files`](Self::remove_files).
    pub fn remove_file(&mut self, collection: &impl Shelved, path: &str, revision: &str) -> Result<()> {
        let set = collection.with_passage_sink(|sink| staged::remove_one(sink, path, revision))?;
        self.records.entry(collection.name().into()).or_default().join(set)
    }

    /// Removes the file at `path`, or all files below it, with their passages. Returns the number of files.
    ///
    /// # Errors
    /// `Invalid` for a file that is in the batch already.
    pub fn remove_files(&mut self, collection: &impl Shelved, path: &str) -> Result<u64> {
        let set = collection.with_passage_sink(|sink| staged::remove(sink, path))?;
        let files = set.files.len() as u64;
        self.records.entry(collection.name().into()).or_default().join(set)?;
        Ok(files)
    }

    /// True when it changes nothing.
    pub fn is_empty(&self) -> bool {
        self.keys.values().all(BTreeMap::is_empty)
            && self.graphs.values().all(GraphChanges::is_empty)
            && self.records.values().all(RecordChanges::is_empty)
            && self.facts.values().all(FactChanges::is_empty)
    }
}

impl RecordChanges {
    pub fn set(&mut self, id: String, record: Option<Record>) {
        match self.places.get(&id) {
            Some(at) => self.changes[*at].1 = record,
            None => {
                self.places.insert(id.clone(), self.changes.len());
                self.changes.push((id, record));
            }
        }
    }

    /// The last change of an id, if there is one.
    pub fn get(&self, id: &str) -> Option<&Option<Record>> {
        self.places.get(id).map(|at| &self.changes[*at].1)
    }

    fn upserts_mut(&mut self) -> impl Iterator<Item = &mut Record> {
        self.changes.iter_mut().filter_map(|(_, record)| record.as_mut())
    }

    fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.files.is_empty()
    }

    /// Takes over the result of staging files.
    fn join(&mut self, set: WriteSet) -> Result<()> {
        staged::check_new(&self.files, &set.files)?;
        set.deletes.into_iter().for_each(|id| self.set(id, None));
        set.upserts.into_iter().for_each(|record| self.set(record.id.clone(), Some(record)));
        self.files.extend(set.files);
        self.files_if.extend(set.files_if.unwrap_or_default());
        Ok(())
    }

    fn into_set(self) -> WriteSet {
        let mut set = WriteSet { files: self.files, files_if: Some(self.files_if), ..WriteSet::default() };
        for (id, record) in self.changes {
            match record {
                Some(record) => set.upserts.push(record),
                None => set.deletes.push(id),
            }
        }
        set
    }
}

impl Database {
    /// Writes a batch: all of it or nothing, at one place in the order of all writes, durable as the batch says.
    ///
    /// # Errors
    /// As those of a keyspace and of an upsert; `NotFound` for an unknown collection. Nothing
    /// is changed then.
    pub fn write(&self, batch: WriteBatch) -> Result<()> {
        let shared = &self.inner.shared;
        let durability = batch.durability;
        Prepared::new(&*self.inner.registry, &self.tenant, batch, &self.call)?.commit(shared, durability, || Ok(()))
    }
}

impl Snapshot {
    /// Writes a batch if everything read, or to be written, is still as in this snapshot.
    ///
    /// # Errors
    /// `Conflict` when it is not: nothing was written. Otherwise as [`Database::write`].
    pub fn commit(&self, reads: &Reads, batch: WriteBatch) -> Result<()> {
        let shared = &self.view.shared;
        let durability = batch.durability;
        let prepared = Prepared::new(&*self.view.lookup, &self.view.tenant, batch, &self.call)?;
        prepared.commit(shared, durability, || self.view.with(|held| reads.check(shared, &held.store)))
    }
}

/// A batch whose parts have been found, checked and embedded.
struct Prepared {
    tenant: Arc<Tenant>,
    call: Call,
    keys: Vec<(Arc<Space>, Vec<KvOp>)>,
    graphs: Vec<(Arc<Space>, Resolved)>,
    records: Vec<(Arc<Core>, WriteSet)>,
    facts: Vec<(Arc<Space>, FactChanges)>,
}

impl Prepared {
    pub fn new(lookup: &dyn Lookup, tenant: &Arc<Tenant>, batch: WriteBatch, call: &Call) -> Result<Self> {
        let mut records = Vec::with_capacity(batch.records.len());
        for (name, changes) in batch.records {
            let core = lookup.collection(tenant, &name)?;
            let mut set = changes.into_set();
            core.prepare(&mut set, call)?;
            records.push((core, set));
        }
        // The order in which every batch takes its writers.
        records.sort_by_key(|(core, _)| core.shard);
        let mut keys = Vec::with_capacity(batch.keys.len());
        for (name, ops) in batch.keys {
            let ops: Vec<KvOp> = ops.into_values().collect();
            ops.iter().try_for_each(KvOp::check)?;
            keys.push((lookup.keyspace(tenant, &name, Kind::Plain, true)?, ops));
        }
        let mut graphs = Vec::with_capacity(batch.graphs.len());
        for (name, changes) in batch.graphs {
            let changes = Resolved::new(changes)?;
            graphs.push((lookup.keyspace(tenant, &name, Kind::Graph, true)?, changes));
        }
        let mut facts = Vec::with_capacity(batch.facts.len());
        for (name, changes) in batch.facts {
            changes.check()?;
            facts.push((lookup.keyspace(tenant, &name, Kind::Facts, true)?, changes));
        }
        Ok(Self { tenant: tenant.clone(), call: call.clone(), keys, graphs, records, facts })
    }

    /// Writes everything as one batch if `check` allows it once no one else can write.
    pub fn commit(
        self,
        shared: &Arc<Runtime>,
        durability: Durability,
        check: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let (cores, sets): (Vec<Arc<Core>>, Vec<WriteSet>) = self.records.into_iter().unzip();
        let (mut keys, mut facts) = (self.keys, self.facts);
        let of_records: u64 = sets.iter().map(WriteSet::bytes).sum();
        let of_keys: u64 = keys.iter().map(|(_, ops)| batch_bytes(ops.iter())).sum();
        let of_graphs: u64 = self.graphs.iter().map(|(_, changes)| changes.bytes()).sum();
        let of_facts: u64 = facts.iter().map(|(_, changes)| changes.bytes()).sum();
        let writing: Vec<&Core> = cores.iter().map(|core| &**core).collect();
        let reservation = reserve_for_batch(shared, &writing, of_records + of_keys + of_graphs + of_facts)?;
        let position = {
            let _commit = shared.store.commit.write();
            check()?;
            let mut batch = Batch::new();
            let mut delta = Delta::default();
            let mut counted = Vec::new();
            for (space, changes) in self.graphs {
                space.check_open()?;
                let ops = changes.into_ops(&Live { space: &space, reader: &*shared.store()? })?;
                keys.push((space, ops));
            }
            for (space, ops) in &mut keys {
                space.check_open()?;
                let staged = space.stage(&mut batch, std::mem::take(ops))?;
                if !self.tenant.is_default() && !batch.is_empty() {
                    delta = delta.and(staged.delta());
                    counted.push(space.count(&mut batch, &staged));
                }
            }
            let mut writers: Vec<_> = cores.iter().map(|core| core.writer.lock()).collect();
            let mut plans = Vec::with_capacity(writers.len());
            for ((core, set), writer) in cores.iter().zip(sets).zip(&writers) {
                core.check_open()?;
                let plan = core.plan(writer, set, &mut batch, &self.call)?;
                delta = delta.and(plan.delta(writer));
                plans.push(plan);
            }
            // Last, because their sources may be among the records.
            for (space, changes) in &mut facts {
                space.check_open()?;
                let ops = std::mem::take(changes).into_ops(space, &*shared.store()?, &batch)?;
                let staged = space.stage(&mut batch, ops)?;
                if !self.tenant.is_default() && !batch.is_empty() {
                    delta = delta.and(staged.delta());
                    counted.push(space.count(&mut batch, &staged));
                }
            }
            if batch.is_empty() {
                return Ok(());
            }
            self.call.sign(&mut batch, Outcome::default());
            debug_assert!(self.tenant.owns(&batch), "each key begins with the number of its tenant");
            let reserved = self.tenant.reserve(&shared.store, delta)?;
            let position = shared.write(batch)?;
            reserved.keep();
            counted.into_iter().for_each(Counted::settle);
            for ((core, writer), plan) in cores.iter().zip(&mut writers).zip(plans) {
                core.show(writer, plan)?;
            }
            position
        };
        drop(reservation);
        shared.make_durable(position, durability)?;
        cores.iter().for_each(|core| core.wake_maintenance_if_due());
        Ok(())
    }
}
