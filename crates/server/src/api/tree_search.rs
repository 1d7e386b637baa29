//! Searching the files of a tree by words and by meaning, as of any moment.

use std::sync::Arc;

use axum::response::Response;
use nuthatch_dialect::{Answer, Search as Asked, Shown};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::api::collections::EmbedderName;
use crate::api::reply;
use crate::api::search::engine_search;
use crate::caller::Reading;
use crate::extract::{Json, Parameters, Segments};
use crate::problem::Problem;
use crate::shared::Shared;

/// A file without text is named so often in one answer at most.
const UNREAD_MAX: usize = 1_000;

pub fn routes() -> OpenApiRouter<Arc<Shared>> {
    OpenApiRouter::new().routes(routes!(search)).routes(routes!(passages))
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Where {
    /// The tree as it was: the name of one of its snapshots, a sequence, or a time such as `2026-11-25T10:00:00Z`.
    as_of: Option<String>,
    /// Searches only what stands at this path or below it.
    #[serde(default)]
    below: String,
    /// The embedder of all trees of the tenant: the first request that makes passages settles it. Default `auto`.
    embedder: Option<EmbedderName>,
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct When {
    /// The tree as it was: the name of one of its snapshots, a sequence, or a time such as `2026-11-25T10:00:00Z`.
    as_of: Option<String>,
    /// The embedder of all trees of the tenant: the first request that makes passages settles it. Default `auto`.
    embedder: Option<EmbedderName>,
}

/// The result of making passages.
#[derive(Serialize, ToSchema)]
#[schema(as = TreePassages)]
struct Made {
    /// Contents that were read.
    contents: u64,
    /// Passages that were made of them.
    passages: u64,
    /// Of these, passages whose text was there before: their vectors were kept.
    reused: u64,
    /// Passages of all trees of the tenant whose vectors are still to come.
    pending: u64,
    /// Files that gave none, up to 1,000.
    unread: Vec<Unread>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = UnreadTreeFile)]
struct Unread {
    path: String,
    /// The reason, and what to do about it.
    why: String,
    /// False for what is passed over by design, such as binaries.
    is_error: bool,
}

/// Searches the files of a tree, as it is or as it was, and returns the best passages. A condition may name fields of passages
/// (`lang`, `page`, `heading`) and of files (`path`, `name`, `mtime`, `mode`, `sequence`). Passages that are not there yet are
/// made first.
#[utoipa::path(post, path = "/v1/trees/{tree}/search", tag = "trees", security(("key" = ["read"])),
    params(("tree" = String, Path), Where), request_body = Asked, responses((status = 200, description = "The hits, best first", body = Answer)))]
async fn search(
    Reading(caller): Reading,
    Segments(name): Segments<String>,
    Parameters(Where { as_of, below, embedder }): Parameters<Where>,
    Json { value, held }: Json<Asked>,
) -> Result<Response, Problem> {
    let shown = Shown::of(&value);
    let search = engine_search(value, caller.shared.config.search_timeout)?;
    let answer = caller
        .run(move |database| {
            let _held = held;
            let tree = database.existing_tree(&name)?;
            let tree = embedder.map_or_else(|| tree.clone(), |embedder| tree.with_embedder(embedder.into()));
            tree.search(as_of.as_deref(), &below, &search)
        })
        .await?;
    Ok(reply::json(&Answer::new(answer, shown)))
}

/// Makes the passages that the files of a tree lack, so that no search has to.
#[utoipa::path(post, path = "/v1/trees/{tree}/passages", tag = "trees", security(("key" = ["read"])),
    params(("tree" = String, Path), When), responses((status = 200, description = "What was made", body = Made)))]
async fn passages(
    Reading(caller): Reading,
    Segments(name): Segments<String>,
    Parameters(When { as_of, embedder }): Parameters<When>,
) -> Result<Response, Problem> {
    let made = caller.run(move |database| {
        let tree = database.existing_tree(&name)?;
        let tree = embedder.map_or_else(|| tree.clone(), |embedder| tree.with_embedder(embedder.into()));
        tree.make_passages(as_of.as_deref(), |_| true)
    });
    let mut made = made.await?;
    made.unread.truncate(UNREAD_MAX);
    let unread = made.unread.into_iter().map(|file| Unread { path: file.path, why: file.why, is_error: file.is_error });
    Ok(reply::json(&Made {
        contents: made.contents,
        passages: made.passages,
        reused: made.reused,
        pending: made.pending,
        unread: unread.collect(),
    }))
}
