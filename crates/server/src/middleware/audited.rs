//! Audit entries for HTTP and gRPC: around every request that administers, after the caller is known and before the answer leaves.
//!
//! The route tells what an HTTP request does. A gRPC call tells it itself, once it has read its message.

use std::sync::Arc;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tonic::Code;

use super::requests::RequestId;
use crate::access::TENANT_DEFAULT;
use crate::audit::{AuditedRequest, Entry, Notes, Outcome, Peer, action_of, target_of};
use crate::problem::{KIND_METADATA, Problem};
use crate::shared::Shared;

/// The middleware around all routes, within the one that gives requests their ids.
pub async fn watch(State(shared): State<Arc<Shared>>, mut request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>().map_or(String::new(), |path| path.as_str().into());
    let (method, face) = (request.method().clone(), face_of(&request));
    let action = action_of(&method, &route);
    if action.is_some()
        && let Err(error) = shared.audit.ready().await
    {
        return Problem::from(error).into_response();
    }
    let notes = Notes::of(request.extensions().get::<Peer>());
    let target = target_of(&route, request.uri().path());
    let id = request.extensions().get::<RequestId>().map(|RequestId(id)| id.clone());
    request.extensions_mut().insert(notes.clone());
    let response = next.run(request).await;
    let AuditedRequest { who, administers, act, details } = notes.take();
    let failure = failure_of(&response);
    let is_refused = failure.as_ref().is_some_and(|(outcome, _)| *outcome == Outcome::Refused);
    let (action, target) = match (act, action) {
        (Some(act), _) => act,
        (None, Some(action)) => (action.to_string(), target),
        (None, None) if is_refused && administers => (format!("{method} {route}"), target),
        (None, None) => return response,
    };
    // Without keys, every client counts as an operator.
    let is_operator = !is_refused && who.tenant.as_deref() == Some(TENANT_DEFAULT) && administers;
    let mut entry = Entry { request: id, details, ..Entry::new(face, who, &action, &target) };
    if let Some((outcome, kind)) = failure {
        entry = entry.ended(outcome, &kind);
    }
    match shared.audit.noted(entry, is_operator).await {
        Ok(()) => response,
        Err(error) => Problem::from(error).into_response(),
    }
}

/// How a request ended that did not do what it was to do, and the kind of error. gRPC says so in a header of its own.
fn failure_of(response: &Response) -> Option<(Outcome, String)> {
    let said = |name: &str| response.headers().get(name)?.to_str().ok();
    let problem = response.extensions().get::<Problem>().map(|problem| problem.kind.as_str());
    let kind = said(KIND_METADATA).or(problem).unwrap_or("internal");
    let code = said("grpc-status").map(|code| Code::from_bytes(code.as_bytes()));
    let is_refused = match code {
        Some(Code::Ok) => return None,
        Some(code) => matches!(code, Code::Unauthenticated | Code::PermissionDenied),
        None if response.status().is_success() => return None,
        None => matches!(response.status(), StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN),
    };
    Some((if is_refused { Outcome::Refused } else { Outcome::Failed }, kind.into()))
}

fn face_of(request: &Request) -> &'static str {
    let kind = request.headers().get(header::CONTENT_TYPE).map_or(&b""[..], |kind| kind.as_bytes());
    if kind.starts_with(b"application/grpc") { "grpc" } else { "http" }
}
