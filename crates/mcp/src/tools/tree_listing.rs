//! The contents of a tree: its entries, the versions of a path, its snapshots, and the changes since one.

use nuthatch_link::{
    ChangeKind, DiffTrees, EntryKind, Error, Files, Result as EngineResult, TreeEntry, format_datetime,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::budget::Budget;
use crate::tools::cursor::Cursors;

/// Entries that are read at a time.
const ENTRIES_AT_ONCE: usize = 200;

/// The subject of a question about a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    Entries,
    Versions,
    Snapshots,
    Changes,
}

/// A tree, where the memory is listed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ListedTree {
    pub tree: String,
    files: u64,
    bytes: u64,
    snapshots: u64,
}

/// A line about a tree.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TreeLine {
    /// A path, or the name of a snapshot.
    name: String,
    /// `file`, `folder`, `link`, `gone`, `snapshot`, or how it changed.
    what: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    /// Give it as `as_of`.
    version: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    stored: Option<String>,
}

/// Where and when, as the caller says it.
pub struct Asked<'a> {
    pub path: &'a str,
    pub as_of: Option<&'a str>,
    pub since: Option<&'a str>,
    pub max_tokens: Option<usize>,
}

pub fn listed(files: &Files) -> EngineResult<ListedTree> {
    let info = files.info()?;
    Ok(ListedTree { tree: info.name, files: info.files, bytes: info.bytes, snapshots: info.snapshots })
}

/// The lines that there is room for, and where to go on.
pub fn list(
    files: &Files,
    of: Of,
    asked: &Asked<'_>,
    cursors: &Cursors,
    cursor: Option<&str>,
) -> EngineResult<(Vec<TreeLine>, Option<String>)> {
    let after = cursors.place(cursor)?;
    match of {
        Of::Entries => entries(files, asked, cursors, after),
        Of::Versions if asked.path.is_empty() => Err(Error::invalid("versions are of a path; give it")),
        Of::Versions => page(files.versions(asked.path)?.into_iter().map(TreeLine::of), asked, cursors, after),
        Of::Snapshots => {
            let line = |snapshot: nuthatch_link::TreeSnapshot| TreeLine {
                name: snapshot.name,
                what: "snapshot",
                bytes: None,
                version: snapshot.sequence,
                stored: time(snapshot.created_ms),
            };
            page(files.snapshots()?.into_iter().map(line), asked, cursors, after)
        }
        Of::Changes => {
            let Some(since) = asked.since else {
                return Err(Error::invalid(
                    "changes are since a moment; give `since`: a snapshot, a version or a time",
                ));
            };
            let (from, to) = (files.at(Some(since)), files.at(asked.as_of));
            let changes = files.diff(DiffTrees { from, to, below: asked.path.into(), no_renames: false })?;
            let line = |change: nuthatch_link::TreeChange| {
                let what = word(change.kind);
                let entry = change.after.or(change.before);
                let (bytes, version) = entry.map_or((None, 0), |entry| (Some(entry.bytes), entry.sequence));
                TreeLine { name: change.path, what, bytes, version, stored: None }
            };
            page(changes.into_iter().map(line), asked, cursors, after)
        }
    }
}

fn word(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Added => "added",
        ChangeKind::Removed => "removed",
        ChangeKind::Modified => "modified",
        ChangeKind::Mode => "mode",
        ChangeKind::Renamed => "renamed",
    }
}

fn entries(
    files: &Files,
    asked: &Asked<'_>,
    cursors: &Cursors,
    after: Option<&str>,
) -> EngineResult<(Vec<TreeLine>, Option<String>)> {
    let (mut budget, mut lines) = (Budget::of(asked.max_tokens)?, Vec::new());
    let mut after = after.map(str::to_string);
    loop {
        let page = files.list(asked.as_of, asked.path, after, ENTRIES_AT_ONCE)?;
        for entry in page.entries {
            let line = TreeLine::of(entry);
            if !budget.take(&line) && !lines.is_empty() {
                let last = lines.last().map(|last: &TreeLine| cursors.at(&last.name));
                return Ok((lines, last));
            }
            lines.push(line);
        }
        after = page.cursor;
        if after.is_none() {
            return Ok((lines, None));
        }
    }
}

/// Of a list that is there as a whole; the place in it is a number.
fn page(
    all: impl Iterator<Item = TreeLine>,
    asked: &Asked<'_>,
    cursors: &Cursors,
    after: Option<&str>,
) -> EngineResult<(Vec<TreeLine>, Option<String>)> {
    let from: usize = after.map_or(Ok(0), |after| after.parse().map_err(|_| crate::tools::cursor::no_cursor(after)))?;
    let (mut budget, mut lines) = (Budget::of(asked.max_tokens)?, Vec::new());
    for line in all.skip(from) {
        if !budget.take(&line) && !lines.is_empty() {
            let next = cursors.at(from + lines.len());
            return Ok((lines, Some(next)));
        }
        lines.push(line);
    }
    Ok((lines, None))
}

fn time(ms: u64) -> Option<String> {
    format_datetime((ms as i64).saturating_mul(1000))
}

impl TreeLine {
    fn of(entry: TreeEntry) -> Self {
        let what = match entry.kind {
            EntryKind::File => "file",
            EntryKind::Folder => "folder",
            EntryKind::Link => "link",
            EntryKind::Gone => "gone",
        };
        let bytes = (entry.kind == EntryKind::File).then_some(entry.bytes);
        Self { name: entry.path, what, bytes, version: entry.sequence, stored: time(entry.recorded_ms) }
    }

    pub fn shown(&self) -> String {
        let bytes = self.bytes.map_or(String::new(), |bytes| format!("  {bytes} bytes"));
        format!("{}  {}{bytes}  version {}", self.name, self.what, self.version)
    }
}

impl ListedTree {
    pub fn shown(&self) -> String {
        format!("tree {}: {} files, {} bytes, {} snapshots", self.tree, self.files, self.bytes, self.snapshots)
    }
}
