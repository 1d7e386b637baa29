//! Writing an export.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use nuthatch_segment::sync_folder;
use nuthatch_truth::{Direction, Reader, Shard, Table, Truth};

use crate::collection::Core;
use crate::collection::meta::{self, COUNTERS, Counters, Meta, meta_key};
use crate::database::Database;
use crate::files::FileEntry;
use crate::record::Row;
use crate::transfer::key::{FileLine, KeyLine};
use crate::transfer::manifest::{CollectionEntry, KeyspaceEntry, Manifest};
use crate::transfer::record::Line;
use crate::transfer::{OnProgress, TransferProgress, refuse_when_cancelled};
use crate::{Error, Result};

/// Rows whose vectors are read together, and bytes of them after which they are, however few.
const READ_ROWS: usize = 256;
const READ_BYTES: usize = 4 << 20;

/// What is exported.
#[derive(Default)]
pub struct ExportOptions<'a> {
    /// Only this collection, and no keyspace.
    pub collection: Option<String>,
    pub on_progress: OnProgress<'a>,
    /// Set to end it; what was written stays, and is no export.
    pub cancel: Option<&'a AtomicBool>,
}

/// What was exported.
#[derive(Clone, Debug, Default)]
pub struct ExportReport {
    pub folder: PathBuf,
    pub collections: u64,
    pub keyspaces: u64,
    pub records: u64,
    pub files: u64,
    pub keys: u64,
    pub bytes: u64,
    pub elapsed: Duration,
}

impl Database {
    /// Writes everything of this handle's tenant, as it is at one moment, into `folder`, new or empty, as JSON lines. Reads and writes go on meanwhile. Memory: a
    /// few MiB, whatever there is to export.
    pub fn export(&self, folder: impl AsRef<Path>, mut options: ExportOptions<'_>) -> Result<ExportReport> {
        let (folder, started) = (folder.as_ref(), Instant::now());
        let shared = &self.inner.shared;
        self.check_open()?;
        let tenant = &self.tenant;
        let names = match &options.collection {
            Some(name) => vec![self.existing_collection(name)?.name().to_string()],
            None => self.collection_names()?,
        };
        let cores = names.iter().map(|name| Ok(self.existing_collection(name)?.core)).collect::<Result<Vec<_>>>()?;
        let spaces = match options.collection {
            Some(_) => Vec::new(),
            None => shared.keyspaces(tenant.number)?,
        };
        make_empty(folder)?;
        let truth = shared.truth()?;
        let snapshot = truth.snapshot();
        let now_ms = shared.options.clock.now_ms();
        let mut report = ExportReport { folder: folder.to_path_buf(), ..ExportReport::default() };
        let (mut collections, mut keyspaces) = (Vec::new(), Vec::new());
        for core in &cores {
            let Some(meta) = meta::read::<Meta>(&*snapshot, &meta_key(tenant.number, &core.name))? else { continue }; // dropped before the moment
            let entry =
                Exporting { core, reader: &*snapshot, options: &mut options, report: &mut report }.collection(meta)?;
            collections.push(entry);
        }
        for (number, (name, shard)) in spaces.into_iter().enumerate() {
            let file = format!("keyspaces/{number:03}-{name}.jsonl");
            let mut lines = Lines::create(&folder.join(&file))?;
            let space = shared.space(tenant, &name, false)?;
            let mut keys = 0;
            let mut failed = Ok(());
            snapshot.scan(Table::Kv, &shard.prefix(), &shard.end(), Direction::Forward, &mut |key, stored| {
                failed = space.exported(&*snapshot, stored, now_ms).and_then(|exported| {
                    let Some((value, expires_at_ms)) = exported else { return Ok(()) };
                    keys += 1;
                    lines.push(&KeyLine::of(Shard::suffix(key).to_vec(), value, expires_at_ms))?;
                    tell(&mut options, &name, keys, 0)
                });
                if failed.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            })?;
            failed?;
            report.bytes += lines.finish()?;
            report.keys += keys;
            keyspaces.push(KeyspaceEntry { name, file, keys });
        }
        (report.collections, report.keyspaces) = (collections.len() as u64, keyspaces.len() as u64);
        Manifest::new(collections, keyspaces).write(folder)?;
        report.elapsed = started.elapsed();
        Ok(report)
    }
}

/// One collection on its way out.
struct Exporting<'e, 'o> {
    core: &'e Core,
    reader: &'e dyn Reader,
    options: &'e mut ExportOptions<'o>,
    report: &'e mut ExportReport,
}

impl Exporting<'_, '_> {
    fn collection(self, meta: Meta) -> Result<CollectionEntry> {
        let shard = self.core.shard;
        let counters: Counters = meta::read(self.reader, &shard.key(COUNTERS))?.unwrap_or_default();
        // A name alone could be `..`.
        let inside = format!("collections/{:03}-{}", self.report.collections, meta.name);
        self.report.collections += 1;
        let folder = self.report.folder.join(&inside);
        let mut lines = Lines::create(&folder.join("records.jsonl"))?;
        let (mut rows, mut bytes) = (Vec::new(), 0);
        let (mut records, mut failed) = (0, Ok(()));
        let (core, reader, options) = (self.core, self.reader, &mut *self.options);
        let mut write = |rows: &mut Vec<(Vec<u8>, Row)>| -> Result<()> {
            records += rows.len() as u64;
            write_rows(core, reader, &mut lines, std::mem::take(rows))?;
            tell(options, &meta.name, records, counters.rows)
        };
        reader.scan(Table::Records, &shard.prefix(), &shard.end(), Direction::Forward, &mut |key, stored| {
            bytes += stored.len();
            let read = Row::decode(stored).and_then(|row| {
                rows.push((key.to_vec(), row));
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
        let files = self.files(&folder.join("files.jsonl"))?;
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
            files,
        })
    }

    fn files(self, path: &Path) -> Result<u64> {
        let shard = self.core.shard;
        let mut lines = Lines::create(path)?;
        let (mut files, mut failed) = (0, Ok(()));
        self.reader.scan(Table::Files, &shard.prefix(), &shard.end(), Direction::Forward, &mut |key, stored| {
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

fn write_rows(core: &Core, reader: &dyn Reader, lines: &mut Lines, rows: Vec<(Vec<u8>, Row)>) -> Result<()> {
    let keys: Vec<Vec<u8>> = rows.iter().map(|(key, _)| key.clone()).collect();
    let vectors = reader.multi_get(Table::Vectors, &keys)?;
    for ((_, row), vector) in rows.iter().zip(vectors) {
        lines.push(&Line::of(row, vector.as_deref().map(|bytes| core.vector_from(bytes)))?)?;
    }
    Ok(())
}

fn tell(options: &mut ExportOptions<'_>, name: &str, done: u64, total: u64) -> Result<()> {
    refuse_when_cancelled(options.cancel)?;
    if let Some(tell) = &mut options.on_progress {
        tell(&TransferProgress { name: name.to_string(), done, total });
    }
    Ok(())
}

/// A file of lines.
struct Lines {
    path: PathBuf,
    file: BufWriter<File>,
    bytes: u64,
}

impl Lines {
    fn create(path: &Path) -> Result<Self> {
        let folder = path.parent().unwrap_or(path);
        std::fs::create_dir_all(folder).map_err(|error| Error::io(folder, &error))?;
        let file = File::create_new(path).map_err(|error| Error::io(path, &error))?;
        Ok(Self { path: path.to_path_buf(), file: BufWriter::with_capacity(1 << 18, file), bytes: 0 })
    }

    fn push(&mut self, line: &impl serde::Serialize) -> Result<()> {
        let mut bytes =
            serde_json::to_vec(line).map_err(|error| Error::internal(format!("a line of JSON: {error}")))?;
        bytes.push(b'\n');
        self.bytes += bytes.len() as u64;
        self.file.write_all(&bytes).map_err(|error| Error::io(&self.path, &error))
    }

    /// Makes the file durable; its bytes.
    fn finish(mut self) -> Result<u64> {
        let synced = self.file.flush().and_then(|()| self.file.get_ref().sync_all());
        synced.map_err(|error| Error::io(&self.path, &error))?;
        sync_folder(self.path.parent().unwrap_or(&self.path))?;
        Ok(self.bytes)
    }
}

fn make_empty(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder).map_err(|error| Error::io(folder, &error))?;
    let mut entries = std::fs::read_dir(folder).map_err(|error| Error::io(folder, &error))?;
    match entries.next() {
        None => Ok(()),
        Some(_) => {
            Err(Error::invalid(format!("{} is not empty; export into a new or an empty folder", folder.display())))
        }
    }
}
