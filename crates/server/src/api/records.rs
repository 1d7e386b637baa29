//! Records: writing, reading, listing, counting and deleting them.

use std::sync::Arc;

use axum::response::Response;
use nuthatch_dialect::{Record, StoredRecord, VectorFormat};
use nuthatch_link::{Error, Result as EngineResult, Scan, StoredRecord as EngineStored, What};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::api::durable::Durably;
use crate::api::read_point::{AsOf, ReadingAt};
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
    records: Vec<Option<StoredRecord>>,
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
    records: Vec<StoredRecord>,
    /// Where to go on; null at the end.
    cursor: Option<String>,
}

fn page_default() -> usize {
    PAGE_DEFAULT
}

/// All of them, or the first error.
pub fn into_engine(records: Vec<Record>) -> EngineResult<Vec<nuthatch_link::Record>> {
    records.into_iter().map(Record::into_engine).collect()
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
    ReadingAt { caller, read_point }: ReadingAt,
    Segments(name): Segments<String>,
    Parameters(listing): Parameters<Listing>,
) -> Result<Response, Problem> {
    let Listing { limit, cursor, filter, vectors, vector_format } = listing;
    let page = caller
        .run(move |database| {
            let filter = filter.as_deref().map(nuthatch_filter::parse).transpose()?;
            let scan = Scan { cursor, limit, filter, vectors };
            answer_size::scan(&read_point.records(database, &name)?, scan)
        })
        .await?;
    let records = page.records.into_iter().map(|record| StoredRecord::new(record, vector_format));
    Ok(reply::json(&Page { records: records.collect(), cursor: page.cursor }))
}

/// One record.
#[utoipa::path(get, path = "/v1/collections/{collection}/records/{id}", tag = "records", security(("key" = ["read"])),
    params(("collection" = String, Path), ("id" = String, Path), WithVectors, AsOf), responses((status = 200, description = "The record", body = StoredRecord)))]
async fn get_one(
    ReadingAt { caller, read_point }: ReadingAt,
    Segments((name, id)): Segments<(String, String)>,
    Parameters(with): Parameters<WithVectors>,
) -> Result<Response, Problem> {
    let only = |mut found: Vec<Option<EngineStored>>, name: &str, id: &str| {
        found.pop().flatten().ok_or_else(|| missing(name, id))
    };
    let found = caller.look(
        (read_point, name, id),
        move |(read_point, name, id), database| {
            let found = read_point.cached_records(database, name, &[id], with.vectors)?;
            found.map(|found| only(found, name, id)).transpose()
        },
        move |(read_point, name, id), database| {
            only(read_point.records(database, &name)?.get(&[&id], with.vectors)?, &name, &id)
        },
    );
    Ok(reply::json(&StoredRecord::new(found.await?, with.vector_format)))
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
    ReadingAt { caller, read_point }: ReadingAt,
    Segments(name): Segments<String>,
    Json { value, .. }: Json<Get>,
) -> Result<Response, Problem> {
    let format = value.vector_format;
    let records = caller.look(
        (read_point, name, value),
        |(read_point, name, Get { ids, vectors, .. }), database| match answer_size::are_few(ids) {
            true => read_point.cached_records(database, name, ids, *vectors),
            false => Ok(None),
        },
        |(read_point, name, value), database| {
            answer_size::get(&read_point.records(database, &name)?, &value.ids, value.vectors)
        },
    );
    let records = records.await?;
    let records = records.into_iter().map(|found| found.map(|record| StoredRecord::new(record, format)));
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
    ReadingAt { caller, read_point }: ReadingAt,
    Segments(name): Segments<String>,
    Parameters(Condition { filter }): Parameters<Condition>,
) -> Result<Response, Problem> {
    let count = caller.run(move |database| read_point.records(database, &name)?.count(filter.as_deref())).await?;
    Ok(reply::json(&Count { count }))
}
