//! The snapshot that callers see: the local one where this process holds the folder, one that the holder keeps where another
//! does.
//!
//! **Invariant:** a snapshot in another process lasts as long as that process holds the folder, the snapshot is young
//! enough, and the handle or the process that took it lives. Once it has ended, every later call says why; no call ever
//! answers as of another moment.

mod kept;

use std::time::Duration;

use nuthatch_store::Shard;

pub use kept::{Holder, KeepPolicy, KeptSnapshots, Listed, NotKept, Owner};

use nuthatch_engine::call::{Call, Waits};
use nuthatch_engine::kv::Kind;
use nuthatch_engine::ops::read_point::{Commit, ReadsAsk};
use nuthatch_engine::snapshot::Snapshot as LocalSnapshot;
use nuthatch_engine::transaction::{Reads, WriteBatch};
use nuthatch_engine::tree::TREES;
use nuthatch_engine::{EmbedderChoice, Error, ErrorKind, Result};

use crate::facts::Statements;
use crate::graph::Nodes;
use crate::keyspace::Keys;
use crate::records::{self, Records};
use crate::remote::Remote;
use crate::request;
use crate::route::Route;
use crate::rows;
use crate::tree::Files;

/// A consistent view of the whole database. Cheap to take and to clone; ends with its last clone, with the database,
/// when it is older than [`crate::Options::snapshot_age_max`], or when the process that held the folder as it was taken
/// ends.
#[derive(Clone)]
pub struct Snapshot {
    at: At,
}

#[derive(Clone)]
enum At {
    Here(LocalSnapshot),
    There(Remote),
}

impl Snapshot {
    pub(crate) fn here(local: LocalSnapshot) -> Self {
        Self { at: At::Here(local) }
    }

    /// One that the holder keeps. `None` when this process has come to hold the folder.
    pub(crate) fn there(link: Route) -> Result<Option<Self>> {
        Ok(Remote::take(link)?.map(|remote| Self { at: At::There(remote) }))
    }

    /// The same snapshot, for somebody who waits no longer than this: see [`Database::waiting`](crate::Database::waiting).
    #[must_use]
    pub fn waiting(&self, waits: Waits) -> Self {
        let at = match &self.at {
            At::Here(local) => At::Here(local.on_behalf_of(&Call::default().waiting(waits))),
            At::There(remote) => At::There(remote.waiting(waits)),
        };
        Self { at }
    }

    /// How long ago it was taken.
    pub fn age(&self) -> Duration {
        match &self.at {
            At::Here(local) => local.age(),
            At::There(remote) => Duration::from_millis(remote.link.now_ms().saturating_sub(remote.taken_at_ms())),
        }
    }

    /// From now on it ends when it goes unread for that long. A remote one ends by its holder's limits.
    pub(crate) fn end_when_idle(&self, after: Duration) {
        if let At::Here(local) = &self.at {
            local.end_when_idle(after);
        }
    }

    /// Ends it for all its clones, keyspaces and collections, which say `Closed` from here on.
    pub fn close(&self) {
        self.end(Error::new(ErrorKind::Closed, "the snapshot is closed; take another one"));
    }

    /// The collection of that name.
    ///
    /// # Errors
    /// `NotFound` when there was none; `Closed` when the snapshot has ended; `Conflict` when it is too old, or went with the
    /// process that held the folder.
    pub fn collection(&self, name: &str) -> Result<Records<'static>> {
        Ok(Records { from: records::From::Then(self.kept_collection(name)?) })
    }

    pub(crate) fn kept_collection(&self, name: &str) -> Result<records::SnapshotRecords> {
        match &self.at {
            At::Here(local) => Ok(records::SnapshotRecords::Here(local.collection(name)?)),
            At::There(remote) => {
                let shard = remote.collection(name)?;
                Ok(records::SnapshotRecords::There { remote: remote.clone(), name: name.into(), shard })
            }
        }
    }

    /// The keyspace of that name; an empty one when there was none.
    ///
    /// # Errors
    /// `Closed` or `Conflict` as [`collection`](Self::collection).
    pub fn kv(&self, name: &str) -> Result<Keys<'static>> {
        Ok(Keys { from: rows::From::Then(self.keyspace(name, Kind::Plain)?) })
    }

    /// The graph of that name; an empty one when there was none.
    ///
    /// # Errors
    /// `Closed` or `Conflict` as [`collection`](Self::collection).
    pub fn graph(&self, name: &str) -> Result<Nodes<'static>> {
        Ok(Nodes { from: rows::From::Then(self.keyspace(name, Kind::Graph)?) })
    }

    /// The facts of that name; none when there were none.
    ///
    /// # Errors
    /// `Closed` or `Conflict` as [`collection`](Self::collection).
    pub fn facts(&self, name: &str) -> Result<Statements<'static>> {
        Ok(Statements { from: rows::From::Then(self.keyspace(name, Kind::Facts)?) })
    }

    /// The tree of that name, as it was; calls say `NotFound` when there was none.
    ///
    /// # Errors
    /// `Closed` or `Conflict` as [`collection`](Self::collection).
    pub fn tree(&self, name: &str) -> Result<Files> {
        Ok(Files::new(rows::From::Then(self.keyspace(TREES, Kind::Trees)?), name))
    }

    fn keyspace(&self, name: &str, kind: Kind) -> Result<rows::SnapshotRows> {
        match &self.at {
            At::Here(local) => Ok(rows::SnapshotRows::Here(local.keyspace(name, kind)?)),
            At::There(remote) => {
                remote.keyspace(name, kind, false)?;
                Ok(rows::SnapshotRows::There { remote: remote.clone(), name: name.into(), kind })
            }
        }
    }

    /// The keyspace of that name and kind, made for later when there was none, and where its keys are.
    pub(crate) fn made_keyspace(&self, name: &str, kind: Kind) -> Result<(rows::SnapshotRows, Shard)> {
        match &self.at {
            At::Here(local) => {
                let (kept, shard) = local.made_keyspace(name, kind)?;
                Ok((rows::SnapshotRows::Here(kept), shard))
            }
            At::There(remote) => {
                let shard = remote
                    .keyspace(name, kind, true)?
                    .ok_or_else(|| Error::internal("the process that holds the folder did not return a keyspace"))?;
                Ok((rows::SnapshotRows::There { remote: remote.clone(), name: name.into(), kind }, shard))
            }
        }
    }

    /// Writes a batch if everything in `reads` is still as in the snapshot.
    ///
    /// # Errors
    /// `Conflict` when it is not, or when the snapshot has gone with its holder: nothing was written.
    pub(crate) fn commit(&self, reads: &Reads, mut batch: WriteBatch) -> Result<()> {
        match &self.at {
            At::Here(local) => local.commit(reads, batch),
            At::There(remote) => {
                remote.link.here()?.embed(&mut batch)?;
                let commit = Commit { reads: ReadsAsk::from(reads), batch };
                remote.ask(request::SnapshotPart::Everything, &EmbedderChoice::Auto, &commit)
            }
        }
    }

    /// Releases what it holds; every later call gets this error.
    pub(crate) fn end(&self, why: Error) {
        match &self.at {
            At::Here(local) => local.end(why),
            At::There(remote) => remote.end(why),
        }
    }

    /// True when nothing can be read of it any more. A remote one may have ended there unnoticed.
    pub fn has_ended(&self) -> bool {
        match &self.at {
            At::Here(local) => local.has_ended(),
            At::There(remote) => remote.has_ended() || self.is_lost(),
        }
    }

    /// True when it has gone with the process that held the folder as it was taken.
    pub(crate) fn is_lost(&self) -> bool {
        match &self.at {
            At::Here(_) => false,
            At::There(remote) => remote.is_lost(),
        }
    }
}
