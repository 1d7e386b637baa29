//! Records: writing, reading, listing, counting and deleting them.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::response::Response;
use nuthatch_engine::{
    Error, Record as EngineRecord, Result as EngineResult, Scan, StoredRecord, What, datetimes_of, payload_to_json,
    payload_with_datetimes,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::api::durable::Durably;
use crate::api::moment::{AsOf, ReadingAt};
use crate::api::vectors::{self, Vector, VectorFormat};
use crate::api::{answer_size, reply};
use crate::caller::Writing;
use crate::extract::{Json, Parameters, Segments};
use crate::problem::Problem;
use crate::shared::Shared;

const PAGE_DEFAULT: usize = 100;

pub fn routes() -> OpenApiRouter<Arc<Shared>> {
    OpenApiRouter::new()
        .routes(routes!(upsert, scan))
        .routes(routes!(get_one, delete_one))
        .routes(routes!(get))
        .routes(routes!(delete))
        .routes(routes!(count))
}

/// A record to be stored: at least one of text, vector and payload.
#[derive(Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Record {
    #[schema(min_length = 1, max_length = 1024)]
    id: String,
    text: Option<String>,
    /// Left out, it is made from the text where the collection has an embedder.
    vector: Option<Vector>,
    /// Vectors of named fields.
    #[serde(default)]
    vectors: BTreeMap<String, Vector>,
    /// Named values: null, booleans, whole numbers of 64 bits, floats, strings, arrays and objects.
    #[serde(default)]
    #[schema(value_type = Object)]
    payload: Map<String, Value>,
    /// Which strings of the payload are datetimes, as dotted paths (`events.0.at`); a datetime is written as `2025-01-31T12:30:00Z`.
    #[serde(default)]
    datetimes: Vec<String>,
    /// Headings that the text stands under: searched with it, but not part of it.
    context: Option<String>,
    /// The text is source code: identifiers are also indexed by their parts.
    #[serde(default)]
    code: bool,
}

/// A record as it comes back.
#[derive(Serialize, ToSchema)]
#[schema(as = StoredRecord)]
pub struct Found {
    id: String,
    text: Option<String>,
    #[schema(value_type = Object)]
    payload: Map<String, Value>,
    /// Which strings of the payload are datetimes, as dotted paths; absent when none is.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    datetimes: Vec<String>,
    context: Option<String>,
    /// Only where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    vector: Option<Vector>,
    /// Those of named fields, only where they were asked for.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    vectors: BTreeMap<String, Vector>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Upsert {
    #[schema(min_items = 1)]
    records: Vec<Record>,
}

#[derive(Serialize, ToSchema)]
pub struct Upserted {
    pub inserted: u64,
    pub replaced: u64,
}

#[derive(Serialize, ToSchema)]
pub struct Deleted {
    pub deleted: u64,
}

#[derive(Serialize, ToSchema)]
struct Count {
    count: u64,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = GetRecords)]
struct Get {
    ids: Vec<String>,
    #[serde(default)]
    vectors: bool,
    #[serde(default)]
    vector_format: VectorFormat,
}

#[derive(Serialize, ToSchema)]
#[schema(as = GotRecords)]
struct Got {
    /// In the order of the ids; null for those that are not there.
    records: Vec<Option<Found>>,
}

/// Which records: exactly one of the three.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "lowercase")]
#[schema(as = DeleteRecords)]
enum Delete {
    /// Those with these ids; ids that are not there are passed over.
    Ids(Vec<String>),
    /// Those whose payload passes this condition.
    Where(String),
    /// Those whose id begins so.
    Prefix(String),
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Listing {
    /// Records of one page.
    #[serde(default = "page_default")]
    #[param(minimum = 1, maximum = 10000)]
    limit: usize,
    /// Continue after the page that gave this cursor.
    cursor: Option<String>,
    /// Only records whose payload passes this condition.
    #[serde(rename = "where")]
    filter: Option<String>,
    /// With their vectors.
    #[serde(default)]
    vectors: bool,
    /// How these are written.
    #[serde(default)]
    vector_format: VectorFormat,
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct WithVectors {
    /// With its vector.
    #[serde(default)]
    vectors: bool,
    /// How it is written.
    #[serde(default)]
    vector_format: VectorFormat,
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Condition {
    /// Only records whose payload passes this condition.
    #[serde(rename = "where")]
    filter: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = RecordPage)]
struct Page {
    /// In the order in which they were written last.
    records: Vec<Found>,
    /// Where to go on; null at the end.
    cursor: Option<String>,
}

fn page_default() -> usize {
    PAGE_DEFAULT
}

impl Record {
    pub fn into_engine(self) -> EngineResult<EngineRecord> {
        let Self { id, text, vector, vectors, payload, datetimes, context, code } = self;
        let payload = payload_with_datetimes(payload, &datetimes);
        let payload = payload.map_err(|error| Error::invalid(format!("record {id:?}: {error}")))?;
        let (vector, vectors) = (vector.map(Vector::into_engine), vectors::into_engine(vectors));
        Ok(EngineRecord { id, text, vector, vectors, payload, context, code })
    }
}

/// All of them, or the first error.
pub fn into_engine(records: Vec<Record>) -> EngineResult<Vec<EngineRecord>> {
    records.into_iter().map(Record::into_engine).collect()
}

impl Found {
    fn new(record: StoredRecord, format: VectorFormat) -> Self {
        let StoredRecord { id, text, payload, context, vector, vectors } = record;
        Self {
            id,
            text,
            datetimes: datetimes_of(&payload),
            payload: payload_to_json(&payload),
            context,
            vector: vector.map(|vector| format.write(vector)),
            vectors: format.write_all(vectors),
        }
    }
}

/// Inserts records, replacing those with the same ids: all of them or none.
#[utoipa::path(post, path = "/v1/collections/{collection}/records", tag = "records", security(("key" = ["write"])),
    params(("collection" = String, Path), Durably), request_body = Upsert, responses((status = 200, description = "How many records are new, and how many replaced others", body = Upserted)))]
async fn upsert(
    Writing(caller): Writing,
    Segments(name): Segments<String>,
    Parameters(how): Parameters<Durably>,
    Json { value, held }: Json<Upsert>,
) -> Result<Response, Problem> {
    let done = caller
        .run(move |database| {
            let collection = database.existing_collection(&name)?.with_durability(how.durability.into());
            let done = collection.upsert(into_engine(value.records)?);
            drop(held);
            done
        })
        .await?;
    Ok(reply::json(&Upserted { inserted: done.inserted, replaced: done.replaced }))
}

/// One page of all records.
#[utoipa::path(get, path = "/v1/collections/{collection}/records", tag = "records", security(("key" = ["read"])),
    params(("collection" = String, Path), Listing, AsOf), responses((status = 200, description = "A page of records", body = Page)))]
async fn scan(
    ReadingAt { caller, moment }: ReadingAt,
    Segments(name): Segments<String>,
    Parameters(listing): Parameters<Listing>,
) -> Result<Response, Problem> {
    let Listing { limit, cursor, filter, vectors, vector_format } = listing;
    let page = caller
        .run(move |database| {
            let filter = filter.as_deref().map(nuthatch_filter::parse).transpose()?;
            let scan = Scan { cursor, limit, filter, vectors };
            answer_size::scan(&moment.records(database, &name)?, scan)
        })
        .await?;
    let records = page.records.into_iter().map(|record| Found::new(record, vector_format));
    Ok(reply::json(&Page { records: records.collect(), cursor: page.cursor }))
}

/// One record.
#[utoipa::path(get, path = "/v1/collections/{collection}/records/{id}", tag = "records", security(("key" = ["read"])),
    params(("collection" = String, Path), ("id" = String, Path), WithVectors, AsOf), responses((status = 200, description = "The record", body = Found)))]
async fn get_one(
    ReadingAt { caller, moment }: ReadingAt,
    Segments((name, id)): Segments<(String, String)>,
    Parameters(with): Parameters<WithVectors>,
) -> Result<Response, Problem> {
    let only = |mut found: Vec<Option<StoredRecord>>, name: &str, id: &str| {
        found.pop().flatten().ok_or_else(|| missing(name, id))
    };
    let found = caller.look(
        (moment, name, id),
        move |(moment, name, id), database| {
            let found = moment.records_at_hand(database, name, &[id], with.vectors)?;
            found.map(|found| only(found, name, id)).transpose()
        },
        move |(moment, name, id), database| {
            only(moment.records(database, &name)?.get(&[&id], with.vectors)?, &name, &id)
        },
    );
    Ok(reply::json(&Found::new(found.await?, with.vector_format)))
}

fn missing(name: &str, id: &str) -> Error {
    Error::not_found(format!("no record {id:?} in collection {name:?}")).about(What::Record, id)
}

/// Deletes one record.
#[utoipa::path(delete, path = "/v1/collections/{collection}/records/{id}", tag = "records", security(("key" = ["write"])),
    params(("collection" = String, Path), ("id" = String, Path), Durably),
    responses((status = 204, description = "Deleted")))]
async fn delete_one(
    Writing(caller): Writing,
    Segments((name, id)): Segments<(String, String)>,
    Parameters(how): Parameters<Durably>,
) -> Result<Response, Problem> {
    let deleted = caller
        .run(move |database| {
            let collection = database.existing_collection(&name)?.with_durability(how.durability.into());
            match collection.delete(&[&id])?.deleted {
                0 => Err(missing(&name, &id)),
                _ => Ok(()),
            }
        })
        .await;
    deleted.map(|()| reply::nothing())
}

/// Several records by id.
#[utoipa::path(post, path = "/v1/collections/{collection}/get", tag = "records", security(("key" = ["read"])),
    params(("collection" = String, Path), AsOf), request_body = Get, responses((status = 200, description = "The records, in the order of the ids", body = Got)))]
async fn get(
    ReadingAt { caller, moment }: ReadingAt,
    Segments(name): Segments<String>,
    Json { value, .. }: Json<Get>,
) -> Result<Response, Problem> {
    let format = value.vector_format;
    let records = caller.look(
        (moment, name, value),
        |(moment, name, Get { ids, vectors, .. }), database| match answer_size::are_few(ids) {
            true => moment.records_at_hand(database, name, ids, *vectors),
            false => Ok(None),
        },
        |(moment, name, value), database| {
            answer_size::get(&moment.records(database, &name)?, &value.ids, value.vectors)
        },
    );
    let records = records.await?;
    let records = records.into_iter().map(|found| found.map(|record| Found::new(record, format)));
    Ok(reply::json(&Got { records: records.collect() }))
}

/// Deletes records by id, by condition, or by the beginning of their ids.
#[utoipa::path(post, path = "/v1/collections/{collection}/delete", tag = "records", security(("key" = ["write"])),
    params(("collection" = String, Path), Durably), request_body = Delete, responses((status = 200, description = "How many records were deleted", body = Deleted)))]
async fn delete(
    Writing(caller): Writing,
    Segments(name): Segments<String>,
    Parameters(how): Parameters<Durably>,
    Json { value, .. }: Json<Delete>,
) -> Result<Response, Problem> {
    let done = caller
        .run(move |database| {
            let collection = database.existing_collection(&name)?.with_durability(how.durability.into());
            match value {
                Delete::Ids(ids) => collection.delete(&ids),
                Delete::Where(filter) => collection.delete_where(&filter),
                Delete::Prefix(prefix) => collection.delete_prefix(&prefix),
            }
        })
        .await?;
    Ok(reply::json(&Deleted { deleted: done.deleted }))
}

/// How many records there are, or pass a condition.
#[utoipa::path(get, path = "/v1/collections/{collection}/count", tag = "records", security(("key" = ["read"])),
    params(("collection" = String, Path), Condition, AsOf), responses((status = 200, description = "How many records there are", body = Count)))]
async fn count(
    ReadingAt { caller, moment }: ReadingAt,
    Segments(name): Segments<String>,
    Parameters(Condition { filter }): Parameters<Condition>,
) -> Result<Response, Problem> {
    let count = caller.run(move |database| moment.records(database, &name)?.count(filter.as_deref())).await?;
    Ok(reply::json(&Count { count }))
}
