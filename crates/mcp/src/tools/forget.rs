//! `forget`: notes by id, whatever passes a condition, or files.

use nuthatch_link::{Collection, Error, Result as EngineResult};
use rmcp::model::Tool;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::{Access, Settings};
use crate::place;
use crate::refusal::Refusal;
use crate::tools::{Answer, Does, Parsed};

pub const NAME: &str = "forget";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Forgetting {
    /// Where.
    collection: String,
    /// Records, as `search` and `list` show them.
    #[serde(default)]
    ids: Vec<String>,
    /// Instead of ids: every record whose fields pass, for example `topic = 'deploy'`.
    #[serde(rename = "where")]
    condition: Option<String>,
    /// Instead of ids: a file, or a folder with all files below it. The files themselves stay on the disk.
    path: Option<String>,
    /// Only say how much would be forgotten.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Forgotten {
    collection: String,
    /// Passages of files included.
    records: u64,
    files: u64,
    /// Nothing was forgotten: this is what would be.
    dry_run: bool,
}

pub fn tool() -> Tool {
    super::tool::<Forgetting, Forgotten>(
        NAME,
        "Forget notes or files",
        "Use when the user asks to forget something, or when a note is wrong and nothing takes its place. Cannot be undone: with `where` or `path`, \
         call it with `dry_run` first and tell the user how much it is.",
        Does::Destroys,
    )
}

/// The records to forget.
enum Target {
    Ids(Vec<String>),
    Where(String),
    Path(String),
}

pub async fn call<A: Access>(
    arguments: Parsed<Forgetting>,
    access: &A,
    settings: &Settings,
) -> Result<Forgotten, Refusal> {
    let (arguments, embedder) = (arguments?, settings.embedder.clone());
    access
        .writing()?
        .run(move |database| {
            let Forgetting { collection: name, ids, condition, path, dry_run } = arguments;
            let target = match (&ids[..], condition, path) {
                ([_, ..], None, None) => Target::Ids(ids),
                ([], Some(condition), None) => Target::Where(condition),
                ([], None, Some(path)) if !path.is_empty() => Target::Path(path),
                _ => return Err(Error::invalid("give one of `ids`, `where` and `path`")),
            };
            let collection = place::existing(database, &name, &embedder)?;
            let (records, files) = if dry_run { count(&collection, &target)? } else { forget(&collection, target)? };
            Ok(Forgotten { collection: name, records, files, dry_run })
        })
        .await
}

fn count(collection: &Collection, target: &Target) -> EngineResult<(u64, u64)> {
    Ok(match target {
        Target::Ids(ids) => (collection.get(ids, false)?.into_iter().flatten().count() as u64, 0),
        Target::Where(condition) => {
            (collection.count(Some(condition))?, collection.whole_files(condition)?.len() as u64)
        }
        Target::Path(path) => {
            let files = collection.files(path)?;
            (files.iter().map(|file| file.passages as u64).sum(), files.len() as u64)
        }
    })
}

fn forget(collection: &Collection, target: Target) -> EngineResult<(u64, u64)> {
    Ok(match target {
        Target::Ids(ids) => (collection.delete(&ids)?.deleted, 0),
        Target::Where(condition) => {
            let (mut records, mut files) = (0, 0);
            for file in collection.whole_files(&condition)? {
                records += file.passages as u64;
                files += collection.remove_files(&file.path)?;
            }
            (records + collection.delete_where(&condition)?.deleted, files)
        }
        Target::Path(path) => {
            let records = collection.files(&path)?.iter().map(|file| file.passages as u64).sum();
            (records, collection.remove_files(&path)?)
        }
    })
}

impl Answer for Forgotten {
    fn text(&self) -> String {
        let Self { collection, records, files, dry_run } = self;
        if (*records, *files) == (0, 0) {
            return format!("Collection {collection} has no match (`list` shows what it has): nothing to forget.");
        }
        let verb = if *dry_run { "Would forget" } else { "Forgot" };
        format!("{verb} {records} records, {files} whole files among them, of collection {collection}.")
    }
}
