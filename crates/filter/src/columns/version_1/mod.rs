//! Version 1 of the columns file, read only: the columns are `tantivy-columnar`'s (bit-packed, dictionary-encoded,
//! multi-valued), and a test scans the columns of its field whole.
//!
//! ```text
//! ┌───────────────┬──────────────┬──────────────────┬────────────────────────────────────────────────────────────────────┐
//! │ columnar      │ long texts   │ long text index  │ footer, 40 bytes, little endian:                                   │
//! │ C bytes       │ L bytes      │ I bytes (CBOR)   │ C u64 │ L u64 │ I u64 │ rows u32 │ version u32 │ "NUTCOLMN"         │
//! └───────────────┴──────────────┴──────────────────┴────────────────────────────────────────────────────────────────────┘
//! column name     = as in version 2; x also for long texts
//! long texts      = for each path together: { ordinal u32, length u32, bytes }
//! long text index = array of [path, offset u64 in the section, length u64]
//! ```

mod long_text;
mod scan;

use std::ops::{Bound, Range, RangeBounds, RangeInclusive};

use roaring::RoaringBitmap;
use tantivy_columnar::{ColumnarReader, Dictionary, DynamicColumn, StrColumn};
use tantivy_common::HasLen;
use tantivy_common::file_slice::FileSlice;

use self::long_text::LongTexts;
use self::scan::{rows_with_value, scan};
use super::ColumnKind;
use super::bytes::{corrupt, number};
use super::evaluate::{Rows, Tests, successor};
use crate::interval::{Bools, Datetimes, Floats, Interval, Ints, Scalars};
use crate::like::LikePattern;
use crate::{FilterError, Value};

/// Values unpacked, and terms read, at a time.
const BATCH: usize = 4096;

pub(super) struct Version1 {
    columnar: ColumnarReader,
    long_texts: LongTexts,
    rows: u32,
}

impl Version1 {
    pub fn open(body: FileSlice, footer: &[u8], rows: u32) -> Result<Self, FilterError> {
        let (columnar_bytes, text_bytes, index_bytes) =
            (number(footer, 0, 8), number(footer, 8, 8), number(footer, 16, 8));
        let total = columnar_bytes.checked_add(text_bytes).and_then(|sum| sum.checked_add(index_bytes));
        if total != Some(body.len() as u64) {
            return Err(corrupt(format!("its parts do not add up to {} bytes", body.len())));
        }
        let (columnar, rest) = body.split(columnar_bytes as usize);
        let (texts, index) = rest.split(text_bytes as usize);
        let columnar = ColumnarReader::open(columnar)?;
        if columnar.num_docs() != rows {
            return Err(corrupt(format!("{} rows in the columns, {rows} in the footer", columnar.num_docs())));
        }
        Ok(Self { columnar, long_texts: LongTexts::open(texts, &index.read_bytes()?)?, rows })
    }

    /// The column of a field that holds values of the kind, if any row has one. Reads it whole, its dictionary aside.
    fn column(&self, field: &str, kind: ColumnKind) -> Result<Option<DynamicColumn>, FilterError> {
        let handles = self.columnar.read_columns(&format!("{field}{}", kind.suffix()))?;
        match handles.as_slice() {
            [] => Ok(None),
            [handle] => Ok(Some(handle.open()?)),
            _ => Err(corrupt(format!("field `{field}` has two columns of one kind"))),
        }
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
        if ranges.is_empty() { Ok(None) } else { self.column(field, kind) }
    }

    fn texts_in(&self, field: &str, intervals: &[Interval]) -> Rows {
        let bounds: Vec<_> = intervals.iter().filter_map(Interval::text_bounds).collect();
        let mut rows = RoaringBitmap::new();
        if bounds.is_empty() {
            return Ok(rows);
        }
        if let Some(DynamicColumn::Str(column)) = self.column(field, ColumnKind::Text)? {
            let mut ordinals = Vec::new();
            for (low, high) in &bounds {
                let range = term_ordinals(&column, *low, *high)?;
                if !range.is_empty() {
                    ordinals.push(range.start..=range.end - 1);
                }
            }
            rows |= scan(column.ords(), ordinals)?;
        }
        self.long_texts.each(field, |row, text| {
            if bounds.iter().any(|bounds| RangeBounds::<[u8]>::contains(bounds, text.as_bytes())) {
                rows.insert(row);
            }
        })?;
        Ok(rows)
    }
}

impl Tests for Version1 {
    fn row_count(&self) -> u32 {
        self.rows
    }

    fn in_intervals(&self, field: &str, intervals: &[Interval]) -> Rows {
        let mut rows = RoaringBitmap::new();
        for kind in [ColumnKind::Bool, ColumnKind::Int, ColumnKind::Float, ColumnKind::Datetime] {
            self.scan_kind(&mut rows, field, kind, intervals)?;
        }
        rows |= self.texts_in(field, intervals)?;
        Ok(rows)
    }

    fn among(&self, field: &str, numbers: &[i64]) -> Rows {
        let values: Vec<Value> = numbers.iter().map(|number| Value::Int(*number)).collect();
        let intervals: Vec<Interval> = values.iter().map(Interval::equal).collect();
        let mut rows = RoaringBitmap::new();
        self.scan_kind(&mut rows, field, ColumnKind::Int, &intervals)?;
        Ok(rows)
    }

    fn exists(&self, field: &str) -> Rows {
        let mut rows = RoaringBitmap::new();
        for kind in ColumnKind::ALL {
            if let Some(column) = self.column(field, kind)? {
                rows |= rows_with_value(column.column_index(), self.rows)?;
            }
        }
        Ok(rows)
    }

    fn matching_texts(&self, field: &str, prefix: &str, pattern: Option<&LikePattern>) -> Rows {
        let fits = |text: &str| text.starts_with(prefix) && pattern.is_none_or(|pattern| pattern.matches(text));
        let mut rows = RoaringBitmap::new();
        if let Some(DynamicColumn::Str(column)) = self.column(field, ColumnKind::Text)? {
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
        self.long_texts.each(field, |row, text| {
            if fits(text) {
                rows.insert(row);
            }
        })?;
        Ok(rows)
    }
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
            return Err(corrupt("a dictionary is shorter than it says"));
        }
    }
    Ok(fitting)
}
