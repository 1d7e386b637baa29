//! Snapshots that clients hold by name, so that several reads show one moment.
//!
//! **Invariant:** a snapshot is found by those alone whose data it shows; there are never more than [`KEPT_MAX`], and each ends by
//! itself when it is too old.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use nuthatch_link::{Error, ErrorKind, Result as EngineResult, Snapshot};
use tonic::Status;

use crate::caller::Caller;

/// Each holds on to what is replaced after it.
const KEPT_MAX: usize = 64;
/// As old as the engine lets them become.
pub const AGE_MAX: Duration = Duration::from_secs(600);

/// By tenant and name.
type KeptSnapshots = HashMap<(String, String), Snapshot>;

#[derive(Clone, Default)]
pub struct Snapshots(Arc<Mutex<KeptSnapshots>>);

impl Snapshots {
    /// Keeps one under a name.
    ///
    /// # Errors
    /// `Conflict` when the tenant has one of that name, `Exhausted` when too many are kept.
    pub fn keep(&self, tenant: &str, name: &str, snapshot: Snapshot) -> EngineResult<()> {
        let mut kept = self.kept();
        kept.retain(|_, snapshot| snapshot.age() < AGE_MAX && !snapshot.has_ended());
        let place = (tenant.to_string(), name.to_string());
        if kept.contains_key(&place) {
            let message = format!("snapshot {name:?} already exists; choose another name, or release it");
            return Err(Error::new(ErrorKind::Conflict, message));
        }
        if kept.len() >= KEPT_MAX {
            let message = format!("{KEPT_MAX} snapshots are kept already; release some");
            return Err(Error::new(ErrorKind::Exhausted, message));
        }
        kept.insert(place, snapshot);
        Ok(())
    }

    /// The one that a ticket names, if it names one.
    ///
    /// # Errors
    /// `NOT_FOUND` when it is not there, or not any more.
    pub fn get<C: Caller>(&self, caller: &C, name: Option<&str>) -> Result<Option<Snapshot>, Status> {
        let Some(name) = name else { return Ok(None) };
        let found = self.kept().get(&(caller.tenant().to_string(), name.to_string())).cloned();
        match found.filter(|snapshot| snapshot.age() < AGE_MAX) {
            Some(snapshot) => Ok(Some(snapshot)),
            None => Err(Status::not_found(format!(
                "no snapshot {name:?}, or it has ended; take it with the action `snapshot`"
            ))),
        }
    }

    /// Lets go of one. False when there is none of that name.
    pub fn release(&self, tenant: &str, name: &str) -> bool {
        self.kept().remove(&(tenant.to_string(), name.to_string())).is_some()
    }

    fn kept(&self) -> MutexGuard<'_, KeptSnapshots> {
        // Nothing is half done while it is held.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use nuthatch_link::{Database, Options};

    use super::*;

    #[test]
    fn as_many_are_kept_as_can_be_afforded_each_under_its_own_name() {
        let db = Database::in_memory(Options { background: false, ..Options::default() }).unwrap();
        let kept = Snapshots::default();
        let keep = |tenant: &str, name: &str| kept.keep(tenant, name, db.snapshot().unwrap());
        keep("a", "1").unwrap();
        assert_eq!(keep("a", "1").unwrap_err().kind, ErrorKind::Conflict);
        for name in 1..KEPT_MAX {
            keep("b", &name.to_string()).unwrap();
        }
        assert_eq!(keep("c", "1").unwrap_err().kind, ErrorKind::Exhausted);
        assert!(kept.release("b", "1") && !kept.release("b", "1"));
        keep("c", "1").unwrap();
        drop(kept);
        assert_eq!(db.stats().unwrap().snapshots, 0);
    }
}
