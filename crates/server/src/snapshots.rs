//! The snapshots that clients have taken over HTTP, kept here because a client has no connection that is its own.
//!
//! **Useful for** reads of one moment that come as several requests, and for transactions, which end with one.
//! **Not for** what a snapshot holds on to: the engine ends those that are too old by itself, and here only their names are left.
//!
//! **Invariant:** a snapshot answers the key that took it, about the tenant that it was taken of, and nobody else; a tenant has no
//! more of them than it may.

use std::collections::HashMap;
use std::time::Duration;

use nuthatch_link::{Error, ErrorKind, Result as EngineResult, Snapshot};
use parking_lot::{Mutex, MutexGuard};

use crate::access::{hex, random};
use crate::caller::{Caller, SNAPSHOT};
use crate::problem::Problem;

const ID_BYTES: usize = 16;

/// All of them, of all tenants.
pub struct Snapshots {
    kept: Mutex<HashMap<String, KeptSnapshot>>,
    /// Of one tenant.
    most: usize,
    age_max: Duration,
}

/// Who has taken one.
#[derive(Clone, Debug)]
pub struct Owner {
    pub tenant: String,
    /// `None` where no key is needed.
    pub key_id: Option<String>,
    /// For people.
    pub key_name: Option<String>,
}

#[derive(Clone)]
struct KeptSnapshot {
    owner: Owner,
    snapshot: Snapshot,
}

/// One in a listing.
pub struct Listed {
    pub id: String,
    pub key_name: Option<String>,
    pub age: Duration,
    pub ends_in: Duration,
}

impl Owner {
    pub fn of(caller: &Caller) -> Self {
        let (key_id, key_name) = caller.key().map(|(id, name)| (id.to_string(), name.to_string())).unzip();
        Self { tenant: caller.tenant().into(), key_id, key_name }
    }

    /// Another name of the key changes nothing.
    fn is(&self, other: &Self) -> bool {
        (&self.tenant, &self.key_id) == (&other.tenant, &other.key_id)
    }
}

impl Snapshots {
    pub fn new(most: usize, age_max: Duration) -> Self {
        Self { kept: Mutex::default(), most, age_max }
    }

    /// Takes one and keeps it.
    ///
    /// # Errors
    /// 429 when the tenant has as many as it may; else those of taking it.
    pub fn take(
        &self,
        owner: Owner,
        take: impl FnOnce() -> EngineResult<Snapshot>,
    ) -> EngineResult<Result<Listed, Problem>> {
        if let Err(problem) = self.room(&owner.tenant).map(drop) {
            return Ok(Err(problem));
        }
        let id = hex(&random::<ID_BYTES>()?);
        let kept = KeptSnapshot { owner, snapshot: take()? };
        let listed = self.listed(&id, &kept);
        // Others may have come meanwhile.
        let room = self.room(&kept.owner.tenant);
        Ok(room.map(|mut all| {
            all.insert(id, kept);
            listed
        }))
    }

    /// One of the owner's.
    ///
    /// # Errors
    /// `Conflict` without one: whoever began with it begins anew.
    pub fn get(&self, owner: &Owner, id: &str) -> EngineResult<Snapshot> {
        let all = self.kept.lock();
        let found = all.get(id).filter(|kept| kept.owner.is(owner));
        found.map(|kept| kept.snapshot.clone()).ok_or_else(|| self.gone())
    }

    /// Takes one of the owner's away: whoever has it is the only one, so that a transaction is committed once.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn remove(&self, owner: &Owner, id: &str) -> EngineResult<Snapshot> {
        self.remove_if(id, |kept| kept.owner.is(owner)).ok_or_else(|| self.gone())
    }

    /// Whether there is one of that id in the tenant, whoever's it is.
    pub fn is_of(&self, tenant: &str, id: &str) -> bool {
        self.kept.lock().get(id).is_some_and(|kept| kept.owner.tenant == tenant)
    }

    /// Takes one away, whoever's it is in the tenant.
    pub fn remove_of(&self, tenant: &str, id: &str) -> Option<Snapshot> {
        self.remove_if(id, |kept| kept.owner.tenant == tenant)
    }

    fn remove_if(&self, id: &str, is_meant: impl FnOnce(&KeptSnapshot) -> bool) -> Option<Snapshot> {
        let mut all = self.kept.lock();
        let is_meant = all.get(id).is_some_and(is_meant);
        is_meant.then(|| all.remove(id)).flatten().map(|kept| kept.snapshot)
    }

    /// Those of the owner, or of the whole tenant, oldest first.
    pub fn list(&self, owner: &Owner, of_all_keys: bool) -> Vec<Listed> {
        let all = self.kept.lock();
        let is_meant = |kept: &KeptSnapshot| match of_all_keys {
            true => kept.owner.tenant == owner.tenant,
            false => kept.owner.is(owner),
        };
        let meant = all.iter().filter(|(_, kept)| is_meant(kept) && !self.has_ended(kept));
        let mut listed: Vec<Listed> = meant.map(|(id, kept)| self.listed(id, kept)).collect();
        listed.sort_by(|one, other| (other.age, &one.id).cmp(&(one.age, &other.id)));
        listed
    }

    /// Lets go of all of them.
    pub fn end_all(&self) {
        let all = std::mem::take(&mut *self.kept.lock());
        all.into_values().for_each(|kept| kept.snapshot.close());
    }

    /// All of them, with room for one more of the tenant's. Those that have ended make room; they are kept until they would be too old,
    /// because they know why they have ended.
    fn room(&self, tenant: &str) -> Result<MutexGuard<'_, HashMap<String, KeptSnapshot>>, Problem> {
        let mut all = self.kept.lock();
        let ended: Vec<_> = all.extract_if(|_, kept| kept.snapshot.age() > self.age_max).collect();
        if !ended.is_empty() {
            // To let one go may take a request.
            MutexGuard::unlocked(&mut all, || drop(ended));
        }
        let is_open = |kept: &&KeptSnapshot| kept.owner.tenant == tenant && !self.has_ended(kept);
        match all.values().filter(is_open).count() < self.most {
            true => Ok(all),
            false => Err(Problem::too_much_open(
                format!("this tenant has {} snapshots and transactions open, its limit", self.most),
                "end some (GET /v1/snapshots lists them), or raise `snapshots_max`",
            )),
        }
    }

    fn has_ended(&self, kept: &KeptSnapshot) -> bool {
        kept.snapshot.has_ended() || kept.snapshot.age() > self.age_max
    }

    fn listed(&self, id: &str, kept: &KeptSnapshot) -> Listed {
        let age = kept.snapshot.age();
        let ends_in = self.age_max.saturating_sub(age);
        Listed { id: id.into(), key_name: kept.owner.key_name.clone(), age, ends_in }
    }

    /// In the same words for one that has ended, one that is another's, and one that never was.
    fn gone(&self) -> Error {
        let why = format!(
            "this key has no snapshot with the id in `{SNAPSHOT}` or the path: it was ended, is older than {} s, or \
            the server was restarted; take another one",
            self.age_max.as_secs_f64()
        );
        Error::new(ErrorKind::Conflict, why)
    }
}
