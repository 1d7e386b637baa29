//! A snapshot that another process keeps, as this one asks for it.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock, Weak};

use nuthatch_engine::call::Waits;
use nuthatch_engine::kv::Kind;
use nuthatch_engine::ops::Op;
use nuthatch_engine::ops::read_point::{CollectionShard, KeyspaceShard, ShardAsk};
use nuthatch_engine::{EmbedderChoice, Error, Result};
use nuthatch_store::Shard;
use parking_lot::Mutex;

use crate::client::Client;
use crate::meanwhile::Meanwhile;
use crate::request::{self, Ask, Of};
use crate::route::Route;
use crate::tether::Tether;

/// A snapshot that the holder keeps, and how it is asked. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Remote {
    pub link: Route,
    taken: Arc<Taken>,
}

/// State shared by all clones of one.
struct Taken {
    /// Chosen here, so that no other holder ever has one of this number.
    id: u128,
    at_ms: u64,
    client: Weak<Client>,
    tether: Mutex<Option<Tether>>,
    ended: OnceLock<Error>,
    /// The objects requested so far: a transaction asks for the same ones again and again.
    collections: Mutex<HashMap<(Kind, String), Shard>>,
    keyspaces: Mutex<HashMap<(Kind, String), Shard>>,
}

impl Remote {
    /// Has the holder take one. `None` when this process has come to hold the folder meanwhile.
    pub fn take(link: Route) -> Result<Option<Self>> {
        let id = uuid::Uuid::new_v4().as_u128();
        let at_ms = link.now_ms();
        let mut tether = None;
        let waits = Waits::default();
        let mut meanwhile = Meanwhile::new(&EmbedderChoice::None, &waits);
        let is_kept: bool = link.ask_and(Ask::Take(id), &mut meanwhile, &mut |client, connection| {
            tether = Some(Tether::hold(client, id, connection));
        })?;
        let taken = Taken {
            id,
            at_ms,
            client: tether.as_ref().map(Tether::client).unwrap_or_default(),
            tether: Mutex::new(tether),
            ended: OnceLock::new(),
            collections: Mutex::default(),
            keyspaces: Mutex::default(),
        };
        Ok(is_kept.then(|| Self { link, taken: Arc::new(taken) }))
    }

    /// The same, for somebody who waits no longer than this.
    pub fn waiting(&self, waits: Waits) -> Self {
        Self { link: self.link.waiting(waits), taken: self.taken.clone() }
    }

    /// Releases it; every later call gets this error.
    pub fn end(&self, why: Error) {
        self.taken.ended.set(why).ok(); // the first reason stays
        self.taken.tether.lock().take();
    }

    /// True when it was ended here.
    pub fn has_ended(&self) -> bool {
        self.taken.ended.get().is_some()
    }

    /// True when it has gone with the process that held the folder as it was taken.
    pub fn is_lost(&self) -> bool {
        !self.link.is_served_by(&self.taken.client)
    }

    /// Where the rows of a collection are.
    pub fn collection(&self, name: &str) -> Result<Shard> {
        let shard = self.shard(&self.taken.collections, (Kind::Plain, name), CollectionShard(name.into()))?;
        shard.ok_or_else(|| Error::internal("the process that holds the folder did not return a collection"))
    }

    /// Where the keys of a keyspace or the rows of a graph are; `None` when there is none, and none is made.
    pub fn keyspace(&self, name: &str, kind: Kind, make: bool) -> Result<Option<Shard>> {
        self.shard(&self.taken.keyspaces, (kind, name), KeyspaceShard { name: name.into(), kind, make })
    }

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

    /// Where the rows of a collection or the keys of a keyspace are; `None` for a keyspace that does not exist.
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
