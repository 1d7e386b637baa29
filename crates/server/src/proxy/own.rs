//! The proxy's own addresses, below one name that no provider has.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use axum::routing::get;
use nuthatch_dialect::caches;
use serde_json::{Value, json};

use super::{Proxy, identity};
use crate::access::Scope;
use crate::caller::Caller;
use crate::problem::Problem;
use crate::telemetry::{cache_stats, register_caches, register_redis, registry_of};

pub fn routes() -> Router<Arc<Proxy>> {
    Router::new()
        .route("/nuthatch/healthz", get(async || said(&json!({ "status": "ok" }))))
        .route("/nuthatch/readyz", get(readyz))
        .route("/nuthatch/metrics", get(metrics))
        .route("/nuthatch/stats", get(stats))
}

/// A document as an answer.
pub fn said(document: &Value) -> Response {
    let mut response = Response::new(document.to_string().into());
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Returns the caller, if it may do this.
pub fn allowed(proxy: &Proxy, parts: &Parts, scope: Scope) -> Result<Caller, Problem> {
    identity::known(proxy, parts)?.caller.allowed(scope)
}

async fn readyz(State(proxy): State<Arc<Proxy>>) -> Result<Response, Problem> {
    proxy.shared.readiness()?;
    Ok(said(&json!({ "status": "ok" })))
}

async fn metrics(State(proxy): State<Arc<Proxy>>, request: Request) -> Result<Response, Problem> {
    let caller = allowed(&proxy, &request.into_parts().0, Scope::Admin)?;
    caller.allow_operating()?;
    let (stats, caches) = caller.run(|database| Ok((database.stats()?, cache_stats(database)?))).await?;
    let mut more = registry_of(&stats);
    register_caches(&mut more, &caches);
    register_redis(&mut more, &proxy.shared.redis);
    let mut response = Response::new(proxy.shared.metrics.encode(&more).into());
    let kind = HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    Ok(response)
}

async fn stats(State(proxy): State<Arc<Proxy>>, request: Request) -> Result<Response, Problem> {
    let caller = allowed(&proxy, &request.into_parts().0, Scope::Read)?;
    Ok(said(&state(&proxy, &caller).await?))
}

/// Returns the statistics of the caller's cache, and the savings of this proxy since it was started.
pub async fn state(proxy: &Arc<Proxy>, caller: &Caller) -> Result<Value, Problem> {
    let (mine, tenant) = (proxy.clone(), caller.tenant().to_string());
    let cache = caller.run(move |database| caches::ask(&mine.prepared.cache(database, &tenant)?, "stats", Value::Null));
    let (cache, saved) = (cache.await?, proxy.shared.metrics.proxy.total());
    Ok(json!({
        "cache": cache,
        "upstream": proxy.config.upstream.to_string(),
        "saved": { "tokens": saved.tokens, "usd": saved.usd },
    }))
}
