//! Transactions: reads and writes that happen as if nobody else had been there.
//!
//! **Useful for** moving things between keys, keyspaces and collections by what was read before.
//! **Not for** single writes: each of those is atomic by itself, and a [`WriteBatch`] is when nothing was read.
//!
//! **Invariant:** a transaction that commits is serialisable: everything that it read, or wrote, is unchanged at the moment of its
//! commit, so it might as well have run whole at that moment.
//!
//! Optimistic: nothing is locked while it runs. It reads a snapshot; the commit compares what was read with what is there now
//! (H. T. Kung and J. T. Robinson, "On Optimistic Methods for Concurrency Control", 1981, backward validation, by value). Values
//! are compared in the store itself, so it makes no difference whether what others committed has been flushed, or how long ago.

mod batch;
mod collection;
mod keyspace;
mod reads;

use std::sync::Arc;

use parking_lot::Mutex;

use batch::Prepared;
pub use batch::WriteBatch;
pub use collection::TransactionCollection;
pub use keyspace::TransactionKeyspace;

use crate::database::Database;
use crate::durability::Durability;
use crate::snapshot::{Snapshot, View};
use crate::transaction::reads::Reads;
use crate::{Error, ErrorKind, Result};

/// Reads and writes that are to happen as one. Dropping it without [`commit`](Self::commit) undoes everything.
pub struct Transaction {
    snapshot: Snapshot,
    work: Mutex<Option<Work>>,
}

/// What a transaction has done.
#[derive(Default)]
pub(crate) struct Work {
    pub reads: Reads,
    pub batch: WriteBatch,
}

impl Database {
    /// Begins a transaction on everything as it is now.
    pub fn transaction(&self) -> Result<Transaction> {
        Ok(Transaction { snapshot: self.snapshot()?, work: Mutex::new(Some(Work::default())) })
    }

    /// Runs `body` in a transaction and commits it; up to `retries` times anew when somebody else has changed what it read.
    pub fn transact<T>(&self, retries: u32, mut body: impl FnMut(&Transaction) -> Result<T>) -> Result<T> {
        let mut tried = 0;
        loop {
            let transaction = self.transaction()?;
            let outcome = body(&transaction).and_then(|value| transaction.commit(Durability::Commit).map(|()| value));
            match outcome {
                Err(error) if error.kind == ErrorKind::Conflict && tried < retries => tried += 1,
                outcome => return outcome,
            }
        }
    }
}

impl Transaction {
    /// A keyspace, with this transaction's own writes; made when there is none, whatever becomes of the transaction.
    pub fn kv(&self, name: &str) -> Result<TransactionKeyspace<'_>> {
        let space = self.view().shared.space(&self.view().tenant, name, true)?;
        Ok(TransactionKeyspace { transaction: self, kept: self.snapshot.kv(name)?, space })
    }

    /// A collection, with this transaction's own writes where they are asked for by id.
    ///
    /// # Errors
    /// `NotFound` when there was none.
    pub fn collection(&self, name: &str) -> Result<TransactionCollection<'_>> {
        Ok(TransactionCollection { transaction: self, kept: self.snapshot.collection(name)? })
    }

    /// Writes everything, if what was read or is written is as it was when the transaction began. The transaction is over then,
    /// whatever the outcome.
    ///
    /// # Errors
    /// `Conflict` when it is not: nothing was written, begin anew ([`Database::transact`] does). Otherwise as
    /// [`Database::write`].
    pub fn commit(&self, durability: Durability) -> Result<()> {
        let work = self.work.lock().take().ok_or_else(over)?;
        let outcome = self.commit_work(work, durability);
        self.view().end(over());
        outcome
    }

    /// Undoes everything: nothing of it was ever written.
    pub fn rollback(&self) {
        *self.work.lock() = None;
        self.view().end(over());
    }

    fn commit_work(&self, work: Work, durability: Durability) -> Result<()> {
        if work.batch.is_empty() {
            return Ok(()); // what was read is of one moment; there is nothing to check it against
        }
        let shared = &self.view().shared;
        let prepared = Prepared::new(shared, &self.view().tenant, work.batch)?;
        prepared.commit(shared, durability, || self.view().with(|held| work.reads.check(shared, &held.truth)))
    }

    fn view(&self) -> &Arc<View> {
        &self.snapshot.view
    }

    /// Looks at or adds to what the transaction has done.
    pub(crate) fn with<T>(&self, look: impl FnOnce(&mut Work) -> Result<T>) -> Result<T> {
        look(self.work.lock().as_mut().ok_or_else(over)?)
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        self.rollback();
    }
}

fn over() -> Error {
    Error::new(ErrorKind::Closed, "the transaction is over; begin another one")
}
