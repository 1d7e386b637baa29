//! Operations: everything that may be asked of a database, each declared once.
//!
//! **Useful for** any face. An operation is a value with its answer's type, its name, what it takes to be allowed, what becomes of it
//! when it is asked for twice, and how it runs. A face makes one and asks a handle; a handle runs it here, or sends it to the process
//! that holds the folder, which finds it by its name.
//! **Not for** what talks while it works (backups and exports tell how far they are): these are no single question.
//!
//! **Invariant:** an operation answers the same wherever it runs, and what reads runs on every [`View`]: of now, of a snapshot, within
//! a transaction.
//!
//! [RFC 0026](../../../../docs/rfcs/0026-operations.md) has what was weighed.

pub mod caches;
pub mod collections;
pub mod facts;
pub mod files;
pub mod graph;
pub mod keys;
pub mod keyspaces;
pub mod maintenance;
pub mod read_point;
pub mod records;
mod registry;
pub mod search;
pub mod tenants;
pub mod trees;
mod view;

use serde::Serialize;
use serde::de::DeserializeOwned;

pub use registry::{Entry, find};
pub use view::{Keys, Records, View};

use crate::call::{Outcome, Waits};
use crate::database::Database;
use crate::{Error, Result};

/// One question or command, with everything that it needs.
pub trait Op: Serialize + DeserializeOwned {
    /// The target of the operation: one of [`on`].
    type On;
    /// The type of its answer.
    type Answer: Serialize + DeserializeOwned;
    /// Unlike that of every other operation; part of the socket's protocol.
    const NAME: &'static str;
    /// The permission that a key needs.
    const SCOPE: Scope = Scope::Read;
    /// The handling of a repeated request.
    const REPEAT: Repeat = Repeat::Read;
    /// Whether it reads and changes nothing: then it ends when nobody waits for its answer any more.
    const READS: bool = matches!((Self::SCOPE, Self::REPEAT), (Scope::Read, Repeat::Read));

    /// Runs the operation. The view's handles carry the caller and its embedder.
    fn run(self, view: &View<'_>) -> Result<Self::Answer>;

    /// The answer of one that was found done, as its idempotency record tells. For [`Repeat::Once`].
    fn again(self, db: &Database, outcome: Outcome) -> Result<Self::Answer> {
        let _ = (db, outcome);
        Err(Error::internal(format!("{} has no idempotency record", Self::NAME)))
    }

    /// Returns the limits on the wait for its answer, in addition to those of the call.
    fn waits(&self) -> Waits {
        Waits::default()
    }
}

/// The targets of operations.
pub mod on {
    /// A tenant's data as a whole.
    pub struct Everything;
    /// A snapshot as a whole.
    pub struct ReadPoint;
    /// The records of a collection.
    pub struct Records;
    /// The keys of a keyspace.
    pub struct Keys;
    /// The nodes and edges of a graph.
    pub struct Nodes;
    /// The trees of a tenant.
    pub struct Trees;
    /// The answers of a cache.
    pub struct Cached;
    /// Facts.
    pub struct Stated;
}

/// The permission that a key needs to request it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Reads the tenant's data.
    Read,
    /// Changes the tenant's data.
    Write,
    /// Of the whole tenant, or of all tenants.
    Admin,
}

/// The handling of an operation that is requested again because its answer was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// It is done again: nothing changes by it, or nothing more.
    Read,
    /// It is one batch, which holds the idempotency record. When that is there, [`Op::again`] answers.
    Once,
    /// It is several batches. The rest is done, and the answer counts what was done before.
    Resumes,
}
