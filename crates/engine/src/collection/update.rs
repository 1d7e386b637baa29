//! Changing fields of records that are there, without sending the records again.
//!
//! **Useful for** tags, states, counts of use: anything that changes more often than the text. **Not for** another text
//! or vector: `upsert` takes those, since they are indexed and embedded again.
//!
//! **Invariant:** no change that another writer makes at the same time is lost: records are written only if they are as they were read,
//! and read again if not. A record keeps its text and its vectors, and one that the change leaves as it is costs no write.
//!
//! [RFC 0048](../../../../docs/rfcs/0048-changing-fields.md) says why a changed record is a new row.

use std::collections::HashSet;

use nuthatch_filter::{FieldChange, Filter};
use nuthatch_store::Table;
use serde::{Deserialize, Serialize};

use crate::collection::write::{BATCH_BYTES_MAX, row_from};
use crate::collection::{Collection, Core, WriteSet, record_bytes};
use crate::descriptor::field::UNNAMED;
use crate::record::{Record, Row, shortened};
use crate::state::batch_sizing::BatchSizing;
use crate::{Error, ErrorKind, Result};

/// Times that records are read again because others wrote them meanwhile.
const TRIES: usize = 64;
/// Passes over what matches, each of which looks at what others wrote during the one before.
const PASSES: usize = 10_000;
/// Records of one batch of a change by condition, and bytes of what they were made of, but for one.
const LOT_ROWS: usize = 2_000;
const LOT_BYTES: usize = 4 << 20;

/// A change of the fields of some records.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RecordChange {
    /// The records. Unknown ids are passed over.
    pub ids: Vec<String>,
    /// The change to their fields.
    #[serde(with = "crate::codec::change")]
    pub change: FieldChange,
}

/// Records that a change makes others, ready to be written.
#[derive(Default)]
struct Changed {
    set: WriteSet,
    /// One of them was rewritten while it was read.
    moved: bool,
}

impl Collection {
    /// Changes fields of records by id, all in one batch. Gives how many records changed: those that were like this
    /// already do not count, and unknown ids are passed over.
    ///
    /// # Errors
    /// `Invalid` for a change that cannot be made, naming the record, and for an id that is named twice; `Exhausted` for
    /// over 128 MiB of records; `Conflict` when other writers keep changing them. Nothing is changed then.
    pub fn update(&self, changes: &[RecordChange]) -> Result<u64> {
        let mut ids = HashSet::new();
        for RecordChange { ids: named, change } in changes {
            change.check()?;
            if let Some(twice) = named.iter().find(|id| !ids.insert(id.as_str())) {
                return Err(Error::invalid(format!(
                    "id {:?} occurs twice in one update; remove one of the two",
                    shortened(twice)
                )));
            }
        }
        self.update_if(changes, None)
    }

    /// Changes fields of the records whose payload passes the filter, in as many batches as that takes. Gives how many
    /// changed. Records that others write meanwhile get the change if they pass the filter.
    ///
    /// # Errors
    /// As for [`update`](Self::update); batches that were written before stay.
    pub fn update_where(&self, filter: &str, change: &FieldChange) -> Result<u64> {
        change.check()?;
        let filter = nuthatch_filter::parse(filter)?;
        let (mut changed, mut from) = (0, 0);
        for _ in 0..PASSES {
            // Rows that come during a pass are of the next one: also those that a vector was made for, which are other rows then.
            let upto = self.core.writer.lock().counters.next_row;
            let matching = self.core.rows_matching(self.core.live(), &filter)?;
            let (before, mut moved) = (changed, matching.max().is_some_and(|row| row >= upto));
            let rows: Vec<u64> = matching.iter().skip_while(|row| *row < from).take_while(|row| *row < upto).collect();
            for rows in rows.chunks(LOT_ROWS) {
                let lots = self.core.lots(rows)?;
                // Records that were rewritten meanwhile are other rows, of the next pass.
                moved |= lots.iter().map(Vec::len).sum::<usize>() < rows.len();
                for ids in lots {
                    changed += self.update_if(&[RecordChange { ids, change: change.clone() }], Some(&filter))?;
                }
            }
            if changed == before && !moved {
                return Ok(changed);
            }
            from = upto;
        }
        Err(busy())
    }

    fn update_if(&self, changes: &[RecordChange], filter: Option<&Filter>) -> Result<u64> {
        for _ in 0..TRIES {
            self.core.check_open()?;
            let Changed { set, moved } = self.core.changed(changes, filter)?;
            if !moved {
                if set.upserts.is_empty() {
                    return Ok(0);
                }
                match self.core.apply(set, self.durability, &self.call) {
                    Ok((upserted, _)) => return Ok(upserted.replaced),
                    Err(error) if error.kind == ErrorKind::Conflict => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Err(busy())
    }
}

fn busy() -> Error {
    Error::new(
        ErrorKind::Conflict,
        "other writers changed these records each time that they were read; try again, or update fewer at a time",
    )
}

impl Core {
    /// The ids of rows, in lots of bounded bytes.
    fn lots(&self, rows: &[u64]) -> Result<Vec<Vec<String>>> {
        let vector_bytes = self.fields().components_bytes();
        let (mut lots, mut lot, mut bytes) = (Vec::new(), Vec::new(), 0);
        self.each_id(rows, &mut |_, id, record_bytes| {
            if bytes > LOT_BYTES {
                lots.push(std::mem::take(&mut lot));
                bytes = 0;
            }
            bytes += record_bytes + vector_bytes;
            lot.push(id.to_owned());
        })?;
        lots.push(lot);
        Ok(lots)
    }

    /// Reads records and makes the change in memory.
    fn changed(&self, changes: &[RecordChange], filter: Option<&Filter>) -> Result<Changed> {
        let mut changed = Changed {
            set: WriteSet { as_given: true, upserts_if: Some(Vec::new()), all_or_none: true, ..WriteSet::default() },
            moved: false,
        };
        let mut bytes = 0;
        for RecordChange { ids, change } in changes {
            let (mut batch_sizing, mut rest) = (BatchSizing::default(), &ids[..]);
            while !rest.is_empty() {
                let (ids, after) = rest.split_at(batch_sizing.rows().min(rest.len()));
                rest = after;
                batch_sizing.learn(self.change_some(ids, change, filter, &mut changed, &mut bytes)?);
            }
        }
        let pending = &self.writer.lock().pending;
        let WriteSet { upserts, upserts_if, later, .. } = &mut changed.set;
        for (record, row) in upserts.iter().zip(upserts_if.iter().flatten()) {
            if pending.contains(*row) {
                later.insert(record.id.clone());
            }
        }
        Ok(changed)
    }

    /// Gives the bytes of the records that it read.
    fn change_some(
        &self,
        ids: &[String],
        change: &FieldChange,
        filter: Option<&Filter>,
        changed: &mut Changed,
        bytes: &mut usize,
    ) -> Result<usize> {
        let store = self.shared.store()?;
        let keys: Vec<Vec<u8>> = ids.iter().map(|id| self.shard.key(id.as_bytes())).collect();
        let rows = store.multi_get(Table::Ids, &keys)?;
        let rows: Vec<u64> = rows.into_iter().filter_map(|row| row_from(row?.as_slice())).collect();
        let keys: Vec<Vec<u8>> = rows.iter().map(|row| self.shard.number_key(*row)).collect();
        let fields = self.fields();
        let (mut wanted, mut read) = (Vec::new(), 0);
        for (row, stored) in rows.into_iter().zip(store.multi_get(Table::Records, &keys)?) {
            let Some(stored) = stored else {
                changed.moved = true;
                return Ok(read);
            };
            read += stored.len();
            let stored = Row::decode(&stored)?;
            let mut payload = stored.payload()?;
            if filter.is_some_and(|filter| !filter.matches(&payload)) {
                continue;
            }
            let is_other = change
                .apply(&mut payload)
                .map_err(|error| Error::invalid(format!("record {:?}: {error}", shortened(&stored.id))))?;
            if is_other {
                wanted.push((row, stored, payload));
            }
        }
        let rows: Vec<u64> = wanted.iter().map(|(row, ..)| *row).collect();
        for ((row, stored, payload), vectors) in wanted.into_iter().zip(fields.vectors_of(&*store, self.shard, &rows)?)
        {
            changed.moved |= stored.has_vector != vectors.iter().any(|(field, _)| *field == UNNAMED);
            let (vector, vectors) = fields.split(vectors);
            let Row { id, text, context, code, .. } = stored;
            let record = Record { id, text, context, code, payload, vector, vectors };
            *bytes += record_bytes(&record);
            changed.set.upserts.push(record);
            changed.set.upserts_if.get_or_insert_default().push(row);
        }
        if *bytes > BATCH_BYTES_MAX {
            let message = format!(
                "the records to update have over {} MiB, which is the limit of one batch; update fewer at a time, or by a condition",
                BATCH_BYTES_MAX >> 20
            );
            return Err(Error::new(ErrorKind::Exhausted, message));
        }
        Ok(read)
    }
}
