//! The server as a caller sees it: whose data it serves, what the key allows, how much a request may hold.

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
    /// The version of the server.
    version: &'static str,
    /// The tenant of the key; null for the default tenant.
    tenant: Option<String>,
    /// Scopes of the key: `read`, `write`, `admin`; `admin` includes the others.
    scopes: Vec<&'static str>,
    /// Largest body of one request.
    body_bytes_max: u64,
    /// Limit of vectors; null for no limit.
    vectors_max: Option<u64>,
    /// Limit of bytes of records, vectors, keys and values; null for no limit.
    bytes_max: Option<u64>,
    requests_per_second: Option<u64>,
    concurrent_requests: Option<u64>,
    /// Vectors that the tenant has stored; null for the default tenant, whose vectors are not counted.
    vectors: Option<u64>,
    /// Bytes that the tenant has stored; null for the default tenant.
    bytes: Option<u64>,
}

/// Returns the tenant of the key, its scopes, and the tenant's limits and usage. Every key may ask this.
#[utoipa::path(get, path = "/v1/caller", tag = "process", security(("key" = [])),
    responses((status = 200, description = "The caller as the server sees it", body = Me)))]
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
