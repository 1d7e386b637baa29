//! An answer leaves once everything that it shows is where it has to be, on a node whose data other nodes may take over.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::problem::Problem;
use crate::shared::Shared;

/// Addresses that show nothing of the data.
const NEVER_HELD: [&str; 3] = ["/healthz", "/readyz", "/metrics"];

/// The innermost middleware: what is answered instead is audited and counted.
pub async fn hold(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    let Some(hold) = shared.hold().filter(|_| !NEVER_HELD.contains(&request.uri().path())) else {
        return next.run(request).await;
    };
    let response = next.run(request).await;
    match hold().await {
        Ok(()) => response,
        Err(error) => Problem::from(error).into_response(),
    }
}
