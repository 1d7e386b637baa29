//! The middleware around every request: it is let in or refused, has an id, is counted, and is written into the log.

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tracing::{Instrument, error, error_span, info, warn};

use crate::problem::Problem;
use crate::shared::Shared;
use crate::undrained_body::{self, Streaming};

pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Longer ids of clients are not taken over.
const ID_BYTES_MAX: usize = 128;

/// The request's id as text; an extension of every request.
#[derive(Clone, Debug)]
pub struct RequestId(pub String);

/// The middleware around all routes.
pub async fn observe(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    let started = Instant::now();
    let id = request_id(&request);
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().map_or("unmatched", |path| path.as_str()).to_string();
    // Of the highest level, so that whatever is logged has the id, however little that is.
    let span = error_span!(
        "request",
        id = id.to_str().unwrap_or_default(),
        %method,
        route,
        key = tracing::field::Empty,
        // Of requests to models.
        gen_ai.operation.name = tracing::field::Empty,
        gen_ai.provider.name = tracing::field::Empty,
        nuthatch.cache.outcome = tracing::field::Empty,
        nuthatch.cache.detail = tracing::field::Empty,
    );
    let (mut request, undrained_body) = undrained_body::watch(request);
    request.extensions_mut().insert(RequestId(id.to_str().unwrap_or_default().into()));
    let Some(admitted) = shared.admission.admit() else {
        shared.metrics.refused();
        let mut refused = Problem::unavailable("too many requests are under way").into_response();
        undrained_body.tell(&mut refused);
        return with_id(refused, id);
    };
    shared.metrics.under_way(shared.admission.requests_under_way());
    // A call that goes on after its answer has begun keeps it.
    let admitted = Arc::new(admitted);
    request.extensions_mut().insert(admitted.clone());
    let mut response = next.run(request).instrument(span.clone()).await;
    // A stream of records is read while it is answered.
    if response.extensions().get::<Streaming>().is_none() {
        undrained_body.tell(&mut response);
    }
    drop(admitted);
    shared.metrics.under_way(shared.admission.requests_under_way());
    let (status, elapsed) = (response.status(), started.elapsed());
    shared.metrics.answered(&method, &route, status.as_u16(), elapsed.as_secs_f64());
    let _entered = span.enter();
    let ms = elapsed.as_secs_f64() * 1e3;
    match response.extensions().get::<Problem>() {
        // A tenant at its limit is the caller's affair; a disk that fills is worth a look.
        Some(problem) if status == StatusCode::INSUFFICIENT_STORAGE => {
            warn!(status = status.as_u16(), ms, kind = problem.kind, detail = problem.detail, "answered");
        }
        // Being asked too early, or too much, is no failure.
        Some(problem) if status.is_server_error() && status != StatusCode::SERVICE_UNAVAILABLE => {
            error!(status = status.as_u16(), ms, kind = problem.kind, detail = problem.detail, "answered");
        }
        Some(problem) => info!(status = status.as_u16(), ms, kind = problem.kind, detail = problem.detail, "answered"),
        None => info!(status = status.as_u16(), ms, "answered"),
    }
    with_id(response, id)
}

/// The client's id when it sent one that can be written into a log, else one of ours.
fn request_id(request: &Request) -> HeaderValue {
    let is_fine = |id: &&HeaderValue| {
        let bytes = id.as_bytes();
        (1..=ID_BYTES_MAX).contains(&bytes.len()) && bytes.iter().all(u8::is_ascii_graphic)
    };
    request.headers().get(REQUEST_ID).filter(is_fine).cloned().unwrap_or_else(new_id)
}

/// Unlike every other of this process, and of other processes in all likelihood.
fn new_id() -> HeaderValue {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    static PROCESS: std::sync::LazyLock<u64> = std::sync::LazyLock::new(|| {
        let mut bytes = [0; 8];
        // Without random bytes the ids of two processes may be alike, which makes a log harder to read and nothing worse.
        getrandom::fill(&mut bytes).map_or(u64::from(std::process::id()), |()| u64::from_le_bytes(bytes))
    });
    let mut id = String::with_capacity(32);
    write!(id, "{:016x}-{:x}", *PROCESS, NEXT.fetch_add(1, Ordering::Relaxed))
        .expect("writing to a string does not fail");
    HeaderValue::from_str(&id).expect("hexadecimal digits fit a header")
}

/// An answer that another server gave keeps the id that it has.
fn with_id(mut response: Response, id: HeaderValue) -> Response {
    response.headers_mut().entry(REQUEST_ID).or_insert(id);
    response
}
