//! Everything that one listener answers: the routes of HTTP, the Model Context Protocol and gRPC, and what surrounds
//! them all.

use std::sync::Arc;

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use nuthatch_flight::Health;

use crate::middleware::{gated, hold, observe, watch};
use crate::parameters::refuse_unknown;
use crate::problem::Problem;
use crate::shared::Shared;
use crate::{api, console, grpc, mcp};

/// Everything that the server answers.
pub fn routes(shared: Arc<Shared>, health: &Health) -> Router {
    let (router, _) = api::all().split_for_parts();
    let gate = shared.gate().cloned();
    let router = router
        .merge(console::routes())
        .merge(mcp::routes())
        .merge(grpc::routes(&shared, health))
        .fallback(async || Problem::no_such_address())
        .method_not_allowed_fallback(async || Problem::wrong_method())
        .layer(from_fn_with_state(shared.clone(), hold))
        .layer(from_fn_with_state(shared.clone(), watch))
        .layer(from_fn(refuse_unknown))
        .layer(from_fn_with_state(shared.clone(), observe))
        .with_state(shared);
    gated(router, gate)
}
