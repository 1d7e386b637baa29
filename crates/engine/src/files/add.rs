//! Adding files: walk, read what changed, split, embed, store.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nuthatch_extract::{Document, ExtractError, Kind, Passage, PassageOptions, WalkOptions, extract, walk};
use nuthatch_filter::{FieldChange, Payload, Value};
use serde::{Deserialize, Serialize};

use crate::clock::Clock;
use crate::collection::{Collection, WriteSet};
use crate::file_entry::{FileEntry, OWN_FIELDS, check_fields, passage_id};
use crate::record::Record;
use crate::{Error, Result};

/// Passages that are embedded and committed together: enough to keep the embedder busy, few enough to lose little to a kill.
pub(crate) const COMMIT_PASSAGES: usize = 128;
/// Files that are committed together when they bring no passages: unchanged, touched, skipped.
const COMMIT_FILES: u64 = 256;
/// How long vectors are waited for at a time, between two looks at whether to stop.
const WAIT_SLICE: Duration = Duration::from_millis(250);

/// How files are added.
#[derive(Default)]
pub struct AddOptions<'a> {
    /// Remove files below the given paths that are no longer there.
    pub prune: bool,
    /// Which files a folder stands for.
    pub walk: WalkOptions,
    /// How large passages are.
    pub passages: PassageOptions,
    /// The change to the fields of all passages of these files, including unchanged files.
    pub fields: FieldChange,
    /// Return when every vector is there, not when the words are.
    pub wait: bool,
    /// Called now and then, and at the end.
    pub on_progress: Option<&'a mut dyn FnMut(&Progress)>,
    /// Set to stop after the current batch; what was added stays.
    pub cancel: Option<&'a AtomicBool>,
}

/// Where an `add` stands.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// Files that were found.
    pub files_total: u64,
    /// Files that are done, unchanged ones included.
    pub files_done: u64,
    /// Bytes of the files that were found.
    pub bytes_total: u64,
    /// Bytes of the files that are done.
    pub bytes_done: u64,
    /// Passages that were written.
    pub passages: u64,
    /// Of these, passages whose vector is still to come. They are found by their words.
    pub passages_pending: u64,
    /// Since the call.
    pub elapsed: Duration,
    /// Estimated from the bytes done; `None` at first.
    pub remaining: Option<Duration>,
    /// The file at hand.
    pub current: Option<PathBuf>,
}

/// A file that gave no passages, and why.
#[derive(Clone, Debug)]
pub struct Skipped {
    /// The file or folder.
    pub path: PathBuf,
    /// The reason, and what to do about it.
    pub why: String,
    /// False for what is skipped by design, such as binaries.
    pub is_error: bool,
}

/// The result of an `add`.
#[derive(Clone, Debug, Default)]
pub struct AddReport {
    /// Files that the collection did not have.
    pub files_added: u64,
    /// Files that it had with other content, or from another splitter or embedder.
    pub files_changed: u64,
    /// Files that it had as they are.
    pub files_unchanged: u64,
    /// Files that are gone, and whose passages were removed.
    pub files_pruned: u64,
    /// Files that gave no passages.
    pub skipped: Vec<Skipped>,
    /// Parts of files that could not be read although the rest was.
    pub warnings: Vec<String>,
    /// Passages that were written.
    pub passages_added: u64,
    /// Of these, passages whose text was there before: their vectors were kept.
    pub passages_reused: u64,
    /// Of those added, passages whose vector is still to come when this returns.
    pub passages_pending: u64,
    /// Passages that were removed, with those that new ones replaced.
    pub passages_removed: u64,
    /// Bytes of the files that were read.
    pub bytes_read: u64,
    /// From the call to its end.
    pub elapsed: Duration,
    /// Whether somebody ended it; what was added until then stays.
    pub cancelled: bool,
}

/// Files read and split, waiting to be embedded and committed together.
#[derive(Default)]
struct Pending {
    set: WriteSet,
    files: u64,
    bytes: u64,
}

/// A collection that files are added to, wherever it is held.
pub trait Shelved {
    /// The collection's name.
    fn name(&self) -> &str;

    /// Hands over what adding files asks of the collection.
    fn with_passage_sink<T>(&self, work: impl FnOnce(&dyn PassageSink) -> Result<T>) -> Result<T>;
}

/// The operations that adding files needs from the collection, in this process or in another.
pub trait PassageSink {
    /// The data folder, which may lie below what is added.
    fn own_folder(&self) -> PathBuf;
    /// Of the embedder for texts without vectors; from here on it is the collection's.
    fn embedding(&self) -> Result<Option<Embedding>>;
    /// Returns the stored entry of a file.
    fn entry(&self, path: &str) -> Result<Option<FileEntry>>;
    /// The same of the file `path` or of everything below it as a folder.
    fn entries(&self, path: &str) -> Result<Vec<(String, FileEntry)>>;
    /// Stored vectors of records.
    fn vectors(&self, ids: Vec<String>) -> Result<Vec<Option<Vec<f32>>>>;
    /// The payload of a record.
    fn payload_of(&self, id: &str) -> Result<Option<Payload>>;
    /// Changes fields of all passages of files at or below paths; gives how many passages changed.
    fn update_files(&self, paths: Vec<String>, change: &FieldChange) -> Result<u64>;
    /// Makes the vectors of texts that come without one, if the collection embeds.
    fn embed_missing(&self, records: &mut [Record]) -> Result<()>;
    /// Writes passages and entries of files as one batch.
    fn apply(&self, set: WriteSet) -> Result<()>;
    /// Waits for vectors that are still to come, for as long as this at most; gives how many are missing then.
    fn wait_for_vectors(&self, limit: Duration) -> Result<u64>;
}

/// How a collection makes the vectors of passages.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Embedding {
    /// Of the embedder.
    pub fingerprint: String,
    /// They may come after the passages: the process that holds the folder makes them.
    pub later: bool,
}

impl PassageSink for Collection {
    fn own_folder(&self) -> PathBuf {
        self.core.shared.folder.root().to_path_buf()
    }

    fn embedding(&self) -> Result<Option<Embedding>> {
        let Some(embedder) = self.core.embedder_for_passages(&self.call)? else { return Ok(None) };
        let later = self.core.embeds_later()?;
        Ok(Some(Embedding { fingerprint: embedder.fingerprint().to_string(), later }))
    }

    fn entry(&self, path: &str) -> Result<Option<FileEntry>> {
        self.core.file_entry(path)
    }

    fn entries(&self, path: &str) -> Result<Vec<(String, FileEntry)>> {
        self.core.file_entries(&self.core.shared.store, path)
    }

    fn vectors(&self, ids: Vec<String>) -> Result<Vec<Option<Vec<f32>>>> {
        let (store, fields) = (self.core.shared.store()?, self.core.fields());
        let vector = |id| {
            let found = self.core.vector_of(&*store, fields.unnamed(), id)?;
            Ok(found.and_then(|(_, value)| value?.into_dense()))
        };
        ids.iter().map(|id| vector(id)).collect()
    }

    fn payload_of(&self, id: &str) -> Result<Option<Payload>> {
        let found = self.core.get(self.core.live(), &[id], false)?.pop();
        Ok(found.flatten().map(|record| record.payload))
    }

    fn update_files(&self, paths: Vec<String>, change: &FieldChange) -> Result<u64> {
        self.change_files(&paths, change)
    }

    fn embed_missing(&self, records: &mut [Record]) -> Result<()> {
        self.core.embed_missing(records, &self.call)
    }

    fn apply(&self, set: WriteSet) -> Result<()> {
        self.core.apply(set, self.durability, &self.call).map(drop)
    }

    fn wait_for_vectors(&self, limit: Duration) -> Result<u64> {
        self.wait_until_embedded(Some(limit))?;
        Ok(self.core.pending_rows())
    }
}

/// One run of adding files.
pub struct Add<'c, 'o> {
    sink: &'c dyn PassageSink,
    options: AddOptions<'o>,
    report: AddReport,
    progress: Progress,
    /// Whether vectors may come later.
    later: bool,
    /// Files that are there as they are, whose fields are to change.
    unchanged: Vec<String>,
    started: Instant,
}

impl<'c, 'o> Add<'c, 'o> {
    /// Nothing is read yet.
    pub fn new(sink: &'c dyn PassageSink, options: AddOptions<'o>) -> Self {
        let (report, progress) = (AddReport::default(), Progress::default());
        Self { sink, options, report, progress, later: false, unchanged: Vec::new(), started: Instant::now() }
    }

    /// Adds the files at or below these paths.
    pub fn run(mut self, paths: &[PathBuf]) -> Result<AddReport> {
        check_fields(&self.options.fields)?;
        let mut files = Vec::new();
        let mut roots = Vec::new();
        let mut seen = HashSet::new();
        // Files at or below these paths may still exist: they must not be pruned.
        let mut unread: Vec<PathBuf> = Vec::new();
        let own = self.own_folder();
        for path in paths {
            let root = path.canonicalize().map_err(|error| Error::io(path, &error))?;
            for entry in walk(&root, &self.options.walk) {
                match entry {
                    Ok(entry) if entry.path.starts_with(&own) => {}
                    Ok(entry) => {
                        if seen.insert(entry.path.clone()) {
                            files.push(entry);
                        }
                    }
                    Err(error) => {
                        let path = self.skip(error);
                        unread.push(path);
                    }
                }
            }
            roots.push(root);
        }
        self.progress.files_total = files.len() as u64;
        self.progress.bytes_total = files.iter().map(|file| file.bytes).sum();
        let made_by = self.made_by()?;
        let mut pending = Pending::default();
        for file in &files {
            if self.is_cancelled() {
                self.report.cancelled = true;
                break;
            }
            self.progress.current = Some(file.path.clone());
            self.file(&file.path, file.bytes, file.mtime_ns, &made_by, &mut pending)?;
            pending.files += 1;
            pending.bytes += file.bytes;
            if pending.set.upserts.len() >= COMMIT_PASSAGES || pending.files >= COMMIT_FILES {
                self.commit(&mut pending)?;
            }
        }
        self.commit(&mut pending)?;
        self.change_unchanged()?;
        if self.options.prune && !self.report.cancelled {
            self.prune(&roots, &files.iter().map(|file| file.path.clone()).collect(), &unread)?;
        }
        self.progress.current = None;
        self.tell();
        self.wait_for_vectors()?;
        self.report.elapsed = self.started.elapsed();
        Ok(self.report)
    }

    /// One document that the caller has, under a name of the caller's.
    pub fn document(mut self, path: &str, content: &[u8]) -> Result<AddReport> {
        check_document_path(path)?;
        check_fields(&self.options.fields)?;
        let (made_by, mut pending) = (self.made_by()?, Pending::default());
        let old = self.sink.entry(path)?;
        let now_ns = i64::try_from(Clock::system().now().as_nanosecond()).unwrap_or(i64::MAX);
        self.content(path, content, old, now_ns, &made_by, &mut pending)?;
        self.commit(&mut pending)?;
        self.change_unchanged()?;
        self.wait_for_vectors()?;
        self.report.elapsed = self.started.elapsed();
        Ok(self.report)
    }

    /// The data folder itself may lie below what is added.
    fn own_folder(&self) -> PathBuf {
        let root = self.sink.own_folder();
        root.canonicalize().unwrap_or(root)
    }

    /// Changes when the same file would give other passages or other vectors.
    fn made_by(&mut self) -> Result<String> {
        let embedding = self.sink.embedding()?;
        self.later = embedding.as_ref().is_some_and(|embedding| embedding.later);
        let fingerprint = embedding.map_or_else(|| "none".into(), |embedding| embedding.fingerprint);
        Ok(format!("{}/{}/{fingerprint}", nuthatch_extract::VERSION, self.options.passages.target_chars))
    }

    #[allow(clippy::disallowed_methods, reason = "the caller's file is what it is")]
    fn file(&mut self, path: &Path, bytes: u64, mtime_ns: i64, made_by: &str, pending: &mut Pending) -> Result<()> {
        let Some(name) = path.to_str().map(str::to_owned) else {
            self.report.skipped.push(Skipped {
                path: path.to_path_buf(),
                why: format!("{}: its name is not UTF-8; rename it", path.display()),
                is_error: true,
            });
            return Ok(());
        };
        let old = self.sink.entry(&name)?;
        if old.as_ref().is_some_and(|old| old.bytes == bytes && old.mtime_ns == mtime_ns && old.made_by == made_by) {
            self.note_unchanged(&name);
            return Ok(());
        }
        match std::fs::read(path) {
            Ok(content) => self.content(&name, &content, old, mtime_ns, made_by, pending),
            Err(source) => {
                self.skip(ExtractError::Io { path: path.to_path_buf(), source });
                Ok(())
            }
        }
    }

    /// A file whose content is at hand.
    fn content(
        &mut self,
        name: &str,
        content: &[u8],
        old: Option<FileEntry>,
        mtime_ns: i64,
        made_by: &str,
        pending: &mut Pending,
    ) -> Result<()> {
        let (path, bytes) = (Path::new(name), content.len() as u64);
        self.report.bytes_read += bytes;
        let hash = *blake3::hash(content).as_bytes();
        if let Some(old) = old.as_ref().filter(|old| old.hash == hash && old.made_by == made_by) {
            // Touched, not changed.
            self.note_unchanged(name);
            let entry = FileEntry { bytes, mtime_ns, ..old.clone() };
            pending.set.files.push((name.to_string(), Some(entry.encode())));
            return Ok(());
        }
        let document = match extract(path, content, &self.options.passages) {
            Ok(document) => document,
            Err(error) => {
                self.refuse(name, error, old, pending);
                return Ok(());
            }
        };
        self.report.warnings.extend(document.warnings.iter().map(|warning| format!("{name}: {warning}")));
        let mut records = records(name, bytes, mtime_ns, &document);
        self.give_fields(name, old.as_ref(), &mut records)?;
        if let Some(error) = records.iter().find_map(|record| record.check().err()) {
            // One odd file (a path or a title too long to store) must not stop the others.
            self.report.skipped.push(Skipped { path: path.to_path_buf(), why: error.message, is_error: true });
            return Ok(());
        }
        let hashes: Vec<[u8; 16]> = records.iter().map(passage_hash).collect();
        let kept = match &old {
            Some(old) if embedder_of(&old.made_by) == embedder_of(made_by) => {
                self.reuse_vectors(name, old, &hashes, &mut records)?
            }
            _ => 0,
        };
        // A large file is embedded in slices, so that it can be interrupted and its progress seen.
        if records.len() > 2 * COMMIT_PASSAGES && !self.later {
            for slice in records.chunks_mut(COMMIT_PASSAGES) {
                if self.is_cancelled() {
                    return Ok(()); // as if it had not been looked at; the walk ends before the next file
                }
                self.sink.embed_missing(slice)?;
                self.progress.passages += slice.len() as u64;
                self.tell();
            }
            self.progress.passages -= records.len() as u64; // counted below like everyone's
        }
        self.replace(name, old.as_ref(), records.len(), pending);
        self.report.passages_added += records.len() as u64;
        self.report.passages_reused += kept;
        self.progress.passages += records.len() as u64;
        let entry = FileEntry {
            bytes,
            mtime_ns,
            hash,
            made_by: made_by.to_string(),
            kind: document.kind.as_str().to_string(),
            passages: hashes,
        };
        pending.set.files.push((name.to_string(), Some(entry.encode())));
        if self.later {
            let later =
                records.iter().filter(|record| record.text_to_embed().is_some()).map(|record| record.id.clone());
            let before = pending.set.later.len();
            pending.set.later.extend(later);
            self.report.passages_pending += (pending.set.later.len() - before) as u64;
            self.progress.passages_pending = self.report.passages_pending;
        }
        pending.set.upserts.extend(records);
        Ok(())
    }

    fn note_unchanged(&mut self, name: &str) {
        self.report.files_unchanged += 1;
        if !self.options.fields.is_empty() {
            self.unchanged.push(name.to_string());
        }
    }

    /// The fields that are wanted for files that are there as they are.
    fn change_unchanged(&mut self) -> Result<()> {
        let unchanged = std::mem::take(&mut self.unchanged);
        for paths in unchanged.chunks(COMMIT_FILES as usize) {
            self.sink.update_files(paths.to_vec(), &self.options.fields)?;
        }
        Ok(())
    }

    /// Passages keep what people have told of the file, and get what is wanted.
    fn give_fields(&self, name: &str, old: Option<&FileEntry>, records: &mut [Record]) -> Result<()> {
        let told = match old {
            Some(old) if !old.passages.is_empty() => self.sink.payload_of(&passage_id(name, 0))?.unwrap_or_default(),
            _ => Payload::new(),
        };
        for record in records {
            for (field, value) in told.iter().filter(|(field, _)| !OWN_FIELDS.contains(&field.as_str())) {
                record.payload.insert(field.clone(), value.clone());
            }
            self.options.fields.apply(&mut record.payload)?;
        }
        Ok(())
    }

    /// Records a file that could not be read. Its stored passages are outdated and removed.
    fn refuse(&mut self, name: &str, error: ExtractError, old: Option<FileEntry>, pending: &mut Pending) {
        self.skip(error);
        if let Some(old) = old {
            self.report.passages_removed += old.passages.len() as u64;
            pending.set.deletes.extend(old.ids(name));
            pending.set.files.push((name.to_string(), None));
        }
    }

    /// Counts a file that now has `passages` passages, and deletes the old ones beyond that number.
    fn replace(&mut self, name: &str, old: Option<&FileEntry>, passages: usize, pending: &mut Pending) {
        match old {
            None => self.report.files_added += 1,
            Some(old) => {
                self.report.files_changed += 1;
                self.report.passages_removed += old.passages.len() as u64;
                pending.set.deletes.extend(old.ids(name).skip(passages));
            }
        }
    }

    /// Unchanged passages keep their vectors: embedding is what costs.
    fn reuse_vectors(&self, path: &str, old: &FileEntry, hashes: &[[u8; 16]], records: &mut [Record]) -> Result<u64> {
        let places: HashMap<&[u8; 16], usize> = old.passages.iter().enumerate().map(|(at, hash)| (hash, at)).collect();
        let (wanting, ids): (Vec<_>, Vec<_>) = records
            .iter_mut()
            .zip(hashes)
            .filter_map(|(record, hash)| Some((record, passage_id(path, *places.get(hash)?))))
            .unzip();
        if ids.is_empty() {
            return Ok(0);
        }
        let mut kept = 0;
        for (record, vector) in wanting.into_iter().zip(self.sink.vectors(ids)?) {
            kept += u64::from(vector.is_some());
            record.vector = vector;
        }
        Ok(kept)
    }

    fn commit(&mut self, pending: &mut Pending) -> Result<()> {
        let done = std::mem::take(pending);
        if !(done.set.upserts.is_empty() && done.set.deletes.is_empty() && done.set.files.is_empty()) {
            self.sink.apply(done.set)?;
        }
        self.progress.files_done += done.files;
        self.progress.bytes_done += done.bytes;
        self.tell();
        Ok(())
    }

    fn prune(&mut self, roots: &[PathBuf], present: &HashSet<PathBuf>, unread: &[PathBuf]) -> Result<()> {
        for root in roots {
            let Some(root) = root.to_str() else { continue };
            let is_gone =
                |path: &Path| !present.contains(path) && !unread.iter().any(|unread| path.starts_with(unread));
            let gone: Vec<(String, FileEntry)> =
                self.sink.entries(root)?.into_iter().filter(|(path, _)| is_gone(Path::new(path))).collect();
            for (path, entry) in gone {
                self.report.files_pruned += 1;
                self.report.passages_removed += entry.passages.len() as u64;
                let deletes = entry.ids(&path).collect();
                let set = WriteSet { deletes, files: vec![(path, None)], ..WriteSet::default() };
                self.sink.apply(set)?;
            }
        }
        Ok(())
    }

    /// Waits for the vectors, if that is wanted, and tells how many are missing.
    fn wait_for_vectors(&mut self) -> Result<()> {
        while self.options.wait && self.report.passages_pending > 0 && !self.is_cancelled() {
            let missing = self.sink.wait_for_vectors(WAIT_SLICE)?;
            self.report.passages_pending = self.report.passages_pending.min(missing);
            self.progress.passages_pending = self.report.passages_pending;
            self.tell();
        }
        Ok(())
    }

    fn is_cancelled(&self) -> bool {
        self.options.cancel.is_some_and(|cancel| cancel.load(Ordering::SeqCst))
    }

    /// Notes a file that gave nothing; returns its path.
    fn skip(&mut self, error: ExtractError) -> PathBuf {
        let path = error.path().to_path_buf();
        let is_error = !matches!(error, ExtractError::Binary { .. } | ExtractError::Unsupported { .. });
        self.report.skipped.push(Skipped { path: path.clone(), why: error.to_string(), is_error });
        path
    }

    fn tell(&mut self) {
        self.progress.elapsed = self.started.elapsed();
        let done = self.progress.bytes_done;
        self.progress.remaining = (done > 0).then(|| {
            let left = self.progress.bytes_total.saturating_sub(done) as f64;
            self.progress.elapsed.mul_f64(left / done as f64)
        });
        if let Some(on_progress) = &mut self.options.on_progress {
            on_progress(&self.progress);
        }
    }
}

/// The embedder's fingerprint in what [`Add::made_by`] gives. Passages are compared by their words, whatever split them.
fn embedder_of(made_by: &str) -> Option<&str> {
    made_by.splitn(3, '/').nth(2)
}

/// Documents are named as files below some folder would be: never like one that was added from a disk, whose path is absolute.
fn check_document_path(path: &str) -> Result<()> {
    let is_part = |part: &str| !matches!(part, "" | "." | "..") && !part.contains(char::is_control);
    match path.split('/').all(is_part) {
        true => Ok(()),
        false => Err(Error::invalid(format!(
            "{path:?} is not a valid document path; write a relative path without empty parts, for example notes/plan.md"
        ))),
    }
}

/// A document's passages as records. The payload fields are what `--where` can ask for.
fn records(path: &str, bytes: u64, mtime_ns: i64, document: &Document) -> Vec<Record> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let mut records = records_of(path, bytes, Some(name), document);
    for record in &mut records {
        record.payload.insert("path".into(), Value::Text(path.into()));
        record.payload.insert("name".into(), Value::Text(name.into()));
        record.payload.insert("mtime".into(), Value::Datetime(mtime_ns.div_euclid(1000)));
    }
    records
}

/// The same with what the bytes alone tell: neither path nor time. `source` begins their ids; `name` stands in for a title.
pub(crate) fn records_of(source: &str, bytes: u64, name: Option<&str>, document: &Document) -> Vec<Record> {
    let of_passage = |(number, passage): (usize, &Passage)| {
        let mut payload = Payload::new();
        let mut put = |field: &str, value: Value| {
            payload.insert(field.to_string(), value);
        };
        put("kind", Value::Text(document.kind.as_str().into()));
        put("lang", document.lang.as_ref().map_or(Value::Null, |lang| Value::Text(lang.clone())));
        put("mime", Value::Text(document.mime.into()));
        put("bytes", Value::Int(bytes as i64));
        put("passage", Value::Int(number as i64));
        put("start_line", Value::Int(passage.start_line.into()));
        put("end_line", Value::Int(passage.end_line.into()));
        put("start_byte", Value::Int(passage.start_byte as i64));
        put("end_byte", Value::Int(passage.end_byte as i64));
        if let Some(title) = &document.title {
            put("title", Value::Text(title.clone()));
        }
        if !passage.heading.is_empty() {
            put("heading", Value::Text(passage.heading.join(" > ")));
        }
        if let Some(page) = passage.page {
            put("page", Value::Int(page.into()));
        }
        if let Some(place) = &passage.place {
            put("place", Value::Text(place.clone()));
        }
        Record {
            id: passage_id(source, number),
            text: Some(passage.text.clone()),
            vector: None,
            vectors: Default::default(),
            payload,
            context: context(name, document, passage),
            code: matches!(document.kind, Kind::Code | Kind::Notebook),
        }
    };
    document.passages.iter().enumerate().map(of_passage).collect()
}

/// Describes the surroundings of a passage as a reader would know them: the title (or the file's name) and the headings
/// above it.
fn context(name: Option<&str>, document: &Document, passage: &Passage) -> Option<String> {
    let title = document.title.as_deref().or(name);
    let mut parts: Vec<&str> = title.into_iter().collect();
    parts.extend(passage.heading.iter().map(String::as_str).filter(|heading| Some(*heading) != title));
    // A heading that stands in the passage itself need not be said twice.
    parts.retain(|part| !passage.text.contains(part));
    (!parts.is_empty()).then(|| parts.join(" > "))
}

pub(crate) fn passage_hash(record: &Record) -> [u8; 16] {
    let text = record.searchable().unwrap_or_default();
    blake3::hash(text.as_bytes()).as_bytes()[..16].try_into().expect("a hash has 32 bytes")
}
