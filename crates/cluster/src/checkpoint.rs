//! Checkpoints: the store's files as of one slot of the log, cut into pieces that are stored once.
//!
//! **Invariants.** A checkpoint is listed once every piece of it is there. A piece's name ends with the BLAKE3 of its bytes, and
//! begins with the ownership that stored it. An owner removes pieces of its own and of earlier ownerships alone, and only once a
//! checkpoint of its own is listed: what a later owner is storing is never among them.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::bucket::Bucket;
use crate::log::Log;
use crate::{Base, ClusterError, Epoch, Known, Mark, Result};

/// Bytes of a piece at most.
const PIECE_BYTES: usize = 4 << 20;
const PIECES: &str = "groups/0/pieces";
const DAMAGED: &str =
    "the checkpoint before it is used instead; make a new one by writing, or restore the object from a copy";

/// The contents of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The cluster that it belongs to.
    pub cluster: uuid::Uuid,
    /// The state of the log that its files contain.
    pub known: Known,
    /// Its files, in order.
    pub files: Vec<FileEntry>,
}

/// One file of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEntry {
    /// Relative, with slashes.
    pub path: String,
    /// Its length.
    pub bytes: u64,
    /// The names of its pieces.
    pub pieces: Vec<String>,
}

/// The statistics of a stored checkpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Published {
    /// Bytes of all its files.
    pub bytes: u64,
    /// Of these, bytes that were not in the bucket.
    pub new_bytes: u64,
    /// Entries that were removed from the log.
    pub trimmed: u64,
}

impl Manifest {
    fn pieces(&self) -> impl Iterator<Item = &str> {
        self.files.iter().flat_map(|file| file.pieces.iter().map(String::as_str))
    }
}

/// Stores the files below `folder` as the checkpoint of `known`, keeps the newest `keep` checkpoints, and trims the log up to the
/// oldest of them. For the owner of `known.epoch` alone.
///
/// # Errors
/// `Unreachable`: nothing is lost, and the next one does what is left.
pub fn publish(log: &dyn Log, folder: &Path, known: &Known, keep: usize) -> Result<Published> {
    let base = log.base();
    let bucket = base.bucket();
    let newest = base.checkpoints()?.pop();
    // Pieces of the newest alone: those of older ones may be about to go.
    let before = newest.map(|mark| base.manifest(mark)).transpose().or_else(|error| match error {
        ClusterError::Corrupt { .. } => Ok(None),
        error => Err(error),
    })?;
    let known_pieces: HashMap<&str, &str> =
        before.iter().flat_map(Manifest::pieces).filter_map(|name| Some((name.split_once('-')?.1, name))).collect();
    let mut published = Published::default();
    let mut files = Vec::new();
    for path in list(folder)? {
        let full = folder.join(&path);
        let mut source = File::open(&full).map_err(ClusterError::io(&full))?;
        let mut entry = FileEntry { path, bytes: 0, pieces: Vec::new() };
        loop {
            let mut piece = Vec::new();
            let read = (&mut source).take(PIECE_BYTES as u64).read_to_end(&mut piece);
            read.map_err(ClusterError::io(&full))?;
            if piece.is_empty() {
                break;
            }
            let bytes = piece.len() as u64;
            let hash = blake3::hash(&piece).to_hex();
            let name = match known_pieces.get(hash.as_str()) {
                Some(name) => (*name).to_string(),
                None => {
                    let name = format!("{:010}-{hash}", known.epoch);
                    bucket.create(&format!("{PIECES}/{name}"), piece)?;
                    published.new_bytes += bytes;
                    name
                }
            };
            entry.pieces.push(name);
            entry.bytes += bytes;
        }
        published.bytes += entry.bytes;
        files.push(entry);
    }
    base.publish(&Manifest { cluster: base.cluster(), known: known.clone(), files })?;
    published.trimmed = forget_old(log, known, keep)?;
    Ok(published)
}

/// Removes what only checkpoints before the newest `keep` need. How many entries of the log went.
fn forget_old(log: &dyn Log, own: &Known, keep: usize) -> Result<u64> {
    let base = log.base();
    let marks = base.checkpoints()?;
    if !marks.contains(&own.mark()) {
        return Ok(0); // a later owner has forgotten it
    }
    let (old, kept) = marks.split_at(marks.len().saturating_sub(keep.max(1)));
    let mut needed = HashSet::new();
    for mark in kept {
        match base.manifest(*mark) {
            Ok(manifest) => needed.extend(manifest.pieces().map(String::from)),
            // The needs of a damaged checkpoint are unknown, so nothing is removed.
            Err(ClusterError::Corrupt { .. }) => return Ok(0),
            Err(error) => return Err(error),
        }
    }
    for mark in old {
        base.forget(*mark)?;
    }
    let is_old = |name: &str| epoch_of(name).is_some_and(|epoch| epoch <= own.epoch);
    let stored = base.bucket().list(PIECES, "")?;
    let gone = stored.iter().filter(|(name, _)| is_old(name) && !needed.contains(name));
    base.bucket().remove_all(&gone.map(|(name, _)| format!("{PIECES}/{name}")).collect::<Vec<_>>())?;
    match kept.first() {
        Some(oldest) if keep == 1 || kept.len() > 1 => log.trim(oldest.slot),
        // The only one: if it is damaged, the log from its beginning is what is left.
        _ => Ok(0),
    }
}

fn epoch_of(piece: &str) -> Option<Epoch> {
    piece.split_once('-')?.0.parse().ok()
}

/// Writes the newest checkpoint that is whole into `folder`, which must be empty, and returns what it has of the log. `None` when
/// there is no checkpoint. `told` hears of those that are damaged.
///
/// # Errors
/// `Corrupt`, naming the object, when all are damaged; `Unreachable`; `Io`.
pub fn restore(base: &Base, folder: &Path, told: &mut dyn FnMut(&ClusterError)) -> Result<Option<Known>> {
    loop {
        let checkpoints = base.checkpoints()?;
        let restored = restore_newest(base, &checkpoints, folder, told);
        let is_damaged = matches!(restored, Err(ClusterError::Corrupt { .. } | ClusterError::NotFound(_)));
        // They may have been replaced by newer ones meanwhile.
        if !is_damaged || base.checkpoints()?.last() == checkpoints.last() {
            return restored;
        }
    }
}

fn restore_newest(
    base: &Base,
    checkpoints: &[Mark],
    folder: &Path,
    told: &mut dyn FnMut(&ClusterError),
) -> Result<Option<Known>> {
    let mut damage = None;
    for mark in checkpoints.iter().rev() {
        let restored = base.manifest(*mark).and_then(|manifest| {
            restore_one(base.bucket(), &manifest, folder)?;
            Ok(manifest.known)
        });
        match restored {
            Ok(known) => return Ok(Some(known)),
            Err(error @ (ClusterError::Corrupt { .. } | ClusterError::NotFound(_))) => {
                told(&error);
                damage.get_or_insert(error);
            }
            Err(error) => return Err(error),
        }
        clear(folder)?;
    }
    damage.map_or(Ok(None), Err)
}

#[allow(clippy::disallowed_methods, reason = "each file is synced before the copy is said to be whole")]
fn restore_one(bucket: &Bucket, manifest: &Manifest, folder: &Path) -> Result<()> {
    for file in &manifest.files {
        let path = inside(folder, &file.path)?;
        let parent = path.parent().unwrap_or(folder);
        std::fs::create_dir_all(parent).map_err(ClusterError::io(parent))?;
        let mut target = File::create(&path).map_err(ClusterError::io(&path))?;
        let mut written = 0;
        for name in &file.pieces {
            let bytes = piece(bucket, name)?;
            target.write_all(&bytes).map_err(ClusterError::io(&path))?;
            written += bytes.len() as u64;
        }
        target.sync_all().map_err(ClusterError::io(&path))?;
        if written != file.bytes {
            let what = format!("{} has {written} bytes instead of {}", file.path, file.bytes);
            return Err(bucket.corrupt(&format!("checkpoint {}", manifest.known.slot), what, DAMAGED));
        }
    }
    Ok(())
}

fn piece(bucket: &Bucket, name: &str) -> Result<Vec<u8>> {
    let key = format!("{PIECES}/{name}");
    let bytes = bucket.get(&key)?.ok_or_else(|| bucket.corrupt(&key, "it is missing", DAMAGED))?;
    match name.split_once('-').is_some_and(|(_, hash)| blake3::hash(&bytes).to_hex().as_str() == hash) {
        true => Ok(bytes),
        false => Err(bucket.corrupt(&key, "its bytes do not match the hash in its name", DAMAGED)),
    }
}

/// Reads every piece of every checkpoint and every entry behind the oldest one, and returns the damage found.
///
/// # Errors
/// `Unreachable`.
pub fn verify(log: &dyn Log) -> Result<Vec<ClusterError>> {
    let base = log.base();
    let mut damage = Vec::new();
    let mut note = |outcome: Result<()>| match outcome {
        Err(error @ (ClusterError::Corrupt { .. } | ClusterError::NotFound(_))) => {
            damage.push(error);
            Ok(())
        }
        outcome => outcome,
    };
    let mut read = HashSet::new();
    let checkpoints = base.checkpoints()?;
    for mark in &checkpoints {
        match base.manifest(*mark) {
            Ok(manifest) => {
                for name in manifest.pieces() {
                    if read.insert(name.to_string()) {
                        note(piece(base.bucket(), name).map(drop))?;
                    }
                }
            }
            Err(error) => note(Err(error))?,
        }
    }
    let from = checkpoints.first().map_or(0, |oldest| oldest.slot);
    let mut expected = from + 1;
    for (slot, _) in log.slots(from)? {
        if slot != expected {
            let what = format!("slots {expected} to {} are missing", slot - 1);
            let (place, object, remedy) = (log.address().into(), "groups/0/log".into(), "restore them from a copy");
            note(Err(ClusterError::Corrupt { place, object, what, remedy }))?;
        }
        expected = slot + 1;
        note(log.read(slot).map(drop))?;
    }
    // A log that knows where it ends misses its last entry here.
    note(log.read(expected).map(drop))?;
    Ok(damage)
}

/// Empties a folder.
///
/// # Errors
/// `Io`.
pub fn clear(folder: &Path) -> Result<()> {
    if folder.exists() {
        std::fs::remove_dir_all(folder).map_err(ClusterError::io(folder))?;
    }
    std::fs::create_dir_all(folder).map_err(ClusterError::io(folder))
}

/// A path of a manifest, which may not leave the folder.
fn inside(folder: &Path, path: &str) -> Result<PathBuf> {
    let relative = Path::new(path);
    match relative.components().all(|part| matches!(part, Component::Normal(_))) {
        true => Ok(folder.join(relative)),
        false => Err(ClusterError::Invalid(format!("a checkpoint names the file {path:?}, which is outside of it"))),
    }
}

/// The files below a folder, relative to it, in order.
fn list(folder: &Path) -> Result<Vec<String>> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(at) = folders.pop() {
        for entry in std::fs::read_dir(&at).map_err(ClusterError::io(&at))? {
            let path = entry.map_err(ClusterError::io(&at))?.path();
            match path.is_dir() {
                true => folders.push(path),
                false => {
                    let parts = path.strip_prefix(folder).unwrap_or(&path).iter();
                    files.push(parts.map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/"));
                }
            }
        }
    }
    files.sort();
    Ok(files)
}
