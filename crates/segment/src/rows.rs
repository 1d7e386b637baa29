//! Which rows of a segment a search is about.

use roaring::RoaringBitmap;

/// Which slots of a segment count. Slots beyond the segment's rows are ignored.
#[derive(Clone, Copy, Debug)]
pub enum Rows<'a> {
    /// Every slot.
    All,
    /// Every slot but these.
    Except(&'a RoaringBitmap),
    /// These slots alone.
    Only(&'a RoaringBitmap),
}

impl Rows<'_> {
    /// Whether a slot counts.
    #[inline]
    pub fn contains(self, slot: u32) -> bool {
        match self {
            Self::All => true,
            Self::Except(except) => !except.contains(slot),
            Self::Only(only) => only.contains(slot),
        }
    }

    /// How many of the segment's `rows` count.
    pub fn count(self, rows: u32) -> u64 {
        match self {
            Self::All => u64::from(rows),
            Self::Except(except) => u64::from(rows) - except.range_cardinality(0..rows),
            Self::Only(only) => only.range_cardinality(0..rows),
        }
    }

    /// Calls `take` with every slot that counts, ascending.
    pub fn try_for_each<E>(self, rows: u32, mut take: impl FnMut(u32) -> Result<(), E>) -> Result<(), E> {
        match self {
            Self::All => (0..rows).try_for_each(take),
            Self::Only(only) => {
                let (mut slots, mut some) = (only.iter(), [0; 256]);
                loop {
                    let taken = slots.next_many(&mut some);
                    let last = taken.last().is_none_or(|slot| *slot >= rows);
                    taken.iter().take_while(|slot| **slot < rows).try_for_each(|slot| take(*slot))?;
                    if last {
                        return Ok(());
                    }
                }
            }
            Self::Except(except) => {
                // Few may be left of many: taking sets apart container by container beats asking for each slot.
                let mut left = RoaringBitmap::new();
                left.insert_range(0..rows);
                left -= except;
                left.iter().try_for_each(take)
            }
        }
    }
}
