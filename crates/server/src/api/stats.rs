//! Statistics: rows, bytes on disk and bytes in memory, by part.

use std::sync::Arc;

use axum::response::Response;
use nuthatch_link::Stats as EngineStats;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::api::collections::Described;
use crate::api::reply;
use crate::caller::Operating;
use crate::problem::Problem;
use crate::shared::Shared;

pub fn routes() -> OpenApiRouter<Arc<Shared>> {
    OpenApiRouter::new().routes(routes!(stats))
}

/// Collections, bytes on disk, and bytes in memory.
#[derive(Serialize, ToSchema)]
struct Stats {
    collections: Vec<Described>,
    /// Bytes of the folder's files, by part. `truth_bytes` is the deprecated name of `store_bytes`.
    #[schema(value_type = Object)]
    disk: Value,
    /// Resident bytes by part, and what the operating system measures for the whole process. Names with `truth_` are
    /// deprecated; use those with `store_`.
    #[schema(value_type = Object)]
    memory: Value,
    /// Open snapshots and transactions.
    snapshots: u64,
    /// Age of the oldest one.
    snapshot_age_ms: u64,
}

/// Returns rows, bytes on disk and resident bytes by part.
#[utoipa::path(get, path = "/v1/stats", tag = "administration", security(("key" = ["admin"])),
    responses((status = 200, description = "What the tenant stores and uses", body = Stats)))]
async fn stats(Operating(caller): Operating) -> Result<Response, Problem> {
    let stats = caller.run(|database| database.stats()).await?;
    Ok(reply::json(&Stats::from(stats)))
}

pub fn as_json(stats: EngineStats) -> Value {
    serde_json::to_value(Stats::from(stats)).expect("numbers and strings are JSON")
}

impl From<EngineStats> for Stats {
    fn from(stats: EngineStats) -> Self {
        Self {
            collections: stats.collections.into_iter().map(Described::from).collect(),
            disk: stats.disk.as_json(),
            memory: stats.memory.as_json(),
            snapshots: stats.snapshots,
            snapshot_age_ms: stats.snapshot_age.as_millis() as u64,
        }
    }
}
