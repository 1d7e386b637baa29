//! A filter on the columns of a segment: the tree, whatever layout answers its tests.

use roaring::RoaringBitmap;

use super::count::Count;
use crate::interval::Interval;
use crate::like::LikePattern;
use crate::{CompareOp, Filter, FilterError};

pub(super) type Rows = Result<RoaringBitmap, FilterError>;

/// The tests that a layout of columns answers, each for all rows at once.
pub(super) trait Tests: Send + Sync {
    fn row_count(&self) -> u32;
    /// Rows where some value of the field lies in some interval.
    fn in_intervals(&self, field: &str, intervals: &[Interval]) -> Rows;
    /// Rows where some int of the field is one of these, which ascend.
    fn among(&self, field: &str, numbers: &[i64]) -> Rows;
    /// Rows where the field is there and not null.
    fn exists(&self, field: &str) -> Rows;
    /// Counts the values of a field; `None` where a layout cannot.
    fn count_values(&self, field: &str, rows: &RoaringBitmap, count: &mut Count<'_>) -> Option<Rows> {
        let _ = (field, rows, count);
        None
    }
    /// Rows with a text that begins with `prefix` and, if there is a pattern, fits it.
    fn matching_texts(&self, field: &str, prefix: &str, pattern: Option<&LikePattern>) -> Rows;
}

pub(super) fn evaluate(tests: &dyn Tests, filter: &Filter) -> Rows {
    match filter {
        Filter::True => Ok(every_row(tests)),
        Filter::And(parts) => all_of(tests, parts),
        Filter::Or(parts) => {
            parts.iter().try_fold(RoaringBitmap::new(), |rows, part| Ok(rows | evaluate(tests, part)?))
        }
        Filter::Not(inner) => Ok(every_row(tests) - evaluate(tests, inner)?),
        Filter::Compare { field, op: CompareOp::Ne, value } => {
            Ok(every_row(tests) - tests.in_intervals(field, &[Interval::equal(value)])?)
        }
        Filter::Compare { field, op, value } => tests.in_intervals(field, &[Interval::of(*op, value)]),
        Filter::Contains { field, value } => tests.in_intervals(field, &[Interval::equal(value)]),
        Filter::In { field, values } => {
            let intervals: Vec<Interval> = values.iter().map(Interval::equal).collect();
            tests.in_intervals(field, &intervals)
        }
        Filter::Among { field, numbers } => tests.among(field, numbers),
        Filter::Between { field, low, high } => tests.in_intervals(field, &[Interval::between(low, high)]),
        Filter::Exists { field } => tests.exists(field),
        Filter::Prefix { field, prefix } => tests.matching_texts(field, prefix, None),
        Filter::Like { field, pattern, escape } => {
            let pattern = LikePattern::new(pattern, *escape);
            let test = (!pattern.is_prefix()).then_some(&pattern);
            tests.matching_texts(field, &pattern.literal_prefix(), test)
        }
    }
}

fn every_row(tests: &dyn Tests) -> RoaringBitmap {
    let mut rows = RoaringBitmap::new();
    rows.insert_range(0..tests.row_count());
    rows
}

fn all_of(tests: &dyn Tests, parts: &[Filter]) -> Rows {
    let Some((first, rest)) = parts.split_first() else { return Ok(every_row(tests)) };
    let mut rows = evaluate(tests, first)?;
    for part in rest {
        // The rest cannot bring a row back.
        if rows.is_empty() {
            break;
        }
        rows &= evaluate(tests, part)?;
    }
    Ok(rows)
}

/// The first bytes after everything that begins with `prefix`; `None` when nothing comes after.
pub(super) fn successor(prefix: &[u8]) -> Option<Vec<u8>> {
    let kept = prefix.iter().rposition(|byte| *byte < u8::MAX)?;
    let mut successor = prefix[..=kept].to_vec();
    successor[kept] += 1;
    Some(successor)
}
