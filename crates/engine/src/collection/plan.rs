//! Laying a write set out in one batch: what it replaces, what it adds, what it counts.
//!
//! **Useful for** every way to write: one call, a step of `add`, a batch over several collections, a transaction. **Not for** embedding
//! and waiting for memory, which come before and hold no lock.
//!
//! **Invariant:** nothing that searches see changes before the batch is written; then [`Core::show`] cannot fail.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use nuthatch_store::{Batch, Table, append_change};
use nuthatch_text::RowWords;

use crate::call::{Call, Outcome};
use crate::collection::change::Change;
use crate::collection::descriptor::Descriptor;
use crate::collection::field::{Field, FieldVectors, Fields};
use crate::collection::memtable::Memtable;
use crate::collection::meta::{self, COUNTERS, Counters, Meta, SCHEMA, meta_key};
use crate::collection::open::words_of;
use crate::collection::write::{Deleted, Upserted, WriteSet, row_from};
use crate::collection::{Core, Writer};
use crate::record::{Record, Row, shortened};
use crate::tenant::Delta;
use crate::{Error, Result};

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

impl Core {
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
