//! What is noted of HTTP: around every request that administers, after who asked is known and before the answer leaves.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{MatchedPath, Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use nuthatch_engine::Error;
use parking_lot::Mutex;
use serde_json::{Map, Value};

use super::actions::{action_of, target_of};
use super::entry::{Entry, Outcome, Who};
use crate::access::TENANT_DEFAULT;
use crate::problem::Problem;
use crate::shared::Shared;
use crate::telemetry::RequestId;

/// From where a request came; an extension of every request.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub SocketAddr);

/// What is found out about a request on its way; an extension of every request.
#[derive(Clone, Debug, Default)]
pub struct Notes(Arc<Mutex<Found>>);

#[derive(Debug, Default)]
struct Found {
    who: Who,
    /// It needs the scope of administrators.
    administers: bool,
    details: Map<String, Value>,
}

impl Notes {
    /// Whose key it is.
    pub fn who(&self, name: &str, key: &str, tenant: &str) {
        let mut found = self.0.lock();
        found.who.name = name.into();
        found.who.key = Some(key.into());
        found.who.tenant = Some(tenant.into());
    }

    /// Nobody needs a key here.
    pub fn without_a_key(&self) {
        self.0.lock().who.tenant = Some(TENANT_DEFAULT.into());
    }

    /// Who it is, as far as that is known.
    pub fn asker(&self) -> Who {
        self.0.lock().who.clone()
    }

    /// Only administrators may ask this.
    pub fn administers(&self) {
        self.0.lock().administers = true;
    }

    /// More of what is being done. Nothing that a client wrote about others belongs here.
    pub fn detail(&self, name: &str, value: impl Into<Value>) {
        self.0.lock().details.insert(name.into(), value.into());
    }
}

/// The middleware around all routes, within the one that gives requests their ids.
pub async fn watch(State(shared): State<Arc<Shared>>, mut request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>().map_or(String::new(), |path| path.as_str().into());
    let method = request.method().clone();
    let action = action_of(&method, &route);
    if action.is_some() {
        let book = shared.audit.clone();
        if let Err(error) = blocking(move || book.check()).await.and_then(|checked| checked) {
            return Problem::from(error).into_response();
        }
    }
    let (notes, target) = (Notes::default(), target_of(&route, request.uri().path()));
    notes.0.lock().who.address = request.extensions().get::<Peer>().map(|Peer(address)| address.to_string());
    let id = request.extensions().get::<RequestId>().map(|RequestId(id)| id.clone());
    request.extensions_mut().insert(notes.clone());
    let response = next.run(request).await;
    let status = response.status();
    let is_refused = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
    let Found { who, administers, details } = std::mem::take(&mut *notes.0.lock());
    let action = match action {
        Some(action) => action.to_string(),
        None if is_refused && administers => format!("{method} {route}"),
        None => return response,
    };
    // Without keys, whoever can connect runs the server.
    let is_operator = !is_refused && who.tenant.as_deref() == Some(TENANT_DEFAULT) && administers;
    let mut entry = Entry { request: id, details, ..Entry::new("http", who, &action, &target) };
    if !status.is_success() {
        let kind = response.extensions().get::<Problem>().map_or("internal", |problem| &problem.kind);
        entry = entry.ended(if is_refused { Outcome::Refused } else { Outcome::Failed }, kind);
    }
    let book = shared.audit.clone();
    match blocking(move || book.note(entry, is_operator)).await {
        Ok(()) => response,
        Err(error) => Problem::from(error).into_response(),
    }
}

async fn blocking<T: Send + 'static>(call: impl FnOnce() -> T + Send + 'static) -> Result<T, Error> {
    let done = tokio::task::spawn_blocking(call).await;
    done.map_err(|error| Error::internal(format!("the audit log: {error}, which is a defect")))
}
