//! VRANDMEMBER: some elements, by chance.

use nuthatch_link::{Collection, Scan};

use crate::call::Call;
use crate::context::CommandContext;
use crate::failure::{Failure, Outcome};
use crate::number::signed_count;
use crate::protocol::Reply;
use crate::vectors::RECORDS_AT_ONCE;
use crate::vectors::element::element_of;

/// VRANDMEMBER key [count]: elements differ when the count is positive, and may repeat when it is negative.
pub(crate) fn vrandmember(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let count = match &call.arguments[1..] {
        [] => None,
        [count] => Some(signed_count(count)?),
        _ => return Err(Failure::syntax()),
    };
    let Some((_, collection)) = call.context.set(&call.arguments[0])? else {
        return Ok(if count.is_some() { Reply::Array(Vec::new()) } else { Reply::Null });
    };
    let wanted = match count {
        None => 1,
        Some(count) if count < 0 => count.unsigned_abs() as usize,
        Some(count) => return Ok(Reply::bulks(different(call.context, &collection, count as usize)?)),
    };
    let end = end_of_rows(call.context, &collection)?;
    let mut found = Vec::with_capacity(wanted.min(RECORDS_AT_ONCE));
    while found.len() < wanted && end > 0 {
        match after(call.context, &collection, fastrand::u64(..end))? {
            Some((_, element)) => found.push(Reply::Bulk(element)),
            // The last ones were removed since.
            None => break,
        }
    }
    Ok(match count {
        None => found.pop().unwrap_or(Reply::Null),
        Some(_) => Reply::Array(found),
    })
}

/// Returns `count` different elements, each equally likely: a reservoir over all of them.
fn different(context: &mut CommandContext<'_>, collection: &Collection, count: usize) -> Outcome<Vec<Vec<u8>>> {
    let mut kept: Vec<Vec<u8>> = Vec::new();
    if count == 0 {
        return Ok(kept);
    }
    let (mut seen, mut scan) = (0, Scan { limit: RECORDS_AT_ONCE, ..Scan::default() });
    loop {
        let page = context.records(collection, &scan)?;
        for element in page.records.iter().map(|record| element_of(&record.id)) {
            seen += 1;
            match fastrand::usize(..seen) {
                _ if kept.len() < count => kept.push(element),
                at if at < count => kept[at] = element,
                _ => {}
            }
        }
        match page.cursor {
            Some(cursor) => scan.cursor = Some(cursor),
            None => break,
        }
    }
    fastrand::shuffle(&mut kept);
    Ok(kept)
}

/// The row after the last one; 0 when there is none.
fn end_of_rows(context: &mut CommandContext<'_>, collection: &Collection) -> Outcome<u64> {
    let mut beyond = context.count(collection)?.max(1);
    while after(context, collection, beyond)?.is_some() {
        beyond *= 2;
    }
    let (mut low, mut high) = (0, beyond);
    while low < high {
        let middle = low.midpoint(high);
        match after(context, collection, middle)? {
            Some((row, _)) => low = row,
            None => high = middle,
        }
    }
    Ok(low)
}

/// The first element in a row from this one on, and the row after it.
fn after(context: &mut CommandContext<'_>, collection: &Collection, row: u64) -> Outcome<Option<(u64, Vec<u8>)>> {
    let cursor = row.checked_sub(1).map(|before| before.to_string());
    let page = context.records(collection, &Scan { limit: 1, cursor, ..Scan::default() })?;
    let Some(record) = page.records.first() else { return Ok(None) };
    let cursor = page.cursor.and_then(|cursor| cursor.parse::<u64>().ok());
    let next = cursor.ok_or_else(|| Failure::error("a page of records without its place"))? + 1;
    Ok(Some((next, element_of(&record.id))))
}
