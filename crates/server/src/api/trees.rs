//! Trees: listing and dropping them, their entries, versions, differences, named snapshots and retention, and writing several paths
//! at once. The bytes of one file have a place of their own.

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::Response;
use nuthatch_dialect::FieldChange;
use nuthatch_dialect::operations::Facet;
use nuthatch_link::{
    CountTree, DiffTrees, Error, ErrorKind, ListFiles, PutFile, PutFiles, PutWhat, Retention as EngineRetention,
    TreeAt, What,
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::api::bytes::Bytes;
use crate::api::durable::Durably;
use crate::api::read_point::{AsOf, ReadingAt};
use crate::api::reply;
use crate::api::tree_entries::{Change, Entry, Info, Report, Retention, Root, Snapshot, Verified};
use crate::caller::{Reading, Writing};
use crate::clock;
use crate::extract::{Json, Parameters, Segments};
use crate::problem::Problem;
use crate::shared::Shared;

/// More would make an answer of hundreds of megabytes.
const CHANGES_MAX: usize = 100_000;
/// Values of one field in an answer.
const FACETS_MAX: usize = 10_000;
/// Permission bits of a file whose writer says nothing.
pub const MODE_DEFAULT: u32 = 0o644;

pub fn routes() -> OpenApiRouter<Arc<Shared>> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(info, remove))
        .routes(routes!(entries))
        .routes(routes!(versions))
        .routes(routes!(write))
        .routes(routes!(diff))
        .routes(routes!(snapshots, name_snapshot))
        .routes(routes!(drop_snapshot))
        .routes(routes!(set_retention))
        .routes(routes!(root))
        .routes(routes!(verify))
        .routes(routes!(update))
        .routes(routes!(facets))
}

#[derive(Serialize, ToSchema)]
struct Trees {
    trees: Vec<String>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = TreePage)]
struct Page {
    /// In the order of the bytes of their paths.
    entries: Vec<Entry>,
    /// The path to go on after; null at the end.
    cursor: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = TreeVersions)]
struct Versions {
    /// The newest first, those included that say that the path is gone.
    versions: Vec<Entry>,
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Listing {
    /// Only what stands at this path or below it.
    #[serde(default)]
    below: String,
    /// The tree as it was: the name of one of its snapshots, a sequence, or a time such as `2026-11-25T10:00:00Z`.
    as_of: Option<String>,
    /// The cursor that the previous page returned.
    after: Option<String>,
    /// Maximum number of entries in the page.
    #[serde(default = "page_default")]
    #[param(minimum = 1, maximum = 10000)]
    limit: usize,
    /// Only what passes this condition on its fields, such as `tags contains 'draft'`.
    #[serde(rename = "where")]
    #[param(rename = "where")]
    filter: Option<String>,
}

/// Which fields change, of which files.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = UpdateTree)]
struct Update {
    /// Files, and folders with everything below them; absent or empty for all files.
    #[serde(default)]
    paths: Vec<String>,
    /// Of these, only files that pass this condition on their fields.
    #[serde(rename = "where")]
    filter: Option<String>,
    change: FieldChange,
}

#[derive(Serialize, ToSchema)]
#[schema(as = UpdatedTree)]
struct Updated {
    /// Files that the change made others.
    updated: u64,
}

/// Which values to count, of which files.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = TreeFacetsQuestion)]
struct Count {
    /// Fields that files were given, or `path`, `name`, `mode`, `mtime`, `sequence`, `bytes`, `content`.
    #[schema(min_items = 1)]
    fields: Vec<String>,
    /// Only files that pass this condition on their fields.
    #[serde(rename = "where")]
    filter: Option<String>,
    /// Only what stands at this path or below it.
    #[serde(default)]
    below: String,
    /// The tree as it was: the name of one of its snapshots, a sequence, or a time such as `2026-11-25T10:00:00Z`.
    as_of: Option<String>,
    /// Values of each field, the most frequent ones; default 10.
    #[schema(minimum = 1, maximum = 10000)]
    limit: Option<usize>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = TreeFacets)]
struct Counted {
    /// In the order of the fields.
    facets: Vec<Facet>,
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Place {
    /// Only what stands below this path.
    #[serde(default)]
    below: String,
    /// The tree as it was: the name of one of its snapshots, a sequence, or a time such as `2026-11-25T10:00:00Z`.
    as_of: Option<String>,
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Verifying {
    /// Only what stands at this path or below it.
    #[serde(default)]
    below: String,
    /// The tree as it was: the name of one of its snapshots, a sequence, or a time. For the next page, the `as_of` of the answer.
    as_of: Option<String>,
    /// The cursor that the previous page returned.
    after: Option<String>,
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct OfPath {
    path: String,
}

/// Changes of a tree, which become visible together.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = WriteTree)]
struct Write {
    /// Each path once.
    #[serde(default)]
    put: Vec<Put>,
    /// Paths that are gone, each by itself: what lies below one stays.
    #[serde(default)]
    remove: Vec<String>,
}

/// The entry to put at a path: a file with `content`, a link with `target`, or else a folder.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = PutTreeEntry)]
struct Put {
    path: String,
    /// The bytes of a file.
    content: Option<Bytes>,
    /// The target of a symbolic link, as it is spelt.
    target: Option<String>,
    /// Permission bits; default 420, which is 644 in octal, and 493 (755) of a folder.
    #[schema(maximum = 4095)]
    mode: Option<u32>,
    /// When it was changed last, in nanoseconds since 1970; default now.
    modified_ns: Option<i64>,
}

/// Two states to compare.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = DiffTrees)]
struct Diff {
    /// The earlier state, as `as_of` elsewhere; null or absent for now.
    from: Option<String>,
    /// The later state; null or absent for now.
    to: Option<String>,
    /// The tree of the later state; null or absent for the same.
    to_tree: Option<String>,
    /// Only what stands at this path or below it.
    #[serde(default)]
    below: String,
    /// Whether a file that moved is one change, and not one removed and one added.
    #[serde(default = "yes")]
    renames: bool,
}

#[derive(Serialize, ToSchema)]
#[schema(as = TreeChanges)]
struct Changes {
    /// By path. Times do not count.
    changes: Vec<Change>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = TreeSnapshots)]
struct Snapshots {
    /// The oldest first.
    snapshots: Vec<Snapshot>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NameTreeSnapshot)]
struct Name {
    name: String,
}

fn page_default() -> usize {
    1000
}

fn yes() -> bool {
    true
}

impl Put {
    fn into_engine(self, now_ns: i64) -> Result<PutFile, Problem> {
        let Self { path, content, target, mode, modified_ns } = self;
        let (what, mode_default) = match (content, target) {
            (Some(content), None) => (PutWhat::File(content.into_vec()), MODE_DEFAULT),
            (None, Some(target)) => (PutWhat::Link(target), MODE_DEFAULT),
            (None, None) => (PutWhat::Folder, 0o755),
            (Some(_), Some(_)) => {
                return Err(Problem::invalid(format!(
                    "the path {path:?} has `content` and `target`; give one of them, or none for a folder"
                )));
            }
        };
        let (mode, modified_ns) = (mode.unwrap_or(mode_default), modified_ns.unwrap_or(now_ns));
        check_mode(mode)?;
        Ok(PutFile { path, mode, modified_ns, what })
    }
}

/// # Errors
/// `Invalid` for more than permission bits.
pub fn check_mode(mode: u32) -> Result<(), Problem> {
    match mode <= 0o7777 {
        true => Ok(()),
        false => Err(Problem::invalid(format!("mode {mode:o} (octal) is more than the permission bits, 0 to 7777"))),
    }
}

/// The time now, in nanoseconds since 1970.
pub fn now_ns() -> i64 {
    i64::try_from(clock::now().as_nanosecond()).unwrap_or(i64::MAX)
}

/// Lists all trees.
#[utoipa::path(get, path = "/v1/trees", tag = "trees", security(("key" = ["read"])),
    responses((status = 200, description = "The names of all trees", body = Trees)))]
async fn list(Reading(caller): Reading) -> Result<Response, Problem> {
    let trees = caller.run(|database| database.tree_names()).await?;
    Ok(reply::json(&Trees { trees }))
}

/// Describes a tree. Its first file makes it.
#[utoipa::path(get, path = "/v1/trees/{tree}", tag = "trees", security(("key" = ["read"])),
    params(("tree" = String, Path), AsOf), responses((status = 200, description = "What it holds", body = Info)))]
async fn info(
    ReadingAt { caller, read_point }: ReadingAt,
    Segments(name): Segments<String>,
) -> Result<Response, Problem> {
    let info = caller.run(move |database| read_point.tree(database, &name)?.info()).await?;
    Ok(reply::json(&Info::from(info)))
}

/// Erases a tree: all its files with every version, and its snapshots. The bytes leave the disk with the next reclaim.
#[utoipa::path(delete, path = "/v1/trees/{tree}", tag = "trees", security(("key" = ["write"])),
    params(("tree" = String, Path)), responses((status = 204, description = "Erased")))]
async fn remove(Writing(caller): Writing, Segments(name): Segments<String>) -> Result<Response, Problem> {
    let dropped = caller
        .run(move |database| match database.drop_tree(&name)? {
            true => Ok(()),
            false => Err(Error::not_found(format!("no tree {name:?}")).about(What::Tree, name)),
        })
        .await;
    dropped.map(|()| reply::nothing())
}

/// Lists the files, folders and links of a tree by path, page by page.
#[utoipa::path(get, path = "/v1/trees/{tree}/entries", tag = "trees", security(("key" = ["read"])),
    params(("tree" = String, Path), Listing, AsOf), responses((status = 200, description = "A page of entries", body = Page)))]
async fn entries(
    ReadingAt { caller, read_point }: ReadingAt,
    Segments(name): Segments<String>,
    Parameters(Listing { below, as_of, after, limit, filter }): Parameters<Listing>,
) -> Result<Response, Problem> {
    let page = caller.run(move |database| {
        let files = read_point.tree(database, &name)?;
        files.page(ListFiles { at: files.at(as_of.as_deref()), below, after, limit, filter })
    });
    let page = page.await?;
    Ok(reply::json(&Page { entries: page.entries.into_iter().map(Into::into).collect(), cursor: page.cursor }))
}

/// Lists all kept versions of a path.
#[utoipa::path(get, path = "/v1/trees/{tree}/versions", tag = "trees", security(("key" = ["read"])),
    params(("tree" = String, Path), OfPath, AsOf), responses((status = 200, description = "Its versions", body = Versions)))]
async fn versions(
    ReadingAt { caller, read_point }: ReadingAt,
    Segments(name): Segments<String>,
    Parameters(OfPath { path }): Parameters<OfPath>,
) -> Result<Response, Problem> {
    let versions = caller.run(move |database| read_point.tree(database, &name)?.versions(&path)).await?;
    Ok(reply::json(&Versions { versions: versions.into_iter().map(Into::into).collect() }))
}

/// Puts and removes several paths atomically, as one write. The first file makes the tree. For large files, put each by itself.
#[utoipa::path(post, path = "/v1/trees/{tree}/write", tag = "trees", security(("key" = ["write"])),
    params(("tree" = String, Path), Durably), request_body = Write, responses((status = 200, description = "What was written", body = Report)))]
async fn write(
    Writing(caller): Writing,
    Segments(name): Segments<String>,
    Parameters(how): Parameters<Durably>,
    Json { value: Write { put, remove }, held }: Json<Write>,
) -> Result<Response, Problem> {
    let now = now_ns();
    let files = put.into_iter().map(|put| put.into_engine(now)).collect::<Result<Vec<_>, _>>()?;
    let report = caller.run(move |database| {
        let _held = held;
        let tree = database.tree(&name)?.with_durability(how.durability.into());
        tree.put_all(PutFiles { files, gone: remove, ..PutFiles::default() })
    });
    Ok(reply::json(&Report::from(report.await?)))
}

/// Compares two states of a tree, or of two trees. Over 100,000 changes are refused: compare one folder after another.
#[utoipa::path(post, path = "/v1/trees/{tree}/diff", tag = "trees", security(("key" = ["read"])),
    params(("tree" = String, Path), AsOf), request_body = Diff, responses((status = 200, description = "The differences, by path", body = Changes)))]
async fn diff(
    ReadingAt { caller, read_point }: ReadingAt,
    Segments(name): Segments<String>,
    Json { value: Diff { from, to, to_tree, below, renames }, .. }: Json<Diff>,
) -> Result<Response, Problem> {
    let changes = caller.run(move |database| {
        let to = TreeAt { tree: to_tree.unwrap_or_else(|| name.clone()), as_of: to };
        let files = read_point.tree(database, &name)?;
        let from = TreeAt { tree: name, as_of: from };
        let changes = files.diff(DiffTrees { from, to, below, no_renames: !renames })?;
        match changes.len() <= CHANGES_MAX {
            true => Ok(changes),
            false => Err(Error::new(
                ErrorKind::Exhausted,
                format!("{} paths differ, and an answer has at most {CHANGES_MAX}; give `below`", changes.len()),
            )),
        }
    });
    Ok(reply::json(&Changes { changes: changes.await?.into_iter().map(Into::into).collect() }))
}

/// Lists the named snapshots of a tree.
#[utoipa::path(get, path = "/v1/trees/{tree}/snapshots", tag = "trees", security(("key" = ["read"])),
    params(("tree" = String, Path), AsOf), responses((status = 200, description = "The snapshots, the oldest first", body = Snapshots)))]
async fn snapshots(
    ReadingAt { caller, read_point }: ReadingAt,
    Segments(name): Segments<String>,
) -> Result<Response, Problem> {
    let snapshots = caller.run(move |database| read_point.tree(database, &name)?.snapshots()).await?;
    Ok(reply::json(&Snapshots { snapshots: snapshots.into_iter().map(Into::into).collect() }))
}

/// Names a tree as it stands, which takes no time whatever its size. The state that the snapshot shows is kept until it
/// is dropped.
#[utoipa::path(post, path = "/v1/trees/{tree}/snapshots", tag = "trees", security(("key" = ["write"])),
    params(("tree" = String, Path), Durably), request_body = Name, responses((status = 201, description = "Named", body = Snapshot)))]
async fn name_snapshot(
    Writing(caller): Writing,
    Segments(tree): Segments<String>,
    Parameters(how): Parameters<Durably>,
    Json { value: Name { name }, .. }: Json<Name>,
) -> Result<Response, Problem> {
    let named = caller.run(move |database| {
        database.existing_tree(&tree)?.with_durability(how.durability.into()).name_snapshot(&name)
    });
    Ok(reply::json_with(StatusCode::CREATED, &Snapshot::from(named.await?)))
}

/// Drops a named snapshot of a tree, and the versions that it alone has kept.
#[utoipa::path(delete, path = "/v1/trees/{tree}/snapshots/{name}", tag = "trees", security(("key" = ["write"])),
    params(("tree" = String, Path), ("name" = String, Path), Durably), responses((status = 204, description = "Dropped")))]
async fn drop_snapshot(
    Writing(caller): Writing,
    Segments((tree, name)): Segments<(String, String)>,
    Parameters(how): Parameters<Durably>,
) -> Result<Response, Problem> {
    let dropped = caller.run(move |database| {
        let found = database.existing_tree(&tree)?.with_durability(how.durability.into());
        match found.drop_snapshot(&name)? {
            true => Ok(()),
            false => {
                let why = format!("tree {tree:?} has no snapshot {name:?}");
                Err(Error::not_found(why).about(What::TreeSnapshot, name))
            }
        }
    });
    dropped.await.map(|()| reply::nothing())
}

/// Changes how long versions are kept, and removes those that need not be kept any longer. Creates the tree if it does not exist.
#[utoipa::path(put, path = "/v1/trees/{tree}/retention", tag = "trees", security(("key" = ["write"])),
    params(("tree" = String, Path), Durably), request_body = Retention, responses((status = 204, description = "Changed")))]
async fn set_retention(
    Writing(caller): Writing,
    Segments(name): Segments<String>,
    Parameters(how): Parameters<Durably>,
    Json { value: Retention { versions, seconds }, .. }: Json<Retention>,
) -> Result<Response, Problem> {
    let changed = caller.run(move |database| {
        let tree = database.tree(&name)?.with_durability(how.durability.into());
        tree.set_retention(EngineRetention { versions, seconds })
    });
    changed.await.map(|()| reply::nothing())
}

/// The root of a tree, or of a folder in it: one hash over paths, modes, targets of links and contents. Two states have the same
/// root exactly when they do not differ, in whatever database they are.
#[utoipa::path(get, path = "/v1/trees/{tree}/root", tag = "trees", security(("key" = ["read"])),
    params(("tree" = String, Path), Place, AsOf), responses((status = 200, description = "The root", body = Root)))]
async fn root(
    ReadingAt { caller, read_point }: ReadingAt,
    Segments(name): Segments<String>,
    Parameters(Place { below, as_of }): Parameters<Place>,
) -> Result<Response, Problem> {
    let root = caller.run(move |database| read_point.tree(database, &name)?.root(as_of.as_deref(), &below));
    Ok(reply::json(&Root::from(root.await?)))
}

/// Reads the files of a tree, compares their chunks and their bytes with their hashes, and names those that are damaged. A page
/// reads 64 MiB, or 5,000 paths.
#[utoipa::path(get, path = "/v1/trees/{tree}/verify", tag = "trees", security(("key" = ["read"])),
    params(("tree" = String, Path), Verifying, AsOf), responses((status = 200, description = "What was found", body = Verified)))]
async fn verify(
    ReadingAt { caller, read_point }: ReadingAt,
    Segments(name): Segments<String>,
    Parameters(Verifying { below, as_of, after }): Parameters<Verifying>,
) -> Result<Response, Problem> {
    let page = caller.run(move |database| {
        let files = read_point.tree(database, &name)?;
        files.verify_page(as_of.as_deref(), &below, after)
    });
    Ok(reply::json(&Verified::from(page.await?)))
}

/// Changes fields of the files of a tree as they are now, without sending the files again. Earlier versions keep the fields that
/// they had.
#[utoipa::path(patch, path = "/v1/trees/{tree}/fields", tag = "trees", security(("key" = ["write"])),
    params(("tree" = String, Path), Durably), request_body = Update, responses((status = 200, description = "How many files changed", body = Updated)))]
async fn update(
    Writing(caller): Writing,
    Segments(name): Segments<String>,
    Parameters(how): Parameters<Durably>,
    Json { value: Update { paths, filter, change }, held }: Json<Update>,
) -> Result<Response, Problem> {
    let updated = caller.run(move |database| {
        let tree = database.existing_tree(&name)?.with_durability(how.durability.into());
        let updated = tree.update(paths, filter.as_deref(), change.into_engine()?);
        drop(held);
        updated
    });
    Ok(reply::json(&Updated { updated: updated.await? }))
}

/// Counts the values of fields among the files of a tree, as it is or as it was.
#[utoipa::path(post, path = "/v1/trees/{tree}/facets", tag = "trees", security(("key" = ["read"])),
    params(("tree" = String, Path), AsOf), request_body = Count, responses((status = 200, description = "The values of each field", body = Counted)))]
async fn facets(
    ReadingAt { caller, read_point }: ReadingAt,
    Segments(name): Segments<String>,
    Json { value: Count { fields, filter, below, as_of, limit }, .. }: Json<Count>,
) -> Result<Response, Problem> {
    let limit = limit.unwrap_or(10);
    if !(1..=FACETS_MAX).contains(&limit) {
        return Err(Problem::invalid(format!("limit is {limit}; ask for 1 to {FACETS_MAX} values of each field")));
    }
    let counted = caller.run(move |database| {
        let files = read_point.tree(database, &name)?;
        files.facets(CountTree { at: files.at(as_of.as_deref()), below, fields, filter, limit })
    });
    Ok(reply::json(&Counted { facets: counted.await?.into_iter().map(Into::into).collect() }))
}
