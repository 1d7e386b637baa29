//! The audit log, for those who run the server.

use std::sync::Arc;

use axum::response::Response;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::api::reply;
use crate::audit::Entry;
use crate::caller::Operating;
use crate::extract::Parameters;
use crate::problem::Problem;
use crate::shared::Shared;

const LIMIT_MAX: usize = 10_000;

pub fn routes() -> OpenApiRouter<Arc<Shared>> {
    OpenApiRouter::new().routes(routes!(read))
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Wanted {
    /// Maximum number of entries; the newest are returned.
    #[serde(default = "limit_default")]
    #[param(minimum = 1, maximum = 10000)]
    limit: usize,
    /// Only entries with this action, for example `tenant.drop`; `tenant` selects all actions on tenants.
    action: Option<String>,
    /// Only entries of the key with this id.
    key: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = AuditLog)]
struct Log {
    /// Oldest first: `time`, `face`, `who`, `request`, `action`, `target`, `details`, `outcome`, `kind`, `left_out`.
    #[schema(value_type = Vec<Object>)]
    entries: Vec<Entry>,
    /// Incomplete lines, cut off by a crash.
    damaged: u64,
}

fn limit_default() -> usize {
    100
}

/// Lists administrative actions: who did what, when, and with what outcome. The log also records each reading of it.
#[utoipa::path(get, path = "/v1/audit", tag = "administration", security(("key" = ["admin"])),
    params(Wanted), responses((status = 200, description = "A page of the audit log", body = Log)))]
async fn read(Operating(caller): Operating, Parameters(wanted): Parameters<Wanted>) -> Result<Response, Problem> {
    if !(1..=LIMIT_MAX).contains(&wanted.limit) {
        return Err(Problem::invalid(format!("limit is {}; choose 1 to {LIMIT_MAX}", wanted.limit)));
    }
    let book = caller.shared.audit.clone();
    let page = caller
        .run(move |_| {
            book.file().newest(wanted.limit, |entry| {
                wanted.action.as_deref().is_none_or(|action| entry.is_about(action))
                    && wanted.key.as_deref().is_none_or(|key| entry.who.key.as_deref() == Some(key))
            })
        })
        .await?;
    Ok(reply::json(&Log { entries: page.entries, damaged: page.damaged }))
}
