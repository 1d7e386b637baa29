//! Writing files, folders and links into a tree: one call, one batch, one sequence.

use std::collections::HashSet;

use nuthatch_filter::{FieldChange, Payload};
use serde::{Deserialize, Serialize};

use crate::call::Outcome;
use crate::folder::FORMAT_OF_TREE_FIELDS;
use crate::kv::Live;
use crate::tree::content::Prepared;
use crate::tree::draft::{self, Draft};
use crate::tree::fields::{self, Condition, check_change};
use crate::tree::history::{self, Kept};
use crate::tree::path::{check_path, check_tree};
use crate::tree::value::{Content, Held, Piece, Tree, Version};
use crate::tree::{Retention, Trees, key, upload};
use crate::{Error, ErrorKind, Result};

/// Bytes of files in one call; larger files come by an upload.
pub const PUT_BYTES_MAX: usize = 64 << 20;
/// Paths in one call.
pub const PUT_PATHS_MAX: usize = 10_000;
/// Times that a call's bytes are in memory while they are written.
const COPIES: u64 = 3;
const PATH_OVERHEAD_BYTES: u64 = 1_024;

/// An entry to put at one path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PutFile {
    /// Relative, with `/` between its parts.
    pub path: String,
    /// Permission bits, for example `0o644`.
    pub mode: u32,
    /// When it was changed last, in nanoseconds since 1970.
    pub modified_ns: i64,
    /// The contents of the entry.
    pub what: PutWhat,
}

/// A file with its bytes, a folder or a link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PutWhat {
    /// A file with these bytes.
    File(#[serde(with = "crate::codec::bytes")] Vec<u8>),
    /// A file whose bytes came before, by an upload.
    Uploaded(u64),
    /// A folder, for its own mode and time.
    Folder,
    /// A symbolic link, with its target as it is spelt.
    Link(String),
}

/// Changes of a tree that become visible together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PutFiles {
    /// The tree, which is made when there is none.
    pub tree: String,
    /// The entries to put, each path once.
    pub files: Vec<PutFile>,
    /// Paths that are gone, each by itself: what lies below one stays.
    pub gone: Vec<String>,
    /// Paths that stay as they are, but for their fields. One at which nothing stands is passed over.
    pub kept: Vec<String>,
    /// The change to the fields of all files and links that are put and kept; folders have none. A file that is put
    /// again keeps its other fields.
    #[serde(with = "crate::codec::change")]
    pub change: FieldChange,
}

/// The result of a [`PutFiles`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PutReport {
    /// The sequence of the tree's newest write.
    pub sequence: u64,
    /// Paths that were not there.
    pub added: u64,
    /// Paths that were there with something else.
    pub changed: u64,
    /// Paths that were there in the same way; nothing is written for them.
    pub unchanged: u64,
    /// Paths that are gone now.
    pub gone: u64,
}

impl PutFiles {
    fn check(&self) -> Result<()> {
        check_tree(&self.tree)?;
        check_change(&self.change)?;
        let count = self.files.len() + self.gone.len() + self.kept.len();
        if count > PUT_PATHS_MAX {
            return Err(Error::invalid(format!("one call cannot write {count} paths; send at most {PUT_PATHS_MAX}")));
        }
        let bytes: usize = self.files.iter().map(PutFile::bytes).sum();
        if bytes > PUT_BYTES_MAX {
            let why =
                format!("one call cannot write {bytes} bytes; send at most {PUT_BYTES_MAX}, or upload the file first");
            return Err(Error::new(ErrorKind::Exhausted, why));
        }
        let mut seen = HashSet::with_capacity(count);
        for path in self.files.iter().map(|file| &file.path).chain(&self.gone).chain(&self.kept) {
            check_path(path)?;
            if !seen.insert(path) {
                return Err(Error::invalid(format!("the path {path:?} is there twice; give each path once")));
            }
        }
        self.files.iter().try_for_each(|file| match &file.what {
            PutWhat::Link(target) if target.is_empty() || target.contains('\0') => {
                Err(Error::invalid(format!("the link {:?} has no target that a link can have", file.path)))
            }
            _ => Ok(()),
        })
    }
}

impl PutFile {
    fn bytes(&self) -> usize {
        match &self.what {
            PutWhat::File(bytes) => bytes.len(),
            PutWhat::Link(target) => target.len(),
            PutWhat::Folder | PutWhat::Uploaded(_) => 0,
        }
    }
}

/// A path with what will stand there.
struct Coming {
    path: String,
    mode: u32,
    modified_ns: i64,
    what: Source,
}

enum Source {
    File(Prepared),
    Uploaded(upload::Arrived),
    Folder,
    Link(String),
    Gone,
    /// The entry that is there already.
    Kept,
}

impl Trees {
    /// Writes files, folders and links, and removes paths, all or nothing.
    ///
    /// # Errors
    /// `Invalid` for a path that a tree cannot have, or one that is there twice; `Exhausted` for more than 64 MiB;
    /// `NotFound` for an upload that has ended.
    pub fn put(&self, put: PutFiles) -> Result<PutReport> {
        self.put_if(put, None)
    }

    /// The same, where of the paths that are kept only those change that pass a condition when it is written.
    pub(super) fn put_if(&self, put: PutFiles, condition: Option<&str>) -> Result<PutReport> {
        put.check()?;
        let condition = Condition::of(condition)?;
        let space = &*self.keyspace.space;
        let bytes = put.files.iter().map(PutFile::bytes).sum::<usize>() as u64 * COPIES;
        let paths = (put.files.len() + put.gone.len() + put.kept.len()) as u64;
        let reservation = space.shared.reserve_to_write(bytes + paths * PATH_OVERHEAD_BYTES)?;
        let PutFiles { tree, files, gone, kept, change } = put;
        if !change.is_empty() {
            space.shared.folder.raise_format(FORMAT_OF_TREE_FIELDS)?;
        }
        let mut coming = files.into_iter().map(|file| self.prepare(file)).collect::<Result<Vec<_>>>()?;
        coming.extend(gone.into_iter().map(|path| Coming { path, mode: 0, modified_ns: 0, what: Source::Gone }));
        coming.extend(kept.into_iter().map(|path| Coming { path, mode: 0, modified_ns: 0, what: Source::Kept }));
        let (report, position) = draft::change(space, &self.keyspace.call, |draft| {
            let report = Writing::new(draft, &tree)?.write(&coming, &change, condition.as_ref())?;
            Ok((report, report.outcome()))
        })?;
        let Some(position) = position else { return Ok(report) }; // durable since the write that made it so
        drop(reservation);
        space.shared.make_durable(position, self.keyspace.durability)?;
        self.attached.uploads.forget(coming.iter().filter_map(|coming| match &coming.what {
            Source::Uploaded(arrived) => Some(arrived.upload),
            _ => None,
        }));
        Ok(report)
    }

    fn prepare(&self, file: PutFile) -> Result<Coming> {
        let space = &*self.keyspace.space;
        let what = match file.what {
            PutWhat::File(bytes) => Source::File(Prepared::new(bytes, |id| {
                let store = space.shared.store()?;
                Ok(space.stored(&*store, &key::content(id), space.now_ms())?.is_some())
            })?),
            PutWhat::Uploaded(upload) => Source::Uploaded(self.attached.uploads.arrived(upload)?),
            PutWhat::Folder => Source::Folder,
            PutWhat::Link(target) => Source::Link(target),
        };
        Ok(Coming { path: file.path, mode: file.mode & 0o7777, modified_ns: file.modified_ns, what })
    }
}

impl Coming {
    /// As it will be stored, where `current` stands now.
    fn held(&self, current: Option<&Version>) -> Held {
        match &self.what {
            Source::Kept => current.map_or(Held::Gone, |current| current.what.clone()),
            Source::File(prepared) => Held::File { content: prepared.id, bytes: prepared.data.len() as u64 },
            Source::Uploaded(arrived) => Held::File { content: arrived.id, bytes: arrived.bytes },
            Source::Folder => Held::Folder,
            Source::Link(target) => Held::Link(target.clone()),
            Source::Gone => Held::Gone,
        }
    }
}

impl PutReport {
    fn outcome(&self) -> Outcome {
        Outcome {
            inserted: self.added,
            replaced: self.changed,
            deleted: self.gone,
            files: self.unchanged,
            value: self.sequence as i64,
            ..Outcome::default()
        }
    }

    /// That of a write that was found done.
    pub(crate) fn again(outcome: Outcome) -> Self {
        Self {
            sequence: outcome.value as u64,
            added: outcome.inserted,
            changed: outcome.replaced,
            unchanged: outcome.files,
            gone: outcome.deleted,
        }
    }
}

/// One batch of a tree's versions.
pub(crate) struct Writing<'d, 's> {
    pub draft: &'d mut Draft<'s>,
    name: &'d str,
    tree: Tree,
    before: Option<Tree>,
    kept: Kept,
    now_ms: u64,
    /// Taken with the first change.
    sequence: Option<u64>,
}

impl<'d, 's> Writing<'d, 's> {
    /// # Errors
    /// `Conflict` for a tree that is being imported.
    pub fn new(draft: &'d mut Draft<'s>, name: &'d str) -> Result<Self> {
        if draft.get::<u64>(&key::import(name))?.is_some() {
            let why = format!("tree {name:?} is being imported; write to it afterwards, or choose another name");
            return Err(Error::new(ErrorKind::Conflict, why));
        }
        Self::begin(draft, name)
    }

    pub fn begin(draft: &'d mut Draft<'s>, name: &'d str) -> Result<Self> {
        let now_ms = draft.space.now_ms();
        let before: Option<Tree> = draft.get(&key::tree(name))?;
        let tree = before.clone().unwrap_or_else(|| Tree {
            created_ms: now_ms,
            retention: Retention::default(),
            files: 0,
            bytes: 0,
            versions: 0,
        });
        let rows = Live { space: draft.space, reader: draft.reader };
        let kept = Kept::of(&rows, name, tree.retention, now_ms)?;
        Ok(Self { draft, name, tree, before, kept, now_ms, sequence: None })
    }

    fn write(mut self, coming: &[Coming], change: &FieldChange, condition: Option<&Condition>) -> Result<PutReport> {
        let mut report = PutReport::default();
        for coming in coming {
            self.write_version(coming, change, condition, &mut report)?;
        }
        report.sequence = self.finish()?;
        Ok(report)
    }

    /// Writes the tree's own row where it has changed. Returns the sequence of its newest write.
    pub fn finish(self) -> Result<u64> {
        if self.before.as_ref() != Some(&self.tree) {
            self.draft.put(key::tree(self.name), &self.tree)?;
        }
        Ok(self.draft.sequence)
    }

    fn write_version(
        &mut self,
        coming: &Coming,
        change: &FieldChange,
        condition: Option<&Condition>,
        report: &mut PutReport,
    ) -> Result<()> {
        let (path, source) = (&coming.path[..], &coming.what);
        let rows = Live { space: self.draft.space, reader: self.draft.reader };
        let mut versions = history::versions(&rows, self.name, path)?;
        let current = versions.first().filter(|(_, version)| version.what != Held::Gone);
        if let (Source::Kept, Some(condition), Some((sequence, version))) = (source, condition, current)
            && !condition.passes(path, *sequence, version)
        {
            return Ok(()); // somebody has changed it since it was looked at
        }
        let current = current.map(|(_, version)| version);
        let what = coming.held(current);
        let fields = match (&what, current) {
            (Held::Gone | Held::Folder, _) => Payload::new(),
            (_, Some(current)) => fields::changed(path, &current.fields, change)?,
            (_, None) => fields::changed(path, &Payload::new(), change)?,
        };
        let (mode, modified_ns) = match (source, current) {
            (Source::Kept, Some(current)) => (current.mode, current.modified_ns),
            _ => (coming.mode, coming.modified_ns),
        };
        let version = Version { what, mode, modified_ns, recorded_ms: self.now_ms, fields };
        let is_same = |current: &Version| {
            (&current.what, current.mode, current.modified_ns, &current.fields)
                == (&version.what, version.mode, version.modified_ns, &version.fields)
        };
        match (current, &version.what) {
            (None, Held::Gone) => return Ok(()),
            (Some(current), _) if is_same(current) => {
                report.unchanged += 1;
                return match source {
                    Source::Uploaded(arrived) => self.draft.drop_upload(arrived),
                    _ => Ok(()),
                };
            }
            (Some(_), Held::Gone) => report.gone += 1,
            (Some(_), _) => report.changed += 1,
            (None, _) => report.added += 1,
        }
        let before = current.map(|current| current.what.clone());
        self.count(before.as_ref(), -1);
        self.count(Some(&version.what), 1);
        match source {
            Source::File(prepared) => drop(self.draft.hold(prepared)?),
            Source::Uploaded(arrived) => self.draft.hold_upload(arrived)?,
            Source::Kept => version.what.content().map_or(Ok(()), |content| self.draft.hold_again(content))?,
            Source::Folder | Source::Link(_) | Source::Gone => {}
        }
        let sequence = match self.sequence {
            Some(sequence) => sequence,
            None => *self.sequence.insert(self.draft.next_sequence()?),
        };
        self.draft.put(key::version(self.name, path, sequence), &version)?;
        self.draft.put_mark(key::change(self.name, sequence, path));
        if let Held::File { content, bytes } = &version.what {
            self.draft.note_path((self.name, path, sequence), content, *bytes)?;
        }
        self.tree.versions += 1;
        versions.insert(0, (sequence, version));
        self.retain(path, &versions)
    }

    /// Removes the versions of a path that need not be kept, of which these are all, the newest first.
    pub fn retain(&mut self, path: &str, versions: &[(u64, Version)]) -> Result<()> {
        for at in self.kept.superfluous(versions) {
            self.remove_version(path, versions[at].0, &versions[at].1)?;
        }
        Ok(())
    }

    /// Removes a version that is not the current one of anything.
    pub fn remove_version(&mut self, path: &str, sequence: u64, version: &Version) -> Result<()> {
        if let Some(content) = version.what.content() {
            self.draft.forget_path(self.name, path, sequence, content)?;
            self.draft.forget_symbols((self.name, path, sequence), content)?;
            self.draft.release(content)?;
        }
        self.draft.delete(key::version(self.name, path, sequence));
        self.draft.delete(key::change(self.name, sequence, path));
        self.tree.versions = self.tree.versions.saturating_sub(1);
        Ok(())
    }

    /// Counts the files of now.
    pub fn count(&mut self, what: Option<&Held>, by: i64) {
        if let Some(Held::File { bytes, .. }) = what {
            self.tree.files = self.tree.files.saturating_add_signed(by);
            self.tree.bytes = self.tree.bytes.saturating_add_signed(by * *bytes as i64);
        }
    }

    /// Changes how long versions are kept from now on.
    pub fn set_retention(&mut self, retention: Retention) {
        self.tree.retention = retention;
    }
}

impl Draft<'_> {
    /// Takes what an upload holds, which the caller gives to something else or releases.
    fn take_upload(&mut self, arrived: &upload::Arrived) -> Result<()> {
        for part in 0..arrived.parts {
            let row = key::upload(arrived.upload, part);
            // Somebody may have ended it since it was looked at: its chunks are gone then.
            let ended = || Error::not_found(format!("upload {} has ended; begin it again", arrived.upload));
            self.get::<Vec<Piece>>(&row)?.ok_or_else(ended)?;
            self.delete(row);
        }
        Ok(())
    }

    /// Ends an upload that nothing needs.
    pub(super) fn drop_upload(&mut self, arrived: &upload::Arrived) -> Result<()> {
        self.take_upload(arrived)?;
        arrived.pieces.iter().try_for_each(|piece| self.release_chunk(piece))
    }

    /// Turns an upload into a reference to its content. When the content is there, the upload's chunks go.
    pub(super) fn hold_upload(&mut self, arrived: &upload::Arrived) -> Result<()> {
        self.take_upload(arrived)?;
        let row = key::content(&arrived.id);
        match self.get::<Content>(&row)? {
            Some(content) => {
                self.put(row, &Content { refs: content.refs + 1, ..content })?;
                arrived.pieces.iter().try_for_each(|piece| self.release_chunk(piece))
            }
            None => {
                let place = self.list_pieces(&arrived.id, &arrived.pieces)?;
                self.add_content(&arrived.id, arrived.bytes, place)
            }
        }
    }
}
