//! Whether the server lives and is ready, its figures, and the description of what it answers.

use std::sync::{Arc, LazyLock};

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::api::{openapi, reply};
use crate::caller::Operating;
use crate::problem::Problem;
use crate::shared::Shared;
use crate::telemetry::{cache_stats, register_caches, register_cluster, register_redis, registry_of};

const OPEN_METRICS: HeaderValue =
    HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");

pub fn routes() -> OpenApiRouter<Arc<Shared>> {
    OpenApiRouter::new()
        .routes(routes!(healthz))
        .routes(routes!(readyz))
        .routes(routes!(metrics))
        .routes(routes!(openapi_json))
}

#[derive(Serialize, ToSchema)]
struct Health {
    /// `ok`
    status: &'static str,
    version: &'static str,
}

const OK: Health = Health { status: "ok", version: env!("CARGO_PKG_VERSION") };

/// Checks that the process is alive. Answers as soon as the server listens.
#[utoipa::path(get, path = "/healthz", tag = "process", responses((status = 200, description = "The server is alive", body = Health)))]
async fn healthz() -> Response {
    reply::json(&OK)
}

/// Checks that the server is ready. It is not ready before the data folder is open, nor while it shuts down.
#[utoipa::path(get, path = "/readyz", tag = "process", responses((status = 200, description = "The server is ready to answer", body = Health)))]
async fn readyz(State(shared): State<Arc<Shared>>) -> Result<Response, Problem> {
    shared.readiness()?;
    Ok(reply::json(&OK))
}

/// Returns metrics of the server and the engine for Prometheus.
#[utoipa::path(get, path = "/metrics", tag = "process", security(("key" = ["admin"])),
    responses((status = 200, description = "The metrics, in the OpenMetrics text format", body = String, content_type = "application/openmetrics-text")))]
async fn metrics(Operating(caller): Operating) -> Result<Response, Problem> {
    let (stats, caches) = caller.run(|database| Ok((database.stats()?, cache_stats(database)?))).await?;
    let mut more = registry_of(&stats);
    register_caches(&mut more, &caches);
    register_redis(&mut more, &caller.shared.redis);
    if let Some(cluster) = caller.shared.cluster() {
        register_cluster(&mut more, &cluster.state());
    }
    let text = caller.shared.metrics.encode(&more);
    Ok(with_type(text.into(), OPEN_METRICS))
}

/// Returns this document.
#[utoipa::path(get, path = "/openapi.json", tag = "process", responses((status = 200, description = "The document", body = Object)))]
async fn openapi_json() -> Response {
    static DOCUMENT: LazyLock<axum::body::Bytes> =
        LazyLock::new(|| openapi::document().to_pretty_json().expect("the document is JSON").into());
    with_type(DOCUMENT.clone().into(), HeaderValue::from_static("application/json"))
}

fn with_type(body: Body, media_type: HeaderValue) -> Response {
    let mut response = Response::new(body);
    response.headers_mut().insert(header::CONTENT_TYPE, media_type);
    response
}
