//! Caches as callers see them.

use std::sync::Arc;

use nuthatch_engine::Result;
use nuthatch_engine::cache::{
    AnswersPage, AskCache, CacheAnswer, CacheAudit, CacheChange, CacheEntries, CacheExplained, CacheLease,
    CacheSettings, CacheStats, EndLease, ImportAnswers, LeaseAnswer, ListAnswers, Reembed, Reembedded, StoreAnswer,
    StoredAnswer, Verdict,
};
use nuthatch_engine::durability::Durability;
use nuthatch_engine::kv::{Keyspace as LocalKeyspace, Kind};
use nuthatch_engine::ops::{Op, caches, on};

use crate::route::Route;
use crate::rows::Inner;

/// A handle on a cache of answers. Cheap to clone; safe to share between threads and with forks of the process.
#[derive(Clone)]
pub struct Cache {
    inner: Arc<Inner>,
    durability: Durability,
}

impl Cache {
    pub(crate) fn held(link: Route, local: LocalKeyspace) -> Self {
        Self { inner: Arc::new(Inner::held(link, local)), durability: Durability::default() }
    }

    pub(crate) fn served(link: Route, name: &str, id: u32) -> Self {
        Self { inner: Arc::new(Inner::served(link, name, Kind::Cache, id)), durability: Durability::default() }
    }

    /// The cache's name.
    pub fn name(&self) -> &str {
        self.inner.name()
    }

    /// The same cache, written with another durability. That of the ledger is the handle's, too: what a crash takes of it was given and
    /// is not counted.
    pub fn with_durability(&self, durability: Durability) -> Self {
        Self { durability, ..self.clone() }
    }

    /// Looks for an answer: for this prompt, for one of the same form, for one that was judged, for one of the same meaning.
    ///
    /// # Errors
    /// `Invalid` for an empty prompt, another scope than the cache wants, or a vector that its vectors cannot be compared with;
    /// `Unavailable` when the prompt must be embedded and the model is not installed.
    pub fn lookup(&self, ask: &AskCache) -> Result<CacheAnswer> {
        self.ask(ask.clone())
    }

    /// Keeps an answer. One for the same prompt in the same scope is replaced. A cache that is switched off keeps nothing, and says so
    /// with `None`.
    ///
    /// # Errors
    /// As [`lookup`](Self::lookup); `NotFound` for a source that is not there; `Exhausted` for an answer that is too large.
    pub fn store(&self, answer: StoreAnswer) -> Result<Option<StoredAnswer>> {
        self.ask(answer)
    }

    /// Says whose it is to compute a missing answer, and waits for it, up to two seconds, while somebody else does. Ask again then. An
    /// answer that is stored ends the lease, as its time does. With a wait of 0 it waits for nothing but the store.
    ///
    /// # Errors
    /// `Invalid` for an empty prompt, another scope than the cache wants, an empty owner, or a time that no lease takes.
    pub fn lease(&self, wanted: &LeaseAnswer) -> Result<CacheLease> {
        self.ask(wanted.clone())
    }

    /// Gives a lease back without an answer: the next who waits gets it. False when its time was up, or another has it.
    ///
    /// # Errors
    /// As [`lease`](Self::lease).
    pub fn end_lease(&self, end: &EndLease) -> Result<bool> {
        self.ask(end.clone())
    }

    /// Takes a verdict on an answer. False when it was known.
    ///
    /// # Errors
    /// `NotFound` for a hit that is too old to be known, `Conflict` for the opposite of an earlier verdict.
    pub fn report(&self, verdict: Verdict) -> Result<bool> {
        self.ask(verdict)
    }

    /// Removes answers, in as many batches as needed, and returns their number. The ledger keeps what it knows.
    pub fn invalidate(&self, which: CacheEntries) -> Result<u64> {
        self.ask(caches::Invalidate(which))
    }

    /// Changes settings; answers that the new limits leave no room for go. Says how the settings are now.
    ///
    /// # Errors
    /// `Invalid` for settings that no cache can have, or another scope for a cache with answers.
    pub fn configure(&self, change: &CacheChange) -> Result<CacheSettings> {
        self.ask(change.clone())
    }

    /// Returns the contents and the activity of the cache.
    pub fn stats(&self) -> Result<CacheStats> {
        self.ask(caches::Stats)
    }

    /// Explains what the cache would do about a prompt. Returns no answer, and counts nothing.
    pub fn explain(&self, ask: &AskCache) -> Result<CacheExplained> {
        self.ask(caches::Explain(ask.clone()))
    }

    /// Answers that wait for a verdict, the oldest first.
    pub fn audits(&self, limit: usize) -> Result<Vec<CacheAudit>> {
        self.ask(caches::Audits(limit))
    }

    /// Lists answers with everything that is kept of them.
    ///
    /// # Errors
    /// `Invalid` for a limit of 0 or over 1,000.
    pub fn answers(&self, wanted: &ListAnswers) -> Result<AnswersPage> {
        self.ask(wanted.clone())
    }

    /// Keeps answers as another cache had them. Says how many: those that have expired are left out.
    ///
    /// # Errors
    /// `Invalid` for vectors from elsewhere than those of this cache; `NotFound` for a source that is not there.
    pub fn import(&self, import: &ImportAnswers) -> Result<u64> {
        self.ask(import.clone())
    }

    /// Gives answers other vectors: those that are given, or the installed model's, some answers at a time.
    ///
    /// # Errors
    /// `Unavailable` when the model is not installed; `Invalid` for vectors of different sizes.
    pub fn reembed(&self, wanted: &Reembed) -> Result<Reembedded> {
        self.ask(wanted.clone())
    }

    fn ask<O: Op<On = on::Cached>>(&self, op: O) -> Result<O::Answer> {
        self.inner.ask(op, self.durability)
    }
}
