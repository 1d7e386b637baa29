//! Tenants: making, listing, limiting and dropping them, for those who run the server.

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::Response;
use nuthatch_link::{TenantInfo, TenantLimits, TenantUsage};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::api::reply;
use crate::caller::Operating;
use crate::clock;
use crate::extract::{Json, Segments};
use crate::problem::Problem;
use crate::shared::Shared;

pub fn routes() -> OpenApiRouter<Arc<Shared>> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(create, describe, remove)).routes(routes!(limit))
}

/// The limits of a tenant; an omitted one means no limit.
#[derive(Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = TenantLimits)]
struct Limits {
    /// Vectors of all records and fields.
    vectors: Option<u64>,
    /// Bytes of records, vectors, file entries, keys and values, before compression.
    bytes: Option<u64>,
    requests_per_second: Option<u64>,
    concurrent_requests: Option<u64>,
}

#[derive(Serialize, ToSchema)]
struct Tenant {
    name: String,
    /// UTC, RFC 3339.
    created: String,
    limits: Limits,
    /// Vectors that it has stored.
    vectors: u64,
    /// Bytes that it has stored, counted like its limit.
    bytes: u64,
}

#[derive(Serialize, ToSchema)]
struct Tenants {
    tenants: Vec<Tenant>,
}

impl From<TenantLimits> for Limits {
    fn from(limits: TenantLimits) -> Self {
        let TenantLimits { vectors, bytes, requests_per_second, concurrent_requests } = limits;
        Self { vectors, bytes, requests_per_second, concurrent_requests }
    }
}

impl From<Limits> for TenantLimits {
    fn from(limits: Limits) -> Self {
        let Limits { vectors, bytes, requests_per_second, concurrent_requests } = limits;
        Self { vectors, bytes, requests_per_second, concurrent_requests }
    }
}

impl From<TenantInfo> for Tenant {
    fn from(info: TenantInfo) -> Self {
        let TenantUsage { vectors, bytes } = info.usage;
        Self { name: info.name, created: info.created, limits: info.limits.into(), vectors, bytes }
    }
}

/// Lists all tenants except the default one.
#[utoipa::path(get, path = "/v1/tenants", tag = "administration", security(("key" = ["admin"])),
    responses((status = 200, description = "All tenants except the default one", body = Tenants)))]
async fn list(Operating(caller): Operating) -> Result<Response, Problem> {
    let tenants = caller.run(|database| database.tenants()).await?;
    Ok(reply::json(&Tenants { tenants: tenants.into_iter().map(Tenant::from).collect() }))
}

/// Creates a tenant without limits. Create API keys for it with `nuthatch key create --tenant`.
#[utoipa::path(put, path = "/v1/tenants/{tenant}", tag = "administration", security(("key" = ["admin"])),
    params(("tenant" = String, Path)), responses((status = 201, description = "Created", body = Tenant)))]
async fn create(Operating(caller): Operating, Segments(name): Segments<String>) -> Result<Response, Problem> {
    let info = caller
        .run(move |database| {
            database.create_tenant(&name)?;
            database.tenant_info(&name)
        })
        .await?;
    Ok(reply::json_with(StatusCode::CREATED, &Tenant::from(info)))
}

/// Returns the limits and the usage of a tenant.
#[utoipa::path(get, path = "/v1/tenants/{tenant}", tag = "administration", security(("key" = ["admin"])),
    params(("tenant" = String, Path)), responses((status = 200, description = "The tenant", body = Tenant)))]
async fn describe(Operating(caller): Operating, Segments(name): Segments<String>) -> Result<Response, Problem> {
    let info = caller.run(move |database| database.tenant_info(&name)).await?;
    Ok(reply::json(&Tenant::from(info)))
}

/// Sets all four limits of a tenant, for requests that start afterwards.
#[utoipa::path(put, path = "/v1/tenants/{tenant}/limits", tag = "administration", security(("key" = ["admin"])),
    params(("tenant" = String, Path)), request_body = Limits, responses((status = 200, description = "The tenant with its new limits", body = Tenant)))]
async fn limit(
    Operating(caller): Operating,
    Segments(name): Segments<String>,
    Json { value, .. }: Json<Limits>,
) -> Result<Response, Problem> {
    let limits = TenantLimits::from(value);
    caller.note("limits", serde_json::to_value(limits).expect("numbers are JSON"));
    let info = caller
        .run(move |database| {
            database.set_tenant_limits(&name, limits)?;
            database.tenant_info(&name)
        })
        .await?;
    Ok(reply::json(&Tenant::from(info)))
}

/// Deletes a tenant and all its data, removes their bytes from disk, and returns a receipt.
#[utoipa::path(delete, path = "/v1/tenants/{tenant}", tag = "administration", security(("key" = ["admin"])),
    params(("tenant" = String, Path)), responses((status = 200, description = "The receipt", body = Object)))]
async fn remove(Operating(caller): Operating, Segments(name): Segments<String>) -> Result<Response, Problem> {
    let shared = caller.shared.clone();
    let dropping = caller.run_long(move |database| shared.ring.file().drop_tenant(database, &name, clock::now()));
    let (receipt, ended_keys) = dropping.await?;
    caller.note("receipt", receipt.id.clone());
    caller.note("ended_keys", ended_keys);
    caller.note("ended_snapshots", receipt.ended_snapshots);
    Ok(reply::json(&receipt))
}
