//! Caches: making, listing and dropping them, storing answers and looking them up.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::http::StatusCode;
use axum::response::Response;
use nuthatch_dialect::caches::{
    self, CacheAudits, CacheChanges, CacheExplained, CacheImport, CacheImported, CacheInvalidate, CacheInvalidated,
    CacheLeaseEnd, CacheLeaseEnded, CacheLeaseState, CacheLeaseWanted, CacheList, CacheLookup, CachePage, CachePending,
    CacheQuestion, CacheReembed, CacheReembedded, CacheReported, CacheSettings, CacheStats, CacheStore, CacheStored,
    CacheVerdict,
};
use nuthatch_link::{Error, What};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::access::Scope;
use crate::admission::BodyReservation;
use crate::api::reply;
use crate::caller::{Caller, Reading, Writing};
use crate::extract::{Json, Segments};
use crate::problem::Problem;
use crate::shared::Shared;

pub fn routes() -> OpenApiRouter<Arc<Shared>> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(create, remove))
        .routes(routes!(lookup))
        .routes(routes!(store))
        .routes(routes!(lease))
        .routes(routes!(release))
        .routes(routes!(report))
        .routes(routes!(invalidate))
        .routes(routes!(configure))
        .routes(routes!(stats))
        .routes(routes!(explain))
        .routes(routes!(audits))
        .routes(routes!(answers))
        .routes(routes!(import))
        .routes(routes!(reembed))
}

/// The first pause between two looks for a lease, and the longest. No thread waits meanwhile.
const PAUSE_MIN: Duration = Duration::from_millis(10);
const PAUSE_MAX: Duration = Duration::from_millis(100);

#[derive(Serialize, ToSchema)]
struct Caches {
    caches: Vec<String>,
}

#[derive(Serialize, ToSchema)]
struct Cache {
    name: String,
}

/// Asks a cache, which must be there. `held`: the memory of the request's body.
async fn asked(
    caller: Caller,
    name: String,
    call: &'static str,
    question: Value,
    held: Option<BodyReservation>,
) -> Result<Response, Problem> {
    let answer = caller.run(move |database| {
        let answer = caches::ask(&database.existing_cache(&name)?, call, question);
        drop(held);
        answer
    });
    Ok(reply::json(&answer.await?))
}

/// Lists all caches.
#[utoipa::path(get, path = "/v1/caches", tag = "caches", security(("key" = ["read"])),
    responses((status = 200, description = "The names of all caches", body = Caches)))]
async fn list(Reading(caller): Reading) -> Result<Response, Problem> {
    let caches = caller.run(|database| database.cache_names()).await?;
    Ok(reply::json(&Caches { caches }))
}

/// Creates a cache if it does not exist. It gives no answer by meaning until it has a budget.
#[utoipa::path(put, path = "/v1/caches/{cache}", tag = "caches", security(("key" = ["write"])),
    params(("cache" = String, Path)),
    responses((status = 201, description = "Created", body = Cache), (status = 200, description = "It already existed", body = Cache)))]
async fn create(Writing(caller): Writing, Segments(name): Segments<String>) -> Result<Response, Problem> {
    let (is_new, name) = caller
        .run(move |database| {
            let is_new = !database.cache_names()?.contains(&name);
            database.cache(&name)?;
            Ok((is_new, name))
        })
        .await?;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok(reply::json_with(status, &Cache { name }))
}

/// Drops a cache with its answers and its ledger.
#[utoipa::path(delete, path = "/v1/caches/{cache}", tag = "caches", security(("key" = ["write"])),
    params(("cache" = String, Path)), responses((status = 204, description = "Dropped")))]
async fn remove(Writing(caller): Writing, Segments(name): Segments<String>) -> Result<Response, Problem> {
    let dropped = caller
        .run(move |database| match database.drop_cache(&name)? {
            true => Ok(()),
            false => Err(Error::not_found(format!("no cache {name:?}")).about(What::Cache, name)),
        })
        .await;
    dropped.map(|()| reply::nothing())
}

/// Looks for an answer: for this prompt, for one of the same form, for one that was judged, for one of the same meaning.
/// An answer by meaning is counted before it is returned, so this needs the scope `write`, too.
#[utoipa::path(post, path = "/v1/caches/{cache}/lookup", tag = "caches", security(("key" = ["read", "write"])),
    params(("cache" = String, Path)), request_body = CacheQuestion,
    responses((status = 200, description = "The answer, or why there is none", body = CacheLookup)))]
async fn lookup(
    Reading(caller): Reading,
    Segments(name): Segments<String>,
    Json { value, held }: Json<Value>,
) -> Result<Response, Problem> {
    asked(caller.allowed(Scope::Write)?, name, "lookup", value, Some(held)).await
}

/// Keeps an answer. One for the same prompt in the same scope is replaced.
#[utoipa::path(post, path = "/v1/caches/{cache}/store", tag = "caches", security(("key" = ["write"])),
    params(("cache" = String, Path)), request_body = CacheStore,
    responses((status = 200, description = "What storing did", body = CacheStored)))]
async fn store(
    Writing(caller): Writing,
    Segments(name): Segments<String>,
    Json { value, held }: Json<Value>,
) -> Result<Response, Problem> {
    asked(caller, name, "store", value, Some(held)).await
}

/// Says whose it is to compute a missing answer: one caller gets the lease, and the others wait for its answer. An answer that is
/// stored ends the lease, as its time does.
#[utoipa::path(post, path = "/v1/caches/{cache}/lease", tag = "caches", security(("key" = ["read", "write"])),
    params(("cache" = String, Path)), request_body = CacheLeaseWanted,
    responses((status = 200, description = "Whose it is, or the answer", body = CacheLeaseState)))]
async fn lease(
    Reading(caller): Reading,
    Segments(name): Segments<String>,
    Json { value, .. }: Json<Value>,
) -> Result<Response, Problem> {
    let caller = caller.allowed(Scope::Write)?;
    let wanted: CacheLeaseWanted = caches::asked("lease", value)?;
    let until = Instant::now() + Duration::from_millis(wanted.wait_ms()?);
    let mut pause = PAUSE_MIN;
    loop {
        let (name, wanted) = (name.clone(), wanted.clone());
        let state = caller.run(move |database| wanted.ask(&database.existing_cache(&name)?, 0)).await?;
        let left = until.saturating_duration_since(Instant::now());
        if !state.is_held() || left.is_zero() {
            return Ok(reply::json(&state));
        }
        tokio::time::sleep(pause.min(left)).await;
        pause = (pause * 2).min(PAUSE_MAX);
    }
}

/// Gives a lease back without an answer: the next who waits gets it.
#[utoipa::path(post, path = "/v1/caches/{cache}/release", tag = "caches", security(("key" = ["read", "write"])),
    params(("cache" = String, Path)), request_body = CacheLeaseEnd,
    responses((status = 200, description = "Whether the caller had it", body = CacheLeaseEnded)))]
async fn release(
    Reading(caller): Reading,
    Segments(name): Segments<String>,
    Json { value, held }: Json<Value>,
) -> Result<Response, Problem> {
    asked(caller.allowed(Scope::Write)?, name, "release", value, Some(held)).await
}

/// Takes a verdict on an answer. The same one again changes nothing.
#[utoipa::path(post, path = "/v1/caches/{cache}/report", tag = "caches", security(("key" = ["write"])),
    params(("cache" = String, Path)), request_body = CacheVerdict,
    responses((status = 200, description = "Whether the verdict is new", body = CacheReported)))]
async fn report(
    Writing(caller): Writing,
    Segments(name): Segments<String>,
    Json { value, held }: Json<Value>,
) -> Result<Response, Problem> {
    asked(caller, name, "report", value, Some(held)).await
}

/// Removes answers by number, tag, source or scope, or all of them. The ledger stays.
#[utoipa::path(post, path = "/v1/caches/{cache}/invalidate", tag = "caches", security(("key" = ["write"])),
    params(("cache" = String, Path)), request_body = CacheInvalidate,
    responses((status = 200, description = "How many answers are gone", body = CacheInvalidated)))]
async fn invalidate(
    Writing(caller): Writing,
    Segments(name): Segments<String>,
    Json { value, held }: Json<Value>,
) -> Result<Response, Problem> {
    asked(caller, name, "invalidate", value, Some(held)).await
}

/// Changes the settings of a cache. Answers for which new limits leave no room are removed.
#[utoipa::path(post, path = "/v1/caches/{cache}/configure", tag = "caches", security(("key" = ["write"])),
    params(("cache" = String, Path)), request_body = CacheChanges,
    responses((status = 200, description = "The settings now", body = CacheSettings)))]
async fn configure(
    Writing(caller): Writing,
    Segments(name): Segments<String>,
    Json { value, held }: Json<Value>,
) -> Result<Response, Problem> {
    asked(caller, name, "configure", value, Some(held)).await
}

/// Returns what a cache holds and has done.
#[utoipa::path(get, path = "/v1/caches/{cache}/stats", tag = "caches", security(("key" = ["read"])),
    params(("cache" = String, Path)),
    responses((status = 200, description = "Its settings, sizes, counts and ledger", body = CacheStats)))]
async fn stats(Reading(caller): Reading, Segments(name): Segments<String>) -> Result<Response, Problem> {
    asked(caller, name, "stats", Value::Null, None).await
}

/// Tells what a lookup would find, and counts nothing.
#[utoipa::path(post, path = "/v1/caches/{cache}/explain", tag = "caches", security(("key" = ["read"])),
    params(("cache" = String, Path)), request_body = CacheQuestion,
    responses((status = 200, description = "The form of the prompt, and every near one", body = CacheExplained)))]
async fn explain(
    Reading(caller): Reading,
    Segments(name): Segments<String>,
    Json { value, held }: Json<Value>,
) -> Result<Response, Problem> {
    asked(caller, name, "explain", value, Some(held)).await
}

/// Lists answers that wait for a verdict.
#[utoipa::path(post, path = "/v1/caches/{cache}/audits", tag = "caches", security(("key" = ["read"])),
    params(("cache" = String, Path)), request_body = CacheAudits,
    responses((status = 200, description = "Answers without a verdict, the oldest first", body = CachePending)))]
async fn audits(
    Reading(caller): Reading,
    Segments(name): Segments<String>,
    Json { value, held }: Json<Value>,
) -> Result<Response, Problem> {
    asked(caller, name, "audits", value, Some(held)).await
}

/// Lists answers with everything that is kept of them.
#[utoipa::path(post, path = "/v1/caches/{cache}/answers", tag = "caches", security(("key" = ["read"])),
    params(("cache" = String, Path)), request_body = CacheList,
    responses((status = 200, description = "A page of answers, by their numbers", body = CachePage)))]
async fn answers(
    Reading(caller): Reading,
    Segments(name): Segments<String>,
    Json { value, held }: Json<Value>,
) -> Result<Response, Problem> {
    asked(caller, name, "answers", value, Some(held)).await
}

/// Keeps answers as another cache had them. Those of the same prompt and scope are replaced.
#[utoipa::path(post, path = "/v1/caches/{cache}/import", tag = "caches", security(("key" = ["write"])),
    params(("cache" = String, Path)), request_body = CacheImport,
    responses((status = 200, description = "How many were kept: those that have expired are left out", body = CacheImported)))]
async fn import(
    Writing(caller): Writing,
    Segments(name): Segments<String>,
    Json { value, held }: Json<Value>,
) -> Result<Response, Problem> {
    asked(caller, name, "import", value, Some(held)).await
}

/// Gives answers other vectors: those in the body, or those of the installed model, some answers at a time.
#[utoipa::path(post, path = "/v1/caches/{cache}/reembed", tag = "caches", security(("key" = ["write"])),
    params(("cache" = String, Path)), request_body = CacheReembed,
    responses((status = 200, description = "How far it is", body = CacheReembedded)))]
async fn reembed(
    Writing(caller): Writing,
    Segments(name): Segments<String>,
    Json { value, held }: Json<Value>,
) -> Result<Response, Problem> {
    asked(caller, name, "reembed", value, Some(held)).await
}
