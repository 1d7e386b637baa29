//! `export.json`: what an export holds, and the options of its collections.

use std::path::Path;

use nuthatch_segment::replace_durably;
use serde::{Deserialize, Serialize};

use crate::clock::Clock;
use crate::collection::VectorFieldOptions;
use crate::descriptor::field::{Field, FieldKind};
use crate::descriptor::meta::Counters;
use crate::embedder::EmbedderMeta;
use crate::transfer::{
    EXPORT_FORMAT_OF_FACTS, EXPORT_FORMAT_OF_FIELD_KINDS, EXPORT_FORMAT_OF_FIELDS, EXPORT_FORMAT_OF_GRAPHS,
    EXPORT_FORMAT_OF_TREES, EXPORT_FORMAT_OLDEST_READABLE, EXPORT_FORMAT_VERSION,
};
use crate::tree::{ContentId, Retention};
use crate::{Error, Result};

const FILE: &str = "export.json";
/// The format that this program writes and reads; the Python package also supports Parquet.
pub const JSONL: &str = "jsonl";

/// An export's description of itself.
#[derive(Debug, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of the layout.
    pub nuthatch_export: u32,
    /// `jsonl` or `parquet`.
    pub format: String,
    /// UTC, RFC 3339.
    pub created: String,
    /// The program that wrote it, with its version.
    pub written_by: String,
    /// Its collections.
    pub collections: Vec<CollectionEntry>,
    /// Its keyspaces.
    pub keyspaces: Vec<KeyspaceEntry>,
    /// Its graphs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub graphs: Vec<GraphEntry>,
    /// Its trees.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trees: Vec<ExportedTree>,
    /// Its facts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<FactsEntry>,
    /// The contents of the files of all trees.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contents: Option<ContentsEntry>,
}

/// A collection's options, as `Database::collection` takes them, and where its records are.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CollectionEntry {
    /// The collection's name.
    pub name: String,
    /// Relative, with `records.jsonl` and `files.jsonl` in it.
    pub folder: String,
    /// Components of an unnamed vector; `None` when it never had one.
    pub dim: Option<usize>,
    /// How unnamed vectors are compared.
    pub metric: String,
    /// Type of the unnamed vectors' components, as they are stored.
    pub elements: String,
    /// Language of the texts, or `none`.
    pub language: String,
    /// False: the caller brings every vector.
    pub embeds: bool,
    /// The embedder that made its vectors, if one did.
    pub embedder: Option<EmbedderMeta>,
    /// Records.
    pub records: u64,
    /// Unnamed ones.
    pub vectors: u64,
    /// Its named vector fields.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub vector_fields: Vec<FieldEntry>,
    /// Files that were added.
    pub files: u64,
}

/// A named vector field.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FieldEntry {
    /// The field's name.
    pub name: String,
    /// The kind of its values; absent for dense vectors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Components of a vector; 0 where they are sparse.
    pub dim: usize,
    /// How its vectors are compared.
    pub metric: String,
    /// Type of the components, as they are stored.
    pub elements: String,
    /// Records that have one.
    pub vectors: u64,
}

impl FieldEntry {
    pub(crate) fn of(field: &Field, counters: &Counters) -> Self {
        Self {
            name: field.name.clone(),
            kind: (field.kind() != FieldKind::Dense).then(|| field.kind().as_str().to_string()),
            dim: field.dim.unwrap_or(0),
            metric: field.metric.to_string(),
            elements: field.element.to_string(),
            vectors: counters.of_field(field.id),
        }
    }

    /// As `Database::collection` takes them.
    pub fn options(&self) -> Result<VectorFieldOptions> {
        Ok(VectorFieldOptions {
            kind: self.kind.as_deref().map(str::parse).transpose()?,
            dim: Some(self.dim).filter(|dim| *dim > 0),
            metric: Some(self.metric.parse()?),
            element: Some(self.elements.parse()?),
        })
    }
}

/// A keyspace's name, and where its keys are.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct KeyspaceEntry {
    /// The keyspace's name.
    pub name: String,
    /// Relative.
    pub file: String,
    /// Keys in the file.
    pub keys: u64,
}

/// A graph's name, and where its nodes and edges are.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct GraphEntry {
    /// The graph's name.
    pub name: String,
    /// Relative.
    pub file: String,
    /// Nodes that were put.
    pub nodes: u64,
    /// Edges.
    pub edges: u64,
}

/// Facts of one name, and where they are.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FactsEntry {
    /// The name of the facts.
    pub name: String,
    /// Relative.
    pub file: String,
    /// Facts in the file, believed or not.
    pub facts: u64,
    /// The hash of the file; what people write may lack it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<ContentId>,
}

/// A tree, and where its versions and snapshots are.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ExportedTree {
    /// The tree's name.
    pub name: String,
    /// Relative.
    pub file: String,
    /// When its first file came, in milliseconds since 1970.
    pub created_ms: u64,
    /// How long versions are kept.
    pub retention: Retention,
    /// Versions in the file.
    pub versions: u64,
    /// Snapshots in the file.
    pub snapshots: u64,
    /// The root of its newest state.
    pub root: ContentId,
    /// The hash of the file; what people write may lack it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<ContentId>,
}

/// Where the contents of all trees are, each once.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ContentsEntry {
    /// Relative.
    pub file: String,
    /// Chunks in the file, which contents share.
    pub chunks: u64,
    /// Contents in the file.
    pub contents: u64,
    /// The hash of the file; what people write may lack it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<ContentId>,
}

impl Manifest {
    /// Of an export that is being written now.
    pub fn new(
        collections: Vec<CollectionEntry>,
        keyspaces: Vec<KeyspaceEntry>,
        graphs: Vec<GraphEntry>,
        facts: Vec<FactsEntry>,
        (trees, contents): (Vec<ExportedTree>, Option<ContentsEntry>),
    ) -> Self {
        let fields = || collections.iter().flat_map(|entry| &entry.vector_fields);
        // An earlier program would pass them over.
        let formats = [
            (!trees.is_empty(), EXPORT_FORMAT_OF_TREES),
            (!facts.is_empty(), EXPORT_FORMAT_OF_FACTS),
            (fields().any(|field| field.kind.is_some()), EXPORT_FORMAT_OF_FIELD_KINDS),
            (!graphs.is_empty(), EXPORT_FORMAT_OF_GRAPHS),
            (fields().next().is_some(), EXPORT_FORMAT_OF_FIELDS),
        ];
        let newest = formats.into_iter().find(|(is_there, _)| *is_there).map(|(_, format)| format);
        Self {
            nuthatch_export: newest.unwrap_or(EXPORT_FORMAT_OLDEST_READABLE),
            format: JSONL.into(),
            created: Clock::system().stamp(),
            written_by: format!("nuthatch {}", env!("CARGO_PKG_VERSION")),
            collections,
            keyspaces,
            graphs,
            facts,
            trees,
            contents,
        }
    }

    /// Written last: from here on the folder is an export.
    pub fn write(&self, folder: &Path) -> Result<()> {
        let path = folder.join(FILE);
        let body = serde_json::to_vec_pretty(self).expect("strings and numbers are JSON");
        Ok(replace_durably(&path, &[&body])?)
    }

    /// Of the export in this folder.
    #[allow(clippy::disallowed_methods, reason = "people may write one")]
    pub fn read(folder: &Path) -> Result<Self> {
        let path = folder.join(FILE);
        let body = match std::fs::read(&path) {
            Ok(body) => body,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let why = format!("{} is not an export: it has no {FILE}", folder.display());
                return Err(Error::not_found(why).about_path(folder));
            }
            Err(error) => return Err(Error::io(&path, &error)),
        };
        let manifest: Self = serde_json::from_slice(&body)
            .map_err(|error| Error::invalid(format!("{} is not the manifest of an export: {error}", path.display())))?;
        if !(EXPORT_FORMAT_OLDEST_READABLE..=EXPORT_FORMAT_VERSION).contains(&manifest.nuthatch_export) {
            return Err(Error::invalid(format!(
                "{} has export format {} (written by {}), this program reads {EXPORT_FORMAT_OLDEST_READABLE} to {EXPORT_FORMAT_VERSION}; use a newer Nuthatch",
                folder.display(),
                manifest.nuthatch_export,
                manifest.written_by
            )));
        }
        if manifest.format != JSONL {
            return Err(Error::invalid(format!(
                "{} contains {}, which only the Python package reads: `python -c \"import nuthatch; \
                nuthatch.connect('FOLDER').import_from('{}')\"`",
                folder.display(),
                manifest.format,
                folder.display()
            )));
        }
        Ok(manifest)
    }
}
