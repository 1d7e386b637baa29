//! The page of `nuthatch cache demo`: a chat through the proxy, next to what the cache did with it and the ledger's own
//! figures.
//!
//! **Invariant:** the page loads nothing from elsewhere, runs no script but its own, and computes no bound: it draws what the engine says.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, header};
use axum::response::Response;
use axum::routing::{get, post};
use nuthatch_dialect::caches;
use nuthatch_llm::Api;
use serde_json::{Value, json};

use super::control::Control;
use super::exchange::Exchange;
use super::{Proxy, identity, own};
use crate::access::Scope;
use crate::problem::Problem;

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; \
    form-action 'none'; frame-ancestors 'none'";

pub fn routes() -> Router<Arc<Proxy>> {
    Router::new()
        .route("/", get(async || page(include_str!("demo/index.html"), "text/html; charset=utf-8")))
        .route("/nuthatch/demo.js", get(async || page(include_str!("demo/demo.js"), "text/javascript; charset=utf-8")))
        .route("/nuthatch/demo.css", get(async || page(include_str!("demo/demo.css"), "text/css; charset=utf-8")))
        .route("/nuthatch/demo/state", get(state))
        .route("/nuthatch/demo/explain", post(explain))
        .route("/nuthatch/demo/report", post(report))
}

fn page(text: &'static str, kind: &'static str) -> Response {
    let mut response = Response::new(text.into());
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

async fn state(State(proxy): State<Arc<Proxy>>, request: Request) -> Result<Response, Problem> {
    let caller = own::allowed(&proxy, &request.into_parts().0, Scope::Read)?;
    let mut state = own::state(&proxy, &caller).await?;
    if let Some(demo) = &proxy.config.demo {
        let has_prices = !proxy.config.prices.is_empty();
        state["demo"] = json!({ "model": demo.model, "by_meaning": demo.by_meaning, "has_prices": has_prices });
    }
    Ok(own::said(&state))
}

/// Returns what the cache knows about a request for a chat completion. Nothing is counted.
async fn explain(State(proxy): State<Arc<Proxy>>, request: Request) -> Result<Response, Problem> {
    let (mut parts, body) = request.into_parts();
    let known = identity::known(&proxy, &parts)?;
    let caller = known.caller.allowed(Scope::Read)?;
    let (bytes, _held) = proxy.shared.admission.read(body).await?;
    let Ok(Value::Object(asked)) = serde_json::from_slice(&bytes) else {
        return Err(Problem::invalid("the body is no request for a chat completion"));
    };
    parts.uri = axum::http::Uri::from_static("/v1/chat/completions");
    let identity = identity::scope(&proxy.config.identity, &known, &parts.headers, &asked);
    let place = proxy.upstream.place(&parts);
    let made = Exchange::new(&proxy, Api::Chat, place, asked, identity, &parts.headers, Control::default());
    let Ok(exchange) = made else { return Ok(own::said(&json!({ "candidates": [] }))) };
    let tenant = caller.tenant().to_string();
    let told = caller.run(move |database| exchange.explain(&proxy.prepared.cache(database, &tenant)?)).await?;
    Ok(own::said(&told))
}

/// Passes on a verdict of the page's user.
async fn report(State(proxy): State<Arc<Proxy>>, request: Request) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    let caller = own::allowed(&proxy, &parts, Scope::Write)?;
    let (bytes, _held) = proxy.shared.admission.read(body).await?;
    let verdict = serde_json::from_slice(&bytes).map_err(|error| Problem::invalid(format!("the body: {error}")))?;
    let tenant = caller.tenant().to_string();
    let told =
        caller.run(move |database| caches::ask(&proxy.prepared.cache(database, &tenant)?, "report", verdict)).await?;
    Ok(own::said(&told))
}
