//! How a cache works: what it may get wrong, how much it keeps and how long.

use std::collections::BTreeSet;

use nuthatch_cache::Terms;
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// β, unless the caller says otherwise.
const FAILURE_DEFAULT: f64 = 0.05;
/// C, unless the caller says otherwise: a first answer can be given.
const ALLOWANCE_DEFAULT: f64 = 1.0;
/// More than these are no bound.
const ALLOWANCE_MAX: f64 = 1_000.0;
/// Users that must have an answer before it is shared.
const SHARE_AFTER_MAX: u64 = 64;
/// Parts of a scope.
const PARTS_MAX: usize = 32;

/// Whether a cache gives answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheMode {
    /// It does.
    #[default]
    Serve,
    /// It stores, counts what it would have given, and gives nothing.
    Shadow,
    /// It neither stores nor gives.
    Off,
}

/// How a cache works.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CacheSettings {
    /// Whether it gives answers.
    pub mode: CacheMode,
    /// α: the share of answers by meaning that may be wrong. 0: it gives no answer by meaning.
    pub budget: f64,
    /// β: the probability that the promise ever fails.
    pub failure: f64,
    /// How long answers live, unless they say otherwise; 0: for ever.
    pub ttl_ms: u64,
    /// Most answers; 0: as many as come.
    pub max_entries: u64,
    /// Most bytes of answers with their prompts and vectors; 0: as many as come.
    pub max_bytes: u64,
    /// The parts that every scope must have. None: any parts.
    pub scope: Vec<String>,
    /// Wrong answers by meaning that are allowed in addition to the share: a larger allowance lets more answers wait
    /// for late verdicts.
    pub allowance: f64,
    /// An answer is its user's own until this many users have it; up to 1: it is shared at once.
    pub share_after: u64,
    /// The condition under which users count as having the same answer.
    pub share_when: ShareWhen,
    /// Most answers of one user; 0: as many as come.
    pub user_max_entries: u64,
    /// Most bytes of one user's answers; 0: as many as come.
    pub user_max_bytes: u64,
}

/// When users have the same answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShareWhen {
    /// They stored the same answer for a prompt of the same form.
    #[default]
    Agreed,
    /// They stored any answer for a prompt of the same form. Only where users cannot choose what is stored.
    Asked,
}

impl Default for CacheSettings {
    fn default() -> Self {
        Self {
            mode: CacheMode::Serve,
            budget: 0.0,
            failure: FAILURE_DEFAULT,
            ttl_ms: 0,
            max_entries: 0,
            max_bytes: 0,
            scope: Vec::new(),
            allowance: ALLOWANCE_DEFAULT,
            share_after: 0,
            share_when: ShareWhen::default(),
            user_max_entries: 0,
            user_max_bytes: 0,
        }
    }
}

/// A change of the settings; absent fields stay as they are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CacheChange {
    /// See [`CacheSettings::mode`].
    pub mode: Option<CacheMode>,
    /// See [`CacheSettings::budget`].
    pub budget: Option<f64>,
    /// See [`CacheSettings::failure`].
    pub failure: Option<f64>,
    /// See [`CacheSettings::ttl_ms`].
    pub ttl_ms: Option<u64>,
    /// See [`CacheSettings::max_entries`].
    pub max_entries: Option<u64>,
    /// See [`CacheSettings::max_bytes`].
    pub max_bytes: Option<u64>,
    /// See [`CacheSettings::scope`]. Only of a cache without answers.
    pub scope: Option<Vec<String>>,
    /// See [`CacheSettings::allowance`].
    pub allowance: Option<f64>,
    /// See [`CacheSettings::share_after`]. Only of a cache without answers.
    pub share_after: Option<u64>,
    /// See [`CacheSettings::share_when`].
    pub share_when: Option<ShareWhen>,
    /// See [`CacheSettings::user_max_entries`]. Of the answers that are stored from now on.
    pub user_max_entries: Option<u64>,
    /// See [`CacheSettings::user_max_bytes`]. Of the answers that are stored from now on.
    pub user_max_bytes: Option<u64>,
}

impl CacheChange {
    /// Refuses what no cache can have.
    ///
    /// # Errors
    /// `Invalid`, with what it takes.
    pub fn check(&self) -> Result<()> {
        if self.budget.is_some_and(|budget| !(0.0..1.0).contains(&budget)) {
            return Err(Error::invalid(
                "the budget is the share of answers by meaning that may be wrong: 0 to below 1, such as 0.01",
            ));
        }
        if self.failure.is_some_and(|failure| !(1e-9..1.0).contains(&failure)) {
            return Err(Error::invalid(
                "`failure` is the probability that the promise ever fails: above 0 and below 1, such as 0.05",
            ));
        }
        if self.allowance.is_some_and(|allowance| !(1.0..=ALLOWANCE_MAX).contains(&allowance)) {
            return Err(Error::invalid(format!(
                "the allowance is how many answers may be wrong beside the budget: 1 to {ALLOWANCE_MAX}"
            )));
        }
        if self.share_after.is_some_and(|users| users > SHARE_AFTER_MAX) {
            return Err(Error::invalid(format!(
                "`share_after` is how many users have an answer before all get it: up to {SHARE_AFTER_MAX}; 0 shares at once"
            )));
        }
        let Some(parts) = &self.scope else { return Ok(()) };
        let different: BTreeSet<&String> = parts.iter().collect();
        match parts.len() > PARTS_MAX || different.len() != parts.len() || parts.iter().any(String::is_empty) {
            true => Err(Error::invalid(format!("a scope has up to {PARTS_MAX} parts, each with a name of its own"))),
            false => Ok(()),
        }
    }
}

impl CacheSettings {
    /// Returns the terms that the ledger promises.
    pub(crate) fn terms(&self) -> Terms {
        Terms { budget: self.budget, failure: self.failure, allowance: self.allowance }
    }

    /// Whether an answer is its user's own before it is everybody's.
    pub(crate) fn is_shared_later(&self) -> bool {
        self.share_after > 1
    }

    /// Whether each user has a share of its own.
    pub(crate) fn has_shares(&self) -> bool {
        self.user_max_entries > 0 || self.user_max_bytes > 0
    }

    /// With the changes; true when anything has.
    pub(crate) fn change(&mut self, change: &CacheChange) -> bool {
        let before = self.clone();
        let CacheChange { mode, budget, failure, ttl_ms, max_entries, max_bytes, scope, .. } = change.clone();
        *self = Self {
            mode: mode.unwrap_or(self.mode),
            budget: budget.unwrap_or(self.budget),
            failure: failure.unwrap_or(self.failure),
            ttl_ms: ttl_ms.unwrap_or(self.ttl_ms),
            max_entries: max_entries.unwrap_or(self.max_entries),
            max_bytes: max_bytes.unwrap_or(self.max_bytes),
            scope: scope.map(sorted).unwrap_or_else(|| self.scope.clone()),
            allowance: change.allowance.unwrap_or(self.allowance),
            share_after: change.share_after.unwrap_or(self.share_after),
            share_when: change.share_when.unwrap_or(self.share_when),
            user_max_entries: change.user_max_entries.unwrap_or(self.user_max_entries),
            user_max_bytes: change.user_max_bytes.unwrap_or(self.user_max_bytes),
        };
        *self != before
    }

    /// Refuses a scope that lacks a part, or has one too many.
    pub(crate) fn check_scope<'p>(&self, parts: impl Iterator<Item = &'p String>) -> Result<()> {
        if self.scope.is_empty() {
            return Ok(());
        }
        let given: Vec<&String> = parts.collect();
        match self.scope.iter().eq(given.iter().copied()) {
            true => Ok(()),
            false => Err(Error::invalid(format!(
                "the scope has the parts {given:?}, and this cache wants {:?}; an answer must not reach another scope",
                self.scope
            ))),
        }
    }
}

fn sorted(mut parts: Vec<String>) -> Vec<String> {
    parts.sort_unstable();
    parts
}
