//! Vector sets: each is a collection of the engine, and its key says which.
//!
//! **Useful for** the V commands of Redis 8 on an index that lies on disk. **Not for** collections that other faces made: those
//! are searched with `NH.SEARCH`.
//!
//! **Invariant:** vectors are stored in 32-bit floats as they were given (or as they were projected; a single component
//! gets a 0 appended, since no collection holds fewer than two): every score is the exact cosine of the two, the same
//! each time. Attributes are the record's payload, as far as filters can read them; the given text is kept with it.

mod add;
mod attributes;
mod element;
mod elements;
mod embedding;
mod filter;
mod info;
mod projection;
mod range;
mod sample;
mod similar;
mod vector;

use nuthatch_link::{Record, Scan, StoredRecord};

pub(crate) use add::vadd;
pub(crate) use attributes::{vgetattr, vsetattr};
pub(crate) use elements::{vcard, vdim, vismember, vrem};
pub(crate) use embedding::vemb;
pub(crate) use info::{vinfo, vlinks};
pub(crate) use range::vrange;
pub(crate) use sample::vrandmember;
pub(crate) use similar::vsim;
pub(crate) use vector::parse as parse_vector;

use crate::context::CommandContext;
use crate::failure::{Failure, Outcome};
use crate::vector_set::Set;
use crate::vectors::vector::stored_dim;
use crate::words::Words;

/// Records that are copied or looked at at a time.
pub(crate) const RECORDS_AT_ONCE: usize = 1000;
/// Exploration factors that Redis takes.
const EF_ASKED_MAX: usize = 1_000_000;
/// Links of a node unless M says otherwise: what VLINKS shows.
const LINKS_DEFAULT: usize = 16;

/// Of a cosine, what vector sets show: 1 the same direction, 0 the opposite one. Rounding may carry a cosine past its ends.
pub(crate) fn score_of(cosine: f32) -> f64 {
    f64::midpoint(1.0, f64::from(cosine).clamp(-1.0, 1.0))
}

/// The number after EF.
fn asked_ef(words: &mut Words<'_>) -> Outcome<usize> {
    let ef = words.integer().ok().and_then(|ef| usize::try_from(ef).ok());
    ef.filter(|ef| (1..=EF_ASKED_MAX).contains(ef)).ok_or_else(|| Failure::error("invalid EF"))
}

/// A set of the same elements in a collection of its own.
pub(crate) fn copied(context: &mut CommandContext<'_>, target: &[u8], set: Set) -> Outcome<Set> {
    let name = context.create_collection(target, stored_dim(set.dim))?;
    let (from, to) = (context.tenant.collection(&set.collection)?, context.tenant.collection(&name)?);
    let mut scan = Scan { limit: RECORDS_AT_ONCE, vectors: true, ..Scan::default() };
    loop {
        let page = context.records(&from, &scan)?;
        if !page.records.is_empty() {
            context.upsert(&to, page.records.into_iter().map(as_given).collect())?;
        }
        match page.cursor {
            Some(cursor) => scan.cursor = Some(cursor),
            // The number stays: vectors are projected by it.
            None => return Ok(Set { collection: name, ..set }),
        }
    }
}

/// A record as it was given.
fn as_given(stored: StoredRecord) -> Record {
    let StoredRecord { id, text, payload, context, vector, vectors } = stored;
    Record { id, text, payload, context, vector, vectors, code: false }
}
