//! Reading what is exported, wherever it goes.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use nuthatch_store::{Reader, Shard, Table};
use roaring::RoaringTreemap;
use serde::{Deserialize, Serialize};

use crate::collection::pending::todo_rows;
use crate::collection::{Core, row_of};
use crate::database::Database;
use crate::descriptor::field::Fields;
use crate::descriptor::meta::{self, COUNTERS, Counters, Meta, meta_key};
use crate::files::FileEntry;
use crate::kv::{Kind, Listed};
use crate::record::Row;
use crate::transfer::facts::export_facts;
use crate::transfer::graph::export_graph;
use crate::transfer::key::{FileLine, KeyLine};
use crate::transfer::manifest::{CollectionEntry, FieldEntry, KeyspaceEntry, Manifest};
use crate::transfer::record::Line;
use crate::transfer::tree::export_trees;
use crate::transfer::{OnProgress, TransferProgress};
use crate::tree::ContentId;
use crate::{Error, Result};

/// Rows whose vectors are read together, and bytes of them after which they are, however few.
const READ_ROWS: usize = 256;
const READ_BYTES: usize = 4 << 20;

/// The options of an export.
#[derive(Default)]
pub struct ExportOptions<'a> {
    /// Only this collection, and no keyspace or graph.
    pub collection: Option<String>,
    /// Told how far it is.
    pub on_progress: OnProgress<'a>,
    /// Set to end it; what was written stays, and is no export.
    pub cancel: Option<&'a AtomicBool>,
}

/// The counts of an export.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ExportReport {
    /// The export's folder.
    pub folder: PathBuf,
    /// Collections that were written.
    pub collections: u64,
    /// Keyspaces that were written.
    pub keyspaces: u64,
    /// Graphs that were written.
    pub graphs: u64,
    /// Records of all collections.
    pub records: u64,
    /// Files of all collections, whose passages are among the records.
    pub files: u64,
    /// Keys of all keyspaces.
    pub keys: u64,
    /// Nodes of all graphs.
    pub nodes: u64,
    /// Edges of all graphs.
    pub edges: u64,
    /// Facts of how many names were written.
    pub fact_sets: u64,
    /// Facts of all names, believed or not.
    pub facts: u64,
    /// Trees that were written.
    pub trees: u64,
    /// Versions of all trees.
    pub versions: u64,
    /// Bytes that were written.
    pub bytes: u64,
    /// From the call to its end.
    pub elapsed: Duration,
}

/// Where an export goes.
pub trait Outlet {
    /// Begins a file, named relative to the export.
    fn begin(&mut self, file: &str) -> Result<()>;

    /// A line of the file, its end included.
    fn line(&mut self, line: &[u8]) -> Result<()>;

    /// The file is whole.
    fn end(&mut self) -> Result<()>;

    /// How far it is. An error ends the export.
    fn tell(&mut self, progress: TransferProgress) -> Result<()>;
}

impl Database {
    /// Gives all data of this handle's tenant, as of one moment, to `outlet` as JSON lines, and reports what it
    /// exported. Reads and writes go on during the export. Memory: a few MiB, however much there is to export.
    pub fn export_to(&self, collection: Option<&str>, outlet: &mut dyn Outlet) -> Result<(ExportReport, Manifest)> {
        let (shared, registry) = (&self.inner.shared, &self.inner.registry);
        self.check_open()?;
        let tenant = &self.tenant;
        let names = match collection {
            Some(name) => vec![self.existing_collection(name)?.name().to_string()],
            None => self.listed_collections()?,
        };
        let cores = names.iter().map(|name| Ok(self.existing_collection(name)?.core)).collect::<Result<Vec<_>>>()?;
        let spaces = match collection {
            Some(_) => Vec::new(),
            None => registry.keyspaces(tenant.number)?,
        };
        let store = shared.store()?;
        let snapshot = store.snapshot();
        let now_ms = shared.options.clock.now_ms();
        let mut report = ExportReport::default();
        let (mut collections, mut keyspaces, mut graphs) = (Vec::new(), Vec::new(), Vec::new());
        let (mut facts, mut trees, mut contents) = (Vec::new(), Vec::new(), None);
        for core in &cores {
            let Some(meta) = meta::read::<Meta>(&*snapshot, &meta_key(tenant.number, &core.name))? else { continue }; // dropped before the moment
            let exporting = Exporting { core, reader: &*snapshot, outlet: &mut *outlet, report: &mut report };
            collections.push(exporting.collection(meta)?);
        }
        for Listed { name, shard, kind } in spaces {
            let space = registry.space(tenant, &name, kind, false)?;
            if kind == Kind::Cache {
                continue; // answers can be made again
            }
            if kind == Kind::Facts {
                let named = cores.iter().map(|core| (core.shard.collection, core.name.clone())).collect();
                facts.push(export_facts(&space, &*snapshot, &named, outlet, &mut report)?);
                continue;
            }
            if kind == Kind::Trees {
                let (exported, of, bytes) = export_trees(&space, &*snapshot, outlet)?;
                report.trees += exported.len() as u64;
                report.versions += exported.iter().map(|tree| tree.versions).sum::<u64>();
                report.bytes += bytes;
                (trees, contents) = (exported, of);
                continue;
            }
            if kind == Kind::Graph {
                graphs.push(export_graph(&space, &*snapshot, outlet, &mut report)?);
                continue;
            }
            let file = format!("keyspaces/{:03}-{name}.jsonl", keyspaces.len());
            let mut lines = Lines::begin(outlet, &file)?;
            let mut keys = 0;
            let mut failed = Ok(());
            snapshot.scan_once(Table::Kv, &shard.prefix(), &shard.end(), &mut |key, stored| {
                failed = space.exported(&*snapshot, stored, now_ms).and_then(|exported| {
                    let Some((value, expires_at_ms)) = exported else { return Ok(()) };
                    keys += 1;
                    lines.push(&KeyLine::of(Shard::suffix(key).to_vec(), value, expires_at_ms))?;
                    lines.tell(&name, keys, 0)
                });
                if failed.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            })?;
            failed?;
            report.bytes += lines.finish()?;
            report.keys += keys;
            keyspaces.push(KeyspaceEntry { name, file, keys });
        }
        (report.collections, report.keyspaces) = (collections.len() as u64, keyspaces.len() as u64);
        Ok((report, Manifest::new(collections, keyspaces, graphs, facts, (trees, contents))))
    }
}

/// One collection on its way out.
struct Exporting<'e> {
    core: &'e Core,
    reader: &'e dyn Reader,
    outlet: &'e mut dyn Outlet,
    report: &'e mut ExportReport,
}

impl Exporting<'_> {
    fn collection(self, meta: Meta) -> Result<CollectionEntry> {
        let shard = self.core.shard;
        let counters: Counters = meta::read(self.reader, &shard.key(COUNTERS))?.unwrap_or_default();
        // A name alone could be `..`.
        let inside = format!("collections/{:03}-{}", self.report.collections, meta.name);
        self.report.collections += 1;
        let mut lines = Lines::begin(&mut *self.outlet, &format!("{inside}/records.jsonl"))?;
        let (mut rows, mut bytes) = (Vec::new(), 0);
        let (mut records, mut failed) = (0, Ok(()));
        let (fields, reader) = (Fields::of(&meta)?, self.reader);
        let todo = todo_rows(reader, shard)?;
        let mut write = |rows: &mut Vec<(u64, Row)>| -> Result<()> {
            records += rows.len() as u64;
            write_rows((shard, &fields, &todo), reader, &mut lines, std::mem::take(rows))?;
            lines.tell(&meta.name, records, counters.rows)
        };
        reader.scan_once(Table::Records, &shard.prefix(), &shard.end(), &mut |key, stored| {
            bytes += stored.len();
            let read = Row::decode(stored).and_then(|row| {
                rows.push((row_of(key), row));
                if rows.len() == READ_ROWS || bytes > READ_BYTES {
                    bytes = 0;
                    write(&mut rows)?;
                }
                Ok(())
            });
            failed = read;
            if failed.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        failed?;
        write(&mut rows)?;
        self.report.bytes += lines.finish()?;
        self.report.records += records;
        let files = self.files(&format!("{inside}/files.jsonl"))?;
        Ok(CollectionEntry {
            name: meta.name,
            folder: inside,
            dim: meta.dim,
            metric: meta.metric,
            elements: meta.element,
            language: meta.language,
            embeds: meta.embeds,
            embedder: meta.embedder,
            records,
            vectors: counters.vectors,
            vector_fields: fields.iter_named().map(|field| FieldEntry::of(field, &counters)).collect(),
            files,
        })
    }

    fn files(self, file: &str) -> Result<u64> {
        let shard = self.core.shard;
        let mut lines = Lines::begin(self.outlet, file)?;
        let (mut files, mut failed) = (0, Ok(()));
        self.reader.scan_once(Table::Files, &shard.prefix(), &shard.end(), &mut |key, stored| {
            let name = String::from_utf8_lossy(Shard::suffix(key)).into_owned();
            failed = FileEntry::decode(stored).and_then(|entry| lines.push(&FileLine::of(name, entry)));
            files += 1;
            if failed.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        failed?;
        self.report.bytes += lines.finish()?;
        self.report.files += files;
        Ok(files)
    }
}

fn write_rows(
    (shard, fields, todo): (Shard, &Fields, &RoaringTreemap),
    reader: &dyn Reader,
    lines: &mut Lines<'_>,
    rows: Vec<(u64, Row)>,
) -> Result<()> {
    let row_ids: Vec<u64> = rows.iter().map(|(row, _)| *row).collect();
    let vectors = fields.vectors_of(reader, shard, &row_ids)?;
    for ((number, row), vectors) in rows.iter().zip(vectors) {
        lines.push(&Line { pending: todo.contains(*number), ..Line::of(row, fields.split(vectors))? })?;
    }
    Ok(())
}

/// A file of lines on its way out.
pub struct Lines<'o> {
    outlet: &'o mut dyn Outlet,
    bytes: u64,
    hasher: blake3::Hasher,
}

impl<'o> Lines<'o> {
    pub fn begin(outlet: &'o mut dyn Outlet, file: &str) -> Result<Self> {
        outlet.begin(file)?;
        Ok(Self { outlet, bytes: 0, hasher: blake3::Hasher::new() })
    }

    pub fn push(&mut self, line: &impl serde::Serialize) -> Result<()> {
        let mut bytes =
            serde_json::to_vec(line).map_err(|error| Error::internal(format!("a line of JSON: {error}")))?;
        bytes.push(b'\n');
        self.bytes += bytes.len() as u64;
        self.hasher.update(&bytes);
        self.outlet.line(&bytes)
    }

    pub fn tell(&mut self, name: &str, done: u64, total: u64) -> Result<()> {
        self.outlet.tell(TransferProgress { name: name.to_string(), done, total })
    }

    /// The hash of what it has so far.
    pub fn hash(&self) -> ContentId {
        ContentId(*self.hasher.finalize().as_bytes())
    }

    /// Its bytes.
    pub fn finish(self) -> Result<u64> {
        self.outlet.end()?;
        Ok(self.bytes)
    }
}
