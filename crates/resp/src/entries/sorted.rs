//! The members of a sorted set in their order.

use std::ops::Bound;

use nuthatch_link::KeyScan;

use crate::aggregate::{Body, Entries, rows};
use crate::entries::{Members, ROWS_AT_ONCE};
use crate::failure::{Failure, Outcome};

pub(crate) type ScoreBound = Bound<f64>;
pub(crate) type LexBound = Bound<Vec<u8>>;

/// A part of a sorted set, by what it is cut from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Span {
    All,
    Score(ScoreBound, ScoreBound),
    /// By the bytes of the members, whose scores are the same.
    Lex(LexBound, LexBound),
}

/// Members with their scores.
pub(crate) type Scored = Vec<(Vec<u8>, f64)>;

/// A score as it is stored.
pub(crate) fn score_of(bytes: &[u8]) -> Outcome<f64> {
    let bytes = bytes.try_into().map_err(|_| Failure::error("the stored score cannot be decoded"))?;
    Ok(f64::from_be_bytes(bytes))
}

/// Members with their scores, of what a sorted set stores.
pub(crate) fn scored(entries: Entries) -> Outcome<Scored> {
    entries.into_iter().map(|(member, score)| Ok((member, score_of(&score)?))).collect()
}

/// By score, and by their bytes where that is the same.
pub(crate) fn put_in_order(members: &mut Scored) {
    members.sort_unstable_by(|(one, at), (other, by)| at.total_cmp(by).then_with(|| one.cmp(other)));
}

impl Members<'_, '_> {
    pub fn score(&mut self, member: &[u8]) -> Outcome<Option<f64>> {
        self.get(member)?.map(|bytes| score_of(&bytes)).transpose()
    }

    /// Sets a score, and tells the old one.
    pub fn set_score(&mut self, member: &[u8], score: f64) -> Outcome<Option<f64>> {
        let old = self.insert(member, (score + 0.0).to_be_bytes().to_vec())?;
        old.map(|bytes| score_of(&bytes)).transpose()
    }

    /// Every member with its score, in no order.
    pub fn scores(&mut self) -> Outcome<Scored> {
        scored(self.all()?)
    }

    /// Those of a span in their order, or from the last one on: without the first `skip` of them, `limit` at most.
    pub fn ordered(&mut self, span: &Span, reverse: bool, skip: usize, limit: usize) -> Outcome<Scored> {
        if let Body::Inline(_) = &self.opened.aggregate.body {
            let mut found = self.scores()?;
            found.retain(|(member, score)| span.holds(member, *score));
            put_in_order(&mut found);
            if reverse {
                found.reverse();
            }
            return Ok(found.into_iter().skip(skip).take(limit).collect());
        }
        let mut found = Vec::new();
        self.walk(span, reverse, |at, row| {
            if at >= skip && at - skip < limit {
                let (score, member) = rows::scored(row);
                found.push((member.to_vec(), score));
            }
            at - skip.min(at) < limit
        })?;
        Ok(found)
    }

    /// How many a span has.
    pub fn count(&mut self, span: &Span) -> Outcome<usize> {
        if let Body::Inline(_) = &self.opened.aggregate.body {
            return Ok(self.scores()?.iter().filter(|(member, score)| span.holds(member, *score)).count());
        }
        let mut count = 0;
        self.walk(span, false, |_, _| {
            count += 1;
            true
        })?;
        Ok(count)
    }

    /// How many members come before this one, from either end, and its score. Reads those before it.
    pub fn rank(&mut self, member: &[u8], reverse: bool) -> Outcome<Option<(usize, f64)>> {
        let Some(score) = self.score(member)? else { return Ok(None) };
        let before = match reverse {
            false => Span::Score(Bound::Unbounded, Bound::Excluded(score)),
            true => Span::Score(Bound::Excluded(score), Bound::Unbounded),
        };
        let same =
            self.ordered(&Span::Score(Bound::Included(score), Bound::Included(score)), reverse, 0, usize::MAX)?;
        let among = same.iter().position(|(other, _)| other == member).ok_or_else(Failure::conflict)?;
        Ok(Some((self.count(&before)? + among, score)))
    }

    /// Shows the rows of a span in order, each with its number, until one is the last to be wanted.
    fn walk(&mut self, span: &Span, reverse: bool, mut show: impl FnMut(usize, &[u8]) -> bool) -> Outcome<()> {
        let Some(head) = self.opened.aggregate.rows().copied() else { return Ok(()) };
        let Some(mut scan) = self.scan_of(span, head.id)? else { return Ok(()) };
        (scan.reverse, scan.keys_only, scan.limit) = (reverse, true, 64);
        let mut at = 0;
        loop {
            let page = self.opened.context.scan_rows(&scan)?;
            for (row, _) in &page.entries {
                if !show(at, row) {
                    return Ok(());
                }
                at += 1;
            }
            let Some(cursor) = page.cursor else { return Ok(()) };
            // A short answer reads little, and a long one in few steps.
            (scan.cursor, scan.limit) = (Some(cursor), (scan.limit * 4).min(ROWS_AT_ONCE));
        }
    }

    /// The rows of a span; none when there can be no such row.
    fn scan_of(&mut self, span: &Span, id: u64) -> Outcome<Option<KeyScan>> {
        let order = rows::order(id);
        let at = |ordinal: u64, rest: &[u8]| [&order, ordinal.to_be_bytes().as_slice(), rest].concat();
        let (from, to) = match span {
            Span::All => (Bound::Unbounded, Bound::Unbounded),
            Span::Score(least, most) => (
                match least {
                    Bound::Unbounded => Bound::Unbounded,
                    Bound::Included(score) => Bound::Included(at(rows::ordinal(*score), b"")),
                    Bound::Excluded(score) => Bound::Included(at(rows::ordinal(*score).saturating_add(1), b"")),
                },
                match most {
                    Bound::Unbounded => Bound::Unbounded,
                    Bound::Included(score) => Bound::Excluded(at(rows::ordinal(*score).saturating_add(1), b"")),
                    Bound::Excluded(score) => Bound::Excluded(at(rows::ordinal(*score), b"")),
                },
            ),
            Span::Lex(least, most) => {
                let first = KeyScan { limit: 1, keys_only: true, ..KeyScan::prefix(order.clone()) };
                let Some((row, _)) = self.opened.context.scan_rows(&first)?.entries.pop() else { return Ok(None) };
                let score = rows::ordinal(rows::scored(&row).0);
                let under = |bound: &LexBound| match bound {
                    Bound::Unbounded => Bound::Unbounded,
                    Bound::Included(member) => Bound::Included(at(score, member)),
                    Bound::Excluded(member) => Bound::Excluded(at(score, member)),
                };
                (under(least), under(most))
            }
        };
        Ok(Some(KeyScan { from, to, ..KeyScan::prefix(order) }))
    }
}

impl Span {
    fn holds(&self, member: &[u8], score: f64) -> bool {
        fn above<T: PartialOrd + ?Sized>(value: &T, bound: Bound<&T>) -> bool {
            match bound {
                Bound::Unbounded => true,
                Bound::Included(least) => value >= least,
                Bound::Excluded(least) => value > least,
            }
        }
        fn below<T: PartialOrd + ?Sized>(value: &T, bound: Bound<&T>) -> bool {
            match bound {
                Bound::Unbounded => true,
                Bound::Included(most) => value <= most,
                Bound::Excluded(most) => value < most,
            }
        }
        match self {
            Self::All => true,
            Self::Score(least, most) => above(&score, least.as_ref()) && below(&score, most.as_ref()),
            Self::Lex(least, most) => {
                above(member, least.as_ref().map(Vec::as_slice)) && below(member, most.as_ref().map(Vec::as_slice))
            }
        }
    }
}
