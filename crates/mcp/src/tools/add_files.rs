//! `add_files`: files and folders of this machine, split into passages. Only where the host and the files are on one machine.

use std::path::{Path, PathBuf};

use nuthatch_link::{AddOptions, AddReport, Error, Result as EngineResult};
use rmcp::model::Tool;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use crate::access::{Access, Settings};
use crate::call_context::{CallContext, Step};
use crate::place;
use crate::refusal::Refusal;
use crate::tools::{Answer, Does, Parsed};

pub const NAME: &str = "add_files";

const COLLECTION_DEFAULT: &str = "documents";
/// Files of which it is told why they were left out.
const SKIPPED_MAX: usize = 20;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Adding {
    /// Files and folders, absolute or relative to the first folder that may be read.
    paths: Vec<String>,
    /// Left out: `documents`.
    collection: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Added {
    collection: String,
    added: u64,
    changed: u64,
    unchanged: u64,
    passages: u64,
    /// Of these, passages that are found by their words alone until their vectors are made, in the background.
    pending: u64,
    /// Files that were left out.
    skipped: u64,
    /// Why, of the first ones; and what of other files could not be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    why: Vec<String>,
}

pub fn tool() -> Tool {
    super::tool::<Adding, Added>(
        NAME,
        "Add files",
        "Use when the user wants files or folders (text, HTML, PDF, code, office documents, books, notebooks, mail) to be searchable, or when files that were added have changed: \
         only what changed is read again. Large folders take minutes; what was finished stays, and the same call does the rest.",
        Does::Adds,
    )
}

pub async fn call<A: Access>(
    arguments: Parsed<Adding>,
    access: &A,
    settings: &Settings,
    call_context: &CallContext,
) -> Result<Added, Refusal> {
    let arguments = arguments?;
    if arguments.paths.is_empty() {
        return Err(Refusal::invalid("no paths"));
    }
    let (settings, cancel) = (settings.clone(), call_context.cancel.clone());
    let (tell, told) = watch::channel(None);
    let access = access.writing()?;
    let work = access.run(move |database| {
        let paths: Vec<PathBuf> =
            arguments.paths.iter().map(|path| allowed(path, &settings.folders)).collect::<EngineResult<_>>()?;
        let name = arguments.collection.as_deref().unwrap_or(COLLECTION_DEFAULT);
        let collection = place::existing_or_new(database, name, &settings.embedder)?;
        let mut on_progress = |progress: &nuthatch_link::Progress| {
            let message = format!("{} of {} files", progress.files_done, progress.files_total);
            tell.send_replace(Some(Step { done: progress.bytes_done, total: progress.bytes_total, message }));
        };
        let options =
            AddOptions { on_progress: Some(&mut on_progress), cancel: Some(&cancel), ..AddOptions::default() };
        Ok(Added::new(name, collection.add(&paths, options)?))
    });
    call_context.follow(work, told).await
}

/// The real path, if it is at or below a folder that may be read. Links do not lead out of it.
fn allowed(path: &str, folders: &[PathBuf]) -> EngineResult<PathBuf> {
    let given = folders.first().map_or_else(|| PathBuf::from(path), |first| first.join(path));
    let real = given.canonicalize().map_err(|error| Error::io(&given, &error))?;
    let is_below = |folder: &&PathBuf| folder.canonicalize().is_ok_and(|folder| real.starts_with(folder));
    match folders.iter().find(is_below) {
        Some(_) => Ok(real),
        None => Err(Error::invalid(format!(
            "{} is not allowed: only files in {} may be read; the user can allow others with `nuthatch mcp --files FOLDER`",
            real.display(),
            folders.iter().map(|folder: &PathBuf| Path::display(folder).to_string()).collect::<Vec<_>>().join(", ")
        ))),
    }
}

impl Added {
    fn new(collection: &str, report: AddReport) -> Self {
        let why = report.skipped.iter().map(|skipped| skipped.why.clone()).chain(report.warnings);
        Self {
            why: why.take(SKIPPED_MAX).collect(),
            collection: collection.into(),
            added: report.files_added,
            changed: report.files_changed,
            unchanged: report.files_unchanged,
            passages: report.passages_added,
            pending: report.passages_pending,
            skipped: report.skipped.len() as u64,
        }
    }
}

impl Answer for Added {
    fn text(&self) -> String {
        let Self { collection, added, changed, unchanged, passages, pending, skipped, why } = self;
        let mut lines = format!(
            "Collection {collection}: {added} files added, {changed} changed, {unchanged} unchanged, {skipped} left out; {passages} passages in."
        );
        if *pending > 0 {
            lines +=
                &format!(" {pending} are found by their words alone until their vectors are made, in the background.");
        }
        for why in why {
            lines += &format!("\n- {why}");
        }
        lines
    }
}
