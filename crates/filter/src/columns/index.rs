//! The tests of a filter, answered by the column chunks of one file.

use std::ops::{Bound, Range};

use roaring::RoaringBitmap;

use super::ColumnKind;
use super::bytes::{Section, corrupt};
use super::chunk::Chunk;
use super::count::Count;
use super::directory::Directory;
use super::evaluate::{Rows, Tests, successor};
use super::keys::Key;
use crate::FilterError;
use crate::interval::{Bools, Datetimes, Floats, Interval, Ints, Scalars, TextBounds};
use crate::like::LikePattern;

/// From this many look-ups, or texts to try, a dictionary is read whole.
const HELD_LOOKUPS: usize = 32;
const HELD_TEXTS: usize = 1024;

pub(super) struct Index {
    pub chunks: Section,
    pub directory: Directory,
    pub rows: u32,
}

impl Index {
    pub(super) fn for_chunks(
        &self,
        field: &str,
        kind: ColumnKind,
        mut visit: impl FnMut(&Chunk) -> Result<(), FilterError>,
    ) -> Result<(), FilterError> {
        for place in self.directory.find(&format!("{field}{}", kind.suffix()))? {
            let offset = usize::try_from(place.offset).map_err(|_| corrupt("a column chunk beyond the file"))?;
            visit(&Chunk::open(self.chunks.part(offset, place.bytes as usize)?, place.container)?)?;
        }
        Ok(())
    }

    fn add_keys<K: Scalars>(
        &self,
        field: &str,
        kind: ColumnKind,
        intervals: &[Interval],
        rows: &mut RoaringBitmap,
    ) -> Result<(), FilterError>
    where
        K::Stored: Key,
    {
        let keys =
            intervals.iter().filter_map(Interval::range::<K>).map(|range| (range.start().key(), range.end().key()));
        // A kind that cannot match is not even looked for.
        let ranges = merged(keys.collect());
        if ranges.is_empty() {
            return Ok(());
        }
        self.for_chunks(field, kind, |chunk| chunk.add_rows(&chunk.positions_of_keys(&ranges)?, rows))
    }

    fn add_texts(&self, field: &str, bounds: &[TextBounds], rows: &mut RoaringBitmap) -> Result<(), FilterError> {
        if bounds.is_empty() {
            return Ok(());
        }
        self.for_chunks(field, ColumnKind::Text, |chunk| {
            let mut dictionary = chunk.dictionary()?;
            if bounds.len() >= HELD_LOOKUPS {
                dictionary.hold()?;
            }
            let mut places = Vec::new();
            for (low, high) in bounds {
                let found = dictionary.places(*low, *high)?;
                if !found.is_empty() {
                    places.push(found);
                }
            }
            places.sort_unstable_by_key(|range| range.start);
            chunk.add_rows(&chunk.positions_of_values(&places)?, rows)
        })
    }
}

impl Tests for Index {
    fn row_count(&self) -> u32 {
        self.rows
    }

    fn in_intervals(&self, field: &str, intervals: &[Interval]) -> Rows {
        let mut rows = RoaringBitmap::new();
        self.add_keys::<Bools>(field, ColumnKind::Bool, intervals, &mut rows)?;
        self.add_keys::<Ints>(field, ColumnKind::Int, intervals, &mut rows)?;
        self.add_keys::<Floats>(field, ColumnKind::Float, intervals, &mut rows)?;
        self.add_keys::<Datetimes>(field, ColumnKind::Datetime, intervals, &mut rows)?;
        let bounds: Vec<TextBounds> = intervals.iter().filter_map(Interval::text_bounds).collect();
        self.add_texts(field, &bounds, &mut rows)?;
        Ok(rows)
    }

    fn among(&self, field: &str, numbers: &[i64]) -> Rows {
        let mut rows = RoaringBitmap::new();
        self.for_chunks(field, ColumnKind::Int, |chunk| chunk.add_rows(&chunk.positions_among(numbers)?, &mut rows))?;
        Ok(rows)
    }

    fn exists(&self, field: &str) -> Rows {
        let mut rows = RoaringBitmap::new();
        for kind in ColumnKind::ALL {
            self.for_chunks(field, kind, |chunk| chunk.add_rows(&[chunk.all()], &mut rows))?;
        }
        Ok(rows)
    }

    fn count_values(&self, field: &str, rows: &RoaringBitmap, count: &mut Count<'_>) -> Option<Rows> {
        Some(Self::count_values(self, field, rows, count))
    }

    fn matching_texts(&self, field: &str, prefix: &str, pattern: Option<&LikePattern>) -> Rows {
        let successor = successor(prefix.as_bytes());
        let high = successor.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let bounds = (Bound::Included(prefix.as_bytes()), high);
        let mut rows = RoaringBitmap::new();
        let Some(pattern) = pattern else {
            self.add_texts(field, &[bounds], &mut rows)?;
            return Ok(rows);
        };
        self.for_chunks(field, ColumnKind::Text, |chunk| {
            let mut dictionary = chunk.dictionary()?;
            let begun_so = dictionary.places(bounds.0, bounds.1)?;
            if begun_so.len() >= HELD_TEXTS {
                dictionary.hold()?;
            }
            let mut fitting: Vec<Range<u32>> = Vec::new();
            dictionary.each(begun_so, |place, text| {
                // Only valid UTF-8 was written.
                if std::str::from_utf8(text).is_ok_and(|text| pattern.matches(text)) {
                    match fitting.last_mut() {
                        Some(last) if last.end == place => last.end += 1,
                        _ => fitting.push(place..place + 1),
                    }
                }
            })?;
            chunk.add_rows(&chunk.positions_of_values(&fitting)?, &mut rows)
        })?;
        Ok(rows)
    }
}

/// In order and apart.
fn merged(mut ranges: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    ranges.sort_unstable();
    let mut merged: Vec<(u64, u64)> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.0 <= last.1 => last.1 = last.1.max(range.1),
            _ => merged.push(range),
        }
    }
    merged
}
