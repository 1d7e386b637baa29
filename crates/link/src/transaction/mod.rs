//! Transactions: reads and writes that happen as if they ran alone.
//!
//! **Useful for** changes of keys, keyspaces and collections that depend on earlier reads.
//! **Not for** single writes: each of those is atomic by itself, and a [`WriteBatch`](crate::WriteBatch) is when nothing was read.
//!
//! **Invariant:** a transaction that commits is serialisable: everything that it read, or wrote, is unchanged at the moment of its
//! commit, so it might as well have run whole at that moment.
//!
//! Optimistic: nothing is locked while it runs. It reads a snapshot; the commit compares what was read with what is there now
//! (H. T. Kung and J. T. Robinson, "On Optimistic Methods for Concurrency Control", 1981, backward validation, by
//! value). The store itself compares the values, so a commit does not depend on whether, or how long ago, other commits
//! were flushed.

mod collection;
mod facts;
mod graph;
mod keyspace;

pub use collection::TransactionCollection;
pub use facts::TransactionFacts;
pub use graph::TransactionGraph;
pub use keyspace::TransactionKeyspace;

use nuthatch_engine::durability::Durability;
use nuthatch_engine::kv::Kind;
use nuthatch_engine::{Error, Result};

use crate::Snapshot;
use crate::rows::Within;
use crate::work::{Work, Working, over};

/// Reads and writes that happen as one. Dropping it without [`commit`](Self::commit) undoes everything.
///
/// Its reads and pending writes stay with it. Only its snapshot may be in another process, and the commit happens
/// there.
pub struct Transaction {
    snapshot: Snapshot,
    /// The snapshot is somebody else's, and goes on.
    is_draft: bool,
    work: Working,
}

impl Transaction {
    /// Begins a transaction on the snapshot, which belongs to it alone and ends with it.
    ///
    /// The transaction does not know of direct reads of the snapshot until it is told: by
    /// [`depend_on_keys`](TransactionKeyspace::depend_on_keys) and the like.
    pub fn on(snapshot: Snapshot) -> Self {
        Self { snapshot, is_draft: false, work: Working::default() }
    }

    /// A transaction that is never committed: it reads the snapshot with the writes given to it. The snapshot does not
    /// end with it.
    pub fn draft_on(snapshot: Snapshot) -> Self {
        Self { snapshot, is_draft: true, work: Working::default() }
    }

    /// A keyspace, with this transaction's own writes; created when there is none, even if the transaction does not
    /// commit.
    pub fn kv(&self, name: &str) -> Result<TransactionKeyspace<'_>> {
        Ok(TransactionKeyspace::of(self.rows(name, Kind::Plain)?))
    }

    /// A graph, with this transaction's own writes; created when there is none, even if the transaction does not
    /// commit.
    pub fn graph(&self, name: &str) -> Result<TransactionGraph<'_>> {
        Ok(TransactionGraph::of(self.rows(name, Kind::Graph)?))
    }

    /// Facts of that name, to write; created by the commit when there are none.
    pub fn facts(&self, name: &str) -> TransactionFacts<'_> {
        TransactionFacts::of(&self.work, name)
    }

    fn rows(&self, name: &str, kind: Kind) -> Result<Within<'_>> {
        let (kept, shard) = self.snapshot.made_keyspace(name, kind)?;
        Ok(Within { work: &self.work, kept, name: name.into(), kind, shard })
    }

    /// A collection, with this transaction's own writes in reads by id.
    ///
    /// # Errors
    /// `NotFound` when there was none.
    pub fn collection(&self, name: &str) -> Result<TransactionCollection<'_>> {
        Ok(TransactionCollection::of(self, self.snapshot.kept_collection(name)?))
    }

    /// Writes everything if all that was read or is written is unchanged since the transaction began. The transaction
    /// ends in any case.
    ///
    /// # Errors
    /// `Conflict` when it is not, or when the process that held the folder has gone: nothing was written, begin again
    /// ([`Database::transact`](crate::Database::transact) does). Otherwise as [`Database::write`](crate::Database::write).
    pub fn commit(&self, durability: Durability) -> Result<()> {
        if self.is_draft {
            return Err(Error::invalid("a draft of a transaction is not committed; commit the transaction itself"));
        }
        let Work { reads, batch } = self.work.end()?;
        let outcome = match batch.is_empty() {
            true => Ok(()), // what was read is of one moment; there is nothing to check it against
            false => self.snapshot.commit(&reads, batch.with_durability(durability)),
        };
        self.snapshot.end(over());
        outcome
    }

    /// Undoes everything: nothing of it was ever written.
    pub fn rollback(&self) {
        self.work.end().ok(); // it may be over
        if !self.is_draft {
            self.snapshot.end(over());
        }
    }

    /// True when it cannot commit because the process that held the folder has gone.
    pub(crate) fn is_lost(&self) -> bool {
        self.snapshot.is_lost()
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        self.rollback();
    }
}
