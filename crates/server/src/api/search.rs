//! Searching: by text, by vector, by both, by likeness; one question or many.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::response::Response;
use nuthatch_engine::{
    Accuracy, Answer, Error, Explain, Fusion, Hit, Include, Leg, Legs, Mode, Result as EngineResult, Search,
    datetimes_of, payload_to_json,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::time::timeout;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::api::moment::{AsOf, ReadingAt};
use crate::api::reply;
use crate::api::vectors::{self, Vector, VectorFormat};
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

/// A question: at least one of text, vector and like.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Search)]
struct Question {
    /// Words to find, and what is embedded for the vector leg when no vector is given.
    text: Option<String>,
    vector: Option<Vector>,
    /// Id of a record whose vector is searched with; it is not among the hits itself.
    like: Option<String>,
    /// The named field that `vector` or `like` is of.
    using: Option<String>,
    /// Further legs: vectors by the named field that they are of.
    #[serde(default)]
    vectors: BTreeMap<String, Vector>,
    /// Left out: every leg that the question and the collection allow.
    mode: Option<ModeName>,
    /// Only records whose payload passes this condition, for example `year >= 2024 and team in ('core', 'ops')`.
    #[serde(rename = "where")]
    filter: Option<String>,
    /// Hits wanted; limit and offset together are 10,000 at most.
    #[serde(default = "limit_default")]
    #[schema(minimum = 1, maximum = 10000)]
    limit: usize,
    #[serde(default)]
    #[schema(maximum = 9999)]
    offset: usize,
    /// What hits carry besides id, score and legs; left out, `text` and `payload`.
    include: Option<Vec<Part>>,
    /// How vectors of hits are written.
    #[serde(default)]
    vector_format: VectorFormat,
    /// How two legs become one ranking.
    #[serde(default)]
    fusion: FusionName,
    #[serde(default = "one")]
    #[schema(minimum = 0)]
    text_weight: f32,
    #[serde(default = "one")]
    #[schema(minimum = 0)]
    vector_weight: f32,
    /// Share of the truly nearest that the vector leg finds on average, 0.5 to 0.999; default 0.99.
    #[schema(minimum = 0.5, maximum = 0.999)]
    recall: Option<f32>,
    /// Rows that a walk of a graph keeps in view, instead of a recall.
    #[schema(minimum = 1, maximum = 100000)]
    effort: Option<usize>,
    /// Compare every vector.
    #[serde(default)]
    exact: bool,
    /// Give up after that many milliseconds; the server's own limit holds as well.
    #[schema(minimum = 0)]
    timeout_ms: Option<f64>,
    /// Say how the answer was found.
    #[serde(default)]
    explain: bool,
}

#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum ModeName {
    Hybrid,
    Text,
    Vector,
}

#[derive(Clone, Copy, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum FusionName {
    #[default]
    Rrf,
    Weighted,
    Normalised,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = IncludedPart)]
enum Part {
    Text,
    Payload,
    Vector,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Searches)]
struct Questions {
    #[schema(max_items = 1000)]
    searches: Vec<Question>,
    /// Give up on all of them after that many milliseconds together.
    #[schema(minimum = 0)]
    timeout_ms: Option<f64>,
}

/// Hits, best first, and how they were found.
#[derive(Serialize, ToSchema)]
#[schema(as = SearchAnswer)]
struct Answered {
    hits: Vec<FoundHit>,
    /// Why an index was not used, one sentence each. The hits are right either way.
    degraded: Vec<String>,
    /// The offset of the next page, if there may be one.
    next_offset: Option<usize>,
    /// Counts and choices of the search, where they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    explain: Option<Explain>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = SearchAnswers)]
struct AllAnswered {
    /// In the order of the searches.
    answers: Vec<Answered>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Hit)]
struct FoundHit {
    id: String,
    /// With one leg, the leg's score; with two, the fused score (higher is better).
    score: f32,
    text: Option<String>,
    context: Option<String>,
    #[schema(value_type = Object)]
    payload: Map<String, Value>,
    /// Which strings of the payload are datetimes, as dotted paths; absent when none is.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    datetimes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    vector: Option<Vector>,
    /// Those of named fields, only where vectors were asked for.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    vectors: BTreeMap<String, Vector>,
    legs: FoundLegs,
}

/// A hit's place in each leg that found it.
#[derive(Serialize, ToSchema)]
#[schema(as = Legs)]
struct FoundLegs {
    text: Option<FoundLeg>,
    vector: Option<FoundLeg>,
    /// Of `vectors`, by field.
    vectors: BTreeMap<String, FoundLeg>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Leg)]
struct FoundLeg {
    /// From 1.
    rank: usize,
    score: f32,
}

fn limit_default() -> usize {
    10
}

fn one() -> f32 {
    1.0
}

impl Question {
    fn into_search(self, longest: Duration, cancel: Arc<AtomicBool>) -> EngineResult<Search> {
        let fusion = match self.fusion {
            FusionName::Rrf => "rrf",
            FusionName::Weighted => "weighted",
            FusionName::Normalised => "normalised",
        };
        let accuracy = match (self.exact, self.effort, self.recall) {
            (false, None, None) => Accuracy::default(),
            (false, None, Some(recall)) => Accuracy::Recall(recall),
            (false, Some(effort), None) => Accuracy::Effort(effort),
            (true, None, None) => Accuracy::Exact,
            _ => return Err(Error::invalid("a search takes one of recall, effort and exact")),
        };
        let has = |part| self.include.as_ref().is_none_or(|parts| parts.contains(&part));
        let asked = time_limit(self.timeout_ms)?.unwrap_or(longest);
        Ok(Search {
            mode: self.mode.map(|mode| match mode {
                ModeName::Hybrid => Mode::Hybrid,
                ModeName::Text => Mode::Text,
                ModeName::Vector => Mode::Vector,
            }),
            filter: self.filter.as_deref().map(nuthatch_filter::parse).transpose()?,
            limit: self.limit,
            offset: self.offset,
            include: Include {
                text: has(Part::Text),
                payload: has(Part::Payload),
                vector: self.include.as_ref().is_some_and(|parts| parts.contains(&Part::Vector)),
            },
            fusion: Fusion::named(fusion, self.text_weight, self.vector_weight)?,
            accuracy,
            time_limit: Some(asked.min(longest)),
            cancel: Some(cancel),
            text: self.text,
            vector: self.vector.map(Vector::into_engine),
            like: self.like,
            using: self.using,
            vectors: vectors::into_engine(self.vectors),
        })
    }
}

impl Answered {
    fn new(answer: Answer, shown: Shown) -> Self {
        Self {
            hits: answer.hits.into_iter().map(|hit| FoundHit::new(hit, shown.format)).collect(),
            degraded: answer.degraded,
            next_offset: answer.next_offset,
            explain: shown.explain.then_some(answer.explain),
        }
    }
}

impl FoundHit {
    fn new(hit: Hit, format: VectorFormat) -> Self {
        let leg = |Leg { rank, score }| FoundLeg { rank, score };
        let Legs { text, vector, vectors } = hit.legs;
        Self {
            datetimes: datetimes_of(&hit.payload),
            payload: payload_to_json(&hit.payload),
            legs: FoundLegs {
                text: text.map(leg),
                vector: vector.map(leg),
                vectors: vectors.into_iter().map(|(field, place)| (field, leg(place))).collect(),
            },
            id: hit.id,
            score: hit.score,
            text: hit.text,
            context: hit.context,
            vector: hit.vector.map(|vector| format.write(vector)),
            vectors: format.write_all(hit.vectors),
        }
    }
}

/// What of an answer is shown, and how.
#[derive(Clone, Copy)]
struct Shown {
    explain: bool,
    format: VectorFormat,
}

impl Shown {
    fn of(question: &Question) -> Self {
        Self { explain: question.explain, format: question.vector_format }
    }
}

/// A question that came as JSON some other way, and what ends it when it is dropped.
///
/// # Errors
/// 400 with the name of the wrong part.
pub fn read(caller: &Caller, question: Value) -> Result<(Search, CancelledOnDrop), Problem> {
    let question: Question = parse_from(question).map_err(|why| Problem::invalid(format!("the search: {why}")))?;
    let (longest, cancel) = limits(caller);
    Ok((question.into_search(longest, cancel.0.clone())?, cancel))
}

/// Ends searches whose client has gone away.
pub struct CancelledOnDrop(Arc<AtomicBool>);

impl Drop for CancelledOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Finds the best records for one question.
#[utoipa::path(post, path = "/v1/collections/{collection}/search", tag = "search", security(("key" = ["read"])),
    params(("collection" = String, Path), AsOf), request_body = Question, responses((status = 200, description = "The hits, best first", body = Answered)))]
async fn search(
    ReadingAt { caller, moment }: ReadingAt,
    Segments(name): Segments<String>,
    Json { value, held }: Json<Question>,
) -> Result<Response, Problem> {
    let (longest, cancel) = limits(&caller);
    let shown = Shown::of(&value);
    let search = value.into_search(longest, cancel.0.clone())?;
    let answer = caller
        .run(move |database| {
            let _held = held;
            moment.records(database, &name)?.search(&search)
        })
        .await?;
    Ok(reply::json(&Answered::new(answer, shown)))
}

/// Asks several questions at once.
#[utoipa::path(post, path = "/v1/collections/{collection}/search-many", tag = "search", security(("key" = ["read"])),
    params(("collection" = String, Path), AsOf), request_body = Questions, responses((status = 200, description = "One answer a search, in the order of the searches", body = AllAnswered)))]
async fn search_many(
    ReadingAt { caller, moment }: ReadingAt,
    Segments(name): Segments<String>,
    Json { value, held }: Json<Questions>,
) -> Result<Response, Problem> {
    let number = value.searches.len();
    if number > SEARCHES_MAX {
        return Err(Problem::invalid(format!(
            "the request has {number} searches; send at most {SEARCHES_MAX} at a time"
        )));
    }
    let (longest, cancel) = limits(&caller);
    let limit = time_limit(value.timeout_ms)?;
    let longest = limit.map_or(longest, |limit| limit.min(longest));
    let shown: Vec<Shown> = value.searches.iter().map(Shown::of).collect();
    let searches = value.searches.into_iter().map(|question| question.into_search(longest, cancel.0.clone()));
    let searches = searches.collect::<EngineResult<Vec<Search>>>()?;
    let mut answering = pin!(caller.run(move |database| {
        let _held = held;
        moment.records(database, &name)?.search_many(&searches)
    }));
    let answers = match limit {
        None => answering.await?,
        Some(limit) => match timeout(limit, &mut answering).await {
            Ok(answers) => answers?,
            // Those that have not ended yet say so.
            Err(_) => {
                cancel.0.store(true, Ordering::Relaxed);
                answering.await?
            }
        },
    };
    let answers = answers.into_iter().zip(shown).map(|(answer, shown)| Answered::new(answer, shown));
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

fn limits(caller: &Caller) -> (Duration, CancelledOnDrop) {
    (caller.shared.config.search_timeout, CancelledOnDrop(Arc::default()))
}
