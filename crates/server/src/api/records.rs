//! Records: writing, reading, listing, counting and deleting them.

use std::sync::Arc;

use axum::response::Response;
use nuthatch_dialect::{FieldChange, Record, RecordChange, StoredRecord, VectorFormat};
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
        .routes(routes!(upsert, scan, update))
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
    /// In the order of the ids; null for missing records.
    records: Vec<Option<StoredRecord>>,
}

/// The change to make: either `changes`, which are one batch, or `where` with `change`.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = UpdateRecords)]
struct Update {
    /// Changes of records by id.
    changes: Option<Vec<RecordChange>>,
    /// Change the records whose payload matches this condition.
    #[serde(rename = "where")]
    filter: Option<String>,
    /// The change to these records.
    change: Option<FieldChange>,
}

#[derive(Serialize, ToSchema)]
struct Updated {
    /// Records that the change made others.
    updated: u64,
}

/// Which records: exactly one of the three.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "lowercase")]
#[schema(as = DeleteRecords)]
enum Delete {
    /// Records with these ids; missing ids are ignored.
    Ids(Vec<String>),
    /// Records whose payload matches this condition.
    Where(String),
    /// Records whose id has this prefix.
    Prefix(String),
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Listing {
    /// Maximum number of records in the page.
    #[serde(default = "page_default")]
    #[param(minimum = 1, maximum = 10000)]
    limit: usize,
    /// The cursor that the previous page returned.
    cursor: Option<String>,
    /// Only records whose payload matches this condition.
    #[serde(rename = "where")]
    filter: Option<String>,
    /// Also return the vectors.
    #[serde(default)]
    vectors: bool,
    /// The encoding of the vectors.
    #[serde(default)]
    vector_format: VectorFormat,
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct WithVectors {
    /// Also return its vectors.
    #[serde(default)]
    vectors: bool,
    /// The encoding of the vectors.
    #[serde(default)]
    vector_format: VectorFormat,
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Condition {
    /// Only records whose payload matches this condition.
    #[serde(rename = "where")]
    filter: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = RecordPage)]
struct Page {
    /// In the order of their last write.
    records: Vec<StoredRecord>,
    /// The cursor of the next page; null at the end.
    cursor: Option<String>,
}

fn page_default() -> usize {
    PAGE_DEFAULT
}

/// All of them, or the first error.
pub fn into_engine(records: Vec<Record>) -> EngineResult<Vec<nuthatch_link::Record>> {
    records.into_iter().map(Record::into_engine).collect()
}

/// Inserts records and replaces those with the same ids, atomically.
#[utoipa::path(post, path = "/v1/collections/{collection}/records", tag = "records", security(("key" = ["write"])),
    params(("collection" = String, Path), Durably), request_body = Upsert, responses((status = 200, description = "The numbers of new and of replaced records", body = Upserted)))]
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

/// Changes fields of records; their texts and vectors stay. Changes by id are atomic; a change by condition is made in
/// batches.
#[utoipa::path(patch, path = "/v1/collections/{collection}/records", tag = "records", security(("key" = ["write"])),
    params(("collection" = String, Path), Durably), request_body = Update, responses((status = 200, description = "The number of changed records", body = Updated)))]
async fn update(
    Writing(caller): Writing,
    Segments(name): Segments<String>,
    Parameters(how): Parameters<Durably>,
    Json { value, held }: Json<Update>,
) -> Result<Response, Problem> {
    let updated = caller
        .run(move |database| {
            let collection = database.existing_collection(&name)?.with_durability(how.durability.into());
            let updated = match value {
                Update { changes: Some(changes), filter: None, change: None } => {
                    collection.update(changes.into_iter().map(RecordChange::into_engine).collect::<EngineResult<_>>()?)
                }
                Update { changes: None, filter: Some(filter), change: Some(change) } => {
                    collection.update_where(&filter, change.into_engine()?)
                }
                _ => Err(Error::invalid("an update takes either `changes`, or `where` with `change`")),
            };
            drop(held);
            updated
        })
        .await?;
    Ok(reply::json(&Updated { updated }))
}

/// Lists records page by page.
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

/// Reads one record.
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

/// Reads several records by id.
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

/// Deletes records by id, by condition, or by id prefix.
#[utoipa::path(post, path = "/v1/collections/{collection}/delete", tag = "records", security(("key" = ["write"])),
    params(("collection" = String, Path), Durably), request_body = Delete, responses((status = 200, description = "The number of deleted records", body = Deleted)))]
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

/// Counts the records, or those that match a condition.
#[utoipa::path(get, path = "/v1/collections/{collection}/count", tag = "records", security(("key" = ["read"])),
    params(("collection" = String, Path), Condition, AsOf), responses((status = 200, description = "The number of records", body = Count)))]
async fn count(
    ReadingAt { caller, read_point }: ReadingAt,
    Segments(name): Segments<String>,
    Parameters(Condition { filter }): Parameters<Condition>,
) -> Result<Response, Problem> {
    let count = caller.run(move |database| read_point.records(database, &name)?.count(filter.as_deref())).await?;
    Ok(reply::json(&Count { count }))
}
