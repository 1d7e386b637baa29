//! Keyspaces: making, listing and dropping them, listing their keys.

use std::ops::Bound;
use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use nuthatch_link::{Error, KeyScan, What};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::api::bytes::Bytes;
use crate::api::read_point::{AsOf, ReadingAt};
use crate::api::reply;
use crate::caller::{Reading, Writing};
use crate::extract::{Json, Parameters, Segments};
use crate::problem::Problem;
use crate::shared::Shared;

const PAGE_DEFAULT: usize = 1000;

pub fn routes() -> OpenApiRouter<Arc<Shared>> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(create, remove))
        .routes(routes!(scan))
        .routes(routes!(count))
}

#[derive(Serialize, ToSchema)]
struct Keyspaces {
    keyspaces: Vec<String>,
}

#[derive(Serialize, ToSchema)]
struct Keyspace {
    name: String,
}

/// Which keys to list.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ScanKeys)]
pub struct Scan {
    /// Only keys with this prefix.
    prefix: Option<Bytes>,
    /// First key, inclusive.
    from: Option<Bytes>,
    /// End key, exclusive.
    to: Option<Bytes>,
    /// Descending.
    #[serde(default)]
    reverse: bool,
    /// Maximum number of keys in the page.
    #[serde(default = "page_default")]
    #[schema(minimum = 1, maximum = 10000)]
    limit: usize,
    /// The cursor that the previous page returned.
    cursor: Option<String>,
    /// Return keys without values.
    #[serde(default)]
    keys_only: bool,
}

#[derive(Serialize, ToSchema)]
#[schema(as = KeyPage)]
struct Page {
    entries: Vec<Entry>,
    /// The cursor of the next page; null at the end.
    cursor: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = KeyEntry)]
struct Entry {
    key: Bytes,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<Bytes>,
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Beginning {
    /// Only keys with this prefix.
    #[serde(default)]
    prefix: String,
    /// The prefix as base64 (RFC 4648, with padding), for bytes that are not UTF-8. It overrides `prefix`.
    prefix_base64: Option<String>,
}

#[derive(Serialize, ToSchema)]
struct Estimate {
    /// Exact up to 10,000.
    count_estimate: u64,
}

impl From<Scan> for KeyScan {
    fn from(scan: Scan) -> Self {
        Self {
            prefix: scan.prefix.map_or_else(Vec::new, Bytes::into_vec),
            from: scan.from.map_or(Bound::Unbounded, |key| Bound::Included(key.into_vec())),
            to: scan.to.map_or(Bound::Unbounded, |key| Bound::Excluded(key.into_vec())),
            reverse: scan.reverse,
            limit: scan.limit,
            cursor: scan.cursor,
            keys_only: scan.keys_only,
        }
    }
}

fn page_default() -> usize {
    PAGE_DEFAULT
}

/// Lists all keyspaces.
#[utoipa::path(get, path = "/v1/keyspaces", tag = "keyspaces", security(("key" = ["read"])),
    responses((status = 200, description = "The names of all keyspaces", body = Keyspaces)))]
async fn list(Reading(caller): Reading) -> Result<Response, Problem> {
    let keyspaces = caller.run(|database| database.keyspace_names()).await?;
    Ok(reply::json(&Keyspaces { keyspaces }))
}

/// Creates a keyspace if it does not exist. Writing a key creates it, too.
#[utoipa::path(put, path = "/v1/keyspaces/{keyspace}", tag = "keyspaces", security(("key" = ["write"])),
    params(("keyspace" = String, Path)),
    responses((status = 201, description = "Created", body = Keyspace), (status = 200, description = "It already existed", body = Keyspace)))]
async fn create(Writing(caller): Writing, Segments(name): Segments<String>) -> Result<Response, Problem> {
    let (is_new, name) = caller
        .run(move |database| {
            let is_new = !database.keyspace_names()?.contains(&name);
            database.kv(&name)?;
            Ok((is_new, name))
        })
        .await?;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok(reply::json_with(status, &Keyspace { name }))
}

/// Drops a keyspace and everything in it.
#[utoipa::path(delete, path = "/v1/keyspaces/{keyspace}", tag = "keyspaces", security(("key" = ["write"])),
    params(("keyspace" = String, Path)), responses((status = 204, description = "Dropped")))]
async fn remove(Writing(caller): Writing, Segments(name): Segments<String>) -> Result<Response, Problem> {
    let dropped = caller
        .run(move |database| match database.drop_keyspace(&name)? {
            true => Ok(()),
            false => Err(Error::not_found(format!("no keyspace {name:?}")).about(What::Keyspace, name)),
        })
        .await;
    dropped.map(|()| reply::nothing())
}

/// Lists keys in order, page by page; a page shows one consistent state.
#[utoipa::path(post, path = "/v1/keyspaces/{keyspace}/scan", tag = "keyspaces", security(("key" = ["read"])),
    params(("keyspace" = String, Path), AsOf), request_body = Scan, responses((status = 200, description = "A page of keys", body = Page)))]
async fn scan(
    ReadingAt { caller, read_point }: ReadingAt,
    Segments(name): Segments<String>,
    Json { value, .. }: Json<Scan>,
) -> Result<Response, Problem> {
    let keys_only = value.keys_only;
    let scan = KeyScan::from(value);
    let page = caller.run(move |database| read_point.keys(database, &name)?.scan(&scan)).await?;
    let entries = page
        .entries
        .into_iter()
        .map(|(key, value)| Entry { key: key.into(), value: (!keys_only).then(|| value.into()) });
    Ok(reply::json(&Page { entries: entries.collect(), cursor: page.cursor }))
}

/// Estimates the number of keys.
#[utoipa::path(get, path = "/v1/keyspaces/{keyspace}/count", tag = "keyspaces", security(("key" = ["read"])),
    params(("keyspace" = String, Path), Beginning, AsOf), responses((status = 200, description = "The estimated number of keys", body = Estimate)))]
async fn count(
    ReadingAt { caller, read_point }: ReadingAt,
    Segments(name): Segments<String>,
    Parameters(Beginning { prefix, prefix_base64 }): Parameters<Beginning>,
) -> Result<Response, Problem> {
    let decoded = prefix_base64.map(|encoded| STANDARD.decode(encoded)).transpose();
    let prefix = decoded
        .map_err(|error| Problem::invalid(format!("prefix_base64 is not base64: {error}")))?
        .unwrap_or_else(|| prefix.into_bytes());
    let count = caller.run(move |database| read_point.keys(database, &name)?.count_estimate(prefix)).await?;
    Ok(reply::json(&Estimate { count_estimate: count }))
}
