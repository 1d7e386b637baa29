//! A filter on the columns of a segment.

use std::fmt::Debug;
use std::ops::{Bound, Range, RangeBounds, RangeInclusive};

use roaring::RoaringBitmap;
use tantivy_columnar::{Column, ColumnIndex, Dictionary, DynamicColumn, StrColumn};

use super::{ColumnKind, Columns};
use crate::interval::{Bools, Datetimes, Floats, Interval, Ints, Scalars};
use crate::like::LikePattern;
use crate::{CompareOp, Filter, FilterError, Value};

/// Up to here a scan for each range is cheaper than looking every value up among the ranges.
const RANGE_SCANS_MAX: usize = 4;
/// Values unpacked, and terms read, at a time.
const BATCH: usize = 4096;

pub(super) struct Evaluation<'a> {
    pub columns: &'a Columns,
}

type Rows = Result<RoaringBitmap, FilterError>;

impl Evaluation<'_> {
    pub fn rows(&self, filter: &Filter) -> Rows {
        match filter {
            Filter::True => Ok(self.every_row()),
            Filter::And(parts) => self.all_of(parts),
            Filter::Or(parts) => parts.iter().try_fold(RoaringBitmap::new(), |rows, part| Ok(rows | self.rows(part)?)),
            Filter::Not(inner) => Ok(self.every_row() - self.rows(inner)?),
            Filter::Compare { field, op: CompareOp::Ne, value } => {
                Ok(self.every_row() - self.in_intervals(field, &[Interval::equal(value)])?)
            }
            Filter::Compare { field, op, value } => self.in_intervals(field, &[Interval::of(*op, value)]),
            Filter::Contains { field, value } => self.in_intervals(field, &[Interval::equal(value)]),
            Filter::In { field, values } => self.in_list(field, values),
            Filter::Between { field, low, high } => self.in_intervals(field, &[Interval::between(low, high)]),
            Filter::Exists { field } => self.exists(field),
            Filter::Prefix { field, prefix } => self.matching_texts(field, prefix, None),
            Filter::Like { field, pattern, escape } => {
                let pattern = LikePattern::new(pattern, *escape);
                let test = (!pattern.is_prefix()).then_some(&pattern);
                self.matching_texts(field, &pattern.literal_prefix(), test)
            }
        }
    }

    fn every_row(&self) -> RoaringBitmap {
        first_rows(self.columns.rows())
    }

    fn all_of(&self, parts: &[Filter]) -> Rows {
        let mut rows = self.every_row();
        for part in parts {
            // The rest cannot bring a row back.
            if rows.is_empty() {
                break;
            }
            rows &= self.rows(part)?;
        }
        Ok(rows)
    }

    fn in_list(&self, field: &str, values: &[Value]) -> Rows {
        let intervals: Vec<Interval> = values.iter().map(Interval::equal).collect();
        self.in_intervals(field, &intervals)
    }

    /// Rows where some value of the field lies in some interval: each kind of column asked for its own ranges.
    fn in_intervals(&self, field: &str, intervals: &[Interval]) -> Rows {
        let mut rows = RoaringBitmap::new();
        for kind in [ColumnKind::Bool, ColumnKind::Int, ColumnKind::Float, ColumnKind::Datetime] {
            self.scan_kind(&mut rows, field, kind, intervals)?;
        }
        rows |= self.texts_in(field, intervals)?;
        Ok(rows)
    }

    fn scan_kind(
        &self,
        rows: &mut RoaringBitmap,
        field: &str,
        kind: ColumnKind,
        intervals: &[Interval],
    ) -> Result<(), FilterError> {
        fn ranges<K: Scalars>(intervals: &[Interval]) -> Vec<RangeInclusive<K::Stored>> {
            intervals.iter().filter_map(Interval::range::<K>).collect()
        }
        // The ranges come first: a kind that cannot match is not even read.
        match kind {
            ColumnKind::Bool => {
                let ranges = ranges::<Bools>(intervals);
                if let Some(DynamicColumn::Bool(column)) = self.column_for(&ranges, field, kind)? {
                    *rows |= scan(&column, ranges)?;
                }
            }
            ColumnKind::Float => {
                let ranges = ranges::<Floats>(intervals);
                if let Some(DynamicColumn::F64(column)) = self.column_for(&ranges, field, kind)? {
                    *rows |= scan(&column, ranges)?;
                }
            }
            ColumnKind::Int | ColumnKind::Datetime => {
                let ranges = if matches!(kind, ColumnKind::Int) {
                    ranges::<Ints>(intervals)
                } else {
                    ranges::<Datetimes>(intervals)
                };
                if let Some(DynamicColumn::I64(column)) = self.column_for(&ranges, field, kind)? {
                    *rows |= scan(&column, ranges)?;
                }
            }
            ColumnKind::Text | ColumnKind::Presence => {}
        }
        Ok(())
    }

    fn column_for<T>(&self, ranges: &[T], field: &str, kind: ColumnKind) -> Result<Option<DynamicColumn>, FilterError> {
        if ranges.is_empty() { Ok(None) } else { self.columns.column(field, kind) }
    }

    fn exists(&self, field: &str) -> Rows {
        let mut rows = RoaringBitmap::new();
        for kind in ColumnKind::ALL {
            if let Some(column) = self.columns.column(field, kind)? {
                rows |= rows_with_value(column.column_index(), self.columns.rows())?;
            }
        }
        Ok(rows)
    }

    fn texts_in(&self, field: &str, intervals: &[Interval]) -> Rows {
        let bounds: Vec<_> = intervals.iter().filter_map(Interval::text_bounds).collect();
        let mut rows = RoaringBitmap::new();
        if bounds.is_empty() {
            return Ok(rows);
        }
        if let Some(DynamicColumn::Str(column)) = self.columns.column(field, ColumnKind::Text)? {
            let mut ordinals = Vec::new();
            for (low, high) in &bounds {
                let range = term_ordinals(&column, *low, *high)?;
                if !range.is_empty() {
                    ordinals.push(range.start..=range.end - 1);
                }
            }
            rows |= scan(column.ords(), ordinals)?;
        }
        self.columns.long_texts().each(field, |row, text| {
            if bounds.iter().any(|bounds| RangeBounds::<[u8]>::contains(bounds, text.as_bytes())) {
                rows.insert(row);
            }
        })?;
        Ok(rows)
    }

    /// Rows with a text that begins with `prefix` and, if there is a pattern, fits it.
    fn matching_texts(&self, field: &str, prefix: &str, pattern: Option<&LikePattern>) -> Rows {
        let fits = |text: &str| text.starts_with(prefix) && pattern.is_none_or(|pattern| pattern.matches(text));
        let mut rows = RoaringBitmap::new();
        if let Some(DynamicColumn::Str(column)) = self.columns.column(field, ColumnKind::Text)? {
            let successor = successor(prefix.as_bytes());
            let high = successor.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
            let range = term_ordinals(&column, Bound::Included(prefix.as_bytes()), high)?;
            let ordinals = match pattern {
                None if range.is_empty() => Vec::new(),
                None => vec![range.start..=range.end - 1],
                Some(_) => fitting_terms(&column, range, &fits)?,
            };
            rows |= scan(column.ords(), ordinals)?;
        }
        self.columns.long_texts().each(field, |row, text| {
            if fits(text) {
                rows.insert(row);
            }
        })?;
        Ok(rows)
    }
}

/// Rows with a value in any of the ranges.
fn scan<T>(column: &Column<T>, ranges: Vec<RangeInclusive<T>>) -> Rows
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

fn rows_with_value(index: &ColumnIndex, row_count: u32) -> Rows {
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
    RoaringBitmap::from_sorted_iter(rows)
        .map_err(|error| FilterError::CorruptColumns { reason: format!("rows out of order: {error}") })
}

/// The ordinals of the terms between two bounds.
fn term_ordinals(column: &StrColumn, low: Bound<&[u8]>, high: Bound<&[u8]>) -> Result<Range<u64>, FilterError> {
    let dictionary: &Dictionary = column.dictionary();
    let (low, high) = dictionary.term_bounds_to_ord(low, high)?;
    let start = match low {
        Bound::Included(ordinal) => ordinal,
        Bound::Excluded(ordinal) => ordinal + 1,
        Bound::Unbounded => 0,
    };
    let end = match high {
        Bound::Included(ordinal) => ordinal + 1,
        Bound::Excluded(ordinal) => ordinal,
        Bound::Unbounded => dictionary.num_terms() as u64,
    };
    Ok(start..end.min(dictionary.num_terms() as u64))
}

/// Reads the terms of a range one after another and keeps the ordinals of those that fit.
fn fitting_terms(
    column: &StrColumn,
    range: Range<u64>,
    fits: &dyn Fn(&str) -> bool,
) -> Result<Vec<RangeInclusive<u64>>, FilterError> {
    let mut fitting: Vec<RangeInclusive<u64>> = Vec::new();
    for start in range.clone().step_by(BATCH) {
        let ordinals: Vec<u64> = (start..range.end.min(start + BATCH as u64)).collect();
        let mut ordinal = start;
        let found_all = column.dictionary().sorted_ords_to_term_cb(&ordinals, |term| {
            // Only valid UTF-8 was written.
            if std::str::from_utf8(term).is_ok_and(fits) {
                match fitting.last_mut() {
                    Some(last) if *last.end() + 1 == ordinal => *last = *last.start()..=ordinal,
                    _ => fitting.push(ordinal..=ordinal),
                }
            }
            ordinal += 1;
        })?;
        if !found_all {
            return Err(FilterError::CorruptColumns { reason: "a dictionary is shorter than it says".into() });
        }
    }
    Ok(fitting)
}

/// The first bytes after everything that begins with `prefix`; `None` when nothing comes after.
fn successor(prefix: &[u8]) -> Option<Vec<u8>> {
    let kept = prefix.iter().rposition(|byte| *byte < u8::MAX)?;
    let mut successor = prefix[..=kept].to_vec();
    successor[kept] += 1;
    Some(successor)
}
