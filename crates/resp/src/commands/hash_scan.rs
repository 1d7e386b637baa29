//! HSCAN: pages of fields. A small hash comes whole, in its own order; a larger one in the order of its fields' hashes,
//! so that a cursor stays a valid place while fields come and go.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use crate::call::Call;
use crate::commands::scan::{Page, cursor};
use crate::failure::Outcome;
use crate::protocol::Reply;
use crate::words::Words;

/// Up to so many fields come at once, whatever COUNT says.
const WHOLE_FIELDS: usize = 512;

/// HSCAN key cursor [MATCH pattern] [COUNT n] [NOVALUES]
pub(crate) fn hscan(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let from = cursor(&call.arguments[1])?;
    let page = Page::parse(&mut Words::new(&call.arguments[2..]))?;
    let (hash, _) = call.context.hash(&call.arguments[0])?.unwrap_or_default();
    let mut fields: Vec<_> = hash.fields.into_iter().map(|(field, value)| (place(&field), field, value)).collect();
    let mut taken = fields.len();
    if from > 0 || fields.len() > WHOLE_FIELDS {
        fields.retain(|(place, ..)| *place >= from);
        fields.sort_unstable_by_key(|(place, ..)| *place);
        taken = page.count.min(fields.len());
        // Fields of one place are of one page.
        while taken > 0 && taken < fields.len() && fields[taken].0 == fields[taken - 1].0 {
            taken += 1;
        }
    }
    let next = fields.get(taken).map_or(0, |(place, ..)| *place);
    let mut items = Vec::new();
    for (_, field, value) in fields.into_iter().take(taken).filter(|(_, field, _)| page.fits(field)) {
        items.push(Reply::Bulk(field));
        if !page.no_values {
            items.push(Reply::Bulk(value));
        }
    }
    Ok(Reply::Array(vec![Reply::bulk(next.to_string()), Reply::Array(items)]))
}

/// Above 0, which begins a scan, and such that signed numbers and doubles hold it.
fn place(field: &[u8]) -> u64 {
    let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(field);
    (hash >> 12) + 1
}
