//! Reading an export.

mod facts;
mod trees;

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use nuthatch_engine::collection::{CollectionOptions, WriteSet};
use nuthatch_engine::durability::Durability;
use nuthatch_engine::graph::{Line as GraphLine, NodeOrEdge};
use nuthatch_engine::kv::KvOp;
use nuthatch_engine::transfer::key::{FileLine, KeyLine};
use nuthatch_engine::transfer::manifest::{CollectionEntry, GraphEntry, KeyspaceEntry, Manifest};
use nuthatch_engine::transfer::record::Line;
use nuthatch_engine::transfer::{OnProgress, TransferProgress, bad_line, inside, refuse_when_cancelled};
use nuthatch_engine::{Error, Result, What, wording};

use crate::{Collection, Database};

/// Lines of one batch, and bytes of them after which it ends, however few.
const BATCH_LINES: usize = 1000;
const BATCH_BYTES: usize = 8 << 20;

/// The scope and options of an import.
#[derive(Default)]
pub struct ImportOptions<'a> {
    /// Only this collection, and no keyspace, graph, tree or fact.
    pub collection: Option<String>,
    /// Import into existing collections, keyspaces and graphs: an equal id or key is replaced. Without it they are
    /// refused. A tree that exists is refused, unless it is what the export has, and so are facts, unless all of them that have
    /// the same numbers are those of the export.
    pub merge: bool,
    /// Gets the progress.
    pub on_progress: OnProgress<'a>,
    /// Set to end it after a batch; what was imported stays.
    pub cancel: Option<&'a AtomicBool>,
}

/// The result of an import.
#[derive(Clone, Debug, Default)]
pub struct ImportReport {
    /// Names of the collections.
    pub collections: Vec<String>,
    /// Names of the keyspaces.
    pub keyspaces: Vec<String>,
    /// Names of the graphs.
    pub graphs: Vec<String>,
    /// Names of the facts.
    pub fact_sets: Vec<String>,
    /// Names of the trees.
    pub trees: Vec<String>,
    /// Records of all collections.
    pub records: u64,
    /// Files of all collections.
    pub files: u64,
    /// Keys of all keyspaces.
    pub keys: u64,
    /// Nodes of all graphs.
    pub nodes: u64,
    /// Edges of all graphs.
    pub edges: u64,
    /// Facts of all names, believed or not.
    pub facts: u64,
    /// From the call to its end.
    pub elapsed: Duration,
}

impl Database {
    /// Reads what an export wrote. See [`ImportOptions`]. This process reads the files, even if another one holds the
    /// data folder.
    ///
    /// # Errors
    /// `Invalid` when a tree exists already, or (unless `merge`) a collection, keyspace or graph, or a line is not in the
    /// export's format: the error names its file and number, and earlier lines stay. Trees are looked at before anything is
    /// written, and are there as a whole or not at all. `Unavailable` when it was cancelled.
    pub fn import(&self, folder: impl AsRef<Path>, options: ImportOptions<'_>) -> Result<ImportReport> {
        import(self, folder.as_ref(), options)
    }
}

/// Reads an export of JSON lines. Vectors are taken as they are; nothing is embedded. It may be ended and run again with `merge`; each batch
/// is one call.
fn import(db: &Database, folder: &Path, mut options: ImportOptions<'_>) -> Result<ImportReport> {
    let started = Instant::now();
    let known = db.collection_names()?;
    let spaces = [db.keyspace_names()?, db.graph_names()?, db.facts_names()?].concat();
    let mut manifest = Manifest::read(folder)?;
    if let Some(only) = &options.collection {
        let names: Vec<String> = manifest.collections.iter().map(|entry| entry.name.clone()).collect();
        manifest.collections.retain(|entry| entry.name == *only);
        manifest.keyspaces.clear();
        manifest.graphs.clear();
        manifest.facts.clear();
        manifest.trees.clear();
        manifest.contents = None;
        if manifest.collections.is_empty() {
            let why = format!("it has no collection {only:?}; it has: {}", names.join(", "));
            return Err(Error::not_found(why).about(What::Collection, only));
        }
    }
    let there = manifest.collections.iter().map(|entry| &entry.name).filter(|name| known.contains(name));
    let named = manifest.keyspaces.iter().map(|entry| &entry.name);
    let named = named.chain(manifest.graphs.iter().map(|entry| &entry.name));
    let named = named.chain(manifest.facts.iter().map(|entry| &entry.name));
    let mut there = there.chain(named.filter(|name| spaces.contains(name)));
    if let (Some(name), false) = (there.next(), options.merge) {
        return Err(Error::invalid(format!(
            "{name:?} already exists; import into another data folder, drop it first, or merge (which replaces records \
            of the same id)"
        )));
    }
    let mut report = ImportReport::default();
    // First, because they come as a whole or not at all.
    let found = trees::look(db, folder, &manifest, &mut options)?;
    for entry in &manifest.facts {
        facts::look(&inside(folder, &entry.file)?, entry)?;
    }
    report.trees = found.import(db, &mut options)?;
    for entry in &manifest.collections {
        let collection = collection_for(db, entry)?;
        let place = inside(folder, &entry.folder)?;
        report.records += import_records(&collection, &place.join("records.jsonl"), entry, &mut options)?;
        report.files += import_files(&collection, &place.join("files.jsonl"))?;
        report.collections.push(entry.name.clone());
    }
    for entry in &manifest.keyspaces {
        report.keys += import_keys(db, &inside(folder, &entry.file)?, entry, &mut options)?;
        report.keyspaces.push(entry.name.clone());
    }
    for entry in &manifest.graphs {
        import_graph(db, &inside(folder, &entry.file)?, entry, &mut options, &mut report)?;
        report.graphs.push(entry.name.clone());
    }
    // After the records that they stand on.
    for entry in &manifest.facts {
        report.facts += facts::import(db, &inside(folder, &entry.file)?, entry, &mut options)?;
        report.fact_sets.push(entry.name.clone());
    }
    db.sync()?;
    report.elapsed = started.elapsed();
    Ok(report)
}

/// The collection of an entry, made with exactly its options when there is none.
fn collection_for(db: &Database, entry: &CollectionEntry) -> Result<Collection> {
    db.make_collection(entry)?;
    let options = CollectionOptions {
        dim: entry.dim,
        metric: Some(entry.metric.parse()?),
        element: Some(entry.elements.parse()?),
        language: Some(entry.language.clone()),
        vectors: entry.fields()?,
        ..CollectionOptions::default()
    };
    Ok(db.collection(&entry.name, options)?.with_durability(Durability::Os))
}

fn import_keys(db: &Database, path: &Path, entry: &KeyspaceEntry, options: &mut ImportOptions<'_>) -> Result<u64> {
    let space = db.kv(&entry.name)?.with_durability(Durability::Os);
    let mut done = 0;
    batches(path, &mut |lines| {
        // Of this batch: with that of the beginning, keys would expire later by as long as the import has taken.
        let now_ms = db.now_ms()?;
        let mut ops = Vec::with_capacity(lines.len());
        for (number, line) in lines {
            let wrong = |error: &dyn std::fmt::Display| bad_line(path, *number, error);
            let line: KeyLine = wording::from_json(line.as_bytes()).map_err(|why| wrong(&why))?;
            let expires_in = match line.expires_at_ms {
                None => None,
                // Expired since the export.
                Some(at) if at <= now_ms => continue,
                Some(at) => Some(Duration::from_millis(at - now_ms)),
            };
            let (key, value) = line.into_parts().map_err(|error| wrong(&error))?;
            ops.push(KvOp::Put { key, value, expires_in });
        }
        done += ops.len() as u64;
        if !ops.is_empty() {
            space.multi_put(ops)?;
        }
        tell(options, &entry.name, done, entry.keys)
    })?;
    Ok(done)
}

fn import_records(
    collection: &Collection,
    path: &Path,
    entry: &CollectionEntry,
    options: &mut ImportOptions<'_>,
) -> Result<u64> {
    let mut done = 0;
    batches(path, &mut |lines| {
        let (mut upserts, mut later) = (Vec::with_capacity(lines.len()), HashSet::new());
        for (number, line) in lines {
            let line: Line<'_> = wording::from(&mut serde_json::Deserializer::from_str(line))
                .map_err(|why| bad_line(path, *number, why))?;
            if line.pending {
                later.insert(line.id.to_string());
            }
            upserts.push(line.into_record().map_err(|error| bad_line(path, *number, error))?);
        }
        done += upserts.len() as u64;
        let set = WriteSet { upserts, as_given: true, later, ..WriteSet::default() };
        let first = lines.first().map_or(0, |(number, _)| *number);
        collection.apply(set).map_err(|error| {
            Error::new(error.kind, format!("{}, lines from {first} on: {}", path.display(), error.message))
        })?;
        tell(options, &entry.name, done, entry.records)
    })?;
    Ok(done)
}

fn import_files(collection: &Collection, path: &Path) -> Result<u64> {
    let mut done = 0;
    batches(path, &mut |lines| {
        let mut files = Vec::with_capacity(lines.len());
        for (number, line) in lines {
            let line: FileLine = wording::from_json(line.as_bytes()).map_err(|why| bad_line(path, *number, why))?;
            let (path, entry) = line.into_parts().map_err(|error| bad_line(path, *number, error))?;
            files.push((path, Some(entry.encode())));
        }
        done += files.len() as u64;
        collection.apply(WriteSet { files, ..WriteSet::default() })?;
        Ok(())
    })?;
    Ok(done)
}

/// Takes lines with their numbers, which begin at 1.
pub(super) type ForLines<'v> = dyn FnMut(&[(u64, String)]) -> Result<()> + 'v;

pub(super) fn batches(path: &Path, visit: &mut ForLines<'_>) -> Result<()> {
    let io = |error: std::io::Error| Error::io(path, &error);
    let mut source = BufReader::with_capacity(1 << 18, File::open(path).map_err(io)?);
    let (mut lines, mut bytes) = (Vec::new(), 0);
    for number in 1.. {
        let mut line = String::new();
        let read = source.read_line(&mut line).map_err(|error| match error.kind() {
            std::io::ErrorKind::InvalidData => bad_line(path, number, "it is not UTF-8"),
            _ => io(error),
        })?;
        if read > 0 && !line.trim().is_empty() {
            bytes += read;
            lines.push((number, line));
        }
        if !lines.is_empty() && (read == 0 || lines.len() == BATCH_LINES || bytes > BATCH_BYTES) {
            visit(&lines)?;
            lines.clear();
            bytes = 0;
        }
        if read == 0 {
            break;
        }
    }
    Ok(())
}

pub(super) fn tell(options: &mut ImportOptions<'_>, name: &str, done: u64, total: u64) -> Result<()> {
    refuse_when_cancelled(options.cancel)?;
    if let Some(tell) = &mut options.on_progress {
        tell(&TransferProgress { name: name.to_string(), done, total });
    }
    Ok(())
}

fn import_graph(
    db: &Database,
    path: &Path,
    entry: &GraphEntry,
    options: &mut ImportOptions<'_>,
    report: &mut ImportReport,
) -> Result<()> {
    let graph = db.graph(&entry.name)?.with_durability(Durability::Os);
    let mut done = 0;
    batches(path, &mut |lines| {
        let (mut nodes, mut edges) = (Vec::new(), Vec::new());
        for (number, line) in lines {
            let line: GraphLine = wording::from_json(line.as_bytes()).map_err(|why| bad_line(path, *number, why))?;
            match line.into_either().map_err(|error| bad_line(path, *number, error))? {
                NodeOrEdge::Node(node) => nodes.push(node),
                NodeOrEdge::Edge(edge) => edges.push(edge),
            }
        }
        (report.nodes, report.edges) = (report.nodes + nodes.len() as u64, report.edges + edges.len() as u64);
        done += lines.len() as u64;
        graph.put_nodes(nodes)?;
        graph.put_edges(edges)?;
        tell(options, &entry.name, done, entry.nodes + entry.edges)
    })
}
