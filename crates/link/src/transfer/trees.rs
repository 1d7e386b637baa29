//! Reading the trees of an export: everything is looked at before anything is written, and what was written goes again when
//! something fails.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use nuthatch_engine::codec::Bytes;
use nuthatch_engine::durability::Durability;
use nuthatch_engine::ops::trees::EndImportOf;
use nuthatch_engine::transfer::manifest::{ContentsEntry, ExportedTree, Manifest};
use nuthatch_engine::transfer::tree::{ContentLine, SnapshotLine, TreeLine};
use nuthatch_engine::transfer::{bad_line, inside};
use nuthatch_engine::tree::{
    BeginImport, ContentId, EndImport, EntryKind, ImportVersions, TreeEntry, TreeSnapshot, check_path, check_tree,
};
use nuthatch_engine::{Error, Result, What, wording};

use super::{ImportOptions, tell};
use crate::{Database, Tree};

/// Versions of one batch, and bytes of its contents after which it ends.
const BATCH_VERSIONS: usize = 1_000;
const BATCH_BYTES: usize = 8 << 20;

/// Where a content or a chunk is in the file of the contents.
#[derive(Clone, Copy)]
struct Place {
    number: u64,
    at: u64,
    line_bytes: usize,
    /// Of what it has.
    bytes: u64,
}

/// The contents of an export, each of which was compared with its hash.
struct Contents {
    path: PathBuf,
    file: File,
    chunks: HashMap<ContentId, Place>,
    contents: HashMap<ContentId, Place>,
}

/// Trees that were looked at, and can be imported.
pub(super) struct Trees {
    folder: PathBuf,
    entries: Vec<ExportedTree>,
    contents: Option<Contents>,
    sequences: u64,
}

/// Looks at all trees of an export.
///
/// # Errors
/// `Invalid`, with file and line, for whatever is not as an export writes it, or has another hash.
pub(super) fn look(
    db: &Database,
    folder: &Path,
    manifest: &Manifest,
    options: &mut ImportOptions<'_>,
) -> Result<Trees> {
    let known = db.tree_names()?;
    let mut found =
        Trees { folder: folder.to_path_buf(), entries: manifest.trees.clone(), contents: None, sequences: 0 };
    for entry in manifest.trees.iter().filter(|entry| known.contains(&entry.name)) {
        if !options.merge || !is_same(&db.existing_tree(&entry.name)?, entry)? {
            let why =
                format!("tree {:?} already exists; drop it first, or import into another data folder", entry.name);
            return Err(Error::invalid(why).about(What::Tree, &entry.name));
        }
    }
    found.entries.retain(|entry| !known.contains(&entry.name)); // an import that was interrupted goes on
    if found.entries.is_empty() {
        return Ok(found);
    }
    if let Some(entry) = &manifest.contents {
        found.contents = Some(Contents::look(&inside(folder, &entry.file)?, entry, options)?);
    }
    for entry in found.entries.clone() {
        check_tree(&entry.name)?;
        found.look_at(&entry)?;
    }
    Ok(found)
}

/// Whether a tree is what an import of this entry makes.
fn is_same(tree: &Tree, entry: &ExportedTree) -> Result<bool> {
    let info = tree.info()?;
    let counts = (info.created_ms, info.versions, info.snapshots);
    Ok(counts == (entry.created_ms, entry.versions, entry.snapshots) && tree.root(None, "")?.root == entry.root)
}

impl Contents {
    fn look(path: &Path, entry: &ContentsEntry, options: &mut ImportOptions<'_>) -> Result<Self> {
        let file = File::open(path).map_err(|error| Error::io(path, &error))?;
        let mut contents = Self { path: path.to_path_buf(), file, chunks: HashMap::new(), contents: HashMap::new() };
        let mut at = 0;
        each_line(path, entry.hash, &mut |number, text| {
            let place = Place { number, at, line_bytes: text.len(), bytes: 0 };
            at += text.len() as u64;
            contents.take(place, text).map_err(|error| bad_line(path, number, error.message))?;
            tell(options, "contents of trees", number, entry.chunks + entry.contents)
        })?;
        let has = (contents.chunks.len() as u64, contents.contents.len() as u64);
        if has != (entry.chunks, entry.contents) {
            return Err(Error::invalid(format!(
                "{} has {} chunks and {} contents, and the manifest says {} and {}: the file is not whole",
                path.display(),
                has.0,
                has.1,
                entry.chunks,
                entry.contents
            )));
        }
        Ok(contents)
    }

    fn take(&mut self, place: Place, text: &str) -> Result<()> {
        let line: ContentLine = wording::from_json(text.as_bytes()).map_err(|why| Error::invalid(why.to_string()))?;
        let data = line.data()?;
        let other = || Error::invalid("the bytes have another hash than the one that the line names");
        match (line, data) {
            (ContentLine { chunk: Some(id), content: None, bytes: None, chunks: None, .. }, Some(data)) => {
                if ContentId::of(&data) != id {
                    return Err(other());
                }
                self.chunks.insert(id, Place { bytes: data.len() as u64, ..place });
            }
            (ContentLine { content: Some(id), chunk: None, bytes: Some(bytes), chunks: None, .. }, Some(data)) => {
                if ContentId::of(&data) != id || data.len() as u64 != bytes {
                    return Err(other());
                }
                self.contents.insert(id, Place { bytes, ..place });
            }
            (ContentLine { content: Some(id), chunk: None, bytes: Some(bytes), chunks: Some(chunks), .. }, None) => {
                let (mut hasher, mut found) = (blake3::Hasher::new(), 0);
                for chunk in &chunks {
                    let data = self.chunk(chunk)?;
                    hasher.update(&data);
                    found += data.len() as u64;
                }
                if ContentId(*hasher.finalize().as_bytes()) != id || found != bytes {
                    return Err(other());
                }
                self.contents.insert(id, Place { bytes, ..place });
            }
            _ => {
                return Err(Error::invalid(
                    "a line has `chunk` and `data`, or `content`, `bytes` and `data` or `chunks`",
                ));
            }
        }
        Ok(())
    }

    fn chunk(&mut self, id: &ContentId) -> Result<Vec<u8>> {
        let place = self.chunks.get(id).copied();
        let place = place.ok_or_else(|| Error::invalid(format!("chunk {id} does not come before it")))?;
        self.line(place)?.data()?.ok_or_else(|| self.changed(place))
    }

    fn line(&mut self, place: Place) -> Result<ContentLine> {
        let mut text = vec![0; place.line_bytes];
        let read = self.file.seek(SeekFrom::Start(place.at)).and_then(|_| self.file.read_exact(&mut text));
        read.map_err(|error| Error::io(&self.path, &error))?;
        wording::from_json(&text).map_err(|_| self.changed(place))
    }

    fn changed(&self, place: Place) -> Error {
        bad_line(&self.path, place.number, "it changed while it was imported")
    }

    /// Hands over the bytes of a content, in pieces of some hundred KiB.
    fn read(&mut self, id: &ContentId, take: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let place = self.contents.get(id).copied().ok_or_else(|| Error::internal("a content was not looked at"))?;
        let line = self.line(place)?;
        match (line.data()?, line.chunks) {
            (Some(data), _) => take(&data),
            (None, Some(chunks)) => chunks.iter().try_for_each(|chunk| take(&self.chunk(chunk)?)),
            (None, None) => Err(self.changed(place)),
        }
    }
}

impl Trees {
    fn look_at(&mut self, entry: &ExportedTree) -> Result<()> {
        let path = inside(&self.folder, &entry.file)?;
        let (mut last, mut has): (Option<(String, u64)>, _) = (None, (0, 0));
        let (contents, sequences) = (&self.contents, &mut self.sequences);
        each_tree_line(&path, entry.hash, &mut |number, line| {
            let wrong = |why: &str| Err(bad_line(&path, number, why));
            let sequence = match line {
                TreeLine::Version(_) if has.1 > 0 => return wrong("versions come before snapshots"),
                TreeLine::Version(version) => {
                    has.0 += 1;
                    let version = version.into_entry().map_err(|error| bad_line(&path, number, error.message))?;
                    check_path(&version.path).map_err(|error| bad_line(&path, number, error.message))?;
                    let place = (version.path.clone(), !version.sequence);
                    if last.as_ref().is_some_and(|last| *last >= place) {
                        return wrong("versions come by path, of each path the newest first");
                    }
                    last = Some(place);
                    let known = |id: &ContentId| contents.as_ref()?.contents.get(id).map(|place| place.bytes);
                    match (version.kind, &version.content) {
                        (EntryKind::File, Some(id)) if known(id) == Some(version.bytes) => {}
                        (EntryKind::File, _) => return wrong("the contents of the export lack the bytes of this file"),
                        _ => {}
                    }
                    version.sequence
                }
                TreeLine::Snapshot(snapshot) => {
                    has.1 += 1;
                    snapshot.sequence
                }
            };
            *sequences = sequence.max(*sequences);
            Ok(())
        })?;
        if has != (entry.versions, entry.snapshots) {
            return Err(Error::invalid(format!(
                "{} has {} versions and {} snapshots, and the manifest says {} and {}: the file is not whole",
                path.display(),
                has.0,
                has.1,
                entry.versions,
                entry.snapshots
            )));
        }
        Ok(())
    }

    /// Writes them. When that fails, the database has none of them.
    pub(super) fn import(mut self, db: &Database, options: &mut ImportOptions<'_>) -> Result<Vec<String>> {
        let names: Vec<String> = self.entries.iter().map(|entry| entry.name.clone()).collect();
        let Some(first) = names.first() else { return Ok(names) };
        let begin = BeginImport { trees: names.clone(), sequences: self.sequences };
        let base = db.tree(first)?.write(begin)?;
        let imported = std::mem::take(&mut self.entries)
            .into_iter()
            .try_for_each(|entry| self.import_tree(db, base, &entry, options));
        if imported.is_err() {
            for name in &names {
                // The caller gets the first error; the next process would remove the leftovers.
                drop(db.tree(name).and_then(|tree| tree.write(EndImportOf(name.clone()))));
                drop(db.drop_tree(name));
            }
        }
        imported.map(|()| names)
    }

    fn import_tree(
        &mut self,
        db: &Database,
        base: u64,
        entry: &ExportedTree,
        options: &mut ImportOptions<'_>,
    ) -> Result<()> {
        let tree = db.tree(&entry.name)?.with_durability(Durability::Os);
        let path = inside(&self.folder, &entry.file)?;
        let mut batch = Sending {
            tree: &tree,
            base,
            sent: HashSet::new(),
            next: Vec::new(),
            contents: Vec::new(),
            bytes: 0,
            uploads: Vec::new(),
        };
        let (mut snapshots, mut done) = (Vec::new(), 0);
        let contents = &mut self.contents;
        each_tree_line(&path, None, &mut |number, line| match line {
            TreeLine::Version(version) => {
                let version = version.into_entry().map_err(|error| bad_line(&path, number, error.message))?;
                batch.push(version, contents.as_mut())?;
                done += 1;
                tell(options, &entry.name, done, entry.versions)
            }
            TreeLine::Snapshot(snapshot) => {
                snapshots.push(snapshot);
                Ok(())
            }
        })?;
        batch.send()?;
        let named = snapshots.iter().map(|SnapshotLine { name, sequence, created_ms, .. }| TreeSnapshot {
            name: name.clone(),
            sequence: *sequence,
            created_ms: *created_ms,
        });
        let ExportedTree { name, created_ms, retention, .. } = entry.clone();
        let end = EndImport { tree: name, base, created_ms, retention, snapshots: named.collect() };
        tree.with_durability(Durability::Commit).write(end)?;
        let moments: Vec<_> = snapshots.iter().map(|snapshot| Some(snapshot.name.clone())).chain([None]).collect();
        let roots = tree.roots(&moments, "")?;
        let expected = snapshots.iter().map(|snapshot| snapshot.root).chain([entry.root]);
        for ((root, expected), moment) in roots.iter().zip(expected).zip(&moments) {
            if root.root != expected {
                let of = moment.as_deref().unwrap_or("the newest state");
                return Err(Error::invalid(format!(
                    "{}: {of} of tree {:?} has the root {} and not {expected}, which the export says",
                    path.display(),
                    entry.name,
                    root.root
                )));
            }
        }
        Ok(())
    }
}

/// A batch of versions with the bytes that it needs.
struct Sending<'t> {
    tree: &'t Tree,
    base: u64,
    sent: HashSet<ContentId>,
    next: Vec<TreeEntry>,
    contents: Vec<Bytes>,
    bytes: usize,
    uploads: Vec<u64>,
}

impl Sending<'_> {
    fn push(&mut self, version: TreeEntry, contents: Option<&mut Contents>) -> Result<()> {
        if let (Some(id), Some(contents)) = (&version.content, contents)
            && self.sent.insert(*id)
        {
            match version.bytes as usize <= BATCH_BYTES {
                true => {
                    let mut whole = Vec::with_capacity(version.bytes as usize);
                    contents.read(id, &mut |part| {
                        whole.extend_from_slice(part);
                        Ok(())
                    })?;
                    self.bytes += whole.len();
                    self.contents.push(Bytes(whole));
                }
                false => self.upload(id, version.bytes, contents)?,
            }
        }
        self.next.push(version);
        match self.next.len() < BATCH_VERSIONS && self.bytes < BATCH_BYTES {
            true => Ok(()),
            false => self.send(),
        }
    }

    fn upload(&mut self, id: &ContentId, bytes: u64, contents: &mut Contents) -> Result<()> {
        let upload = self.tree.begin_upload()?;
        self.uploads.push(upload);
        let (mut part, mut offset) = (Vec::new(), 0);
        let mut send = |part: &mut Vec<u8>, is_last: bool| {
            let (from, taken) = (offset, std::mem::take(part));
            offset += taken.len() as u64;
            self.tree.upload(upload, from, taken, is_last)
        };
        let mut read = 0;
        contents.read(id, &mut |piece| {
            read += piece.len() as u64;
            part.extend_from_slice(piece);
            match part.len() >= BATCH_BYTES && read < bytes {
                true => send(&mut part, false),
                false => Ok(()),
            }
        })?;
        send(&mut part, true)
    }

    fn send(&mut self) -> Result<()> {
        if self.next.is_empty() {
            return Ok(());
        }
        self.bytes = 0;
        self.tree.write(ImportVersions {
            tree: self.tree.name().into(),
            base: self.base,
            versions: std::mem::take(&mut self.next),
            contents: std::mem::take(&mut self.contents),
            uploads: std::mem::take(&mut self.uploads),
        })
    }
}

fn each_tree_line(
    path: &Path,
    hash: Option<ContentId>,
    visit: &mut dyn FnMut(u64, TreeLine) -> Result<()>,
) -> Result<()> {
    each_line(path, hash, &mut |number, text| {
        let line = wording::from_json(text.as_bytes()).map_err(|why| bad_line(path, number, why))?;
        visit(number, line)
    })
}

/// Visits the lines of a file.
///
/// # Errors
/// Those of `visit`; at the end `Invalid` for a file that has another hash than the one given.
pub(super) fn each_line(
    path: &Path,
    hash: Option<ContentId>,
    visit: &mut dyn FnMut(u64, &str) -> Result<()>,
) -> Result<()> {
    let file = File::open(path).map_err(|error| Error::io(path, &error))?;
    let mut source = BufReader::with_capacity(1 << 18, file);
    let (mut text, mut hasher) = (String::new(), blake3::Hasher::new());
    for number in 1.. {
        text.clear();
        let read = source.read_line(&mut text).map_err(|error| match error.kind() {
            std::io::ErrorKind::InvalidData => bad_line(path, number, "it is not UTF-8"),
            _ => Error::io(path, &error),
        })?;
        if read == 0 {
            break;
        }
        hasher.update(text.as_bytes());
        visit(number, &text)?;
    }
    let found = ContentId(*hasher.finalize().as_bytes());
    match hash.is_none_or(|hash| hash == found) {
        true => Ok(()),
        false => Err(Error::invalid(format!(
            "{} has another hash than the manifest says: it was damaged or changed",
            path.display()
        ))),
    }
}
