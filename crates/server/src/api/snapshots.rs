//! Snapshots: taking, listing and ending them. Reads name one in a header ([`super::read_point`]).

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::Response;
use nuthatch_link::{Error, Listed, What};
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
use crate::snapshots;

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
    fn from(Listed { id, label, age, ends_in }: Listed) -> Self {
        Self { id, key: label, age_ms: age.as_millis() as u64, ends_in_ms: ends_in.as_millis() as u64 }
    }
}

/// Takes a snapshot. Reads that name it in the header `x-nuthatch-snapshot` see the data of this moment and no later
/// writes.
#[utoipa::path(post, path = "/v1/snapshots", tag = "snapshots", security(("key" = ["read"])),
    responses((status = 201, description = "Taken", body = Snapshot)))]
async fn take(Reading(caller): Reading) -> Result<Response, Problem> {
    let mine = caller.clone();
    let taken = caller.run(move |database| snapshots::take(&mine, database)).await??;
    Ok(reply::json_with(StatusCode::CREATED, &Snapshot::from(taken)))
}

/// Lists the open snapshots of this API key; with the scope `admin`, those of all keys of the tenant.
#[utoipa::path(get, path = "/v1/snapshots", tag = "snapshots", security(("key" = ["read"])),
    responses((status = 200, description = "The snapshots that the key has open", body = Snapshots)))]
async fn list(Reading(caller): Reading) -> Result<Response, Problem> {
    let (owner, of_all_keys) = (snapshots::owner(&caller), caller.may(Scope::Admin));
    let listed = caller.run(move |database| Ok(database.kept_snapshots().list(&owner, of_all_keys))).await?;
    Ok(reply::json(&Snapshots { snapshots: listed.into_iter().map(Into::into).collect() }))
}

/// Ends a snapshot of this API key; with the scope `admin`, of any key of the tenant.
#[utoipa::path(delete, path = "/v1/snapshots/{snapshot}", tag = "snapshots", security(("key" = ["read"])),
    params(("snapshot" = String, Path)), responses((status = 204, description = "Ended")))]
async fn end(Reading(caller): Reading, Segments(id): Segments<String>) -> Result<Response, Problem> {
    let (owner, given) = (snapshots::owner(&caller), id.clone());
    let tenant = owner.tenant.clone();
    let own = caller.run(move |database| Ok(database.kept_snapshots().remove(&owner, &given).is_some()));
    if own.await? {
        return Ok(reply::nothing());
    }
    let named = id.clone();
    let missing = move || {
        let why = "this key has no such snapshot; GET /v1/snapshots lists those that are open";
        Error::not_found(why).about(What::Snapshot, named)
    };
    // Only what is another's is noted: one's own ends with every transaction.
    if !caller.may(Scope::Admin) || !caller.shared.database()?.kept_snapshots().is_of(&tenant, &id) {
        return Err(missing().into());
    }
    let (caller, given) = (caller.allowed(Scope::Admin)?, id.clone());
    caller.act("snapshot.end", &id).await?;
    let ended =
        caller.run(move |database| database.kept_snapshots().remove_of(&tenant, &given).map(drop).ok_or_else(missing));
    ended.await.map(|()| reply::nothing())
}
