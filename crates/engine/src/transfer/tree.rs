//! Trees as lines of JSON: the contents of all of them, each once, and a file of versions and snapshots for each.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use nuthatch_filter::{datetimes_of, payload_to_json, payload_with_datetimes};
use nuthatch_store::Reader;
use serde::{Deserialize, Serialize};
use serde_json::Map;

use crate::kv::{Live, Space};
use crate::transfer::Outlet;
use crate::transfer::export::Lines;
use crate::transfer::manifest::{ContentsEntry, ExportedTree};
use crate::tree::{self, ContentId, EntryKind, ExportedContent, TreeEntry, TreeSnapshot};
use crate::{Error, Result};

/// A line of the contents: a chunk that several contents may share, or a content.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContentLine {
    /// The hash of a chunk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunk: Option<ContentId>,
    /// The hash of a content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<ContentId>,
    /// Of the content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// The chunks of the content, in their order; absent where its bytes are here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunks: Option<Vec<ContentId>>,
    /// The bytes, in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
}

impl ContentLine {
    /// Its bytes.
    pub fn data(&self) -> Result<Option<Vec<u8>>> {
        let decode = |data: &String| {
            STANDARD.decode(data).map_err(|error| Error::invalid(format!("`data` is not base64: {error}")))
        };
        self.data.as_ref().map(decode).transpose()
    }
}

/// A line of a tree: a version, or a snapshot, which come behind all versions.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum TreeLine {
    /// A version.
    Version(VersionLine),
    /// A snapshot.
    Snapshot(SnapshotLine),
}

/// A version of a path.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VersionLine {
    path: String,
    kind: EntryKind,
    sequence: u64,
    recorded_ms: u64,
    #[serde(default)]
    mode: u32,
    #[serde(default)]
    modified_ns: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    content: Option<ContentId>,
    #[serde(default)]
    bytes: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    target: Option<String>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    fields: Map<String, serde_json::Value>,
    /// Paths of the fields whose texts are datetimes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    datetimes: Vec<String>,
}

/// A named snapshot, with the root that it has.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SnapshotLine {
    /// Its name.
    pub name: String,
    /// The last write that it shows.
    pub sequence: u64,
    /// When it was made, in milliseconds since 1970.
    pub created_ms: u64,
    /// The root.
    pub root: ContentId,
}

impl VersionLine {
    fn of(entry: TreeEntry) -> Self {
        let TreeEntry { path, kind, bytes, content, target, mode, modified_ns, sequence, recorded_ms, fields } = entry;
        let (datetimes, fields) = (datetimes_of(&fields), payload_to_json(&fields));
        Self { path, kind, sequence, recorded_ms, mode, modified_ns, content, bytes, target, fields, datetimes }
    }

    /// The version that it was made of.
    pub fn into_entry(self) -> Result<TreeEntry> {
        let Self { path, kind, sequence, recorded_ms, mode, modified_ns, content, bytes, target, fields, datetimes } =
            self;
        let fields = payload_with_datetimes(fields, &datetimes)?;
        Ok(TreeEntry { path, kind, bytes, content, target, mode, modified_ns, sequence, recorded_ms, fields })
    }
}

/// Writes all trees of a keyspace, as of `reader`.
pub(crate) fn export_trees(
    space: &Space,
    reader: &dyn Reader,
    outlet: &mut dyn Outlet,
) -> Result<(Vec<ExportedTree>, Option<ContentsEntry>, u64)> {
    let rows = Live { space, reader };
    let names = tree::names(&rows)?;
    if names.is_empty() {
        return Ok((Vec::new(), None, 0));
    }
    let mut written = 0;
    let contents = {
        let file = "trees/contents.jsonl".to_owned();
        let mut lines = Lines::begin(outlet, &file)?;
        let (mut chunks, mut contents) = (0, 0);
        tree::each_content(&rows, &mut |content| {
            let line = match content {
                ExportedContent::Chunk { id, bytes } => {
                    chunks += 1;
                    ContentLine { chunk: Some(id), data: Some(STANDARD.encode(bytes)), ..ContentLine::default() }
                }
                ExportedContent::Whole { id, bytes } => {
                    contents += 1;
                    let (length, data) = (Some(bytes.len() as u64), Some(STANDARD.encode(bytes)));
                    ContentLine { content: Some(id), bytes: length, data, ..ContentLine::default() }
                }
                ExportedContent::OfChunks { id, bytes, chunks } => {
                    contents += 1;
                    let (bytes, chunks) = (Some(bytes), Some(chunks));
                    ContentLine { content: Some(id), bytes, chunks, ..ContentLine::default() }
                }
            };
            lines.push(&line)?;
            lines.tell("contents of trees", chunks + contents, 0)
        })?;
        let hash = Some(lines.hash());
        written += lines.finish()?;
        ContentsEntry { file, chunks, contents, hash }
    };
    let mut trees = Vec::new();
    for (number, name) in names.into_iter().enumerate() {
        let info = tree::info(&rows, &name)?;
        let file = format!("trees/{number:03}-{name}.jsonl");
        let mut lines = Lines::begin(outlet, &file)?;
        let mut versions = 0;
        tree::each_version(&rows, &name, &mut |entry| {
            versions += 1;
            lines.push(&TreeLine::Version(VersionLine::of(entry)))?;
            lines.tell(&name, versions, info.versions)
        })?;
        let named = tree::snapshots(&rows, &name)?;
        let moments: Vec<_> = named.iter().map(|snapshot| Some(snapshot.name.clone())).chain([None]).collect();
        let mut roots = tree::roots(&rows, &name, "", &moments)?;
        let root = roots.pop().ok_or_else(|| Error::internal("a tree has no root"))?.root;
        let snapshots = named.len() as u64;
        for (TreeSnapshot { name, sequence, created_ms }, root) in named.into_iter().zip(roots) {
            lines.push(&TreeLine::Snapshot(SnapshotLine { name, sequence, created_ms, root: root.root }))?;
        }
        let hash = Some(lines.hash());
        written += lines.finish()?;
        let (created_ms, retention) = (info.created_ms, info.retention);
        trees.push(ExportedTree { name, file, created_ms, retention, versions, snapshots, root, hash });
    }
    Ok((trees, Some(contents), written))
}
