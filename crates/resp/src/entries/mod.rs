//! The entries of an aggregate while a command works on them, whether they are one value or rows.

mod list;
mod members;
mod opened;
mod sorted;

use nuthatch_link::KeyScan;

use crate::aggregate::{Aggregate, Body, Head, rows};
use crate::context::CommandContext;
use crate::failure::Outcome;

pub(crate) use list::List;
pub(crate) use members::Members;
pub(crate) use sorted::{LexBound, ScoreBound, Scored, Span, put_in_order, score_of, scored};

/// Rows that are read at a time.
const ROWS_AT_ONCE: usize = 10_000;

/// The same aggregate, with rows of its own.
pub(crate) fn copied(aggregate: Aggregate, context: &mut CommandContext<'_>) -> Outcome<Aggregate> {
    let Body::Rows(head) = aggregate.body else { return Ok(aggregate) };
    let copy = Head { id: Head::new().id, ..head };
    let mut scan = KeyScan { limit: ROWS_AT_ONCE, ..KeyScan::prefix(rows::all(head.id)) };
    loop {
        let page = context.scan_rows(&scan)?;
        for (row, value) in page.entries {
            context.put_row(rows::moved(&row, copy.id), Some(value))?;
        }
        match page.cursor {
            Some(cursor) => scan.cursor = Some(cursor),
            None => return Ok(Aggregate { body: Body::Rows(copy), ..aggregate }),
        }
    }
}
