//! What is asked of a snapshot in the holder, and how a transaction's reads are spelt on their way there.

use nuthatch_store::{Shard, Table};
use serde::{Deserialize, Serialize};

use crate::codec::Bytes;
use crate::kv::{KeyScan, Kind};
use crate::process::request::Choice;
use crate::process::wire::{ScanAsk, SearchAsk};
use crate::transaction::{Reads, WriteBatch};
use crate::{Error, Result};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum SnapshotCall {
    /// Answered with true, or false when this process holds the folder by now: then it takes one of its own.
    Take,
    /// Answered with `Some` [`ShardAsk`].
    Collection(String),
    /// Answered with a [`ShardAsk`], unless there is none and none is to be made.
    Keyspace {
        name: String,
        kind: Kind,
        make: bool,
    },
    In {
        collection: String,
        embedder: Choice,
        call: KeptCall,
    },
    InKeyspace {
        keyspace: String,
        kind: Kind,
        call: KeptKvCall,
    },
    /// The end of a transaction that has written something.
    Commit {
        reads: ReadsAsk,
        batch: Box<WriteBatch>,
    },
}

/// A call on a collection of a snapshot.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum KeptCall {
    Get { ids: Vec<String>, vectors: bool },
    Count(Option<String>),
    Scan(ScanAsk),
    Search(Box<SearchAsk>),
    SearchMany(Vec<SearchAsk>),
    Files(String),
}

/// A call on a keyspace of a snapshot.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum KeptKvCall {
    MultiGet(Vec<Bytes>),
    Scan(KeyScan),
    Entries(Vec<Bytes>),
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct ShardAsk {
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

/// What a transaction depends on. Tables go as their place among all tables.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct ReadsAsk {
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
    found.ok_or_else(|| Error::invalid(format!("a transaction names table {number}, which there is not")))
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
