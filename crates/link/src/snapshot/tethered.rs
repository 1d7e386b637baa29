//! The snapshots that the holder keeps for other processes: each for as long as the connection that took it.

use std::sync::Arc;

use nuthatch_engine::Result;
use nuthatch_engine::database::Database;
use nuthatch_engine::snapshot::Snapshot as LocalSnapshot;
use nuthatch_engine::tenant::DEFAULT;

use super::kept::{Holder, KeptSnapshots, Owner};
use super::{At, Snapshot};

/// Those that hang on one connection; let go with it.
pub(crate) struct Tethered {
    kept: Arc<KeptSnapshots>,
    snapshots: Vec<(u128, Owner)>,
}

impl Tethered {
    pub fn of(kept: Arc<KeptSnapshots>) -> Self {
        Self { kept, snapshots: Vec::new() }
    }

    /// # Errors
    /// `Exhausted` when the tenant has as many as it may.
    pub fn take(&mut self, id: u128, db: &Database) -> Result<()> {
        let owner = owner(db);
        self.kept.keep(&owner, &name(id), None, || Ok(Snapshot::here(db.snapshot()?)))?;
        self.snapshots.push((id, owner));
        Ok(())
    }

    /// One of the database's tenant, whatever connection took it: a fork asks over its own.
    pub fn get(&self, id: u128, db: &Database) -> Option<LocalSnapshot> {
        match self.kept.get(&owner(db), &name(id))?.at {
            At::Here(local) => Some(local),
            At::There(_) => None,
        }
    }

    pub fn let_go(&mut self, id: u128) {
        if let Some(at) = self.snapshots.iter().position(|(one, _)| *one == id) {
            let (id, owner) = self.snapshots.swap_remove(at);
            drop(self.kept.remove(&owner, &name(id)));
        }
    }
}

impl Drop for Tethered {
    fn drop(&mut self) {
        while let Some((id, _)) = self.snapshots.last() {
            self.let_go(*id);
        }
    }
}

fn owner(db: &Database) -> Owner {
    let place = db.tenant_place();
    Owner { tenant: (place.number != DEFAULT).then_some(place.name), holder: Holder::Process }
}

fn name(id: u128) -> String {
    format!("{id:032x}")
}
