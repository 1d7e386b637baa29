//! Named snapshots, removals, erasing and dropping: changes that go through what a tree has.

use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

use crate::call::{Outcome, Watched};
use crate::kv::{KeyScan, Live};
use crate::subject::What;
use crate::tree::draft::{self, Draft, lacking};
use crate::tree::path::{check_place, check_snapshot, check_tree, lies_at};
use crate::tree::put::Writing;
use crate::tree::read::{self, Moment, TreeSnapshot};
use crate::tree::value::{Held, Named, Tree};
use crate::tree::{PutFiles, Retention, TreeCheck, Trees, history, key, recount};
use crate::{Error, ErrorKind, Result};

/// Paths that one batch removes, erases or goes through.
const PATHS_AT_ONCE: usize = 1_000;

/// The counts of an erasure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeErased {
    /// Paths of which nothing is left.
    pub paths: u64,
    /// Versions that are gone, also those that named snapshots showed.
    pub versions: u64,
}

impl Trees {
    /// Names the tree as it stands.
    ///
    /// # Errors
    /// `Conflict` when the tree has a snapshot of that name, `NotFound` when there is no such tree.
    pub fn name_snapshot(&self, tree: &str, name: &str) -> Result<TreeSnapshot> {
        check_tree(tree)?;
        check_snapshot(name)?;
        self.change(|draft| {
            let rows = Live { space: draft.space, reader: draft.reader };
            read::find(&rows, tree)?;
            let row = key::snapshot(tree, name);
            if draft.get::<Named>(&row)?.is_some() {
                let why =
                    format!("tree {tree:?} has a snapshot {name:?}; choose another name, or remove that one first");
                return Err(Error::new(ErrorKind::Conflict, why).about(What::TreeSnapshot, name));
            }
            let named = Named { sequence: draft.sequence, created_ms: draft.space.now_ms() };
            draft.put(row, &named)?;
            let outcome = Outcome { value: named.sequence as i64, inserted: named.created_ms, ..Outcome::default() };
            let snapshot = TreeSnapshot { name: name.into(), sequence: named.sequence, created_ms: named.created_ms };
            Ok((snapshot, outcome))
        })
    }

    /// Removes a snapshot, and then the versions that only it has kept. Returns false if there is no snapshot of that
    /// name.
    pub fn drop_snapshot(&self, tree: &str, name: &str) -> Result<bool> {
        check_tree(tree)?;
        check_snapshot(name)?;
        let was_there = self.change(|draft| {
            let row = key::snapshot(tree, name);
            let was_there = draft.get::<Named>(&row)?.is_some();
            if was_there {
                draft.delete(row);
            }
            Ok((was_there, Outcome { dropped: was_there.into(), ..Outcome::default() }))
        })?;
        if was_there {
            self.retain(tree)?;
        }
        Ok(was_there)
    }

    /// Changes how long a tree's versions are kept, and removes those that need not be kept any longer. Makes the tree when
    /// there is none.
    pub fn set_retention(&self, tree: &str, retention: Retention) -> Result<()> {
        check_tree(tree)?;
        if retention.versions == Some(0) {
            return Err(Error::invalid("a tree keeps at least the current version of each path; give 1 or more"));
        }
        self.change(|draft| {
            let mut writing = Writing::new(draft, tree)?;
            writing.set_retention(retention);
            writing.finish()?;
            Ok(((), Outcome::default()))
        })?;
        self.retain(tree)
    }

    /// Removes versions of a tree that neither a snapshot nor its retention keeps.
    pub fn retain(&self, tree: &str) -> Result<()> {
        let mut after = None;
        while let Some(paths) = self.paths_after(tree, "", after.as_deref())? {
            after = paths.last().cloned();
            self.change(|draft| {
                let rows = Live { space: draft.space, reader: draft.reader };
                let versions = paths.iter().map(|path| history::versions(&rows, tree, path));
                let versions = versions.collect::<Result<Vec<_>>>()?;
                if draft.get::<Tree>(&key::tree(tree))?.is_none() {
                    return Ok(((), Outcome::default())); // dropped meanwhile
                }
                let mut writing = Writing::new(draft, tree)?;
                for (path, versions) in paths.iter().zip(&versions) {
                    writing.retain(path, versions)?;
                }
                writing.finish()?;
                Ok(((), Outcome::default()))
            })?;
        }
        Ok(())
    }

    /// Removes what stands at or below a path, in as many batches as that takes. Versions stay as long as the tree keeps them.
    /// Says how many files, folders and links.
    pub fn remove(&self, tree: &str, path: &str) -> Result<u64> {
        check_place(path)?;
        let mut removed = 0;
        loop {
            let mut paths = Vec::new();
            self.keyspace.at_once(|rows| {
                read::find(rows, tree)?;
                read::visit(rows, tree, Moment::Sequence(u64::MAX), path, None, &mut |entry| {
                    paths.push(entry.path);
                    Ok(paths.len() < PATHS_AT_ONCE)
                })
            })?;
            if paths.is_empty() {
                return Ok(removed);
            }
            removed += self.put(PutFiles { tree: tree.into(), gone: paths, ..PutFiles::default() })?.gone;
        }
    }

    /// Erases every version of what ever stood at or below a path, also those that snapshots show, in as many batches as that
    /// takes. Its bytes leave the disk with the next `reclaim`.
    pub fn erase(&self, tree: &str, path: &str) -> Result<TreeErased> {
        check_place(path)?;
        self.keyspace.at_once(|rows| read::find(rows, tree))?;
        let mut erased = TreeErased::default();
        while let Some(paths) = self.paths_after(tree, path, None)? {
            let some = self.change(|draft| {
                let rows = Live { space: draft.space, reader: draft.reader };
                let versions = paths.iter().map(|path| history::versions(&rows, tree, path));
                let versions = versions.collect::<Result<Vec<_>>>()?;
                let mut some = TreeErased::default();
                let mut writing = Writing::new(draft, tree)?;
                for (path, versions) in paths.iter().zip(&versions) {
                    writing.count(versions.first().map(|(_, version)| &version.what), -1);
                    for (sequence, version) in versions {
                        writing.remove_version(path, *sequence, version)?;
                    }
                    some.paths += 1;
                    some.versions += versions.iter().filter(|(_, version)| version.what != Held::Gone).count() as u64;
                }
                writing.finish()?;
                let outcome = Outcome { files: some.paths, deleted: some.versions, ..Outcome::default() };
                Ok((some, outcome))
            })?;
            erased = TreeErased { paths: erased.paths + some.paths, versions: erased.versions + some.versions };
        }
        Ok(erased)
    }

    /// Erases a tree with all versions and snapshots. False when there is none.
    pub fn drop_tree(&self, tree: &str) -> Result<bool> {
        check_tree(tree)?;
        match self.keyspace.at_once(|rows| read::find(rows, tree)) {
            Err(error) if error.is_missing(What::Tree) => return Ok(false),
            found => found.map(drop)?,
        }
        self.erase(tree, "")?;
        self.change(|draft| {
            let rows = Live { space: draft.space, reader: draft.reader };
            for (name, _) in history::snapshots(&rows, tree)? {
                draft.delete(key::snapshot(tree, &name));
            }
            draft.delete(key::tree(tree));
            Ok(((), Outcome { dropped: 1, ..Outcome::default() }))
        })?;
        Ok(true)
    }

    /// Counts again what trees refer to; with `hash`, reads every content and compares it with its name.
    pub fn check(&self, hash: bool) -> Result<TreeCheck> {
        let space = &*self.keyspace.space;
        space.check_open()?;
        let store = space.shared.store()?;
        let snapshot = store.snapshot();
        let reader = Watched::new(&*snapshot, self.keyspace.call.waits());
        recount::check(&Live { space, reader: &reader }, &reader, space.shard, hash)
    }

    /// Reads and writes as one batch, with no other writer between.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut Draft<'_>) -> Result<(T, Outcome)>) -> Result<T> {
        let (answer, position) = draft::change(&self.keyspace.space, &self.keyspace.call, change)?;
        if let Some(position) = position {
            self.keyspace.space.shared.make_durable(position, self.keyspace.durability)?;
        }
        Ok(answer)
    }

    /// The next paths at or below a place that have versions, whether something stands there now or not.
    fn paths_after(&self, tree: &str, place: &str, after: Option<&str>) -> Result<Option<Vec<String>>> {
        let mut paths: Vec<String> = Vec::new();
        let mut scan = KeyScan { keys_only: true, limit: 10_000, ..KeyScan::prefix(key::versions_below(tree, place)) };
        if let Some(after) = after {
            scan.from = std::ops::Bound::Excluded(key::version(tree, after, 0));
        }
        self.keyspace.at_once(|rows| {
            rows.each(scan, &mut |row, _| {
                let (_, path, _) = key::version_of(row).ok_or_else(lacking)?;
                if lies_at(place, path) && paths.last().is_none_or(|last| last != path) {
                    if paths.len() == PATHS_AT_ONCE {
                        return Ok(ControlFlow::Break(()));
                    }
                    paths.push(path.to_string());
                }
                Ok(ControlFlow::Continue(()))
            })
        })?;
        Ok((!paths.is_empty()).then_some(paths))
    }
}
