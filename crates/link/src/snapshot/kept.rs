//! The snapshots and transactions that are kept for others under an id: for clients of the server, and for processes that share
//! the folder.
//!
//! **Useful for** every face whose callers have no handle of their own: HTTP, Flight, the socket of the folder.
//! **Not for** ending old or idle snapshots: the engine does that, and only their ids stay here.
//!
//! **Invariant:** only its owner finds a snapshot, and only for the tenant that it was taken of; a tenant has no more
//! of them than the policy allows, over all faces together, and takes no place of another tenant's.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use nuthatch_engine::call::Waits;
use nuthatch_engine::database::Database;
use nuthatch_engine::options::Options;
use nuthatch_engine::snapshot::Snapshot as LocalSnapshot;
use nuthatch_engine::tenant::DEFAULT;
use nuthatch_engine::{Error, ErrorKind, Result};
use parking_lot::{Mutex, MutexGuard};

use super::{At, Snapshot};
use crate::tethered::Keeper;

/// The limits for each tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeepPolicy {
    /// How many at a time.
    pub most: usize,
    /// How long one may go unread; `None`: until it is too old.
    pub idle_max: Option<Duration>,
    /// How long one may live.
    pub age_max: Duration,
}

/// The holder of a kept snapshot, who alone may use it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Holder {
    /// The key of that id; `None` where the server needs no key.
    Key(Option<String>),
    /// A process that shares the folder. It alone knows the id.
    Process,
}

/// A holder, and whose data it sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// `None`: the default tenant.
    pub tenant: Option<String>,
    /// The holder within the tenant.
    pub holder: Holder,
}

/// Why one is not kept.
#[derive(Clone, Debug)]
pub enum NotKept {
    /// The tenant has as many as it may.
    TooMany(Error),
    /// The holder has one of that id.
    Exists,
    /// It could not be taken.
    Failed(Error),
}

/// One that is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The id by which its owner asks for it.
    pub id: String,
    /// Of its owner, for people.
    pub label: Option<String>,
    /// Since it was taken.
    pub age: Duration,
    /// Until it is too old.
    pub ends_in: Duration,
}

/// All that one handle of a folder keeps.
pub struct KeptSnapshots {
    policy: KeepPolicy,
    of_tenants: Mutex<Tenants>,
}

/// By name, as in [`Owner`].
type Tenants = HashMap<Option<String>, OfTenant>;
type OfTenant = HashMap<(Holder, String), Kept>;

struct Kept {
    label: Option<String>,
    snapshot: Snapshot,
}

impl KeepPolicy {
    /// The policy that a folder was opened with.
    pub fn of(options: &Options) -> Self {
        let &Options { snapshots_max: most, snapshot_idle_max: idle_max, snapshot_age_max: age_max, .. } = options;
        Self { most, idle_max, age_max }
    }
}

impl KeptSnapshots {
    /// Keeps nothing yet.
    pub fn new(policy: KeepPolicy) -> Self {
        Self { policy, of_tenants: Mutex::default() }
    }

    /// Returns the policy that applies to each tenant.
    pub fn policy(&self) -> KeepPolicy {
        self.policy
    }

    /// Takes one and keeps it under an id, for as long as it lives and not as its taker waits, in the place of one of the same id that has ended. `label` names the owner for people.
    ///
    /// # Errors
    /// Says why it is not kept; nothing has changed then.
    pub fn keep(
        &self,
        owner: &Owner,
        id: &str,
        label: Option<String>,
        take: impl FnOnce() -> Result<Snapshot>,
    ) -> std::result::Result<Listed, NotKept> {
        let place = (owner.holder.clone(), id.to_string());
        drop(self.room(&owner.tenant, &place)?);
        let kept = Kept { label, snapshot: take().map_err(NotKept::Failed)?.waiting(Waits::default()) };
        if let Some(idle_max) = self.policy.idle_max {
            kept.snapshot.end_when_idle(idle_max);
        }
        let listed = self.listed(id, &kept);
        let mut all = self.room(&owner.tenant, &place)?; // others may have been added since
        let before = all.entry(owner.tenant.clone()).or_default().insert(place, kept);
        MutexGuard::unlocked(&mut all, || drop(before));
        Ok(listed)
    }

    /// The owner's snapshot of that id. One that has ended says why when it is read.
    pub fn get(&self, owner: &Owner, id: &str) -> Option<Snapshot> {
        let all = self.of_tenants.lock();
        let of_tenant = all.get(&owner.tenant)?;
        of_tenant.get(&(owner.holder.clone(), id.to_string())).map(|kept| kept.snapshot.clone())
    }

    /// Takes it away from its owner. Only one caller gets it, so a transaction is committed once.
    pub fn remove(&self, owner: &Owner, id: &str) -> Option<Snapshot> {
        self.remove_if(&owner.tenant, |holder, one| (holder, one) == (&owner.holder, id))
    }

    /// Whether any key of the tenant has one of that id.
    pub fn is_of(&self, tenant: &Option<String>, id: &str) -> bool {
        let all = self.of_tenants.lock();
        all.get(tenant).is_some_and(|kept| kept.keys().any(|(holder, one)| holder.is_key() && one == id))
    }

    /// Takes one away from whatever key of the tenant has it.
    pub fn remove_of(&self, tenant: &Option<String>, id: &str) -> Option<Snapshot> {
        self.remove_if(tenant, |holder, one| holder.is_key() && one == id)
    }

    /// Those of the owner that can be read, oldest first; with `of_all_keys`, those of every key of its tenant.
    pub fn list(&self, owner: &Owner, of_all_keys: bool) -> Vec<Listed> {
        let all = self.of_tenants.lock();
        let of_tenant = all.get(&owner.tenant).into_iter().flatten();
        let is_meant = |holder: &Holder| *holder == owner.holder || (of_all_keys && holder.is_key());
        let mut listed: Vec<Listed> = of_tenant
            .filter(|((holder, _), kept)| is_meant(holder) && !self.has_ended(kept))
            .map(|((_, id), kept)| self.listed(id, kept))
            .collect();
        listed.sort_by(|one, other| (other.age, &one.id).cmp(&(one.age, &other.id)));
        listed
    }

    /// Forgets those of a tenant that has been dropped: the engine has ended them.
    pub(crate) fn forget_tenant(&self, tenant: &str) {
        let gone = self.of_tenants.lock().remove(&Some(tenant.to_string()));
        drop(gone); // without the lock
    }

    fn remove_if(&self, tenant: &Option<String>, is_meant: impl Fn(&Holder, &str) -> bool) -> Option<Snapshot> {
        let mut all = self.of_tenants.lock();
        let of_tenant = all.get_mut(tenant)?;
        let place = of_tenant.keys().find(|(holder, id)| is_meant(holder, id)).cloned()?;
        let kept = of_tenant.remove(&place);
        if of_tenant.is_empty() {
            all.remove(tenant);
        }
        kept.map(|kept| kept.snapshot)
    }

    /// All of them, with room for one more of the tenant's in that place. Ended ones make room; those of keys stay
    /// until they would be too old, because they know why they ended, and those of a process until it releases them.
    fn room(
        &self,
        tenant: &Option<String>,
        place: &(Holder, String),
    ) -> std::result::Result<MutexGuard<'_, Tenants>, NotKept> {
        let mut all = self.of_tenants.lock();
        let of_tenant = all.entry(tenant.clone()).or_default();
        let forgotten: Vec<_> = of_tenant
            .extract_if(|(holder, _), kept| holder.is_key() && kept.snapshot.age() > self.policy.age_max)
            .collect();
        if !forgotten.is_empty() {
            // To let one go may take a request.
            MutexGuard::unlocked(&mut all, || drop(forgotten));
        }
        let open = all.get(tenant).map_or(0, |kept| kept.values().filter(|kept| !self.has_ended(kept)).count());
        let exists = all.get(tenant).and_then(|kept| kept.get(place)).is_some_and(|kept| !self.has_ended(kept));
        match (exists, open < self.policy.most) {
            (true, _) => Err(NotKept::Exists),
            (false, true) => Ok(all),
            (false, false) => Err(NotKept::TooMany(Error::new(
                ErrorKind::Exhausted,
                format!("this tenant has {} snapshots and transactions open, its limit; end some", self.policy.most),
            ))),
        }
    }

    fn has_ended(&self, kept: &Kept) -> bool {
        kept.snapshot.has_ended() || kept.snapshot.age() > self.policy.age_max
    }

    fn listed(&self, id: &str, kept: &Kept) -> Listed {
        let age = kept.snapshot.age();
        let ends_in = self.policy.age_max.saturating_sub(age);
        Listed { id: id.into(), label: kept.label.clone(), age, ends_in }
    }
}

/// For processes that share the folder.
impl Keeper for KeptSnapshots {
    fn keep(&self, db: &Database, id: u128) -> Result<()> {
        Self::keep(self, &owner(db), &name(id), None, || Ok(Snapshot::here(db.snapshot()?)))?;
        Ok(())
    }

    fn get(&self, db: &Database, id: u128) -> Option<LocalSnapshot> {
        match Self::get(self, &owner(db), &name(id))?.at {
            At::Here(local) => Some(local),
            At::There(_) => None,
        }
    }

    fn let_go(&self, db: &Database, id: u128) {
        drop(self.remove(&owner(db), &name(id)));
    }

    fn forget_all(&self) {
        let gone = std::mem::take(&mut *self.of_tenants.lock());
        drop(gone); // without the lock
    }

    fn anew(&self) -> Arc<dyn Keeper> {
        Arc::new(Self::new(self.policy))
    }
}

fn owner(db: &Database) -> Owner {
    let place = db.tenant_place();
    Owner { tenant: (place.number != DEFAULT).then_some(place.name), holder: Holder::Process }
}

fn name(id: u128) -> String {
    format!("{id:032x}")
}

impl Holder {
    fn is_key(&self) -> bool {
        matches!(self, Self::Key(_))
    }
}

impl From<NotKept> for Error {
    fn from(why: NotKept) -> Self {
        match why {
            NotKept::TooMany(error) | NotKept::Failed(error) => error,
            NotKept::Exists => {
                Self::new(ErrorKind::Conflict, "a snapshot of that id exists already; choose another id, or end it")
            }
        }
    }
}
