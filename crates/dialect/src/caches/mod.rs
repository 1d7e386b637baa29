//! The questions and answers of a cache, in JSON: an answer is any JSON value, and is stored as it is spelt.
//!
//! **Useful for** every face that speaks JSON: a call by its name has its question and its answer here.
//! **Not for** making, listing and dropping caches.

mod lease;
mod money;
mod transfer;

use std::collections::BTreeMap;

use nuthatch_engine::{Error, ErrorKind, Result};
use nuthatch_link as core;
use nuthatch_link::{AskCache, CacheChange, CacheEntries, MissReason, SourceRef, StoreAnswer};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

pub use lease::{CacheLeaseEnd, CacheLeaseEnded, CacheLeaseState, CacheLeaseWanted};
pub use money::{CacheMoney, CachePrice, CacheSavings, CacheWrong};
pub use transfer::{
    CacheImport, CacheImported, CacheKept, CacheList, CachePage, CacheReembed, CacheReembedded, CacheVectorSource,
};

use crate::asking::answered;
pub use crate::asking::asked;

/// Answers that wait for a verdict, of one call.
const AUDITS_DEFAULT: usize = 100;
const AUDITS_MAX: usize = 10_000;

/// A prompt to look up or to explain.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CacheQuestion {
    /// The prompt.
    prompt: String,
    /// Parts and their values, such as the model and the user. An answer is given within the same scope only.
    #[serde(default)]
    scope: BTreeMap<String, String>,
    /// The prompt's vector, for caches whose callers bring them.
    vector: Option<Vec<f32>>,
    /// The caller judges: it also gets answers that may not be given yet, and reports whether they are right.
    #[serde(default)]
    judged: bool,
    /// The user who asks, if the cache shares answers after several users have them.
    user: Option<String>,
    /// The current cost of an answer. Default: its cost when it was stored.
    avoids: Option<CachePrice>,
    /// The cost of the vector in US dollars. Storing the answer does not count it again.
    spent: Option<f64>,
}

/// A record that an answer was made from.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CacheSource {
    collection: String,
    id: String,
}

/// An answer to keep.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CacheStore {
    /// The prompt.
    prompt: String,
    /// As in a question.
    #[serde(default)]
    scope: BTreeMap<String, String>,
    /// As in a question.
    vector: Option<Vec<f32>>,
    /// The answer: any JSON value.
    #[serde(deserialize_with = "any")]
    response: Value,
    /// The records that it was made from. It is no longer given once one of them is replaced or deleted.
    #[serde(default)]
    sources: Vec<CacheSource>,
    /// Names by which it can be removed.
    #[serde(default)]
    tags: Vec<String>,
    /// How long it may be given, in seconds; 0: for ever; default: as the cache says.
    ttl: Option<f64>,
    /// Whose answer it is, if the cache shares answers after several users have them.
    user: Option<String>,
    /// In such a cache: all may get it at once.
    #[serde(default)]
    shared: bool,
    /// Its cost.
    cost: Option<CachePrice>,
}

/// An answer out of the cache.
#[derive(Serialize, ToSchema)]
pub struct CacheFound {
    /// How it was found: exact, canonical, alias or semantic.
    #[schema(value_type = String)]
    tier: core::CacheTier,
    /// Its number in the cache.
    entry: u64,
    /// The number under which a verdict on it is reported; null where the prompt itself was known.
    hit: Option<u64>,
    /// The prompt that it was stored for.
    prompt: String,
    /// The answer.
    response: Value,
    /// The cosine of the vectors of both prompts.
    similarity: Option<f64>,
    /// The estimated probability that it is wrong. The bound does not rest on it.
    risk: Option<f64>,
    /// How old it is, in seconds.
    age: f64,
    /// Chance has chosen it to be judged. It counts as wrong until the verdict is reported.
    audit: bool,
    /// The records that it was made from.
    sources: Vec<CacheSource>,
    tags: Vec<String>,
    /// The cost that giving it avoids.
    saved: CachePrice,
}

/// The result of a lookup.
#[derive(Serialize, ToSchema)]
pub struct CacheLookup {
    /// The answer, if one may be given.
    hit: Option<CacheFound>,
    /// Why there is none: absent, off, shadow, vetoed, risky, unproven or stale.
    miss: Option<&'static str>,
    /// If vetoed: the difference on which the answer turns.
    veto: Option<&'static str>,
    /// For callers that judge: an answer that may be given once it is reported as right; in shadow, one that would have been given.
    candidate: Option<CacheFound>,
}

/// The result of storing an answer.
#[derive(Serialize, ToSchema)]
pub struct CacheStored {
    /// False if the cache is off.
    stored: bool,
    /// The number of the answer.
    entry: Option<u64>,
    /// An answer for the same prompt is gone.
    replaced: bool,
    /// Answers that had to make room.
    evicted: u64,
    /// It is given to its user only, until more have it.
    private: bool,
}

/// A verdict on an answer.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CacheVerdict {
    /// The number of the hit; leave it out for an answer whose prompt itself was known.
    hit: Option<u64>,
    /// The number of the answer.
    entry: u64,
    wrong: bool,
    /// Whether the caller's user got the answer.
    #[serde(default = "yes")]
    served: bool,
    /// The cost of the verdict in US dollars.
    spent: Option<f64>,
}

/// The result of a verdict.
#[derive(Serialize, ToSchema)]
pub struct CacheReported {
    /// False if the verdict was known.
    new: bool,
}

/// Which answers to remove: exactly one of the fields.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CacheInvalidate {
    /// One answer by its number.
    entry: Option<u64>,
    /// Those with a tag.
    tag: Option<String>,
    /// Those made from a record.
    source: Option<CacheSource>,
    /// Those of a scope.
    scope: Option<BTreeMap<String, String>>,
    /// All of them.
    all: Option<bool>,
}

/// How many answers are gone.
#[derive(Serialize, ToSchema)]
pub struct CacheInvalidated {
    removed: u64,
}

/// Settings of a cache; absent ones stay as they are.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
#[schema(as = CacheChange)]
pub struct CacheChanges {
    /// serve, shadow or off.
    #[schema(value_type = Option<String>)]
    mode: Option<core::CacheMode>,
    /// The share of answers by meaning that may be wrong; 0: none is given by meaning.
    budget: Option<f64>,
    /// The probability that the promise ever fails.
    failure: Option<f64>,
    /// How long answers live, in seconds; 0: for ever.
    ttl: Option<f64>,
    /// Maximum number of answers; 0: any.
    max_entries: Option<u64>,
    /// Maximum bytes of answers with their prompts and vectors; 0: any.
    max_bytes: Option<u64>,
    /// The parts that every scope must have. Only of a cache without answers.
    scope: Option<Vec<String>>,
    /// Wrong answers by meaning that are allowed in addition to the budget; 1 or more.
    allowance: Option<f64>,
    /// An answer is its user's own until this many users have it; 0: it is shared at once. Only of a cache without
    /// answers.
    share_after: Option<u64>,
    /// agreed: they stored the same answer; asked: they stored any answer for a prompt of the same form.
    #[schema(value_type = Option<String>)]
    share_when: Option<core::ShareWhen>,
    /// Maximum number of answers of one user; 0: any. The user's own that were used longest ago make room.
    user_max_entries: Option<u64>,
    /// Maximum bytes of one user's answers; 0: any.
    user_max_bytes: Option<u64>,
}

/// The settings of a cache.
#[derive(Serialize, ToSchema)]
pub struct CacheSettings {
    /// serve, shadow or off.
    #[schema(value_type = String)]
    mode: core::CacheMode,
    budget: f64,
    failure: f64,
    /// In seconds; 0: for ever.
    ttl: f64,
    max_entries: u64,
    max_bytes: u64,
    scope: Vec<String>,
    allowance: f64,
    share_after: u64,
    #[schema(value_type = String)]
    share_when: core::ShareWhen,
    user_max_entries: u64,
    user_max_bytes: u64,
}

/// The contents and the activity of a cache.
#[derive(Serialize, ToSchema)]
pub struct CacheStats {
    settings: CacheSettings,
    entries: u64,
    bytes: u64,
    counts: CacheCounts,
    ledger: CacheLedger,
    savings: CacheSavings,
}

/// Counts since the cache was made. A crash may lose the latest of them, but none of the ledger's.
#[derive(Serialize, ToSchema)]
pub struct CacheCounts {
    /// Answers given for their very prompts.
    exact: u64,
    /// Answers given for prompts of the same form.
    canonical: u64,
    /// Answers given for prompts that were judged.
    alias: u64,
    /// Answers given by meaning.
    semantic: u64,
    misses: u64,
    /// Of these, those that waited for an answer that somebody else computed.
    awaited: u64,
    /// Misses by their reason.
    missed: CacheMissed,
    /// Answers that a cache in shadow would have given, before the ledger had its say.
    shadow_hits: u64,
    stored: u64,
    evicted: u64,
    expired: u64,
    /// Answers removed because a source had changed.
    stale: u64,
    invalidated: u64,
    reported_right: u64,
    reported_wrong: u64,
}

/// Misses by their reason.
#[derive(Serialize, ToSchema)]
pub struct CacheMissed {
    absent: u64,
    shadow: u64,
    vetoed: u64,
    risky: u64,
    unproven: u64,
    stale: u64,
}

/// The basis of the promise.
#[derive(Serialize, ToSchema)]
pub struct CacheLedger {
    /// Answers by meaning that were given.
    hits: u64,
    /// Of these, those that chance has chosen to be judged.
    audited: u64,
    /// Of these, those without a verdict, which count as wrong.
    pending: u64,
    /// Answers by meaning that are known to be wrong.
    known_wrong: u64,
    /// With probability 1 - failure, at most this many answers by meaning are wrong.
    bound: f64,
    /// How many may be.
    allowed: f64,
    /// The probability that the next one is to be judged; null: none may be given before a verdict comes.
    audit_probability: Option<f64>,
    /// Verdicts that the risk was learned from; 0: its weights are those fitted on public sets.
    verdicts: u64,
    /// The share of answers by meaning that are wrong, estimated from verdicts; null before the first answer.
    wrong: Option<CacheWrong>,
}

/// A stored prompt near to what was asked.
#[derive(Serialize, ToSchema)]
pub struct CacheCandidate {
    entry: u64,
    prompt: String,
    /// The cosine of the vectors of both prompts.
    similarity: f64,
    /// The estimated probability that its answer is wrong.
    risk: f64,
    /// Answers of that risk are given under the budget.
    worth: bool,
    /// The difference on which the answer turns.
    veto: Option<&'static str>,
    /// A source has changed.
    stale: bool,
}

/// The decision that a cache would make about a prompt.
#[derive(Serialize, ToSchema)]
pub struct CacheExplained {
    /// The form of the prompt.
    canonical: String,
    /// How the prompt itself is known.
    #[schema(value_type = Option<String>)]
    tier: Option<core::CacheTier>,
    /// By which answer.
    entry: Option<u64>,
    /// A source of that answer has changed.
    stale: bool,
    /// Whether meanings were compared.
    compared: bool,
    /// The nearest prompts, the nearest first.
    candidates: Vec<CacheCandidate>,
    ledger: CacheLedger,
}

/// How many waiting answers to list.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CacheAudits {
    #[schema(minimum = 1, maximum = 10000)]
    limit: Option<usize>,
}

/// An answer that waits for a verdict.
#[derive(Serialize, ToSchema)]
pub struct CacheWaiting {
    hit: u64,
    entry: u64,
    /// The prompt that was asked.
    asked: String,
    /// The prompt that the answer was stored for; null if it is gone.
    prompt: Option<String>,
    response: Value,
    risk: f64,
    /// Whether somebody got it.
    served: bool,
    /// In milliseconds since 1970.
    at_ms: u64,
}

/// Answers that wait for a verdict, the oldest first.
#[derive(Serialize, ToSchema)]
pub struct CachePending {
    waiting: Vec<CacheWaiting>,
}

/// Asks a cache by the name of a call: lookup, store, lease, release, report, invalidate, configure, stats, explain, audits, answers,
/// import, reembed.
///
/// # Errors
/// `NotFound` for another name; `Invalid` with the place of what is wrong in the question; those of the call.
pub fn ask(cache: &core::Cache, call: &str, question: Value) -> Result<Value> {
    match call {
        "lookup" => answered(lookup(cache, asked(call, question)?)?),
        "store" => answered(store(cache, asked(call, question)?)?),
        "lease" => {
            let wanted: CacheLeaseWanted = asked(call, question)?;
            let wait_ms = wanted.wait_ms()?;
            answered(wanted.ask(cache, wait_ms)?)
        }
        "release" => answered(asked::<CacheLeaseEnd>(call, question)?.ask(cache)?),
        "report" => {
            let CacheVerdict { hit, entry, wrong, served, spent } = asked(call, question)?;
            let spent_nano_usd = spent.map_or(Ok(0), |spent| nano_usd("spent", spent))?;
            let new = cache.report(core::Verdict { hit, entry, wrong, served, spent_nano_usd })?;
            answered(CacheReported { new })
        }
        "invalidate" => {
            let which = asked::<CacheInvalidate>(call, question)?.which()?;
            answered(CacheInvalidated { removed: cache.invalidate(which)? })
        }
        "configure" => {
            let change: CacheChanges = asked(call, question)?;
            answered(CacheSettings::from(cache.configure(&change.into_engine()?)?))
        }
        "stats" => {
            let core::CacheStats { settings, entries, bytes, counts, ledger } = cache.stats()?;
            answered(CacheStats {
                settings: settings.into(),
                entries,
                bytes,
                savings: CacheSavings::of(&counts),
                counts: counts.into(),
                ledger: ledger.into(),
            })
        }
        "explain" => answered(explained(cache.explain(&asked::<CacheQuestion>(call, question)?.into_engine()?)?)),
        "audits" => {
            let limit = asked::<CacheAudits>(call, question)?.limit.unwrap_or(AUDITS_DEFAULT);
            if !(1..=AUDITS_MAX).contains(&limit) {
                return Err(Error::invalid(format!("the limit is 1 to {AUDITS_MAX}, not {limit}")));
            }
            let waiting = cache.audits(limit)?.into_iter().map(waiting).collect::<Result<_>>()?;
            answered(CachePending { waiting })
        }
        "answers" => answered(asked::<CacheList>(call, question)?.ask(cache)?),
        "import" => answered(asked::<CacheImport>(call, question)?.ask(cache)?),
        "reembed" => answered(asked::<CacheReembed>(call, question)?.ask(cache)?),
        _ => Err(Error::new(ErrorKind::NotFound, format!("no call {call:?} of caches"))),
    }
}

fn lookup(cache: &core::Cache, question: CacheQuestion) -> Result<CacheLookup> {
    let core::CacheAnswer { hit, miss, candidate } = cache.lookup(&question.into_engine()?)?;
    let (miss, veto) = match miss {
        None => (None, None),
        Some(MissReason::Vetoed(veto)) => (Some("vetoed"), Some(veto.name())),
        Some(MissReason::Absent) => (Some("absent"), None),
        Some(MissReason::Off) => (Some("off"), None),
        Some(MissReason::Shadow) => (Some("shadow"), None),
        Some(MissReason::Risky) => (Some("risky"), None),
        Some(MissReason::Unproven) => (Some("unproven"), None),
        Some(MissReason::Stale) => (Some("stale"), None),
    };
    Ok(CacheLookup { hit: hit.map(found).transpose()?, miss, veto, candidate: candidate.map(found).transpose()? })
}

fn store(cache: &core::Cache, answer: CacheStore) -> Result<CacheStored> {
    let CacheStore { prompt, scope, vector, response, sources, tags, ttl, user, shared, cost } = answer;
    let answer = StoreAnswer {
        prompt,
        scope,
        vector,
        response: response.to_string(),
        sources: sources.into_iter().map(SourceRef::from).collect(),
        tags,
        ttl_ms: ttl.map(|ttl| milliseconds("ttl", ttl)).transpose()?,
        user,
        shared,
        cost: cost.unwrap_or_default().into_engine("cost")?,
    };
    Ok(match cache.store(answer)? {
        Some(stored) => {
            let core::StoredAnswer { entry, replaced, evicted, private } = stored;
            CacheStored { stored: true, entry: Some(entry), replaced, evicted, private }
        }
        None => CacheStored { stored: false, entry: None, replaced: false, evicted: 0, private: false },
    })
}

fn found(found: core::CacheHit) -> Result<CacheFound> {
    let core::CacheHit { tier, entry, hit, prompt, response, similarity, risk, age_ms, audit, .. } = found;
    let core::CacheHit { sources, tags, cost, .. } = found;
    let sources = sources.into_iter().map(CacheSource::from).collect();
    let (response, age) = (json(&response)?, age_ms as f64 / 1_000.0);
    Ok(CacheFound {
        tier,
        entry,
        hit,
        prompt,
        response,
        similarity,
        risk,
        age,
        audit,
        sources,
        tags,
        saved: cost.into(),
    })
}

fn waiting(audit: core::CacheAudit) -> Result<CacheWaiting> {
    let core::CacheAudit { hit, entry, asked, prompt, response, risk, served, at_ms } = audit;
    let response = response.as_deref().map_or(Ok(Value::Null), json)?;
    Ok(CacheWaiting { hit, entry, asked, prompt, response, risk, served, at_ms })
}

fn explained(explained: core::CacheExplained) -> CacheExplained {
    let core::CacheExplained { canonical, known, stale, compared, candidates, ledger } = explained;
    let (tier, entry) = known.unzip();
    let candidates = candidates.into_iter().map(|near| {
        let core::CacheCandidate { entry, prompt, similarity, risk, class: _, worth, veto, stale } = near;
        let veto = veto.map(core::Veto::name);
        CacheCandidate { entry, prompt, similarity, risk, worth, veto, stale }
    });
    CacheExplained { canonical, tier, entry, stale, compared, candidates: candidates.collect(), ledger: ledger.into() }
}

fn json(stored: &str) -> Result<Value> {
    serde_json::from_str(stored).map_err(|error| Error::internal(format!("a stored answer is no JSON: {error}")))
}

fn milliseconds(name: &str, seconds: f64) -> Result<u64> {
    match (0.0..=1e12).contains(&seconds) {
        true if seconds == 0.0 => Ok(0),
        true => Ok((seconds * 1_000.0).round().max(1.0) as u64),
        false => Err(Error::invalid(format!("{name} is a number of seconds from 0 up, not {seconds}"))),
    }
}

/// Billionths of a dollar, of which a sum is exact.
fn nano_usd(name: &str, usd: f64) -> Result<u64> {
    match (0.0..=1e9).contains(&usd) {
        true => Ok((usd * 1e9).round() as u64),
        false => Err(Error::invalid(format!("{name} is an amount of US dollars from 0 up, not {usd}"))),
    }
}

/// Any value, null too; but not nothing.
fn any<'d, D: serde::Deserializer<'d>>(from: D) -> std::result::Result<Value, D::Error> {
    Value::deserialize(from)
}

fn yes() -> bool {
    true
}

impl CacheInvalidate {
    fn which(self) -> Result<CacheEntries> {
        let Self { entry, tag, source, scope, all } = self;
        let all = all.filter(|all| *all).map(|_| CacheEntries::All);
        let given = [
            entry.map(CacheEntries::Entry),
            tag.map(CacheEntries::Tag),
            source.map(|source| CacheEntries::Source(source.into())),
            scope.map(CacheEntries::Scope),
            all,
        ];
        let mut given = given.into_iter().flatten();
        match (given.next(), given.next()) {
            (Some(which), None) => Ok(which),
            _ => Err(Error::invalid("name one of entry, tag, source, scope and all: what is to be removed")),
        }
    }
}

impl CacheChanges {
    fn into_engine(self) -> Result<CacheChange> {
        let Self { mode, budget, failure, ttl, max_entries, max_bytes, scope, allowance, .. } = self;
        let Self { share_after, share_when, user_max_entries, user_max_bytes, .. } = self;
        let ttl_ms = ttl.map(|ttl| milliseconds("ttl", ttl)).transpose()?;
        Ok(CacheChange {
            mode,
            budget,
            failure,
            ttl_ms,
            max_entries,
            max_bytes,
            scope,
            allowance,
            share_after,
            share_when,
            user_max_entries,
            user_max_bytes,
        })
    }
}

impl CacheQuestion {
    fn into_engine(self) -> Result<AskCache> {
        let Self { prompt, scope, vector, judged, user, avoids, spent } = self;
        let avoids = avoids.map(|price| price.into_engine("avoids")).transpose()?;
        let spent_nano_usd = spent.map_or(Ok(0), |spent| nano_usd("spent", spent))?;
        Ok(AskCache { prompt, scope, vector, judged, user, avoids, spent_nano_usd })
    }
}

impl From<CacheSource> for SourceRef {
    fn from(CacheSource { collection, id }: CacheSource) -> Self {
        Self { collection, id }
    }
}

impl From<SourceRef> for CacheSource {
    fn from(SourceRef { collection, id }: SourceRef) -> Self {
        Self { collection, id }
    }
}

impl From<core::CacheSettings> for CacheSettings {
    fn from(settings: core::CacheSettings) -> Self {
        let core::CacheSettings { mode, budget, failure, ttl_ms, max_entries, max_bytes, scope, .. } = settings;
        let core::CacheSettings { allowance, share_after, share_when, user_max_entries, user_max_bytes, .. } = settings;
        Self {
            mode,
            budget,
            failure,
            ttl: ttl_ms as f64 / 1_000.0,
            max_entries,
            max_bytes,
            scope,
            allowance,
            share_after,
            share_when,
            user_max_entries,
            user_max_bytes,
        }
    }
}

impl From<core::CacheCounts> for CacheCounts {
    fn from(counts: core::CacheCounts) -> Self {
        Self {
            exact: counts.exact,
            canonical: counts.canonical,
            alias: counts.alias,
            semantic: counts.semantic,
            misses: counts.misses,
            awaited: counts.awaited,
            missed: CacheMissed {
                absent: counts.missed_absent,
                shadow: counts.missed_shadow,
                vetoed: counts.missed_vetoed,
                risky: counts.missed_risky,
                unproven: counts.missed_unproven,
                stale: counts.missed_stale,
            },
            shadow_hits: counts.shadow_hits,
            stored: counts.stored,
            evicted: counts.evicted,
            expired: counts.expired,
            stale: counts.stale,
            invalidated: counts.invalidated,
            reported_right: counts.reported_right,
            reported_wrong: counts.reported_wrong,
        }
    }
}

impl From<core::CacheLedger> for CacheLedger {
    fn from(ledger: core::CacheLedger) -> Self {
        Self {
            hits: ledger.hits,
            audited: ledger.audited,
            pending: ledger.pending,
            known_wrong: ledger.known_wrong,
            bound: ledger.bound,
            allowed: ledger.allowed,
            audit_probability: ledger.audit_probability,
            verdicts: ledger.verdicts,
            wrong: ledger.wrong.map(CacheWrong::from),
        }
    }
}
