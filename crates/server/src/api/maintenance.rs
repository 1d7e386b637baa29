//! Checking, optimizing, reclaiming and erasing: what takes long, and is for those who run the database.

use std::sync::Arc;
use std::time::Duration;

use axum::response::Response;
use nuthatch_link::{Erase, Receipt};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::api::files::refuse_empty;
use crate::api::reply;
use crate::caller::{Administering, Operating, Writing};
use crate::extract::{Json, Segments};
use crate::problem::Problem;
use crate::shared::Shared;

pub fn routes() -> OpenApiRouter<Arc<Shared>> {
    OpenApiRouter::new()
        .routes(routes!(doctor))
        .routes(routes!(optimize))
        .routes(routes!(wait))
        .routes(routes!(reclaim))
        .routes(routes!(erase))
        .routes(routes!(receipts))
}

/// The result of checking every checksum.
#[derive(Serialize, ToSchema)]
struct Doctor {
    well: bool,
    findings: Vec<Finding>,
    /// Repairs that opening the folder made, none of them damage.
    notes: Vec<String>,
    /// Indexes that are not in use now, one sentence each.
    degraded: Vec<String>,
    collections: usize,
    records: u64,
}

/// One damaged file.
#[derive(Serialize, ToSchema)]
struct Finding {
    /// The file, relative to the data folder.
    path: String,
    what: String,
    remedy: String,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Optimize {
    /// Maximum milliseconds to wait; the work continues after that.
    #[serde(default = "wait_default")]
    #[schema(maximum = 600000)]
    wait_ms: u64,
}

#[derive(Serialize, ToSchema)]
struct Optimized {
    /// False if the time limit passed first.
    done: bool,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = WaitUntilIndexed)]
struct Wait {
    /// Maximum milliseconds to wait.
    #[serde(default = "indexing_wait_default")]
    #[schema(maximum = 10000)]
    wait_ms: u64,
}

#[derive(Serialize, ToSchema)]
struct Indexed {
    /// False if the time limit passed first.
    indexed: bool,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Reclaim {
    /// Default: everything.
    collection: Option<String>,
}

/// The data to erase from the collection: exactly one of the four.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "lowercase")]
#[schema(as = Erase)]
enum What {
    Ids(Vec<String>),
    /// Records whose payload matches this condition.
    Where(String),
    /// Records whose id has this prefix.
    Prefix(String),
    /// A file, or every file in a folder, with its passages.
    Files(String),
}

#[derive(Serialize, ToSchema)]
struct Receipts {
    /// Oldest first.
    #[schema(value_type = Vec<Object>)]
    receipts: Vec<Receipt>,
}

const WAIT_MS_MAX: u64 = 600_000;
/// A thread that others need waits so long: ask again for more.
const INDEXING_WAIT_MS_MAX: u64 = 10_000;

fn wait_default() -> u64 {
    60_000
}

fn indexing_wait_default() -> u64 {
    1_000
}

/// Checks every byte of the data folder against its checksums. Changes nothing.
#[utoipa::path(post, path = "/v1/doctor", tag = "administration", security(("key" = ["admin"])),
    responses((status = 200, description = "What was checked, and what was found", body = Doctor)))]
async fn doctor(Operating(caller): Operating) -> Result<Response, Problem> {
    let found = caller.run_long(|database| database.doctor()).await?;
    let findings = found.findings.iter().map(|finding| Finding {
        path: finding.path.to_string_lossy().into_owned(),
        what: finding.what.clone(),
        remedy: finding.remedy.clone(),
    });
    Ok(reply::json(&Doctor {
        well: found.is_well(),
        findings: findings.collect(),
        notes: found.notes,
        degraded: found.degraded,
        collections: found.collections,
        records: found.records,
    }))
}

/// Merges the segments of the collection, which makes searches faster.
#[utoipa::path(post, path = "/v1/collections/{collection}/optimize", tag = "administration", security(("key" = ["admin"])),
    params(("collection" = String, Path)), request_body = Optimize, responses((status = 200, description = "What was merged", body = Optimized)))]
async fn optimize(
    Administering(caller): Administering,
    Segments(name): Segments<String>,
    Json { value, .. }: Json<Optimize>,
) -> Result<Response, Problem> {
    if value.wait_ms > WAIT_MS_MAX {
        return Err(Problem::invalid(format!("wait_ms is {}; {WAIT_MS_MAX} at most", value.wait_ms)));
    }
    let wait = Some(Duration::from_millis(value.wait_ms));
    let done = caller.run_long(move |database| database.existing_collection(&name)?.optimize(wait)).await?;
    Ok(reply::json(&Optimized { done }))
}

/// Waits until the indexes hold all earlier writes. Searches are correct without this; they are faster after it.
#[utoipa::path(post, path = "/v1/collections/{collection}/wait-until-indexed", tag = "collections", security(("key" = ["write"])),
    params(("collection" = String, Path)), request_body = Wait, responses((status = 200, description = "Whether all vectors are indexed", body = Indexed)))]
async fn wait(
    Writing(caller): Writing,
    Segments(name): Segments<String>,
    Json { value, .. }: Json<Wait>,
) -> Result<Response, Problem> {
    if value.wait_ms > INDEXING_WAIT_MS_MAX {
        return Err(Problem::invalid(format!("wait_ms is {}; {INDEXING_WAIT_MS_MAX} at most", value.wait_ms)));
    }
    let wait = Some(Duration::from_millis(value.wait_ms));
    let indexed = caller.run(move |database| database.existing_collection(&name)?.wait_until_indexed(wait)).await?;
    Ok(reply::json(&Indexed { indexed }))
}

/// Rewrites every file that may hold bytes of deleted data, and returns a receipt.
#[utoipa::path(post, path = "/v1/reclaim", tag = "administration", security(("key" = ["admin"])), request_body = Reclaim,
    responses((status = 200, description = "The receipt", body = Object)))]
async fn reclaim(Operating(caller): Operating, Json { value, .. }: Json<Reclaim>) -> Result<Response, Problem> {
    caller.note("collection", value.collection.clone());
    let receipt = caller.run_long(move |database| database.reclaim(value.collection.as_deref())).await?;
    caller.note("receipt", receipt.id.clone());
    caller.note("ended_snapshots", receipt.ended_snapshots);
    Ok(reply::json(&receipt))
}

/// Deletes data, removes its bytes from disk, and returns a receipt.
#[utoipa::path(post, path = "/v1/collections/{collection}/erase", tag = "administration", security(("key" = ["admin"])),
    params(("collection" = String, Path)), request_body = What,
    responses((status = 200, description = "The receipt", body = Object)))]
async fn erase(
    Administering(caller): Administering,
    Segments(name): Segments<String>,
    Json { value, .. }: Json<What>,
) -> Result<Response, Problem> {
    // The selection may be the name of a person: the log says only of which kind it was.
    let by = match &value {
        What::Ids(_) => "ids",
        What::Where(_) => "where",
        What::Prefix(_) => "prefix",
        What::Files(_) => "files",
    };
    caller.note("by", by);
    if let What::Files(path) = &value {
        refuse_empty(path)?;
    }
    let what = match value {
        What::Ids(ids) => Erase::Ids(ids),
        What::Where(filter) => Erase::Where(filter),
        What::Prefix(prefix) => Erase::Prefix(prefix),
        What::Files(path) => Erase::Files(path),
    };
    let receipt = caller.run_long(move |database| database.erase(&name, &what)).await?;
    caller.note("receipt", receipt.id.clone());
    caller.note("records", receipt.deleted_records);
    caller.note("ended_snapshots", receipt.ended_snapshots);
    Ok(match caller.allow_operating() {
        Ok(()) => reply::json(&receipt),
        Err(_) => reply::json(&own_part(receipt)),
    })
}

/// The receipt as a tenant gets it. It leaves out the store's files, the folder's bytes and the ended snapshots, in
/// which other tenants have a part. The operator has the whole receipt, whose checksum this is.
fn own_part(mut receipt: Receipt) -> Value {
    let is_own = |path: &str| path.starts_with("indexes/");
    receipt.removed.retain(|file| is_own(&file.path));
    receipt.written.retain(|file| is_own(&file.path));
    let mut told = json!(receipt);
    for of_all in ["ended_snapshots", "bytes_before", "bytes_after"] {
        told.as_object_mut().and_then(|fields| fields.remove(of_all));
    }
    told
}

/// Lists the receipts of all reclaims and erasures.
#[utoipa::path(get, path = "/v1/receipts", tag = "administration", security(("key" = ["admin"])),
    responses((status = 200, description = "The receipts, oldest first", body = Receipts)))]
async fn receipts(Operating(caller): Operating) -> Result<Response, Problem> {
    let receipts = caller.run(|database| database.receipts()).await?;
    Ok(reply::json(&Receipts { receipts }))
}
