//! Reading records by id, and listing them.

use nuthatch_filter::Filter;
use nuthatch_store::{CachedOnly, Reader, Table};

use crate::Result;
use crate::collection::visit::{Passing, PassingVector, Visitor, Wanted};
use crate::collection::write::row_from;
use crate::collection::{Collection, Core, ReadSource};
use crate::descriptor::field::{Field, FieldVectors, Fields};
use crate::descriptor::meta::{self, COUNTERS, Counters};
use crate::record::{NamedVectors, RowParts, StoredRecord};
use crate::runtime::{Reservation, in_memory, in_the_end};
use crate::state::batch_sizing::BatchSizing;
use crate::vector_value::VectorValue;

/// A listing.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Scan {
    /// Continue after the page that gave this cursor.
    pub cursor: Option<String>,
    /// Records of one page, 1 to 10,000. Fewer come where they are large: a page ends at 16 MiB.
    pub limit: usize,
    /// Only records that pass it.
    #[serde(with = "crate::codec::condition")]
    pub filter: Option<Filter>,
    /// Whether the records come with their vectors.
    pub vectors: bool,
}

/// Records in the order in which they were written last.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Page {
    /// At most as many as were asked for.
    pub records: Vec<StoredRecord>,
    /// Where to go on; `None` at the end.
    pub cursor: Option<String>,
}

impl Collection {
    /// Up to `most` records that pass the filter: id and row.
    pub(crate) fn ids_matching(&self, filter: &str, most: usize) -> Result<Vec<(String, u64)>> {
        self.core.check_open()?;
        let filter = nuthatch_filter::parse(filter)?;
        let rows: Vec<u64> = self.core.rows_matching(self.core.live(), &filter)?.iter().take(most).collect();
        let mut found = Vec::with_capacity(rows.len());
        self.core.each_id(&rows, &mut |row, id, _| found.push((id.to_owned(), row)))?;
        Ok(found)
    }
}

/// Takes a row with its place, `None` where it is not there.
type Show<'s> = dyn FnMut(usize, Option<(RowParts<'_>, FieldVectors)>) -> Result<()> + 's;

impl Core {
    /// Shows the rows that are there with their ids and the bytes of their records, in bounded memory.
    pub(super) fn each_id(&self, rows: &[u64], show: &mut dyn FnMut(u64, &str, usize)) -> Result<()> {
        let store = self.shared.store()?;
        let (mut batch_sizing, mut rest) = (BatchSizing::default(), rows);
        while !rest.is_empty() {
            let (rows, after) = rest.split_at(batch_sizing.rows().min(rest.len()));
            rest = after;
            let keys: Vec<Vec<u8>> = rows.iter().map(|row| self.shard.number_key(*row)).collect();
            let records = store.multi_get(Table::Records, &keys)?;
            batch_sizing.learn(records.iter().flatten().map(Vec::len).sum());
            for (row, stored) in rows.iter().zip(records) {
                if let Some(stored) = stored {
                    show(*row, RowParts::decode(&stored)?.id, stored.len());
                }
            }
        }
        Ok(())
    }

    /// How many records there are.
    pub(crate) fn count(&self, place: ReadSource<'_>) -> Result<u64> {
        match std::ptr::eq(place.state, &self.state) {
            true => Ok(self.writer.lock().counters.rows),
            false => Ok(meta::read::<Counters>(place.reader, &self.shard.key(COUNTERS))?.unwrap_or_default().rows),
        }
    }

    pub(crate) fn get<I: AsRef<str>>(
        &self,
        place: ReadSource<'_>,
        ids: &[I],
        vectors: bool,
    ) -> Result<Vec<Option<StoredRecord>>> {
        self.get_with(place.reader, ids, vectors, self.shared.reservation(place.waits))
    }

    /// The same where it is in memory; `None` where it is not.
    pub(crate) fn get_cached<I: AsRef<str>>(
        &self,
        ids: &[I],
        vectors: bool,
    ) -> Result<Option<Vec<Option<StoredRecord>>>> {
        self.check_open()?;
        let store = self.shared.store()?;
        let reader = CachedOnly::as_of_now(&*store);
        reader.unless_missed(self.get_with(&reader, ids, vectors, self.shared.reservation_at_once()))
    }

    fn get_with<I: AsRef<str>>(
        &self,
        snapshot: &dyn Reader,
        ids: &[I],
        vectors: bool,
        reservation: Reservation<'_>,
    ) -> Result<Vec<Option<StoredRecord>>> {
        let keys: Vec<Vec<u8>> = ids.iter().map(|id| self.shard.key(id.as_ref().as_bytes())).collect();
        let rows: Vec<Option<u64>> =
            snapshot.multi_get(Table::Ids, &keys)?.into_iter().map(|row| row_from(row?.as_slice())).collect();
        self.read_rows(snapshot, &rows, vectors, reservation)
    }

    pub(crate) fn page(&self, place: ReadSource<'_>, scan: &Scan) -> Result<Page> {
        let fields = self.fields();
        let vectors = if scan.vectors { fields.iter().map(|field| field.name.clone()).collect() } else { Vec::new() };
        let wanted = Wanted { strings: true, payload: true, vectors };
        let mut records = Records { fields: &fields, read: Vec::new() };
        let cursor = self.visit(place, &fields, scan, &wanted, &mut records)?;
        Ok(Page { records: records.read, cursor })
    }

    /// The row of a record and its stored vector, if it has one.
    pub(crate) fn vector_of(
        &self,
        reader: &dyn Reader,
        field: &Field,
        id: &str,
    ) -> Result<Option<(u64, Option<VectorValue>)>> {
        let Some(row) = reader.get(Table::Ids, &self.shard.key(id.as_bytes()))?.as_deref().and_then(row_from) else {
            return Ok(None);
        };
        let vector = reader.get(Table::Vectors, &field.key(self.shard, row))?;
        Ok(Some((row, vector.as_deref().map(|bytes| field.value(bytes)).transpose()?)))
    }

    fn read_rows(
        &self,
        reader: &dyn Reader,
        rows: &[Option<u64>],
        vectors: bool,
        mut reservation: Reservation<'_>,
    ) -> Result<Vec<Option<StoredRecord>>> {
        let fields = self.fields();
        let there = rows.iter().enumerate().filter_map(|(at, row)| row.map(|row| (at, row)));
        let (places, there): (Vec<usize>, Vec<u64>) = there.unzip();
        let mut records = vec![None; rows.len()];
        self.read_each(reader, &there, vectors, &mut reservation, &mut |at, found| {
            let Some((stored, vectors)) = found else { return Ok(()) };
            let (vector, vectors) = fields.split(vectors);
            records[places[at]] = Some(StoredRecord {
                payload: nuthatch_filter::decode(stored.payload)?,
                id: stored.id.into(),
                text: stored.text.map(str::to_string),
                context: stored.context.map(str::to_string),
                vector,
                vectors,
            });
            Ok(())
        })?;
        Ok(records)
    }

    /// Reads rows, some at a time, so that stored bytes and the records made of them are not all in memory at once.
    /// Shows each row with its place, `None` where it is missing.
    pub(crate) fn read_each(
        &self,
        reader: &dyn Reader,
        rows: &[u64],
        vectors: bool,
        reservation: &mut Reservation<'_>,
        show: &mut Show<'_>,
    ) -> Result<()> {
        let fields = self.fields();
        let vector_bytes = if vectors { fields.components_bytes() } else { 0 };
        let (mut batch_sizing, mut at, mut held) = (BatchSizing::default(), 0, 0);
        while at < rows.len() {
            let some = &rows[at..rows.len().min(at + batch_sizing.rows())];
            let keys: Vec<Vec<u8>> = some.iter().map(|row| self.shard.number_key(*row)).collect();
            let stored = reader.multi_get(Table::Records, &keys)?;
            let bytes: usize = stored.iter().flatten().map(Vec::len).sum();
            batch_sizing.learn(bytes + some.len() * vector_bytes);
            self.row_length.learn(some.len(), bytes as u64);
            held += in_memory(some.len(), bytes as u64) + (some.len() * vector_bytes) as u64;
            reservation.holds(held, in_the_end(rows.len(), at + some.len(), held))?;
            let vectors = match vectors {
                true => fields.vectors_of(reader, self.shard, some)?,
                false => vec![FieldVectors::new(); some.len()],
            };
            for (stored, vectors) in stored.into_iter().zip(vectors) {
                let parts = stored.as_deref().map(RowParts::decode).transpose()?;
                show(at, parts.map(|parts| (parts, vectors)))?;
                at += 1;
            }
        }
        Ok(())
    }

    /// Estimates the bytes that this many records hold.
    pub(crate) fn estimate_records(&self, records: usize, vectors: bool) -> u64 {
        let vector_bytes = if vectors { self.fields().components_bytes() * records } else { 0 };
        self.row_length.estimate(records) + vector_bytes as u64
    }
}

/// Makes records of what passes.
struct Records<'f> {
    fields: &'f Fields,
    read: Vec<StoredRecord>,
}

impl Visitor for Records<'_> {
    fn record(&mut self, record: Passing<'_>) -> Result<()> {
        self.read.push(StoredRecord {
            id: record.id.into(),
            text: record.text.map(str::to_string),
            context: record.context.map(str::to_string),
            payload: record.payload,
            vector: None,
            vectors: NamedVectors::new(),
        });
        Ok(())
    }

    fn vector(&mut self, number: usize, field: &str, vector: PassingVector<'_>) -> Result<()> {
        let field = self.fields.by_name(field)?;
        let vector = match vector {
            PassingVector::Stored(bytes) => field.value(bytes)?,
            PassingVector::Value(value) => value.clone(),
            PassingVector::Components(components) => components.to_vec().into(),
        };
        let record = &mut self.read[number];
        match field.name.as_str() {
            "" => record.vector = vector.into_dense(),
            name => drop(record.vectors.insert(name.into(), vector)),
        }
        Ok(())
    }
}
