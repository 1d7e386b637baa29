//! Making a damaged folder open again.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::ControlFlow;
use std::path::Path;

use nuthatch_filter::Schema;
use nuthatch_store::{Batch, Damage, Direction, Extent, Reader, Shard, Store, Table, repair, verify};
use nuthatch_vector::{Element, Metric};
use roaring::RoaringTreemap;

use crate::cache::mend_cache;
use crate::clock::Clock;
use crate::collection::descriptor::Descriptor;
use crate::collection::pending::{self, Pending};
use crate::collection::{Core, row_of};
use crate::database::Database;
use crate::descriptor::field::{Field, FieldKind, UNNAMED};
use crate::descriptor::meta::{self, COUNTERS, Counters, FieldMeta, Meta, SCHEMA, meta_key};
use crate::facts::mend_facts;
use crate::folder::Folder;
use crate::graph::mend_graph;
use crate::index::Indexed;
use crate::kv::Kind;
use crate::lock::FolderLock;
use crate::options::{Budget, Options};
use crate::record::Row;
use crate::scan::first_shard;
use crate::state::change::Change;
use crate::tenant::{DEFAULT, Record, last_number, put_last_number, records};
use crate::tree::mend_trees;
use crate::{Error, Result};

/// The findings and actions of a repair.
#[derive(Clone, Debug, Default)]
pub struct RepairOutcome {
    /// Damaged files of the store. Copies of them are in the quarantine folder.
    pub store: Vec<Damage>,
    /// Intact batches of the store's log that came after the damage and were cut with it; copies are in the quarantine
    /// folder.
    pub batches_cut: u64,
    /// Collections whose indexes were rebuilt.
    pub rebuilt: Vec<String>,
    /// Records that are still there, over all collections.
    pub records: u64,
    /// Records that the catalog counted but that could not be saved.
    pub records_lost: u64,
    /// Keys whose large value could not be saved.
    pub keys_lost: u64,
}

impl Database {
    /// Returns the damage that [`repair`](Self::repair) would find in the store, and what it would lose; changes
    /// nothing. It does not check indexes: damage there loses nothing.
    pub fn repair_plan(root: &Path, options: &Options) -> Result<Vec<Damage>> {
        let folder = Folder::at(root);
        if !folder.store().is_dir() {
            return Err(Error::no_data_folder(root, ""));
        }
        let _lock = FolderLock::take(root, &options.program)?;
        Ok(verify(&folder.store())?)
    }

    /// Repairs a folder that no process has open: rewrites a damaged identity file, has the store keep what can be
    /// read, removes references to lost records, and rebuilds damaged indexes. Keeps damaged files in `quarantine/`.
    pub fn repair(root: &Path, options: Options) -> Result<(Self, RepairOutcome)> {
        let mut outcome = RepairOutcome::default();
        // Seen before the lock is taken: a folder that is not ours stays untouched.
        if !root.join("truth").is_dir() {
            return Err(Error::no_data_folder(root, ""));
        }
        Folder::at(root).refuse_copy()?;
        {
            let _lock = FolderLock::take(root, &options.program)?;
            rewrite_identity(root)?;
            let folder = Folder::open(root, true)?;
            let aside = folder.quarantine().join(format!("truth-{}", options.clock.stamp_for_name()));
            let report = repair(&folder.store(), &aside, Budget::split(options.memory_budget_bytes).store)?;
            outcome.store = report.damage;
            outcome.batches_cut = report.cut.map_or(0, |cut| cut.batches_after);
        }
        let database = Self::open(root, Options { background: false, ..options })?;
        if !outcome.store.is_empty() {
            database.restore_tenants()?;
            database.restore_catalog()?;
            let (shared, registry) = (&database.inner.shared, &database.inner.registry);
            registry.restore_keyspaces()?;
            for scope in database.scopes()? {
                for listed in registry.keyspaces(scope.tenant.number)? {
                    outcome.keys_lost += match listed.kind {
                        Kind::Plain => 0,
                        Kind::Graph => mend_graph(shared, listed.shard)?,
                        Kind::Trees => mend_trees(shared, listed.shard)?,
                        Kind::Cache => mend_cache(shared, listed.shard)?,
                        Kind::Facts => {
                            let space = registry.space(&scope.tenant, &listed.name, Kind::Facts, false)?;
                            mend_facts(shared, &space)?
                        }
                    };
                    outcome.keys_lost += registry.mend_keyspace(listed.shard, listed.kind)?;
                }
            }
        }
        for scope in database.scopes()? {
            for name in scope.collection_names()? {
                let core = scope.borrow(&name)?;
                if let Some(damage) = outcome.store.first() {
                    outcome.records_lost += mend_collection(&core)?;
                    // The indexes cannot tell their entries for the lost part from those for the rest.
                    let why = Error::corrupt(&damage.path, "the store was repaired, and the repair lost records");
                    core.indexes.iter().for_each(|index| core.note_damage(&why, index.id()));
                }
            }
        }
        outcome.rebuilt = database.rebuild_damaged()?;
        for scope in database.scopes()? {
            for name in scope.collection_names()? {
                outcome.records += scope.borrow(&name)?.writer.lock().counters.rows;
            }
        }
        Ok((database, outcome))
    }

    /// Tenants whose data is there but whose catalog entry was lost come back as `recovered-N`, without limits. No later tenant gets
    /// their number.
    fn restore_tenants(&self) -> Result<()> {
        let store = self.inner.shared.store()?;
        let known: HashSet<u32> = records(&*store)?.into_iter().map(|(_, record)| record.id).collect();
        let mut last = last_number(&*store)?.max(known.iter().copied().max().unwrap_or(DEFAULT));
        let mut batch = Batch::new();
        for table in [Table::Records, Table::Kv, Table::Catalog] {
            let mut from = Extent::Tenant(DEFAULT).bounds().1;
            while let Some(shard) = first_shard(&*store, table, &from, &[])?.filter(|shard| shard.tenant < u32::MAX) {
                if !known.contains(&shard.tenant) {
                    Record::recovered(shard.tenant).put(&mut batch, &format!("recovered-{}", shard.tenant));
                }
                last = last.max(shard.tenant);
                from = Extent::Tenant(shard.tenant).bounds().1;
            }
        }
        put_last_number(&mut batch, last);
        let position = store.write(batch)?;
        Ok(store.sync(position)?)
    }

    /// Collections whose records are there but whose catalog entry was lost come back from the copy in their index folder, or
    /// as `recovered-N` where that is gone, too.
    fn restore_catalog(&self) -> Result<()> {
        let shared = &self.inner.shared;
        let store = shared.store()?;
        let mut known = HashSet::new();
        let mut lasts: BTreeMap<u32, u32> = BTreeMap::new();
        for scope in self.scopes()? {
            let tenant = scope.tenant.number;
            for name in scope.collection_names()? {
                let meta: Option<Meta> = meta::read(&*store, &meta_key(tenant, &name))?;
                known.extend(meta.map(|meta| scope.tenant.shard(meta.id)));
            }
            lasts.insert(tenant, meta::last_id(&*store, tenant)?);
        }
        let mut batch = Batch::new();
        let mut from = Vec::new();
        while let Some((shard, dim)) = next_shard(&*store, &from)? {
            from = shard.end();
            let last = lasts.entry(shard.tenant).or_default();
            *last = shard.collection.max(*last);
            if known.contains(&shard) {
                continue;
            }
            let copy = Meta::read_copy(&shared.folder.index(shard.tenant, shard.collection)).ok().flatten();
            let mut meta = copy.unwrap_or_else(|| Meta {
                id: shard.collection,
                name: format!("recovered-{}", shard.collection),
                dim,
                metric: Metric::Cosine.to_string(),
                element: Element::F32.to_string(),
                language: "english".into(),
                embeds: false,
                embedder: None,
                created: Clock::system().now().to_string(),
                fields: Vec::new(),
                more: Default::default(),
            });
            restore_fields(&*store, shard, &mut meta)?;
            batch.put(Table::Catalog, meta_key(shard.tenant, &meta.name), meta::encode(&meta));
        }
        lasts.into_iter().for_each(|(tenant, last)| meta::put_last_id(&mut batch, tenant, last));
        let position = store.write(batch)?;
        Ok(store.sync(position)?)
    }
}

/// The state of a collection according to its rows.
struct Census {
    /// The row of each id, and what its tenant's limit counts for it.
    newest: HashMap<String, (u64, u64)>,
    without_their_vector: HashSet<String>,
    schema: Schema,
    counted: Counters,
}

/// Makes the ids, records, vectors and counters of a collection consistent again. Returns how many records are missing.
fn mend_collection(core: &Core) -> Result<u64> {
    let shard = core.shard;
    let store = core.shared.store()?;
    let mut writer = core.writer.lock();
    let descriptor = core.descriptor();
    let mut batch = Batch::new();
    let mut todo = pending::todo_rows(&*store, shard)?;
    let mut census = take_census(core, writer.counters.next_row, &todo, &mut batch)?;
    mend_ids(&*store, shard, &census.newest, &mut batch)?;
    mend_todo(shard, &census, &mut todo, &mut batch);
    census.counted.pending = todo.len();
    let files_bytes = mend_files(core, &census, &mut batch)?;
    let Census { newest, schema, counted, .. } = census;
    let rows_bytes: u64 = newest.values().map(|(_, bytes)| bytes).sum();
    let pending_bytes = counted.pending * descriptor.fields.unnamed().row_bytes() as u64;
    let bytes = if core.tenant.is_default() { 0 } else { rows_bytes + pending_bytes + files_bytes };
    let sequence = last_change(&*store, shard)?.max(writer.counters.sequence);
    // None of it is to be replayed: the indexes are rebuilt.
    nuthatch_store::trim_changes(&mut batch, shard, sequence);
    let counters = Counters { sequence: sequence + 1, rows: newest.len() as u64, bytes, ..counted };
    nuthatch_store::append_change(&mut batch, shard, counters.sequence, Change::default().encode());
    batch.put(Table::Catalog, shard.key(COUNTERS), meta::encode(&counters));
    batch.put(Table::Catalog, shard.key(SCHEMA), schema.to_bytes());
    let position = store.write(batch)?;
    store.sync(position)?;
    core.learn(&mut writer, Descriptor { schema, ..Descriptor::clone(&descriptor) });
    {
        let mut state = core.state.write();
        (state.sequence, state.vectors) = (counters.sequence, Pending::of(&counters));
    }
    writer.pending = todo;
    let lost = writer.counters.rows.saturating_sub(counters.rows);
    writer.counters = counters;
    Ok(lost)
}

/// Reads all rows, and deletes those that were replaced by a batch whose deletion was lost.
fn take_census(core: &Core, next_row: u64, todo: &RoaringTreemap, batch: &mut Batch) -> Result<Census> {
    let (shard, store, descriptor) = (core.shard, core.shared.store()?, core.descriptor());
    let fields = &descriptor.fields;
    let (mut newest, mut without_their_vector) = (HashMap::new(), HashSet::new());
    let mut schema = descriptor.schema.clone();
    let mut counted = Counters { next_row, ..Counters::default() };
    // Of passages of files, which are read again; the vector of another text is nobody's promise.
    let embeds = descriptor.meta.embeds && descriptor.meta.embedder.is_some();
    let is_owed = |row, stored: &Row| embeds && stored.searchable().is_some() && !todo.contains(row);
    core.each_row(&*store, Table::Records, &mut |row, bytes| {
        counted.next_row = counted.next_row.max(row + 1);
        let stored = Row::decode(bytes)?;
        schema.observe(&stored.payload()?);
        let mut row_bytes = stored.id.len() + bytes.len();
        for field in fields.iter() {
            match store.get(Table::Vectors, &field.key(shard, row))? {
                Some(vector) => {
                    row_bytes += vector.len();
                    *counted.of_field_mut(field.id) += 1;
                }
                None if field.id == UNNAMED && (stored.has_vector || is_owed(row, &stored)) => {
                    without_their_vector.insert(stored.id.clone());
                }
                None => {}
            }
        }
        // Rows ascend, so this is the older one.
        if let Some((older, _)) = newest.insert(stored.id, (row, row_bytes as u64)) {
            for field in fields.iter() {
                let key = field.key(shard, older);
                *counted.of_field_mut(field.id) -= u64::from(store.get(Table::Vectors, &key)?.is_some());
                batch.delete(Table::Vectors, key);
            }
            batch.delete(Table::Records, shard.number_key(older));
        }
        Ok(())
    })?;
    Ok(Census { newest, without_their_vector, schema, counted })
}

/// Forgets the to-do rows of rows that are not there.
fn mend_todo(shard: Shard, census: &Census, todo: &mut RoaringTreemap, batch: &mut Batch) {
    let live: RoaringTreemap = census.newest.values().map(|(row, _)| *row).collect();
    for row in &*todo - &live {
        batch.delete(Table::Catalog, pending::todo_key(shard, row));
    }
    *todo &= live;
}

/// Has the files read again that lack passages or their vectors. Returns the bytes that a tenant's limit counts for all
/// files.
fn mend_files(core: &Core, census: &Census, batch: &mut Batch) -> Result<u64> {
    let is_lost = |id: &String| !census.newest.contains_key(id) || census.without_their_vector.contains(id);
    let mut bytes = 0;
    for (path, mut entry) in core.file_entries(&core.shared.store, "")? {
        if entry.ids(&path).any(|id| is_lost(&id)) {
            entry.read_again();
            batch.put(Table::Files, core.shard.key(path.as_bytes()), entry.encode());
        }
        bytes += (path.len() + entry.encode().len()) as u64;
    }
    Ok(bytes)
}

/// Makes the ids match the remaining rows.
fn mend_ids(store: &dyn Store, shard: Shard, newest: &HashMap<String, (u64, u64)>, batch: &mut Batch) -> Result<()> {
    for (id, (row, _)) in newest {
        batch.put(Table::Ids, shard.key(id.as_bytes()), row.to_be_bytes().to_vec());
    }
    Ok(store.scan(Table::Ids, &shard.prefix(), &shard.end(), Direction::Forward, &mut |key, _| {
        let id = String::from_utf8_lossy(Shard::suffix(key));
        if !newest.contains_key(id.as_ref()) {
            batch.delete(Table::Ids, key.to_vec());
        }
        ControlFlow::Continue(())
    })?)
}

/// How far the log reaches: further than the counters, when those were lost.
fn last_change(store: &dyn Store, shard: Shard) -> Result<u64> {
    let mut last = 0;
    store.scan(Table::Log, &shard.prefix(), &shard.end(), Direction::Reverse, &mut |key, _| {
        last = row_of(key);
        ControlFlow::Break(())
    })?;
    Ok(last)
}

/// A damaged or missing identity file holds nothing that the rest does not; it is rewritten.
fn rewrite_identity(root: &Path) -> Result<()> {
    match Folder::open(root, true) {
        Ok(_) => Ok(()),
        Err(error) if error.is_corrupt() || error.kind == crate::ErrorKind::NotFound => {
            Folder::at(root).write_identity()
        }
        Err(error) => Err(error),
    }
}

/// The first shard at or after `from` that has records, and the dimension of its first vector.
fn next_shard(store: &dyn Reader, from: &[u8]) -> Result<Option<(Shard, Option<usize>)>> {
    let Some(shard) = first_shard(store, Table::Records, from, &[])? else { return Ok(None) };
    let mut dim = None;
    store.scan(Table::Vectors, &shard.prefix(), &shard.end(), Direction::Forward, &mut |key, vector| {
        dim = Field::number_of(key).is_none().then_some(vector.len() / 4);
        ControlFlow::Break(())
    })?;
    Ok(Some((shard, dim)))
}

/// Adds the named fields that have vectors but are in no catalog entry: their numbers must not be given to others.
fn restore_fields(store: &dyn Reader, shard: Shard, meta: &mut Meta) -> Result<()> {
    let mut from = shard.prefix().to_vec();
    loop {
        let mut found = None;
        store.scan(Table::Vectors, &from, &shard.end(), Direction::Forward, &mut |key, vector| {
            let id = Field::number_of(key).unwrap_or(UNNAMED);
            let dim = match (FieldKind::of(id), vector) {
                (FieldKind::Dense, _) => vector.len() / 4,
                (FieldKind::Tokens, [low, high, ..]) => usize::from(u16::from_le_bytes([*low, *high])),
                (FieldKind::Sparse | FieldKind::Tokens, _) => 0,
            };
            found = Some((id, dim));
            ControlFlow::Break(())
        })?;
        let Some((id, dim)) = found else { break };
        if id != UNNAMED && meta.fields.iter().all(|field| field.id != id) {
            let metric = if FieldKind::of(id) == FieldKind::Sparse { Metric::Dot } else { Metric::Cosine };
            let (metric, element) = (metric.to_string(), Element::F32.to_string());
            meta.fields.push(FieldMeta { id, name: format!("recovered-{id}"), dim, metric, element });
        }
        from = Field::end_of(shard, id);
    }
    meta.fields.sort_by_key(|field| field.id);
    Ok(())
}
