//! Keys: single ones with their values as raw bodies, several as JSON.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::Response;
use nuthatch_link::{Durability, Error, Keyspace, KvOp, LivingValue, Result as EngineResult, What};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::api::bytes::Bytes;
use crate::api::durable::{Durable, Durably};
use crate::api::read_point::{AsOf, ReadingAt};
use crate::api::reply;
use crate::caller::{Caller, Writing};
use crate::extract::{Json, KeyPlace, Parameters, Raw, Segments};
use crate::problem::Problem;
use crate::shared::Shared;

const OCTETS: HeaderValue = HeaderValue::from_static("application/octet-stream");
/// How long a key has to live; absent for one that never expires.
const EXPIRES_IN_MS: HeaderName = HeaderName::from_static("x-expires-in-ms");

pub fn routes() -> OpenApiRouter<Arc<Shared>> {
    OpenApiRouter::new()
        .routes(routes!(get_one, put_one, delete_one))
        .routes(routes!(get))
        .routes(routes!(write))
        .routes(routes!(delete))
        .routes(routes!(compare_and_set))
        .routes(routes!(increment))
        .routes(routes!(append))
        .routes(routes!(expire))
        .routes(routes!(ttl))
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Putting {
    /// Time to live in milliseconds; without it, the key never expires.
    #[param(minimum = 1)]
    expires_in_ms: Option<u64>,
    /// The failures that an answered write survives.
    #[serde(default)]
    durability: Durable,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = GetKeys)]
struct Get {
    keys: Vec<Bytes>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = GotKeys)]
struct Got {
    /// In the order of the keys; null for missing keys.
    values: Vec<Option<Bytes>>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = WriteKeys)]
struct Write {
    /// Applied atomically; if several change the same key, the last one counts.
    changes: Vec<Change>,
}

/// One change of a key.
#[derive(Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "lowercase")]
#[schema(as = KeyChange)]
pub enum Change {
    Put(Put),
    Delete(Bytes),
}

#[derive(Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = PutKey)]
pub struct Put {
    key: Bytes,
    value: Bytes,
    #[schema(minimum = 1)]
    expires_in_ms: Option<u64>,
}

/// Which keys: exactly one of the three.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "lowercase")]
#[schema(as = DeleteKeys)]
enum Delete {
    Keys(Vec<Bytes>),
    /// All keys with this prefix, which must not be empty.
    Prefix(Bytes),
    /// `true` deletes all keys. The keyspace stays.
    All(bool),
}

#[derive(Serialize, ToSchema)]
struct Deleted {
    deleted: u64,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct CompareAndSet {
    key: Bytes,
    /// The expected value; null or absent if the key must not exist.
    expected: Option<Bytes>,
    /// The new value; null or absent to delete the key.
    new: Option<Bytes>,
    #[schema(minimum = 1)]
    expires_in_ms: Option<u64>,
}

#[derive(Serialize, ToSchema)]
struct WasSet {
    /// True if the value was the expected one.
    set: bool,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = IncrementKey)]
struct Increment {
    key: Bytes,
    #[serde(default = "one")]
    by: i64,
}

#[derive(Serialize, ToSchema)]
struct Sum {
    value: i64,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = AppendToKey)]
struct Append {
    key: Bytes,
    more: Bytes,
}

#[derive(Serialize, ToSchema)]
struct Length {
    bytes: u64,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ExpireKey)]
struct Expire {
    key: Bytes,
    /// Null or absent: never.
    #[schema(minimum = 1)]
    expires_in_ms: Option<u64>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = TimeToLiveOf)]
struct TimeOf {
    key: Bytes,
}

#[derive(Serialize, ToSchema)]
struct TimeToLive {
    found: bool,
    /// Null when it never expires.
    expires_in_ms: Option<u64>,
}

#[derive(Serialize, ToSchema)]
struct WasThere {
    found: bool,
}

fn one() -> i64 {
    1
}

fn milliseconds(ms: Option<u64>) -> Option<Duration> {
    ms.map(Duration::from_millis)
}

impl From<Change> for KvOp {
    fn from(change: Change) -> Self {
        match change {
            Change::Put(Put { key, value, expires_in_ms }) => {
                Self::Put { key: key.into_vec(), value: value.into_vec(), expires_in: milliseconds(expires_in_ms) }
            }
            Change::Delete(key) => Self::Delete { key: key.into_vec() },
        }
    }
}

fn missing(name: &str, key: &[u8]) -> Error {
    let key = String::from_utf8_lossy(key);
    Error::not_found(format!("no key {key:?} in keyspace {name:?}")).about(What::Key, key)
}

/// Writes into a keyspace, which is made when there is none.
async fn change<T: Send + 'static>(
    caller: &Caller,
    name: String,
    durable: Durable,
    call: impl FnOnce(Keyspace) -> EngineResult<T> + Send + 'static,
) -> Result<T, Problem> {
    let durability = Durability::from(durable);
    caller.run(move |database| call(database.kv(&name)?.with_durability(durability))).await
}

/// Reads the value of a key.
#[utoipa::path(get, path = "/v1/keyspaces/{keyspace}/keys/{key}", tag = "keyspaces", security(("key" = ["read"])),
    params(("keyspace" = String, Path), ("key" = String, Path, description = "Percent-encoded bytes"), AsOf),
    responses((status = 200, description = "The value", body = Vec<u8>, content_type = "application/octet-stream",
        headers(("x-expires-in-ms" = u64, description = "The time to live of the key; absent when the key never expires, and in reads of a snapshot")))))]
async fn get_one(
    ReadingAt { caller, read_point }: ReadingAt,
    KeyPlace { keyspace: name, key }: KeyPlace,
) -> Result<Response, Problem> {
    let found = caller.look(
        (read_point, name, key),
        |(read_point, name, key), database| {
            let found = read_point.cached_value(database, name, key)?;
            found.map(|found| found.ok_or_else(|| missing(name, key))).transpose()
        },
        |(read_point, name, key), database| {
            let keys = read_point.keys(database, &name)?;
            let value = keys.get(&key)?.ok_or_else(|| missing(&name, &key))?;
            // A key that has not expired in a snapshot stays there as long as the snapshot.
            let expires_in = if read_point.is_now() { keys.expires_in(&key)?.flatten() } else { None };
            Ok(LivingValue { value, expires_in })
        },
    );
    let LivingValue { value, expires_in } = found.await?;
    let mut response = Response::new(Body::from(value));
    response.headers_mut().insert(header::CONTENT_TYPE, OCTETS);
    if let Some(left) = expires_in {
        response.headers_mut().insert(EXPIRES_IN_MS, HeaderValue::from(left.as_millis() as u64));
    }
    Ok(response)
}

/// Sets a key to the body, of any media type.
#[utoipa::path(put, path = "/v1/keyspaces/{keyspace}/keys/{key}", tag = "keyspaces", security(("key" = ["write"])),
    params(("keyspace" = String, Path), ("key" = String, Path, description = "Percent-encoded bytes"), Putting),
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    responses((status = 204, description = "Set")))]
async fn put_one(
    Writing(caller): Writing,
    KeyPlace { keyspace: name, key }: KeyPlace,
    Parameters(Putting { expires_in_ms, durability }): Parameters<Putting>,
    Raw { bytes, held }: Raw,
) -> Result<Response, Problem> {
    let done = change(&caller, name, durability, move |keyspace| {
        let op = KvOp::Put { key, value: bytes.into(), expires_in: milliseconds(expires_in_ms) };
        let done = keyspace.multi_put(vec![op]);
        drop(held);
        done
    });
    done.await.map(|()| reply::nothing())
}

/// Deletes a key.
#[utoipa::path(delete, path = "/v1/keyspaces/{keyspace}/keys/{key}", tag = "keyspaces", security(("key" = ["write"])),
    params(("keyspace" = String, Path), ("key" = String, Path, description = "Percent-encoded bytes"), Durably),
    responses((status = 204, description = "Deleted")))]
async fn delete_one(
    Writing(caller): Writing,
    KeyPlace { keyspace: name, key }: KeyPlace,
    Parameters(how): Parameters<Durably>,
) -> Result<Response, Problem> {
    let deleted = caller.run(move |database| {
        let keyspace = database.existing_keyspace(&name)?.with_durability(how.durability.into());
        match keyspace.delete(&[&key])? {
            0 => Err(missing(&name, &key)),
            _ => Ok(()),
        }
    });
    deleted.await.map(|()| reply::nothing())
}

/// Reads the values of several keys from one consistent state.
#[utoipa::path(post, path = "/v1/keyspaces/{keyspace}/get", tag = "keyspaces", security(("key" = ["read"])),
    params(("keyspace" = String, Path), AsOf), request_body = Get, responses((status = 200, description = "The values, in the order of the keys", body = Got)))]
async fn get(
    ReadingAt { caller, read_point }: ReadingAt,
    Segments(name): Segments<String>,
    Json { value, .. }: Json<Get>,
) -> Result<Response, Problem> {
    let keys: Vec<Vec<u8>> = value.keys.into_iter().map(Bytes::into_vec).collect();
    let values = caller.look(
        (read_point, name, keys),
        |(read_point, name, keys), database| {
            let [key] = keys.as_slice() else { return Ok(None) };
            let found = read_point.cached_value(database, name, key)?;
            Ok(found.map(|found| vec![found.map(|found| found.value)]))
        },
        |(read_point, name, keys), database| read_point.keys(database, &name)?.multi_get(&keys),
    );
    let values = values.await?;
    Ok(reply::json(&Got { values: values.into_iter().map(|value| value.map(Bytes::from)).collect() }))
}

/// Sets and deletes several keys atomically.
#[utoipa::path(post, path = "/v1/keyspaces/{keyspace}/write", tag = "keyspaces", security(("key" = ["write"])),
    params(("keyspace" = String, Path), Durably), request_body = Write, responses((status = 204, description = "Written")))]
async fn write(
    Writing(caller): Writing,
    Segments(name): Segments<String>,
    Parameters(how): Parameters<Durably>,
    Json { value, held }: Json<Write>,
) -> Result<Response, Problem> {
    let ops: Vec<KvOp> = value.changes.into_iter().map(KvOp::from).collect();
    let done = change(&caller, name, how.durability, move |keyspace| {
        let done = keyspace.multi_put(ops);
        drop(held);
        done
    });
    done.await.map(|()| reply::nothing())
}

/// Deletes several keys, all keys with a prefix, or all keys.
#[utoipa::path(post, path = "/v1/keyspaces/{keyspace}/delete", tag = "keyspaces", security(("key" = ["write"])),
    params(("keyspace" = String, Path), Durably), request_body = Delete, responses((status = 200, description = "The number of deleted keys", body = Deleted)))]
async fn delete(
    Writing(caller): Writing,
    Segments(name): Segments<String>,
    Parameters(how): Parameters<Durably>,
    Json { value, .. }: Json<Delete>,
) -> Result<Response, Problem> {
    let beginning = match value {
        Delete::Prefix(prefix) if prefix.is_empty() => {
            return Err(Problem::invalid(
                "the prefix is empty and would match every key; to delete all keys, send {\"all\": true}, or drop the keyspace",
            ));
        }
        Delete::All(false) => {
            return Err(Problem::invalid("`all` is true, or left out; give `keys` or `prefix` to delete some"));
        }
        Delete::Keys(keys) => Err(keys.into_iter().map(Bytes::into_vec).collect::<Vec<_>>()),
        Delete::Prefix(prefix) => Ok(prefix.into_vec()),
        Delete::All(true) => Ok(Vec::new()),
    };
    let deleted = caller.run(move |database| {
        let keyspace = database.existing_keyspace(&name)?.with_durability(how.durability.into());
        match beginning {
            Ok(prefix) => keyspace.delete_prefix(prefix),
            Err(keys) => keyspace.delete(&keys),
        }
    });
    Ok(reply::json(&Deleted { deleted: deleted.await? }))
}

/// Sets a key if it has the expected value, and says whether it had. An API key that may write can therefore guess
/// values.
#[utoipa::path(post, path = "/v1/keyspaces/{keyspace}/cas", tag = "keyspaces", security(("key" = ["write"])),
    params(("keyspace" = String, Path), Durably), request_body = CompareAndSet, responses((status = 200, description = "Whether the value was set", body = WasSet)))]
async fn compare_and_set(
    Writing(caller): Writing,
    Segments(name): Segments<String>,
    Parameters(how): Parameters<Durably>,
    Json { value, .. }: Json<CompareAndSet>,
) -> Result<Response, Problem> {
    let CompareAndSet { key, expected, new, expires_in_ms } = value;
    let (expected, new) = (expected.map(Bytes::into_vec), new.map(Bytes::into_vec));
    let set = change(&caller, name, how.durability, move |keyspace| {
        keyspace.compare_and_set(key.into_vec(), expected.as_deref(), new.as_deref(), milliseconds(expires_in_ms))
    });
    Ok(reply::json(&WasSet { set: set.await? }))
}

/// Adds to a 64-bit integer and returns the sum. A missing key counts as 0. An API key that may write therefore learns
/// the number.
#[utoipa::path(post, path = "/v1/keyspaces/{keyspace}/increment", tag = "keyspaces", security(("key" = ["write"])),
    params(("keyspace" = String, Path), Durably), request_body = Increment, responses((status = 200, description = "The new number", body = Sum)))]
async fn increment(
    Writing(caller): Writing,
    Segments(name): Segments<String>,
    Parameters(how): Parameters<Durably>,
    Json { value, .. }: Json<Increment>,
) -> Result<Response, Problem> {
    let Increment { key, by } = value;
    let sum = change(&caller, name, how.durability, move |keyspace| keyspace.increment(key.into_vec(), by)).await?;
    Ok(reply::json(&Sum { value: sum }))
}

/// Appends to a value. A missing key starts with an empty value.
#[utoipa::path(post, path = "/v1/keyspaces/{keyspace}/append", tag = "keyspaces", security(("key" = ["write"])),
    params(("keyspace" = String, Path), Durably), request_body = Append, responses((status = 200, description = "The new length of the value", body = Length)))]
async fn append(
    Writing(caller): Writing,
    Segments(name): Segments<String>,
    Parameters(how): Parameters<Durably>,
    Json { value, .. }: Json<Append>,
) -> Result<Response, Problem> {
    let Append { key, more } = value;
    let call = move |keyspace: Keyspace| keyspace.append(key.into_vec(), &more.into_vec());
    let bytes = change(&caller, name, how.durability, call).await?;
    Ok(reply::json(&Length { bytes }))
}

/// Sets or removes the expiry of a key.
#[utoipa::path(post, path = "/v1/keyspaces/{keyspace}/expire", tag = "keyspaces", security(("key" = ["write"])),
    params(("keyspace" = String, Path), Durably), request_body = Expire, responses((status = 200, description = "Whether the key exists", body = WasThere)))]
async fn expire(
    Writing(caller): Writing,
    Segments(name): Segments<String>,
    Parameters(how): Parameters<Durably>,
    Json { value, .. }: Json<Expire>,
) -> Result<Response, Problem> {
    let Expire { key, expires_in_ms } = value;
    let found = caller.run(move |database| {
        let keyspace = database.existing_keyspace(&name)?.with_durability(how.durability.into());
        keyspace.expire(key.into_vec(), milliseconds(expires_in_ms))
    });
    Ok(reply::json(&WasThere { found: found.await? }))
}

/// Returns the time to live of a key.
#[utoipa::path(post, path = "/v1/keyspaces/{keyspace}/ttl", tag = "keyspaces", security(("key" = ["read"])),
    params(("keyspace" = String, Path), AsOf), request_body = TimeOf, responses((status = 200, description = "The time to live of the key", body = TimeToLive)))]
async fn ttl(
    ReadingAt { caller, read_point }: ReadingAt,
    Segments(name): Segments<String>,
    Json { value, .. }: Json<TimeOf>,
) -> Result<Response, Problem> {
    let key = value.key.into_vec();
    let left = caller.run(move |database| read_point.keys(database, &name)?.expires_in(&key)).await?;
    let expires_in_ms = left.flatten().map(|left| left.as_millis() as u64);
    Ok(reply::json(&TimeToLive { found: left.is_some(), expires_in_ms }))
}
