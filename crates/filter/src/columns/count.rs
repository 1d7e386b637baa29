//! Counting the rows of each value of a field: a column has its values in order, and for each the rows that hold it.

use roaring::RoaringBitmap;

use super::ColumnKind;
use super::block::ROW_SET_BYTES;
use super::chunk::Chunk;
use super::index::Index;
use super::keys::int_of_key;
use crate::{FilterError, Scalar};

/// Takes a value, and how many of the rows hold it: more than none. False ends it.
pub(super) type Count<'c> = dyn FnMut(Scalar, u64) -> bool + 'c;

impl Index {
    /// Counts, of these rows, those that hold each value of the field, chunk by chunk. Answers with the rows that hold any.
    pub fn count_values(
        &self,
        field: &str,
        rows: &RoaringBitmap,
        count: &mut Count<'_>,
    ) -> Result<RoaringBitmap, FilterError> {
        let mut with_value = RoaringBitmap::new();
        let mut goes_on = true;
        for kind in ColumnKind::ALL.into_iter().filter(|kind| !matches!(kind, ColumnKind::Presence)) {
            self.for_chunks(field, kind, |chunk| {
                if goes_on {
                    chunk.add_rows(&[chunk.all()], &mut with_value)?;
                    goes_on = count_chunk(chunk, kind, rows, count)?;
                }
                Ok(())
            })?;
        }
        Ok(with_value & rows)
    }
}

fn count_chunk(
    chunk: &Chunk,
    kind: ColumnKind,
    rows: &RoaringBitmap,
    count: &mut Count<'_>,
) -> Result<bool, FilterError> {
    let wanted = set_of(rows, chunk.container());
    let mut goes_on = true;
    let mut tell = |value: Scalar, number: u64| {
        goes_on = goes_on && (number == 0 || count(value, number));
        goes_on
    };
    if let ColumnKind::Text = kind {
        let mut numbers = Vec::new();
        chunk.each_value(&wanted, |_, number| numbers.push(number))?;
        let mut dictionary = chunk.dictionary()?;
        dictionary.hold()?;
        dictionary.each(0..numbers.len() as u32, |place, text| {
            // Only valid UTF-8 was written.
            if let (Some(number @ 1..), Ok(text)) = (numbers.get(place as usize), std::str::from_utf8(text)) {
                tell(Scalar::Text(text.into()), *number);
            }
        })?;
        return Ok(goes_on);
    }
    chunk.each_value(&wanted, |key, number| {
        let value = match kind {
            ColumnKind::Bool => Scalar::Bool(key != 0),
            ColumnKind::Float => Scalar::Float(key),
            ColumnKind::Datetime => Scalar::Datetime(int_of_key(key)),
            _ => Scalar::Int(int_of_key(key)),
        };
        tell(value, number);
    })?;
    Ok(goes_on)
}

/// The rows of a container, a bit for each.
fn set_of(rows: &RoaringBitmap, container: u32) -> Box<[u8; ROW_SET_BYTES]> {
    let mut set = Box::new([0; ROW_SET_BYTES]);
    let base = container << 16;
    for row in rows.range(base..=base | 0xffff) {
        set[(row as usize & 0xffff) >> 3] |= 1 << (row & 7);
    }
    set
}
