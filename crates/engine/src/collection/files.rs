//! The files of a collection: what is stored of them, and removing them with their passages.

use std::ops::ControlFlow;

use nuthatch_filter::FieldChange;
use nuthatch_store::{Direction, Reader, Shard, Table};

use crate::Result;
use crate::collection::{Collection, Core, RecordChange, WriteSet};
use crate::file_entry::{FileEntry, FileInfo, check_fields};
use crate::scan::until_error;

/// Passages of one batch of a change.
const PASSAGES_AT_ONCE: usize = 1_000;

impl Collection {
    /// Removes the file at `path`, or all files below it, with their passages. Returns how many files.
    pub fn remove_files(&self, path: &str) -> Result<u64> {
        self.core.check_open()?;
        let files = self.core.file_entries(&self.core.shared.store, path)?;
        for chunk in files.chunks(64) {
            let set = WriteSet {
                deletes: chunk.iter().flat_map(|(path, entry)| entry.ids(path)).collect(),
                files: chunk.iter().map(|(path, _)| (path.clone(), None)).collect(),
                ..WriteSet::default()
            };
            self.core.apply(set, self.durability, &self.call)?;
        }
        Ok(files.len() as u64)
    }
}

impl Collection {
    /// Changes fields of all passages of the files at these paths, or below them. Gives how many passages changed.
    ///
    /// # Errors
    /// `Invalid` for a change that cannot be made, or of a field that adding files sets. Batches before the error stay.
    pub(crate) fn change_files(&self, paths: &[String], change: &FieldChange) -> Result<u64> {
        change.check()?;
        check_fields(change)?;
        let mut changed = 0;
        for path in paths {
            for (path, entry) in self.core.file_entries(&self.core.shared.store, path)? {
                let ids: Vec<String> = entry.ids(&path).collect();
                for ids in ids.chunks(PASSAGES_AT_ONCE) {
                    changed += self.update(&[RecordChange { ids: ids.to_vec(), change: change.clone() }])?;
                }
            }
        }
        Ok(changed)
    }
}

/// Looks at a file's name and what is stored of it, and says whether to go on.
type VisitFile<'v> = dyn FnMut(&str, &[u8]) -> Result<ControlFlow<()>> + 'v;

impl Core {
    pub fn files(&self, reader: &dyn Reader, prefix: &str) -> Result<Vec<FileInfo>> {
        let files = self.file_entries(reader, prefix)?;
        let info = files.into_iter().map(|(path, entry)| FileInfo {
            path,
            revision: FileEntry::revision(Some(&entry)),
            bytes: entry.bytes,
            mtime_ns: entry.mtime_ns,
            passages: entry.passages.len(),
            kind: entry.kind,
        });
        Ok(info.collect())
    }

    pub fn file_entry(&self, path: &str) -> Result<Option<FileEntry>> {
        let stored = self.shared.store()?.get(Table::Files, &self.shard.key(path.as_bytes()))?;
        stored.as_deref().map(FileEntry::decode).transpose()
    }

    /// Visits what is stored of each file, from a name on, in their order.
    pub(crate) fn each_file(&self, from: &str, visit: &mut VisitFile<'_>) -> Result<()> {
        let (store, start) = (self.shared.store()?, self.shard.key(from.as_bytes()));
        until_error(
            |visit| store.scan(Table::Files, &start, &self.shard.end(), Direction::Forward, visit),
            |key, bytes| visit(&String::from_utf8_lossy(Shard::suffix(key)), bytes),
        )
    }

    /// Entries of the file `path` or of everything below it as a folder.
    pub fn file_entries(&self, reader: &dyn Reader, path: &str) -> Result<Vec<(String, FileEntry)>> {
        let below = match path {
            "" => String::new(),
            path => format!("{}/", path.trim_end_matches('/')),
        };
        let mut found = Vec::new();
        let start = self.shard.key(path.as_bytes());
        until_error(
            |visit| reader.scan(Table::Files, &start, &self.shard.end(), Direction::Forward, visit),
            |key, bytes| {
                let name = String::from_utf8_lossy(Shard::suffix(key)).into_owned();
                if !name.starts_with(path) {
                    return Ok(ControlFlow::Break(()));
                }
                if name == path || name.starts_with(&below) {
                    found.push((name, FileEntry::decode(bytes)?));
                }
                Ok(ControlFlow::Continue(()))
            },
        )?;
        Ok(found)
    }
}
