//! The Model Context Protocol at `/mcp`: Streamable HTTP, each request by itself.
//!
//! There are no sessions: a request says who asks, and is answered by one JSON document, or by a stream where there is something to tell before the
//! answer: how far a call is, or what has changed of resources that are watched. So nothing is kept for clients that went away, a key that is revoked opens
//! nothing from the next request on and is told nothing from the next look on, and stopping waits for requests under way and ends what only listens.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{FromRequestParts, Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use nuthatch_link::{Database, Result as EngineResult};
use nuthatch_mcp::{Access, Handler, Refusal, Settings};
use rmcp::model::{ErrorCode, ProtocolVersion};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use crate::access::Scope;
use crate::caller::{Caller, Reading, refuse_other_origins};
use crate::extract::parse;
use crate::problem::Problem;
use crate::shared::Shared;

pub fn routes() -> Router<Arc<Shared>> {
    Router::new().route("/mcp", post(answer))
}

/// A caller from no other site's page.
struct Asking(Caller);

impl FromRequestParts<Arc<Shared>> for Asking {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, shared: &Arc<Shared>) -> Result<Self, Problem> {
        refuse_other_origins(parts)?;
        let Reading(caller) = Reading::from_request_parts(parts, shared).await?;
        Ok(Self(caller))
    }
}

async fn answer(
    State(shared): State<Arc<Shared>>,
    Asking(caller): Asking,
    request: Request,
) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    let (bytes, _held) = shared.admission.read(body).await?;
    // The library would answer 415.
    parse::<IgnoredAny>(&bytes).map_err(|why| Problem::invalid(format!("the body: {why}")))?;
    // The older revisions notify within sessions, and here are none.
    let revision = parts.headers.get("mcp-protocol-version").and_then(|revision| revision.to_str().ok());
    let has_streams = revision.is_some_and(|revision| revision >= ProtocolVersion::NO_INITIALIZE.as_str());
    let settings = Arc::new(Settings {
        writes: caller.may(Scope::Write),
        search_timeout: shared.config.search_timeout,
        streams: has_streams.then(|| shared.notified.clone()),
        ..Settings::default()
    });
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        // Whom a request may name as its host was decided with its caller.
        .disable_allowed_hosts();
    let handler = Handler::new(Asker(caller), settings);
    let service =
        StreamableHttpService::new(move || Ok(handler.clone()), Arc::new(NeverSessionManager::default()), config);
    let has_json = has_json(&parts.headers);
    let answered = service.handle(Request::from_parts(parts, Body::from(bytes.clone()))).await;
    // So the library says that JSON is no message, as it says that it is not given JSON.
    if answered.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE && has_json {
        return Ok(no_message(&bytes));
    }
    Ok(answered.map(Body::new))
}

fn has_json(headers: &HeaderMap) -> bool {
    let media_type = headers.get(CONTENT_TYPE).and_then(|media_type| media_type.to_str().ok()).unwrap_or_default();
    media_type.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json")
}

/// JSON that is no message of the protocol, in its own words; under the id that it has, if it has one.
fn no_message(body: &[u8]) -> Response {
    let given: Value = serde_json::from_slice(body).unwrap_or_default();
    let message = match given {
        Value::Array(_) => "batches are not supported; send each message in its own request",
        _ => {
            "not a JSON-RPC 2.0 message; give \"jsonrpc\": \"2.0\" and a \"method\", with an \"id\" if you want an \
            answer"
        }
    };
    let id = given.get("id").filter(|id| id.is_string() || id.is_number());
    let error =
        json!({"jsonrpc": "2.0", "id": id, "error": {"code": ErrorCode::INVALID_REQUEST.0, "message": message}});
    (StatusCode::BAD_REQUEST, [(CONTENT_TYPE, "application/json")], error.to_string()).into_response()
}

/// The caller's calls of the engine.
#[derive(Clone)]
struct Asker(Caller);

impl Access for Asker {
    async fn run<T: Send + 'static>(
        &self,
        call: impl FnOnce(&Database) -> EngineResult<T> + Send + 'static,
    ) -> Result<T, Refusal> {
        self.0.run(call).await.map_err(Refusal::from)
    }

    fn owner(&self) -> String {
        self.0.tenant().into()
    }

    fn stopping(&self) -> impl Future<Output = ()> + Send {
        self.0.shared.stopping()
    }

    fn writing(&self) -> Result<Self, Refusal> {
        Ok(Self(self.0.allowed(Scope::Write)?))
    }
}

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Self {
        let subject = problem.subject.map(|subject| (subject.what.clone(), subject.name.clone()));
        Self { kind: problem.kind, subject, message: problem.detail, remedy: problem.remedy }
    }
}
