//! Taking in a tree as an export has it: versions with their times and order, in batches that each hold what they refer to.
//!
//! **Invariant:** until the last batch the tree is not there. An import that its process does not end is removed with the first
//! handle on the trees of the next one, and so is one that its caller gives up.

use std::ops::ControlFlow;

use nuthatch_filter::validate;
use serde::{Deserialize, Serialize};

use crate::call::{Call, Outcome};
use crate::codec::Bytes;
use crate::folder::FORMAT_OF_TREE_FIELDS;
use crate::kv::{KeyScan, Live, Rows, Space};
use crate::subject::What;
use crate::tree::content::Prepared;
use crate::tree::draft::{self, lacking};
use crate::tree::path::{check_path, check_snapshot, check_tree};
use crate::tree::put::{PUT_BYTES_MAX, PUT_PATHS_MAX, Writing};
use crate::tree::value::{Content, Held, Named, Tree, Version, decode};
use crate::tree::{EntryKind, Retention, TreeEntry, TreeSnapshot, Trees, key};
use crate::{Error, ErrorKind, Result};

/// Versions that one batch removes.
const VERSIONS_AT_ONCE: usize = 1_000;
/// Times that a batch's bytes are in memory while they are written.
const COPIES: u64 = 3;
const VERSION_OVERHEAD_BYTES: u64 = 1_024;

/// Begins an import of trees: their sequences follow on those that there are. Answers with what is added to each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BeginImport {
    /// The trees, none of which may be there.
    pub trees: Vec<String>,
    /// The largest sequence of any of their versions and snapshots.
    pub sequences: u64,
}

/// Versions of a tree that is being imported.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ImportVersions {
    /// The tree.
    pub tree: String,
    /// The number that [`BeginImport`] returned.
    pub base: u64,
    /// By path, of each path the newest first, with the sequences of the export.
    pub versions: Vec<TreeEntry>,
    /// Bytes of files of this batch that were not in an earlier one.
    pub contents: Vec<Bytes>,
    /// The same, of files that were uploaded.
    pub uploads: Vec<u64>,
}

/// Ends the import of a tree, which is there from now on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndImport {
    /// The tree.
    pub tree: String,
    /// The number that [`BeginImport`] returned.
    pub base: u64,
    /// When its first file came, in milliseconds since 1970.
    pub created_ms: u64,
    /// How long versions are kept.
    pub retention: Retention,
    /// Its snapshots, with the sequences of the export.
    pub snapshots: Vec<TreeSnapshot>,
}

impl Trees {
    /// See [`BeginImport`].
    ///
    /// # Errors
    /// `Conflict` for a tree that is there.
    pub fn begin_import(&self, begin: &BeginImport) -> Result<u64> {
        let space = &*self.keyspace.space;
        for tree in &begin.trees {
            check_tree(tree)?;
            self.end_import_of(tree)?;
        }
        space.shared.folder.raise_format(FORMAT_OF_TREE_FIELDS)?;
        self.change(|draft| {
            let base = draft.sequence;
            for tree in &begin.trees {
                if draft.get::<Tree>(&key::tree(tree))?.is_some() {
                    let why = format!("tree {tree:?} is there already; drop it first, or import into another database");
                    return Err(Error::new(ErrorKind::Conflict, why).about(What::Tree, tree));
                }
                draft.put(key::import(tree), &base)?;
            }
            let end = base.checked_add(begin.sequences).filter(|end| *end < u64::MAX);
            draft.sequence = end.ok_or_else(|| Error::invalid("the sequences of the export are too large"))?;
            let sequence = draft.sequence;
            draft.put(key::SIGNATURE.to_vec(), &sequence)?;
            Ok((base, Outcome { value: base as i64, ..Outcome::default() }))
        })
    }

    /// See [`ImportVersions`].
    ///
    /// # Errors
    /// `Conflict` when the import was given up, `Invalid` for versions that no tree can have.
    pub fn import(&self, batch: ImportVersions) -> Result<()> {
        let space = &*self.keyspace.space;
        let bytes: usize = batch.contents.iter().map(|content| content.0.len()).sum();
        if batch.versions.len() > PUT_PATHS_MAX || bytes > PUT_BYTES_MAX {
            return Err(Error::new(ErrorKind::Exhausted, "a batch of an import is too large; send smaller ones"));
        }
        let overhead = batch.versions.len() as u64 * VERSION_OVERHEAD_BYTES;
        let reservation = space.shared.reserve_to_write(bytes as u64 * COPIES + overhead)?;
        let ImportVersions { tree, base, versions, contents, uploads } = batch;
        for version in &versions {
            check_path(&version.path)?;
            validate(&version.fields)?;
        }
        let in_order = |pair: &[TreeEntry]| (&pair[0].path, !pair[0].sequence) < (&pair[1].path, !pair[1].sequence);
        if !versions.windows(2).all(in_order) {
            return Err(Error::invalid("versions of an import come by path, the newest first"));
        }
        let prepared = contents.into_iter().map(|content| {
            Prepared::new(content.0, |id| {
                let store = space.shared.store()?;
                Ok(space.stored(&*store, &key::content(id), space.now_ms())?.is_some())
            })
        });
        let prepared = prepared.collect::<Result<Vec<_>>>()?;
        let arrived =
            uploads.iter().map(|upload| self.attached.uploads.arrived(*upload)).collect::<Result<Vec<_>>>()?;
        let written = draft::change(space, &self.keyspace.call, |draft| {
            if draft.get::<u64>(&key::import(&tree))? != Some(base) {
                let why = format!("the import of tree {tree:?} was given up; begin again");
                return Err(Error::new(ErrorKind::Conflict, why).about(What::Tree, &tree));
            }
            let mut used = Vec::new();
            for entry in versions {
                let (path, sequence) = (entry.path.clone(), base.saturating_add(entry.sequence));
                let version = version_of(entry)?;
                if let Held::File { content, bytes } = &version.what {
                    let known = draft.get::<Content>(&key::content(content))?;
                    match (
                        known,
                        prepared.iter().find(|one| one.id == *content),
                        arrived.iter().find(|one| one.id == *content),
                    ) {
                        (Some(known), _, _) if known.bytes != *bytes => {
                            return Err(Error::invalid(format!(
                                "{path:?} has {bytes} bytes, and its content {}",
                                known.bytes
                            )));
                        }
                        (Some(_), _, _) => draft.hold_again(content)?,
                        (None, Some(prepared), _) => drop(draft.hold(prepared)?),
                        (None, None, Some(arrived)) => {
                            used.push(arrived.upload);
                            draft.hold_upload(arrived)?;
                        }
                        (None, None, None) => {
                            return Err(Error::invalid(format!("the bytes of {path:?} were not sent before it")));
                        }
                    }
                    draft.note_path((&tree, &path, sequence), content, *bytes)?;
                }
                draft.put(key::version(&tree, &path, sequence), &version)?;
                draft.put_mark(key::change(&tree, sequence, &path));
            }
            for arrived in &arrived {
                if !used.contains(&arrived.upload) {
                    draft.drop_upload(arrived)?; // its content was there
                }
            }
            Ok(((), Outcome { inserted: 1, ..Outcome::default() }))
        });
        let ((), position) = written?;
        drop(reservation);
        if let Some(position) = position {
            space.shared.make_durable(position, self.keyspace.durability)?;
        }
        self.attached.uploads.forget(uploads.into_iter());
        Ok(())
    }

    /// See [`EndImport`].
    ///
    /// # Errors
    /// `Conflict` when the import was given up.
    pub fn end_import(&self, end: &EndImport) -> Result<()> {
        end.snapshots.iter().try_for_each(|snapshot| check_snapshot(&snapshot.name))?;
        self.change(|draft| {
            if draft.get::<u64>(&key::import(&end.tree))? != Some(end.base) {
                let why = format!("the import of tree {:?} was given up; begin again", end.tree);
                return Err(Error::new(ErrorKind::Conflict, why).about(What::Tree, &end.tree));
            }
            let rows = Live { space: draft.space, reader: draft.reader };
            let (created_ms, retention) = (end.created_ms, end.retention);
            let mut tree = Tree { created_ms, retention, files: 0, bytes: 0, versions: 0 };
            let mut last = String::new();
            let scan = KeyScan { limit: 2_000, ..KeyScan::prefix(key::versions_below(&end.tree, "")) };
            rows.each(scan, &mut |row, stored| {
                let (_, path, _) = key::version_of(row).ok_or_else(lacking)?;
                tree.versions += 1;
                if last != path {
                    path.clone_into(&mut last);
                    if let Held::File { bytes, .. } = decode::<Version>(stored)?.what {
                        (tree.files, tree.bytes) = (tree.files + 1, tree.bytes + bytes);
                    }
                }
                Ok(ControlFlow::Continue(()))
            })?;
            draft.put(key::tree(&end.tree), &tree)?;
            for TreeSnapshot { name, sequence, created_ms } in &end.snapshots {
                let named = Named { sequence: end.base.saturating_add(*sequence), created_ms: *created_ms };
                draft.put(key::snapshot(&end.tree, name), &named)?;
            }
            draft.delete(key::import(&end.tree));
            Ok(((), Outcome { inserted: 1, ..Outcome::default() }))
        })
    }

    /// Removes what an import of a tree has written that has not ended.
    pub fn end_import_of(&self, tree: &str) -> Result<()> {
        remove_import(&self.keyspace.space, tree)
    }
}

fn version_of(entry: TreeEntry) -> Result<Version> {
    let TreeEntry { path, kind, bytes, content, target, mode, modified_ns, recorded_ms, fields, .. } = entry;
    let what = match (kind, content, target) {
        (EntryKind::File, Some(content), None) => Held::File { content, bytes },
        (EntryKind::Folder, None, None) => Held::Folder,
        (EntryKind::Gone, None, None) => Held::Gone,
        (EntryKind::Link, None, Some(target)) if !target.is_empty() && !target.contains('\0') => Held::Link(target),
        _ => return Err(Error::invalid(format!("the version of {path:?} is no file, folder, link or removal"))),
    };
    Ok(Version { what, mode: mode & 0o7777, modified_ns, recorded_ms, fields })
}

/// Removes what imports of a process that has ended left behind.
pub(crate) fn remove_imports(space: &Space) -> Result<()> {
    let store = space.shared.store()?;
    let mut trees = Vec::new();
    let scan = KeyScan { keys_only: true, ..KeyScan::prefix(key::imports()) };
    Live { space, reader: &*store }.each(scan, &mut |row, _| {
        trees.push(key::import_of(row).ok_or_else(lacking)?);
        Ok(ControlFlow::Continue(()))
    })?;
    trees.iter().try_for_each(|tree| remove_import(space, tree))
}

fn remove_import(space: &Space, tree: &str) -> Result<()> {
    loop {
        let ((), position) = draft::change(space, &Call::default(), |draft| {
            if draft.get::<u64>(&key::import(tree))?.is_none() {
                return Ok(((), Outcome::default()));
            }
            let rows = Live { space, reader: draft.reader };
            let scan = KeyScan { limit: VERSIONS_AT_ONCE, ..KeyScan::prefix(key::versions_below(tree, "")) };
            let page = rows.page(&scan)?;
            let mut writing = Writing::begin(draft, tree)?;
            for (row, stored) in &page.entries {
                let (_, path, sequence) = key::version_of(row).ok_or_else(lacking)?;
                writing.remove_version(path, sequence, &decode(stored)?)?;
            }
            if page.cursor.is_none() {
                draft.delete(key::import(tree));
                draft.delete(key::tree(tree)); // a repair may have made one for its versions
            }
            Ok(((), Outcome::default()))
        })?;
        if position.is_none() {
            return Ok(());
        }
    }
}
