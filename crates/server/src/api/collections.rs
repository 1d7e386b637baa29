//! Collections: making, listing, describing and dropping them.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::Response;
use nuthatch_link::embed::Model;
use nuthatch_link::{
    BuildProgress, CollectionInfo, CollectionOptions, Element, EmbedderChoice, Error, FieldKind, Metric,
    VectorFieldInfo, VectorFieldOptions, What,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::access::Scope;
use crate::api::read_point::{AsOf, ReadingAt};
use crate::api::reply;
use crate::caller::{Reading, Writing};
use crate::extract::{Json, Segments, parse_from};
use crate::problem::Problem;
use crate::shared::Shared;

pub fn routes() -> OpenApiRouter<Arc<Shared>> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(create, describe, remove))
}

/// Options of a collection. An omitted option keeps its stored value, or takes the default.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewCollection {
    /// Dimensions of the vectors; default: those of the embedder or of the first vector.
    #[schema(minimum = 2, maximum = 4096)]
    dim: Option<usize>,
    metric: Option<MetricName>,
    /// The stored type of a component.
    elements: Option<ElementsName>,
    /// Named vector fields. Missing ones are created; existing ones that are omitted stay.
    #[serde(default)]
    vectors: BTreeMap<String, NewField>,
    /// The embedder for texts: `auto` (the stored one, or the built-in model if one is needed), `none`, or `builtin`.
    embedder: Option<EmbedderName>,
    /// Language of the texts, for stemming and stop words.
    language: Option<String>,
}

/// A named vector field. A new one needs `dim`, unless it is sparse; an existing one keeps omitted options.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewVectorField)]
struct NewField {
    /// Default `dense`; `sparse` for weights of terms, `tokens` for a vector of each token.
    kind: Option<KindName>,
    #[schema(minimum = 2, maximum = 4096)]
    dim: Option<usize>,
    metric: Option<MetricName>,
    elements: Option<ElementsName>,
}

#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = VectorFieldKind)]
enum KindName {
    Dense,
    Sparse,
    Tokens,
}

#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum MetricName {
    Cosine,
    Dot,
    L2,
    Hamming,
}

#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum ElementsName {
    F32,
    F16,
    Int8,
    Uint8,
    Binary,
}

#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum EmbedderName {
    Auto,
    None,
    Builtin,
    Static,
}

/// Returns the options and counts of a collection.
#[derive(Serialize, ToSchema)]
#[schema(as = Collection)]
pub struct Described {
    name: String,
    dim: Option<usize>,
    metric: String,
    elements: String,
    language: String,
    embedder: Option<String>,
    rows: u64,
    /// Unnamed vectors.
    vectors: u64,
    /// Records whose unnamed vector is still to come.
    pending: u64,
    /// Named vector fields.
    vector_fields: BTreeMap<String, Field>,
    /// Rows that no index holds yet.
    fresh_rows: u64,
    segments: usize,
    /// How many of them are large enough to have a vector graph.
    vector_graphs: usize,
    /// The deprecated name of `vector_graphs`.
    #[schema(deprecated)]
    graphs: usize,
    /// Progress of the vector graph that is being built, if any.
    building: Option<Building>,
    /// Why an index is not in use, one sentence each.
    degraded: Vec<String>,
    /// Payload fields so far, with the types of their values.
    fields: BTreeMap<String, Vec<String>>,
}

/// The created collection; for a key without the scope `read`, its name only.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
#[schema(as = MadeCollection)]
enum Made {
    Described(Box<Described>),
    Named(Named),
}

#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)] // what is described in full is no name alone
#[schema(as = CollectionName)]
struct Named {
    name: String,
}

/// A named vector field.
#[derive(Serialize, ToSchema)]
#[schema(as = VectorField)]
struct Field {
    /// `dense`, `sparse` or `tokens`.
    kind: String,
    /// 0 where values are sparse.
    dim: usize,
    metric: String,
    elements: String,
    /// Rows with a vector in this field.
    vectors: u64,
}

/// Progress of building a vector graph.
#[derive(Serialize, ToSchema)]
#[schema(as = GraphBeingBuilt)]
struct Building {
    done: u64,
    total: u64,
    rows_per_second: f64,
    seconds_left: Option<f64>,
}

#[derive(Serialize, ToSchema)]
struct Collections {
    collections: Vec<Described>,
}

impl From<CollectionInfo> for Described {
    fn from(info: CollectionInfo) -> Self {
        let building = info.building.map(|BuildProgress { done, total, rows_per_second, seconds_left }| Building {
            done,
            total,
            rows_per_second,
            seconds_left,
        });
        let field = |VectorFieldInfo { name, kind, dim, metric, element, vectors }| {
            (name, Field { kind, dim, metric: metric.to_string(), elements: element.to_string(), vectors })
        };
        Self {
            name: info.name,
            dim: info.dim,
            metric: info.metric.to_string(),
            elements: info.element.to_string(),
            language: info.language,
            embedder: info.embedder,
            rows: info.rows,
            vectors: info.vectors,
            pending: info.pending,
            vector_fields: info.vector_fields.into_iter().map(field).collect(),
            fresh_rows: info.fresh_rows,
            segments: info.segments,
            vector_graphs: info.vector_graphs,
            graphs: info.vector_graphs,
            building,
            degraded: info.degraded,
            fields: info.fields.into_iter().collect(),
        }
    }
}

impl From<KindName> for FieldKind {
    fn from(name: KindName) -> Self {
        match name {
            KindName::Dense => Self::Dense,
            KindName::Sparse => Self::Sparse,
            KindName::Tokens => Self::Tokens,
        }
    }
}

impl From<MetricName> for Metric {
    fn from(name: MetricName) -> Self {
        match name {
            MetricName::Cosine => Self::Cosine,
            MetricName::Dot => Self::Dot,
            MetricName::L2 => Self::L2,
            MetricName::Hamming => Self::Hamming,
        }
    }
}

impl From<ElementsName> for Element {
    fn from(name: ElementsName) -> Self {
        match name {
            ElementsName::F32 => Self::F32,
            ElementsName::F16 => Self::F16,
            ElementsName::Int8 => Self::Int8,
            ElementsName::Uint8 => Self::Uint8,
            ElementsName::Binary => Self::Binary,
        }
    }
}

impl From<NewCollection> for CollectionOptions {
    fn from(new: NewCollection) -> Self {
        let field = |NewField { kind, dim, metric, elements }| VectorFieldOptions {
            kind: kind.map(Into::into),
            dim,
            metric: metric.map(Into::into),
            element: elements.map(Into::into),
        };
        Self {
            dim: new.dim,
            metric: new.metric.map(Into::into),
            element: new.elements.map(Into::into),
            vectors: new.vectors.into_iter().map(|(name, new)| (name, field(new))).collect(),
            embedder: new.embedder.unwrap_or(EmbedderName::Auto).into(),
            language: new.language,
        }
    }
}

impl From<EmbedderName> for EmbedderChoice {
    fn from(name: EmbedderName) -> Self {
        match name {
            EmbedderName::Auto => Self::Auto,
            EmbedderName::None => Self::None,
            EmbedderName::Builtin => Self::BuiltIn(Model::Default),
            EmbedderName::Static => Self::BuiltIn(Model::Static),
        }
    }
}

/// Options that came as JSON some other way.
///
/// # Errors
/// 400 with the name of the wrong part.
pub fn read(options: Value) -> Result<CollectionOptions, Problem> {
    let new: NewCollection = parse_from(options).map_err(|why| Problem::invalid(format!("the options: {why}")))?;
    Ok(new.into())
}

pub fn describe_as_json(info: CollectionInfo) -> Value {
    serde_json::to_value(Described::from(info)).expect("numbers and strings are JSON")
}

/// Lists all collections.
#[utoipa::path(get, path = "/v1/collections", tag = "collections", security(("key" = ["read"])),
    responses((status = 200, description = "All collections, by name", body = Collections)))]
async fn list(Reading(caller): Reading) -> Result<Response, Problem> {
    let infos = caller.run(|database| database.collections()).await?;
    Ok(reply::json(&Collections { collections: infos.into_iter().map(Described::from).collect() }))
}

/// Creates a collection, or checks that the existing one has these options.
#[utoipa::path(put, path = "/v1/collections/{collection}", tag = "collections", security(("key" = ["write"])),
    params(("collection" = String, Path)), request_body = NewCollection,
    responses((status = 201, description = "Created", body = Made), (status = 200, description = "It already existed", body = Made)))]
async fn create(
    Writing(caller): Writing,
    Segments(name): Segments<String>,
    Json { value: new, .. }: Json<NewCollection>,
) -> Result<Response, Problem> {
    let (options, reads) = (CollectionOptions::from(new), caller.may(Scope::Read));
    let (is_new, info) = caller
        .run(move |database| {
            let is_new = !database.collection_names()?.contains(&name);
            Ok((is_new, database.collection(&name, options)?.info()?))
        })
        .await?;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    let made = match reads {
        true => Made::Described(Box::new(info.into())),
        false => Made::Named(Named { name: info.name }),
    };
    Ok(reply::json_with(status, &made))
}

/// Returns the options and counts of a collection.
#[utoipa::path(get, path = "/v1/collections/{collection}", tag = "collections", security(("key" = ["read"])),
    params(("collection" = String, Path), AsOf), responses((status = 200, description = "The collection", body = Described)))]
async fn describe(
    ReadingAt { caller, read_point }: ReadingAt,
    Segments(name): Segments<String>,
) -> Result<Response, Problem> {
    let info = caller.run(move |database| read_point.records(database, &name)?.info()).await?;
    Ok(reply::json(&Described::from(info)))
}

/// Drops a collection and everything in it.
#[utoipa::path(delete, path = "/v1/collections/{collection}", tag = "collections", security(("key" = ["write"])),
    params(("collection" = String, Path)), responses((status = 204, description = "Dropped")))]
async fn remove(Writing(caller): Writing, Segments(name): Segments<String>) -> Result<Response, Problem> {
    let dropped = caller
        .run(move |database| match database.drop_collection(&name)? {
            true => Ok(()),
            false => Err(Error::not_found(format!("no collection {name:?}")).about(What::Collection, name)),
        })
        .await;
    dropped.map(|()| reply::nothing())
}
