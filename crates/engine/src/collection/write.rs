//! Writing: one call, one batch, one fsync.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use nuthatch_embed::Embedder;
use nuthatch_store::{Batch, Position, Table, append_change};
use nuthatch_text::RowWords;
use nuthatch_vector::{DIM_MAX, DIM_MIN};
use serde::{Deserialize, Serialize};

use crate::call::{Call, Outcome};
use crate::collection::change::Change;
use crate::collection::descriptor::Descriptor;
use crate::collection::field::{Field, FieldVectors, Fields};
use crate::collection::memtable::Memtable;
use crate::collection::meta::{self, COUNTERS, Counters, EmbedderMeta, Meta, SCHEMA, meta_key};
use crate::collection::open::words_of;
use crate::collection::{Collection, Core, EmbedderChoice, Writer};
use crate::durability::Durability;
use crate::files::FileEntry;
use crate::files::staged::changed_meanwhile;
use crate::record::{Record, Row, shortened};
use crate::tenant::Delta;
use crate::{Error, ErrorKind, Result};

/// Largest batch in bytes of vectors, texts and payloads: it is in memory several times while it is written.
pub const BATCH_BYTES_MAX: usize = 128 << 20;

/// What an upsert did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Upserted {
    pub inserted: u64,
    pub replaced: u64,
}

/// What a delete did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deleted {
    pub deleted: u64,
}

/// Everything that one call changes.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct WriteSet {
    pub upserts: Vec<Record>,
    /// Ids; unknown ones are passed over. Applied before the upserts.
    pub deletes: Vec<String>,
    /// The rows that `deletes` mean, one each: an id that has another row by now has been written again, and stays.
    pub deletes_if: Option<Vec<u64>>,
    /// Texts without vectors stay so, whether or not the collection embeds.
    pub as_given: bool,
    /// Rows of the files table: path, and what is stored for it.
    pub files: Vec<(String, Option<Vec<u8>>)>,
    /// What `files` were when they were read, one each: what is another by now is a conflict.
    pub files_if: Option<Vec<Option<FileEntry>>>,
}

impl WriteSet {
    /// # Errors
    /// `Invalid` for no records.
    pub fn of(records: Vec<Record>) -> Result<Self> {
        match records.is_empty() {
            true => Err(Error::invalid("an empty batch: give at least one record")),
            false => Ok(Self { upserts: records, ..Self::default() }),
        }
    }
}

/// A write set that is laid out in a batch, and what becomes of the collection when that is written.
pub(crate) struct Planned {
    change: Change,
    /// With their codes: whoever makes them takes long, and searches would wait.
    memtable: Memtable,
    texts: Vec<(u64, RowWords)>,
    counters: Counters,
    /// If it is another by then.
    descriptor: Option<Descriptor>,
    outcome: (Upserted, Deleted),
}

impl Planned {
    /// What it changes about what the tenant has stored. `writer`: as it was when this was planned.
    pub fn delta(&self, writer: &Writer) -> Delta {
        let difference = |after: u64, before: u64| after as i64 - before as i64;
        Delta {
            vectors: difference(self.counters.all_vectors(), writer.counters.all_vectors()),
            bytes: difference(self.counters.bytes, writer.counters.bytes),
        }
    }
}

impl Collection {
    /// Inserts records, replacing those with the same id. All or nothing, durable when it returns, visible to the next search.
    ///
    /// # Errors
    /// `Invalid` for a wrong dimension, NaN, an unknown vector field, an empty or repeated id, a bad payload: nothing is changed. `Unavailable` when a
    /// vector is wanted and the embedder is not there. `Exhausted` when the disk is full or the batch is over 128 MiB.
    pub fn upsert(&self, records: Vec<Record>) -> Result<Upserted> {
        self.begin_upsert(records)?.wait()
    }

    /// Deletes records by id; ids that are not there are passed over.
    pub fn delete<I: AsRef<str>>(&self, ids: &[I]) -> Result<Deleted> {
        let deletes = ids.iter().map(|id| id.as_ref().to_string()).collect();
        let (_, deleted) = self.core.apply(WriteSet { deletes, ..WriteSet::default() }, self.durability, &self.call)?;
        Ok(deleted)
    }

    /// Deletes the records whose payload passes the filter.
    pub fn delete_where(&self, filter: &str) -> Result<Deleted> {
        let mut deleted = Deleted::default();
        loop {
            // In chunks, so that deleting millions of rows does not build one batch of millions of operations.
            let matching = self.ids_matching(filter, 10_000)?;
            if matching.is_empty() {
                return Ok(deleted);
            }
            let (deletes, deletes_if) = matching.into_iter().unzip();
            let set = WriteSet { deletes, deletes_if: Some(deletes_if), ..WriteSet::default() };
            let (_, done) = self.core.apply(set, self.durability, &self.call)?;
            deleted.deleted += done.deleted;
        }
    }
}

impl Core {
    pub(crate) fn apply(&self, set: WriteSet, durability: Durability, call: &Call) -> Result<(Upserted, Deleted)> {
        let (position, outcome) = self.begin(set, call)?;
        if let Some(position) = position {
            self.shared.make_durable(position, durability)?;
        }
        Ok(outcome)
    }

    /// Writes, and shows it to searches; [`make_durable`](crate::database::Shared::make_durable) is left to the caller, if there is a
    /// position to wait for.
    pub(crate) fn begin(&self, mut set: WriteSet, call: &Call) -> Result<(Option<Position>, (Upserted, Deleted))> {
        self.prepare(&mut set, call)?;
        let done = {
            let _commit = self.shared.commit.read();
            let mut writer = self.writer.lock();
            self.check_open()?;
            let mut batch = Batch::new();
            let planned = self.plan(&writer, set, &mut batch, call)?;
            let reserved = self.tenant.reserve(&*self.shared, planned.delta(&writer))?;
            let position = if batch.is_empty() { None } else { Some(self.shared.write(batch)?) };
            reserved.keep();
            (position, self.show(&mut writer, planned)?)
        };
        self.shared.wake_maintenance_if_due(self);
        Ok(done)
    }

    /// What takes long and needs no lock: checks, embedding, waiting for room.
    pub(crate) fn prepare(&self, set: &mut WriteSet, call: &Call) -> Result<()> {
        self.check_open()?;
        check_records(&set.upserts)?;
        if !set.as_given {
            self.embed_missing(&mut set.upserts, call)?;
        }
        self.shared.wait_for_room(self)
    }

    /// Adds everything that a write set changes to a batch. Once that is written, [`show`](Self::show) must follow, before the
    /// writer is let go.
    pub(crate) fn plan(&self, writer: &Writer, set: WriteSet, batch: &mut Batch, call: &Call) -> Result<Planned> {
        let before = batch.len();
        let descriptor = self.descriptor();
        let mut schema = descriptor.schema.clone();
        let mut counters = writer.counters.clone();
        let mut dim = descriptor.meta.dim;
        for record in &set.upserts {
            check_vectors(record, &descriptor.fields, &mut dim)?;
        }
        let settled = match dim == descriptor.meta.dim {
            true => None,
            false => Some(descriptor.with_meta(Meta { dim, ..descriptor.meta.clone() })?),
        };
        let fields = settled.as_ref().map_or(&descriptor.fields, |settled| &settled.fields).clone();
        self.check_files(&set)?;
        let old = self.rows_of_ids(&set)?;
        let mut change = Change::default();
        let (mut upserted, mut deleted) = (Upserted::default(), Deleted::default());
        let mut schema_changed = false;
        let is_counted = !self.tenant.is_default();
        let (mut taken, mut freed) = (0, 0);

        let mut remove = |batch: &mut Batch, id: &str, row: u64| -> Result<()> {
            if is_counted {
                let stored = self.shared.store()?.get(Table::Records, &self.shard.number_key(row))?;
                freed += id.len() + stored.map_or(0, |stored| stored.len());
            }
            for field in fields.iter() {
                let key = field.key(self.shard, row);
                if let Some(vector) = self.shared.store()?.get(Table::Vectors, &key)? {
                    freed += vector.len();
                    batch.delete(Table::Vectors, key);
                    let count = counters.of_field_mut(field.id);
                    *count = count.saturating_sub(1);
                }
            }
            batch.delete(Table::Records, self.shard.number_key(row));
            change.removed.push(row);
            counters.rows = counters.rows.saturating_sub(1);
            Ok(())
        };
        let upserted_ids: HashSet<&str> = set.upserts.iter().map(|record| record.id.as_str()).collect();
        let mut seen = HashSet::new();
        for (at, id) in set.deletes.iter().enumerate() {
            let meant = set.deletes_if.as_ref().and_then(|rows| rows.get(at));
            if let Some(row) = old.get(id)
                && meant.is_none_or(|meant| meant == row)
                && seen.insert(id)
            {
                if !upserted_ids.contains(id.as_str()) {
                    remove(batch, id, *row)?;
                    batch.delete(Table::Ids, self.shard.key(id.as_bytes()));
                }
                deleted.deleted += 1;
            }
        }
        let mut rows = Vec::with_capacity(set.upserts.len());
        for record in set.upserts {
            match old.get(&record.id) {
                Some(row) => {
                    remove(batch, &record.id, *row)?;
                    upserted.replaced += 1;
                }
                None => upserted.inserted += 1,
            }
            schema_changed |= schema.observe(&record.payload);
            rows.push(record);
        }
        let mut memtable = Memtable::default();
        let mut texts = Vec::new();
        let index = self.state.read().text.clone();
        for record in rows {
            let row = counters.next_row;
            counters.next_row += 1;
            counters.rows += 1;
            change.added.push(row);
            let stored = Row {
                payload: nuthatch_filter::encode(&record.payload),
                id: record.id,
                text: record.text,
                context: record.context,
                code: record.code,
                has_vector: record.vector.is_some(),
            };
            let key = self.shard.number_key(row);
            batch.put(Table::Ids, self.shard.key(stored.id.as_bytes()), row.to_be_bytes().to_vec());
            let row_bytes = stored.encode();
            taken += stored.id.len() + row_bytes.len();
            batch.put(Table::Records, key, row_bytes);
            let mut vectors = FieldVectors::new();
            let unnamed = record.vector.map(|vector| (fields.unnamed(), vector));
            let mut given: Vec<(&Field, Vec<f32>)> = unnamed.into_iter().collect();
            for (name, vector) in record.vectors {
                given.push((fields.named(&name)?, vector));
            }
            for (field, vector) in given {
                *counters.of_field_mut(field.id) += 1;
                let vector_bytes = field.element.encode(&vector)?;
                taken += vector_bytes.len();
                batch.put(Table::Vectors, field.key(self.shard, row), vector_bytes);
                // What is searched is what is stored: components that were rounded are rounded here, too.
                vectors.push((field.id, field.as_stored(vector)?));
            }
            memtable.insert(row, &stored.payload, &vectors, &fields)?;
            texts.extend(words_of(&stored, index.as_deref()).map(|words| (row, words)));
        }
        let files = set.files.iter().filter(|(_, value)| value.is_none()).count() as u64;
        let mut staged: HashMap<String, usize> = HashMap::new();
        for (path, value) in set.files {
            let key = self.shard.key(path.as_bytes());
            if is_counted {
                let bytes = value.as_ref().map_or(0, |value| path.len() + value.len());
                freed += match staged.insert(path.clone(), bytes) {
                    Some(before) => before, // the same path twice in one batch
                    None => self.shared.store()?.get(Table::Files, &key)?.map_or(0, |old| path.len() + old.len()),
                };
                taken += bytes;
            }
            match value {
                Some(value) => batch.put(Table::Files, key, value),
                None => batch.delete(Table::Files, key),
            }
        }
        let outcome = (upserted, deleted);
        if batch.len() == before {
            return Ok(Planned { change, memtable, texts, counters, descriptor: None, outcome });
        }
        let Upserted { inserted, replaced } = upserted;
        call.sign(batch, Outcome { inserted, replaced, deleted: deleted.deleted, files, ..Outcome::default() });
        if is_counted {
            counters.bytes = (counters.bytes + taken as u64).saturating_sub(freed as u64);
        }
        counters.sequence += 1;
        append_change(batch, self.shard, counters.sequence, change.encode());
        batch.put(Table::Catalog, self.shard.key(COUNTERS), meta::encode(&counters));
        if schema_changed {
            batch.put(Table::Catalog, self.shard.key(SCHEMA), schema.to_bytes());
        }
        if let Some(settled) = &settled {
            batch.put(Table::Catalog, meta_key(self.shard.tenant, &self.name), meta::encode(&settled.meta));
        }
        let descriptor = match (settled, schema_changed) {
            (None, false) => None,
            (settled, _) => Some(Descriptor { schema, ..settled.unwrap_or_else(|| Descriptor::clone(&descriptor)) }),
        };
        Ok(Planned { change, memtable, texts, counters, descriptor, outcome })
    }

    /// Makes searches see what has been written.
    pub(crate) fn show(&self, writer: &mut Writer, planned: Planned) -> Result<(Upserted, Deleted)> {
        let Planned { change, memtable, texts, counters, descriptor, outcome } = planned;
        let sequence = counters.sequence;
        // Written: from here on nothing may fail before the state shows it.
        writer.counters = counters;
        if let Some(descriptor) = descriptor {
            self.learn(writer, descriptor);
        }
        let mut state = self.state.write();
        for row in change.removed {
            state.remove(row);
        }
        Arc::make_mut(&mut state.mutable).append(memtable);
        for (row, words) in texts {
            state.insert_text(row, words);
        }
        state.sequence = sequence;
        Ok(outcome)
    }

    fn check_files(&self, set: &WriteSet) -> Result<()> {
        for ((path, _), before) in set.files.iter().zip(set.files_if.iter().flatten()) {
            if self.file_entry(path)? != *before {
                return Err(changed_meanwhile(path));
            }
        }
        Ok(())
    }

    /// Current rows of all ids that a write set names.
    fn rows_of_ids(&self, set: &WriteSet) -> Result<HashMap<String, u64>> {
        let mut ids: Vec<&str> = set.deletes.iter().map(String::as_str).collect();
        ids.extend(set.upserts.iter().map(|record| record.id.as_str()));
        ids.sort_unstable();
        ids.dedup();
        let keys: Vec<Vec<u8>> = ids.iter().map(|id| self.shard.key(id.as_bytes())).collect();
        let rows = self.shared.store()?.multi_get(Table::Ids, &keys)?;
        let known =
            ids.into_iter().zip(rows).filter_map(|(id, row)| Some((id.to_string(), row_from(row?.as_slice())?)));
        Ok(known.collect())
    }

    /// Makes the vectors of texts that come without one, if this collection embeds.
    pub(crate) fn embed_missing(&self, records: &mut [Record], call: &Call) -> Result<()> {
        let texts: Vec<String> = records
            .iter()
            .filter(|r| r.vector.is_none())
            .filter_map(Record::searchable)
            .filter(|t| !t.trim().is_empty())
            .collect();
        if texts.is_empty() {
            return Ok(());
        }
        let Some(embedder) = self.embedder_for_passages(call)? else {
            return Ok(());
        };
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let mut vectors = embedder.embed_passages(&texts)?.into_iter();
        for record in records.iter_mut().filter(|r| r.vector.is_none()) {
            if record.searchable().is_some_and(|text| !text.trim().is_empty()) {
                record.vector = vectors.next();
            }
        }
        Ok(())
    }

    /// The embedder for texts without vectors; `None` when this collection does not embed. From here on it is the collection's.
    pub(crate) fn embedder_for_passages(&self, call: &Call) -> Result<Option<Arc<dyn Embedder>>> {
        let embedder = self.embedder(call)?;
        if let Some(embedder) = &embedder {
            self.settle_embedder(&**embedder)?;
        }
        Ok(embedder)
    }

    /// The collection's embedder, or the one it would have; `None` when it does not embed.
    pub(crate) fn embedder(&self, call: &Call) -> Result<Option<Arc<dyn Embedder>>> {
        let descriptor = self.descriptor();
        let (stored, dim) = (descriptor.meta.embedder.as_ref(), descriptor.meta.dim);
        if !descriptor.meta.embeds {
            return Ok(None);
        }
        let choice = call.embedder().unwrap_or_else(|| self.embedder.read().clone());
        let embedder = match choice {
            EmbedderChoice::Given(embedder) => embedder,
            EmbedderChoice::None => return Ok(None),
            EmbedderChoice::BuiltIn => self.shared.default_embedder()?,
            EmbedderChoice::Auto => self.shared.stored_embedder(stored)?,
        };
        if let Some(dim) = dim.filter(|dim| *dim != embedder.dim()) {
            return Err(Error::invalid(format!(
                "collection {:?} has {dim} dimensions, the embedder {:?} gives {}; bring vectors with every record, or pass an embedder of {dim} dimensions",
                self.name,
                embedder.name(),
                embedder.dim()
            )));
        }
        Ok(Some(embedder))
    }

    /// Stores name, dimension and fingerprint with the collection the first time; afterwards refuses another one.
    pub(crate) fn settle_embedder(&self, embedder: &dyn Embedder) -> Result<()> {
        let given = EmbedderMeta {
            name: embedder.name().to_string(),
            dim: embedder.dim(),
            fingerprint: embedder.fingerprint().to_string(),
        };
        let writer = self.writer.lock();
        self.check_open()?; // a dropped collection must not write itself back
        let descriptor = self.descriptor();
        match &descriptor.meta.embedder {
            Some(stored) if *stored == given => Ok(()),
            Some(stored) => Err(embedder_mismatch(&self.name, stored, &given)),
            None => {
                if let Some(dim) = descriptor.meta.dim.filter(|dim| *dim != given.dim) {
                    return Err(Error::invalid(format!(
                        "collection {:?} has {dim} dimensions, the embedder {:?} gives {}; pass one of {dim} dimensions",
                        self.name, given.name, given.dim
                    )));
                }
                if !(DIM_MIN..=DIM_MAX).contains(&given.dim) {
                    return Err(Error::invalid(format!(
                        "the embedder {:?} gives {} dimensions; choose one of {DIM_MIN} to {DIM_MAX}",
                        given.name, given.dim
                    )));
                }
                let mut meta = descriptor.meta.clone();
                meta.embedder = Some(given.clone());
                meta.dim = meta.dim.or(Some(given.dim));
                self.settle(writer, descriptor.with_meta(meta)?)
            }
        }
    }
}

pub(crate) fn embedder_mismatch(collection: &str, stored: &EmbedderMeta, given: &EmbedderMeta) -> Error {
    Error::invalid(format!(
        "collection {collection:?} was made with embedder {:?} ({} dimensions, fingerprint {}), but {:?} ({} dimensions, fingerprint {}) was given; \
         their vectors cannot be compared: open it with {:?}, or make a new collection",
        stored.name, stored.dim, stored.fingerprint, given.name, given.dim, given.fingerprint, stored.name
    ))
}

fn check_vectors(record: &Record, fields: &Fields, dim: &mut Option<usize>) -> Result<()> {
    let unnamed = match &record.vector {
        Some(vector) => fields.unnamed().check_with(vector, *dim.get_or_insert(vector.len())),
        None => Ok(()),
    };
    let mut named = record.vectors.iter();
    unnamed
        .and_then(|()| named.try_for_each(|(name, vector)| fields.named(name)?.check(vector)))
        .map_err(|error| Error::invalid(format!("record {:?}: {}", shortened(&record.id), error.message)))
}

pub(crate) fn row_from(bytes: &[u8]) -> Option<u64> {
    Some(u64::from_be_bytes(bytes.try_into().ok()?))
}

/// What a record adds to a batch.
pub(crate) fn record_bytes(record: &Record) -> usize {
    let texts = [&record.text, &record.context].into_iter().flatten().map(String::len).sum::<usize>();
    let vectors = record.vector.iter().chain(record.vectors.values()).map(|vector| vector.len() * 4).sum::<usize>();
    record.id.len() + texts + vectors + nuthatch_filter::encode(&record.payload).len()
}

fn check_records(records: &[Record]) -> Result<()> {
    let mut ids = HashSet::with_capacity(records.len());
    let mut bytes = 0;
    for record in records {
        record.check()?;
        if !ids.insert(record.id.as_str()) {
            return Err(Error::invalid(format!(
                "id {:?} occurs twice in one batch; keep the one that you want",
                shortened(&record.id)
            )));
        }
        bytes += record_bytes(record);
    }
    if bytes > BATCH_BYTES_MAX {
        return Err(Error::new(
            ErrorKind::Exhausted,
            format!(
                "the batch has {} MiB, {} at most; split it into several calls",
                bytes >> 20,
                BATCH_BYTES_MAX >> 20
            ),
        ));
    }
    Ok(())
}
