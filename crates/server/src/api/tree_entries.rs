//! The state of trees and the reports of writes to them, as JSON.

use nuthatch_link::{
    ChangeKind, EntryKind, PutReport, Retention as EngineRetention, Totals as EngineTotals, TreeChange, TreeEntry,
    TreeInfo, TreeRoot, TreeSnapshot, VerifyPage, payload_to_json,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// A tree, and what it holds.
#[derive(Serialize, ToSchema)]
#[schema(as = TreeInfo)]
pub struct Info {
    name: String,
    /// When its first file came, in milliseconds since 1970.
    created_ms: u64,
    retention: Retention,
    /// Files as it is now, folders and links not counted.
    files: u64,
    /// Of these, as they were put.
    bytes: u64,
    /// Versions of all paths, those included that say that a path is gone.
    versions: u64,
    /// Named snapshots.
    snapshots: u64,
    together: Totals,
}

/// The totals of all trees together: a content that several files or versions have is stored once.
#[derive(Serialize, ToSchema)]
#[schema(as = TreeTotals)]
pub struct Totals {
    /// Different contents.
    contents: u64,
    /// Of these, as they were put.
    content_bytes: u64,
    /// Different chunks.
    chunks: u64,
    /// Of these, before they are compressed.
    chunk_bytes: u64,
}

/// How long versions are kept that are no longer current and that no named snapshot shows. A version goes when both allow it.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = TreeRetention)]
pub struct Retention {
    /// Versions of a path, the current one included; null keeps all.
    #[schema(minimum = 1)]
    pub versions: Option<u32>,
    /// Versions that were current within this many seconds; null keeps all.
    pub seconds: Option<u64>,
}

/// The kind of the entry at a path.
#[derive(Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = TreeEntryKind)]
pub enum Kind {
    File,
    /// A folder that was put for itself.
    Folder,
    /// A symbolic link.
    Link,
    /// Nothing any more; in versions alone.
    Gone,
}

/// A version of a path.
#[derive(Serialize, ToSchema)]
#[schema(as = TreeEntry)]
pub struct Entry {
    /// Relative, with `/` between its parts.
    path: String,
    kind: Kind,
    /// Of a file.
    bytes: u64,
    /// The BLAKE3 hash of a file's bytes, 64 hexadecimal digits.
    content: Option<String>,
    /// The target of a link.
    target: Option<String>,
    /// Permission bits.
    mode: u32,
    /// When it was changed last, in nanoseconds since 1970, as its writer said.
    modified_ns: i64,
    /// The write that made this version. It works as `as_of`.
    sequence: u64,
    /// When that was, in milliseconds since 1970.
    recorded_ms: u64,
    /// Tags, and whatever else callers said of it.
    fields: Map<String, Value>,
}

/// The report of a write.
#[derive(Serialize, ToSchema)]
#[schema(as = TreePutReport)]
pub struct Report {
    /// The sequence of the newest write to any tree. It works as `as_of`.
    sequence: u64,
    /// Paths that were not there.
    added: u64,
    /// Paths that were there with something else.
    changed: u64,
    /// Paths that were there in the same way; nothing is written for them.
    unchanged: u64,
    /// Paths that are gone now.
    gone: u64,
}

/// How a path differs.
#[derive(Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = TreeChangeKind)]
pub enum Difference {
    /// Only the later state has it.
    Added,
    /// Only the earlier state has it.
    Removed,
    /// Its bytes, target or kind differ.
    Modified,
    /// Only its mode differs.
    Mode,
    /// The later state has the same content at another path.
    Renamed,
}

#[derive(Serialize, ToSchema)]
#[schema(as = TreeChange)]
pub struct Change {
    kind: Difference,
    /// In the later state where that has it.
    path: String,
    /// Null for what was added.
    before: Option<Entry>,
    /// Null for what was removed.
    after: Option<Entry>,
}

/// A named snapshot of a tree.
#[derive(Serialize, ToSchema)]
#[schema(as = TreeSnapshot)]
pub struct Snapshot {
    name: String,
    /// The last write that it shows.
    sequence: u64,
    /// When it was made, in milliseconds since 1970.
    created_ms: u64,
}

/// The root of a tree, or of a folder in it, and what it is over.
#[derive(Serialize, ToSchema)]
#[schema(as = TreeRoot)]
pub struct Root {
    /// A BLAKE3 hash, 64 hexadecimal digits.
    root: String,
    files: u64,
    /// Folders that were put for themselves.
    folders: u64,
    /// Symbolic links.
    links: u64,
    /// Of the files, as they were put.
    bytes: u64,
}

/// The findings of a check that reads the files of a tree.
#[derive(Serialize, ToSchema)]
#[schema(as = TreeVerified)]
pub struct Verified {
    /// On the first page; null also when the list of the files is damaged.
    root: Option<Root>,
    /// The moment that was read. Give it to the pages that follow.
    as_of: String,
    /// Files that were read.
    files: u64,
    /// Of these, as they were put.
    bytes: u64,
    damaged: Vec<Damaged>,
    /// The path to go on after; null at the end.
    cursor: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = DamagedTreeFile)]
struct Damaged {
    /// Empty where the list of the files cannot be read to its end.
    path: String,
    why: String,
}

impl From<TreeRoot> for Root {
    fn from(TreeRoot { root, files, folders, links, bytes }: TreeRoot) -> Self {
        Self { root: root.to_string(), files, folders, links, bytes }
    }
}

impl From<VerifyPage> for Verified {
    fn from(VerifyPage { root, as_of, files, bytes, damaged, cursor }: VerifyPage) -> Self {
        let damaged = damaged.into_iter().map(|file| Damaged { path: file.path, why: file.why });
        Self { root: root.map(Into::into), as_of, files, bytes, damaged: damaged.collect(), cursor }
    }
}

impl From<TreeInfo> for Info {
    fn from(info: TreeInfo) -> Self {
        let TreeInfo { name, created_ms, retention, files, bytes, versions, snapshots, together } = info;
        let EngineTotals { contents, content_bytes, chunks, chunk_bytes } = together;
        let EngineRetention { versions: kept, seconds } = retention;
        let (retention, together) =
            (Retention { versions: kept, seconds }, Totals { contents, content_bytes, chunks, chunk_bytes });
        Self { name, created_ms, retention, files, bytes, versions, snapshots, together }
    }
}

impl From<TreeEntry> for Entry {
    fn from(entry: TreeEntry) -> Self {
        let TreeEntry { path, kind, bytes, content, target, mode, modified_ns, sequence, recorded_ms, fields } = entry;
        let kind = match kind {
            EntryKind::File => Kind::File,
            EntryKind::Folder => Kind::Folder,
            EntryKind::Link => Kind::Link,
            EntryKind::Gone => Kind::Gone,
        };
        let content = content.map(|content| content.to_string());
        let fields = payload_to_json(&fields);
        Self { path, kind, bytes, content, target, mode, modified_ns, sequence, recorded_ms, fields }
    }
}

impl From<TreeChange> for Change {
    fn from(TreeChange { kind, path, before, after }: TreeChange) -> Self {
        let kind = match kind {
            ChangeKind::Added => Difference::Added,
            ChangeKind::Removed => Difference::Removed,
            ChangeKind::Modified => Difference::Modified,
            ChangeKind::Mode => Difference::Mode,
            ChangeKind::Renamed => Difference::Renamed,
        };
        Self { kind, path, before: before.map(Into::into), after: after.map(Into::into) }
    }
}

impl From<TreeSnapshot> for Snapshot {
    fn from(TreeSnapshot { name, sequence, created_ms }: TreeSnapshot) -> Self {
        Self { name, sequence, created_ms }
    }
}

impl From<PutReport> for Report {
    fn from(PutReport { sequence, added, changed, unchanged, gone }: PutReport) -> Self {
        Self { sequence, added, changed, unchanged, gone }
    }
}
