//! Getting, listing and dropping keyspaces and graphs, and batches over everything.

use serde::{Deserialize, Serialize};

use crate::Result;
use crate::call::Outcome;
use crate::database::Database;
use crate::kv::Kind;
use crate::ops::{Op, Repeat, Scope, View, on};
use crate::transaction::WriteBatch;

/// The id of the keyspace of that name and kind, made when there is none, unless it must exist.
#[derive(Serialize, Deserialize)]
pub struct Open {
    /// The name within the tenant.
    pub name: String,
    /// A keyspace, or a graph.
    pub kind: Kind,
    /// Refuse in place of making one.
    pub must_exist: bool,
}

impl Op for Open {
    type On = on::Everything;
    type Answer = u32;
    const NAME: &'static str = "keyspaces.open";
    const SCOPE: Scope = Scope::Write;

    fn run(self, view: &View<'_>) -> Result<u32> {
        let keyspace = view.database()?.keyspace(&self.name, self.kind, self.must_exist)?;
        Ok(keyspace.space.shard.collection)
    }
}

/// Names of all keyspaces of that kind.
#[derive(Serialize, Deserialize)]
pub struct Names(pub Kind);

impl Op for Names {
    type On = on::Everything;
    type Answer = Vec<String>;
    const NAME: &'static str = "keyspaces.names";

    fn run(self, view: &View<'_>) -> Result<Self::Answer> {
        view.database()?.names_of(self.0)
    }
}

/// Deletes a keyspace of that kind with everything in it. False when there is none.
#[derive(Serialize, Deserialize)]
pub struct Drop {
    /// The name within the tenant.
    pub name: String,
    /// A keyspace, or a graph.
    pub kind: Kind,
}

impl Op for Drop {
    type On = on::Everything;
    type Answer = bool;
    const NAME: &'static str = "keyspaces.drop";
    const SCOPE: Scope = Scope::Write;
    const REPEAT: Repeat = Repeat::Once;

    fn run(self, view: &View<'_>) -> Result<bool> {
        view.database()?.drop_kind(&self.name, self.kind)
    }

    fn again(self, _: &Database, outcome: Outcome) -> Result<bool> {
        Ok(outcome.dropped > 0)
    }
}

impl Op for WriteBatch {
    type On = on::Everything;
    type Answer = ();
    const NAME: &'static str = "batch.write";
    const SCOPE: Scope = Scope::Write;
    const REPEAT: Repeat = Repeat::Once;

    fn run(self, view: &View<'_>) -> Result<()> {
        view.database()?.write(self)
    }

    fn again(self, _: &Database, _: Outcome) -> Result<()> {
        Ok(())
    }
}
