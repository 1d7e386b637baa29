//! How much one answer may hold: what is read for it is in memory until it is sent.

use nuthatch_link::{Error, ErrorKind, Page, Records, Result, Scan, StoredRecord, VectorValue};

/// Bytes of texts, payloads and vectors after which an answer is large enough.
const ANSWER_BYTES: usize = 64 << 20;
/// Records that are read at a time: as many as are looked at before it is noticed that they are too much.
const AT_ONCE: usize = 16;
const PAGE_MAX: usize = 10_000;

/// Few ids cannot come to much, and are read as of one moment.
pub fn are_few(ids: &[String]) -> bool {
    ids.len() <= AT_ONCE
}

/// Records by id; where they are many, not all as of one moment, but for those of a snapshot.
///
/// # Errors
/// `Exhausted` when they come to too much for one answer.
pub fn get(collection: &Records<'_>, ids: &[String], vectors: bool) -> Result<Vec<Option<StoredRecord>>> {
    if are_few(ids) {
        return collection.get(ids, vectors);
    }
    let (mut records, mut bytes) = (Vec::with_capacity(ids.len()), 0);
    for some in ids.chunks(AT_ONCE) {
        let found = collection.get(some, vectors)?;
        bytes += found.iter().flatten().map(size).sum::<usize>();
        if bytes > ANSWER_BYTES {
            return Err(Error::new(
                ErrorKind::Exhausted,
                format!("these {} records have more than {ANSWER_BYTES} bytes; ask for fewer at a time", ids.len()),
            ));
        }
        records.extend(found);
    }
    Ok(records)
}

/// A page, which ends early when it comes to too much.
///
/// # Errors
/// Those of [`nuthatch_link::Collection::scan`].
pub fn scan(collection: &Records<'_>, scan: Scan) -> Result<Page> {
    let limit = scan.limit;
    if !(1..=PAGE_MAX).contains(&limit) {
        return Err(Error::invalid(format!("limit is {limit}; ask for 1 to {PAGE_MAX} records")));
    }
    let mut page = collection.scan(&Scan { limit: limit.min(AT_ONCE), ..scan.clone() })?;
    let mut bytes: usize = page.records.iter().map(size).sum();
    while page.records.len() < limit && page.cursor.is_some() && bytes <= ANSWER_BYTES {
        // More and more at a time, as long as they are small.
        let room = ANSWER_BYTES.saturating_sub(bytes) / (bytes / page.records.len().max(1)).max(1);
        let next = room.clamp(AT_ONCE, page.records.len().max(AT_ONCE)).min(limit - page.records.len());
        let more = collection.scan(&Scan { limit: next, cursor: page.cursor.take(), ..scan.clone() })?;
        bytes += more.records.iter().map(size).sum::<usize>();
        page.records.extend(more.records);
        page.cursor = more.cursor;
    }
    Ok(page)
}

/// About what a record takes in an answer.
fn size(record: &StoredRecord) -> usize {
    let texts = record.text.as_ref().map_or(0, String::len) + record.context.as_ref().map_or(0, String::len);
    let payload: usize = record.payload.iter().map(|(name, value)| name.len() + value_size(value)).sum();
    let named: usize = record.vectors.values().map(VectorValue::bytes).sum();
    let vectors = record.vector.as_ref().map_or(0, |vector| vector.len() * 4) + named;
    texts + payload + vectors
}

fn value_size(value: &nuthatch_link::Value) -> usize {
    use nuthatch_link::Value;
    match value {
        Value::Text(text) => text.len(),
        Value::Array(values) => values.iter().map(value_size).sum(),
        Value::Map(map) => map.iter().map(|(name, value)| name.len() + value_size(value)).sum(),
        _ => 8,
    }
}
