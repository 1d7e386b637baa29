//! From the moment's links to the place for backups, each byte checked on its way.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::PathBuf;

use nuthatch_backup::Writer;
use nuthatch_store::checksums_file;

use crate::backup::about::About;
use crate::backup::capture::{Capture, CapturedFile, CapturedIndex};
use crate::backup::check::Check;
use crate::backup::watch::Step;
use crate::index::Indexed;
use crate::{Error, ErrorKind, Result};

/// Rows between two looks whether the backup is still wanted.
const ROWS_PER_LOOK: u64 = 4096;

/// Files of indexes that are replaced by others of their name; all others are written once.
const REPLACED: [&str; 4] = ["MANIFEST", "COLLECTION", "meta.json", ".managed.json"];

/// Is told of each step, and may end the work.
pub(crate) type OnStep<'s> = dyn FnMut(Step) -> Result<()> + 's;

impl Capture {
    pub fn copy_into(&self, writer: &mut Writer<'_>, about: &mut About, on_step: &mut OnStep<'_>) -> Result<()> {
        let in_store = |file: &&CapturedFile| file.path.starts_with("truth/");
        let store: Vec<&CapturedFile> = self.all_files().iter().filter(in_store).collect();
        self.copy_store(writer, &store, on_step)?;
        for index in self.indexes() {
            match self.copy_index(writer, index, on_step) {
                Err(error) if error.is_corrupt() => {
                    writer.leave_out(&index.path);
                    about.left_out.push(format!("{} was left out: {error}", index.path));
                    index.core.note_damage(&error, index.id);
                }
                copied => copied?,
            }
        }
        for file in self.all_files().iter().filter(|file| file.path.ends_with("/COLLECTION")) {
            match self.copy_file(writer, file, on_step) {
                // Derived from the catalog, and read by repairs alone.
                Err(error) if error.is_corrupt() => about.left_out.push(format!("{} was left out: {error}", file.path)),
                copied => copied?,
            }
        }
        Ok(())
    }

    fn copy_store(&self, writer: &mut Writer<'_>, files: &[&CapturedFile], on_step: &mut OnStep<'_>) -> Result<()> {
        let mut sums: BTreeMap<String, (u64, u32)> = BTreeMap::new();
        let mut unread_tables = Vec::new();
        for file in files {
            let name = file.path.trim_start_matches("truth/").to_string();
            let noted = if name.ends_with(".sst") { self.store().checksum(&name) } else { None };
            if let Some(noted) = noted
                && writer.reuse(&file.path, file.bytes, file.mtime_ns)?
            {
                on_step(Step::Known(file.bytes))?;
                sums.insert(name, noted);
                continue;
            }
            let place = self.place(file);
            let mut source = File::open(&place).map_err(|error| Error::io(&place, &error))?;
            let mut check = Check::store(noted, self.in_data_folder(&file.path));
            writer.add(&file.path, file.mtime_ns, &mut source, &place, &mut |bytes| {
                check.push(bytes)?;
                on_step(Step::Read(bytes.len() as u64))
            })?;
            let sum = check.finish()?;
            if name.ends_with(".sst") {
                unread_tables.push(name.clone());
            }
            sums.insert(name, sum);
        }
        // The noted checksum says that the file is as it was when that was noted; its blocks carry RocksDB's own from the beginning.
        let (mut rows, mut stopped) = (0u64, Ok(()));
        let verified = self.store().verify_tables(&unread_tables, &mut || {
            rows += 1;
            if rows.is_multiple_of(ROWS_PER_LOOK) {
                stopped = on_step(Step::Look);
            }
            stopped.is_ok()
        });
        stopped?;
        verified.map_err(|error| self.blame_original(error.into()))?;
        let (name, bytes) = checksums_file(&sums);
        Ok(writer.add_bytes(&format!("truth/{name}"), &bytes)?)
    }

    fn copy_index(&self, writer: &mut Writer<'_>, index: &CapturedIndex, on_step: &mut OnStep<'_>) -> Result<()> {
        let inside =
            |file: &&CapturedFile| file.path.strip_prefix(&index.path).is_some_and(|rest| rest.starts_with('/'));
        self.all_files().iter().filter(inside).try_for_each(|file| self.copy_file(writer, file, on_step))
    }

    /// A file of an index.
    fn copy_file(&self, writer: &mut Writer<'_>, file: &CapturedFile, on_step: &mut OnStep<'_>) -> Result<()> {
        let name = file.path.rsplit('/').next().unwrap_or_default();
        if !REPLACED.contains(&name) && writer.reuse(&file.path, file.bytes, file.mtime_ns)? {
            return on_step(Step::Known(file.bytes));
        }
        let place = self.place(file);
        let mut source = File::open(&place).map_err(|error| Error::io(&place, &error))?;
        let checked = Check::index(&place, &source, self.in_data_folder(&file.path));
        let mut check = checked.map_err(|error| self.blame_original(error))?;
        let copied = writer.add(&file.path, file.mtime_ns, &mut source, &place, &mut |bytes| {
            check.push(bytes)?;
            on_step(Step::Read(bytes.len() as u64))
        });
        copied.and_then(|()| check.finish().map(drop)).map_err(|error| self.blame_original(error))
    }
}

impl Capture {
    /// The file in the data folder that a file of the moment is a link to.
    fn in_data_folder(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    /// An error about a link is about the file in the data folder.
    fn blame_original(&self, error: Error) -> Error {
        let ErrorKind::Corrupt { path } = &error.kind else { return error };
        let Ok(inside) = path.strip_prefix(self.folder()) else { return error };
        let original = self.root().join(inside);
        let message = error.message.replace(&*path.to_string_lossy(), &original.to_string_lossy());
        Error::corrupt(&original, message)
    }
}
