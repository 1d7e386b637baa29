//! The routes, one file a noun. Every address and type here is in the OpenAPI document by the same lines that serve it.

mod answer_size;
mod audit;
mod backups;
mod batches;
mod bytes;
mod callers;
pub mod collections;
pub mod durable;
mod files;
mod graphs;
mod ingest;
mod keys;
mod keyspaces;
mod maintenance;
mod named;
mod nodes;
mod process;
mod read_point;
mod records;
mod reply;
pub mod search;
mod snapshots;
pub mod stats;
mod tenants;
mod transactions;

use std::sync::Arc;

use axum::{Router, middleware};
use nuthatch_flight::Health;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;

use crate::audit::watch;
use crate::grpc;
use crate::mcp;
use crate::parameters::refuse_unknown;
use crate::problem::Problem;
use crate::shared::Shared;
use crate::telemetry::observe;

/// Everything that the server answers.
pub fn routes(shared: Arc<Shared>, health: &Health) -> Router {
    let (router, _) = all().split_for_parts();
    router
        .merge(mcp::routes())
        .merge(grpc::routes(&shared, health))
        .fallback(async || Problem::no_such_address())
        .method_not_allowed_fallback(async || Problem::wrong_method())
        .layer(middleware::from_fn_with_state(shared.clone(), watch))
        .layer(middleware::from_fn(refuse_unknown))
        .layer(middleware::from_fn_with_state(shared.clone(), observe))
        .with_state(shared)
}

/// The same as a document.
pub fn described() -> OpenApi {
    all().to_openapi()
}

fn all() -> OpenApiRouter<Arc<Shared>> {
    OpenApiRouter::new()
        .merge(process::routes())
        .merge(callers::routes())
        .merge(collections::routes())
        .merge(records::routes())
        .merge(ingest::routes())
        .merge(search::routes())
        .merge(named::routes())
        .merge(files::routes())
        .merge(keyspaces::routes())
        .merge(keys::routes())
        .merge(graphs::routes())
        .merge(batches::routes())
        .merge(snapshots::routes())
        .merge(transactions::routes())
        .merge(stats::routes())
        .merge(tenants::routes())
        .merge(maintenance::routes())
        .merge(backups::routes())
        .merge(audit::routes())
}
