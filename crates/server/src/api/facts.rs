//! Facts: making, listing and dropping them, and their calls by name.

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::Response;
use nuthatch_dialect::facts::{
    self, AliasToDeclare, AliasToRemove, EntitiesAnswer, EntitiesQuestion, EraseAnswer, ExtractAnswer, ExtractQuestion,
    FactNumber, FactRevised, FactToEnd, FactsAnswer, FactsChanged, FactsCounts, FactsEnded, FactsGroupsQuestion,
    FactsPathsQuestion, FactsQuestion, FactsRankQuestion, FactsRecorded, FactsToRecord, FactsToRetract, FailuresAnswer,
    FailuresQuestion, LearnQuestion, Nothing, PassagesQuestion, PredicateToDeclare, PredicatesAnswer, SettleAnswer,
    TraceAnswer, WhyAnswer, WorkAnswer, WorkQuestion,
};
use nuthatch_dialect::networks::{GroupsAnswer, PathsAnswer, RankAnswer};
use nuthatch_link::{Error, What};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::admission::BodyReservation;
use crate::api::read_point::{AsOf, ReadingAt};
use crate::api::reply;
use crate::caller::{Caller, Reading, Writing};
use crate::extract::{Json, Segments};
use crate::problem::Problem;
use crate::shared::Shared;

pub fn routes() -> OpenApiRouter<Arc<Shared>> {
    OpenApiRouter::new()
        .routes(routes!(names))
        .routes(routes!(create, remove))
        .routes(routes!(list))
        .routes(routes!(why))
        .routes(routes!(entities))
        .routes(routes!(predicates))
        .routes(routes!(stats))
        .routes(routes!(trace))
        .routes(routes!(failures))
        .routes(routes!(paths))
        .routes(routes!(rank))
        .routes(routes!(groups))
        .routes(routes!(record))
        .routes(routes!(retract))
        .routes(routes!(end))
        .routes(routes!(declare))
        .routes(routes!(alias))
        .routes(routes!(remove_alias))
        .routes(routes!(work))
        .routes(routes!(learn))
        .routes(routes!(extract))
        .routes(routes!(settle))
        .routes(routes!(erase))
}

#[derive(Serialize, ToSchema)]
struct FactsNames {
    facts: Vec<String>,
}

#[derive(Serialize, ToSchema)]
struct FactsName {
    name: String,
}

/// Reads facts, which must be there. `held`: the memory of the request's body.
async fn read(
    ReadingAt { caller, read_point }: ReadingAt,
    name: String,
    call: &'static str,
    question: Value,
    held: BodyReservation,
) -> Result<Response, Problem> {
    let answer = caller.run(move |database| {
        let answer = facts::read(&read_point.facts(database, &name)?, call, question);
        drop(held);
        answer
    });
    Ok(reply::json(&answer.await?))
}

/// Changes facts, which must be there.
async fn change(
    caller: Caller,
    name: String,
    call: &'static str,
    question: Value,
    held: BodyReservation,
) -> Result<Response, Problem> {
    let answer = caller.run(move |database| {
        let answer = facts::ask(&database.existing_facts(&name)?, call, question);
        drop(held);
        answer
    });
    Ok(reply::json(&answer.await?))
}

/// Lists the names of all facts.
#[utoipa::path(get, path = "/v1/facts", tag = "facts", security(("key" = ["read"])),
    responses((status = 200, description = "The names of all facts", body = FactsNames)))]
async fn names(Reading(caller): Reading) -> Result<Response, Problem> {
    let facts = caller.run(|database| database.facts_names()).await?;
    Ok(reply::json(&FactsNames { facts }))
}

/// Creates facts of a name if there are none.
#[utoipa::path(put, path = "/v1/facts/{facts}", tag = "facts", security(("key" = ["write"])),
    params(("facts" = String, Path)),
    responses((status = 201, description = "Created", body = FactsName), (status = 200, description = "They already existed", body = FactsName)))]
async fn create(Writing(caller): Writing, Segments(name): Segments<String>) -> Result<Response, Problem> {
    let (is_new, name) = caller
        .run(move |database| {
            let is_new = !database.facts_names()?.contains(&name);
            database.facts(&name)?;
            Ok((is_new, name))
        })
        .await?;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok(reply::json_with(status, &FactsName { name }))
}

/// Drops all facts of a name, with what extractors found.
#[utoipa::path(delete, path = "/v1/facts/{facts}", tag = "facts", security(("key" = ["write"])),
    params(("facts" = String, Path)), responses((status = 204, description = "Dropped")))]
async fn remove(Writing(caller): Writing, Segments(name): Segments<String>) -> Result<Response, Problem> {
    let dropped = caller
        .run(move |database| match database.drop_facts(&name)? {
            true => Ok(()),
            false => Err(Error::not_found(format!("no facts {name:?}")).about(What::Facts, name)),
        })
        .await;
    dropped.map(|()| reply::nothing())
}

/// Finds facts by subject, relation and object, as they are known, or were known at a time.
#[utoipa::path(post, path = "/v1/facts/{facts}/list", tag = "facts", security(("key" = ["read"])),
    params(("facts" = String, Path), AsOf), request_body = FactsQuestion,
    responses((status = 200, description = "Facts in the order in which they were recorded", body = FactsAnswer)))]
async fn list(
    at: ReadingAt,
    Segments(name): Segments<String>,
    Json { value, held }: Json<Value>,
) -> Result<Response, Problem> {
    read(at, name, "list", value, held).await
}

/// Tells why a fact is believed or is not: its sources and what they say, what it revises, by which it ended.
#[utoipa::path(post, path = "/v1/facts/{facts}/why", tag = "facts", security(("key" = ["read"])),
    params(("facts" = String, Path), AsOf), request_body = FactNumber,
    responses((status = 200, description = "The fact with its sources", body = WhyAnswer)))]
async fn why(
    at: ReadingAt,
    Segments(name): Segments<String>,
    Json { value, held }: Json<Value>,
) -> Result<Response, Problem> {
    read(at, name, "why", value, held).await
}

/// Lists the entities that facts name, or those of the same normal form.
#[utoipa::path(post, path = "/v1/facts/{facts}/entities", tag = "facts", security(("key" = ["read"])),
    params(("facts" = String, Path), AsOf), request_body = EntitiesQuestion,
    responses((status = 200, description = "Entities by their normal forms", body = EntitiesAnswer)))]
async fn entities(
    at: ReadingAt,
    Segments(name): Segments<String>,
    Json { value, held }: Json<Value>,
) -> Result<Response, Problem> {
    read(at, name, "entities", value, held).await
}

/// Lists the relations, and what is declared of them.
#[utoipa::path(post, path = "/v1/facts/{facts}/predicates", tag = "facts", security(("key" = ["read"])),
    params(("facts" = String, Path), AsOf), request_body = Nothing,
    responses((status = 200, description = "All relations", body = PredicatesAnswer)))]
async fn predicates(
    at: ReadingAt,
    Segments(name): Segments<String>,
    Json { value, held }: Json<Value>,
) -> Result<Response, Problem> {
    read(at, name, "predicates", value, held).await
}

/// Counts facts.
#[utoipa::path(post, path = "/v1/facts/{facts}/stats", tag = "facts", security(("key" = ["read"])),
    params(("facts" = String, Path), AsOf), request_body = Nothing,
    responses((status = 200, description = "How many there are", body = FactsCounts)))]
async fn stats(
    at: ReadingAt,
    Segments(name): Segments<String>,
    Json { value, held }: Json<Value>,
) -> Result<Response, Problem> {
    read(at, name, "stats", value, held).await
}

/// Finds the believed facts that stand on records, and the entities that they name.
#[utoipa::path(post, path = "/v1/facts/{facts}/trace", tag = "facts", security(("key" = ["read"])),
    params(("facts" = String, Path), AsOf), request_body = PassagesQuestion,
    responses((status = 200, description = "The facts that stand on them", body = TraceAnswer)))]
async fn trace(
    at: ReadingAt,
    Segments(name): Segments<String>,
    Json { value, held }: Json<Value>,
) -> Result<Response, Problem> {
    read(at, name, "trace", value, held).await
}

/// Lists what an extractor failed at.
#[utoipa::path(post, path = "/v1/facts/{facts}/failures", tag = "facts", security(("key" = ["read"])),
    params(("facts" = String, Path), AsOf), request_body = FailuresQuestion,
    responses((status = 200, description = "The failures", body = FailuresAnswer)))]
async fn failures(
    at: ReadingAt,
    Segments(name): Segments<String>,
    Json { value, held }: Json<Value>,
) -> Result<Response, Problem> {
    read(at, name, "failures", value, held).await
}

/// Finds the cheapest paths between two entities along facts.
#[utoipa::path(post, path = "/v1/facts/{facts}/paths", tag = "facts", security(("key" = ["read"])),
    params(("facts" = String, Path), AsOf), request_body = FactsPathsQuestion,
    responses((status = 200, description = "Paths, the cheapest first", body = PathsAnswer)))]
async fn paths(
    at: ReadingAt,
    Segments(name): Segments<String>,
    Json { value, held }: Json<Value>,
) -> Result<Response, Problem> {
    read(at, name, "paths", value, held).await
}

/// Ranks entities by PageRank, personalised when there are seeds.
#[utoipa::path(post, path = "/v1/facts/{facts}/rank", tag = "facts", security(("key" = ["read"])),
    params(("facts" = String, Path), AsOf), request_body = FactsRankQuestion,
    responses((status = 200, description = "Entities, the highest rank first", body = RankAnswer)))]
async fn rank(
    at: ReadingAt,
    Segments(name): Segments<String>,
    Json { value, held }: Json<Value>,
) -> Result<Response, Problem> {
    read(at, name, "rank", value, held).await
}

/// Finds entities that belong together: components or communities.
#[utoipa::path(post, path = "/v1/facts/{facts}/groups", tag = "facts", security(("key" = ["read"])),
    params(("facts" = String, Path), AsOf), request_body = FactsGroupsQuestion,
    responses((status = 200, description = "Groups, the largest first", body = GroupsAnswer)))]
async fn groups(
    at: ReadingAt,
    Segments(name): Segments<String>,
    Json { value, held }: Json<Value>,
) -> Result<Response, Problem> {
    read(at, name, "groups", value, held).await
}

/// Records facts, all or none. One that is believed already gets the sources that it lacks.
#[utoipa::path(post, path = "/v1/facts/{facts}/record", tag = "facts", security(("key" = ["write"])),
    params(("facts" = String, Path)), request_body = FactsToRecord,
    responses((status = 200, description = "What recording did", body = FactsRecorded)))]
async fn record(
    Writing(caller): Writing,
    Segments(name): Segments<String>,
    Json { value, held }: Json<Value>,
) -> Result<Response, Problem> {
    change(caller, name, "record", value, held).await
}

/// Takes facts back: they are not believed from now on.
#[utoipa::path(post, path = "/v1/facts/{facts}/retract", tag = "facts", security(("key" = ["write"])),
    params(("facts" = String, Path)), request_body = FactsToRetract,
    responses((status = 200, description = "How many were believed", body = FactsEnded)))]
async fn retract(
    Writing(caller): Writing,
    Segments(name): Segments<String>,
    Json { value, held }: Json<Value>,
) -> Result<Response, Problem> {
    change(caller, name, "retract", value, held).await
}

/// Says when a fact ended to be true.
#[utoipa::path(post, path = "/v1/facts/{facts}/end", tag = "facts", security(("key" = ["write"])),
    params(("facts" = String, Path)), request_body = FactToEnd,
    responses((status = 200, description = "The fact that says so", body = FactRevised)))]
async fn end(
    Writing(caller): Writing,
    Segments(name): Segments<String>,
    Json { value, held }: Json<Value>,
) -> Result<Response, Problem> {
    change(caller, name, "end", value, held).await
}

/// Declares of a relation whether a subject has one value of it at a time.
#[utoipa::path(post, path = "/v1/facts/{facts}/declare", tag = "facts", security(("key" = ["write"])),
    params(("facts" = String, Path)), request_body = PredicateToDeclare,
    responses((status = 200, description = "Whether that is new", body = FactsChanged)))]
async fn declare(
    Writing(caller): Writing,
    Segments(name): Segments<String>,
    Json { value, held }: Json<Value>,
) -> Result<Response, Problem> {
    change(caller, name, "declare", value, held).await
}

/// Declares a name another name of an entity.
#[utoipa::path(post, path = "/v1/facts/{facts}/alias", tag = "facts", security(("key" = ["write"])),
    params(("facts" = String, Path)), request_body = AliasToDeclare,
    responses((status = 200, description = "Whether that is new", body = FactsChanged)))]
async fn alias(
    Writing(caller): Writing,
    Segments(name): Segments<String>,
    Json { value, held }: Json<Value>,
) -> Result<Response, Problem> {
    change(caller, name, "alias", value, held).await
}

/// Takes an alias back.
#[utoipa::path(post, path = "/v1/facts/{facts}/remove_alias", tag = "facts", security(("key" = ["write"])),
    params(("facts" = String, Path)), request_body = AliasToRemove,
    responses((status = 200, description = "Whether it was one", body = FactsChanged)))]
async fn remove_alias(
    Writing(caller): Writing,
    Segments(name): Segments<String>,
    Json { value, held }: Json<Value>,
) -> Result<Response, Problem> {
    change(caller, name, "remove_alias", value, held).await
}

/// Takes one step through a collection: returns passages that an extractor has not seen. Records what it found in texts
/// that it has seen.
#[utoipa::path(post, path = "/v1/facts/{facts}/work", tag = "facts", security(("key" = ["write"])),
    params(("facts" = String, Path)), request_body = WorkQuestion,
    responses((status = 200, description = "Passages to extract from", body = WorkAnswer)))]
async fn work(
    Writing(caller): Writing,
    Segments(name): Segments<String>,
    Json { value, held }: Json<Value>,
) -> Result<Response, Problem> {
    change(caller, name, "work", value, held).await
}

/// Keeps what an extractor found in passages, and records the facts.
#[utoipa::path(post, path = "/v1/facts/{facts}/learn", tag = "facts", security(("key" = ["write"])),
    params(("facts" = String, Path)), request_body = LearnQuestion,
    responses((status = 200, description = "What became of it", body = ExtractAnswer)))]
async fn learn(
    Writing(caller): Writing,
    Segments(name): Segments<String>,
    Json { value, held }: Json<Value>,
) -> Result<Response, Problem> {
    change(caller, name, "learn", value, held).await
}

/// Lets an extractor that needs no model take one step through a collection.
#[utoipa::path(post, path = "/v1/facts/{facts}/extract", tag = "facts", security(("key" = ["write"])),
    params(("facts" = String, Path)), request_body = ExtractQuestion,
    responses((status = 200, description = "What extracting did", body = ExtractAnswer)))]
async fn extract(
    Writing(caller): Writing,
    Segments(name): Segments<String>,
    Json { value, held }: Json<Value>,
) -> Result<Response, Problem> {
    change(caller, name, "extract", value, held).await
}

/// Notes of facts whose last source is gone that they are not believed from now on.
#[utoipa::path(post, path = "/v1/facts/{facts}/settle", tag = "facts", security(("key" = ["write"])),
    params(("facts" = String, Path)), request_body = Nothing,
    responses((status = 200, description = "What it found", body = SettleAnswer)))]
async fn settle(
    Writing(caller): Writing,
    Segments(name): Segments<String>,
    Json { value, held }: Json<Value>,
) -> Result<Response, Problem> {
    change(caller, name, "settle", value, held).await
}

/// Erases what was taken from records: facts that stand on them alone, and what extractors found there.
#[utoipa::path(post, path = "/v1/facts/{facts}/erase", tag = "facts", security(("key" = ["write"])),
    params(("facts" = String, Path)), request_body = PassagesQuestion,
    responses((status = 200, description = "What it removed", body = EraseAnswer)))]
async fn erase(
    Writing(caller): Writing,
    Segments(name): Segments<String>,
    Json { value, held }: Json<Value>,
) -> Result<Response, Problem> {
    change(caller, name, "erase", value, held).await
}
