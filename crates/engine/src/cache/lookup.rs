//! Looking for an answer: by the prompt, by its form, by an alias, by its meaning.

use nuthatch_cache::{Odds, exploration};
use uuid::Uuid;

use crate::cache::candidates::{Asked, Near, are_unchanged, nearest};
use crate::cache::draft::Draft;
use crate::cache::key::{self, Hash};
use crate::cache::value::{Decided, Decision, State, Stored, Vectors, decode};
use crate::cache::{AskCache, Cache, CacheAnswer, CacheHit, CacheMode, CacheTier, MissReason, SourceRef};
use crate::call::Outcome;
use crate::durability::Durability;
use crate::embedder::EmbedderMeta;
use crate::kv::Rows;
use crate::{Error, Result};

/// Decisions that are kept, so that their verdicts can come.
const DECISIONS_MAX: u64 = 10_000;

/// An entry that is named by the prompt itself.
pub(crate) struct Named {
    pub tier: CacheTier,
    pub entry: u64,
    pub stored: Stored,
    pub stale: bool,
}

/// The state of a cache, as of one moment.
pub(crate) fn state(rows: &dyn Rows) -> Result<State> {
    let row = rows.values(&[key::STATE.to_vec()])?.pop().flatten();
    row.map_or_else(|| Ok(State::default()), |row| decode(&row))
}

/// The entry of a prompt, of its form, or of an alias, the first of them that there is.
pub(crate) fn named(rows: &dyn Rows, scope: &Hash, prompt: &str) -> Result<Option<Named>> {
    let (exact, form) = key::hashes(scope, prompt);
    let tiers = [CacheTier::Exact, CacheTier::Canonical, CacheTier::Alias];
    for (tier, row) in tiers.into_iter().zip(rows.values(&[key::exact(&exact), key::form(&form), key::alias(&form)])?) {
        let Some(entry) = row.map(|row| decode::<u64>(&row)).transpose()? else { continue };
        let Some(row) = rows.values(&[key::entry(entry)])?.pop().flatten() else { continue };
        let stored: Stored = decode(&row)?;
        let stale = !are_unchanged(rows, &stored)?;
        return Ok(Some(Named { tier, entry, stored, stale }));
    }
    Ok(None)
}

impl Cache {
    /// Looks for an answer.
    ///
    /// # Errors
    /// `Invalid` for an empty prompt, another scope than the cache wants, or a vector that its vectors cannot be compared with;
    /// `Unavailable` when the prompt must be embedded and the model is not installed.
    pub fn lookup(&self, ask: &AskCache) -> Result<CacheAnswer> {
        ask.check()?;
        let scope = key::scope(&ask.scope);
        let (state, found) = self.keyspace.at_once(|rows| Ok((state(rows)?, named(rows, &scope, &ask.prompt)?)))?;
        state.settings.check_scope(ask.scope.keys())?;
        if state.settings.mode == CacheMode::Off {
            return Ok(miss(MissReason::Off));
        }
        if let Some(found) = found {
            if found.stale {
                self.remove_stale(found.entry)?;
                return self.missed(MissReason::Stale);
            }
            let hit = hit_of(found.tier, found.entry, found.stored, self.keyspace.now_ms());
            if state.settings.mode == CacheMode::Shadow {
                self.attached.recent.note(None, |counts| counts.shadow_hits += 1);
                return self.missed(MissReason::Shadow);
            }
            self.used(found.entry, found.tier)?;
            return Ok(CacheAnswer { hit: Some(hit), miss: None, candidate: None });
        }
        if state.settings.budget == 0.0 || state.entries == 0 {
            return self.missed(MissReason::Absent);
        }
        let Some(vector) = self.vector(&state, &ask.prompt, ask.vector.as_deref())? else {
            return self.missed(MissReason::Absent);
        };
        let among = self.near(&scope, &vector)?;
        let asked = Asked { scope: &scope, prompt: &ask.prompt, vector: &vector, among: among.as_deref() };
        let near = self.keyspace.at_once(|rows| nearest(rows, &state, &asked))?;
        let best = near.iter().filter(|near| near.is_possible()).min_by(|a, b| a.shown.risk.total_cmp(&b.shown.risk));
        let Some(best) = best else {
            if let Some(stale) = near.iter().find(|near| near.shown.stale) {
                self.remove_stale(stale.shown.entry)?;
            }
            return self.missed(why_none(&near));
        };
        self.decide(ask, scope, best)
    }

    /// Gives an answer by meaning, or says why not. What is given is in the ledger when this returns.
    fn decide(&self, ask: &AskCache, scope: Hash, near: &Near) -> Result<CacheAnswer> {
        // Whoever judges first is asked about some answers that are too risky to be served: see `exploration`.
        let explored = Some(exploration(near.shown.risk)).filter(|odds| ask.judged && odds.falls(coin()));
        let state = self.keyspace.at_once(state)?;
        let refused = refused(&state, near);
        if refused == Some(MissReason::Shadow) && is_served(&state, near) {
            self.attached.recent.note(None, |counts| counts.shadow_hits += 1);
        }
        let unproven = || state.ledger.odds(&state.settings.terms()).is_none().then_some(MissReason::Unproven);
        let why = refused.or_else(|| if ask.judged { None } else { unproven() });
        if let Some(why) = why
            && explored.is_none()
        {
            // Nobody judges it: then it is not worth a write.
            return self.missed(why);
        }
        let (answer, found) = self.change(|draft| self.settle(draft, ask, scope, near, explored))?;
        match found {
            true => Ok(answer),
            false => self.missed(MissReason::Absent),
        }
    }

    /// Decides as of the moment of the write, and writes it down. False when the answer went meanwhile.
    fn settle(
        &self,
        draft: &mut Draft<'_>,
        ask: &AskCache,
        scope: Hash,
        near: &Near,
        explored: Option<Odds>,
    ) -> Result<((CacheAnswer, bool), Outcome)> {
        let entry = near.shown.entry;
        let row = draft.stored().values(&[key::entry(entry)])?.pop().flatten();
        let stored: Option<Stored> = row.map(|row| decode(&row)).transpose()?;
        let is_there = stored.as_ref() == Some(&near.stored) && are_unchanged(&draft.stored(), &near.stored)?;
        if !is_there {
            return Ok(((miss(MissReason::Absent), false), Outcome::default()));
        }
        let why = refused(&draft.state, near);
        let odds = match why {
            None => draft.state.ledger.odds(&draft.state.settings.terms()),
            Some(_) => None,
        };
        // What only the ledger holds back is always worth a verdict.
        let chosen = if why.is_none() { Some(Odds::ALWAYS) } else { explored };
        let outcome = match (odds, chosen) {
            (Some(odds), _) => Decided::Served { odds, fell: odds.falls(coin()) },
            (None, Some(odds)) if why == Some(MissReason::Shadow) => Decided::Shadow { odds },
            (None, Some(odds)) if ask.judged => Decided::Candidate { odds },
            (None, _) => return Ok(((miss(why.unwrap_or(MissReason::Unproven)), true), Outcome::default())),
        };
        draft.state.classes.see(near.shown.class as usize);
        let hit = record(draft, ask, scope, near, outcome)?;
        let mut shown = hit_of(CacheTier::Semantic, entry, near.stored.clone(), draft.now_ms());
        shown.hit = Some(hit);
        shown.similarity = Some(near.shown.similarity);
        shown.risk = Some(near.shown.risk);
        let answer = if let Decided::Served { odds, fell } = outcome {
            shown.audit = fell;
            draft.state.counts.semantic += 1;
            draft.state.ledger.serve(odds, fell);
            draft.use_now(entry)?;
            CacheAnswer { hit: Some(shown), miss: None, candidate: None }
        } else {
            draft.state.counts.misses += 1;
            let miss = Some(why.unwrap_or(MissReason::Unproven));
            CacheAnswer { hit: None, miss, candidate: Some(shown) }
        };
        Ok(((answer, true), Outcome::default()))
    }

    /// The vector of a prompt, as this cache compares them; `None` when it has none to compare with.
    pub(crate) fn vector(&self, state: &State, prompt: &str, given: Option<&[f32]>) -> Result<Option<Vec<f32>>> {
        match (&state.vectors, given) {
            (None, _) => Ok(None),
            (Some(Vectors::Given(dim)), Some(vector)) if vector.len() as u64 == *dim => Ok(Some(vector.to_vec())),
            (Some(Vectors::Given(dim)), Some(vector)) => Err(Error::invalid(format!(
                "the vector has {} components, and those of this cache have {dim}",
                vector.len()
            ))),
            (Some(Vectors::Given(_)), None) => {
                Err(Error::invalid("the callers of this cache bring its vectors; give the prompt's `vector`"))
            }
            (Some(Vectors::Made(_)), Some(_)) => {
                Err(Error::invalid("this cache makes the vectors of its prompts itself; leave `vector` out"))
            }
            (Some(Vectors::Made(meta)), None) => Ok(Some(self.embed(Some(meta), prompt)?.0)),
        }
    }

    /// The vector of a prompt, and what made it.
    pub(crate) fn embed(&self, meta: Option<&EmbedderMeta>, prompt: &str) -> Result<(Vec<f32>, EmbedderMeta)> {
        let embedder = self.keyspace.space.shared.embedders.stored(meta)?;
        let made_by = EmbedderMeta {
            name: embedder.name().to_string(),
            dim: embedder.dim(),
            fingerprint: embedder.fingerprint().to_string(),
        };
        let vector = embedder.embed_passages(&[prompt])?.pop();
        Ok((vector.ok_or_else(|| Error::internal("an embedder returned no vector"))?, made_by))
    }

    /// Notes that nothing was given.
    fn missed(&self, why: MissReason) -> Result<CacheAnswer> {
        if self.attached.recent.note(None, |counts| counts.misses += 1) {
            self.flush()?;
        }
        Ok(miss(why))
    }

    /// Notes that an answer was given for its very prompt.
    fn used(&self, entry: u64, tier: CacheTier) -> Result<()> {
        let full = self.attached.recent.note(Some(entry), |counts| match tier {
            CacheTier::Exact => counts.exact += 1,
            CacheTier::Canonical => counts.canonical += 1,
            CacheTier::Alias => counts.alias += 1,
            CacheTier::Semantic => counts.semantic += 1,
        });
        if full { self.flush() } else { Ok(()) }
    }

    /// Writes what waits for a write. Nobody waits for its fsync.
    pub(crate) fn flush(&self) -> Result<()> {
        self.change_with(Durability::Os, |_| Ok(((), Outcome::default())))
    }

    fn remove_stale(&self, entry: u64) -> Result<()> {
        self.change_with(Durability::Os, |draft| {
            let stored: Option<Stored> = draft.get(&key::entry(entry))?;
            if let Some(stored) = stored
                && !are_unchanged(&draft.stored(), &stored)?
            {
                draft.remove(entry)?;
                draft.state.counts.stale += 1;
            }
            Ok(((), Outcome::default()))
        })
    }
}

/// Why an answer may not be served, whatever the ledger says.
fn refused(state: &State, near: &Near) -> Option<MissReason> {
    match state.settings.mode {
        CacheMode::Shadow => Some(MissReason::Shadow),
        _ if is_served(state, near) => None,
        // What is rather wrong than right is no answer at all.
        _ if exploration(near.shown.risk) != Odds::ALWAYS => Some(MissReason::Absent),
        _ => Some(MissReason::Risky),
    }
}

/// Whether answers of that class are worth serving.
fn is_served(state: &State, near: &Near) -> bool {
    state.classes.served(state.settings.budget)[near.shown.class as usize]
}

/// Writes down what was decided.
fn record(draft: &mut Draft<'_>, ask: &AskCache, scope: Hash, near: &Near, outcome: Decided) -> Result<u64> {
    let hit = draft.state.next_hit;
    draft.state.next_hit += 1;
    let decision = Decision {
        entry: near.shown.entry,
        prompt: ask.prompt.clone(),
        scope,
        features: Some(near.features),
        risk: near.shown.risk,
        class: near.shown.class,
        outcome,
        verdict: None,
        at_ms: draft.now_ms(),
    };
    draft.put(key::decision(hit), &decision, None)?;
    if let Some(old) = hit.checked_sub(DECISIONS_MAX) {
        draft.delete(key::decision(old));
    }
    Ok(hit)
}

/// Why none of the nearest can be given.
fn why_none(near: &[Near]) -> MissReason {
    match near.iter().find(|near| near.shown.risk < 0.5 || near.shown.veto.is_some()) {
        Some(near) if near.shown.stale => MissReason::Stale,
        Some(near) => near.shown.veto.map_or(MissReason::Absent, MissReason::Vetoed),
        None => MissReason::Absent,
    }
}

/// Bits from the system, which no caller can know. The lowest of a random UUID are all random.
fn coin() -> u64 {
    let odds = Uuid::new_v4().as_u128() as u64;
    debug_assert!(Odds::ALWAYS.falls(odds));
    odds
}

fn miss(why: MissReason) -> CacheAnswer {
    CacheAnswer { hit: None, miss: Some(why), candidate: None }
}

fn hit_of(tier: CacheTier, entry: u64, stored: Stored, now_ms: u64) -> CacheHit {
    let sources: Vec<SourceRef> = stored.sources.into_iter().map(|source| source.of).collect();
    CacheHit {
        tier,
        entry,
        hit: None,
        prompt: stored.prompt,
        response: stored.response,
        similarity: None,
        risk: None,
        age_ms: now_ms.saturating_sub(stored.created_ms),
        audit: false,
        sources,
        tags: stored.tags,
    }
}
