//! Which stored prompts mean what is asked, and how risky their answers are.
//!
//! Which vectors may be near is told by their signs in memory, and how near they are by their rows. Where there is no room for the
//! signs, and in snapshots, all vectors of the scope are read in turn.

use std::ops::ControlFlow;

use nuthatch_cache::{Features, Prompt, Veto, class_of, veto};
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
    /// Whether it could be given, were it not for its risk and the ledger.
    pub fn is_possible(&self) -> bool {
        self.shown.veto.is_none() && !self.shown.stale
    }
}

/// A question, in the form in which it is compared.
pub(crate) struct Asked<'a> {
    pub scope: &'a Hash,
    pub prompt: &'a str,
    pub vector: &'a [f32],
    /// The entries that may be near; `None`: any of the scope.
    pub among: Option<&'a [u64]>,
}

/// The nearest prompts of a scope, the nearest first.
pub(crate) fn nearest(rows: &dyn Rows, state: &State, asked: &Asked<'_>) -> Result<Vec<Near>> {
    let Asked { scope, prompt, .. } = *asked;
    let form = key::hashes(scope, prompt).1;
    let mut best = Best { now_ms: rows.now_ms(), unit: unit(asked.vector), found: Vec::with_capacity(NEAREST + 1) };
    match asked.among {
        Some(entries) => best.look_among(rows, scope, entries)?,
        None => best.look_at_all(rows, scope)?,
    }
    let found = best.found;
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
    let (asked_prompt, served) = (Prompt::of(prompt), state.classes.served(state.settings.budget));
    for (at, (cosine, entry, stored)) in known.iter().enumerate() {
        let other = known[at + 1..].iter().find(|(.., next)| next.response != stored.response);
        let gap = cosine - other.map_or(f64::from(COSINE_MIN), |(cosine, ..)| *cosine);
        let stored_prompt = Prompt::of(&stored.prompt);
        let features = Features::of(&stored_prompt, &asked_prompt, *cosine, gap);
        let risk = state.score.risk(&features);
        let class = class_of(risk);
        let shown = CacheCandidate {
            entry: *entry,
            prompt: stored.prompt.clone(),
            similarity: *cosine,
            risk,
            class: class as u64,
            worth: served[class],
            veto: if nevers[at] { Some(Veto::Never) } else { veto(&stored_prompt, &asked_prompt) },
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

/// Cosine and entry of the nearest vectors so far, the nearest first.
struct Best {
    now_ms: u64,
    unit: Vec<f32>,
    found: Vec<(f32, u64)>,
}

impl Best {
    fn look_among(&mut self, rows: &dyn Rows, scope: &Hash, entries: &[u64]) -> Result<()> {
        let keys: Vec<Vec<u8>> = entries.iter().map(|entry| key::vector(scope, *entry)).collect();
        for (entry, row) in entries.iter().zip(rows.values(&keys)?) {
            if let Some(row) = row {
                self.look_at(*entry, &row);
            }
        }
        Ok(())
    }

    fn look_at_all(&mut self, rows: &dyn Rows, scope: &Hash) -> Result<()> {
        rows.each(KeyScan { limit: PAGE, ..KeyScan::prefix(key::vectors_of(scope)) }, &mut |row, value| {
            if let Some(entry) = key::number_of(row) {
                self.look_at(entry, value);
            }
            Ok(ControlFlow::Continue(()))
        })
    }

    fn look_at(&mut self, entry: u64, row: &[u8]) {
        let Some(codes) = decode_vector(row).filter(|codes| codes.expires_at_ms > self.now_ms) else { return };
        let Some(cosine) = codes.cosine(&self.unit).filter(|cosine| *cosine >= COSINE_MIN) else { return };
        if self.found.len() < NEAREST || self.found.last().is_some_and(|(last, _)| cosine > *last) {
            let place = self.found.partition_point(|(other, _)| *other >= cosine);
            self.found.insert(place, (cosine, entry));
            self.found.truncate(NEAREST);
        }
    }
}
