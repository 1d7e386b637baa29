//! Reads of one moment: of now, or of the snapshot that the header names.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use nuthatch_engine::{
    Answer, Collection, Database, Edge, EdgeId, Error, FileInfo, Graph, KeyPage, KeyScan, Keyspace, ListNodes,
    LivingValue, NeighborPage, Neighbors, Node, NodePage, Page, Result as EngineResult, Scan, Search, Snapshot,
    SnapshotCollection, SnapshotGraph, SnapshotKeyspace, StoredRecord, Transaction, TransactionGraph, Traversal,
    Traverse,
};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::access::Scope;
use crate::api::batches::Graph as GraphWrites;
use crate::caller::{Caller, SNAPSHOT};
use crate::problem::Problem;
use crate::shared::Shared;
use crate::snapshots::Owner;

/// The header of all reads that a snapshot answers.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Header)]
#[allow(dead_code, reason = "it describes what `ReadingAt` reads")]
pub struct AsOf {
    /// The id of a snapshot, as of which the answer is; left out: as of now.
    #[serde(rename = "x-nuthatch-snapshot")]
    snapshot: Option<String>,
}

/// A caller who may read, and as of when.
pub struct ReadingAt {
    pub caller: Caller,
    pub moment: Moment,
}

pub enum Moment {
    Now,
    Then(Snapshot),
}

/// The records of a collection, as they are or were.
pub enum Records {
    Now(Collection),
    Then(SnapshotCollection),
}

/// The keys of a keyspace, as they are or were.
pub enum Keys {
    Now(Keyspace),
    Then(SnapshotKeyspace),
}

/// The nodes and edges of a graph, as they are or were.
pub enum Nodes<'t> {
    Now(Graph),
    Then(SnapshotGraph),
    /// With what a transaction is going to write.
    Within(TransactionGraph<'t>),
}

impl FromRequestParts<Arc<Shared>> for ReadingAt {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, shared: &Arc<Shared>) -> Result<Self, Problem> {
        let caller = Caller::identify(parts, shared, Some(Scope::Read))?.allowed(Scope::Read)?;
        let moment = match parts.headers.get(SNAPSHOT) {
            None => Moment::Now,
            // What is no text is the id of no snapshot.
            Some(id) => Moment::Then(shared.snapshots.get(&Owner::of(&caller), id.to_str().unwrap_or_default())?),
        };
        Ok(Self { caller, moment })
    }
}

impl Moment {
    /// # Errors
    /// `NotFound` without such a collection; `Conflict` when the snapshot has ended.
    pub fn records(&self, database: &Database, collection: &str) -> EngineResult<Records> {
        match self {
            Self::Now => database.existing_collection(collection).map(Records::Now),
            Self::Then(snapshot) => snapshot.collection(collection).map(Records::Then),
        }
    }

    /// Of a snapshot, an empty one where there was none.
    ///
    /// # Errors
    /// `NotFound` without such a keyspace; `Conflict` when the snapshot has ended.
    pub fn keys(&self, database: &Database, keyspace: &str) -> EngineResult<Keys> {
        match self {
            Self::Now => database.existing_keyspace(keyspace).map(Keys::Now),
            Self::Then(snapshot) => snapshot.kv(keyspace).map(Keys::Then),
        }
    }

    /// Of a snapshot, an empty one where there was none.
    ///
    /// # Errors
    /// `NotFound` without such a graph; `Conflict` when the snapshot has ended.
    fn graph(&self, database: &Database, graph: &str) -> EngineResult<Nodes<'static>> {
        match self {
            Self::Now => database.existing_graph(graph).map(Nodes::Now),
            Self::Then(snapshot) => snapshot.graph(graph).map(Nodes::Then),
        }
    }

    /// See [`Database::value_at_hand`]; nothing of a snapshot is known without waiting.
    ///
    /// # Errors
    /// Its own.
    pub fn value_at_hand(
        &self,
        database: &Database,
        keyspace: &str,
        key: &[u8],
    ) -> EngineResult<Option<Option<LivingValue>>> {
        match self {
            Self::Now => database.value_at_hand(keyspace, key),
            Self::Then(_) => Ok(None),
        }
    }

    /// See [`Database::records_at_hand`]; as of [`value_at_hand`](Self::value_at_hand).
    ///
    /// # Errors
    /// Its own.
    pub fn records_at_hand<I: AsRef<str>>(
        &self,
        database: &Database,
        collection: &str,
        ids: &[I],
        vectors: bool,
    ) -> EngineResult<Option<Vec<Option<StoredRecord>>>> {
        match self {
            Self::Now => database.records_at_hand(collection, ids, vectors),
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
                let draft = Transaction::draft_on(snapshot.clone());
                for writes in with {
                    if writes.graph != graph {
                        let other = writes.graph;
                        return Err(Error::invalid(format!(
                            "the read is of graph {graph:?}, but its `with` writes to graph {other:?}"
                        )));
                    }
                    writes.write(&draft)?;
                }
                read(&Nodes::Within(draft.graph(graph)?))
            }
        }
    }
}

impl Records {
    pub fn get(&self, ids: &[impl AsRef<str>], vectors: bool) -> EngineResult<Vec<Option<StoredRecord>>> {
        match self {
            Self::Now(collection) => collection.get(ids, vectors),
            Self::Then(collection) => collection.get(ids, vectors),
        }
    }

    pub fn count(&self, filter: Option<&str>) -> EngineResult<u64> {
        match self {
            Self::Now(collection) => collection.count(filter),
            Self::Then(collection) => collection.count(filter),
        }
    }

    pub fn scan(&self, scan: &Scan) -> EngineResult<Page> {
        match self {
            Self::Now(collection) => collection.scan(scan),
            Self::Then(collection) => collection.scan(scan),
        }
    }

    pub fn search(&self, search: &Search) -> EngineResult<Answer> {
        match self {
            Self::Now(collection) => collection.search(search),
            Self::Then(collection) => collection.search(search),
        }
    }

    pub fn search_many(&self, searches: &[Search]) -> EngineResult<Vec<Answer>> {
        match self {
            Self::Now(collection) => collection.search_many(searches),
            Self::Then(collection) => collection.search_many(searches),
        }
    }

    pub fn files(&self, prefix: &str) -> EngineResult<Vec<FileInfo>> {
        match self {
            Self::Now(collection) => collection.files(prefix),
            Self::Then(collection) => collection.files(prefix),
        }
    }
}

impl Keys {
    pub fn get(&self, key: &[u8]) -> EngineResult<Option<Vec<u8>>> {
        match self {
            Self::Now(keyspace) => keyspace.get(key),
            Self::Then(keyspace) => keyspace.get(key),
        }
    }

    pub fn multi_get(&self, keys: &[Vec<u8>]) -> EngineResult<Vec<Option<Vec<u8>>>> {
        match self {
            Self::Now(keyspace) => keyspace.multi_get(keys),
            Self::Then(keyspace) => keyspace.multi_get(keys),
        }
    }

    pub fn scan(&self, scan: &KeyScan) -> EngineResult<KeyPage> {
        match self {
            Self::Now(keyspace) => keyspace.scan(scan),
            Self::Then(keyspace) => keyspace.scan(scan),
        }
    }
}

impl Nodes<'_> {
    pub fn nodes(&self, ids: &[String]) -> EngineResult<Vec<Option<Node>>> {
        match self {
            Self::Now(graph) => graph.nodes(ids),
            Self::Then(graph) => graph.nodes(ids),
            Self::Within(graph) => graph.nodes(ids),
        }
    }

    pub fn edge(&self, id: &EdgeId) -> EngineResult<Option<Edge>> {
        match self {
            Self::Now(graph) => graph.edge(id),
            Self::Then(graph) => graph.edge(id),
            Self::Within(graph) => graph.edge(id),
        }
    }

    pub fn neighbors(&self, id: &str, ask: &Neighbors) -> EngineResult<NeighborPage> {
        match self {
            Self::Now(graph) => graph.neighbors(id, ask),
            Self::Then(graph) => graph.neighbors(id, ask),
            Self::Within(graph) => graph.neighbors(id, ask),
        }
    }

    pub fn list_nodes(&self, ask: &ListNodes) -> EngineResult<NodePage> {
        match self {
            Self::Now(graph) => graph.list_nodes(ask),
            Self::Then(graph) => graph.list_nodes(ask),
            Self::Within(graph) => graph.list_nodes(ask),
        }
    }

    pub fn traverse(&self, ask: &Traverse) -> EngineResult<Traversal> {
        match self {
            Self::Now(graph) => graph.traverse(ask),
            Self::Then(graph) => graph.traverse(ask),
            Self::Within(graph) => graph.traverse(ask),
        }
    }
}
