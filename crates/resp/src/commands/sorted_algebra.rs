//! Unions, intersections and differences of sorted sets; a set counts as one whose scores are all 1.

use std::collections::HashMap;

use crate::aggregate::Kind;
use crate::call::Call;
use crate::commands::sets::card_limit;
use crate::commands::sorted_ranges::store;
use crate::commands::sorted_sets::shown;
use crate::entries::{Members, Scored, put_in_order};
use crate::failure::{Failure, Outcome};
use crate::protocol::Reply;
use crate::value::Type;
use crate::words::Words;

#[derive(Clone, Copy, PartialEq)]
enum How {
    Union,
    Inter,
    Diff,
}

/// The way to merge several scores of one member.
#[derive(Clone, Copy)]
enum Merged {
    Sum,
    Min,
    Max,
}

struct Asked<'a> {
    keys: &'a [Vec<u8>],
    weights: Vec<f64>,
    merged: Merged,
    with_scores: bool,
}

impl<'a> Asked<'a> {
    fn parse(arguments: &'a [Vec<u8>], how: How, is_stored: bool) -> Outcome<Self> {
        let mut words = Words::new(arguments);
        let keys = words.numbered_keys()?;
        let mut asked = Self { keys, weights: vec![1.0; keys.len()], merged: Merged::Sum, with_scores: false };
        while !words.is_empty() {
            match words.option()?.as_str() {
                "WEIGHTS" if how != How::Diff => {
                    for weight in &mut asked.weights {
                        *weight = words.float().map_err(|_| Failure::error("weight value is not a float"))?;
                    }
                }
                "AGGREGATE" if how != How::Diff => {
                    asked.merged = match words.option()?.as_str() {
                        "SUM" => Merged::Sum,
                        "MIN" => Merged::Min,
                        "MAX" => Merged::Max,
                        _ => return Err(Failure::syntax()),
                    };
                }
                "WITHSCORES" if !is_stored => asked.with_scores = true,
                _ => return Err(Failure::syntax()),
            }
        }
        Ok(asked)
    }

    fn run(&self, call: &mut Call<'_, '_>, how: How) -> Outcome<Scored> {
        let mut sets = Vec::with_capacity(self.keys.len());
        for (key, weight) in self.keys.iter().zip(&self.weights) {
            sets.push((scores(call, key)?, *weight));
        }
        let mut sets = sets.into_iter();
        let Some((first, weight)) = sets.next() else { return Ok(Vec::new()) };
        let weighted = |score: f64, weight: f64| number(score * weight);
        let mut merged: HashMap<Vec<u8>, f64> =
            first.into_iter().map(|(member, score)| (member, weighted(score, weight))).collect();
        for (other, weight) in sets {
            match how {
                How::Union => {
                    for (member, score) in other {
                        let score = weighted(score, weight);
                        merged.entry(member).and_modify(|old| *old = self.merged.of(*old, score)).or_insert(score);
                    }
                }
                How::Inter => {
                    let other: HashMap<Vec<u8>, f64> = other.into_iter().collect();
                    merged.retain(|member, old| match other.get(member) {
                        Some(score) => {
                            *old = self.merged.of(*old, weighted(*score, weight));
                            true
                        }
                        None => false,
                    });
                }
                How::Diff => {
                    for (member, _) in other {
                        merged.remove(&member);
                    }
                }
            }
        }
        let mut merged: Scored = merged.into_iter().collect();
        put_in_order(&mut merged);
        Ok(merged)
    }
}

impl Merged {
    fn of(self, one: f64, other: f64) -> f64 {
        match self {
            Self::Sum => number(one + other),
            Self::Min => one.min(other),
            Self::Max => one.max(other),
        }
    }
}

/// Infinities of both signs cancel each other, and nothing times infinity is nothing.
fn number(score: f64) -> f64 {
    if score.is_nan() { 0.0 } else { score }
}

pub(crate) fn zunion(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    answer(call, How::Union)
}

pub(crate) fn zinter(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    answer(call, How::Inter)
}

pub(crate) fn zdiff(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    answer(call, How::Diff)
}

pub(crate) fn zunionstore(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    stored(call, How::Union)
}

pub(crate) fn zinterstore(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    stored(call, How::Inter)
}

pub(crate) fn zdiffstore(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    stored(call, How::Diff)
}

/// ZINTERCARD numkeys key … [LIMIT n]
pub(crate) fn zintercard(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let mut words = Words::new(call.arguments);
    let keys = words.numbered_keys()?;
    let limit = card_limit(&mut words)?;
    let asked = Asked { keys, weights: vec![1.0; keys.len()], merged: Merged::Sum, with_scores: false };
    Ok(Reply::count(asked.run(call, How::Inter)?.len().min(limit)))
}

fn answer(call: &mut Call<'_, '_>, how: How) -> Outcome<Reply> {
    let asked = Asked::parse(call.arguments, how, false)?;
    let found = asked.run(call, how)?;
    Ok(shown(found, asked.with_scores, call.protocol))
}

fn stored(call: &mut Call<'_, '_>, how: How) -> Outcome<Reply> {
    let [target, arguments @ ..] = call.arguments else { return Err(Failure::syntax()) };
    let found = Asked::parse(arguments, how, true)?.run(call, how)?;
    store(call, target, found)
}

fn scores(call: &mut Call<'_, '_>, key: &[u8]) -> Outcome<Scored> {
    match call.context.exists(key)? {
        Some((Type::Aggregate(Kind::Set), _)) => {
            let members = Members::open(call.context, key, Kind::Set)?.all()?;
            Ok(members.into_iter().map(|(member, _)| (member, 1.0)).collect())
        }
        _ => Members::open(call.context, key, Kind::Sorted)?.scores(),
    }
}
