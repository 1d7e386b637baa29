//! HSCAN, SSCAN and ZSCAN: pages of entries. A small aggregate comes whole, in its own order; one with rows in the order of the hashes of
//! its names, so that a cursor stays a valid place while entries come and go.

use crate::aggregate::Kind;
use crate::call::Call;
use crate::commands::scan::{Page, cursor};
use crate::entries::{Members, score_of};
use crate::failure::Outcome;
use crate::protocol::{Reply, digits};
use crate::words::Words;

/// HSCAN key cursor [MATCH pattern] [COUNT n] [NOVALUES]
pub(crate) fn hscan(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    scanned(call, Kind::Hash, |value| Ok(Some(value)))
}

/// SSCAN key cursor [MATCH pattern] [COUNT n]
pub(crate) fn sscan(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    scanned(call, Kind::Set, |_| Ok(None))
}

/// ZSCAN key cursor [MATCH pattern] [COUNT n]
pub(crate) fn zscan(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    scanned(call, Kind::Sorted, |score| Ok(Some(digits(score_of(&score)?).into_bytes())))
}

fn scanned(call: &mut Call<'_, '_>, kind: Kind, shown: impl Fn(Vec<u8>) -> Outcome<Option<Vec<u8>>>) -> Outcome<Reply> {
    let from = cursor(&call.arguments[1])?;
    let page = Page::parse(&mut Words::new(&call.arguments[2..]))?;
    let (entries, next) = Members::open(call.context, &call.arguments[0], kind)?.page(from, page.count)?;
    let mut items = Vec::new();
    for (name, value) in entries.into_iter().filter(|(name, _)| page.fits(name)) {
        items.push(Reply::Bulk(name));
        if !page.no_values {
            items.extend(shown(value)?.map(Reply::Bulk));
        }
    }
    Ok(Reply::Array(vec![Reply::bulk(next.to_string()), Reply::Array(items)]))
}
