//! Looking for an answer: by the prompt, by its form, by an alias, by its meaning.

use std::collections::BTreeMap;

use nuthatch_cache::{Odds, exploration};
use uuid::Uuid;

use crate::cache::candidates::{Asked, Near, are_unchanged, nearest};
use crate::cache::draft::Draft;
use crate::cache::key::{self, Hash};
use crate::cache::value::{Decided, Decision, Private, State, Stored, Vectors, decode};
use crate::cache::{
    AskCache, Cache, CacheAnswer, CacheCost, CacheHit, CacheMode, CacheSettings, CacheTier, MissReason, SourceRef,
};
use crate::call::Outcome;
use crate::durability::Durability;
use crate::embedder::EmbedderMeta;
use crate::kv::Rows;
use crate::{Error, Result};

/// Decisions that are kept, so that their verdicts can come.
const DECISIONS_MAX: u64 = 10_000;
/// Answers that are held back for later verdicts at a time.
const OFFERED_MAX: u64 = 256;

/// The scopes in which an answer may lie, in the order in which they are asked.
pub(crate) struct Scopes {
    /// Whose own answers come first, where answers are not shared at once.
    pub own: Option<Private>,
    hashes: Vec<Hash>,
}

/// The entries that the prompt itself names, in any of the scopes.
pub(crate) struct Found {
    pub sound: Option<Named>,
    /// Entries of which a source has changed, and how they were found.
    pub stale: Vec<(CacheTier, u64)>,
}

/// An entry that is named by the prompt itself.
pub(crate) struct Named {
    pub scope: Hash,
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

impl Scopes {
    pub fn of(settings: &CacheSettings, parts: &BTreeMap<String, String>, user: Option<&str>) -> Self {
        let shared = key::scope(parts);
        let user = user.filter(|_| settings.is_shared_later()).map(|user| key::user(&shared, user));
        Self::at(shared, user.map(|user| Private { scope: shared, user }))
    }

    /// One that is known by its hash, or a user's own within it.
    pub fn at(scope: Hash, own: Option<Private>) -> Self {
        let hashes = own.iter().map(|own| key::own_scope(&own.user)).chain([scope]).collect();
        Self { own, hashes }
    }

    /// The one in which an answer of this user is stored.
    pub fn first(&self) -> Hash {
        self.hashes[0]
    }

    /// The user's own first.
    pub fn each(&self) -> impl Iterator<Item = &Hash> {
        self.hashes.iter()
    }
}

/// The first entry that the prompt itself names and whose sources are unchanged.
pub(crate) fn first_named(rows: &dyn Rows, scopes: &Scopes, prompt: &str) -> Result<Found> {
    let mut stale = Vec::new();
    for scope in scopes.each() {
        match named(rows, scope, prompt)? {
            Some(found) if found.stale => stale.push((found.tier, found.entry)),
            Some(found) => return Ok(Found { sound: Some(found), stale }),
            None => {}
        }
    }
    Ok(Found { sound: None, stale })
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
        return Ok(Some(Named { scope: *scope, tier, entry, stored, stale }));
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
        let (state, scopes, found) = self.keyspace.at_once(|rows| {
            let state = state(rows)?;
            let scopes = Scopes::of(&state.settings, &ask.scope, ask.user.as_deref());
            let found = first_named(rows, &scopes, &ask.prompt)?;
            Ok((state, scopes, found))
        })?;
        state.settings.check_scope(ask.scope.keys())?;
        if state.settings.mode == CacheMode::Off {
            return Ok(miss(MissReason::Off));
        }
        if ask.spent_nano_usd > 0 {
            self.attached.recent.note(None, |counts| counts.embedding_nano_usd += ask.spent_nano_usd);
        }
        let stale = found.stale;
        for (_, entry) in &stale {
            self.remove_stale(*entry)?;
        }
        if let Some(found) = found.sound {
            let hit = hit_of(found.tier, found.entry, found.stored, ask, self.keyspace.now_ms());
            if state.settings.mode == CacheMode::Shadow {
                self.attached.recent.note(None, |counts| counts.shadow_hits += 1);
                return self.missed(MissReason::Shadow);
            }
            self.used(&hit)?;
            if hit.tier == CacheTier::Alias {
                self.pay(&found.scope, &ask.prompt)?;
            }
            return Ok(CacheAnswer { hit: Some(hit), miss: None, candidate: None });
        }
        let nothing = || self.missed(if stale.is_empty() { MissReason::Absent } else { MissReason::Stale });
        if state.settings.budget == 0.0 || state.entries == 0 {
            return nothing();
        }
        let Some(vector) = self.vector(&state, &ask.prompt, ask.vector.as_deref())? else {
            return nothing();
        };
        let near = self.nearest_in(&state, &scopes, &ask.prompt, &vector)?;
        let best = near.iter().filter(|near| near.is_possible()).min_by(|a, b| a.shown.risk.total_cmp(&b.shown.risk));
        let Some(best) = best else {
            if let Some(stale) = near.iter().find(|near| near.shown.stale) {
                self.remove_stale(stale.shown.entry)?;
            }
            return match why_none(&near) {
                MissReason::Absent => nothing(),
                why => self.missed(why),
            };
        };
        self.decide(ask, best)
    }

    /// The nearest prompts of all these scopes.
    pub(crate) fn nearest_in(&self, state: &State, scopes: &Scopes, prompt: &str, vector: &[f32]) -> Result<Vec<Near>> {
        let mut near = Vec::new();
        for scope in scopes.each() {
            let among = self.near(scope, vector)?;
            let asked = Asked { scope, prompt, vector, among: among.as_deref() };
            near.extend(self.keyspace.at_once(|rows| nearest(rows, state, &asked))?);
        }
        Ok(near)
    }

    /// An answer that a late verdict has allowed is given for the first time: it counts as one that was judged before it was given.
    fn pay(&self, scope: &Hash, prompt: &str) -> Result<()> {
        let owed = key::owed(&key::hashes(scope, prompt).1);
        if self.keyspace.values(std::slice::from_ref(&owed))?.pop().flatten().is_none() {
            return Ok(());
        }
        self.change(|draft| {
            if draft.has(&owed)? {
                draft.delete(owed);
                draft.state.ledger.serve_judged();
            }
            Ok(((), Outcome::default()))
        })
    }

    /// Gives an answer by meaning, or says why not. An answer that it gives is in the ledger when this returns.
    fn decide(&self, ask: &AskCache, near: &Near) -> Result<CacheAnswer> {
        // A caller that judges first is asked about some answers that are too risky to serve: see `exploration`.
        let explored = Some(exploration(near.shown.risk)).filter(|odds| ask.judged && odds.falls(coin()));
        let state = self.keyspace.at_once(state)?;
        let refused = refused(&state, near);
        if refused == Some(MissReason::Shadow) && is_served(&state, near) {
            self.attached.recent.note(None, |counts| counts.shadow_hits += 1);
        }
        let unproven = || state.ledger.odds(&state.settings.terms()).is_none().then_some(MissReason::Unproven);
        // A later judge is asked once about each prompt.
        let may_be_offered = || -> Result<bool> {
            let offered = key::offered(&key::hashes(&near.stored.scope, &ask.prompt).1);
            Ok(is_judged_later(&state) && self.keyspace.values(&[offered])?.pop().flatten().is_none())
        };
        let why = match refused {
            None if ask.judged => None,
            None => match unproven() {
                Some(_) if may_be_offered()? => None,
                why => why,
            },
            why => why,
        };
        if let Some(why) = why
            && explored.is_none()
        {
            // Nobody judges it: then it is not worth a write.
            return self.missed(why);
        }
        match self.change(|draft| self.settle(draft, ask, near, explored))? {
            Ok(answer) => Ok(answer),
            Err(why) => self.missed(why),
        }
    }

    /// Decides as of the moment of the write, and writes it down. Or says why there is nothing to write.
    fn settle(
        &self,
        draft: &mut Draft<'_>,
        ask: &AskCache,
        near: &Near,
        explored: Option<Odds>,
    ) -> Result<(std::result::Result<CacheAnswer, MissReason>, Outcome)> {
        let entry = near.shown.entry;
        let row = draft.stored().values(&[key::entry(entry)])?.pop().flatten();
        let stored: Option<Stored> = row.map(|row| decode(&row)).transpose()?;
        let is_there = stored.as_ref() == Some(&near.stored) && are_unchanged(&draft.stored(), &near.stored)?;
        if !is_there {
            return Ok((Err(MissReason::Absent), Outcome::default()));
        }
        let why = refused(&draft.state, near);
        let odds = match why {
            None => draft.state.ledger.odds(&draft.state.settings.terms()),
            Some(_) => None,
        };
        // An answer that only the ledger holds back is always worth a verdict.
        let chosen = if why.is_none() { Some(Odds::ALWAYS) } else { explored };
        let offered = key::offered(&key::hashes(&near.stored.scope, &ask.prompt).1);
        let (outcome, missed) = match (odds, chosen) {
            (Some(odds), _) => (Decided::Served { odds, fell: odds.falls(coin()) }, None),
            (None, chosen) => {
                let why = why.unwrap_or(MissReason::Unproven);
                let outcome = match chosen {
                    Some(odds) if why == MissReason::Shadow => Decided::Shadow { odds },
                    Some(odds) if ask.judged => Decided::Candidate { odds },
                    Some(_)
                        if why == MissReason::Unproven && is_judged_later(&draft.state) && !draft.has(&offered)? =>
                    {
                        draft.put(offered, &(), None)?;
                        Decided::Offered
                    }
                    _ => return Ok((Err(why), Outcome::default())),
                };
                (outcome, Some(why))
            }
        };
        draft.state.classes.see(near.shown.class as usize);
        let mut shown = hit_of(CacheTier::Semantic, entry, near.stored.clone(), ask, draft.now_ms());
        shown.hit = Some(record(draft, ask, near, (outcome, missed), shown.cost)?);
        shown.similarity = Some(near.shown.similarity);
        shown.risk = Some(near.shown.risk);
        let counts = &mut draft.state.counts;
        let answer = match (outcome, missed) {
            (Decided::Served { odds, fell }, _) => {
                counts.semantic += 1;
                counts.save(shown.cost);
                draft.state.ledger.serve(odds, fell);
                draft.use_now(entry)?;
                CacheAnswer { hit: Some(CacheHit { audit: fell, ..shown }), miss: None, candidate: None }
            }
            (outcome, missed) => {
                missed.into_iter().for_each(|why| counts.miss(why));
                // An answer to be judged later is for those who list it, not for the caller.
                let candidate = Some(shown).filter(|_| outcome != Decided::Offered);
                draft.state.offered += u64::from(outcome == Decided::Offered);
                CacheAnswer { hit: None, miss: missed, candidate }
            }
        };
        Ok((Ok(answer), Outcome::default()))
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
        if self.attached.recent.note(None, |counts| counts.miss(why)) {
            self.flush()?;
        }
        Ok(miss(why))
    }

    /// Notes that an answer was given for its very prompt.
    fn used(&self, hit: &CacheHit) -> Result<()> {
        let full = self.attached.recent.note(Some(hit.entry), |counts| {
            counts.save(hit.cost);
            match hit.tier {
                CacheTier::Exact => counts.exact += 1,
                CacheTier::Canonical => counts.canonical += 1,
                CacheTier::Alias => counts.alias += 1,
                CacheTier::Semantic => counts.semantic += 1,
            }
        });
        if full { self.flush() } else { Ok(()) }
    }

    /// Writes what waits for a write. Nobody waits for its fsync.
    fn flush(&self) -> Result<()> {
        self.change_with(Durability::Os, |_| Ok(((), Outcome::default())))
    }

    /// Writes what waits for a write, if anything does.
    pub(crate) fn write_counts(&self) -> Result<()> {
        if self.attached.recent.is_empty() { Ok(()) } else { self.flush() }
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
        // An answer that is more likely wrong than right counts as none.
        _ if exploration(near.shown.risk) != Odds::ALWAYS => Some(MissReason::Absent),
        _ => Some(MissReason::Risky),
    }
}

/// Whether answers of that class are worth serving.
fn is_served(state: &State, near: &Near) -> bool {
    state.classes.served(state.settings.budget)[near.shown.class as usize]
}

/// Whether somebody gives verdicts after answers, and has time for one more.
fn is_judged_later(state: &State) -> bool {
    state.score.verdicts() > 0 && state.offered < OFFERED_MAX
}

/// Writes down what was decided.
fn record(
    draft: &mut Draft<'_>,
    ask: &AskCache,
    near: &Near,
    (outcome, why): (Decided, Option<MissReason>),
    cost: CacheCost,
) -> Result<u64> {
    let hit = draft.state.next_hit;
    draft.state.next_hit += 1;
    let decision = Decision {
        entry: near.shown.entry,
        prompt: ask.prompt.clone(),
        scope: near.stored.scope,
        features: Some(near.features),
        risk: near.shown.risk,
        class: near.shown.class,
        outcome,
        verdict: None,
        at_ms: draft.now_ms(),
        cost,
        why,
    };
    draft.put(key::decision(hit), &decision, None)?;
    if let Some(old) = hit.checked_sub(DECISIONS_MAX) {
        let forgotten: Option<Decision> = draft.get(&key::decision(old))?;
        if let Some(waited) = forgotten.filter(|old| old.outcome == Decided::Offered && old.verdict.is_none()) {
            draft.state.offered = draft.state.offered.saturating_sub(1);
            draft.delete(key::offered(&key::hashes(&waited.scope, &waited.prompt).1));
        }
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

pub(crate) fn hit_of(tier: CacheTier, entry: u64, stored: Stored, ask: &AskCache, now_ms: u64) -> CacheHit {
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
        cost: ask.avoids.unwrap_or(stored.cost),
    }
}
