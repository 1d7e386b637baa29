//! The snapshots that the holder keeps for other processes: each for as long as the connection that took it.

use std::sync::Arc;

use nuthatch_engine::Result;
use nuthatch_engine::database::Database;
use nuthatch_engine::snapshot::Snapshot;

/// Keeps snapshots for processes that share the folder, each of the tenant that it was taken of.
pub(crate) trait Keeper: Send + Sync {
    /// Takes one of the database's tenant, and keeps it under that number.
    ///
    /// # Errors
    /// `Exhausted` when the tenant has as many as it may.
    fn keep(&self, db: &Database, id: u128) -> Result<()>;

    /// One of the database's tenant.
    fn get(&self, db: &Database, id: u128) -> Option<Snapshot>;

    /// Lets one go.
    fn let_go(&self, db: &Database, id: u128);

    /// Lets all go: the folder is closed.
    fn forget_all(&self);

    /// Another one of the same kind, for a fork.
    fn anew(&self) -> Arc<dyn Keeper>;
}

/// The snapshots of one connection; released with it.
pub(crate) struct Tethered {
    keeper: Arc<dyn Keeper>,
    snapshots: Vec<(u128, Database)>,
}

impl Tethered {
    pub fn of(keeper: Arc<dyn Keeper>) -> Self {
        Self { keeper, snapshots: Vec::new() }
    }

    /// # Errors
    /// `Exhausted` when the tenant has as many as it may.
    pub fn take(&mut self, id: u128, db: &Database) -> Result<()> {
        self.keeper.keep(db, id)?;
        self.snapshots.push((id, db.clone()));
        Ok(())
    }

    /// One of the database's tenant, whatever connection took it: a fork asks over its own.
    pub fn get(&self, id: u128, db: &Database) -> Option<Snapshot> {
        self.keeper.get(db, id)
    }

    pub fn let_go(&mut self, id: u128) {
        if let Some(at) = self.snapshots.iter().position(|(one, _)| *one == id) {
            let (id, db) = self.snapshots.swap_remove(at);
            self.keeper.let_go(&db, id);
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
