//! Reads of one moment: of now, or of the snapshot that the header names.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use nuthatch_link::{
    Database, Error, Files, Keys, LivingValue, Nodes, Records, Result as EngineResult, Snapshot, Statements,
    StoredRecord, Transaction,
};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::access::Scope;
use crate::api::batches::Graph as GraphWrites;
use crate::caller::{Caller, SNAPSHOT};
use crate::problem::Problem;
use crate::shared::Shared;
use crate::snapshots;

/// The header of all reads that a snapshot answers.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Header)]
#[allow(dead_code, reason = "it describes what `ReadingAt` reads")]
pub struct AsOf {
    /// The id of a snapshot to read from; without it, the current data is read.
    #[serde(rename = "x-nuthatch-snapshot")]
    snapshot: Option<String>,
}

/// A caller who may read, and as of when.
pub struct ReadingAt {
    pub caller: Caller,
    pub read_point: ReadPoint,
}

pub enum ReadPoint {
    Now,
    Then(Snapshot),
}

impl FromRequestParts<Arc<Shared>> for ReadingAt {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, shared: &Arc<Shared>) -> Result<Self, Problem> {
        let caller = Caller::identify(parts, shared, Some(Scope::Read))?.allowed(Scope::Read)?;
        let read_point = match parts.headers.get(SNAPSHOT) {
            None => ReadPoint::Now,
            // A header that is not text names no snapshot.
            Some(id) => ReadPoint::Then(snapshots::get(&caller, id.to_str().unwrap_or_default())?),
        };
        Ok(Self { caller, read_point })
    }
}

impl ReadPoint {
    pub fn is_now(&self) -> bool {
        matches!(self, Self::Now)
    }

    /// # Errors
    /// `NotFound` without such a collection; `Conflict` when the snapshot has ended.
    pub fn records(&self, database: &Database, collection: &str) -> EngineResult<Records<'static>> {
        match self {
            Self::Now => Ok((*database.existing_collection(collection)?).clone()),
            Self::Then(snapshot) => snapshot.waiting(database.waits()).collection(collection),
        }
    }

    /// Of a snapshot, an empty one where there was none.
    ///
    /// # Errors
    /// `NotFound` without such a keyspace; `Conflict` when the snapshot has ended.
    pub fn keys(&self, database: &Database, keyspace: &str) -> EngineResult<Keys<'static>> {
        match self {
            Self::Now => Ok((*database.existing_keyspace(keyspace)?).clone()),
            Self::Then(snapshot) => snapshot.waiting(database.waits()).kv(keyspace),
        }
    }

    /// Of a snapshot, an empty one where there was none.
    ///
    /// # Errors
    /// `NotFound` without such a graph; `Conflict` when the snapshot has ended.
    pub fn graph(&self, database: &Database, graph: &str) -> EngineResult<Nodes<'static>> {
        match self {
            Self::Now => Ok((*database.existing_graph(graph)?).clone()),
            Self::Then(snapshot) => snapshot.waiting(database.waits()).graph(graph),
        }
    }

    /// Of a snapshot, none where there were none.
    ///
    /// # Errors
    /// `NotFound` without such facts; `Conflict` when the snapshot has ended.
    pub fn facts(&self, database: &Database, facts: &str) -> EngineResult<Statements<'static>> {
        match self {
            Self::Now => Ok((*database.existing_facts(facts)?).clone()),
            Self::Then(snapshot) => snapshot.waiting(database.waits()).facts(facts),
        }
    }

    /// Of a snapshot, one whose calls say `NotFound` where there was none.
    ///
    /// # Errors
    /// `NotFound` without such a tree; `Conflict` when the snapshot has ended.
    pub fn tree(&self, database: &Database, tree: &str) -> EngineResult<Files> {
        match self {
            Self::Now => Ok((*database.existing_tree(tree)?).clone()),
            Self::Then(snapshot) => snapshot.waiting(database.waits()).tree(tree),
        }
    }

    /// See [`Database::cached_value`]; nothing of a snapshot is known without waiting.
    ///
    /// # Errors
    /// Its own.
    pub fn cached_value(
        &self,
        database: &Database,
        keyspace: &str,
        key: &[u8],
    ) -> EngineResult<Option<Option<LivingValue>>> {
        match self {
            Self::Now => database.cached_value(keyspace, key),
            Self::Then(_) => Ok(None),
        }
    }

    /// See [`Database::cached_records`]; as of [`cached_value`](Self::cached_value).
    ///
    /// # Errors
    /// Its own.
    pub fn cached_records<I: AsRef<str>>(
        &self,
        database: &Database,
        collection: &str,
        ids: &[I],
        vectors: bool,
    ) -> EngineResult<Option<Vec<Option<StoredRecord>>>> {
        match self {
            Self::Now => database.cached_records(collection, ids, vectors),
            Self::Then(_) => Ok(None),
        }
    }

    /// Reads a graph as if these writes had been made.
    ///
    /// # Errors
    /// As [`graph`](Self::graph); `Invalid` for writes without a snapshot, or to another graph.
    pub fn read_graph<T>(
        &self,
        database: &Database,
        graph: &str,
        with: Vec<GraphWrites>,
        read: impl FnOnce(&Nodes<'_>) -> EngineResult<T>,
    ) -> EngineResult<T> {
        match self {
            _ if with.is_empty() => read(&self.graph(database, graph)?),
            Self::Now => Err(Error::invalid(format!(
                "`with` holds the writes of a transaction; name its snapshot in the header `{SNAPSHOT}`"
            ))),
            Self::Then(snapshot) => {
                let draft = Transaction::draft_on(snapshot.waiting(database.waits()));
                for writes in with {
                    if writes.graph != graph {
                        let other = writes.graph;
                        return Err(Error::invalid(format!(
                            "the read is of graph {graph:?}, but its `with` writes to graph {other:?}"
                        )));
                    }
                    writes.write(&draft)?;
                }
                read(&*draft.graph(graph)?)
            }
        }
    }
}
