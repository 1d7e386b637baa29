//! A running server's pen: writes entries, and lets nobody administer what could not be noted.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use nuthatch_link::{Error, ErrorKind, Result};
use parking_lot::Mutex;
use tracing::{error, info};

use super::budget::Budgets;
use super::entry::Entry;
use super::file::AuditFile;

pub struct Book {
    file: AuditFile,
    budgets: Mutex<Budgets>,
    /// Entries that could not be written to the disk, in order.
    unwritten: Mutex<Vec<Entry>>,
    waiting: AtomicUsize,
}

impl Book {
    pub fn of(data_dir: &Path) -> Arc<Self> {
        Arc::new(Self {
            file: AuditFile::of(data_dir),
            budgets: Mutex::default(),
            unwritten: Mutex::default(),
            waiting: AtomicUsize::new(0),
        })
    }

    pub fn file(&self) -> &AuditFile {
        &self.file
    }

    /// To be asked before something that has to be noted: writes what could not be written before. Blocks.
    ///
    /// # Errors
    /// `Unavailable` as long as that fails.
    pub fn check(&self) -> Result<()> {
        if self.waiting.load(Ordering::Acquire) == 0 {
            return Ok(());
        }
        self.write(&mut self.unwritten.lock()).map_err(|error| {
            let message =
                format!("the audit log cannot be written, so administrative actions are refused: {}", error.message);
            Error::new(ErrorKind::Unavailable, message)
        })
    }

    /// The same, without blocking.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub async fn ready(self: &Arc<Self>) -> Result<()> {
        let book = self.clone();
        blocking(move || book.check()).await?
    }

    /// [Notes](Self::note) an entry without blocking. A caller that no longer waits for the answer is noted all the
    /// same.
    ///
    /// # Errors
    /// `Internal` for a defect.
    pub async fn noted(self: &Arc<Self>, entry: Entry, is_operator: bool) -> Result<()> {
        let book = self.clone();
        blocking(move || book.note(entry, is_operator)).await
    }

    /// Writes an entry, after those that could not be written before. Actions of anybody but those who run the server
    /// are written up to a budget and counted beyond. Blocks.
    pub fn note(&self, mut entry: Entry, is_operator: bool) {
        if !is_operator {
            let address =
                entry.who.address.as_deref().map(|address| address.rsplit_once(':').map_or(address, |(ip, _)| ip));
            let caller = entry.who.key.as_deref().or(address).unwrap_or("unknown");
            match self.budgets.lock().take(caller, Instant::now()) {
                Some(left_out) => entry.left_out = left_out,
                None => return,
            }
        }
        info!(target: "audit", action = entry.action, on = entry.target, who = %entry.who, outcome = entry.outcome.name(), "noted");
        let mut unwritten = self.unwritten.lock();
        unwritten.push(entry);
        if let Err(failed) = self.write(&mut unwritten) {
            let entry = unwritten.last().map(|entry| serde_json::to_string(entry).unwrap_or_default());
            error!(target: "audit", entry, "the audit log cannot be written: {failed}");
        }
    }

    fn write(&self, unwritten: &mut Vec<Entry>) -> Result<()> {
        let written = self.file.append(unwritten);
        if written.is_ok() {
            unwritten.clear();
        }
        self.waiting.store(unwritten.len(), Ordering::Release);
        written
    }
}

async fn blocking<T: Send + 'static>(call: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    let done = tokio::task::spawn_blocking(call).await;
    done.map_err(|error| Error::internal(format!("the audit log: {error}, which is a defect")))
}

#[cfg(test)]
mod tests {
    use super::super::entry::Who;
    use super::*;

    #[test]
    fn what_could_not_be_noted_stops_the_next_until_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("memory");
        std::fs::create_dir(&data).unwrap();
        // No folder can be made where a file is.
        std::fs::write(data.join("audit"), "").unwrap();
        let book = Book::of(&data);
        let entry = || Entry::new("http", Who::default(), "reclaim", "");
        book.check().unwrap();
        book.note(entry(), true);
        assert_eq!(book.check().unwrap_err().kind.name(), "unavailable");
        std::fs::remove_file(data.join("audit")).unwrap();
        book.check().unwrap();
        assert_eq!(book.file().newest(10, |_| true).unwrap().entries.len(), 1);
    }
}
