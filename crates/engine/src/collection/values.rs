//! Counting the values of fields among the records that match.
//!
//! **Useful for** facets. **Not for** numbers and times that differ in every record: there are as many values as
//! records.
//!
//! **Invariant:** counts are exact, as of one moment, by either method. Memory is bounded: a count that would take more
//! is refused.

use std::collections::BTreeMap;

use nuthatch_filter::{Filter, Payload, Scalar, Schema};
use nuthatch_store::Table;
use roaring::RoaringBitmap;
use serde::{Deserialize, Serialize};

use crate::call::Waits;
use crate::collection::{Core, ReadSource};
use crate::index::SEGMENTS;
use crate::record::Row;
use crate::runtime::Reservation;
use crate::state::{SegmentView, View};
use crate::{Error, ErrorKind, Result};

/// The most values of one field, and the most bytes of all fields' values.
const VALUES_MAX: usize = 200_000;
const VALUES_BYTES_MAX: usize = 32 << 20;
/// The memory that a value takes besides its text.
const VALUE_BYTES: usize = 64;
/// Values after which the memory pool is told, and the caller looked for.
const TOLD_EVERY: usize = 1024;
/// Fields of one question.
const FIELDS_MAX: usize = 32;

/// The values of a field, the most frequent first; equals ascend.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FieldValues {
    /// Its path in the payload.
    pub field: String,
    /// Up to the limit that was asked for, each with the number of records that hold it.
    pub values: Vec<(Scalar, u64)>,
    /// How many distinct values there are, shown or not.
    pub distinct: u64,
    /// Records without a value of the field.
    pub missing: u64,
}

/// Checks that these fields can be counted.
///
/// # Errors
/// `Invalid` for none, too many, or one that the collection never had.
pub(crate) fn check(fields: &[String], schema: &Schema) -> Result<()> {
    check_number(fields)?;
    fields.iter().try_for_each(|field| Ok(Filter::Exists { field: field.clone() }.check(schema)?))
}

fn check_number(fields: &[String]) -> Result<()> {
    match fields.len() {
        1..=FIELDS_MAX => Ok(()),
        number => Err(Error::invalid(format!("{number} fields to count; name 1 to {FIELDS_MAX}"))),
    }
}

impl Core {
    /// Counts the values of each field among the records that pass the filter.
    ///
    /// # Errors
    /// `Invalid` for a field that the collection never had, `Exhausted` for one with too many values.
    pub(crate) fn count_values(
        &self,
        place: ReadSource<'_>,
        fields: &[String],
        filter: Option<&Filter>,
        limit: usize,
    ) -> Result<Vec<FieldValues>> {
        check(fields, &self.descriptor().schema)?;
        filter.map_or(Ok(()), |filter| self.check_filter(filter))?;
        let view = place.state.read().view();
        if view.segments_are_sound {
            match self.count_indexed(place, &view, fields, filter) {
                Ok(Some(counting)) => return Ok(counting.ranked(limit)),
                Ok(None) => {}
                Err(error) if error.is_corrupt() => self.note_damage_in(place, &error, SEGMENTS),
                Err(error) => return Err(error),
            }
        }
        Ok(self.count_stored(place, fields, filter)?.ranked(limit))
    }

    /// By columns and memtables; `None` when some columns are too old to count.
    fn count_indexed<'f>(
        &'f self,
        place: ReadSource<'f>,
        view: &View,
        fields: &'f [String],
        filter: Option<&Filter>,
    ) -> Result<Option<Counting<'f>>> {
        let mut counting = self.counting(place, fields);
        for segment in &view.segments {
            place.waits.check()?;
            let rows = rows_of(segment, filter)?;
            if !counting.add_segment(segment, &rows)? {
                return Ok(None);
            }
        }
        view.each_in_memtables(&mut |payload| counting.add_if(&nuthatch_filter::decode(payload)?, filter))?;
        Ok(Some(counting))
    }

    /// By reading every record.
    fn count_stored<'f>(
        &'f self,
        place: ReadSource<'f>,
        fields: &'f [String],
        filter: Option<&Filter>,
    ) -> Result<Counting<'f>> {
        let mut counting = self.counting(place, fields);
        self.each_row(place.reader, Table::Records, &mut |_, stored| {
            counting.add_if(&Row::decode(stored)?.payload()?, filter)
        })?;
        Ok(counting)
    }

    fn counting<'f>(&'f self, place: ReadSource<'f>, fields: &'f [String]) -> Counting<'f> {
        let mut memory = self.shared.reservation(place.waits);
        Counting::of(fields, place.waits, Box::new(move |bytes| memory.holds(bytes, bytes)))
    }
}

/// Counts the values of each field in whatever payloads `each` hands over.
///
/// # Errors
/// `Invalid` for no or too many fields, `Exhausted` for one with too many values; those of `each`.
pub(crate) fn count_payloads(
    fields: &[String],
    limit: usize,
    mut room: Option<Reservation<'_>>,
    each: impl FnOnce(&mut dyn FnMut(&Payload) -> Result<()>) -> Result<()>,
) -> Result<Vec<FieldValues>> {
    check_number(fields)?;
    let waits = Waits::default();
    let tell = move |bytes| room.as_mut().map_or(Ok(()), |room| room.holds(bytes, bytes));
    let mut counting = Counting::of(fields, &waits, Box::new(tell));
    each(&mut |payload| counting.add_if(payload, None))?;
    Ok(counting.ranked(limit))
}

/// The live rows of a segment that pass.
fn rows_of(view: &SegmentView, filter: Option<&Filter>) -> Result<RoaringBitmap> {
    if let Some(filter) = filter {
        return view.matching(filter);
    }
    let mut rows = RoaringBitmap::new();
    rows.insert_range(0..view.segment.rows().len() as u32);
    Ok(rows - &*view.dead)
}

/// The counts so far, of all fields.
struct Counting<'f> {
    tallies: Vec<Tally<'f>>,
    bytes: usize,
    /// Calls of `add`.
    counted: usize,
    waits: &'f Waits,
    /// Tells the memory pool how many bytes there are, and may wait for them.
    tell: Box<dyn FnMut(u64) -> Result<()> + 'f>,
}

/// The values of one field.
struct Tally<'f> {
    field: &'f str,
    counts: BTreeMap<Scalar, u64>,
    missing: u64,
}

impl<'f> Counting<'f> {
    fn of(fields: &'f [String], waits: &'f Waits, tell: Box<dyn FnMut(u64) -> Result<()> + 'f>) -> Self {
        let tally = |field: &'f String| Tally { field, counts: BTreeMap::new(), missing: 0 };
        Self { tallies: fields.iter().map(tally).collect(), bytes: 0, counted: 0, waits, tell }
    }

    /// False when its columns cannot count.
    fn add_segment(&mut self, view: &SegmentView, rows: &RoaringBitmap) -> Result<bool> {
        for at in 0..self.tallies.len() {
            let (mut refused, field) = (None, self.tallies[at].field);
            let with_value = view.segment.count_values(field, rows, &mut |value, number| {
                refused = self.add(at, value, number).err();
                refused.is_none()
            })?;
            refused.map_or(Ok(()), Err)?;
            let Some(with_value) = with_value else { return Ok(false) };
            self.tallies[at].missing += rows.len() - with_value.len();
        }
        Ok(true)
    }

    /// Counts a record that passes.
    fn add_if(&mut self, payload: &Payload, filter: Option<&Filter>) -> Result<()> {
        if filter.is_some_and(|filter| !filter.matches(payload)) {
            return Ok(());
        }
        for at in 0..self.tallies.len() {
            let values = Scalar::all_of(payload, self.tallies[at].field);
            self.tallies[at].missing += u64::from(values.is_empty());
            values.into_iter().try_for_each(|value| self.add(at, value, 1))?;
        }
        Ok(())
    }

    fn add(&mut self, at: usize, value: Scalar, number: u64) -> Result<()> {
        self.counted += 1;
        if self.counted.is_multiple_of(TOLD_EVERY) {
            self.waits.check()?;
        }
        let tally = &mut self.tallies[at];
        if let Some(count) = tally.counts.get_mut(&value) {
            *count += number;
            return Ok(());
        }
        self.bytes += VALUE_BYTES + value.heap_bytes();
        if tally.counts.len() == VALUES_MAX || self.bytes > VALUES_BYTES_MAX {
            let message = format!(
                "field {:?} has more values than can be counted at a time ({VALUES_MAX}, or {} MiB of them); narrow the \
                 records with `where`, or count another field",
                tally.field,
                VALUES_BYTES_MAX >> 20
            );
            return Err(Error::new(ErrorKind::Exhausted, message));
        }
        tally.counts.insert(value, number);
        if tally.counts.len().is_multiple_of(TOLD_EVERY) {
            (self.tell)(self.bytes as u64)?;
        }
        Ok(())
    }

    /// The most frequent values of each field.
    fn ranked(self, limit: usize) -> Vec<FieldValues> {
        let ranked = |tally: Tally<'_>| {
            let distinct = tally.counts.len() as u64;
            let mut values: Vec<(Scalar, u64)> = tally.counts.into_iter().collect();
            // They ascend already.
            values.sort_by_key(|(_, number)| std::cmp::Reverse(*number));
            values.truncate(limit);
            FieldValues { field: tally.field.into(), values, distinct, missing: tally.missing }
        };
        self.tallies.into_iter().map(ranked).collect()
    }
}
