//! Leases: one caller computes a missing answer, and the others wait for it.
//!
//! A lease lies in memory, in the process that holds the folder. It ends when an answer is stored, when its owner gives it back, or
//! when its time is up: the death of an owner needs no notice. When the process ends, its leases end, too: then an answer may be
//! computed once more, and nothing else happens.
//!
//! **Invariant:** at most one owner has the lease on a prompt's form in a scope, and a cache has at most [`LEASES_MAX`]
//! of them. A caller that gets no lease because of that limit computes without one.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use serde::{Deserialize, Serialize};

use crate::cache::key::{self, Hash};
use crate::cache::lookup::{Scopes, first_named, hit_of, state};
use crate::cache::{AskCache, Cache, CacheHit, CacheMode};
use crate::kv::Rows;
use crate::{Error, Result};

/// Leases of one cache.
const LEASES_MAX: usize = 10_000;
/// Longest name of an owner in bytes.
const OWNER_BYTES_MAX: usize = 128;
/// Longest time of a lease: an answer that takes longer extends its lease.
const LEASE_MS_MAX: u64 = 3_600_000;
/// Longest wait of one call. It takes a thread of the process that holds the folder, which cannot notice that the caller has gone.
const WAIT_MAX: Duration = Duration::from_secs(2);
/// A wait looks so often whether the cache is still there.
const WAIT_STEP: Duration = Duration::from_millis(100);
/// For this long after an answer turned out not to be kept, every caller computes without a lease.
const FREE_MS: u64 = 1_000;

/// A prompt without an answer, which the caller will compute unless somebody else does.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LeaseAnswer {
    /// The question, and on whose behalf it is asked. Meanings are not compared: the lookup does that.
    pub ask: AskCache,
    /// A name that no other call has, such as a random number. The same owner gets the same lease again, and extends it.
    pub owner: String,
    /// How long the answer may take, up to an hour. Then somebody else may compute it.
    pub lease_ms: u64,
    /// How long to wait while somebody else computes; up to two seconds, after which the caller asks again.
    pub wait_ms: u64,
}

/// Whose it is to compute an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum CacheLease {
    /// Nobody's: somebody has done it.
    Answered(Box<CacheHit>),
    /// The caller's, who stores it, or gives the lease back.
    Granted {
        /// For so long.
        left_ms: u64,
    },
    /// Somebody else's.
    Held {
        /// For so long, unless the lease is extended.
        left_ms: u64,
    },
    /// Every caller computes its own: the cache gives no answers, the computed answer is not to be kept, or too many
    /// are being computed.
    Free,
}

/// Gives a lease back without an answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EndLease {
    /// As in the lease.
    pub ask: AskCache,
    /// As in the lease.
    pub owner: String,
    /// There is an answer, but it is not to be kept: the waiting callers compute theirs in parallel. Otherwise the next
    /// of them gets the lease.
    pub unkept: bool,
}

/// The leases of a cache.
#[derive(Default)]
pub(crate) struct Leases {
    held: Mutex<HashMap<Hash, Held>>,
    changed: Condvar,
}

struct Held {
    /// `None`: nobody's, and nobody waits.
    owner: Option<String>,
    until_ms: u64,
}

impl Leases {
    /// Takes or extends a lease. `None` answers: the caller computes without one.
    fn take(&self, of: &Hash, owner: &str, lease_ms: u64, now_ms: u64) -> Option<Taken> {
        let mut held = self.held.lock();
        if held.len() >= LEASES_MAX && !held.contains_key(of) {
            held.retain(|_, lease| lease.until_ms > now_ms);
            if held.len() >= LEASES_MAX {
                return None;
            }
        }
        match held.get(of).filter(|lease| lease.until_ms > now_ms) {
            Some(Held { owner: None, .. }) => None,
            Some(Held { owner: Some(other), until_ms }) if other != owner => {
                Some(Taken { is_mine: false, is_renewed: false, left_ms: until_ms - now_ms })
            }
            before => {
                let is_renewed = before.is_some();
                held.insert(*of, Held { owner: Some(owner.into()), until_ms: now_ms.saturating_add(lease_ms) });
                Some(Taken { is_mine: true, is_renewed, left_ms: lease_ms })
            }
        }
    }

    /// Ends a lease, no matter who holds it: there is an answer.
    pub fn answered(&self, of: &Hash) {
        if self.held.lock().remove(of).is_some() {
            self.changed.notify_all();
        }
    }

    /// Ends a lease of this owner. False when it has none.
    fn end(&self, of: &Hash, owner: &str, free_until_ms: Option<u64>) -> bool {
        let mut held = self.held.lock();
        if held.get(of).is_none_or(|lease| lease.owner.as_deref() != Some(owner)) {
            return false;
        }
        match free_until_ms {
            Some(until_ms) => drop(held.insert(*of, Held { owner: None, until_ms })),
            None => drop(held.remove(of)),
        }
        self.changed.notify_all();
        true
    }

    /// Waits until some lease ends, or for so long. It may end early.
    fn wait(&self, of: &Hash, owner: &str, at_most: Duration) {
        let mut held = self.held.lock();
        if held.get(of).is_some_and(|lease| lease.owner.as_deref().is_some_and(|other| other != owner)) {
            self.changed.wait_for(&mut held, at_most);
        }
    }
}

struct Taken {
    is_mine: bool,
    /// It was the caller's before.
    is_renewed: bool,
    left_ms: u64,
}

impl LeaseAnswer {
    fn check(&self) -> Result<()> {
        self.ask.check()?;
        check_owner(&self.owner)?;
        match (1..=LEASE_MS_MAX).contains(&self.lease_ms) {
            true => Ok(()),
            false => Err(Error::invalid(
                "a lease takes above 0 and up to 3,600 seconds; extend it by asking again with the same owner",
            )),
        }
    }
}

fn check_owner(owner: &str) -> Result<()> {
    match (1..=OWNER_BYTES_MAX).contains(&owner.len()) {
        true => Ok(()),
        false => Err(Error::invalid(format!(
            "the owner of a lease is a name of 1 to {OWNER_BYTES_MAX} bytes that no other call has, such as a random number"
        ))),
    }
}

impl Cache {
    /// Says whose it is to compute the answer to a prompt, and waits for it while somebody else does.
    ///
    /// # Errors
    /// `Invalid` for a prompt or scope as of [`lookup`](Self::lookup), an empty owner, or a time that no lease takes.
    pub fn lease(&self, wanted: &LeaseAnswer) -> Result<CacheLease> {
        wanted.check()?;
        let ask = &wanted.ask;
        let scopes = self.scopes_of(ask)?;
        let of = key::hashes(&scopes.first(), &ask.prompt).1;
        let leases = &self.attached.leases;
        let wait_until = Instant::now() + Duration::from_millis(wanted.wait_ms).min(WAIT_MAX);
        loop {
            self.keyspace.space.check_open()?;
            // First the lease, then the look: an answer that is stored between the two is found.
            let taken = leases.take(&of, &wanted.owner, wanted.lease_ms, self.keyspace.now_ms());
            let looked = self.keyspace.at_once(|rows| Ok((state(rows)?, first_named(rows, &scopes, &ask.prompt)?)));
            let serves = looked.as_ref().is_ok_and(|(state, _)| state.settings.mode == CacheMode::Serve);
            if !serves || looked.as_ref().is_ok_and(|(_, found)| found.sound.is_some()) {
                leases.end(&of, &wanted.owner, None);
            }
            let (_, found) = looked?;
            if !serves {
                return Ok(CacheLease::Free);
            }
            if let Some(found) = found.sound {
                let hit = hit_of(found.tier, found.entry, found.stored, ask, self.keyspace.now_ms());
                // An owner that extends its lease has waited for nothing: it computes.
                if !taken.is_some_and(|taken| taken.is_renewed) {
                    self.attached.recent.note(Some(found.entry), |counts| {
                        counts.awaited += 1;
                        counts.save(hit.cost);
                    });
                }
                return Ok(CacheLease::Answered(Box::new(hit)));
            }
            match taken {
                None => return Ok(CacheLease::Free),
                Some(Taken { is_mine: true, left_ms, .. }) => return Ok(CacheLease::Granted { left_ms }),
                Some(Taken { left_ms, .. }) => {
                    let left = wait_until.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return Ok(CacheLease::Held { left_ms });
                    }
                    leases.wait(&of, &wanted.owner, left.min(WAIT_STEP).min(Duration::from_millis(left_ms.max(1))));
                }
            }
        }
    }

    /// Gives a lease back without an answer. False when its time was up, or another has it.
    ///
    /// # Errors
    /// `Invalid` as of [`lease`](Self::lease).
    pub fn end_lease(&self, end: &EndLease) -> Result<bool> {
        end.ask.check()?;
        check_owner(&end.owner)?;
        let of = key::hashes(&self.scopes_of(&end.ask)?.first(), &end.ask.prompt).1;
        let free_until_ms = end.unkept.then(|| self.keyspace.now_ms().saturating_add(FREE_MS));
        Ok(self.attached.leases.end(&of, &end.owner, free_until_ms))
    }

    fn scopes_of(&self, ask: &AskCache) -> Result<Scopes> {
        let state = self.keyspace.at_once(state)?;
        state.settings.check_scope(ask.scope.keys())?;
        Ok(Scopes::of(&state.settings, &ask.scope, ask.user.as_deref()))
    }
}
