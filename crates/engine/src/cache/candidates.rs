//! Which stored prompts mean what is asked, and how risky their answers are.
//!
//! The vectors of a scope are read in turn and compared, all of them: nothing near is missed, and a lookup costs in proportion to the
//! answers of its scope.

use std::ops::ControlFlow;

use nuthatch_cache::{CLASSES, Features, Veto, class_of, veto};
use serde::{Deserialize, Serialize};

use crate::Result;
use crate::cache::key::{self, Hash};
use crate::cache::value::{State, Stored, decode, decode_vector, unit};
use crate::kv::{KeyScan, Rows};

/// Nearest prompts that are looked at.
const NEAREST: usize = 8;
/// Vectors of one page.
const PAGE: usize = 2_000;
/// Below this cosine, nothing is a candidate.
const COSINE_MIN: f32 = 0.5;

/// A stored prompt near to what was asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CacheCandidate {
    /// The number of its answer.
    pub entry: u64,
    /// The stored prompt.
    pub prompt: String,
    /// The cosine of both prompts' vectors.
    pub similarity: f64,
    /// The estimated probability that its answer is wrong for what was asked.
    pub risk: f64,
    /// The class of that risk, 0 for the lowest.
    pub class: u64,
    /// Answers of that class are given under the cache's budget.
    pub worth: bool,
    /// Why it is out of the question.
    pub veto: Option<Veto>,
    /// A source of the answer has changed, or is gone.
    pub stale: bool,
}

/// A candidate with what deciding about it takes.
pub(crate) struct Near {
    pub shown: CacheCandidate,
    pub stored: Stored,
    pub features: Features,
}

impl Near {
    /// Whether it could be given, were it not for the ledger.
    pub fn is_possible(&self) -> bool {
        self.shown.veto.is_none() && !self.shown.stale && (self.shown.class as usize) < CLASSES - 1
    }
}

/// The nearest prompts of a scope, the nearest first.
pub(crate) fn nearest(rows: &dyn Rows, state: &State, scope: &Hash, prompt: &str, vector: &[f32]) -> Result<Vec<Near>> {
    let form = key::hashes(scope, prompt).1;
    let found = scan(rows, scope, &unit(vector))?;
    let keys: Vec<Vec<u8>> = found.iter().map(|(_, entry)| key::entry(*entry)).collect();
    let mut known: Vec<(f64, u64, Stored)> = Vec::with_capacity(found.len());
    for ((cosine, entry), row) in found.into_iter().zip(rows.values(&keys)?) {
        if let Some(row) = row {
            known.push((cosine.into(), entry, decode(&row)?));
        }
    }
    let nevers: Vec<Vec<u8>> = known.iter().map(|(_, entry, _)| key::never(*entry, &form)).collect();
    let nevers: Vec<bool> = rows.values(&nevers)?.iter().map(Option::is_some).collect();
    let mut near = Vec::with_capacity(known.len());
    for (at, (cosine, entry, stored)) in known.iter().enumerate() {
        let other = known[at + 1..].iter().find(|(.., next)| next.response != stored.response);
        let gap = cosine - other.map_or(f64::from(COSINE_MIN), |(cosine, ..)| *cosine);
        let features = Features::of(&stored.prompt, prompt, *cosine, gap);
        let risk = state.score.risk(&features);
        let class = class_of(risk);
        let shown = CacheCandidate {
            entry: *entry,
            prompt: stored.prompt.clone(),
            similarity: *cosine,
            risk,
            class: class as u64,
            worth: state.classes.serves(class, state.settings.budget),
            veto: if nevers[at] { Some(Veto::Never) } else { veto(&stored.prompt, prompt) },
            stale: !are_unchanged(rows, stored)?,
        };
        near.push(Near { shown, stored: stored.clone(), features });
    }
    Ok(near)
}

/// Whether all records that an answer was made from are there as they were.
pub(crate) fn are_unchanged(rows: &dyn Rows, stored: &Stored) -> Result<bool> {
    for source in &stored.sources {
        if rows.row_of(source.collection, &source.of.id)? != Some(source.row) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Cosine and entry of the nearest vectors of a scope.
fn scan(rows: &dyn Rows, scope: &Hash, unit: &[f32]) -> Result<Vec<(f32, u64)>> {
    let now = rows.now_ms();
    let mut best: Vec<(f32, u64)> = Vec::with_capacity(NEAREST + 1);
    rows.each(KeyScan { limit: PAGE, ..KeyScan::prefix(key::vectors_of(scope)) }, &mut |row, value| {
        if let (Some(entry), Some(codes)) = (key::number_of(row), decode_vector(value))
            && let Some(cosine) = codes.cosine(unit).filter(|cosine| *cosine >= COSINE_MIN)
        {
            let is_near = best.len() < NEAREST || best.last().is_some_and(|(last, _)| cosine > *last);
            if is_near && codes.expires_at_ms > now {
                let place = best.partition_point(|(other, _)| *other >= cosine);
                best.insert(place, (cosine, entry));
                best.truncate(NEAREST);
            }
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(best)
}
