//! Operations on a snapshot as a whole: its contents, and the end of a transaction.

use nuthatch_store::{Shard, Table};
use serde::{Deserialize, Serialize};

use crate::call::Outcome;
use crate::codec::Bytes;
use crate::database::Database;
use crate::kv::Kind;
use crate::ops::{Op, Repeat, Scope, View, on};
use crate::transaction::{Reads, WriteBatch};
use crate::{Error, Result};

/// Where the rows of a collection are.
#[derive(Serialize, Deserialize)]
pub struct CollectionShard(pub String);

impl Op for CollectionShard {
    type On = on::ReadPoint;
    type Answer = Option<ShardAsk>;
    const NAME: &'static str = "snapshot.collection";

    fn run(self, view: &View<'_>) -> Result<Self::Answer> {
        Ok(Some(view.snapshot()?.collection(&self.0)?.shard()?.into()))
    }
}

/// Where the keys of a keyspace are, unless there is none and none is to be made.
#[derive(Serialize, Deserialize)]
pub struct KeyspaceShard {
    /// The name within the tenant.
    pub name: String,
    /// A keyspace, or a graph.
    pub kind: Kind,
    /// Make it when there is none.
    pub make: bool,
}

impl Op for KeyspaceShard {
    type On = on::ReadPoint;
    type Answer = Option<ShardAsk>;
    const NAME: &'static str = "snapshot.keyspace";

    fn run(self, view: &View<'_>) -> Result<Self::Answer> {
        let snapshot = view.snapshot()?;
        match self.make {
            true => Ok(Some(snapshot.made_keyspace(&self.name, self.kind)?.1.into())),
            false => Ok(snapshot.keyspace(&self.name, self.kind)?.space.map(|space| space.shard.into())),
        }
    }
}

/// The end of a transaction that has written something.
#[derive(Serialize, Deserialize)]
pub struct Commit {
    /// The reads that must not have changed since the snapshot.
    pub reads: ReadsAsk,
    /// The writes.
    pub batch: WriteBatch,
}

impl Op for Commit {
    type On = on::ReadPoint;
    type Answer = ();
    const NAME: &'static str = "snapshot.commit";
    const SCOPE: Scope = Scope::Write;
    const REPEAT: Repeat = Repeat::Once;

    fn run(self, view: &View<'_>) -> Result<()> {
        view.snapshot()?.commit(&self.reads.reads()?, self.batch)
    }

    fn again(self, _: &Database, _: Outcome) -> Result<()> {
        Ok(())
    }
}

/// A [`Shard`] on its way to another process.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct ShardAsk {
    tenant: u32,
    collection: u32,
}

impl From<Shard> for ShardAsk {
    fn from(shard: Shard) -> Self {
        Self { tenant: shard.tenant, collection: shard.collection }
    }
}

impl From<ShardAsk> for Shard {
    fn from(shard: ShardAsk) -> Self {
        Self { tenant: shard.tenant, collection: shard.collection }
    }
}

/// The reads that a transaction depends on. Tables are given by their position among all tables.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ReadsAsk {
    keys: Vec<(u8, Bytes)>,
    /// From and to, exclusive.
    ranges: Vec<(u8, Bytes, Bytes)>,
}

impl From<&Reads> for ReadsAsk {
    fn from(reads: &Reads) -> Self {
        let of = |bytes: &Vec<u8>| Bytes(bytes.clone());
        Self {
            keys: reads.keys().map(|(table, key)| (*table as u8, of(key))).collect(),
            ranges: reads.ranges().map(|(table, from, to)| (*table as u8, of(from), of(to))).collect(),
        }
    }
}

impl ReadsAsk {
    /// The same as the engine takes it.
    pub fn reads(self) -> Result<Reads> {
        let mut reads = Reads::default();
        for (number, key) in self.keys {
            reads.key(table(number)?, key.0);
        }
        for (number, from, to) in self.ranges {
            reads.range(table(number)?, from.0, to.0);
        }
        Ok(reads)
    }
}

fn table(number: u8) -> Result<Table> {
    let found = Table::ALL.into_iter().find(|table| *table as u8 == number);
    found.ok_or_else(|| Error::invalid(format!("a transaction names table {number}, which does not exist")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_transaction_has_read_survives_the_way() {
        let mut reads = Reads::default();
        for table in Table::ALL {
            reads.key(table, table.name().into());
            reads.range(table, vec![0], table.name().into());
        }
        let sent = postcard::to_stdvec(&ReadsAsk::from(&reads)).unwrap();
        let back = postcard::from_bytes::<ReadsAsk>(&sent).unwrap().reads().unwrap();
        assert!(back.keys().eq(reads.keys()) && back.ranges().eq(reads.ranges()));
        let unknown = ReadsAsk { keys: vec![(Table::ALL.len() as u8, Bytes(vec![]))], ranges: vec![] };
        assert!(unknown.reads().is_err());
    }
}
