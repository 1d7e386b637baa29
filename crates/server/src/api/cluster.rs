//! A node's part in a cluster: who owns the data, who follows, and handing it over.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::api::reply;
use crate::caller::Operating;
use crate::cluster_state::ClusterState;
use crate::extract::Json;
use crate::problem::Problem;
use crate::shared::{Cluster, Shared};

pub fn routes() -> OpenApiRouter<Arc<Shared>> {
    OpenApiRouter::new().routes(routes!(cluster)).routes(routes!(hand_over))
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct HandOver {
    /// The address of the node that is to own the data. Default: whichever follows.
    to: Option<String>,
    /// Whether this node is to follow, and not own the data again, until it is started anew.
    #[serde(default)]
    drain: bool,
}

/// Returns who owns the data of a cluster, and who follows.
#[utoipa::path(get, path = "/v1/cluster", tag = "process", security(("key" = ["admin"])),
    responses((status = 200, description = "The state", body = ClusterState), (status = 404, description = "Not a node of a cluster", body = Problem)))]
async fn cluster(State(shared): State<Arc<Shared>>, Operating(_): Operating) -> Result<Response, Problem> {
    Ok(reply::json(&node(&shared)?.state()))
}

/// Hands the data over to another node. Calls under way end, later ones wait and are answered by that node.
#[utoipa::path(post, path = "/v1/cluster/hand-over", tag = "process", security(("key" = ["admin"])), request_body = HandOver,
    responses((status = 202, description = "It has begun"), (status = 404, description = "Not a node of a cluster", body = Problem),
        (status = 409, description = "That node does not follow, or no node does", body = Problem)))]
async fn hand_over(
    State(shared): State<Arc<Shared>>,
    Operating(_): Operating,
    Json { value: HandOver { to, drain }, .. }: Json<HandOver>,
) -> Result<Response, Problem> {
    node(&shared)?.hand_over(to.unwrap_or_default(), drain)?;
    Ok(StatusCode::ACCEPTED.into_response())
}

fn node(shared: &Shared) -> Result<&Arc<dyn Cluster>, Problem> {
    shared.cluster().ok_or_else(|| {
        let what = "this server serves a folder of its own; `nuthatch-cluster serve` runs nodes of a cluster";
        Problem::from(nuthatch_link::Error::new(nuthatch_link::ErrorKind::NotFound, what))
    })
}
