//! The changes between two states of trees.

use std::collections::{BTreeSet, HashMap};
use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

use crate::kv::{KeyScan, Rows};
use crate::tree::draft::lacking;
use crate::tree::path::{check_place, lies_at};
use crate::tree::read::{self, EntryKind, Moment, TreeAt, TreeEntry};
use crate::tree::{ContentId, key};
use crate::{Error, ErrorKind, Result};

/// Changes that one answer may have.
const CHANGES_MAX: usize = 1_000_000;
/// Rows that are read together.
const READ_AT_ONCE: usize = 10_000;

/// How a path differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeKind {
    /// Only the later state has it.
    Added,
    /// Only the earlier state has it.
    Removed,
    /// Its bytes, target or kind differ.
    Modified,
    /// Only its mode differs.
    Mode,
    /// The later state has the same content at another path.
    Renamed,
}

/// One difference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TreeChange {
    /// Which sort.
    pub kind: ChangeKind,
    /// The path, in the later state where that has it.
    pub path: String,
    /// As it was; `None` for what was added.
    pub before: Option<TreeEntry>,
    /// As it is; `None` for what was removed.
    pub after: Option<TreeEntry>,
}

/// Differences between two states: of one tree, or of two.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiffTrees {
    /// The earlier state.
    pub from: TreeAt,
    /// The later state.
    pub to: TreeAt,
    /// The path at or below which they are compared; empty for all.
    pub below: String,
    /// Do not look for renames: a file that moved is one removed and one added.
    pub no_renames: bool,
}

/// The differences, by path. Times and fields do not count, and folders only by being there.
pub(crate) fn diff(rows: &dyn Rows, ask: &DiffTrees) -> Result<Vec<TreeChange>> {
    check_place(&ask.below)?;
    let (from, to) = (ask.from.moment(rows)?, ask.to.moment(rows)?);
    let mut changes = match (from, to) {
        (Moment::Sequence(from), Moment::Sequence(to)) if ask.from.tree == ask.to.tree && from <= to => {
            by_log(rows, ask, from, to)?
        }
        _ => by_listing(rows, ask, from, to)?,
    };
    if !ask.no_renames {
        changes = with_renames(changes);
    }
    changes.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(changes)
}

/// Of one tree between two of its writes: only what they changed is looked at.
fn by_log(rows: &dyn Rows, ask: &DiffTrees, from: u64, to: u64) -> Result<Vec<TreeChange>> {
    let tree = &ask.from.tree;
    let mut changed = BTreeSet::new();
    let mut scan = KeyScan { keys_only: true, limit: READ_AT_ONCE, ..KeyScan::prefix(key::changes(tree)) };
    if from == to {
        return Ok(Vec::new());
    }
    scan.from = std::ops::Bound::Included(key::changes_at(tree, from + 1));
    if to < u64::MAX {
        scan.to = std::ops::Bound::Excluded(key::changes_at(tree, to + 1));
    }
    rows.each(scan, &mut |row, _| {
        let path = key::changed_path(tree, row).ok_or_else(lacking)?;
        if lies_at(&ask.below, &path) {
            changed.insert(path);
        }
        check_count(changed.len()).map(ControlFlow::Continue)
    })?;
    let mut changes = Vec::new();
    for path in changed {
        let before = read::entry_at(rows, tree, Moment::Sequence(from), &path)?;
        let after = read::entry_at(rows, tree, Moment::Sequence(to), &path)?;
        changes.extend(change(before, after));
    }
    Ok(changes)
}

/// Of any two states: both are gone through.
fn by_listing(rows: &dyn Rows, ask: &DiffTrees, from: Moment, to: Moment) -> Result<Vec<TreeChange>> {
    let listed = |tree: &str, moment| {
        let mut entries = Vec::new();
        read::visit(rows, tree, moment, &ask.below, None, &mut |entry| {
            entries.push(entry);
            check_count(entries.len()).map(|()| true)
        })?;
        Ok::<_, Error>(entries)
    };
    Ok(between(listed(&ask.from.tree, from)?, listed(&ask.to.tree, to)?))
}

/// The differences between two lists of entries, each in the order of the bytes of their paths, joined with their renames if
/// that is wanted: what [`DiffTrees`] answers, for entries that come from elsewhere.
pub fn differences(earlier: Vec<TreeEntry>, later: Vec<TreeEntry>, renames: bool) -> Vec<TreeChange> {
    let changes = between(earlier, later);
    let mut changes = if renames { with_renames(changes) } else { changes };
    changes.sort_by(|one, other| one.path.cmp(&other.path));
    changes
}

fn between(earlier: Vec<TreeEntry>, later: Vec<TreeEntry>) -> Vec<TreeChange> {
    let (mut changes, mut earlier) = (Vec::new(), earlier.into_iter().peekable());
    for after in later {
        while let Some(before) = earlier.next_if(|before| before.path < after.path) {
            changes.extend(change(Some(before), None));
        }
        let before = earlier.next_if(|before| before.path == after.path);
        changes.extend(change(before, Some(after)));
    }
    changes.extend(earlier.filter_map(|before| change(Some(before), None)));
    changes
}

/// How two states of a path differ, if they do.
fn change(before: Option<TreeEntry>, after: Option<TreeEntry>) -> Option<TreeChange> {
    let kind = match (&before, &after) {
        (None, None) => return None,
        (None, Some(_)) => ChangeKind::Added,
        (Some(_), None) => ChangeKind::Removed,
        (Some(before), Some(after)) => {
            let of = |entry: &TreeEntry| (entry.kind, entry.content, entry.target.clone());
            match (of(before) == of(after), before.mode == after.mode || after.kind == EntryKind::Folder) {
                (true, true) => return None,
                (true, false) => ChangeKind::Mode,
                (false, _) => ChangeKind::Modified,
            }
        }
    };
    let path = after.as_ref().or(before.as_ref()).map(|entry| entry.path.clone())?;
    Some(TreeChange { kind, path, before, after })
}

/// Joins what was removed and what was added with the same content, each once, in the order of their paths.
fn with_renames(changes: Vec<TreeChange>) -> Vec<TreeChange> {
    let content = |entry: &Option<TreeEntry>| -> Option<ContentId> {
        entry.as_ref().filter(|entry| entry.bytes > 0).and_then(|entry| entry.content)
    };
    let mut removed: HashMap<ContentId, Vec<usize>> = HashMap::new();
    for (at, change) in changes.iter().enumerate().rev() {
        if let (ChangeKind::Removed, Some(id)) = (change.kind, content(&change.before)) {
            removed.entry(id).or_default().push(at);
        }
    }
    let mut source: Vec<Option<usize>> = vec![None; changes.len()];
    let mut is_source = vec![false; changes.len()];
    for (at, change) in changes.iter().enumerate() {
        if let (ChangeKind::Added, Some(id)) = (change.kind, content(&change.after))
            && let Some(from) = removed.get_mut(&id).and_then(Vec::pop)
        {
            source[at] = Some(from);
            is_source[from] = true;
        }
    }
    let before: Vec<Option<TreeEntry>> = changes.iter().map(|change| change.before.clone()).collect();
    let joined =
        changes.into_iter().enumerate().filter(|(at, _)| !is_source[*at]).map(|(at, change)| match source[at] {
            Some(from) => TreeChange { kind: ChangeKind::Renamed, before: before[from].clone(), ..change },
            None => change,
        });
    joined.collect()
}

fn check_count(count: usize) -> Result<()> {
    match count <= CHANGES_MAX {
        true => Ok(()),
        false => Err(Error::new(
            ErrorKind::Exhausted,
            format!("more than {CHANGES_MAX} paths differ or are compared; compare one folder after another"),
        )),
    }
}
