//! Searching: by text, by vector, by both, by likeness; one question or many.

use std::sync::Arc;
use std::time::Duration;

use axum::response::Response;
use nuthatch_dialect::{Answer, Search as Asked, Shown};
use nuthatch_link::{Error, Result as EngineResult, Search, Waits};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::api::read_point::{AsOf, ReadingAt};
use crate::api::reply;
use crate::caller::Caller;
use crate::extract::{Json, Segments, parse_from};
use crate::problem::Problem;
use crate::shared::Shared;

/// The server's own bound is shorter, and holds whatever is asked for.
const TIMEOUT_MS_MAX: f64 = 86_400_000.0;
/// Questions of one request.
const SEARCHES_MAX: usize = 1000;

pub fn routes() -> OpenApiRouter<Arc<Shared>> {
    OpenApiRouter::new().routes(routes!(search)).routes(routes!(search_many))
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Searches)]
struct Questions {
    #[schema(max_items = 1000)]
    searches: Vec<Asked>,
    /// Timeout in milliseconds for all of them together.
    #[schema(minimum = 0)]
    timeout_ms: Option<f64>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = SearchAnswers)]
struct AllAnswered {
    /// In the order of the searches.
    answers: Vec<Answer>,
}

/// As the engine has it, and no longer than the server lets it be.
pub fn engine_search(asked: Asked, longest: Duration) -> EngineResult<Search> {
    let limit = time_limit(asked.timeout_ms)?.unwrap_or(longest);
    asked.into_engine(Some(limit.min(longest)), None)
}

/// A question that came as JSON some other way.
///
/// # Errors
/// 400 with the name of the wrong part.
pub fn read(caller: &Caller, question: Value) -> Result<Search, Problem> {
    let question: Asked = parse_from(question).map_err(|why| Problem::invalid(format!("the search: {why}")))?;
    Ok(engine_search(question, caller.shared.config.search_timeout)?)
}

/// Searches a collection and returns the best hits.
#[utoipa::path(post, path = "/v1/collections/{collection}/search", tag = "search", security(("key" = ["read"])),
    params(("collection" = String, Path), AsOf), request_body = Asked, responses((status = 200, description = "The hits, best first", body = Answer)))]
async fn search(
    ReadingAt { caller, read_point }: ReadingAt,
    Segments(name): Segments<String>,
    Json { value, held }: Json<Asked>,
) -> Result<Response, Problem> {
    let shown = Shown::of(&value);
    let search = engine_search(value, caller.shared.config.search_timeout)?;
    let answer = caller
        .run(move |database| {
            let _held = held;
            read_point.records(database, &name)?.search(&search)
        })
        .await?;
    Ok(reply::json(&Answer::new(answer, shown)))
}

/// Runs several searches at once.
#[utoipa::path(post, path = "/v1/collections/{collection}/search-many", tag = "search", security(("key" = ["read"])),
    params(("collection" = String, Path), AsOf), request_body = Questions, responses((status = 200, description = "One answer per search, in the order of the searches", body = AllAnswered)))]
async fn search_many(
    ReadingAt { caller, read_point }: ReadingAt,
    Segments(name): Segments<String>,
    Json { value, held }: Json<Questions>,
) -> Result<Response, Problem> {
    let number = value.searches.len();
    if number > SEARCHES_MAX {
        return Err(Problem::invalid(format!(
            "the request has {number} searches; send at most {SEARCHES_MAX} at a time"
        )));
    }
    // Of all of them together, and from here on.
    let waits = Waits::of(time_limit(value.timeout_ms)?, None);
    let longest = caller.shared.config.search_timeout;
    let shown: Vec<Shown> = value.searches.iter().map(Shown::of).collect();
    let searches = value.searches.into_iter().map(|question| engine_search(question, longest));
    let searches = searches.collect::<EngineResult<Vec<Search>>>()?;
    let answering = caller.run(move |database| {
        let _held = held;
        let database = database.waiting(database.waits().and(&waits));
        read_point.records(&database, &name)?.search_many(&searches)
    });
    let answers = answering.await?;
    let answers = answers.into_iter().zip(shown).map(|(answer, shown)| Answer::new(answer, shown));
    Ok(reply::json(&AllAnswered { answers: answers.collect() }))
}

/// # Errors
/// `Invalid` for what is no time.
fn time_limit(timeout_ms: Option<f64>) -> EngineResult<Option<Duration>> {
    let Some(ms) = timeout_ms else { return Ok(None) };
    match (0.0..=TIMEOUT_MS_MAX).contains(&ms) {
        true => Ok(Some(Duration::from_secs_f64(ms / 1000.0))),
        false => Err(Error::invalid(format!("timeout_ms is {ms}; give 0 to {TIMEOUT_MS_MAX} (a day)"))),
    }
}
