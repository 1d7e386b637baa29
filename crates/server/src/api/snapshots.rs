//! Snapshots: taking, listing and ending them. Reads name one in a header ([`super::read_point`]).

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::Response;
use nuthatch_link::{Error, What};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::access::Scope;
use crate::api::reply;
use crate::caller::Reading;
use crate::extract::Segments;
use crate::problem::Problem;
use crate::shared::Shared;
use crate::snapshots::{Listed, Owner};

pub fn routes() -> OpenApiRouter<Arc<Shared>> {
    OpenApiRouter::new().routes(routes!(list, take)).routes(routes!(end))
}

/// All data of a tenant at one moment.
#[derive(Serialize, ToSchema)]
struct Snapshot {
    /// Send it in the header `x-nuthatch-snapshot` of reads, and to commit or end the transaction.
    id: String,
    /// The name of the API key that took it; null if the server needs no keys.
    key: Option<String>,
    age_ms: u64,
    /// When it expires. It ends earlier if it is deleted or committed, or if the server stops.
    ends_in_ms: u64,
}

#[derive(Serialize, ToSchema)]
struct Snapshots {
    /// Oldest first.
    snapshots: Vec<Snapshot>,
}

impl From<Listed> for Snapshot {
    fn from(Listed { id, key_name, age, ends_in }: Listed) -> Self {
        Self { id, key: key_name, age_ms: age.as_millis() as u64, ends_in_ms: ends_in.as_millis() as u64 }
    }
}

/// Takes a snapshot. Reads that name it in the header `x-nuthatch-snapshot` see the data of this moment and no later
/// writes.
#[utoipa::path(post, path = "/v1/snapshots", tag = "snapshots", security(("key" = ["read"])),
    responses((status = 201, description = "Taken", body = Snapshot)))]
async fn take(Reading(caller): Reading) -> Result<Response, Problem> {
    let (owner, shared) = (Owner::of(&caller), caller.shared.clone());
    let taken = caller.run(move |database| shared.snapshots.take(owner, || database.snapshot())).await??;
    Ok(reply::json_with(StatusCode::CREATED, &Snapshot::from(taken)))
}

/// Lists the open snapshots of this API key; with the scope `admin`, those of all keys of the tenant.
#[utoipa::path(get, path = "/v1/snapshots", tag = "snapshots", security(("key" = ["read"])),
    responses((status = 200, description = "The snapshots that the key has open", body = Snapshots)))]
async fn list(Reading(caller): Reading) -> Result<Response, Problem> {
    let (owner, shared, of_all_keys) = (Owner::of(&caller), caller.shared.clone(), caller.may(Scope::Admin));
    let listed = caller.run(move |_| Ok(shared.snapshots.list(&owner, of_all_keys))).await?;
    Ok(reply::json(&Snapshots { snapshots: listed.into_iter().map(Into::into).collect() }))
}

/// Ends a snapshot of this API key; with the scope `admin`, of any key of the tenant.
#[utoipa::path(delete, path = "/v1/snapshots/{snapshot}", tag = "snapshots", security(("key" = ["read"])),
    params(("snapshot" = String, Path)), responses((status = 204, description = "Ended")))]
async fn end(Reading(caller): Reading, Segments(id): Segments<String>) -> Result<Response, Problem> {
    let (owner, shared, given) = (Owner::of(&caller), caller.shared.clone(), id.clone());
    let own = caller.run(move |_| Ok(shared.snapshots.remove(&owner, &given).is_ok())).await?;
    if own {
        return Ok(reply::nothing());
    }
    let named = id.clone();
    let missing = move || {
        let why = "this key has no such snapshot; GET /v1/snapshots lists those that are open";
        Error::not_found(why).about(What::Snapshot, named)
    };
    // Only what is another's is noted: one's own ends with every transaction.
    if !caller.may(Scope::Admin) || !caller.shared.snapshots.is_of(caller.tenant(), &id) {
        return Err(missing().into());
    }
    let (caller, given) = (caller.allowed(Scope::Admin)?, id.clone());
    let (tenant, shared) = (caller.tenant().to_string(), caller.shared.clone());
    caller.act("snapshot.end", &id).await?;
    let ended = caller.run(move |_| shared.snapshots.remove_of(&tenant, &given).map(drop).ok_or_else(missing));
    ended.await.map(|()| reply::nothing())
}
