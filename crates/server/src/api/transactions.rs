//! The end of a transaction: what was read of a snapshot, and what is to be written if that is still so.

use std::sync::Arc;

use axum::response::Response;
use nuthatch_dialect::facts::to_record;
use nuthatch_link::{KeyScan, KvOp, Result as EngineResult, Transaction};
use serde::Deserialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::api::batches::{Facts, Graph, Keys, Records};
use crate::api::bytes::Bytes;
use crate::api::durable::Durably;
use crate::api::graphs::{Around, Listing};
use crate::api::keyspaces::Scan;
use crate::api::nodes::{EdgeId, ids_into_engine};
use crate::api::records::into_engine;
use crate::api::reply;
use crate::caller::Writing;
use crate::extract::{Json, Parameters, Segments};
use crate::problem::Problem;
use crate::shared::Shared;
use crate::snapshots;

pub fn routes() -> OpenApiRouter<Arc<Shared>> {
    OpenApiRouter::new().routes(routes!(commit))
}

/// The reads and writes of a transaction. Whatever it writes counts as read.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Commit {
    #[serde(default)]
    reads: Vec<Read>,
    writes: Vec<Write>,
}

/// Writes to one keyspace, one graph, one collection, or facts of one name.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "lowercase")]
#[schema(as = TransactionWrite)]
enum Write {
    /// The name; it is created if it does not exist.
    Keys(Keys),
    /// The name; it is created if it does not exist.
    Graph(Graph),
    /// The name; it must exist.
    Records(Records),
    /// The name; they are created if there are none. They do not count as read.
    Facts(Facts),
}

/// The reads that the writes depend on, in one keyspace, one graph or one collection.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "lowercase")]
#[schema(as = TransactionRead)]
enum Read {
    Keys(ReadKeys),
    Graph(ReadGraph),
    Records(ReadRecords),
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = TransactionReadKeys)]
struct ReadKeys {
    keyspace: String,
    /// Keys that the transaction read, whether they existed or not.
    #[serde(default)]
    keys: Vec<Bytes>,
    /// Pages that the transaction read: from the start of a page to the end of its range.
    #[serde(default)]
    scans: Vec<Scan>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = TransactionReadGraph)]
struct ReadGraph {
    graph: String,
    /// Nodes that the transaction read, whether they existed or not.
    #[serde(default)]
    nodes: Vec<String>,
    /// Edges that the transaction read, whether they existed or not.
    #[serde(default)]
    edges: Vec<EdgeId>,
    /// Nodes whose edges the transaction listed, in these directions and of these types.
    #[serde(default)]
    neighbors: Vec<Around>,
    /// Ranges of nodes that the transaction listed.
    #[serde(default)]
    lists: Vec<Listing>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = TransactionReadRecords)]
struct ReadRecords {
    collection: String,
    /// Records that the transaction read, whether they existed or not.
    #[serde(default)]
    ids: Vec<String>,
    /// The transaction searched, counted or listed the collection: any change of it conflicts.
    #[serde(default)]
    all: bool,
}

/// Commits a transaction atomically if nothing that it read or writes has changed since the snapshot; otherwise answers
/// 409 and writes nothing. Either way the snapshot ends, so a repeated call writes nothing twice.
#[utoipa::path(post, path = "/v1/snapshots/{snapshot}/commit", tag = "snapshots", security(("key" = ["write"])),
    params(("snapshot" = String, Path), Durably), request_body = Commit,
    responses((status = 204, description = "Written")))]
async fn commit(
    Writing(caller): Writing,
    Segments(id): Segments<String>,
    Parameters(how): Parameters<Durably>,
    Json { value, held }: Json<Commit>,
) -> Result<Response, Problem> {
    let mine = caller.clone();
    let written = caller.run(move |database| {
        let transaction = Transaction::on(snapshots::remove(&mine, database, &id)?);
        value.reads.into_iter().try_for_each(|read| depend_on(&transaction, read))?;
        value.writes.into_iter().try_for_each(|one| write(&transaction, one))?;
        let written = transaction.commit(how.durability.into());
        drop(held);
        written
    });
    written.await.map(|()| reply::nothing())
}

fn depend_on(transaction: &Transaction, read: Read) -> EngineResult<()> {
    match read {
        Read::Keys(ReadKeys { keyspace, keys, scans }) => {
            let keyspace = transaction.kv(&keyspace)?;
            keyspace.depend_on_keys(&keys.into_iter().map(Bytes::into_vec).collect::<Vec<_>>())?;
            scans.into_iter().try_for_each(|scan| keyspace.depend_on_scan(&KeyScan::from(scan)))
        }
        Read::Graph(ReadGraph { graph, nodes, edges, neighbors, lists }) => {
            let graph = transaction.graph(&graph)?;
            graph.depend_on_nodes(&nodes)?;
            graph.depend_on_edges(&ids_into_engine(edges))?;
            neighbors.into_iter().try_for_each(|around| {
                let id = around.id.clone();
                graph.depend_on_neighbors(&id, &around.into())
            })?;
            lists.into_iter().try_for_each(|listing| graph.depend_on_list(&listing.into()))
        }
        Read::Records(ReadRecords { collection, ids, all }) => {
            let collection = transaction.collection(&collection)?;
            collection.depend_on_records(&ids)?;
            if all { collection.depend_on_everything() } else { Ok(()) }
        }
    }
}

fn write(transaction: &Transaction, write: Write) -> EngineResult<()> {
    match write {
        Write::Keys(Keys { keyspace, changes }) => {
            transaction.kv(&keyspace)?.multi_put(changes.into_iter().map(KvOp::from).collect())
        }
        Write::Graph(graph) => graph.write(transaction),
        Write::Records(Records { collection, upsert, delete }) => {
            let collection = transaction.collection(&collection)?;
            collection.delete(&delete)?;
            collection.upsert(into_engine(upsert)?)
        }
        Write::Facts(Facts { facts, retract, record }) => {
            let facts = transaction.facts(&facts);
            facts.retract(&retract)?;
            facts.record(to_record(record)?)
        }
    }
}
