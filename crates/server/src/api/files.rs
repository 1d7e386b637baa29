//! Files: documents that are sent here, split into passages, embedded and stored.

use std::sync::Arc;

use axum::response::Response;
use nuthatch_dialect::FieldChange;
use nuthatch_link::{AddOptions, AddReport, Error, FileInfo, PassageOptions, Result as EngineResult, format_datetime};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::api::durable::{Durable, Durably};
use crate::api::read_point::{AsOf, ReadingAt};
use crate::api::reply;
use crate::caller::Writing;
use crate::extract::{Json, Parameters, Raw, Segments};
use crate::problem::Problem;
use crate::shared::Shared;

pub fn routes() -> OpenApiRouter<Arc<Shared>> {
    OpenApiRouter::new().routes(routes!(list, add, remove, update)).routes(routes!(preview))
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Adding {
    /// The path of the file in the collection; its extension gives the type, for example `notes/plan.md`.
    #[param(min_length = 1)]
    path: String,
    /// Maximum characters of a passage, at least 64; default 900.
    #[param(minimum = 1)]
    passage_chars: Option<usize>,
    /// Characters that a passage repeats from the end of the previous one.
    overlap_chars: Option<usize>,
    /// The change to the fields of the file's passages, made even if the file is unchanged: a `FieldChange` as JSON.
    change: Option<String>,
    /// The failures that an answered write survives.
    #[serde(default)]
    durability: Durable,
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Previewing {
    /// The path that the file would have in the collection.
    #[param(min_length = 1)]
    path: String,
    /// Maximum characters of a passage, at least 64; default 900.
    #[param(minimum = 1)]
    passage_chars: Option<usize>,
    /// Characters that a passage repeats from the end of the previous one.
    overlap_chars: Option<usize>,
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Below {
    /// Only this file, or the files in this folder.
    #[serde(default)]
    path: String,
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Removing {
    /// The file, or the folder with all its files.
    #[param(min_length = 1)]
    path: String,
    /// The failures that an answered write survives.
    #[serde(default)]
    durability: Durable,
}

/// The result of adding a file.
#[derive(Serialize, ToSchema)]
struct Added {
    /// `added`, `changed` or `unchanged`.
    outcome: &'static str,
    passages_added: u64,
    /// Of these, passages with unchanged text, which kept their vectors.
    passages_reused: u64,
    /// Added passages whose vector is still to come. Searches find them by their words.
    passages_pending: u64,
    passages_removed: u64,
    /// Parts of the file that could not be read.
    warnings: Vec<String>,
}

/// The result that adding a file would have.
#[derive(Serialize, ToSchema)]
#[schema(as = FilePreview)]
struct Preview {
    /// `added`, `changed`, `unchanged`, or `unreadable` if it produces no passages.
    outcome: &'static str,
    /// Why it is unreadable. Adding such a file removes its stored passages, which are outdated.
    why: Option<String>,
    passages_added: u64,
    /// Of these, passages with unchanged text, which would keep their vectors.
    passages_reused: u64,
    passages_removed: u64,
    /// Parts of the file that cannot be read.
    warnings: Vec<String>,
    /// The revision of the stored file; `absent` if there is none.
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
    /// When it was last changed or sent.
    mtime: Option<String>,
    kind: String,
    passages: usize,
    /// Changes whenever the file is added again; a batch can depend on it.
    revision: String,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = UpdateFiles)]
struct Update {
    /// Files and folders of the collection.
    #[schema(min_items = 1)]
    paths: Vec<String>,
    /// The change to the fields of all their passages.
    change: FieldChange,
}

#[derive(Serialize, ToSchema)]
#[schema(as = UpdatedFiles)]
struct Updated {
    /// Passages that the change made others.
    updated: u64,
}

#[derive(Serialize, ToSchema)]
struct Removed {
    /// Removed files, with their passages.
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

/// Lists the files of the collection by path.
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

/// Adds the body as a file, in any format that `nuthatch add` reads. The server splits it into passages, embeds and stores
/// them. If the file was added before, unchanged passages keep their vectors.
#[utoipa::path(put, path = "/v1/collections/{collection}/files", tag = "files", security(("key" = ["write"])),
    params(("collection" = String, Path), Adding),
    request_body(content = Vec<u8>, content_type = "application/octet-stream"), responses((status = 200, description = "What was stored for the file", body = Added)))]
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
            let fields = how.change.as_deref().map_or(Ok(FieldChange::default()), change_of)?.into_engine()?;
            let options = splitting(how.passage_chars, how.overlap_chars);
            collection.add_document(&how.path, &bytes, AddOptions { fields, ..options })
        })
        .await?;
    added(report).map(|added| reply::json(&added))
}

fn change_of(json: &str) -> EngineResult<FieldChange> {
    serde_json::from_str(json).map_err(|error| Error::invalid(format!("change={json}: {error}")))
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
        passages_pending: report.passages_pending,
        passages_removed: report.passages_removed,
        warnings: report.warnings,
    })
}

/// Reports what adding the body as a file would do, and writes nothing. Pass the returned revision in a batch that adds
/// or removes the file: the batch then fails if the stored file has changed since.
#[utoipa::path(post, path = "/v1/collections/{collection}/files/preview", tag = "files", security(("key" = ["write"])),
    params(("collection" = String, Path), Previewing),
    request_body(content = Vec<u8>, content_type = "application/octet-stream"), responses((status = 200, description = "The passages that the file would produce", body = Preview)))]
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

/// Removes a file, or all files in a folder, with their passages.
#[utoipa::path(delete, path = "/v1/collections/{collection}/files", tag = "files", security(("key" = ["write"])),
    params(("collection" = String, Path), Removing), responses((status = 200, description = "The number of removed files", body = Removed)))]
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

/// Changes fields of all passages of files, or of the files in folders. A file that changes keeps these fields when it
/// is added again.
#[utoipa::path(patch, path = "/v1/collections/{collection}/files", tag = "files", security(("key" = ["write"])),
    params(("collection" = String, Path), Durably), request_body = Update, responses((status = 200, description = "The number of changed passages", body = Updated)))]
async fn update(
    Writing(caller): Writing,
    Segments(name): Segments<String>,
    Parameters(how): Parameters<Durably>,
    Json { value, held }: Json<Update>,
) -> Result<Response, Problem> {
    let updated = caller
        .run(move |database| {
            let collection = database.existing_collection(&name)?.with_durability(how.durability.into());
            let updated = collection.update_files(value.paths, value.change.into_engine()?);
            drop(held);
            updated
        })
        .await?;
    Ok(reply::json(&Updated { updated }))
}
