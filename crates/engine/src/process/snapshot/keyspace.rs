//! A keyspace as it was, here or in the holder.

use std::sync::Arc;

use serde::de::DeserializeOwned;

use crate::codec::Bytes;
use crate::kv::{Entry, KeyPage, KeyScan, Kind};
use crate::process::keyspace::several;
use crate::process::limits::Limits;
use crate::process::snapshot::Remote;
use crate::process::snapshot::request::{KeptKvCall, SnapshotCall};
use crate::snapshot::SnapshotKeyspace as LocalKeyspace;
use crate::{EmbedderChoice, Result};

/// A keyspace of a [`crate::Snapshot`]. What had not expired then is there for as long as the snapshot.
#[derive(Clone)]
pub struct SnapshotKeyspace {
    at: At,
}

#[derive(Clone)]
enum At {
    Here(LocalKeyspace),
    There { remote: Arc<Remote>, name: String, kind: Kind },
}

impl SnapshotKeyspace {
    pub(crate) fn here(local: LocalKeyspace) -> Self {
        Self { at: At::Here(local) }
    }

    pub(crate) fn there(remote: Arc<Remote>, name: &str, kind: Kind) -> Self {
        Self { at: At::There { remote, name: name.into(), kind } }
    }

    pub fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<Vec<u8>>> {
        Ok(self.multi_get(&[key])?.pop().flatten())
    }

    /// The values of several keys, in their order.
    pub fn multi_get<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Vec<Option<Vec<u8>>>> {
        match &self.at {
            At::Here(local) => local.multi_get(keys),
            At::There { remote, name, kind } => {
                let values: Vec<Option<Bytes>> = ask(remote, (name, *kind), KeptKvCall::MultiGet(several(keys)))?;
                Ok(values.into_iter().map(|value| value.map(|value| value.0)).collect())
            }
        }
    }

    /// The values of several keys with when they expire, in their order.
    pub fn entries<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Vec<Option<Entry>>> {
        match &self.at {
            At::Here(local) => local.entries(keys),
            At::There { remote, name, kind } => ask(remote, (name, *kind), KeptKvCall::Entries(several(keys))),
        }
    }

    /// One page of keys.
    pub fn scan(&self, scan: &KeyScan) -> Result<KeyPage> {
        match &self.at {
            At::Here(local) => local.scan(scan),
            At::There { remote, name, kind } => ask(remote, (name, *kind), KeptKvCall::Scan(scan.clone())),
        }
    }
}

fn ask<T: DeserializeOwned>(remote: &Remote, (keyspace, kind): (&str, Kind), call: KeptKvCall) -> Result<T> {
    let call = SnapshotCall::InKeyspace { keyspace: keyspace.into(), kind, call };
    remote.ask(call, &EmbedderChoice::None, &Limits::default())
}
