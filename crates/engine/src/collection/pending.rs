//! Vectors that come later: which rows wait for one, and making it.
//!
//! **Useful for** adding many passages: their words are searchable while the model is still at work. **Not for** records that are to
//! stay without a vector: nothing says that they want one.
//!
//! **Invariant:** a row has a to-do row in the catalog exactly while it is live, wants a vector and has none. The batch
//! that adds the row adds the to-do row; the batch that removes the row removes it. A finished vector makes a new row
//! of the same record; it is dropped if the record was rewritten since.
//!
//! [RFC 0030](../../../../docs/rfcs/0030-vectors-that-come-later.md) has the design.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nuthatch_embed::Embedder;
use nuthatch_store::{Batch, Direction, Reader, Shard, Table};
use roaring::RoaringTreemap;

use crate::call::Call;
use crate::collection::lanes::embed_texts;
use crate::collection::write::WriteSet;
use crate::collection::{Collection, Core, row_of};
use crate::descriptor::meta::{self, COUNTERS, Counters};
use crate::durability::Durability;
use crate::record::{Record, Row};
pub use crate::state::Pending;
use crate::{Error, ErrorKind, Result};

/// Before the row id, in the part of the catalog that is the collection's.
const TODO: &[u8] = b"embed/";
/// Rows whose vectors are written together: a few seconds of work of one core.
const LOT_ROWS: usize = 64;
/// Bytes of their records, but for one.
const LOT_BYTES: usize = 1 << 20;
/// How often somebody who waits looks.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The key of a row that waits for its vector.
pub(crate) fn todo_key(shard: Shard, row: u64) -> Vec<u8> {
    shard.key(&[TODO, &row.to_be_bytes()].concat())
}

fn todo_range(shard: Shard) -> (Vec<u8>, Vec<u8>) {
    (todo_key(shard, 0), shard.key(b"embed0")) // '0' follows '/'
}

/// The rows of a collection that wait for their vectors.
pub(crate) fn todo_rows(reader: &dyn Reader, shard: Shard) -> Result<RoaringTreemap> {
    let (from, to) = todo_range(shard);
    let mut rows = RoaringTreemap::new();
    reader.scan(Table::Catalog, &from, &to, Direction::Forward, &mut |key, _| {
        rows.insert(row_of(key));
        ControlFlow::Continue(())
    })?;
    Ok(rows)
}

pub(crate) fn has_todo_rows(reader: &dyn Reader, shard: Shard) -> Result<bool> {
    let (from, to) = todo_range(shard);
    let mut found = false;
    reader.scan(Table::Catalog, &from, &to, Direction::Forward, &mut |_, _| {
        found = true;
        ControlFlow::Break(())
    })?;
    Ok(found)
}

/// Rows that are read to be embedded, and the records that they are.
#[derive(Default)]
struct Lot {
    rows: Vec<u64>,
    records: Vec<Record>,
    /// Rows that are no longer there, or have nothing to embed.
    void: Vec<u64>,
    /// The last row that was looked at.
    last: u64,
}

/// Makes vectors of texts, in their order. One that could not be made any more, because the work was to end, is left out.
pub(crate) type EmbedTexts<'e> = dyn FnMut(&Arc<dyn Embedder>, &[String]) -> Result<Vec<Option<Vec<f32>>>> + 'e;

impl Collection {
    /// Waits until every record written before has its vector, if it is to have one. True when all have, false when the
    /// time ran out first: the work goes on.
    pub fn wait_until_embedded(&self, timeout: Option<Duration>) -> Result<bool> {
        let core = &self.core;
        let upto = core.writer.lock().counters.next_row;
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        loop {
            core.check_open()?;
            let is_done = || core.writer.lock().pending.min().is_none_or(|row| row >= upto);
            if is_done() {
                return Ok(true);
            }
            if core.embedder_alone()?.is_none() {
                return Err(nobody_embeds(&core.name));
            }
            if !core.shared.options.background {
                let stop = AtomicBool::new(false);
                core.embed_lot(&mut |embedder, texts| embed_texts(&**embedder, texts, &stop))?;
            } else {
                let mut signal = core.shared.background.signal.lock();
                if let Some(error) = signal.embed_error.take() {
                    return Err(error);
                }
                core.shared.background.relieved.wait_for(&mut signal, LOOK_EVERY);
            }
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Ok(is_done());
            }
        }
    }
}

fn nobody_embeds(name: &str) -> Error {
    Error::new(
        ErrorKind::Unavailable,
        format!(
            "collection {name:?} has records that wait for their vectors, and no embedder; install the model that it was made with"
        ),
    )
}

impl Core {
    /// Whether vectors of new texts may come later: the background thread runs and can embed without the caller.
    pub(crate) fn embeds_later(&self) -> Result<bool> {
        Ok(self.shared.options.background && self.embedder_alone()?.is_some())
    }

    /// The embedder that made the collection's vectors, if it needs no caller.
    pub(crate) fn embedder_alone(&self) -> Result<Option<Arc<dyn Embedder>>> {
        let known = self.descriptor();
        if !known.meta.embeds || known.meta.embedder.is_none() {
            return Ok(None);
        }
        match self.shared.embedders.stored(known.meta.embedder.as_ref()) {
            Ok(embedder) => Ok(Some(embedder).filter(|embedder| embedder.runs_alone())),
            // It is the caller's, or not installed: a caller that needs it now gets the error.
            Err(error) if matches!(error.kind, ErrorKind::Unavailable | ErrorKind::NotFound) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// How many rows wait for their vectors.
    pub(crate) fn pending_rows(&self) -> u64 {
        let Pending { vectors, records } = self.state.read().vectors;
        records - vectors
    }

    /// Makes the vectors of some of the rows that wait. False when there was nothing to do, or nobody to do it.
    pub(crate) fn embed_lot(&self, embed: &mut EmbedTexts<'_>) -> Result<bool> {
        if self.pending_rows() == 0 || self.is_dropped() {
            return Ok(false);
        }
        let Some(embedder) = self.embedder_alone()? else { return Ok(false) };
        let Some(lot) = self.next_lot()? else { return Ok(false) };
        let Lot { rows, records, void, last } = lot;
        self.late.embedded_upto.store(last + 1, Ordering::SeqCst);
        self.forget_todo(&void)?;
        let texts: Vec<String> = records.iter().map(|record| record.text_to_embed().unwrap_or_default()).collect();
        let vectors = embed(&embedder, &texts)?;
        self.shared.crash_point("embed");
        let mut set = WriteSet { as_given: true, upserts_if: Some(Vec::new()), ..WriteSet::default() };
        for ((row, record), vector) in rows.into_iter().zip(records).zip(vectors) {
            if vector.is_some() {
                set.upserts.push(Record { vector, ..record });
                set.upserts_if.get_or_insert_default().push(row);
            }
        }
        // No sync: a vector that is lost takes the end of its to-do row along.
        let _alone = self.late.renumbering.write();
        self.apply(set, Durability::Os, &Call::default())?;
        Ok(true)
    }

    /// The next rows that wait, after those that were tried last.
    fn next_lot(&self) -> Result<Option<Lot>> {
        let upto = self.late.embedded_upto.load(Ordering::SeqCst);
        let rows: Vec<u64> = {
            let pending = &self.writer.lock().pending;
            let mut later = pending.iter();
            later.advance_to(upto);
            later.chain(pending.iter().take_while(|row| *row < upto)).take(LOT_ROWS).collect()
        };
        if rows.is_empty() {
            return Ok(None);
        }
        let store = self.shared.store()?;
        let fields = self.fields();
        let (mut lot, mut bytes) = (Lot::default(), 0);
        for row in rows {
            if bytes >= LOT_BYTES {
                break;
            }
            lot.last = row;
            let Some(stored) = store.get(Table::Records, &self.shard.number_key(row))? else {
                lot.void.push(row);
                continue;
            };
            bytes += stored.len();
            let vectors = fields.vectors_of(&*store, self.shard, &[row])?.pop().unwrap_or_default();
            let (vector, named) = fields.split(vectors);
            let stored = Row::decode(&stored)?;
            let payload = stored.payload()?;
            let Row { id, text, context, code, .. } = stored;
            let record = Record { id, text, context, code, payload, vector, vectors: named };
            match record.text_to_embed() {
                Some(_) => {
                    lot.rows.push(row);
                    lot.records.push(record);
                }
                None => lot.void.push(row),
            }
        }
        Ok(Some(lot))
    }

    /// Removes the to-do rows that an older program left behind for rows that it removed.
    fn forget_todo(&self, rows: &[u64]) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let _commit = self.shared.store.commit.read();
        let mut writer = self.writer.lock();
        self.check_open()?;
        let mut batch = Batch::new();
        rows.iter().for_each(|row| batch.delete(Table::Catalog, todo_key(self.shard, *row)));
        let forgotten = rows.iter().filter(|row| writer.pending.contains(**row)).count() as u64;
        let pending = writer.counters.pending.saturating_sub(forgotten);
        let counters = Counters { pending, ..writer.counters.clone() };
        batch.put(Table::Catalog, self.shard.key(COUNTERS), meta::encode(&counters));
        self.shared.write(batch)?;
        for row in rows {
            writer.pending.remove(*row);
        }
        self.state.write().vectors = Pending::of(&counters);
        writer.counters = counters;
        Ok(())
    }
}
