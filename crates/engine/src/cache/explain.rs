//! Reports what a cache holds, has done, waits for and would do.

use std::ops::ControlFlow;

use nuthatch_cache::WrongShare;
use serde::{Deserialize, Serialize};

use crate::Result;
use crate::cache::candidates::{Asked, nearest};
use crate::cache::lookup::{Found, Scopes, first_named, state};
use crate::cache::value::{Decided, Decision, State, Stored, Vectors, decode};
use crate::cache::{AskCache, Cache, CacheCandidate, CacheCost, CacheSettings, CacheTier, MissReason, key};
use crate::kv::{KeyScan, Rows};

/// Counts since the cache was made. A crash may lose the latest of them, but none of the ledger's.
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
    /// Of these, the ones that waited for an answer that somebody else computed.
    pub awaited: u64,
    /// Answers that a cache in shadow would have given, before the ledger had its say.
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
    /// Misses by their reason: nothing near enough.
    pub missed_absent: u64,
    /// The cache only watched.
    pub missed_shadow: u64,
    /// The nearest prompt differed in what its answer turns on.
    pub missed_vetoed: u64,
    /// Wrong too often for the budget.
    pub missed_risky: u64,
    /// Too few answers were judged.
    pub missed_unproven: u64,
    /// A source had changed.
    pub missed_stale: u64,
    /// Tokens that were not paid for again.
    pub saved_tokens: u64,
    /// The cost that the given answers would have had, in billionths of a dollar.
    pub saved_nano_usd: u64,
    /// Of these, answers that turned out to be wrong.
    pub lost_nano_usd: u64,
    /// The cost of verdicts, as reported with them.
    pub judging_nano_usd: u64,
    /// The cost of the vectors of questions, as reported by the callers.
    pub embedding_nano_usd: u64,
}

impl CacheCounts {
    /// A lookup without an answer.
    pub(crate) fn miss(&mut self, why: MissReason) {
        self.misses += 1;
        *self.missed(why) += 1;
    }

    /// An answer came of it after all.
    pub(crate) fn miss_not(&mut self, why: MissReason) {
        self.misses = self.misses.saturating_sub(1);
        let missed = self.missed(why);
        *missed = missed.saturating_sub(1);
    }

    fn missed(&mut self, why: MissReason) -> &mut u64 {
        match why {
            // A cache that is off counts nothing.
            MissReason::Absent | MissReason::Off => &mut self.missed_absent,
            MissReason::Shadow => &mut self.missed_shadow,
            MissReason::Vetoed(_) => &mut self.missed_vetoed,
            MissReason::Risky => &mut self.missed_risky,
            MissReason::Unproven => &mut self.missed_unproven,
            MissReason::Stale => &mut self.missed_stale,
        }
    }

    /// An answer was given.
    pub(crate) fn save(&mut self, cost: CacheCost) {
        self.saved_tokens = self.saved_tokens.saturating_add(cost.tokens);
        self.saved_nano_usd = self.saved_nano_usd.saturating_add(cost.nano_usd);
    }

    /// An answer that was to be given was not.
    pub(crate) fn save_not(&mut self, cost: CacheCost) {
        self.saved_tokens = self.saved_tokens.saturating_sub(cost.tokens);
        self.saved_nano_usd = self.saved_nano_usd.saturating_sub(cost.nano_usd);
    }

    /// Both together.
    pub(crate) fn and(self, more: Self) -> Self {
        Self {
            exact: self.exact + more.exact,
            canonical: self.canonical + more.canonical,
            alias: self.alias + more.alias,
            semantic: self.semantic + more.semantic,
            misses: self.misses + more.misses,
            awaited: self.awaited + more.awaited,
            shadow_hits: self.shadow_hits + more.shadow_hits,
            stored: self.stored + more.stored,
            evicted: self.evicted + more.evicted,
            expired: self.expired + more.expired,
            stale: self.stale + more.stale,
            invalidated: self.invalidated + more.invalidated,
            reported_right: self.reported_right + more.reported_right,
            reported_wrong: self.reported_wrong + more.reported_wrong,
            missed_absent: self.missed_absent + more.missed_absent,
            missed_shadow: self.missed_shadow + more.missed_shadow,
            missed_vetoed: self.missed_vetoed + more.missed_vetoed,
            missed_risky: self.missed_risky + more.missed_risky,
            missed_unproven: self.missed_unproven + more.missed_unproven,
            missed_stale: self.missed_stale + more.missed_stale,
            saved_tokens: self.saved_tokens + more.saved_tokens,
            saved_nano_usd: self.saved_nano_usd + more.saved_nano_usd,
            lost_nano_usd: self.lost_nano_usd + more.lost_nano_usd,
            judging_nano_usd: self.judging_nano_usd + more.judging_nano_usd,
            embedding_nano_usd: self.embedding_nano_usd + more.embedding_nano_usd,
        }
    }
}

/// The basis of the promise.
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
    /// With probability 1 − `failure`, at most this many answers by meaning are wrong.
    pub bound: f64,
    /// How many may be.
    pub allowed: f64,
    /// The probability that the next one is to be judged; absent: none may be given before a verdict comes.
    pub audit_probability: Option<f64>,
    /// Verdicts that the risk was learned from; 0: its weights are those fitted on public sets.
    pub verdicts: u64,
    /// The share of answers by meaning that are wrong, as the verdicts tell; absent before the first answer.
    pub wrong: Option<WrongShare>,
}

/// The contents and the activity of a cache.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CacheStats {
    /// How it works.
    pub settings: CacheSettings,
    /// Answers in it, expired ones that are not swept yet included.
    pub entries: u64,
    /// Of these, with prompts and vectors.
    pub bytes: u64,
    /// Its counts.
    pub counts: CacheCounts,
    /// The basis of the promise.
    pub ledger: CacheLedger,
}

/// The decision that a cache would make about a prompt.
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
    /// The basis of the promise.
    pub ledger: CacheLedger,
}

/// An answer that waits for its verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CacheAudit {
    /// The number under which the verdict is reported.
    pub hit: u64,
    /// The number of the answer.
    pub entry: u64,
    /// The prompt that was asked.
    pub asked: String,
    /// The prompt that the answer was stored for; absent if it is gone.
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
        wrong: ledger.wrong_share(terms.failure),
    }
}

impl Cache {
    /// Returns the contents and the activity of the cache, including counts that wait for a write.
    pub fn stats(&self) -> Result<CacheStats> {
        let stats = self.keyspace.at_once(stats)?;
        Ok(CacheStats { counts: stats.counts.and(self.attached.recent.counts()), ..stats })
    }

    /// Returns the decision that the cache would make about a prompt.
    pub fn explain(&self, ask: &AskCache) -> Result<CacheExplained> {
        ask.check()?;
        let state = self.keyspace.at_once(state)?;
        let brings_none = matches!(state.vectors, Some(Vectors::Given(_))) && ask.vector.is_none();
        let vector = match state.settings.budget > 0.0 && !brings_none {
            true => self.vector(&state, &ask.prompt, ask.vector.as_deref())?,
            false => None,
        };
        let scopes = Scopes::of(&state.settings, &ask.scope, ask.user.as_deref());
        let among = |scope| vector.as_deref().map_or(Ok(None), |vector| self.near(scope, vector));
        let among = scopes.each().map(among).collect::<Result<Vec<_>>>()?;
        self.keyspace.at_once(|rows| explain_among(rows, ask, vector.as_deref(), &among))
    }
}

/// Returns the contents and the activity of a cache.
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

/// Returns the decision that a cache would make about a prompt. Without a vector, it compares no meanings.
pub(crate) fn explain(rows: &dyn Rows, ask: &AskCache, vector: Option<&[f32]>) -> Result<CacheExplained> {
    explain_among(rows, ask, vector, &[])
}

fn explain_among(
    rows: &dyn Rows,
    ask: &AskCache,
    vector: Option<&[f32]>,
    among: &[Option<Vec<u64>>],
) -> Result<CacheExplained> {
    ask.check()?;
    let state = state(rows)?;
    state.settings.check_scope(ask.scope.keys())?;
    let scopes = Scopes::of(&state.settings, &ask.scope, ask.user.as_deref());
    let Found { sound, stale } = first_named(rows, &scopes, &ask.prompt)?;
    let known = sound.map(|found| (found.tier, found.entry));
    let outdated = stale.first().copied().filter(|_| known.is_none());
    let vector = vector.filter(|_| state.settings.budget > 0.0 && state.vectors.is_some());
    let mut near = Vec::new();
    for (at, scope) in scopes.each().enumerate() {
        let Some(vector) = vector else { break };
        let among = among.get(at).and_then(Option::as_deref);
        near.extend(nearest(rows, &state, &Asked { scope, prompt: &ask.prompt, vector, among })?);
    }
    near.sort_by(|a, b| b.shown.similarity.total_cmp(&a.shown.similarity));
    Ok(CacheExplained {
        canonical: nuthatch_cache::canonical(&ask.prompt),
        known: known.or(outdated),
        stale: outdated.is_some(),
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
