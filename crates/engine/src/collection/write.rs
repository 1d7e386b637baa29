//! Writing: one call, one batch, one fsync.

use std::collections::HashSet;
use std::sync::Arc;

use nuthatch_embed::Embedder;
use nuthatch_store::{Batch, Position};
use nuthatch_vector::{DIM_MAX, DIM_MIN};
use serde::{Deserialize, Serialize};

use crate::call::Call;

use crate::collection::{Collection, Core, reserve_for_batch};
use crate::durability::Durability;
use crate::embedder::{EmbedderChoice, EmbedderMeta};
use crate::file_entry::{FileEntry, changed_meanwhile};
use crate::record::{Record, shortened};
use crate::vector_value::VectorValue;
use crate::{Error, ErrorKind, Result};

/// Largest batch in bytes of vectors, texts and payloads: it is in memory several times while it is written.
pub const BATCH_BYTES_MAX: usize = 128 << 20;

/// Times that a batch's bytes are in memory at most while it is written.
pub(crate) const COPIES: u64 = 3;
/// The overhead of a row of a batch: its keys, the lists that it is in, its words.
const ROW_OVERHEAD_BYTES: usize = 512;

/// The result of an upsert.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Upserted {
    /// Records with an id that was not there.
    pub inserted: u64,
    /// Records that took the place of one with their id.
    pub replaced: u64,
}

/// The result of a delete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deleted {
    /// Records that were there and are gone.
    pub deleted: u64,
}

/// Everything that one call changes.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct WriteSet {
    /// Records to write, each id once.
    pub upserts: Vec<Record>,
    /// Ids; unknown ones are passed over. Applied before the upserts.
    pub deletes: Vec<String>,
    /// The rows that `deletes` mean, one each: an id that has another row by now has been written again, and stays.
    pub deletes_if: Option<Vec<u64>>,
    /// The rows that `upserts` replace, one each: an id that has another row by now, or none, stays as it is.
    pub upserts_if: Option<Vec<u64>>,
    /// Nothing is written, and `Conflict` given, if one of `upserts_if` is not its record's row any more.
    pub all_or_none: bool,
    /// Texts without vectors stay so, whether or not the collection embeds.
    pub as_given: bool,
    /// Ids of upserts whose vector may come later, if the collection embeds and the folder's holder can do so alone.
    pub later: HashSet<String>,
    /// Rows of the files table: path, and what is stored for it.
    pub files: Vec<(String, Option<Vec<u8>>)>,
    /// The rows of `files` as they were read, one each: a row that has changed since is a conflict.
    pub files_if: Option<Vec<Option<FileEntry>>>,
}

impl WriteSet {
    /// # Errors
    /// `Invalid` for no records.
    pub fn of(records: Vec<Record>) -> Result<Self> {
        match records.is_empty() {
            true => Err(Error::invalid("the batch is empty; give at least one record")),
            false => Ok(Self { upserts: records, ..Self::default() }),
        }
    }

    /// The estimated memory while it is written: the records, their stored form, and the log's copy of that.
    pub(crate) fn bytes(&self) -> u64 {
        let files = self.files.iter().map(|(path, value)| path.len() + value.as_ref().map_or(0, Vec::len));
        let bytes = self.upserts.iter().map(record_bytes).sum::<usize>() + files.sum::<usize>();
        let rows = self.upserts.len() + self.deletes.len() + self.files.len();
        bytes as u64 * COPIES + (rows * ROW_OVERHEAD_BYTES) as u64
    }
}

impl Collection {
    /// Inserts records, replacing those with the same id. All or nothing, durable when it returns, visible to the next search.
    ///
    /// # Errors
    /// `Invalid` for a wrong dimension, NaN, an unknown vector field, an empty or repeated id, a bad payload: nothing
    /// is changed. `Unavailable` when a record needs a vector and there is no embedder. `Exhausted` when the disk is
    /// full or the batch is over 128 MiB.
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
            let _rows = self.core.late.renumbering.read();
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

    /// Writes, and shows it to searches; [`make_durable`](crate::runtime::Runtime::make_durable) is left to the caller, if there is a
    /// position to wait for.
    pub(crate) fn begin(&self, set: WriteSet, call: &Call) -> Result<(Option<Position>, (Upserted, Deleted))> {
        self.begin_reserved(set, call, |bytes| reserve_for_batch(&self.shared, &[self], bytes))
    }

    /// The same, with memory that `reserve` reserves for a batch of the given number of bytes.
    pub(crate) fn begin_reserved<Reserved>(
        &self,
        mut set: WriteSet,
        call: &Call,
        reserve: impl FnOnce(u64) -> Result<Reserved>,
    ) -> Result<(Option<Position>, (Upserted, Deleted))> {
        self.prepare(&mut set, call)?;
        let memory = reserve(set.bytes())?;
        let done = {
            let _commit = self.shared.store.commit.read();
            let mut writer = self.writer.lock();
            self.check_open()?;
            let mut batch = Batch::new();
            let planned = self.plan(&writer, set, &mut batch, call)?;
            debug_assert!(self.tenant.owns(&batch), "each key begins with the number of its tenant");
            let reserved = self.tenant.reserve(&self.shared.store, planned.delta(&writer))?;
            let position = if batch.is_empty() { None } else { Some(self.shared.write(batch)?) };
            reserved.keep();
            (position, self.show(&mut writer, planned)?)
        };
        drop(memory);
        self.wake_maintenance_if_due();
        Ok(done)
    }

    /// The slow steps that need no lock: checks, embedding.
    pub(crate) fn prepare(&self, set: &mut WriteSet, call: &Call) -> Result<()> {
        self.check_open()?;
        check_records(&set.upserts)?;
        if !set.as_given {
            if !set.later.is_empty() && !self.embeds_later()? {
                set.later.clear();
            }
            let later = &set.later;
            self.embed_missing(set.upserts.iter_mut().filter(|record| !later.contains(&record.id)), call)?;
        }
        Ok(())
    }

    pub(super) fn check_files(&self, set: &WriteSet) -> Result<()> {
        for ((path, _), before) in set.files.iter().zip(set.files_if.iter().flatten()) {
            if self.file_entry(path)? != *before {
                return Err(changed_meanwhile(path));
            }
        }
        Ok(())
    }

    /// Makes the vectors of texts that come without one, if this collection embeds.
    pub(crate) fn embed_missing<'r>(
        &self,
        records: impl IntoIterator<Item = &'r mut Record>,
        call: &Call,
    ) -> Result<()> {
        let (texts, places): (Vec<String>, Vec<&mut Record>) =
            records.into_iter().filter_map(|record| Some((record.text_to_embed()?, record))).unzip();
        if texts.is_empty() {
            return Ok(());
        }
        let Some(embedder) = self.embedder_for_passages(call)? else {
            return Ok(());
        };
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let vectors = embedder.embed_passages(&texts)?;
        places.into_iter().zip(vectors).for_each(|(record, vector)| record.vector = Some(vector));
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
            EmbedderChoice::BuiltIn(model) => self.shared.embedders.installed(model)?,
            EmbedderChoice::Auto => self.shared.embedders.stored(stored)?,
        };
        if let Some(dim) = dim.filter(|dim| *dim != embedder.dim()) {
            return Err(Error::invalid(format!(
                "collection {:?} has {dim} dimensions, but embedder {:?} produces {}; supply a vector with every \
                record, or pass an embedder with {dim} dimensions",
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
                        "collection {:?} has {dim} dimensions, but embedder {:?} produces {}; pass an embedder with \
                        {dim} dimensions",
                        self.name, given.name, given.dim
                    )));
                }
                if !(DIM_MIN..=DIM_MAX).contains(&given.dim) {
                    return Err(Error::invalid(format!(
                        "embedder {:?} produces {} dimensions; choose an embedder with {DIM_MIN} to {DIM_MAX}",
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
        "collection {collection:?} was created with embedder {:?} ({} dimensions, fingerprint {}), but {:?} ({} \
        dimensions, fingerprint {}) was given; their vectors are not comparable: open it with {:?}, or create a new \
        collection",
        stored.name, stored.dim, stored.fingerprint, given.name, given.dim, given.fingerprint, stored.name
    ))
}

pub(crate) fn row_from(bytes: &[u8]) -> Option<u64> {
    Some(u64::from_be_bytes(bytes.try_into().ok()?))
}

/// Returns the bytes that a record adds to a batch.
pub(crate) fn record_bytes(record: &Record) -> usize {
    let texts = [&record.text, &record.context].into_iter().flatten().map(String::len).sum::<usize>();
    let vectors = record.vector.as_ref().map_or(0, |vector| vector.len() * 4)
        + record.vectors.values().map(VectorValue::bytes).sum::<usize>();
    record.id.len() + texts + vectors + nuthatch_filter::encode(&record.payload).len()
}

fn check_records(records: &[Record]) -> Result<()> {
    let mut ids = HashSet::with_capacity(records.len());
    let mut bytes = 0;
    for record in records {
        record.check()?;
        if !ids.insert(record.id.as_str()) {
            return Err(Error::invalid(format!(
                "id {:?} occurs twice in one batch; remove one of the two",
                shortened(&record.id)
            )));
        }
        bytes += record_bytes(record);
    }
    if bytes > BATCH_BYTES_MAX {
        return Err(Error::new(
            ErrorKind::Exhausted,
            format!(
                "the batch has {} MiB, and the limit is {} MiB; split it into several calls",
                bytes >> 20,
                BATCH_BYTES_MAX >> 20
            ),
        ));
    }
    Ok(())
}
