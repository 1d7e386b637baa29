//! The differences between a tree and a folder.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::Path;

use nuthatch_link::{ContentId, EntryKind, Files, Result, TreeChange, TreeEntry, differences};

use crate::walk::{OnDisk, Skipped, Walk, walk};

/// The differences between what a tree has below a path and a folder, by path: the tree is the earlier state. Also what of
/// the folder could not be read. A file of the size and the time that the tree knows counts as the same; any other is read.
///
/// # Errors
/// `NotFound` for a folder, tree or snapshot that does not exist.
pub fn compare(
    files: &Files,
    as_of: Option<&str>,
    below: &str,
    folder: &Path,
    which: &Walk,
    renames: bool,
) -> Result<(Vec<TreeChange>, Vec<Skipped>)> {
    let (found, mut skipped) = walk(folder, which)?;
    let prefix = if below.is_empty() { String::new() } else { format!("{below}/") };
    let mut earlier = Vec::new();
    files.each_entry(as_of, below, |entry| {
        if entry.path != below || below.is_empty() {
            earlier.push(entry);
        }
        Ok::<(), nuthatch_link::Error>(())
    })?;
    let known: HashMap<&str, &TreeEntry> = earlier.iter().map(|entry| (entry.path.as_str(), entry)).collect();
    let mut later = Vec::with_capacity(found.len());
    for on_disk in found {
        let path = format!("{prefix}{}", on_disk.path);
        match content(&on_disk, known.get(path.as_str()).copied()) {
            Ok(content) => later.push(entry(path, &on_disk, content)),
            Err(error) => skipped.push(Skipped { path: on_disk.at, why: error.to_string() }),
        }
    }
    Ok((differences(earlier, later, renames), skipped))
}

fn entry(path: String, on_disk: &OnDisk, content: Option<ContentId>) -> TreeEntry {
    TreeEntry {
        path,
        kind: on_disk.kind,
        bytes: on_disk.bytes,
        content,
        target: on_disk.target.clone(),
        mode: on_disk.mode,
        modified_ns: on_disk.modified_ns,
        sequence: 0,
        recorded_ms: 0,
        fields: Default::default(),
    }
}

fn content(on_disk: &OnDisk, known: Option<&TreeEntry>) -> io::Result<Option<ContentId>> {
    if on_disk.kind != EntryKind::File {
        return Ok(None);
    }
    let looks_same = |known: &&TreeEntry| (known.bytes, known.modified_ns) == (on_disk.bytes, on_disk.modified_ns);
    if let Some(id) = known.filter(looks_same).and_then(|known| known.content) {
        return Ok(Some(id));
    }
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(File::open(&on_disk.at)?)?;
    Ok(Some(ContentId(*hasher.finalize().as_bytes())))
}
