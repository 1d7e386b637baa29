//! Reading trees: as they are, or as they were at a snapshot, a sequence or a moment.

use std::ops::ControlFlow;

use jiff::Timestamp;
use nuthatch_filter::Payload;
use serde::{Deserialize, Serialize};

use crate::kv::{KeyScan, Rows};
use crate::subject::What;
use crate::tree::draft::lacking;
use crate::tree::fields::Condition;
use crate::tree::path::{check_path, check_place, check_tree};
use crate::tree::value::{Held, Named, Totals, Tree, Version, decode};
use crate::tree::{ContentId, Retention, content, history, key};
use crate::{Error, Result};

/// Rows that are read together.
const READ_AT_ONCE: usize = 2_000;
/// Most bytes of a file in one answer.
pub const READ_BYTES_MAX: usize = 8 << 20;

/// The kind of entry at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EntryKind {
    /// A file.
    File,
    /// A folder that was put for itself.
    Folder,
    /// A symbolic link.
    Link,
    /// Nothing any more; in histories alone.
    Gone,
}

/// A version of a path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TreeEntry {
    /// Relative, with `/` between its parts.
    pub path: String,
    /// The kind of the entry.
    pub kind: EntryKind,
    /// Of a file.
    pub bytes: u64,
    /// The content of a file.
    pub content: Option<ContentId>,
    /// The target of a link.
    pub target: Option<String>,
    /// Permission bits.
    pub mode: u32,
    /// When it was changed last, in nanoseconds since 1970, as its writer said.
    pub modified_ns: i64,
    /// The write that made this version.
    pub sequence: u64,
    /// When that was, in milliseconds since 1970.
    pub recorded_ms: u64,
    /// Fields that callers attach to it: tags, and others.
    #[serde(with = "crate::tree::value::fields")]
    pub fields: Payload,
}

impl TreeEntry {
    pub(crate) fn of(path: String, sequence: u64, version: Version) -> Self {
        let (bytes, content) = (version.what.bytes(), version.what.content().copied());
        let (kind, target) = match version.what {
            Held::Gone => (EntryKind::Gone, None),
            Held::File { .. } => (EntryKind::File, None),
            Held::Folder => (EntryKind::Folder, None),
            Held::Link(target) => (EntryKind::Link, Some(target)),
        };
        let Version { mode, modified_ns, recorded_ms, fields, .. } = version;
        Self { path, kind, bytes, content, target, mode, modified_ns, sequence, recorded_ms, fields }
    }
}

/// A tree, and how it stood: `None` is now; else the name of a snapshot, a sequence, or a time such as
/// `2026-11-25T10:00:00Z`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeAt {
    /// The tree.
    pub tree: String,
    /// Its moment.
    pub as_of: Option<String>,
}

/// Which versions are seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// Those of writes up to this one.
    Sequence(u64),
    /// Those that were written up to this time, in milliseconds since 1970.
    Time(u64),
}

impl Moment {
    pub fn shows(self, sequence: u64, version: &Version) -> bool {
        match self {
            Self::Sequence(last) => sequence <= last,
            Self::Time(last) => version.recorded_ms <= last,
        }
    }
}

impl TreeAt {
    /// The tree as it is.
    pub fn now(tree: impl Into<String>) -> Self {
        Self { tree: tree.into(), as_of: None }
    }

    /// The moment that is meant.
    ///
    /// # Errors
    /// `NotFound` for a tree or a snapshot that is not there.
    pub(crate) fn moment(&self, rows: &dyn Rows) -> Result<Moment> {
        find(rows, &self.tree)?;
        let Some(as_of) = self.as_of.as_deref() else { return Ok(Moment::Sequence(u64::MAX)) };
        // No snapshot has the name of a sequence or a time.
        if let Ok(sequence) = as_of.parse() {
            return Ok(Moment::Sequence(sequence));
        }
        if let Ok(time) = as_of.parse::<Timestamp>() {
            return Ok(Moment::Time(u64::try_from(time.as_millisecond()).unwrap_or(0)));
        }
        if let Some(stored) = rows.values(&[key::snapshot(&self.tree, as_of)])?.pop().flatten() {
            return Ok(Moment::Sequence(decode::<Named>(&stored)?.sequence));
        }
        let names: Vec<String> = history::snapshots(rows, &self.tree)?.into_iter().map(|(name, _)| name).collect();
        Err(Error::not_among(What::TreeSnapshot, as_of, &names))
    }
}

/// A page of the files, folders and links of a tree, by path in the order of their bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListFiles {
    /// Which tree, and how it stood.
    pub at: TreeAt,
    /// The path at or below which it lists; empty for all.
    pub below: String,
    /// The last path of the page before.
    pub after: Option<String>,
    /// Entries of one page, 1 to 10,000.
    pub limit: usize,
    /// Only what passes this condition on its fields: `tags contains 'draft' and bytes > 1000`.
    pub filter: Option<String>,
}

impl ListFiles {
    /// All of a tree.
    pub fn of(at: TreeAt) -> Self {
        Self { at, below: String::new(), after: None, limit: 1_000, filter: None }
    }
}

/// A page of entries.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TreePage {
    /// In the order of the bytes of their paths.
    pub entries: Vec<TreeEntry>,
    /// The path to go on after; `None` at the end.
    pub cursor: Option<String>,
}

/// One page.
pub(crate) fn list(rows: &dyn Rows, ask: &ListFiles) -> Result<TreePage> {
    check_limit(ask.limit)?;
    check_place(&ask.below)?;
    let condition = Condition::of(ask.filter.as_deref())?;
    let moment = ask.at.moment(rows)?;
    if let (Some(condition), None) = (&condition, &ask.after) {
        condition.check_known(rows, &ask.at.tree, moment, "")?;
    }
    let mut page = TreePage::default();
    visit_versions(rows, &ask.at.tree, moment, &ask.below, ask.after.as_deref(), &mut |path, sequence, version| {
        if condition.as_ref().is_some_and(|condition| !condition.passes(path, sequence, &version)) {
            return Ok(true);
        }
        if page.entries.len() == ask.limit {
            page.cursor = page.entries.last().map(|last: &TreeEntry| last.path.clone());
            return Ok(false);
        }
        page.entries.push(TreeEntry::of(path.to_owned(), sequence, version));
        Ok(true)
    })?;
    Ok(page)
}

/// Visits what stood at or below a path, behind `after`, by path, until the visit says `false`.
pub(crate) fn visit(
    rows: &dyn Rows,
    tree: &str,
    moment: Moment,
    below: &str,
    after: Option<&str>,
    visit: &mut dyn FnMut(TreeEntry) -> Result<bool>,
) -> Result<()> {
    visit_versions(rows, tree, moment, below, after, &mut |path, sequence, version| {
        visit(TreeEntry::of(path.to_string(), sequence, version))
    })
}

/// The same, with versions as they are stored.
pub(crate) fn visit_versions(
    rows: &dyn Rows,
    tree: &str,
    moment: Moment,
    below: &str,
    after: Option<&str>,
    visit: &mut dyn FnMut(&str, u64, Version) -> Result<bool>,
) -> Result<()> {
    if below.is_empty() {
        return visit_prefix(rows, tree, moment, "", after, visit);
    }
    if after.is_none_or(|after| after < below)
        && let Some((sequence, version)) = version_at(rows, tree, moment, below)?
        && !visit(below, sequence, version)?
    {
        return Ok(());
    }
    visit_prefix(rows, tree, moment, &format!("{below}/"), after, visit)
}

fn visit_prefix(
    rows: &dyn Rows,
    tree: &str,
    moment: Moment,
    prefix: &str,
    after: Option<&str>,
    visit: &mut dyn FnMut(&str, u64, Version) -> Result<bool>,
) -> Result<()> {
    let mut scan = KeyScan { limit: READ_AT_ONCE, ..KeyScan::prefix(key::versions_below(tree, prefix)) };
    if let Some(after) = after {
        // Behind its oldest version.
        scan.from = std::ops::Bound::Excluded(key::version(tree, after, 0));
    }
    let mut done: Option<String> = None;
    rows.each(scan, &mut |row, stored| {
        let (_, path, sequence) = key::version_of(row).ok_or_else(lacking)?;
        if done.as_deref() == Some(path) {
            return Ok(ControlFlow::Continue(()));
        }
        let version: Version = decode(stored)?;
        if !moment.shows(sequence, &version) {
            return Ok(ControlFlow::Continue(()));
        }
        done = Some(path.to_string());
        Ok(match version.what != Held::Gone && !visit(path, sequence, version)? {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        })
    })
}

/// Returns the entry that was at a path.
pub(crate) fn entry_at(rows: &dyn Rows, tree: &str, moment: Moment, path: &str) -> Result<Option<TreeEntry>> {
    let there = version_at(rows, tree, moment, path)?;
    Ok(there.map(|(sequence, version)| TreeEntry::of(path.into(), sequence, version)))
}

pub(crate) fn version_at(rows: &dyn Rows, tree: &str, moment: Moment, path: &str) -> Result<Option<(u64, Version)>> {
    let versions = history::versions(rows, tree, path)?;
    let seen = versions.into_iter().find(|(sequence, version)| moment.shows(*sequence, version));
    Ok(seen.filter(|(_, version)| version.what != Held::Gone))
}

/// The sequence of the last write to any tree.
pub(crate) fn newest(rows: &dyn Rows) -> Result<u64> {
    let stored = rows.values(&[key::SIGNATURE.to_vec()])?.pop().flatten();
    stored.map_or(Ok(0), |stored| decode(&stored))
}

/// Returns the entry that was at a path; `None` if there was none.
pub(crate) fn entry(rows: &dyn Rows, at: &TreeAt, path: &str) -> Result<Option<TreeEntry>> {
    check_path(path)?;
    entry_at(rows, &at.tree, at.moment(rows)?, path)
}

/// All versions of a path that are kept, the newest first.
pub(crate) fn versions(rows: &dyn Rows, tree: &str, path: &str) -> Result<Vec<TreeEntry>> {
    check_path(path)?;
    find(rows, tree)?;
    let versions = history::versions(rows, tree, path)?.into_iter();
    Ok(versions.map(|(sequence, version)| TreeEntry::of(path.into(), sequence, version)).collect())
}

/// Bytes of a file, and how it stood.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FilePart {
    /// The version that was read.
    pub entry: TreeEntry,
    /// Of its bytes those that were asked for, at most 8 MiB.
    #[serde(with = "crate::codec::bytes")]
    pub bytes: Vec<u8>,
}

/// Up to `limit` bytes of a file from `offset` on; `None` when no file stood there.
pub(crate) fn part(rows: &dyn Rows, at: &TreeAt, path: &str, offset: u64, limit: usize) -> Result<Option<FilePart>> {
    let Some(entry) = entry(rows, at, path)? else { return Ok(None) };
    let Some(id) = entry.content else {
        let what = if entry.kind == EntryKind::Link { "a link" } else { "a folder" };
        return Err(Error::invalid(format!("{path:?} is {what}, and only files have bytes")));
    };
    let bytes = content::read(rows, &id, offset, limit.min(READ_BYTES_MAX))?.ok_or_else(lacking)?;
    Ok(Some(FilePart { entry, bytes }))
}

/// A tree, and what it holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeInfo {
    /// Its name.
    pub name: String,
    /// When its first file came, in milliseconds since 1970.
    pub created_ms: u64,
    /// How long versions are kept.
    pub retention: Retention,
    /// Files of now.
    pub files: u64,
    /// Of these, as they were given.
    pub bytes: u64,
    /// Versions of all paths, those that tell of a removal included.
    pub versions: u64,
    /// Named snapshots.
    pub snapshots: u64,
    /// The totals of all trees of the tenant.
    pub together: Totals,
}

/// Describes the contents of a tree.
pub(crate) fn info(rows: &dyn Rows, name: &str) -> Result<TreeInfo> {
    let tree = find(rows, name)?;
    let totals = rows.values(&[key::totals()])?.pop().flatten();
    Ok(TreeInfo {
        name: name.into(),
        created_ms: tree.created_ms,
        retention: tree.retention,
        files: tree.files,
        bytes: tree.bytes,
        versions: tree.versions,
        snapshots: history::snapshots(rows, name)?.len() as u64,
        together: totals.map_or(Ok(Totals::default()), |stored| decode(&stored))?,
    })
}

/// The names of all trees.
pub(crate) fn names(rows: &dyn Rows) -> Result<Vec<String>> {
    let mut names = Vec::new();
    rows.each(KeyScan { keys_only: true, ..KeyScan::prefix(key::trees()) }, &mut |row, _| {
        names.extend(key::tree_of(row));
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(names)
}

/// A tree that must be there.
///
/// # Errors
/// `NotFound` when it is not.
pub(crate) fn find(rows: &dyn Rows, name: &str) -> Result<Tree> {
    check_tree(name)?;
    match rows.values(&[key::tree(name)])?.pop().flatten() {
        Some(stored) => decode(&stored),
        None => Err(Error::not_among(What::Tree, name, &names(rows)?)),
    }
}

/// A named snapshot of a tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeSnapshot {
    /// Unlike that of every other snapshot of the tree.
    pub name: String,
    /// The last write that it shows.
    pub sequence: u64,
    /// When it was made, in milliseconds since 1970.
    pub created_ms: u64,
}

/// A tree's named snapshots, the oldest first.
pub(crate) fn snapshots(rows: &dyn Rows, tree: &str) -> Result<Vec<TreeSnapshot>> {
    find(rows, tree)?;
    let named = history::snapshots(rows, tree)?.into_iter();
    let mut found: Vec<TreeSnapshot> = named
        .map(|(name, named)| TreeSnapshot { name, sequence: named.sequence, created_ms: named.created_ms })
        .collect();
    found.sort_by_key(|snapshot| snapshot.sequence);
    Ok(found)
}

fn check_limit(limit: usize) -> Result<()> {
    match limit {
        1..=10_000 => Ok(()),
        limit => Err(Error::invalid(format!("a page cannot have {limit} entries; ask for 1 to 10,000"))),
    }
}
