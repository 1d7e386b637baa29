//! Removing the passages of contents that are gone: with the last version that had one, nothing of it may stay.

use std::collections::HashSet;
use std::ops::{Bound, ControlFlow};

use super::TreePassages;
use super::source::Source;
use crate::Result;
use crate::collection::WriteSet;
use crate::file_entry::FileEntry;
use crate::files::PassageSink;
use crate::kv::KeyScan;
use crate::tree::{ContentId, key};

/// Entries that are compared together, and removed together.
const AT_ONCE: usize = 2_000;

impl TreePassages {
    /// Removes what belongs to no content. Says of how many contents.
    pub(crate) fn sweep(&self) -> Result<u64> {
        let _working = self.trees.attached.passages.working.lock();
        let (mut removed, mut from) = (0, String::new());
        loop {
            let mut entries = Vec::new();
            self.collection.core.each_file(&from, &mut |name, entry| {
                entries.push((name.to_owned(), entry.to_vec()));
                Ok(if entries.len() < AT_ONCE { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
            })?;
            let Some((last, _)) = entries.last() else { break };
            from = format!("{last}\0");
            let there = self.contents_among(&entries)?;
            let is_lost = |name: &str| Source::of_name(name).is_none_or(|source| !there.contains(&source.id));
            let mut set = WriteSet::default();
            for (name, entry) in entries.into_iter().filter(|(name, _)| is_lost(name)) {
                set.deletes.extend(FileEntry::decode(&entry)?.ids(&name));
                set.files.push((name, None));
            }
            if !set.files.is_empty() {
                removed += set.files.len() as u64;
                self.forget();
                self.collection.apply(set)?;
            }
        }
        Ok(removed)
    }

    /// Those of the entries' contents that are stored; entries ascend by them.
    fn contents_among(&self, entries: &[(String, Vec<u8>)]) -> Result<HashSet<ContentId>> {
        let mut ids = entries.iter().filter_map(|(name, _)| Source::of_name(name)).map(|source| source.id);
        let Some(first) = ids.next() else { return Ok(HashSet::new()) };
        let last = ids.next_back().unwrap_or(first);
        let mut scan = KeyScan { keys_only: true, limit: 10_000, ..KeyScan::prefix(key::contents()) };
        (scan.from, scan.to) = (Bound::Included(key::content(&first)), Bound::Included(key::content(&last)));
        let mut there = HashSet::new();
        self.trees.keyspace.at_once(|rows| {
            rows.each(scan, &mut |row, _| {
                there.extend(key::content_of(row));
                Ok(ControlFlow::Continue(()))
            })
        })?;
        Ok(there)
    }
}
