//! The snapshots that the holder keeps for others: as many as it can afford, each for as long as the connection that took it.

use std::collections::HashMap;
use std::sync::Arc;

use nuthatch_engine::database::Database;
use nuthatch_engine::snapshot::Snapshot;
use nuthatch_engine::{Error, ErrorKind, Result};
use parking_lot::Mutex;

/// Most snapshots and transactions of other processes at a time: each keeps what is replaced after it.
const KEPT_MAX: usize = 128;

/// All that a holder keeps.
#[derive(Default)]
pub(crate) struct KeptSnapshots {
    snapshots: Mutex<HashMap<u128, Snapshot>>,
}

/// Those that hang on one connection; let go with it.
pub(crate) struct Tethered {
    kept: Arc<KeptSnapshots>,
    snapshots: Vec<u128>,
}

impl KeptSnapshots {
    pub fn get(&self, id: u128) -> Option<Snapshot> {
        self.snapshots.lock().get(&id).cloned()
    }

    fn add(&self, id: u128, snapshot: Snapshot) -> Result<()> {
        let mut ended = Vec::new(); // dropped without the lock
        let mut snapshots = self.snapshots.lock();
        if snapshots.len() >= KEPT_MAX {
            ended.extend(snapshots.extract_if(|_, kept| kept.has_ended()));
        }
        if snapshots.len() >= KEPT_MAX {
            return Err(Error::new(
                ErrorKind::Exhausted,
                format!(
                    "other processes have {KEPT_MAX} snapshots and transactions open in the process that holds the \
                    folder; end some of them, or take this one in that process"
                ),
            ));
        }
        snapshots.insert(id, snapshot);
        Ok(())
    }
}

impl Tethered {
    pub fn of(kept: Arc<KeptSnapshots>) -> Self {
        Self { kept, snapshots: Vec::new() }
    }

    pub fn kept(&self) -> &KeptSnapshots {
        &self.kept
    }

    pub fn take(&mut self, id: u128, db: &Database) -> Result<()> {
        self.kept.add(id, db.snapshot()?)?;
        self.snapshots.push(id);
        Ok(())
    }

    pub fn let_go(&mut self, id: u128) {
        if let Some(at) = self.snapshots.iter().position(|one| *one == id) {
            self.snapshots.swap_remove(at);
            let gone = self.kept.snapshots.lock().remove(&id);
            drop(gone); // without the lock
        }
    }
}

impl Drop for Tethered {
    fn drop(&mut self) {
        while let Some(id) = self.snapshots.last() {
            self.let_go(*id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nuthatch_engine::Options;

    #[test]
    fn as_many_are_kept_as_can_be_afforded_and_each_goes_with_its_connection() {
        let db = Database::in_memory(Options { background: false, ..Options::default() }).unwrap();
        let kept = Arc::new(KeptSnapshots::default());
        let (mut one, mut two) = (Tethered::of(kept.clone()), Tethered::of(kept.clone()));
        for id in 0..KEPT_MAX as u128 {
            let connection = if id < 10 { &mut one } else { &mut two };
            connection.take(id, &db).unwrap();
        }
        assert_eq!(two.take(1000, &db).unwrap_err().kind, ErrorKind::Exhausted);
        two.let_go(9); // another's
        assert!(kept.get(9).is_some());
        two.let_go(10);
        assert!(kept.get(10).is_none());
        two.take(1000, &db).unwrap();
        drop(one);
        assert!(kept.get(9).is_none() && kept.get(1000).is_some());
        kept.get(1000).unwrap().end(Error::closed());
        for id in 2000..2011 {
            two.take(id, &db).unwrap();
        }
        assert!(kept.get(1000).is_none(), "one that has ended makes room");
        drop(two);
        assert_eq!(db.stats().unwrap().snapshots, 0);
    }
}
