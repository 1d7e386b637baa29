//! The versions of a path, and which of them are kept.

use std::ops::ControlFlow;

use crate::Result;
use crate::kv::{KeyScan, Rows};
use crate::tree::draft::lacking;
use crate::tree::value::{Held, Named, Version, decode};
use crate::tree::{Retention, key};

/// Rows that are read together.
const READ_AT_ONCE: usize = 1_000;

/// All versions of a path with their sequences, the newest first.
pub(crate) fn versions(rows: &dyn Rows, tree: &str, path: &str) -> Result<Vec<(u64, Version)>> {
    let scan = KeyScan { limit: READ_AT_ONCE, ..KeyScan::prefix(key::versions_of(tree, path)) };
    let mut found = Vec::new();
    rows.each(scan, &mut |row, stored| {
        let (_, _, sequence) = key::version_of(row).ok_or_else(lacking)?;
        found.push((sequence, decode(stored)?));
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(found)
}

/// A tree's named snapshots by name.
pub(crate) fn snapshots(rows: &dyn Rows, tree: &str) -> Result<Vec<(String, Named)>> {
    let scan = KeyScan { limit: READ_AT_ONCE, ..KeyScan::prefix(key::snapshots(tree)) };
    let mut found = Vec::new();
    rows.each(scan, &mut |row, stored| {
        found.push((key::snapshot_name(tree, row).ok_or_else(lacking)?, decode(stored)?));
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(found)
}

/// The reasons to keep versions that are not current: named snapshots, and the tree's retention.
pub(crate) struct Kept {
    /// Sequences of the named snapshots, ascending.
    pinned: Vec<u64>,
    retention: Retention,
    now_ms: u64,
}

impl Kept {
    pub fn of(rows: &dyn Rows, tree: &str, retention: Retention, now_ms: u64) -> Result<Self> {
        let mut pinned: Vec<u64> = snapshots(rows, tree)?.into_iter().map(|(_, named)| named.sequence).collect();
        pinned.sort_unstable();
        Ok(Self { pinned, retention, now_ms })
    }

    /// Which of a path's versions may go; these are all of them, the newest first.
    pub fn superfluous(&self, versions: &[(u64, Version)]) -> Vec<usize> {
        let mut superfluous: Vec<usize> =
            (1..versions.len()).filter(|at| self.may_go(*at, &versions[at - 1], versions[*at].0)).collect();
        // That nothing was there needs no version when nothing older is left to tell it from.
        let all_but_first = superfluous.len() + 1 == versions.len();
        if let Some((_, newest)) = versions.first()
            && newest.what == Held::Gone
            && all_but_first
            && self.is_old(newest.recorded_ms)
        {
            superfluous.insert(0, 0);
        }
        superfluous
    }

    /// Whether the version with this sequence, the `at`th of its path, may go; `next` took its place.
    fn may_go(&self, at: usize, next: &(u64, Version), sequence: u64) -> bool {
        let (replaced_at, next) = next;
        let pin = self.pinned.partition_point(|pinned| *pinned < sequence);
        let is_pinned = self.pinned.get(pin).is_some_and(|pinned| pinned < replaced_at);
        let is_many = self.retention.versions.is_some_and(|versions| at >= versions.max(1) as usize);
        !is_pinned && is_many && self.is_old(next.recorded_ms)
    }

    /// Whether what ended then is past the time for which it is kept.
    fn is_old(&self, ended_ms: u64) -> bool {
        let kept_ms = self.retention.seconds.map(|seconds| seconds.saturating_mul(1_000));
        kept_ms.is_some_and(|kept_ms| ended_ms.saturating_add(kept_ms) <= self.now_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(recorded_ms: u64, what: Held) -> Version {
        Version { what, mode: 0, modified_ns: 0, recorded_ms, fields: Default::default() }
    }

    fn kept(pinned: &[u64], versions: Option<u32>, seconds: Option<u64>) -> Kept {
        Kept { pinned: pinned.to_vec(), retention: Retention { versions, seconds }, now_ms: 100_000 }
    }

    /// Of five versions, written at 10, 20 … 50 seconds with the sequences 1 to 5.
    fn gone(kept: &Kept) -> Vec<usize> {
        let versions: Vec<_> =
            (1..=5).rev().map(|sequence| (sequence, version(sequence * 10_000, Held::Folder))).collect();
        kept.superfluous(&versions)
    }

    #[test]
    fn a_version_goes_when_number_and_age_allow_it() {
        assert_eq!(gone(&kept(&[], Some(2), Some(0))), [2, 3, 4]);
        assert_eq!(gone(&kept(&[], Some(2), Some(65))), [3, 4], "the third was current until second 40");
        assert!(gone(&kept(&[], None, Some(0))).is_empty());
        assert!(gone(&kept(&[], Some(1), None)).is_empty());
        assert_eq!(gone(&kept(&[], Some(0), Some(0))), [1, 2, 3, 4], "the current one stays");
    }

    #[test]
    fn a_named_snapshot_keeps_what_it_shows() {
        assert_eq!(gone(&kept(&[2], Some(1), Some(0))), [1, 2, 4]);
        assert_eq!(gone(&kept(&[9], Some(1), Some(0))), [1, 2, 3, 4], "it shows the current ones");
    }

    #[test]
    fn nothing_is_told_of_a_path_when_nothing_of_it_is_left() {
        let versions = [(2, version(20_000, Held::Gone)), (1, version(10_000, Held::Folder))];
        assert_eq!(kept(&[], Some(1), Some(0)).superfluous(&versions), [0, 1]);
        assert_eq!(kept(&[1], Some(1), Some(0)).superfluous(&versions), Vec::<usize>::new());
        assert_eq!(kept(&[], Some(1), Some(90)).superfluous(&versions), Vec::<usize>::new());
    }
}
