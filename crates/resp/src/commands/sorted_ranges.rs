//! Parts of sorted sets: by rank, by score, by the bytes of the members.

use std::ops::Bound;

use crate::aggregate::Kind;
use crate::call::Call;
use crate::commands::sorted_sets::{set, shown};
use crate::entries::{LexBound, Members, ScoreBound, Scored, Span};
use crate::failure::{Failure, Outcome};
use crate::number;
use crate::protocol::Reply;
use crate::words::Words;

/// The criterion that bounds a range.
#[derive(Clone, Copy, PartialEq)]
enum By {
    Rank,
    Score,
    Lex,
}

/// A range as ZRANGE and its relatives are given it.
struct Asked {
    by: By,
    reverse: bool,
    limit: Option<(i64, i64)>,
    with_scores: bool,
}

impl Asked {
    fn new(by: By, reverse: bool) -> Self {
        Self { by, reverse, limit: None, with_scores: false }
    }

    /// The options behind a range; `is_open` where they may say what it is cut by.
    fn parse(mut self, words: &[Vec<u8>], is_open: bool) -> Outcome<Self> {
        let mut words = Words::new(words);
        while !words.is_empty() {
            match words.option()?.as_str() {
                "BYSCORE" if is_open => self.by = By::Score,
                "BYLEX" if is_open => self.by = By::Lex,
                "REV" if is_open => self.reverse = true,
                "WITHSCORES" => self.with_scores = true,
                "LIMIT" => self.limit = Some((words.integer()?, words.integer()?)),
                _ => return Err(Failure::syntax()),
            }
        }
        if self.limit.is_some() && self.by == By::Rank {
            return Err(Failure::error(
                "syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX",
            ));
        }
        if self.with_scores && self.by == By::Lex {
            return Err(Failure::error("syntax error, WITHSCORES not supported in combination with BYLEX"));
        }
        Ok(self)
    }

    /// Those between two ends, which are the other way round when it is reversed.
    fn of(&self, set: &mut Members<'_, '_>, first: &[u8], last: &[u8]) -> Outcome<Scored> {
        if self.by == By::Rank {
            let range = number::range(number::integer(first)?, number::integer(last)?, set.len());
            return set.ordered(&Span::All, self.reverse, range.start, range.len());
        }
        let (least, most) = if self.reverse { (last, first) } else { (first, last) };
        let span = span(self.by, least, most)?;
        let (skip, limit) = match self.limit {
            None => (0, usize::MAX),
            Some((skip, _)) if skip < 0 => return Ok(Vec::new()),
            // A negative number of members is all of them.
            Some((skip, limit)) => (skip as usize, usize::try_from(limit).unwrap_or(usize::MAX)),
        };
        set.ordered(&span, self.reverse, skip, limit)
    }
}

/// ZRANGE key start stop [BYSCORE | BYLEX] [REV] [LIMIT offset count] [WITHSCORES]
pub(crate) fn zrange(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    answer(call, Asked::new(By::Rank, false).parse(&call.arguments[3..], true)?)
}

pub(crate) fn zrevrange(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    answer(call, Asked::new(By::Rank, true).parse(&call.arguments[3..], false)?)
}

pub(crate) fn zrangebyscore(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    answer(call, Asked::new(By::Score, false).parse(&call.arguments[3..], false)?)
}

pub(crate) fn zrevrangebyscore(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    answer(call, Asked::new(By::Score, true).parse(&call.arguments[3..], false)?)
}

pub(crate) fn zrangebylex(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    answer(call, Asked::new(By::Lex, false).parse(&call.arguments[3..], false)?)
}

pub(crate) fn zrevrangebylex(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    answer(call, Asked::new(By::Lex, true).parse(&call.arguments[3..], false)?)
}

/// ZRANGESTORE destination source start stop [BYSCORE | BYLEX] [REV] [LIMIT offset count]
pub(crate) fn zrangestore(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let [target, source, first, last, options @ ..] = call.arguments else { return Err(Failure::syntax()) };
    let asked = Asked::new(By::Rank, false).parse(options, true)?;
    if asked.with_scores {
        return Err(Failure::syntax());
    }
    let found = asked.of(&mut Members::open(call.context, source, Kind::Sorted)?, first, last)?;
    store(call, target, found)
}

/// Writes members over whatever a key holds.
pub(super) fn store(call: &mut Call<'_, '_>, target: &[u8], members: Scored) -> Outcome<Reply> {
    let mut set = Members::replacing(call.context, target, Kind::Sorted);
    set.expect(members.iter().map(|(member, _)| member.as_slice()))?;
    members.iter().try_for_each(|(member, score)| set.set_score(member, *score).map(drop))?;
    set.save()?;
    Ok(Reply::count(members.len()))
}

pub(crate) fn zcount(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    count(call, By::Score)
}

pub(crate) fn zlexcount(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    count(call, By::Lex)
}

pub(crate) fn zremrangebyrank(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    remove(call, By::Rank)
}

pub(crate) fn zremrangebyscore(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    remove(call, By::Score)
}

pub(crate) fn zremrangebylex(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    remove(call, By::Lex)
}

fn answer(call: &mut Call<'_, '_>, asked: Asked) -> Outcome<Reply> {
    let (first, last, protocol) = (&call.arguments[1], &call.arguments[2], call.protocol);
    let found = asked.of(&mut set(call)?, first, last)?;
    Ok(shown(found, asked.with_scores, protocol))
}

fn count(call: &mut Call<'_, '_>, by: By) -> Outcome<Reply> {
    let span = span(by, &call.arguments[1], &call.arguments[2])?;
    Ok(Reply::count(set(call)?.count(&span)?))
}

fn remove(call: &mut Call<'_, '_>, by: By) -> Outcome<Reply> {
    let (first, last) = (&call.arguments[1], &call.arguments[2]);
    let mut set = set(call)?;
    let found = Asked::new(by, false).of(&mut set, first, last)?;
    let members: Vec<Vec<u8>> = found.into_iter().map(|(member, _)| member).collect();
    Ok(Reply::count(set.remove_all(&members)?))
}

fn span(by: By, least: &[u8], most: &[u8]) -> Outcome<Span> {
    Ok(match by {
        By::Rank => Span::All,
        By::Score => Span::Score(score_bound(least)?, score_bound(most)?),
        By::Lex => {
            let (Some(least), Some(most)) = (lex_bound(least, b'-')?, lex_bound(most, b'+')?) else {
                return Ok(Span::Score(Bound::Excluded(f64::INFINITY), Bound::Unbounded));
            };
            Span::Lex(least, most)
        }
    })
}

/// `1.5`, `(1.5`, `-inf`, `+inf`
fn score_bound(word: &[u8]) -> Outcome<ScoreBound> {
    let (is_open, digits) = match word {
        [b'(', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    let score = number::float(digits).map_err(|_| Failure::error("min or max is not a float"))?;
    Ok(if is_open { Bound::Excluded(score) } else { Bound::Included(score) })
}

/// `[member`, `(member`, and `-` or `+`, of which one is no bound and the other lets nothing through.
fn lex_bound(word: &[u8], unbounded: u8) -> Outcome<Option<LexBound>> {
    Ok(Some(match word {
        [b'[', member @ ..] => Bound::Included(member.to_vec()),
        [b'(', member @ ..] => Bound::Excluded(member.to_vec()),
        [sign] if *sign == unbounded => Bound::Unbounded,
        [b'-' | b'+'] => return Ok(None),
        _ => return Err(Failure::error("min or max not valid string range item")),
    }))
}
