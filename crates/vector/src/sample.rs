//! A few of many rows that match, spread over the segment.
//!
//! **Useful for** finding out where the rows that match lie when they do not lie where a search looked.
//! **Not for** statistics: where rows are few and far between, the first behind a gap is likelier to be taken.
//!
//! **Invariant:** the same rows give the same sample. It ascends, and holds each row once.

use crate::Rows;

/// Rows of a stretch that are asked one by one, at most.
const ASKED_MAX: u32 = 16;

/// Around `wanted` of `rows` of a segment of `count`: one of each of as many stretches, finer ones
/// where most stretches have none.
pub(crate) fn spread(rows: Rows<'_>, count: u32, wanted: u32) -> Vec<u32> {
    let mut stretches = wanted.clamp(1, count.max(1));
    loop {
        let taken = one_of_each(rows, count, stretches);
        debug_assert!(taken.is_sorted_by(|slot, next| slot < next), "a sample ascends and holds each row once");
        if taken.len() as u32 >= wanted / 2 || stretches == count {
            return taken;
        }
        let finer = u64::from(stretches) * u64::from(wanted) / (taken.len() as u64).max(1);
        stretches = finer.min(u64::from(count)) as u32;
    }
}

fn one_of_each(rows: Rows<'_>, count: u32, stretches: u32) -> Vec<u32> {
    let begin = |stretch: u32| (u64::from(stretch) * u64::from(count) / u64::from(stretches)) as u32;
    // Not always the first: what matches may lie as regularly as the stretches do.
    let from = |stretch: u32| {
        let (from, to) = (begin(stretch), begin(stretch + 1));
        from + ((u64::from(stretch.wrapping_mul(0x9E37_79B1)) * u64::from(to - from)) >> 32) as u32
    };
    let of = |slot: u32| (u64::from(slot) * u64::from(stretches) / u64::from(count)) as u32;
    let mut taken = Vec::new();
    match rows {
        Rows::Only(only) => {
            let mut slots = only.iter();
            let mut stretch = 0;
            while stretch < stretches {
                slots.advance_to(from(stretch));
                let Some(slot) = slots.next().filter(|slot| *slot < count) else { break };
                taken.push(slot);
                // The stretches before the row have none, and its own has one now.
                stretch = (stretch + 1).max(of(slot) + 1);
            }
        }
        _ => {
            for stretch in 0..stretches {
                let from = from(stretch);
                let to = begin(stretch + 1).min(from.saturating_add(ASKED_MAX));
                taken.extend((from..to).find(|slot| rows.contains(*slot)));
            }
        }
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;
    use roaring::RoaringBitmap;

    const COUNT: u32 = 100_000;

    /// Rows that match by turns, in one run, and hardly at all.
    fn filters() -> [RoaringBitmap; 4] {
        [
            (0..COUNT).step_by(3).collect(),
            (70_000..80_000).collect(),
            (5..COUNT).step_by(9973).collect(),
            (0..COUNT).collect(),
        ]
    }

    #[test]
    fn a_sample_ascends_and_holds_nothing_but_rows_that_match() {
        for (filter, wanted) in filters().iter().flat_map(|filter| [(filter, 1), (filter, 500), (filter, 5000)]) {
            let lacking = RoaringBitmap::from_iter(0..COUNT) - filter;
            for rows in [Rows::Only(filter), Rows::Except(&lacking)] {
                let sample = spread(rows, COUNT, wanted);
                assert!(sample.windows(2).all(|pair| pair[0] < pair[1]));
                assert!(sample.iter().all(|slot| filter.contains(*slot) && *slot < COUNT));
            }
        }
    }

    #[test]
    fn it_comes_from_everywhere_that_rows_match_and_is_about_as_large_as_was_wanted() {
        for filter in filters() {
            let sample = spread(Rows::Only(&filter), COUNT, 1000);
            let expected = filter.len().min(1000) as usize;
            assert!((expected / 2..=expected * 2).contains(&sample.len()), "{} of {expected}", sample.len());
            let (first, last) = (filter.min().unwrap(), filter.max().unwrap());
            let tenth = ((last - first) / 10).max(1);
            assert!(sample[0] <= first + tenth && sample[sample.len() - 1] >= last - tenth);
        }
    }

    #[test]
    fn rows_beyond_the_segment_are_not_taken() {
        let beyond: RoaringBitmap = (COUNT..COUNT + 500).collect();
        assert!(spread(Rows::Only(&beyond), COUNT, 100).is_empty());
    }
}
