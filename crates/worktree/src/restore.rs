//! Writing a tree, or parts of it, into a folder.
//!
//! A new folder appears whole or not at all: it is filled next to its destination and moved there at the end. In a
//! folder that is not empty, each file appears whole. Links come last, and folders get their times and modes at the
//! very end, so that nothing is written through a link of the tree.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use nuthatch_grep::{Paths, Request};
use nuthatch_link::{EntryKind, Error, ErrorKind, Files, READ_BYTES_MAX, Result, TreeEntry};
use serde::Serialize;
use tempfile::NamedTempFile;

use crate::disk;
use crate::walk::Skipped;

/// The selection to restore, and how to write it.
#[derive(Clone, Debug, Default)]
pub struct RestoreOptions<'a> {
    /// Only what lies at or below this path of the tree, which then is the root of the folder.
    pub below: String,
    /// Only files and links whose paths one of these matches, as ripgrep's `-g` does: with `!` in front, all but those.
    pub globs: Vec<String>,
    /// Write nothing, and say what would be written.
    pub dry_run: bool,
    /// Write into a folder that is not empty. Existing entries with the same paths are replaced; the rest stays.
    pub overwrite: bool,
    /// Stops. A new folder is not made then.
    pub cancel: Option<&'a AtomicBool>,
}

/// The entries that [`restore()`] wrote, or would write.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Restored {
    /// Paths in the tree, in the order of their bytes.
    pub paths: Vec<String>,
    /// Of these, files.
    pub files: u64,
    /// Folders.
    pub folders: u64,
    /// Links.
    pub links: u64,
    /// Of the files.
    pub bytes: u64,
    /// Entries that could not be written, and why.
    pub skipped: Vec<Skipped>,
    /// It was stopped before its end.
    pub cancelled: bool,
}

/// Writes a tree as it was into a folder: bytes, permission bits, times and links. Every content is checked against its hash
/// on the way.
///
/// # Errors
/// `Conflict` for a folder that has something, without `overwrite`; `Invalid` for a glob that cannot be read; those of the file
/// system. Nothing is written outside of `out`.
pub fn restore(files: &Files, as_of: Option<&str>, out: &Path, options: &RestoreOptions<'_>) -> Result<Restored> {
    let wanted = wanted(files, as_of, options)?;
    let mut restored = Restored::default();
    for entry in &wanted {
        restored.paths.push(entry.path.clone());
        match entry.kind {
            EntryKind::File => (restored.files, restored.bytes) = (restored.files + 1, restored.bytes + entry.bytes),
            EntryKind::Folder => restored.folders += 1,
            EntryKind::Link => restored.links += 1,
            EntryKind::Gone => {}
        }
    }
    if options.dry_run {
        return Ok(restored);
    }
    let is_empty = match out.read_dir() {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => true,
        Err(error) => return Err(Error::io(out, &error)),
    };
    if !is_empty && !options.overwrite {
        let why = format!("{} has something in it; choose another folder, or allow overwriting", out.display());
        return Err(Error::new(ErrorKind::Conflict, why));
    }
    let mut writing = Writing { files, as_of, options, restored };
    if !is_empty {
        writing.all(&out.canonicalize().map_err(|error| Error::io(out, &error))?, &wanted)?;
        return Ok(writing.restored);
    }
    let beside = match out.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    std::fs::create_dir_all(beside).map_err(|error| Error::io(beside, &error))?;
    let staged = tempfile::Builder::new().prefix(".restoring-").tempdir_in(beside);
    let staged = staged.map_err(|error| Error::io(beside, &error))?;
    let inner = staged.path().join("tree");
    std::fs::create_dir(&inner).map_err(|error| Error::io(&inner, &error))?;
    writing.all(&inner, &wanted)?;
    if !writing.restored.cancelled {
        #[allow(
            clippy::disallowed_methods,
            reason = "the tree still has what a power loss would take; restore it again"
        )]
        std::fs::rename(&inner, out).map_err(|error| Error::io(out, &error))?;
    }
    Ok(writing.restored)
}

/// Returns the entries to restore, sorted by the bytes of their paths. With globs, a folder is included only if it
/// contains a selected file or link.
fn wanted(files: &Files, as_of: Option<&str>, options: &RestoreOptions<'_>) -> Result<Vec<TreeEntry>> {
    let request = Request { globs: options.globs.clone(), ..Request::default() };
    let globs = Paths::new(&request).map_err(|error| Error::invalid(error.to_string()))?;
    let mut wanted: Vec<TreeEntry> = Vec::new();
    files.each_entry(as_of, &options.below, |entry| {
        if entry.kind == EntryKind::Folder || globs.wants(&entry.path) {
            wanted.push(entry);
        }
        Ok::<(), Error>(())
    })?;
    if !options.globs.is_empty() {
        let mut is_used = vec![true; wanted.len()];
        for (at, entry) in wanted.iter().enumerate().filter(|(_, entry)| entry.kind == EntryKind::Folder) {
            let inside = format!("{}/", entry.path);
            let from = wanted.partition_point(|other| other.path < inside);
            let holds = wanted[from..].iter().take_while(|other| other.path.starts_with(&inside));
            is_used[at] = holds.into_iter().any(|other| other.kind != EntryKind::Folder);
        }
        let mut is_used = is_used.into_iter();
        wanted.retain(|_| is_used.next().unwrap_or(true));
    }
    if wanted.is_empty() && !options.below.is_empty() {
        return Err(Error::not_found(format!("tree {:?} has nothing at {:?}", files.name(), options.below)));
    }
    Ok(wanted)
}

struct Writing<'r> {
    files: &'r Files,
    as_of: Option<&'r str>,
    options: &'r RestoreOptions<'r>,
    restored: Restored,
}

impl Writing<'_> {
    fn all(&mut self, root: &Path, wanted: &[TreeEntry]) -> Result<()> {
        for entry in wanted.iter().filter(|entry| entry.kind != EntryKind::Link) {
            if self.options.cancel.is_some_and(|cancel| cancel.load(Ordering::Relaxed)) {
                self.restored.cancelled = true;
                return Ok(());
            }
            let at = self.place(root, entry);
            let done = match entry.kind {
                EntryKind::Folder => make_folder(root, &at).map_err(|error| Error::io(&at, &error)),
                _ => self.file(root, &at, entry),
            };
            self.note(&at, done)?;
        }
        for entry in wanted.iter().filter(|entry| entry.kind == EntryKind::Link) {
            let at = self.place(root, entry);
            let done = make_parent(root, &at)
                .and_then(|()| replace_link(entry.target.as_deref().unwrap_or_default(), &at, entry.modified_ns));
            self.note(&at, done.map_err(|error| Error::io(&at, &error)))?;
        }
        // A folder that nobody may write into, and the times of those that just got something.
        for entry in wanted.iter().rev().filter(|entry| entry.kind == EntryKind::Folder) {
            let at = self.place(root, entry);
            let done = File::open(&at).and_then(|folder| {
                disk::set_mode(&at, entry.mode)?;
                disk::set_modified(&folder, entry.modified_ns)
            });
            self.note(&at, done.map_err(|error| Error::io(&at, &error)))?;
        }
        Ok(())
    }

    /// Where an entry goes.
    fn place(&self, root: &Path, entry: &TreeEntry) -> PathBuf {
        let below = &self.options.below;
        let name = match entry.path.strip_prefix(&**below).map(|rest| rest.trim_start_matches('/')) {
            // The path itself: a file goes under its name, and a folder is the root.
            Some("") if entry.kind != EntryKind::Folder => entry.path.rsplit('/').next().unwrap_or_default(),
            Some(rest) => rest,
            None => &entry.path,
        };
        if name.is_empty() { root.to_path_buf() } else { root.join(name) }
    }

    /// Records a path that cannot be written and goes on with the rest; a full disk ends the restore.
    fn note(&mut self, at: &Path, done: Result<()>) -> Result<()> {
        match done {
            Err(error) if matches!(error.kind, ErrorKind::Exhausted | ErrorKind::Closed) => Err(error),
            Err(error) => {
                self.restored.skipped.push(Skipped { path: at.to_path_buf(), why: error.message });
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    /// Writes a file next to its destination, and moves it there.
    fn file(&self, root: &Path, at: &Path, entry: &TreeEntry) -> Result<()> {
        let io = |error: std::io::Error| Error::io(at, &error);
        make_parent(root, at).map_err(io)?;
        let mut file = NamedTempFile::with_prefix_in(".restoring-", at.parent().unwrap_or(root)).map_err(io)?;
        let (mut hasher, mut offset) = (blake3::Hasher::new(), 0);
        while offset < entry.bytes {
            let part = self.files.read_version(self.as_of, entry, offset, READ_BYTES_MAX)?;
            hasher.update(&part);
            file.write_all(&part).map_err(io)?;
            offset += part.len() as u64;
        }
        if entry.content.is_some_and(|content| content.0 != *hasher.finalize().as_bytes()) {
            return Err(Error::internal("its bytes do not have their hash; run `nuthatch doctor`"));
        }
        disk::set_mode(file.path(), entry.mode).map_err(io)?;
        disk::set_modified(file.as_file(), entry.modified_ns).map_err(io)?;
        file.persist(at).map_err(|error| io(error.error))?;
        Ok(())
    }
}

/// Makes the folders above a place, and refuses one that a link stands for.
fn make_parent(root: &Path, at: &Path) -> std::io::Result<()> {
    match at.parent() {
        Some(parent) if parent.starts_with(root) => make_folder(root, parent),
        _ => Ok(()),
    }
}

fn make_folder(root: &Path, folder: &Path) -> std::io::Result<()> {
    let mut at = root.to_path_buf();
    for part in folder.strip_prefix(root).into_iter().flatten() {
        at.push(part);
        match at.symlink_metadata() {
            Ok(found) if found.is_dir() => {}
            Ok(_) => {
                let why = format!("{} is in the way, and not a folder", at.display());
                return Err(std::io::Error::new(std::io::ErrorKind::NotADirectory, why));
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => std::fs::create_dir(&at)?,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Makes a link in the place of a file or another link.
fn replace_link(target: &str, at: &Path, modified_ns: i64) -> std::io::Result<()> {
    match at.symlink_metadata() {
        Ok(found) if found.is_dir() => {
            return Err(std::io::Error::new(std::io::ErrorKind::IsADirectory, "a folder is in the way"));
        }
        Ok(_) => std::fs::remove_file(at)?,
        Err(_) => {}
    }
    disk::link(target, at, modified_ns)
}
