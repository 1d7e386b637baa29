//! Batches: writes to several keyspaces, graphs and collections that stand or fall together.

use std::sync::Arc;

use axum::response::Response;
use nuthatch_engine::WriteBatch;
use serde::Deserialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::api::durable::Durably;
use crate::api::keys::Change;
use crate::api::nodes::{Edge, EdgeId, Node, edges_into_engine, ids_into_engine, nodes_into_engine};
use crate::api::records::{Record, into_engine};
use crate::api::reply;
use crate::caller::Writing;
use crate::extract::{Json, Parameters};
use crate::problem::Problem;
use crate::shared::Shared;

pub fn routes() -> OpenApiRouter<Arc<Shared>> {
    OpenApiRouter::new().routes(routes!(write))
}

/// What is written: all of it or nothing. Of several changes of one key or record the last holds.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Batch {
    writes: Vec<Write>,
}

/// Writes to one keyspace, one graph, or one collection.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "lowercase")]
#[schema(as = BatchWrite)]
pub enum Write {
    /// It is made when there is none.
    Keys(Keys),
    /// It is made when there is none.
    Graph(Graph),
    /// It must be there.
    Records(Records),
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
    /// Ids of nodes to delete, with all edges that they have when it is written; these go first.
    #[serde(default)]
    pub delete_nodes: Vec<String>,
    /// Edges to delete; these go next.
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
    /// Ids of records to delete; these go first.
    #[serde(default)]
    pub delete: Vec<String>,
}

/// Writes to several keyspaces, graphs and collections at once: all of it or nothing.
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
            }
        }
        let written = database.write(batch);
        drop(held);
        written
    });
    written.await.map(|()| reply::nothing())
}
