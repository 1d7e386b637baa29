//! Operations on a cache.

use serde::{Deserialize, Serialize};

use crate::Result;
use crate::cache::{
    self, AnswersPage, AskCache, Cache, CacheAnswer, CacheAudit, CacheChange, CacheEntries, CacheExplained, CacheLease,
    CacheSettings, CacheStats, EndLease, ImportAnswers, LeaseAnswer, ListAnswers, Reembed, Reembedded, StoreAnswer,
    StoredAnswer, Verdict,
};
use crate::call::Outcome;
use crate::database::Database;
use crate::ops::{Keys, Op, Repeat, Scope, View, on};

/// Looks for an answer. Asked again, it looks again: an answer by meaning that nobody got counts as given.
impl Op for AskCache {
    type On = on::Cached;
    type Answer = CacheAnswer;
    const NAME: &'static str = "caches.lookup";
    const SCOPE: Scope = Scope::Write;

    fn run(self, view: &View<'_>) -> Result<CacheAnswer> {
        Cache::of(view.keyspace()?)?.lookup(&self)
    }
}

impl Op for StoreAnswer {
    type On = on::Cached;
    type Answer = Option<StoredAnswer>;
    const NAME: &'static str = "caches.store";
    const SCOPE: Scope = Scope::Write;
    const REPEAT: Repeat = Repeat::Once;

    fn run(self, view: &View<'_>) -> Result<Option<StoredAnswer>> {
        Cache::of(view.keyspace()?)?.store(self)
    }

    fn again(self, _: &Database, outcome: Outcome) -> Result<Option<StoredAnswer>> {
        Ok(Some(StoredAnswer::again(outcome)))
    }
}

impl Op for Verdict {
    type On = on::Cached;
    type Answer = bool;
    const NAME: &'static str = "caches.report";
    const SCOPE: Scope = Scope::Write;
    const REPEAT: Repeat = Repeat::Once;

    fn run(self, view: &View<'_>) -> Result<bool> {
        Cache::of(view.keyspace()?)?.report(self)
    }

    fn again(self, _: &Database, outcome: Outcome) -> Result<bool> {
        Ok(outcome.value != 0)
    }
}

/// Asked again, it gives the same owner the same lease.
impl Op for LeaseAnswer {
    type On = on::Cached;
    type Answer = CacheLease;
    const NAME: &'static str = "caches.lease";
    const SCOPE: Scope = Scope::Write;

    fn run(self, view: &View<'_>) -> Result<CacheLease> {
        Cache::of(view.keyspace()?)?.lease(&self)
    }
}

impl Op for EndLease {
    type On = on::Cached;
    type Answer = bool;
    const NAME: &'static str = "caches.release";
    const SCOPE: Scope = Scope::Write;

    fn run(self, view: &View<'_>) -> Result<bool> {
        Cache::of(view.keyspace()?)?.end_lease(&self)
    }
}

/// Removes answers; says how many.
#[derive(Serialize, Deserialize)]
pub struct Invalidate(pub CacheEntries);

impl Op for Invalidate {
    type On = on::Cached;
    type Answer = u64;
    const NAME: &'static str = "caches.invalidate";
    const SCOPE: Scope = Scope::Write;
    const REPEAT: Repeat = Repeat::Resumes;

    fn run(self, view: &View<'_>) -> Result<u64> {
        let keyspace = view.keyspace()?;
        Ok(keyspace.call.before().deleted + Cache::of(keyspace)?.invalidate(&self.0)?)
    }
}

impl Op for CacheChange {
    type On = on::Cached;
    type Answer = CacheSettings;
    const NAME: &'static str = "caches.configure";
    const SCOPE: Scope = Scope::Write;

    fn run(self, view: &View<'_>) -> Result<CacheSettings> {
        Cache::of(view.keyspace()?)?.configure(&self)
    }
}

/// The contents and the statistics of a cache.
#[derive(Serialize, Deserialize)]
pub struct Stats;

impl Op for Stats {
    type On = on::Cached;
    type Answer = CacheStats;
    const NAME: &'static str = "caches.stats";

    fn run(self, view: &View<'_>) -> Result<CacheStats> {
        match view.keys()? {
            Keys::Live(keyspace) => Cache::of(keyspace)?.stats(),
            Keys::At(rows) => cache::stats(rows),
        }
    }
}

/// The decision that a cache would make about a prompt. Serves no answer, and counts nothing.
#[derive(Serialize, Deserialize)]
pub struct Explain(pub AskCache);

impl Op for Explain {
    type On = on::Cached;
    type Answer = CacheExplained;
    const NAME: &'static str = "caches.explain";

    fn run(self, view: &View<'_>) -> Result<CacheExplained> {
        match view.keys()? {
            Keys::Live(keyspace) => Cache::of(keyspace)?.explain(&self.0),
            Keys::At(rows) => cache::explain(rows, &self.0, self.0.vector.as_deref()),
        }
    }
}

impl Op for ListAnswers {
    type On = on::Cached;
    type Answer = AnswersPage;
    const NAME: &'static str = "caches.answers";

    fn run(self, view: &View<'_>) -> Result<AnswersPage> {
        view.at_once(|rows| cache::list(rows, &self))
    }
}

/// Asked again, it keeps the same answers again.
impl Op for ImportAnswers {
    type On = on::Cached;
    type Answer = u64;
    const NAME: &'static str = "caches.import";
    const SCOPE: Scope = Scope::Write;
    const REPEAT: Repeat = Repeat::Once;

    fn run(self, view: &View<'_>) -> Result<u64> {
        Cache::of(view.keyspace()?)?.import(&self)
    }

    fn again(self, _: &Database, outcome: Outcome) -> Result<u64> {
        Ok(outcome.inserted)
    }
}

/// Asked again, it does the rest; vectors that are there stay.
impl Op for Reembed {
    type On = on::Cached;
    type Answer = Reembedded;
    const NAME: &'static str = "caches.reembed";
    const SCOPE: Scope = Scope::Write;

    fn run(self, view: &View<'_>) -> Result<Reembedded> {
        Cache::of(view.keyspace()?)?.reembed(&self)
    }
}

/// Answers that wait for a verdict, the oldest first; at most this many.
#[derive(Serialize, Deserialize)]
pub struct Audits(pub usize);

impl Op for Audits {
    type On = on::Cached;
    type Answer = Vec<CacheAudit>;
    const NAME: &'static str = "caches.audits";

    fn run(self, view: &View<'_>) -> Result<Vec<CacheAudit>> {
        view.at_once(|rows| cache::audits(rows, self.0))
    }
}
