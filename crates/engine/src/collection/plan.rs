//! Laying a write set out in one batch: what it replaces, what it adds, what it counts.
//!
//! **Useful for** every way to write: one call, a step of `add`, a batch over several collections, a transaction. **Not for** embedding
//! and waiting for memory, which come before and hold no lock.
//!
//! **Invariant:** nothing that searches see changes before the batch is written; then [`Core::show`] cannot fail.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use nuthatch_filter::Schema;
use nuthatch_store::{Batch, Table, append_change};
use nuthatch_text::{RowWords, TextIndex};

use crate::call::{Call, Outcome};
use crate::collection::descriptor::Descriptor;
use crate::collection::pending::{Pending, todo_key};
use crate::collection::write::{Deleted, Upserted, WriteSet, row_from};
use crate::collection::{Core, Writer};
use crate::descriptor::field::{Field, FieldVectors, Fields};
use crate::descriptor::meta::{self, COUNTERS, Counters, Meta, SCHEMA, meta_key};
use crate::record::NamedVectors;
use crate::record::{Record, Row, shortened};
use crate::state::change::Change;
use crate::state::memtable::Memtable;
use crate::state::words_of;
use crate::tenant::Delta;
use crate::vector_value::VectorValue;
use crate::{Error, ErrorKind, Result};

/// A write set that is laid out in a batch, and what becomes of the collection when that is written.
pub(crate) struct Planned {
    change: Change,
    /// With their codes: encoding takes long, and searches would wait for it.
    memtable: Memtable,
    texts: Vec<(u64, RowWords)>,
    /// Rows whose vector is still to come.
    pending: Vec<u64>,
    counters: Counters,
    /// Set if the write changes it.
    descriptor: Option<Descriptor>,
    outcome: (Upserted, Deleted),
}

impl Planned {
    /// Returns its change to the tenant's stored totals. `writer`: its state when this was planned.
    pub fn delta(&self, writer: &Writer) -> Delta {
        let difference = |after: u64, before: u64| after as i64 - before as i64;
        Delta {
            vectors: difference(self.counters.all_vectors(), writer.counters.all_vectors()),
            bytes: difference(self.counters.bytes, writer.counters.bytes),
        }
    }
}

impl Core {
    /// Adds everything that a write set changes to a batch. After writing it, the caller must call [`show`](Self::show)
    /// before it releases the writer.
    pub(crate) fn plan(&self, writer: &Writer, mut set: WriteSet, batch: &mut Batch, call: &Call) -> Result<Planned> {
        let before = batch.len();
        let descriptor = self.descriptor();
        let settled = with_dim_of(&descriptor, &set.upserts)?;
        self.check_files(&set)?;
        let old = self.rows_of_ids(&set)?;
        keep_as_meant(&mut set, &old)?;
        let mut draft = Draft::new(self, writer, settled.as_ref().unwrap_or(&descriptor), batch);
        draft.delete(&set, &old)?;
        draft.replace(&set.upserts, &old)?;
        draft.add_rows(set.upserts, &set.later)?;
        let files_removed = draft.change_files(set.files)?;
        if draft.batch.len() == before {
            return Ok(draft.planned);
        }
        draft.account();
        draft.sign(call, files_removed);
        draft.log();
        Ok(draft.settle(&descriptor, settled))
    }

    /// Makes the write visible to searches.
    pub(crate) fn show(&self, writer: &mut Writer, planned: Planned) -> Result<(Upserted, Deleted)> {
        let Planned { change, memtable, texts, pending, counters, descriptor, outcome } = planned;
        let (sequence, vectors) = (counters.sequence, Pending::of(&counters));
        // Written: from here on nothing may fail before the state shows it.
        writer.counters = counters;
        for row in &change.removed {
            writer.pending.remove(*row);
        }
        writer.pending.extend(pending);
        debug_assert_eq!(writer.pending.len(), writer.counters.pending, "as many to-do rows as are counted");
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
        state.vectors = vectors;
        Ok(outcome)
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
}

/// A plan under construction: each step adds its part to the batch.
struct Draft<'d> {
    core: &'d Core,
    writer: &'d Writer,
    batch: &'d mut Batch,
    /// Texts may have vectors.
    embeds: bool,
    planned: Planned,
    fields: Arc<Fields>,
    schema: Schema,
    schema_changed: bool,
    /// The tenant has limits, so bytes are counted.
    is_counted: bool,
    bytes_taken: usize,
    bytes_freed: usize,
}

impl<'d> Draft<'d> {
    fn new(core: &'d Core, writer: &'d Writer, descriptor: &Descriptor, batch: &'d mut Batch) -> Self {
        let planned = Planned {
            change: Change::default(),
            memtable: Memtable::default(),
            texts: Vec::new(),
            pending: Vec::new(),
            counters: writer.counters.clone(),
            descriptor: None,
            outcome: (Upserted::default(), Deleted::default()),
        };
        Self {
            core,
            writer,
            batch,
            embeds: descriptor.meta.embeds,
            planned,
            fields: descriptor.fields.clone(),
            schema: descriptor.schema.clone(),
            schema_changed: false,
            is_counted: !core.tenant.is_default(),
            bytes_taken: 0,
            bytes_freed: 0,
        }
    }

    /// Removes what the set deletes, but for what it inserts again: that is replaced.
    fn delete(&mut self, set: &WriteSet, old: &HashMap<String, u64>) -> Result<()> {
        let upserted: HashSet<&str> = set.upserts.iter().map(|record| record.id.as_str()).collect();
        let mut seen = HashSet::new();
        for (at, id) in set.deletes.iter().enumerate() {
            let meant = set.deletes_if.as_ref().and_then(|rows| rows.get(at));
            if let Some(row) = old.get(id)
                && meant.is_none_or(|meant| meant == row)
                && seen.insert(id)
            {
                if !upserted.contains(id.as_str()) {
                    self.remove_row(id, *row)?;
                    self.batch.delete(Table::Ids, self.core.shard.key(id.as_bytes()));
                }
                self.planned.outcome.1.deleted += 1;
            }
        }
        Ok(())
    }

    /// Removes the rows that the records replace, and learns the fields of their payloads.
    fn replace(&mut self, upserts: &[Record], old: &HashMap<String, u64>) -> Result<()> {
        for record in upserts {
            match old.get(&record.id) {
                Some(row) => {
                    self.remove_row(&record.id, *row)?;
                    self.planned.outcome.0.replaced += 1;
                }
                None => self.planned.outcome.0.inserted += 1,
            }
            self.schema_changed |= self.schema.observe(&record.payload);
        }
        Ok(())
    }

    fn remove_row(&mut self, id: &str, row: u64) -> Result<()> {
        let shard = self.core.shard;
        let store = self.core.shared.store()?;
        let counters = &mut self.planned.counters;
        if self.is_counted {
            let stored = store.get(Table::Records, &shard.number_key(row))?;
            self.bytes_freed += id.len() + stored.map_or(0, |stored| stored.len());
        }
        for field in self.fields.iter() {
            let key = field.key(shard, row);
            if let Some(vector) = store.get(Table::Vectors, &key)? {
                self.bytes_freed += vector.len();
                self.batch.delete(Table::Vectors, key);
                let count = counters.of_field_mut(field.id);
                *count = count.saturating_sub(1);
            }
        }
        if self.writer.pending.contains(row) {
            self.batch.delete(Table::Catalog, todo_key(shard, row));
            counters.pending = counters.pending.saturating_sub(1);
            self.bytes_freed += self.fields.unnamed().row_bytes();
        }
        self.batch.delete(Table::Records, shard.number_key(row));
        self.planned.change.removed.push(row);
        counters.rows = counters.rows.saturating_sub(1);
        Ok(())
    }

    fn add_rows(&mut self, upserts: Vec<Record>, later: &HashSet<String>) -> Result<()> {
        let index = self.core.state.read().text.clone();
        for record in upserts {
            let is_later = self.embeds && later.contains(&record.id) && record.text_to_embed().is_some();
            if is_later {
                self.put_off_vector();
            }
            self.add_row(record, index.as_deref())?;
        }
        Ok(())
    }

    /// The vector of the row that is added next comes later.
    fn put_off_vector(&mut self) {
        let row = self.planned.counters.next_row;
        self.batch.put(Table::Catalog, todo_key(self.core.shard, row), Vec::new());
        self.planned.counters.pending += 1;
        self.planned.pending.push(row);
        self.bytes_taken += self.fields.unnamed().row_bytes();
    }

    fn add_row(&mut self, record: Record, index: Option<&TextIndex>) -> Result<()> {
        let shard = self.core.shard;
        let row = self.planned.counters.next_row;
        self.planned.counters.next_row += 1;
        self.planned.counters.rows += 1;
        self.planned.change.added.push(row);
        let stored = Row {
            payload: nuthatch_filter::encode(&record.payload),
            id: record.id,
            text: record.text,
            context: record.context,
            code: record.code,
            has_vector: record.vector.is_some(),
        };
        self.batch.put(Table::Ids, shard.key(stored.id.as_bytes()), row.to_be_bytes().to_vec());
        let row_bytes = stored.encode();
        self.bytes_taken += stored.id.len() + row_bytes.len();
        self.batch.put(Table::Records, shard.number_key(row), row_bytes);
        let vectors = self.add_vectors(row, record.vector, record.vectors)?;
        self.planned.memtable.insert(row, &stored.payload, &vectors, &self.fields)?;
        self.planned.texts.extend(words_of(&stored, index).map(|words| (row, words)));
        Ok(())
    }

    /// Gives back the vectors as searches see them.
    fn add_vectors(&mut self, row: u64, unnamed: Option<Vec<f32>>, named: NamedVectors) -> Result<FieldVectors> {
        let mut given: Vec<(&Field, VectorValue)> = Vec::with_capacity(usize::from(unnamed.is_some()) + named.len());
        given.extend(unnamed.map(|vector| (self.fields.unnamed(), vector.into())));
        for (name, vector) in named {
            given.push((self.fields.named(&name)?, vector));
        }
        let mut vectors = FieldVectors::new();
        for (field, vector) in given {
            *self.planned.counters.of_field_mut(field.id) += 1;
            let vector_bytes = field.encode(&vector)?;
            self.bytes_taken += vector_bytes.len();
            self.batch.put(Table::Vectors, field.key(self.core.shard, row), vector_bytes);
            // Searches see the stored values: components that were rounded are rounded here, too.
            vectors.push((field.id, field.as_stored(vector)?));
        }
        Ok(vectors)
    }

    /// How many entries it removes.
    fn change_files(&mut self, files: Vec<(String, Option<Vec<u8>>)>) -> Result<u64> {
        let mut removed = 0;
        let mut staged: HashMap<String, usize> = HashMap::new();
        for (path, value) in files {
            let key = self.core.shard.key(path.as_bytes());
            if self.is_counted {
                let bytes = value.as_ref().map_or(0, |value| path.len() + value.len());
                self.bytes_freed += match staged.insert(path.clone(), bytes) {
                    Some(before) => before, // the same path twice in one batch
                    None => {
                        let old = self.core.shared.store()?.get(Table::Files, &key)?;
                        old.map_or(0, |old| path.len() + old.len())
                    }
                };
                self.bytes_taken += bytes;
            }
            match value {
                Some(value) => self.batch.put(Table::Files, key, value),
                None => {
                    removed += 1;
                    self.batch.delete(Table::Files, key);
                }
            }
        }
        Ok(removed)
    }

    fn account(&mut self) {
        if self.is_counted {
            let bytes = &mut self.planned.counters.bytes;
            *bytes = (*bytes + self.bytes_taken as u64).saturating_sub(self.bytes_freed as u64);
        }
    }

    /// Lets a repeated call find what this one did.
    fn sign(&mut self, call: &Call, files: u64) {
        let (Upserted { inserted, replaced }, Deleted { deleted }) = self.planned.outcome;
        call.sign(self.batch, Outcome { inserted, replaced, deleted, files, ..Outcome::default() });
    }

    /// Adds the change to the log, and the counters that it leaves.
    fn log(&mut self) {
        let Planned { counters, change, pending, .. } = &mut self.planned;
        let taken = self.writer.counters.next_row..counters.next_row;
        assert!(pending.iter().all(|row| taken.contains(row)), "a batch puts off vectors of its own rows");
        assert!(change.added.iter().copied().eq(taken), "each added row takes the next number");
        counters.sequence += 1;
        append_change(self.batch, self.core.shard, counters.sequence, change.encode());
        self.batch.put(Table::Catalog, self.core.shard.key(COUNTERS), meta::encode(counters));
    }

    /// Adds what is known of the collection from now on, if that is more than before.
    fn settle(self, before: &Descriptor, settled: Option<Descriptor>) -> Planned {
        let Self { core, batch, mut planned, schema, schema_changed, .. } = self;
        if schema_changed {
            batch.put(Table::Catalog, core.shard.key(SCHEMA), schema.to_bytes());
        }
        if let Some(settled) = &settled {
            batch.put(Table::Catalog, meta_key(core.shard.tenant, &core.name), meta::encode(&settled.meta));
        }
        planned.descriptor = match (settled, schema_changed) {
            (None, false) => None,
            (settled, _) => Some(Descriptor { schema, ..settled.unwrap_or_else(|| before.clone()) }),
        };
        planned
    }
}

/// Leaves out the records that were written again, or deleted, since they were read; or refuses all, if that is meant.
fn keep_as_meant(set: &mut WriteSet, old: &HashMap<String, u64>) -> Result<()> {
    let Some(meant) = set.upserts_if.take() else { return Ok(()) };
    let (mut meant, read) = (meant.into_iter(), set.upserts.len());
    set.upserts.retain(|record| meant.next().is_some_and(|row| old.get(&record.id) == Some(&row)));
    match set.all_or_none && set.upserts.len() < read {
        true => {
            Err(Error::new(ErrorKind::Conflict, "records were written again since they were read; read them again"))
        }
        false => Ok(()),
    }
}

/// Checks the vectors. The first one of a collection settles its dimension: then the descriptor is another.
fn with_dim_of(descriptor: &Descriptor, upserts: &[Record]) -> Result<Option<Descriptor>> {
    let mut dim = descriptor.meta.dim;
    for record in upserts {
        check_vectors(record, &descriptor.fields, &mut dim)?;
    }
    match dim == descriptor.meta.dim {
        true => Ok(None),
        false => Ok(Some(descriptor.with_meta(Meta { dim, ..descriptor.meta.clone() })?)),
    }
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
