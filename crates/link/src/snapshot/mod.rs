//! The snapshot that callers see: the local one where this process holds the folder, one that the holder keeps where another
//! does.
//!
//! **Invariant:** a snapshot that another process keeps is there for as long as that process holds the folder, it is young
//! enough, and the handle or the process that took it lives. Whatever ends it is told by every later call; no call ever answers
//! as of another moment.

mod kept;
mod tether;
mod tethered;

use std::collections::HashMap;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use nuthatch_store::Shard;
use parking_lot::Mutex;

pub use kept::{Holder, KeepPolicy, KeptSnapshots, Listed, NotKept, Owner};
pub(crate) use tether::Tether;
pub(crate) use tethered::Tethered;

use nuthatch_engine::call::{Call, Waits};
use nuthatch_engine::kv::Kind;
use nuthatch_engine::ops::Op;
use nuthatch_engine::ops::read_point::{CollectionShard, Commit, KeyspaceShard, ReadsAsk, ShardAsk};
use nuthatch_engine::snapshot::Snapshot as LocalSnapshot;
use nuthatch_engine::transaction::{Reads, WriteBatch};
use nuthatch_engine::{EmbedderChoice, Error, ErrorKind, Result};

use crate::client::Client;
use crate::graph::Nodes;
use crate::keyspace::Keys;
use crate::meanwhile::Meanwhile;
use crate::records::{self, Records};
use crate::request::{self, Ask, Of};
use crate::route::Route;
use crate::rows;

/// A consistent view of the whole database. Cheap to take and to clone; ends with its last clone, with the database, when it
/// is older than [`crate::Options::snapshot_age_max`], or when the process that held the folder as it was taken has gone.
#[derive(Clone)]
pub struct Snapshot {
    at: At,
}

#[derive(Clone)]
enum At {
    Here(LocalSnapshot),
    There(Remote),
}

/// A snapshot that the holder keeps, and how it is asked. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Remote {
    pub link: Route,
    taken: Arc<Taken>,
}

/// What all clones of one share.
struct Taken {
    /// Chosen here, so that no other holder ever has one of this number.
    id: u128,
    at_ms: u64,
    client: Weak<Client>,
    tether: Mutex<Option<Tether>>,
    ended: OnceLock<Error>,
    /// What has been asked for: a transaction asks for the same ones again and again.
    collections: Mutex<HashMap<(Kind, String), Shard>>,
    keyspaces: Mutex<HashMap<(Kind, String), Shard>>,
}

impl Snapshot {
    pub(crate) fn here(local: LocalSnapshot) -> Self {
        Self { at: At::Here(local) }
    }

    /// One that the holder keeps. `None` when this process has come to hold the folder meanwhile.
    pub(crate) fn there(link: Route) -> Result<Option<Self>> {
        let id = uuid::Uuid::new_v4().as_u128();
        let taken_at_ms = link.now_ms();
        let mut tether = None;
        let waits = Waits::default();
        let mut meanwhile = Meanwhile::new(&EmbedderChoice::None, &waits);
        meanwhile.tether = Some((id, &mut tether));
        let is_kept: bool = link.ask_meanwhile(Ask::Take(id), &mut meanwhile)?;
        let taken = Taken {
            id,
            at_ms: taken_at_ms,
            client: tether.as_ref().map(Tether::client).unwrap_or_default(),
            tether: Mutex::new(tether),
            ended: OnceLock::new(),
            collections: Mutex::default(),
            keyspaces: Mutex::default(),
        };
        Ok(is_kept.then(|| Self { at: At::There(Remote { link, taken: Arc::new(taken) }) }))
    }

    /// The same snapshot, for somebody who waits no longer than this: see [`Database::waiting`](crate::Database::waiting).
    #[must_use]
    pub fn waiting(&self, waits: Waits) -> Self {
        let at = match &self.at {
            At::Here(local) => At::Here(local.on_behalf_of(&Call::default().waiting(waits))),
            At::There(remote) => At::There(Remote { link: remote.link.waiting(waits), taken: remote.taken.clone() }),
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

    /// What the time is, where it is kept.
    pub(crate) fn now_ms(&self) -> u64 {
        match &self.at {
            At::Here(local) => local.now_ms(),
            At::There(remote) => remote.link.now_ms(),
        }
    }

    /// From here on it ends when nobody has read it for that long. One that another process keeps ends when that process says so.
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
                let shard =
                    remote.shard(&remote.taken.collections, (Kind::Plain, name), CollectionShard(name.into()))?;
                let shard = shard
                    .ok_or_else(|| Error::internal("the process that holds the folder did not return a collection"))?;
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

    fn keyspace(&self, name: &str, kind: Kind) -> Result<rows::SnapshotRows> {
        match &self.at {
            At::Here(local) => Ok(rows::SnapshotRows::Here(local.keyspace(name, kind)?)),
            At::There(remote) => {
                let found = KeyspaceShard { name: name.into(), kind, make: false };
                remote.shard(&remote.taken.keyspaces, (kind, name), found)?;
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
                let made = KeyspaceShard { name: name.into(), kind, make: true };
                let shard = remote.shard(&remote.taken.keyspaces, (kind, name), made)?;
                let shard = shard
                    .ok_or_else(|| Error::internal("the process that holds the folder did not return a keyspace"))?;
                Ok((rows::SnapshotRows::There { remote: remote.clone(), name: name.into(), kind }, shard))
            }
        }
    }

    /// Writes a batch, if everything in `reads` is as the snapshot has it.
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

    /// Lets go of what it holds; every later call gets this error.
    pub(crate) fn end(&self, why: Error) {
        match &self.at {
            At::Here(local) => local.end(why),
            At::There(remote) => {
                remote.taken.ended.set(why).ok(); // the first reason stays
                remote.taken.tether.lock().take();
            }
        }
    }

    /// True when nothing can be read of it any more. One that another process keeps may have ended there without a word.
    pub fn has_ended(&self) -> bool {
        match &self.at {
            At::Here(local) => local.has_ended(),
            At::There(remote) => remote.taken.ended.get().is_some() || self.is_lost(),
        }
    }

    /// True when it has gone with the process that held the folder as it was taken.
    pub(crate) fn is_lost(&self) -> bool {
        match &self.at {
            At::Here(_) => false,
            At::There(remote) => !remote.link.is_served_by(&remote.taken.client),
        }
    }
}

impl Remote {
    pub fn taken_at_ms(&self) -> u64 {
        self.taken.at_ms
    }

    pub fn ask<O: Op>(&self, of: request::SnapshotPart, embedder: &EmbedderChoice, op: &O) -> Result<O::Answer> {
        if let Some(why) = self.taken.ended.get() {
            return Err(why.clone());
        }
        // In a fork it is asked for through a connection of the fork's own, and lives as long as in the process that took it.
        self.link.here()?.ask(Of::Snapshot { id: self.taken.id, of }, embedder, op)
    }

    /// Where the rows of a collection or the keys of a keyspace are; `None` for a keyspace that there is not.
    fn shard(
        &self,
        known: &Mutex<HashMap<(Kind, String), Shard>>,
        (kind, name): (Kind, &str),
        find: impl Op<Answer = Option<ShardAsk>>,
    ) -> Result<Option<Shard>> {
        if self.taken.ended.get().is_none()
            && self.link.is_served_by(&self.taken.client)
            && let Some(shard) = known.lock().get(&(kind, name.to_string()))
        {
            return Ok(Some(*shard));
        }
        let shard = self.ask(request::SnapshotPart::Everything, &EmbedderChoice::None, &find)?.map(Shard::from);
        if let Some(shard) = shard {
            known.lock().insert((kind, name.into()), shard);
        }
        Ok(shard)
    }
}
