//! Leases on missing answers in JSON.

use std::collections::BTreeMap;

use nuthatch_engine::{Error, Result};
use nuthatch_link as core;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{CacheFound, found, milliseconds};

/// How long an answer may take, unless the caller says otherwise.
const LEASE_SECONDS_DEFAULT: f64 = 60.0;
/// Longest wait of one call.
const WAIT_SECONDS_MAX: f64 = 30.0;

/// A prompt without an answer, which the caller will compute unless somebody else does.
#[derive(Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CacheLeaseWanted {
    /// The prompt.
    prompt: String,
    /// As in a question.
    #[serde(default)]
    scope: BTreeMap<String, String>,
    /// As in a question.
    user: Option<String>,
    /// A name that no other call has, such as a random number. The same owner extends its lease.
    owner: String,
    /// How many seconds the answer may take, up to 3600; then somebody else may compute it. Default: 60.
    lease: Option<f64>,
    /// How many seconds to wait while somebody else computes, up to 30. Default: 0.
    wait: Option<f64>,
}

/// Whose it is to compute an answer.
#[derive(Serialize, ToSchema)]
pub struct CacheLeaseState {
    /// `answered`: the answer is there, see `hit`. `granted`: the caller computes it, and stores it or gives the lease
    /// back. `held`: somebody else computes it; ask again. `free`: every caller computes its own, as the cache gives
    /// nothing, or the answer is not to be kept.
    state: &'static str,
    /// How many seconds the lease has left.
    left: Option<f64>,
    hit: Option<CacheFound>,
}

/// A lease to give back.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CacheLeaseEnd {
    /// As in the lease.
    prompt: String,
    /// As in the lease.
    #[serde(default)]
    scope: BTreeMap<String, String>,
    /// As in the lease.
    user: Option<String>,
    owner: String,
    /// There is an answer, but none to keep: those who wait compute theirs side by side. Otherwise the next of them gets the lease.
    #[serde(default)]
    unkept: bool,
}

/// The result of giving a lease back.
#[derive(Serialize, ToSchema)]
pub struct CacheLeaseEnded {
    /// False if its time was up, or another has it.
    ended: bool,
}

impl CacheLeaseWanted {
    /// How long the caller waits.
    ///
    /// # Errors
    /// `Invalid` for a wait that no call has.
    pub fn wait_ms(&self) -> Result<u64> {
        match self.wait.unwrap_or_default() {
            wait if (0.0..=WAIT_SECONDS_MAX).contains(&wait) => milliseconds("wait", wait),
            wait => Err(Error::invalid(format!("a call waits 0 to {WAIT_SECONDS_MAX} seconds, not {wait}; ask again"))),
        }
    }

    /// Asks once, and waits so long at most.
    ///
    /// # Errors
    /// Those of the call.
    pub fn ask(self, cache: &core::Cache, wait_ms: u64) -> Result<CacheLeaseState> {
        let Self { prompt, scope, user, owner, lease, .. } = self;
        let ask = core::AskCache { prompt, scope, user, ..core::AskCache::default() };
        let lease_ms = milliseconds("lease", lease.unwrap_or(LEASE_SECONDS_DEFAULT))?;
        let wanted = core::LeaseAnswer { ask, owner, lease_ms, wait_ms };
        let seconds = |ms: u64| Some(ms as f64 / 1_000.0);
        let state = |state, left, hit| CacheLeaseState { state, left, hit };
        Ok(match cache.lease(&wanted)? {
            core::CacheLease::Answered(hit) => state("answered", None, Some(found(*hit)?)),
            core::CacheLease::Granted { left_ms } => state("granted", seconds(left_ms), None),
            core::CacheLease::Held { left_ms } => state("held", seconds(left_ms), None),
            core::CacheLease::Free => state("free", None, None),
        })
    }
}

impl CacheLeaseState {
    /// Somebody else computes.
    pub fn is_held(&self) -> bool {
        self.state == "held"
    }
}

impl CacheLeaseEnd {
    pub(super) fn ask(self, cache: &core::Cache) -> Result<CacheLeaseEnded> {
        let Self { prompt, scope, user, owner, unkept } = self;
        let ask = core::AskCache { prompt, scope, user, ..core::AskCache::default() };
        Ok(CacheLeaseEnded { ended: cache.end_lease(&core::EndLease { ask, owner, unkept })? })
    }
}
