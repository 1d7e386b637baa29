//! The routes, one file a noun. Every address and type here is in the OpenAPI document by the same lines that serve it.

mod answer_size;
mod audit;
mod backups;
mod batches;
mod bytes;
mod caches;
mod callers;
mod cluster;
pub mod collections;
mod conditions;
pub mod durable;
mod facts;
mod files;
mod graphs;
mod ingest;
mod keys;
mod keyspaces;
mod maintenance;
mod named;
mod nodes;
mod openapi;
mod process;
mod read_point;
mod records;
pub mod reply;
pub mod search;
mod snapshots;
pub mod stats;
mod tenants;
mod transactions;
mod tree_code;
mod tree_entries;
mod tree_files;
mod tree_grep;
mod tree_search;
mod tree_sending;
mod tree_uploads;
mod trees;

use std::sync::Arc;

use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;

use crate::shared::Shared;

pub use openapi::document;

/// Every route.
pub fn all() -> OpenApiRouter<Arc<Shared>> {
    OpenApiRouter::new()
        .merge(process::routes())
        .merge(cluster::routes())
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
        .merge(trees::routes())
        .merge(tree_files::routes())
        .merge(tree_grep::routes())
        .merge(tree_code::routes())
        .merge(tree_search::routes())
        .merge(caches::routes())
        .merge(facts::routes())
        .merge(batches::routes())
        .merge(snapshots::routes())
        .merge(transactions::routes())
        .merge(stats::routes())
        .merge(tenants::routes())
        .merge(maintenance::routes())
        .merge(backups::routes())
        .merge(audit::routes())
}

/// The routes as a document.
pub fn described() -> OpenApi {
    all().to_openapi()
}
