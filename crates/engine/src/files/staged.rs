//! Files in a batch: read and split when they are staged, written with everything else when the batch is.
//!
//! **Useful for** files that have to appear together with keys and records, or not at all. **Not for** large folders: what is staged is
//! in memory until it is written. **Invariant:** a file that changed in the collection between being staged and being written is a
//! conflict, so no passage of its other version stays behind.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nuthatch_filter::{FieldChange, Payload};

use crate::collection::{BATCH_BYTES_MAX, WriteSet, record_bytes};
use crate::file_entry::changed_meanwhile;
use crate::files::{Add, AddOptions, AddReport, Embedding, FileEntry, PassageSink};
use crate::record::Record;
use crate::{Error, ErrorKind, Result};

/// Reads files, and says what writing them would change.
pub fn add(sink: &dyn PassageSink, paths: &[PathBuf], options: AddOptions<'_>) -> Result<(AddReport, WriteSet)> {
    let staging = Staging::on(sink);
    let report = Add::new(&staging, options).run(paths)?;
    let set = if report.cancelled { WriteSet::default() } else { staging.set.into_inner() };
    Ok((report, set))
}

/// The same for one document that the caller has. `revision`: of what is stored, where the caller depends on that.
pub fn document(
    sink: &dyn PassageSink,
    path: &str,
    content: &[u8],
    options: AddOptions<'_>,
    revision: Option<&str>,
) -> Result<(AddReport, WriteSet)> {
    let staging = Staging::on(sink);
    let report = Add::new(&staging, options).document(path, content)?;
    check_revision(path, staging.seen.borrow().get(path), revision)?;
    Ok((report, staging.set.into_inner()))
}

/// Returns what [`document`] would report, and the revision of the stored document. Embeds nothing.
pub fn preview(
    sink: &dyn PassageSink,
    path: &str,
    content: &[u8],
    options: AddOptions<'_>,
) -> Result<(AddReport, String)> {
    let staging = Staging { embeds: false, ..Staging::on(sink) };
    let report = Add::new(&staging, options).document(path, content)?;
    let revision = FileEntry::revision(staging.seen.borrow().get(path));
    Ok((report, revision))
}

/// Returns the changes that removing one file would make, if it still has this revision.
pub fn remove_one(sink: &dyn PassageSink, path: &str, revision: &str) -> Result<WriteSet> {
    let staging = Staging::on(sink);
    let entry = staging.entry(path)?;
    check_revision(path, entry.as_ref(), Some(revision))?;
    if let Some(entry) = entry {
        let deletes = entry.ids(path).collect();
        staging.apply(WriteSet { deletes, files: vec![(path.to_string(), None)], ..WriteSet::default() })?;
    }
    Ok(staging.set.into_inner())
}

fn check_revision(path: &str, stored: Option<&FileEntry>, revision: Option<&str>) -> Result<()> {
    match revision {
        Some(revision) if revision != FileEntry::revision(stored) => Err(changed_meanwhile(path)),
        _ => Ok(()),
    }
}

/// Returns the changes that removing the file at `path`, or all files below it, would make.
pub fn remove(sink: &dyn PassageSink, path: &str) -> Result<WriteSet> {
    let staging = Staging::on(sink);
    for (path, entry) in staging.entries(path)? {
        let deletes = entry.ids(&path).collect();
        staging.apply(WriteSet { deletes, files: vec![(path, None)], ..WriteSet::default() })?;
    }
    Ok(staging.set.into_inner())
}

/// A sink that keeps what is to go into another.
struct Staging<'s> {
    sink: &'s dyn PassageSink,
    /// The stored entry of each file when it was looked up.
    seen: RefCell<HashMap<String, FileEntry>>,
    set: RefCell<WriteSet>,
    bytes: RefCell<usize>,
    /// Whether the texts of large files get their vectors now.
    embeds: bool,
}

impl<'s> Staging<'s> {
    fn on(sink: &'s dyn PassageSink) -> Self {
        let set = WriteSet { files_if: Some(Vec::new()), ..WriteSet::default() };
        Self { sink, seen: RefCell::default(), set: RefCell::new(set), bytes: RefCell::default(), embeds: true }
    }
}

impl PassageSink for Staging<'_> {
    fn own_folder(&self) -> PathBuf {
        self.sink.own_folder()
    }

    /// A batch is whole when it is written, vectors included.
    fn embedding(&self) -> Result<Option<Embedding>> {
        Ok(self.sink.embedding()?.map(|embedding| Embedding { later: false, ..embedding }))
    }

    fn entry(&self, path: &str) -> Result<Option<FileEntry>> {
        let entry = self.sink.entry(path)?;
        self.seen.borrow_mut().extend(entry.clone().map(|entry| (path.to_string(), entry)));
        Ok(entry)
    }

    fn entries(&self, path: &str) -> Result<Vec<(String, FileEntry)>> {
        let entries = self.sink.entries(path)?;
        self.seen.borrow_mut().extend(entries.iter().cloned());
        Ok(entries)
    }

    fn vectors(&self, ids: Vec<String>) -> Result<Vec<Option<Vec<f32>>>> {
        self.sink.vectors(ids)
    }

    fn payload_of(&self, id: &str) -> Result<Option<Payload>> {
        self.sink.payload_of(id)
    }

    fn update_files(&self, _: Vec<String>, _: &FieldChange) -> Result<u64> {
        Err(Error::invalid(
            "a batch gives tags and fields only to files that it adds or that have changed; \
            for files that are there as they are, use update_files outside of the batch",
        ))
    }

    fn embed_missing(&self, records: &mut [Record]) -> Result<()> {
        if self.embeds { self.sink.embed_missing(records) } else { Ok(()) }
    }

    fn apply(&self, set: WriteSet) -> Result<()> {
        *self.bytes.borrow_mut() += set.upserts.iter().map(record_bytes).sum::<usize>();
        if *self.bytes.borrow() > BATCH_BYTES_MAX {
            return Err(Error::new(
                ErrorKind::Exhausted,
                format!(
                    "the files of this batch exceed {} MiB; add fewer at a time, or add them outside of a batch",
                    BATCH_BYTES_MAX >> 20
                ),
            ));
        }
        let mut staged = self.set.borrow_mut();
        let seen = self.seen.borrow();
        let before = set.files.iter().map(|(path, _)| seen.get(path).cloned());
        staged.files_if.get_or_insert_default().extend(before);
        staged.files.extend(set.files);
        staged.upserts.extend(set.upserts);
        staged.deletes.extend(set.deletes);
        Ok(())
    }

    fn wait_for_vectors(&self, _: Duration) -> Result<u64> {
        Ok(0)
    }
}

/// Refuses files that are in a batch already: of two readings of one file only the later would be complete.
pub fn check_new(staged: &[(String, Option<Vec<u8>>)], more: &[(String, Option<Vec<u8>>)]) -> Result<()> {
    let again = more.iter().find(|(path, _)| staged.iter().any(|(other, _)| other == path));
    again.map_or(Ok(()), |(path, _)| {
        let path = Path::new(path).display();
        Err(Error::invalid(format!("{path} is already in this batch; add or remove it once, or begin another batch")))
    })
}
