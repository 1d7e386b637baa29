//! Files: documents that are sent here, split into passages, embedded and stored.

use std::sync::Arc;

use axum::response::Response;
use nuthatch_link::{AddOptions, AddReport, Error, FileInfo, PassageOptions, Result as EngineResult, format_datetime};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::api::durable::Durable;
use crate::api::read_point::{AsOf, ReadingAt};
use crate::api::reply;
use crate::caller::Writing;
use crate::extract::{Parameters, Raw, Segments};
use crate::problem::Problem;
use crate::shared::Shared;

pub fn routes() -> OpenApiRouter<Arc<Shared>> {
    OpenApiRouter::new().routes(routes!(list, add, remove)).routes(routes!(preview))
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Adding {
    /// What the file is called here; its ending says what it is, for example `notes/plan.md`.
    #[param(min_length = 1)]
    path: String,
    /// No passage has more characters than this, 64 at least; left out, 900.
    #[param(minimum = 1)]
    passage_chars: Option<usize>,
    /// That many characters at the end of a passage come again at the beginning of the next.
    overlap_chars: Option<usize>,
    /// What the write has survived when it is answered.
    #[serde(default)]
    durability: Durable,
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Previewing {
    /// What the file would be called here.
    #[param(min_length = 1)]
    path: String,
    /// No passage has more characters than this, 64 at least; left out, 900.
    #[param(minimum = 1)]
    passage_chars: Option<usize>,
    /// That many characters at the end of a passage come again at the beginning of the next.
    overlap_chars: Option<usize>,
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Below {
    /// Only this file, or files below this folder.
    #[serde(default)]
    path: String,
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Removing {
    /// The file, or the folder with all files below it.
    #[param(min_length = 1)]
    path: String,
    /// What the write has survived when it is answered.
    #[serde(default)]
    durability: Durable,
}

/// What adding a file did.
#[derive(Serialize, ToSchema)]
struct Added {
    /// `added`, `changed` or `unchanged`.
    outcome: &'static str,
    passages_added: u64,
    /// Of these, passages whose text was there before: their vectors were kept.
    passages_reused: u64,
    passages_removed: u64,
    /// Parts of the file that could not be read although the rest was.
    warnings: Vec<String>,
}

/// What adding a file would do.
#[derive(Serialize, ToSchema)]
#[schema(as = FilePreview)]
struct Preview {
    /// `added`, `changed`, `unchanged`, or `unreadable` when it gives no passages.
    outcome: &'static str,
    /// Why it is unreadable. What is stored of such a file is true no longer: adding it removes that.
    why: Option<String>,
    passages_added: u64,
    /// Of these, passages whose text is there already: their vectors would be kept.
    passages_reused: u64,
    passages_removed: u64,
    /// Parts of the file that cannot be read although the rest is.
    warnings: Vec<String>,
    /// Of what is stored of the file; `absent` when nothing is.
    revision: String,
}

#[derive(Serialize, ToSchema)]
struct Files {
    files: Vec<File>,
}

#[derive(Serialize, ToSchema)]
struct File {
    path: String,
    bytes: u64,
    /// When it was changed, or sent here.
    mtime: Option<String>,
    kind: String,
    passages: usize,
    /// Another one when the file is added anew: a batch may depend on it.
    revision: String,
}

#[derive(Serialize, ToSchema)]
struct Removed {
    /// Files that are gone, with their passages.
    removed: u64,
}

impl From<FileInfo> for File {
    fn from(file: FileInfo) -> Self {
        Self {
            mtime: format_datetime(file.mtime_ns.div_euclid(1000)),
            path: file.path,
            bytes: file.bytes,
            kind: file.kind,
            passages: file.passages,
            revision: file.revision,
        }
    }
}

/// Files of the collection, by path.
#[utoipa::path(get, path = "/v1/collections/{collection}/files", tag = "files", security(("key" = ["read"])),
    params(("collection" = String, Path), Below, AsOf), responses((status = 200, description = "The files, by path", body = Files)))]
async fn list(
    ReadingAt { caller, read_point }: ReadingAt,
    Segments(name): Segments<String>,
    Parameters(below): Parameters<Below>,
) -> Result<Response, Problem> {
    let files = caller.run(move |database| read_point.records(database, &name)?.files(&below.path)).await?;
    Ok(reply::json(&Files { files: files.into_iter().map(File::from).collect() }))
}

/// Adds the body as a file: Markdown, text, HTML, PDF or code. It is split into passages, embedded and stored; of a file that was
/// here before, passages that have not changed keep their vectors.
#[utoipa::path(put, path = "/v1/collections/{collection}/files", tag = "files", security(("key" = ["write"])),
    params(("collection" = String, Path), Adding),
    request_body(content = Vec<u8>, content_type = "application/octet-stream"), responses((status = 200, description = "What was made of the file", body = Added)))]
async fn add(
    Writing(caller): Writing,
    Segments(name): Segments<String>,
    Parameters(how): Parameters<Adding>,
    Raw { bytes, held }: Raw,
) -> Result<Response, Problem> {
    let report = caller
        .run(move |database| {
            let _held = held;
            let collection = database.existing_collection(&name)?.with_durability(how.durability.into());
            collection.add_document(&how.path, &bytes, splitting(how.passage_chars, how.overlap_chars))
        })
        .await?;
    added(report).map(|added| reply::json(&added))
}

/// How a file is split into passages.
pub fn splitting(passage_chars: Option<usize>, overlap_chars: Option<usize>) -> AddOptions<'static> {
    let default = PassageOptions::default();
    let passages = PassageOptions {
        target_chars: passage_chars.unwrap_or(default.target_chars),
        overlap_chars: overlap_chars.unwrap_or(default.overlap_chars),
    };
    AddOptions { passages, ..AddOptions::default() }
}

fn added(report: AddReport) -> Result<Added, Problem> {
    if let Some(skipped) = report.skipped.first() {
        return Err(Error::invalid(skipped.why.clone()).into());
    }
    Ok(Added {
        outcome: outcome(&report),
        passages_added: report.passages_added,
        passages_reused: report.passages_reused,
        passages_removed: report.passages_removed,
        warnings: report.warnings,
    })
}

/// Says what adding the body as a file would do, without writing anything. The revision that it answers with makes a batch that adds or
/// removes the file depend on what is stored of it now.
#[utoipa::path(post, path = "/v1/collections/{collection}/files/preview", tag = "files", security(("key" = ["write"])),
    params(("collection" = String, Path), Previewing),
    request_body(content = Vec<u8>, content_type = "application/octet-stream"), responses((status = 200, description = "The passages that the file would give", body = Preview)))]
async fn preview(
    Writing(caller): Writing,
    Segments(name): Segments<String>,
    Parameters(how): Parameters<Previewing>,
    Raw { bytes, held }: Raw,
) -> Result<Response, Problem> {
    let (report, revision) = caller
        .run(move |database| {
            let _held = held;
            let options = splitting(how.passage_chars, how.overlap_chars);
            database.existing_collection(&name)?.preview_document(&how.path, &bytes, options)
        })
        .await?;
    let why = report.skipped.first().map(|skipped| skipped.why.clone());
    Ok(reply::json(&Preview {
        outcome: if why.is_some() { "unreadable" } else { outcome(&report) },
        why,
        passages_added: report.passages_added,
        passages_reused: report.passages_reused,
        passages_removed: report.passages_removed,
        warnings: report.warnings,
        revision,
    }))
}

fn outcome(report: &AddReport) -> &'static str {
    match (report.files_added, report.files_changed) {
        (0, 0) => "unchanged",
        (0, _) => "changed",
        _ => "added",
    }
}

/// # Errors
/// `Invalid` for an empty path, which is above every file.
pub fn refuse_empty(path: &str) -> EngineResult<()> {
    match path.is_empty() {
        true => Err(Error::invalid(
            "the path is empty and would remove every file; name a file or a folder, or drop the collection",
        )),
        false => Ok(()),
    }
}

/// Removes a file, or all files below a folder, with their passages.
#[utoipa::path(delete, path = "/v1/collections/{collection}/files", tag = "files", security(("key" = ["write"])),
    params(("collection" = String, Path), Removing), responses((status = 200, description = "How many files were removed", body = Removed)))]
async fn remove(
    Writing(caller): Writing,
    Segments(name): Segments<String>,
    Parameters(how): Parameters<Removing>,
) -> Result<Response, Problem> {
    refuse_empty(&how.path)?;
    let removed = caller.run(move |database| {
        let collection = database.existing_collection(&name)?.with_durability(how.durability.into());
        collection.remove_files(&how.path)
    });
    Ok(reply::json(&Removed { removed: removed.await? }))
}
