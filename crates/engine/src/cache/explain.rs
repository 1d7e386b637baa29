//! What a cache holds, what it has done, what it waits for, and what it would do.

use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

use crate::Result;
use crate::cache::candidates::{Asked, nearest};
use crate::cache::lookup::{named, state};
use crate::cache::value::{Decided, Decision, State, Stored, Vectors, decode};
use crate::cache::{AskCache, Cache, CacheCandidate, CacheSettings, CacheTier, key};
use crate::kv::{KeyScan, Rows};

/// What was counted since the cache was made. A crash may lose the last of these numbers, but none of the ledger's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheCounts {
    /// Answers given for their very prompts.
    pub exact: u64,
    /// Answers given for prompts of the same form.
    pub canonical: u64,
    /// Answers given for prompts that somebody has judged.
    pub alias: u64,
    /// Answers given by meaning.
    pub semantic: u64,
    /// Lookups without an answer.
    pub misses: u64,
    /// What a cache in shadow would have given, before the ledger had its say.
    pub shadow_hits: u64,
    /// Answers stored.
    pub stored: u64,
    /// Answers that had to make room.
    pub evicted: u64,
    /// Answers that have expired, and are removed.
    pub expired: u64,
    /// Answers removed because a source had changed.
    pub stale: u64,
    /// Answers removed by a call.
    pub invalidated: u64,
    /// Verdicts of "right".
    pub reported_right: u64,
    /// Verdicts of "wrong".
    pub reported_wrong: u64,
}

impl CacheCounts {
    /// Both together.
    pub(crate) fn and(self, more: Self) -> Self {
        Self {
            exact: self.exact + more.exact,
            canonical: self.canonical + more.canonical,
            alias: self.alias + more.alias,
            semantic: self.semantic + more.semantic,
            misses: self.misses + more.misses,
            shadow_hits: self.shadow_hits + more.shadow_hits,
            stored: self.stored + more.stored,
            evicted: self.evicted + more.evicted,
            expired: self.expired + more.expired,
            stale: self.stale + more.stale,
            invalidated: self.invalidated + more.invalidated,
            reported_right: self.reported_right + more.reported_right,
            reported_wrong: self.reported_wrong + more.reported_wrong,
        }
    }
}

/// What the promise stands on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CacheLedger {
    /// Answers by meaning that were given.
    pub hits: u64,
    /// Of these, the ones that chance has chosen to be judged.
    pub audited: u64,
    /// Of these, the ones without a verdict, which count as wrong.
    pub pending: u64,
    /// Answers by meaning that are known to be wrong.
    pub known_wrong: u64,
    /// With probability 1 − `failure`, no more than so many answers by meaning are wrong.
    pub bound: f64,
    /// How many may be.
    pub allowed: f64,
    /// The probability that the next one is to be judged; absent: none may be given before a verdict comes.
    pub audit_probability: Option<f64>,
    /// Verdicts that the risk was learned from; 0: its weights are those fitted on public sets.
    pub verdicts: u64,
}

/// What a cache holds and has done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CacheStats {
    /// How it works.
    pub settings: CacheSettings,
    /// Answers in it, expired ones that are not swept yet included.
    pub entries: u64,
    /// Of these, with prompts and vectors.
    pub bytes: u64,
    /// What was counted.
    pub counts: CacheCounts,
    /// What the promise stands on.
    pub ledger: CacheLedger,
}

/// What a cache would do about a prompt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CacheExplained {
    /// The form of the prompt.
    pub canonical: String,
    /// How the prompt itself is known, and by which entry.
    pub known: Option<(CacheTier, u64)>,
    /// The source of that entry's answer has changed, or is gone.
    pub stale: bool,
    /// Whether meanings were compared: the cache has a budget, vectors, and somebody who makes one of the prompt.
    pub compared: bool,
    /// The nearest prompts of the scope, the nearest first.
    pub candidates: Vec<CacheCandidate>,
    /// What the promise stands on.
    pub ledger: CacheLedger,
}

/// An answer that waits for its verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CacheAudit {
    /// The number under which the verdict is reported.
    pub hit: u64,
    /// The number of the answer.
    pub entry: u64,
    /// What was asked.
    pub asked: String,
    /// What the answer was stored for; absent when it is gone.
    pub prompt: Option<String>,
    /// The answer: JSON.
    pub response: Option<String>,
    /// The estimated probability that it is wrong.
    pub risk: f64,
    /// Whether somebody got it.
    pub served: bool,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
}

fn ledger_of(state: &State) -> CacheLedger {
    let (ledger, terms) = (&state.ledger, state.settings.terms());
    CacheLedger {
        hits: ledger.hits(),
        audited: ledger.audited(),
        pending: ledger.pending(),
        known_wrong: ledger.known_wrong(),
        bound: ledger.bound(terms.failure),
        allowed: terms.budget * ledger.hits() as f64 + terms.allowance,
        audit_probability: ledger.odds(&terms).filter(|_| terms.budget > 0.0).map(|odds| odds.probability()),
        verdicts: state.score.verdicts(),
    }
}

impl Cache {
    /// What it holds and has done, with what waits for a write.
    pub fn stats(&self) -> Result<CacheStats> {
        let stats = self.keyspace.at_once(stats)?;
        Ok(CacheStats { counts: stats.counts.and(self.attached.recent.counts()), ..stats })
    }

    /// What it would do about a prompt.
    pub fn explain(&self, ask: &AskCache) -> Result<CacheExplained> {
        ask.check()?;
        let state = self.keyspace.at_once(state)?;
        let brings_none = matches!(state.vectors, Some(Vectors::Given(_))) && ask.vector.is_none();
        let vector = match state.settings.budget > 0.0 && !brings_none {
            true => self.vector(&state, &ask.prompt, ask.vector.as_deref())?,
            false => None,
        };
        let scope = key::scope(&ask.scope);
        let among = vector.as_deref().map_or(Ok(None), |vector| self.near(&scope, vector))?;
        self.keyspace.at_once(|rows| explain_among(rows, ask, vector.as_deref(), among.as_deref()))
    }
}

/// What a cache holds and has done.
pub(crate) fn stats(rows: &dyn Rows) -> Result<CacheStats> {
    let state = state(rows)?;
    let ledger = ledger_of(&state);
    Ok(CacheStats {
        settings: state.settings,
        entries: state.entries,
        bytes: state.bytes,
        counts: state.counts,
        ledger,
    })
}

/// What a cache would do about a prompt. Without a vector, meanings are not compared.
pub(crate) fn explain(rows: &dyn Rows, ask: &AskCache, vector: Option<&[f32]>) -> Result<CacheExplained> {
    explain_among(rows, ask, vector, None)
}

fn explain_among(
    rows: &dyn Rows,
    ask: &AskCache,
    vector: Option<&[f32]>,
    among: Option<&[u64]>,
) -> Result<CacheExplained> {
    ask.check()?;
    let state = state(rows)?;
    state.settings.check_scope(ask.scope.keys())?;
    let scope = key::scope(&ask.scope);
    let found = named(rows, &scope, &ask.prompt)?;
    let vector = vector.filter(|_| state.settings.budget > 0.0 && state.vectors.is_some());
    let near = match vector {
        Some(vector) => nearest(rows, &state, &Asked { scope: &scope, prompt: &ask.prompt, vector, among })?,
        None => Vec::new(),
    };
    Ok(CacheExplained {
        canonical: nuthatch_cache::canonical(&ask.prompt),
        known: found.as_ref().map(|found| (found.tier, found.entry)),
        stale: found.is_some_and(|found| found.stale),
        compared: vector.is_some(),
        candidates: near.into_iter().map(|near| near.shown).collect(),
        ledger: ledger_of(&state),
    })
}

/// Answers that wait for a verdict, the oldest first.
pub(crate) fn audits(rows: &dyn Rows, limit: usize) -> Result<Vec<CacheAudit>> {
    let mut waiting = Vec::new();
    rows.each(KeyScan::prefix(key::all_decisions()), &mut |row, value| {
        let decision: Decision = decode(value)?;
        let served = matches!(decision.outcome, Decided::Served { .. });
        let is_chosen = !matches!(decision.outcome, Decided::Served { fell: false, .. });
        let Some(hit) = key::number_of(row).filter(|_| decision.verdict.is_none() && is_chosen) else {
            return Ok(ControlFlow::Continue(()));
        };
        let stored = rows.values(&[key::entry(decision.entry)])?.pop().flatten();
        let stored: Option<Stored> = stored.map(|row| decode(&row)).transpose()?;
        let (prompt, response) = stored.map(|stored| (stored.prompt, stored.response)).unzip();
        let Decision { entry, prompt: asked, risk, at_ms, .. } = decision;
        waiting.push(CacheAudit { hit, entry, asked, prompt, response, risk, served, at_ms });
        Ok(if waiting.len() >= limit { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })?;
    Ok(waiting)
}
