//! Storing a folder in a tree.
//!
//! Files whose size, time and mode match the tree are not read. The calling thread reads the rest; two other threads
//! hand it over, so that one batch is hashed while another becomes durable.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};

use nuthatch_link::{
    EntryKind, Error, FieldChange, PutFile, PutFiles, PutReport, PutWhat, Result, Tree, TreeEntry, What, lies_at,
};
use parking_lot::Mutex;
use serde::Serialize;

use crate::walk::{OnDisk, Skipped, Walk, look, walk};

/// A batch is sent when it has this many bytes or paths.
const BATCH_BYTES: usize = 4 << 20;
const BATCH_PATHS: usize = 1_000;
/// Larger files are uploaded in parts of that size.
const PART_BYTES: usize = 4 << 20;
const SENDERS: usize = 2;
/// A file that was written so shortly before it was stored may have changed since without a change of its time.
const RACY_NS: i64 = 50_000_000;

/// How a folder is stored.
#[derive(Default)]
pub struct AddOptions<'a> {
    /// Where its contents go in the tree; empty for the tree's root.
    pub below: String,
    /// Which files are seen.
    pub walk: Walk,
    /// Keep what the tree has there and the folder has not. By default it is removed, and its versions stay.
    pub keep_missing: bool,
    /// The change to the fields of all stored entries, including unchanged ones.
    pub fields: FieldChange,
    /// Told now and then, with what was done so far.
    pub on_progress: Option<&'a mut dyn FnMut(&Added)>,
    /// Stops after the batches that are under way.
    pub cancel: Option<&'a AtomicBool>,
}

/// The outcome of [`add()`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Added {
    /// Files, folders and links that the tree did not have.
    pub added: u64,
    /// Those that it had otherwise, or with other fields.
    pub changed: u64,
    /// Those that it had in the same way.
    pub unchanged: u64,
    /// Those that it has no longer.
    pub gone: u64,
    /// Bytes of the files that were read.
    pub bytes_read: u64,
    /// Paths that were not read, and why. The tree keeps its entries there.
    pub skipped: Vec<Skipped>,
    /// It was stopped before its end.
    pub cancelled: bool,
}

impl Added {
    /// Both together.
    pub fn join(&mut self, other: Self) {
        self.added += other.added;
        self.changed += other.changed;
        self.unchanged += other.unchanged;
        self.gone += other.gone;
        self.bytes_read += other.bytes_read;
        self.skipped.extend(other.skipped);
        self.cancelled |= other.cancelled;
    }
}

/// Makes the entries of a tree below a path equal to a folder, or stores one file there under its name. Entries that
/// the folder no longer has are removed, and their versions stay.
///
/// Several batches are several writes: name a snapshot afterwards for a state that others can rely on.
///
/// # Errors
/// `NotFound` for a path that does not exist, and those of [`Tree::put`]; what was stored until then stays.
pub fn add(tree: &Tree, path: &Path, options: AddOptions<'_>) -> Result<Added> {
    let AddOptions { below, walk: which, keep_missing, fields, mut on_progress, cancel } = options;
    let path = path.canonicalize().map_err(|error| Error::io(path, &error))?;
    let is_folder = path.is_dir();
    let (root, found, skipped) = match (is_folder, path.parent()) {
        (false, Some(folder)) => match look(folder, &path) {
            Ok(file) => (folder, vec![file], Vec::new()),
            Err(why) => (folder, Vec::new(), vec![Skipped { path: path.clone(), why }]),
        },
        _ => {
            let (found, skipped) = walk(&path, &which)?;
            (&*path, found, skipped)
        }
    };
    let inside = |name: &str| joined(&below, name);
    let mut known = match &found[..] {
        [file] if !is_folder => {
            let entry = missing_is_none(tree.entry(None, &inside(&file.path)))?;
            entry.map(|entry| (entry.path.clone(), entry)).into_iter().collect()
        }
        _ => entries_below(tree, &below)?,
    };
    let mut added = Added { skipped, ..Added::default() };
    std::thread::scope(|scope| -> Result<()> {
        let mut sending = Sending::begin(scope, tree, fields);
        for on_disk in found {
            if cancel.is_some_and(|cancel| cancel.load(Ordering::Relaxed)) {
                added.cancelled = true;
                break;
            }
            let name = inside(&on_disk.path);
            if known.remove(&name).is_some_and(|known| is_same(&known, &on_disk)) {
                match sending.fields.is_empty() || on_disk.kind == EntryKind::Folder {
                    true => added.unchanged += 1,
                    false => sending.keep(name)?,
                }
                continue;
            }
            match read(tree, &on_disk)? {
                Ok((what, bytes)) => {
                    added.bytes_read += bytes;
                    let OnDisk { mode, modified_ns, .. } = on_disk;
                    sending.push(PutFile { path: name, mode, modified_ns, what })?;
                }
                Err(why) => added.skipped.push(Skipped { path: on_disk.at, why }),
            }
            sending.count(&mut added, false)?;
            if let Some(on_progress) = &mut on_progress {
                on_progress(&added);
            }
        }
        if is_folder && !keep_missing && !added.cancelled {
            let unread = added.skipped.iter().filter_map(|skipped| name_below(root, &skipped.path));
            let unread: Vec<String> = unread.map(|name| inside(&name)).collect();
            let is_unread = |name: &str| unread.iter().any(|place| lies_at(place, name));
            let mut gone: Vec<String> = known.into_keys().filter(|name| *name != below && !is_unread(name)).collect();
            gone.sort_unstable();
            for some in gone.chunks(BATCH_PATHS) {
                sending.send(PutFiles { gone: some.to_vec(), ..PutFiles::default() })?;
            }
        }
        sending.flush()?;
        sending.count(&mut added, true)
    })?;
    Ok(added)
}

/// Returns the entries of a tree at or below a path; none if there is no such tree yet.
fn entries_below(tree: &Tree, below: &str) -> Result<HashMap<String, TreeEntry>> {
    let mut known = HashMap::new();
    let all = tree.each_entry(None, below, |entry| {
        known.insert(entry.path.clone(), entry);
        Ok(())
    });
    missing_is_none(all.map(Some))?;
    Ok(known)
}

/// A tree that does not exist yet has nothing.
fn missing_is_none<T>(found: Result<Option<T>>) -> Result<Option<T>> {
    match found {
        Err(error) if error.is_missing(What::Tree) => Ok(None),
        found => found,
    }
}

/// Whether a file is as it was when it was stored, as far as can be told without reading it.
fn is_same(known: &TreeEntry, found: &OnDisk) -> bool {
    let stored_ns = i64::try_from(known.recorded_ms).unwrap_or(i64::MAX).saturating_mul(1_000_000);
    let is_settled = found.kind != EntryKind::File || found.modified_ns.saturating_add(RACY_NS) < stored_ns;
    (known.kind, known.bytes, known.mode, known.modified_ns) == (found.kind, found.bytes, found.mode, found.modified_ns)
        && known.target == found.target
        && is_settled
}

/// A path below another one; either may be empty.
fn joined(below: &str, name: &str) -> String {
    match (below, name) {
        ("", name) => name.into(),
        (below, "") => below.into(),
        (below, name) => format!("{below}/{name}"),
    }
}

/// The name that something below a folder has in a tree.
fn name_below(root: &Path, at: &Path) -> Option<String> {
    let parts: Option<Vec<&str>> = at.strip_prefix(root).ok()?.iter().map(|part| part.to_str()).collect();
    Some(parts?.join("/"))
}

/// Returns the content to store in the tree and how many bytes of it were read, or the reason why it cannot be read.
fn read(tree: &Tree, on_disk: &OnDisk) -> Result<std::result::Result<(PutWhat, u64), String>> {
    match (on_disk.kind, &on_disk.target) {
        (EntryKind::Folder | EntryKind::Gone, _) => return Ok(Ok((PutWhat::Folder, 0))),
        (EntryKind::Link, target) => return Ok(Ok((PutWhat::Link(target.clone().unwrap_or_default()), 0))),
        (EntryKind::File, _) => {}
    }
    let part = |file: &mut File| {
        let mut bytes = Vec::with_capacity((on_disk.bytes as usize).min(PART_BYTES) + 1);
        file.take(PART_BYTES as u64).read_to_end(&mut bytes).map(|_| bytes)
    };
    let opened = File::open(&on_disk.at).and_then(|mut file| part(&mut file).map(|bytes| (file, bytes)));
    let (mut file, mut bytes) = match opened {
        Ok(opened) => opened,
        Err(error) => return Ok(Err(error.to_string())),
    };
    if bytes.len() < PART_BYTES {
        let count = bytes.len() as u64;
        return Ok(Ok((PutWhat::File(bytes), count)));
    }
    let (upload, mut offset) = (tree.begin_upload()?, 0);
    loop {
        let (count, is_last) = (bytes.len() as u64, bytes.len() < PART_BYTES);
        tree.upload(upload, offset, bytes, is_last)?;
        offset += count;
        if is_last {
            return Ok(Ok((PutWhat::Uploaded(upload), offset)));
        }
        bytes = match part(&mut file) {
            Ok(bytes) => bytes,
            Err(error) => {
                tree.end_upload(upload)?;
                return Ok(Err(error.to_string()));
            }
        };
    }
}

/// Batches on their way to the tree.
struct Sending {
    /// `None` once the last one is under way.
    to_send: Option<mpsc::SyncSender<PutFiles>>,
    reports: mpsc::Receiver<Result<PutReport>>,
    files: Vec<PutFile>,
    /// Of which only the fields change.
    kept: Vec<String>,
    bytes: usize,
    fields: FieldChange,
}

impl Sending {
    fn begin<'s>(scope: &'s std::thread::Scope<'s, '_>, tree: &'s Tree, fields: FieldChange) -> Self {
        let (to_send, batches) = mpsc::sync_channel::<PutFiles>(1);
        let (to_count, reports) = mpsc::channel();
        let batches = Arc::new(Mutex::new(batches));
        for _ in 0..SENDERS {
            let (to_count, batches) = (to_count.clone(), batches.clone());
            scope.spawn(move || {
                loop {
                    let taken = batches.lock().recv();
                    let Ok(batch) = taken else { return };
                    if to_count.send(tree.put(batch)).is_err() {
                        return;
                    }
                }
            });
        }
        Self { to_send: Some(to_send), reports, files: Vec::new(), kept: Vec::new(), bytes: 0, fields }
    }

    fn push(&mut self, file: PutFile) -> Result<()> {
        self.bytes += match &file.what {
            PutWhat::File(bytes) => bytes.len(),
            _ => 0,
        };
        self.files.push(file);
        if self.bytes >= BATCH_BYTES || self.files.len() >= BATCH_PATHS { self.flush() } else { Ok(()) }
    }

    fn keep(&mut self, name: String) -> Result<()> {
        self.kept.push(name);
        if self.kept.len() >= BATCH_PATHS { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        let (files, kept) = (std::mem::take(&mut self.files), std::mem::take(&mut self.kept));
        self.bytes = 0;
        if !files.is_empty() {
            let change = self.fields.clone();
            self.send(PutFiles { files, change, ..PutFiles::default() })?;
        }
        if !kept.is_empty() {
            let change = self.fields.clone();
            self.send(PutFiles { kept, change, ..PutFiles::default() })?;
        }
        Ok(())
    }

    fn send(&self, batch: PutFiles) -> Result<()> {
        let ended = || Error::internal("the threads that write a tree have ended");
        self.to_send.as_ref().ok_or_else(ended)?.send(batch).map_err(|_| ended())
    }

    /// Counts what was written; at the `end`, waits for all of it.
    fn count(&mut self, added: &mut Added, end: bool) -> Result<()> {
        if end {
            self.to_send = None;
        }
        while let Some(report) = if end { self.reports.recv().ok() } else { self.reports.try_recv().ok() } {
            let report = report?;
            added.added += report.added;
            added.changed += report.changed;
            added.unchanged += report.unchanged;
            added.gone += report.gone;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_folder_that_cannot_be_read_nothing_counts_as_gone() {
        let folder = Path::new("/data/notes");
        let unread = |below: &str, at: &str| joined(below, &name_below(folder, Path::new(at)).unwrap());
        for (below, at, name) in [
            ("", "/data/notes", "a/b"),
            ("copy", "/data/notes", "copy/a/b"),
            ("", "/data/notes/a", "a/b"),
            ("copy", "/data/notes/a", "copy/a"),
        ] {
            assert!(lies_at(&unread(below, at), name), "{below:?} {at}");
        }
        assert!(!lies_at(&unread("copy", "/data/notes/a"), "copy/ab"));
    }
}
