//! The bytes of one file of a tree: read with ranges and tags, put, removed, erased.
//!
//! **Invariant:** however large a file is, the server holds a part of it; what is sent is one version, whatever is written meanwhile.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Extension, Request};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimePrinter;
use nuthatch_link::{PutFile, PutWhat, check_path};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::admission::Admitted;
use crate::api::conditions::Wanted;
use crate::api::durable::Durable;
use crate::api::read_point::{AsOf, ReadingAt};
use crate::api::reply;
use crate::api::tree_entries::Report;
use crate::api::tree_sending::{self, Opened};
use crate::api::tree_uploads::{Upload, put_one};
use crate::api::trees::{MODE_DEFAULT, check_mode, now_ns};
use crate::caller::Writing;
use crate::clock;
use crate::extract::{Parameters, Segments, refuse_compressed};
use crate::problem::Problem;
use crate::shared::Shared;

/// A file that is put is held up to this many bytes; a larger one is uploaded in parts of this size.
const PUT_AT_ONCE: usize = 8 << 20;

pub fn routes() -> OpenApiRouter<Arc<Shared>> {
    OpenApiRouter::new().routes(routes!(read, put, remove))
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct At {
    /// The tree as it was: the name of one of its snapshots, a sequence, or a time such as `2026-11-25T10:00:00Z`.
    as_of: Option<String>,
}

/// The headers that the answer depends on.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Header)]
#[allow(dead_code, reason = "it describes what `conditions` reads")]
struct Conditions {
    /// A range of bytes, such as `bytes=0-1023`, `bytes=1024-` or `bytes=-100`. Several ranges are answered with the whole file.
    range: Option<String>,
    /// The range only if the file has this `ETag`, else the whole file.
    #[serde(rename = "if-range")]
    if_range: Option<String>,
    /// 304 if the file has one of these `ETag`s.
    #[serde(rename = "if-none-match")]
    if_none_match: Option<String>,
    /// 412 unless the file has one of these `ETag`s.
    #[serde(rename = "if-match")]
    if_match: Option<String>,
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Putting {
    /// Permission bits in octal; default 644.
    #[param(pattern = "^[0-7]{1,4}$")]
    mode: Option<String>,
    /// When the file was changed last, such as `2026-11-25T10:00:00.5Z`; default now. A file whose bytes, mode and time are those
    /// that the tree has is not written again.
    modified: Option<String>,
    /// The failures that an answered write survives.
    #[serde(default)]
    durability: Durable,
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Removing {
    /// Erases every version, also those that snapshots show.
    #[serde(default)]
    erase: bool,
    /// The failures that an answered write survives.
    #[serde(default)]
    durability: Durable,
}

/// The result of a removal.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
#[schema(as = TreeGone)]
enum Gone {
    Removed(Removed),
    Erased(Erased),
}

#[derive(Serialize, ToSchema)]
#[schema(as = RemovedFromTree)]
struct Removed {
    /// Files, folders and links. Their versions stay.
    removed: u64,
}

#[derive(Serialize, ToSchema)]
#[schema(as = ErasedFromTree)]
struct Erased {
    /// Paths of which nothing is left.
    paths: u64,
    /// Versions that are gone, also those that snapshots showed.
    versions: u64,
}

/// Reads a file of a tree: the bytes that were put, with a range if one is asked for. `HEAD` answers the same without the bytes.
#[utoipa::path(get, path = "/v1/trees/{tree}/files/{*path}", tag = "trees", security(("key" = ["read"])),
    params(("tree" = String, Path), ("path" = String, Path, description = "Of the file, with or without percent-encoded slashes"),
        At, Conditions, AsOf),
    responses(
        (status = 200, description = "The bytes", body = Vec<u8>, content_type = "application/octet-stream",
            headers(("etag" = String, description = "The BLAKE3 hash of the bytes, in quotes"),
                ("last-modified" = String, description = "When it was changed last, as its writer said"),
                ("accept-ranges" = String, description = "`bytes`"))),
        (status = 206, description = "The range", body = Vec<u8>, content_type = "application/octet-stream"),
        (status = 304, description = "The file has one of the tags in `if-none-match`")))]
async fn read(
    ReadingAt { caller, read_point }: ReadingAt,
    Segments((tree, path)): Segments<(String, String)>,
    Parameters(At { as_of }): Parameters<At>,
    method: Method,
    headers: HeaderMap,
    admitted: Option<Extension<Arc<Admitted>>>,
) -> Result<Response, Problem> {
    let (database, turn, wanted) = caller.begin().await?;
    let has_body = method != Method::HEAD;
    let opened = caller.step(move || {
        let files = read_point.tree(&database, &tree)?;
        tree_sending::open(files, as_of, &path, &headers, has_body)
    });
    let Opened { version, tag, wanted: answer, first } = opened.await?;
    let bytes = version.entry.bytes;
    let (status, from, to) = match answer {
        Wanted::Other => {
            let why = format!("the file {:?} has the tag {tag}, and `If-Match` names others", version.entry.path);
            return Err(Problem::condition_failed(&version.entry.path, why));
        }
        Wanted::Beyond => {
            let why = format!("the range has none of the {bytes} bytes of {:?}", version.entry.path);
            let mut response = Problem::no_such_range(why).into_response();
            say(&mut response, header::CONTENT_RANGE, &format!("bytes */{bytes}"));
            return Ok(response);
        }
        Wanted::Nothing => (StatusCode::NOT_MODIFIED, 0, 0),
        Wanted::Whole => (StatusCode::OK, 0, bytes),
        Wanted::Part(from, to) => (StatusCode::PARTIAL_CONTENT, from, to),
    };
    let modified_ns = version.entry.modified_ns;
    let held = (turn, wanted, admitted.map(|Extension(admitted)| admitted));
    let body = first.map_or_else(Body::empty, |first| tree_sending::body(caller, version, first, from, to, held));
    let mut response = Response::new(body);
    *response.status_mut() = status;
    say(&mut response, header::ETAG, &tag);
    say(&mut response, header::ACCEPT_RANGES, "bytes");
    if let Some(modified) = http_date(modified_ns) {
        say(&mut response, header::LAST_MODIFIED, &modified);
    }
    if answer != Wanted::Nothing {
        say(&mut response, header::CONTENT_TYPE, "application/octet-stream");
        say(&mut response, header::CONTENT_LENGTH, &(to - from).to_string());
        // A browser is not to guess what it is, and run it.
        say(&mut response, header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    }
    if matches!(answer, Wanted::Part(..)) {
        say(&mut response, header::CONTENT_RANGE, &format!("bytes {from}-{}/{bytes}", to - 1));
    }
    Ok(response)
}

fn say(response: &mut Response, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(name, value);
    }
}

/// As headers have it; nothing for a time that they cannot tell. None is later than now.
fn http_date(modified_ns: i64) -> Option<String> {
    let modified = Timestamp::from_nanosecond(modified_ns.into()).ok()?.min(clock::now());
    DateTimePrinter::new().timestamp_to_rfc9110_string(&modified).ok()
}

/// Puts the body as a file, whatever its size, and makes it visible when it has come to its end. The first file makes the tree.
#[utoipa::path(put, path = "/v1/trees/{tree}/files/{*path}", tag = "trees", security(("key" = ["write"])),
    params(("tree" = String, Path), ("path" = String, Path, description = "Of the file, with or without percent-encoded slashes"), Putting),
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    responses((status = 200, description = "What was written", body = Report)))]
async fn put(
    Writing(caller): Writing,
    Segments((tree, path)): Segments<(String, String)>,
    Parameters(Putting { mode, modified, durability }): Parameters<Putting>,
    request: Request,
) -> Result<Response, Problem> {
    refuse_compressed(request.headers())?;
    refuse_conditions(request.headers())?;
    // Before gigabytes come that nobody can keep.
    check_path(&path)?;
    let (mode, modified_ns) = (mode_of(mode)?, modified_of(modified)?);
    let file = move |what| PutFile { path, mode, modified_ns, what };
    let admission = caller.shared.admission.clone();
    let (mut body, mut part, mut held) = (request.into_body(), Vec::new(), admission.hold());
    let has_more = admission.read_part(&mut body, &mut part, PUT_AT_ONCE, &mut held).await?;
    if !has_more {
        let report = caller.run(move |database| {
            let _held = held;
            let tree = database.tree(&tree)?.with_durability(durability.into());
            put_one(&tree, file(PutWhat::File(part)))
        });
        return Ok(reply::json(&Report::from(report.await?)));
    }
    let (database, _turn, _wanted) = caller.begin().await?;
    let mut upload = Upload::begin(&caller, database, tree, durability).await?;
    let mut is_last = false;
    loop {
        upload.send(std::mem::take(&mut part), is_last).await?;
        held.clear();
        if is_last {
            break;
        }
        is_last = !admission.read_part(&mut body, &mut part, PUT_AT_ONCE, &mut held).await?;
    }
    let report = upload.put(move |number| file(PutWhat::Uploaded(number))).await?;
    Ok(reply::json(&Report::from(report)))
}

/// # Errors
/// `Invalid` for a condition: it could not be looked at in the same step as the write, and ignoring it would overwrite what the
/// client means to keep.
fn refuse_conditions(headers: &HeaderMap) -> Result<(), Problem> {
    let conditions = [header::IF_MATCH, header::IF_NONE_MATCH, header::IF_UNMODIFIED_SINCE, header::CONTENT_RANGE];
    match conditions.into_iter().find(|name| headers.contains_key(name)) {
        Some(name) => Err(Problem::invalid(format!("writing to a tree takes no header `{name}`; leave it out"))),
        None => Ok(()),
    }
}

fn mode_of(mode: Option<String>) -> Result<u32, Problem> {
    let Some(mode) = mode else { return Ok(MODE_DEFAULT) };
    let wrong = |_| Problem::invalid(format!("mode={mode:?} is not octal; write for example 644 or 755"));
    let mode = u32::from_str_radix(&mode, 8).map_err(wrong)?;
    check_mode(mode)?;
    Ok(mode)
}

fn modified_of(modified: Option<String>) -> Result<i64, Problem> {
    let Some(modified) = modified else { return Ok(now_ns()) };
    let time = modified.parse::<Timestamp>().ok().and_then(|time| i64::try_from(time.as_nanosecond()).ok());
    let example = "write for example 2026-11-25T10:00:00Z, between 1678 and 2262";
    time.ok_or_else(|| Problem::invalid(format!("modified={modified:?} is not a time; {example}")))
}

/// Removes a file, or everything below a folder. Versions stay for as long as the tree keeps them; `erase` takes them, too. The
/// bytes of what is erased leave the disk with the next reclaim.
#[utoipa::path(delete, path = "/v1/trees/{tree}/files/{*path}", tag = "trees", security(("key" = ["write"])),
    params(("tree" = String, Path), ("path" = String, Path, description = "Of a file or a folder, with or without percent-encoded slashes"), Removing),
    responses((status = 200, description = "What is gone", body = Gone)))]
async fn remove(
    Writing(caller): Writing,
    Segments((tree, path)): Segments<(String, String)>,
    Parameters(Removing { erase, durability }): Parameters<Removing>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    refuse_conditions(&headers)?;
    let gone = caller.run(move |database| {
        let tree = database.existing_tree(&tree)?.with_durability(durability.into());
        Ok(match erase {
            true => {
                let erased = tree.erase(&path)?;
                Gone::Erased(Erased { paths: erased.paths, versions: erased.versions })
            }
            false => Gone::Removed(Removed { removed: tree.remove(&path)? }),
        })
    });
    Ok(reply::json(&gone.await?))
}
