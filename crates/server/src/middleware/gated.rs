//! A cluster node's handling of a request before any other layer sees it.

use axum::Router;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};

use crate::shared::Gate;

/// The outermost middleware, where there is a gate.
pub fn gated(routes: Router, gate: Option<Gate>) -> Router {
    match gate {
        Some(gate) => routes.layer(from_fn(move |request: Request, next: Next| gate(request, next))),
        None => routes,
    }
}
