//! Batches: writes to several keyspaces, graphs, collections and facts that stand or fall together.

use std::sync::Arc;

use axum::response::Response;
use nuthatch_link::{Database, Error, Result as EngineResult, Transaction, WriteBatch};
use serde::Deserialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::api::bytes::Bytes;
use crate::api::durable::Durably;
use crate::api::files::{refuse_empty, splitting};
use crate::api::keys::Change;
use crate::api::nodes::{Edge, EdgeId, Node, edges_into_engine, ids_into_engine, nodes_into_engine};
use crate::api::records::into_engine;
use crate::api::reply;
use crate::caller::Writing;
use crate::extract::{Json, Parameters};
use crate::problem::Problem;
use crate::shared::Shared;
use nuthatch_dialect::Record;
use nuthatch_dialect::facts::{FactToRecord, to_record};

pub fn routes() -> OpenApiRouter<Arc<Shared>> {
    OpenApiRouter::new().routes(routes!(write))
}

/// Writes, applied atomically. If several change the same key or record, the last one counts.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Batch {
    writes: Vec<Write>,
}

/// Writes to one keyspace, one graph, one collection, or facts of one name.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "lowercase")]
#[schema(as = BatchWrite)]
enum Write {
    /// The name; it is created if it does not exist.
    Keys(Keys),
    /// The name; it is created if it does not exist.
    Graph(Graph),
    /// The name; it must exist.
    Records(Records),
    /// As of records.
    Files(Files),
    /// The name; they are created if there are none.
    Facts(Facts),
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = BatchKeys)]
pub struct Keys {
    pub keyspace: String,
    pub changes: Vec<Change>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = BatchGraph)]
pub struct Graph {
    pub graph: String,
    /// Ids of nodes to delete first, with all edges that they have at the time of the write.
    #[serde(default)]
    pub delete_nodes: Vec<String>,
    /// Edges to delete, after the nodes.
    #[serde(default)]
    pub delete_edges: Vec<EdgeId>,
    /// Nodes to put.
    #[serde(default)]
    pub put_nodes: Vec<Node>,
    /// Edges to put.
    #[serde(default)]
    pub put_edges: Vec<Edge>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = BatchRecords)]
pub struct Records {
    pub collection: String,
    /// Records to insert or replace.
    #[serde(default)]
    pub upsert: Vec<Record>,
    /// Ids of records to delete, before the inserts.
    #[serde(default)]
    pub delete: Vec<String>,
}

/// Facts to take back and to record, after all other writes of the batch: a source may be a record that the batch writes.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = BatchFacts)]
pub struct Facts {
    pub facts: String,
    /// Numbers of facts to take back, before others are recorded.
    #[serde(default)]
    pub retract: Vec<u64>,
    /// 10,000 at most.
    #[serde(default)]
    pub record: Vec<FactToRecord>,
}

/// Files of a collection, removed and added in the order of these lists as part of the batch. A batch names each file
/// at most once.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = BatchFiles)]
struct Files {
    collection: String,
    #[serde(default)]
    remove: Vec<RemovedFile>,
    #[serde(default)]
    add: Vec<AddedFile>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = BatchAddedFile)]
struct AddedFile {
    /// The path of the file in the collection; its extension gives the type, for example `notes/plan.md`.
    #[schema(min_length = 1)]
    path: String,
    content: Bytes,
    /// Maximum characters of a passage, at least 64; default 900.
    #[schema(minimum = 1)]
    passage_chars: Option<usize>,
    /// Characters that a passage repeats from the end of the previous one.
    overlap_chars: Option<usize>,
    /// The revision from a preview: 409 if the stored file has changed since.
    revision: Option<String>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = BatchRemovedFile)]
struct RemovedFile {
    /// The file; without a revision, also a folder with all its files.
    #[schema(min_length = 1)]
    path: String,
    /// The revision from a listing: 409 if the stored file has changed since.
    revision: Option<String>,
}

/// Writes to several keyspaces, graphs, collections and facts in one atomic batch.
#[utoipa::path(post, path = "/v1/batches", tag = "batches", security(("key" = ["write"])), params(Durably),
    request_body = Batch, responses((status = 204, description = "Written")))]
async fn write(
    Writing(caller): Writing,
    Parameters(how): Parameters<Durably>,
    Json { value, held }: Json<Batch>,
) -> Result<Response, Problem> {
    let written = caller.run(move |database| {
        let mut batch = WriteBatch::new().with_durability(how.durability.into());
        for write in value.writes {
            match write {
                Write::Keys(Keys { keyspace, changes }) => {
                    batch.kv(&keyspace, changes.into_iter().map(Into::into).collect());
                }
                Write::Graph(Graph { graph, delete_nodes, delete_edges, put_nodes, put_edges }) => {
                    batch
                        .graph(&graph)
                        .delete_nodes(&delete_nodes)?
                        .delete_edges(&ids_into_engine(delete_edges))?
                        .put_nodes(&nodes_into_engine(put_nodes)?)?
                        .put_edges(&edges_into_engine(put_edges)?)?;
                }
                Write::Records(Records { collection, upsert, delete }) => {
                    batch.delete_records(&collection, delete);
                    batch.upsert(&collection, into_engine(upsert)?);
                }
                Write::Files(files) => files.join(database, &mut batch)?,
                Write::Facts(Facts { facts, retract, record }) => {
                    batch.facts(&facts).retract(&retract).record(to_record(record)?)?;
                }
            }
        }
        let written = database.write(batch);
        drop(held);
        written
    });
    written.await.map(|()| reply::nothing())
}

impl Graph {
    /// Takes all of it into a transaction.
    pub fn write(self, transaction: &Transaction) -> EngineResult<()> {
        let Self { graph, delete_nodes, delete_edges, put_nodes, put_edges } = self;
        let graph = transaction.graph(&graph)?;
        graph.delete_nodes(&delete_nodes)?;
        graph.delete_edges(&ids_into_engine(delete_edges))?;
        graph.put_nodes(&nodes_into_engine(put_nodes)?)?;
        graph.put_edges(&edges_into_engine(put_edges)?)
    }
}

impl Files {
    /// Splits what is added, and takes all of it into a batch.
    fn join(self, database: &Database, batch: &mut WriteBatch) -> EngineResult<()> {
        let collection = database.existing_collection(&self.collection)?;
        for RemovedFile { path, revision } in self.remove {
            refuse_empty(&path)?;
            match revision {
                Some(revision) => batch.remove_file(&collection, &path, &revision)?,
                None => drop(batch.remove_files(&collection, &path)?),
            }
        }
        for AddedFile { path, content, passage_chars, overlap_chars, revision } in self.add {
            let (content, options) = (content.into_vec(), splitting(passage_chars, overlap_chars));
            let report = batch.add_document(&collection, &path, &content, options, revision.as_deref())?;
            if let Some(skipped) = report.skipped.first() {
                return Err(Error::invalid(skipped.why.clone()));
            }
        }
        Ok(())
    }
}
