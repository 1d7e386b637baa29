//! Rows that count, for being asked about one by one and often.

use nuthatch_distance::BLOCK_ROWS;

use crate::Rows;

/// Where fewer than one row in this many counts, asking a separate bitmap is faster than searching sorted arrays.
const SPARSE: u64 = 16;

/// Answers [`contains`](Self::contains) in a few nanoseconds whatever the share of rows that count.
pub(crate) enum Members<'a> {
    Asked(Rows<'a>),
    /// One bit a row.
    Noted(Vec<u64>),
}

impl<'a> Members<'a> {
    /// Of a segment of `count` rows.
    pub(crate) fn new(rows: Rows<'a>, count: u32) -> Self {
        let Rows::Only(only) = rows else { return Self::Asked(rows) };
        if only.len() >= u64::from(count) / SPARSE {
            return Self::Asked(rows);
        }
        let mut bits = vec![0u64; (count as usize).div_ceil(64)];
        let (mut slots, mut some) = (only.iter(), [0; 256]);
        loop {
            let taken = slots.next_many(&mut some);
            for slot in taken.iter().filter(|slot| **slot < count) {
                bits[*slot as usize / 64] |= 1 << (slot % 64);
            }
            if taken.is_empty() {
                return Self::Noted(bits);
            }
        }
    }

    /// A bit for each row of a block that may count: nothing is said where asking is dear.
    pub(crate) fn of_block(&self, block: u32) -> u32 {
        match self {
            Self::Asked(_) => u32::MAX,
            Self::Noted(bits) => {
                bits.get(block as usize / 2).map_or(0, |word| (word >> (block % 2 * BLOCK_ROWS as u32)) as u32)
            }
        }
    }

    pub(crate) fn contains(&self, slot: u32) -> bool {
        match self {
            Self::Asked(rows) => rows.contains(slot),
            Self::Noted(bits) => bits.get(slot as usize / 64).is_some_and(|word| word >> (slot % 64) & 1 == 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use roaring::RoaringBitmap;

    #[test]
    fn few_and_many_rows_are_answered_for_alike() {
        for step in [1, 7, 40, 900] {
            let only: RoaringBitmap = (3..5000).step_by(step).chain([5001, u32::MAX]).collect();
            for rows in [Rows::All, Rows::Only(&only), Rows::Except(&only)] {
                let members = Members::new(rows, 5000);
                assert!((0..5000).all(|slot| members.contains(slot) == rows.contains(slot)), "{step}");
                let of_block = |slot: u32| members.of_block(slot / 32) >> (slot % 32) & 1 == 1;
                assert!((0..5000).all(|slot| of_block(slot) || !rows.contains(slot)), "{step}");
            }
        }
    }
}
