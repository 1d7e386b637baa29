//! VRANGE: elements in the order of their bytes. Every element is looked at, a page of records at a time.

use std::collections::BTreeSet;
use std::ops::Bound;

use nuthatch_link::Scan;

use crate::call::Call;
use crate::failure::{Failure, Outcome};
use crate::number;
use crate::protocol::Reply;
use crate::vectors::RECORDS_AT_ONCE;
use crate::vectors::element::element_of;

/// VRANGE key start end [count]: `[a` from it on, `(a` after it, `-` and `+` the ends.
pub(crate) fn vrange(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let (start, end) = (bound(&call.arguments[1])?, bound(&call.arguments[2])?);
    let count = match &call.arguments[3..] {
        [] => None,
        [count] => usize::try_from(number::integer(count)?).ok(),
        _ => return Err(Failure::syntax()),
    };
    let Some((_, collection)) = call.context.set(&call.arguments[0])? else { return Ok(Reply::Array(Vec::new())) };
    let mut found = BTreeSet::new();
    let mut scan = Scan { limit: RECORDS_AT_ONCE, ..Scan::default() };
    loop {
        let page = call.context.records(&collection, &scan)?;
        for element in page.records.iter().map(|record| element_of(&record.id)) {
            if start.lets_after(&element) && end.lets_before(&element) {
                found.insert(element);
                if count.is_some_and(|count| found.len() > count) {
                    found.pop_last();
                }
            }
        }
        match page.cursor {
            Some(cursor) => scan.cursor = Some(cursor),
            None => return Ok(Reply::bulks(found)),
        }
    }
}

enum End<'a> {
    /// Before every element, or after it.
    Lowest,
    Highest,
    At(Bound<&'a [u8]>),
}

impl End<'_> {
    fn lets_after(&self, element: &[u8]) -> bool {
        match self {
            Self::Lowest | Self::At(Bound::Unbounded) => true,
            Self::Highest => false,
            Self::At(Bound::Included(from)) => element >= *from,
            Self::At(Bound::Excluded(from)) => element > *from,
        }
    }

    fn lets_before(&self, element: &[u8]) -> bool {
        match self {
            Self::Highest | Self::At(Bound::Unbounded) => true,
            Self::Lowest => false,
            Self::At(Bound::Included(to)) => element <= *to,
            Self::At(Bound::Excluded(to)) => element < *to,
        }
    }
}

fn bound(word: &[u8]) -> Outcome<End<'_>> {
    match word {
        b"-" => Ok(End::Lowest),
        b"+" => Ok(End::Highest),
        [b'[', element @ ..] => Ok(End::At(Bound::Included(element))),
        [b'(', element @ ..] => Ok(End::At(Bound::Excluded(element))),
        _ => Err(Failure::error("invalid start or end range: begin it with [ or (, or give - or +")),
    }
}
