//! The code of `nuthatch ui` for a key, once.

use std::sync::Arc;

use axum::extract::{Extension, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};

use crate::access::{Invitation, Key, NewKey};
use crate::api::reply;
use crate::audit::Notes;
use crate::clock;
use crate::extract::Json;
use crate::problem::Problem;
use crate::shared::Shared;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Code {
    code: String,
}

#[derive(Serialize)]
struct Session {
    /// The token that the page sends as `Authorization: Bearer`.
    key: String,
}

/// Takes a body of JSON, which no page of another site can send without asking this server first.
///
/// The audit log notes callers that come in and callers that are refused.
pub async fn begin(
    State(shared): State<Arc<Shared>>,
    Extension(notes): Extension<Notes>,
    body: Json<Code>,
) -> Result<Response, Problem> {
    let Some(invitation) = &shared.invitation else { return Err(Problem::no_such_address()) };
    notes.acts("console.open", "");
    // An entry that cannot be written must not cost the code.
    shared.audit.ready().await?;
    let database = shared.database()?.clone();
    if !invitation.accept(&body.value.code, clock::now()) {
        return Err(Problem::code_is_void());
    }
    let Invitation { tenant, scopes, .. } = invitation;
    let (tenant, scopes, lender) = (tenant.clone(), scopes.clone(), shared.clone());
    let make = move || {
        let database = match &tenant {
            Some(name) => database.tenant(name)?,
            None => database,
        };
        let (key, token) = Key::make(NewKey::new("console", scopes).of(&database), clock::now())?;
        notes.who(&key.name, &key.id, &key.tenant);
        notes.detail("scopes", key.scopes.names());
        lender.ring.lend(key);
        Ok(Session { key: token.0 })
    };
    let session = shared.admission.work(make).await?;
    Ok(([(header::CACHE_CONTROL, "no-store")], reply::json(&session)).into_response())
}
