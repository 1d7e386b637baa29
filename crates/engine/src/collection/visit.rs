//! Reading records without building them: each part goes from the store straight to its visitor.
//!
//! **Useful for** converting many records into another form, column by column. **Not for** reading a few, or for
//! keeping them.
//!
//! **Invariant:** a visitor sees exactly what [`scan`](crate::SnapshotCollection::scan) gives, in the same order, and
//! nothing that it did not ask for is decoded.

use std::ops::ControlFlow;

use nuthatch_filter::Payload;
use nuthatch_store::{Direction, Reader, Table};

use crate::collection::uncached_reader::UncachedReader;
use crate::collection::{Core, ReadSource, Scan};
use crate::descriptor::field::{Field, FieldKind, Fields};
use crate::record::{RowParts, StoredRecord, row_of};
use crate::runtime::{in_memory, in_the_end};
use crate::scan::until_error;
use crate::vector_value::VectorValue;
use crate::{Error, Result};

/// The stored bytes of one page; the record that reaches the limit is the last.
const PAGE_BYTES_MAX: usize = 16 << 20;
/// Rows of a page from which a caller is assumed to read the whole collection.
const LARGE_PAGE_ROWS: usize = 256;
/// Rows whose vectors are read together: whether that is one pass is decided for each lot.
const VECTORS_AT_ONCE: usize = 1024;

/// The parts of records that a caller wants.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Id, text or context.
    pub strings: bool,
    /// The payload.
    pub payload: bool,
    /// Names of vector fields; the empty one is the unnamed field.
    pub vectors: Vec<String>,
}

/// A record on its way; what was not wanted is empty.
#[derive(Clone, Debug, Default)]
pub struct Passing<'a> {
    /// Empty when it was not wanted.
    pub id: &'a str,
    /// If it was wanted and the record has one.
    pub text: Option<&'a str>,
    /// Headings or symbols that the text stands under.
    pub context: Option<&'a str>,
    /// Empty when it was not wanted.
    pub payload: Payload,
}

/// A vector on its way.
#[derive(Clone, Copy, Debug)]
pub enum PassingVector<'a> {
    /// As it is stored: a dense vector in the components of its field, which [`crate::Element::decode`] reads.
    Stored(&'a [u8]),
    /// A value that is no dense vector.
    Value(&'a VectorValue),
    /// As another process has decoded it.
    Components(&'a [f32]),
}

/// Is shown the records of a page: all of them, then their vectors, field by field.
pub trait Visitor {
    /// The next record.
    ///
    /// # Errors
    /// Its own; they end the page.
    fn record(&mut self, record: Passing<'_>) -> Result<()>;

    /// The vector of the `number`th record of the page, from 0, in a field; ascending, and left out where a record has none.
    ///
    /// # Errors
    /// Its own; they end the page.
    fn vector(&mut self, number: usize, field: &str, vector: PassingVector<'_>) -> Result<()>;
}

impl Core {
    /// Shows a page of a listing; gives where to go on, `None` at the end. `scan.vectors` has no meaning here.
    pub(crate) fn visit(
        &self,
        place: ReadSource<'_>,
        fields: &Fields,
        scan: &Scan,
        wanted: &Wanted,
        visitor: &mut dyn Visitor,
    ) -> Result<Option<String>> {
        if scan.limit == 0 || scan.limit > 10_000 {
            return Err(Error::invalid(format!("a page cannot have {} records; ask for 1 to 10,000", scan.limit)));
        }
        if let Some(filter) = &scan.filter {
            self.check_filter(filter)?;
        }
        let after = match &scan.cursor {
            None => None,
            Some(cursor) => Some(cursor.parse::<u64>().map_err(|_| {
                Error::invalid(format!("{cursor:?} is not a cursor; use the cursor that the previous page returned"))
            })?),
        };
        let Some(from) = after.map_or(Some(0), |row| row.checked_add(1)) else { return Ok(None) };
        let vector_fields: Vec<&Field> =
            wanted.vectors.iter().map(|name| fields.by_name(name)).collect::<Result<_>>()?;
        let vector_bytes: usize = vector_fields.iter().map(|field| field.row_bytes()).sum();
        let reads_payload = wanted.payload || scan.filter.is_some();
        let through = UncachedReader(place.reader);
        let is_large = scan.limit >= LARGE_PAGE_ROWS && self.is_larger_than_the_cache(vector_bytes);
        let snapshot: &dyn Reader = if is_large { &through } else { place.reader };
        let (mut rows, mut page_bytes) = (Vec::new(), 0);
        let mut reservation = self.shared.reservation(place.waits);
        let start = self.shard.number_key(from);
        let take = |key: &[u8], bytes: &[u8]| {
            let mut one = || -> Result<bool> {
                if !wanted.strings && !reads_payload {
                    return visitor.record(Passing::default()).map(|()| true);
                }
                let RowParts { id, text, context, payload, .. } = RowParts::decode(bytes)?;
                let payload = if reads_payload { nuthatch_filter::decode(payload)? } else { Payload::new() };
                if scan.filter.as_ref().is_some_and(|filter| !filter.matches(&payload)) {
                    return Ok(false);
                }
                visitor.record(Passing { id, text, context, payload }).map(|()| true)
            };
            if one()? {
                rows.push(row_of(key));
                page_bytes += bytes.len() + vector_bytes;
                let held = in_memory(rows.len(), page_bytes as u64);
                let most = in_memory(scan.limit, PAGE_BYTES_MAX as u64);
                reservation.holds(held, in_the_end(scan.limit, rows.len(), held).min(most))?;
            }
            match rows.len() == scan.limit || page_bytes >= PAGE_BYTES_MAX {
                true => Ok(ControlFlow::Break(())),
                false => Ok(ControlFlow::Continue(())),
            }
        };
        let end = self.shard.end();
        until_error(|visit| snapshot.scan(Table::Records, &start, &end, Direction::Forward, visit), take)?;
        for field in vector_fields {
            for (lot, rows) in rows.chunks(VECTORS_AT_ONCE).enumerate() {
                field.visit_ascending(snapshot, self.shard, rows, &mut |at, bytes| {
                    let value = match field.kind() {
                        FieldKind::Dense => None,
                        FieldKind::Sparse | FieldKind::Tokens => Some(field.value(bytes)?),
                    };
                    let passing = value.as_ref().map_or(PassingVector::Stored(bytes), PassingVector::Value);
                    visitor.vector(lot * VECTORS_AT_ONCE + at, &field.name, passing)
                })?;
            }
        }
        let is_full = rows.len() == scan.limit || page_bytes >= PAGE_BYTES_MAX;
        Ok(rows.last().filter(|_| is_full).map(u64::to_string))
    }

    /// Whether a pass over all records, with `vector_bytes` bytes of vectors each, leaves nothing else in the store's
    /// cache, of which the write buffers take up to half.
    fn is_larger_than_the_cache(&self, vector_bytes: usize) -> bool {
        let rows = self.state.read().rows_shown();
        rows.saturating_mul(vector_bytes as u64) > self.shared.memory.budget.store.cache_bytes as u64 / 2
    }
}

/// Shows records that were read whole.
pub fn show(mut records: Vec<StoredRecord>, wanted: &Wanted, visitor: &mut dyn Visitor) -> Result<()> {
    for StoredRecord { id, text, context, payload, .. } in &mut records {
        let payload = std::mem::take(payload);
        visitor.record(Passing { id, text: text.as_deref(), context: context.as_deref(), payload })?;
    }
    for name in &wanted.vectors {
        for (number, record) in records.iter().enumerate() {
            let passing = match name.as_str() {
                "" => record.vector.as_deref().map(PassingVector::Components),
                name => record.vectors.get(name).map(|value| match value {
                    VectorValue::Dense(vector) => PassingVector::Components(vector),
                    VectorValue::Sparse(_) | VectorValue::Tokens(_) => PassingVector::Value(value),
                }),
            };
            if let Some(passing) = passing {
                visitor.vector(number, name, passing)?;
            }
        }
    }
    Ok(())
}
