//! What a server is to whoever asks: whose data they see, what their key allows, how much they may send.

use std::sync::Arc;

use axum::response::Response;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::access::TENANT_DEFAULT;
use crate::api::reply;
use crate::caller::Known;
use crate::problem::Problem;
use crate::shared::Shared;

pub fn routes() -> OpenApiRouter<Arc<Shared>> {
    OpenApiRouter::new().routes(routes!(describe))
}

#[derive(Serialize, ToSchema)]
#[schema(as = Caller)]
struct Me {
    /// The server's.
    version: &'static str,
    /// Whose data is seen; null: the default tenant's.
    tenant: Option<String>,
    /// What the key allows: `read`, `write`, `admin`, which has the others in it.
    scopes: Vec<&'static str>,
    /// Largest body of one request.
    body_bytes_max: u64,
    /// Vectors that the tenant may have; null: as many as it likes.
    vectors_max: Option<u64>,
    /// Bytes of records, vectors, keys and values that it may have; null: as many as it likes.
    bytes_max: Option<u64>,
    requests_per_second: Option<u64>,
    concurrent_requests: Option<u64>,
    /// Vectors that the tenant has stored; null: the default tenant's are not counted.
    vectors: Option<u64>,
    /// Bytes that it has stored; likewise.
    bytes: Option<u64>,
}

/// Whose data a request sees, what its key allows, and what the tenant may have and has: for every key, whatever it allows.
#[utoipa::path(get, path = "/v1/caller", tag = "process", security(("key" = [])),
    responses((status = 200, description = "Who the server takes the caller for", body = Me)))]
async fn describe(Known(caller): Known) -> Result<Response, Problem> {
    let tenant = (caller.tenant() != TENANT_DEFAULT).then(|| caller.tenant().to_string());
    let is_counted = tenant.is_some();
    let (limits, usage) =
        caller.run(move |database| Ok((database.limits()?, is_counted.then(|| database.usage()).transpose()?))).await?;
    Ok(reply::json(&Me {
        version: env!("CARGO_PKG_VERSION"),
        tenant,
        scopes: caller.scopes().names(),
        body_bytes_max: caller.shared.config.body_max_bytes,
        vectors_max: limits.vectors,
        bytes_max: limits.bytes,
        requests_per_second: limits.requests_per_second,
        concurrent_requests: limits.concurrent_requests,
        vectors: usage.map(|usage| usage.vectors),
        bytes: usage.map(|usage| usage.bytes),
    }))
}
