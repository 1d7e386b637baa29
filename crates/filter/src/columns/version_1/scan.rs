//! One column of version 1, read from end to end.

use std::fmt::Debug;
use std::ops::RangeInclusive;

use roaring::RoaringBitmap;
use tantivy_columnar::{Column, ColumnIndex};

use super::super::bytes::corrupt;
use super::super::evaluate::Rows;
use super::BATCH;

/// Up to here a scan for each range is cheaper than looking every value up among the ranges.
const RANGE_SCANS_MAX: usize = 4;

/// Rows with a value in any of the ranges.
pub(super) fn scan<T>(column: &Column<T>, ranges: Vec<RangeInclusive<T>>) -> Rows
where
    T: PartialOrd + Copy + Debug + Send + Sync + 'static,
{
    let (lowest, highest) = (column.min_value(), column.max_value());
    let ranges = merged(ranges.into_iter().filter_map(|range| overlap(range, lowest, highest)).collect());
    if ranges.iter().any(|range| *range.start() <= lowest && *range.end() >= highest) {
        return rows_with_value(&column.index, column.num_docs());
    }
    let mut rows = RoaringBitmap::new();
    if ranges.len() <= RANGE_SCANS_MAX {
        for range in ranges {
            let mut found = Vec::new();
            column.get_docids_for_value_range(range, 0..column.num_docs(), &mut found);
            rows |= sorted(found)?;
        }
        return Ok(rows);
    }
    let passes = |value: &T| {
        let at = ranges.partition_point(|range| range.end() < value);
        ranges.get(at).is_some_and(|range| range.contains(value))
    };
    let mut found = Vec::new();
    let mut values = [lowest; BATCH];
    let value_count = column.values.num_vals();
    for start in (0..value_count).step_by(BATCH) {
        let values = &mut values[..BATCH.min((value_count - start) as usize)];
        column.values.get_range(u64::from(start), values);
        found.extend((start..).zip(values.iter()).filter(|(_, value)| passes(value)).map(|(at, _)| at));
    }
    // From positions among the values to rows.
    column.index.select_batch_in_place(0, &mut found);
    sorted(found)
}

/// The part of a range that a column can hold. The library subtracts the column's minimum and stops at zero, so that a range
/// wholly below the minimum would find it.
fn overlap<T: PartialOrd + Copy>(range: RangeInclusive<T>, lowest: T, highest: T) -> Option<RangeInclusive<T>> {
    let low = if *range.start() > lowest { *range.start() } else { lowest };
    let high = if *range.end() < highest { *range.end() } else { highest };
    (low <= high).then_some(low..=high)
}

/// In order and apart, so that a value is found among them by bisection.
fn merged<T: PartialOrd + Copy>(mut ranges: Vec<RangeInclusive<T>>) -> Vec<RangeInclusive<T>> {
    ranges.sort_by(|a, b| a.start().partial_cmp(b.start()).unwrap_or(std::cmp::Ordering::Equal));
    let mut merged: Vec<RangeInclusive<T>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start() <= last.end() => {
                if range.end() > last.end() {
                    *last = *last.start()..=*range.end();
                }
            }
            _ => merged.push(range),
        }
    }
    merged
}

pub(super) fn rows_with_value(index: &ColumnIndex, row_count: u32) -> Rows {
    match index {
        ColumnIndex::Empty { .. } => Ok(RoaringBitmap::new()),
        ColumnIndex::Full => Ok(first_rows(row_count)),
        ColumnIndex::Optional(optional) => sorted(optional.iter_non_null_docs()),
        ColumnIndex::Multivalued(multivalued) => sorted(multivalued.iter_non_null_docs()),
    }
}

fn first_rows(count: u32) -> RoaringBitmap {
    let mut rows = RoaringBitmap::new();
    rows.insert_range(0..count);
    rows
}

fn sorted(rows: impl IntoIterator<Item = u32>) -> Rows {
    RoaringBitmap::from_sorted_iter(rows).map_err(|error| corrupt(format!("rows out of order: {error}")))
}
