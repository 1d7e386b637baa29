//! The log's files: `audit/` in the data folder, readable by its owner alone.
//!
//! `current.jsonl` is appended to; when it is full it becomes `1.jsonl`, what was `1.jsonl` becomes `2.jsonl`, and what was the last
//! one is gone. Server and commands append at the same time, and take turns on `lock`.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use nuthatch_link::{Error, Result};

use super::entry::Entry;

const FOLDER: &str = "audit";
const LOCK: &str = "lock";
const CURRENT: &str = "current.jsonl";
/// A file is full from here on.
const FILE_BYTES: u64 = 8 << 20;
/// Full files that are kept.
const FULL_FILES: u32 = 7;

/// Where the audit log of a data folder is kept.
#[derive(Clone, Debug)]
pub struct AuditFile {
    folder: PathBuf,
    file_bytes: u64,
}

/// The newest entries of the log.
#[derive(Debug, Default, PartialEq)]
pub struct Page {
    /// Oldest first.
    pub entries: Vec<Entry>,
    /// Incomplete lines, cut off by a crash.
    pub damaged: u64,
}

impl AuditFile {
    /// The log of this data folder; nothing is read yet.
    pub fn of(data_dir: &Path) -> Self {
        Self { folder: data_dir.join(FOLDER), file_bytes: FILE_BYTES }
    }

    /// The folder that has its files, whether it is there or not.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Appends entries. When this returns they have survived.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn append(&self, entries: &[Entry]) -> Result<()> {
        if entries.is_empty() {
            return Ok(());
        }
        let mut lines = Vec::new();
        for entry in entries {
            serde_json::to_writer(&mut lines, entry).expect("strings and numbers are JSON");
            lines.push(b'\n');
        }
        self.make_folder()?;
        let lock = private(&self.at(LOCK), false)?;
        lock.lock().map_err(|error| Error::io(&self.at(LOCK), &error))?;
        let path = self.at(CURRENT);
        let failed = |error: std::io::Error| Error::io(&path, &error);
        let mut is_new = !path.exists();
        let mut file = private(&path, true)?;
        let mut bytes = file.metadata().map_err(failed)?.len();
        if bytes >= self.file_bytes {
            drop(file);
            self.rotate()?;
            (file, bytes, is_new) = (private(&path, true)?, 0, true);
        }
        // A partial line left by a crash must not swallow the next one.
        if bytes > 0 {
            let mut last = [0];
            file.seek(SeekFrom::End(-1)).and_then(|_| file.read_exact(&mut last)).map_err(failed)?;
            if last != [b'\n'] {
                lines.insert(0, b'\n');
            }
        }
        file.write_all(&lines).and_then(|()| file.sync_data()).map_err(failed)?;
        if is_new {
            sync_folder(&self.folder)?;
        }
        Ok(())
    }

    /// The newest `limit` entries that `wanted` lets through.
    ///
    /// # Errors
    /// Those of the disk. Without a log there are no entries.
    pub fn newest(&self, limit: usize, wanted: impl Fn(&Entry) -> bool) -> Result<Page> {
        let mut page = Page::default();
        if !self.folder.exists() {
            return Ok(page);
        }
        // No one renames while it is held.
        let lock = private(&self.at(LOCK), false)?;
        lock.lock_shared().map_err(|error| Error::io(&self.at(LOCK), &error))?;
        for name in std::iter::once(CURRENT.to_string()).chain((1..=FULL_FILES).map(full_name)) {
            let path = self.at(&name);
            #[allow(clippy::disallowed_methods, reason = "a line that is no entry is counted as damaged")]
            let text = match std::fs::read(&path) {
                Ok(text) => text,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                Err(error) => return Err(Error::io(&path, &error)),
            };
            for line in text.split(|byte| *byte == b'\n').rev().filter(|line| !line.is_empty()) {
                match serde_json::from_slice::<Entry>(line) {
                    Ok(entry) if wanted(&entry) => page.entries.push(entry),
                    Ok(_) => {}
                    Err(_) => page.damaged += 1,
                }
                if page.entries.len() >= limit {
                    page.entries.reverse();
                    return Ok(page);
                }
            }
        }
        page.entries.reverse();
        Ok(page)
    }

    fn rotate(&self) -> Result<()> {
        for number in (1..FULL_FILES).rev() {
            self.rename(&full_name(number), &full_name(number + 1))?;
        }
        self.rename(CURRENT, &full_name(1))
    }

    #[allow(clippy::disallowed_methods, reason = "the entries stay in the folder, under one name or the other")]
    fn rename(&self, source: &str, target: &str) -> Result<()> {
        match std::fs::rename(self.at(source), self.at(target)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::io(&self.at(source), &error)),
            _ => Ok(()),
        }
    }

    fn make_folder(&self) -> Result<()> {
        if self.folder.is_dir() {
            return Ok(());
        }
        let mut builder = std::fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        match builder.create(&self.folder) {
            // Somebody else has made it just now.
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(Error::io(&self.folder, &error)),
            _ => sync_folder(self.folder.parent().unwrap_or(Path::new("."))),
        }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

fn full_name(number: u32) -> String {
    format!("{number}.jsonl")
}

fn sync_folder(folder: &Path) -> Result<()> {
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(|error| Error::io(folder, &error))
}

/// A file that its owner alone can read, from its first byte on.
#[allow(clippy::disallowed_methods, reason = "each entry is synced, and the folder once")]
fn private(path: &Path, append: bool) -> Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).create(true);
    if append {
        options.append(true);
    } else {
        options.write(true).truncate(false);
    }
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map_err(|error| Error::io(path, &error))
}

#[cfg(test)]
mod tests {
    use super::super::entry::Who;
    use super::*;

    fn entry(number: u64) -> Entry {
        Entry::new("command", Who::default(), "tenant.create", "amber").detail("number", number)
    }

    fn numbers(page: &Page) -> Vec<u64> {
        page.entries.iter().map(|entry| entry.details["number"].as_u64().unwrap()).collect()
    }

    #[test]
    fn what_was_appended_is_read_newest_last_by_its_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = AuditFile::of(folder.path());
        assert_eq!(file.newest(10, |_| true).unwrap(), Page::default());
        (0..5).for_each(|number| file.append(&[entry(number)]).unwrap());
        assert_eq!(numbers(&file.newest(3, |_| true).unwrap()), [2, 3, 4]);
        let odd = |entry: &Entry| entry.details["number"].as_u64().unwrap() % 2 == 1;
        assert_eq!(numbers(&file.newest(10, odd).unwrap()), [1, 3]);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!(mode(file.folder()), 0o700);
            assert_eq!((mode(&file.at(CURRENT)), mode(&file.at(LOCK))), (0o600, 0o600));
        }
    }

    #[test]
    fn it_takes_no_more_room_than_its_bound_and_loses_the_oldest_first() {
        let folder = tempfile::tempdir().unwrap();
        let file = AuditFile { file_bytes: 1000, ..AuditFile::of(folder.path()) };
        (0..200).for_each(|number| file.append(&[entry(number)]).unwrap());
        let bytes: u64 = std::fs::read_dir(file.folder()).unwrap().map(|f| f.unwrap().metadata().unwrap().len()).sum();
        assert!(bytes < (u64::from(FULL_FILES) + 1) * 1200, "{bytes}");
        let kept = numbers(&file.newest(1000, |_| true).unwrap());
        let first = 200 - kept.len() as u64;
        assert!(first > 0 && kept == (first..200).collect::<Vec<_>>(), "{kept:?}");
    }

    #[test]
    fn a_line_that_a_crash_cut_short_costs_itself_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = AuditFile::of(folder.path());
        file.append(&[entry(1)]).unwrap();
        let mut torn = private(&file.at(CURRENT), true).unwrap();
        torn.write_all(b"{\"time\":\"2026").unwrap();
        file.append(&[entry(2)]).unwrap();
        let page = file.newest(10, |_| true).unwrap();
        assert_eq!((numbers(&page), page.damaged), (vec![1, 2], 1));
    }

    #[test]
    fn writers_at_the_same_time_lose_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let file = AuditFile { file_bytes: 20_000, ..AuditFile::of(folder.path()) };
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let file = file.clone();
                scope.spawn(move || (0..25).for_each(|at| file.append(&[entry(thread * 25 + at)]).unwrap()));
            }
        });
        let page = file.newest(1000, |_| true).unwrap();
        let mut kept = numbers(&page);
        kept.sort_unstable();
        assert_eq!((kept, page.damaged), ((0..100).collect(), 0));
    }
}
