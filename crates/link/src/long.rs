//! Requests that take long and concern everything: backups and exports, which tell how far they are before their answer.
//! A caller that hangs up ends a backup or an export.
//!
//! A backup is written by the holder, because it is made of links in the data folder. What an export writes goes over the
//! connection, and the process that asked writes the files: paths, permissions and file systems are its own.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nuthatch_engine::backup::{BackupOptions, BackupProgress, BackupReport};
use nuthatch_engine::codec::{Bytes, json};
use nuthatch_engine::database::Database;
use nuthatch_engine::transfer::{ExportReport, Manifest, Outlet, TransferProgress};
use nuthatch_engine::{Error, ErrorKind, Result};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use crate::answer::Answering;
use crate::request::Encoded;

/// How often a caller is told how far it is, and looked for.
const TELL_EVERY: Duration = Duration::from_millis(100);
/// Bytes of an export that go at a time.
const PIECE_BYTES: usize = 256 << 10;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Long {
    /// Answered with [`BackupReport`].
    Backup { place: SeenFolder, indexes: bool, rate_bytes_per_second: Option<u64> },
    /// Answered with [`Exported`].
    Export { collection: Option<String> },
}

/// What was exported, and what makes an export of it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Exported {
    pub report: ExportReport,
    #[serde(with = "json")]
    pub manifest: Manifest,
}

/// What a long request tells before its answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Told {
    Backup(BackupProgress),
    Transfer(TransferProgress),
    /// An export begins, perhaps another time: what came before is void.
    Begins,
    /// From here on lines belong to this file of the export.
    File(String),
    Lines(Bytes),
    /// The file is whole.
    FileEnds,
}

/// Who is told, and may go away.
pub(crate) trait Listener {
    fn tell(&mut self, told: Told) -> Result<()>;

    /// An error when nobody waits for the answer any more.
    fn check_there(&self) -> Result<()>;
}

/// A folder, and which one that is: another process may see another one under the same path.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SeenFolder {
    #[serde(with = "nuthatch_engine::codec::path")]
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl SeenFolder {
    /// The folder, made when it is missing.
    pub fn make(path: &Path) -> Result<Self> {
        let path = std::path::absolute(path).map_err(|error| Error::io(path, &error))?;
        std::fs::create_dir_all(&path).map_err(|error| Error::io(&path, &error))?;
        let (device, inode) = identity(&path).map_err(|error| Error::io(&path, &error))?;
        Ok(Self { path, device, inode })
    }

    fn found(&self) -> Result<&Path> {
        match identity(&self.path) {
            Ok(found) if found == (self.device, self.inode) => Ok(&self.path),
            _ => Err(Error::new(
                ErrorKind::Unavailable,
                format!(
                    "pid {} holds the data folder and writes its backups, but {} is not the same folder there as in \
                    this process (is it in another container?); run the backup there, or choose a folder that both \
                    processes see under one path",
                    std::process::id(),
                    self.path.display()
                ),
            )),
        }
    }
}

#[cfg(unix)]
fn identity(path: &Path) -> std::io::Result<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    let metadata = std::fs::metadata(path)?;
    Ok((metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn identity(path: &Path) -> std::io::Result<(u64, u64)> {
    std::fs::metadata(path).map(|_| (0, 0))
}

pub(crate) fn answer(answering: &mut Answering<'_>, long: Long) -> Result<Encoded> {
    let db = answering.db;
    match long {
        Long::Backup { place, indexes, rate_bytes_per_second } => {
            let options = BackupOptions { indexes, rate_bytes_per_second, ..BackupOptions::default() };
            Encoded::of(&back_up(db, place.found()?, options, answering.listener)?)
        }
        Long::Export { collection } => {
            answering.listener.tell(Told::Begins)?;
            let mut sending = Sending { listener: answering.listener, lines: Vec::new(), progress: None, told: None };
            let (report, manifest) = db.export_to(collection.as_deref(), &mut sending)?;
            Encoded::of(&Exported { report, manifest })
        }
    }
}

/// The backup works in a thread of its own, while this one tells how far it is and looks whether somebody still waits for it.
fn back_up(
    db: &Database,
    place: &Path,
    options: BackupOptions<'_>,
    listener: &mut dyn Listener,
) -> Result<BackupReport> {
    let (progress, stop) = (&Mutex::new(None), &AtomicBool::new(false));
    std::thread::scope(|scope| {
        let (waker, ended) = std::sync::mpsc::channel::<()>();
        let work = move || {
            let _ended = waker; // dropped at the end, whatever becomes of the work
            let mut tell = |now: &BackupProgress| *progress.lock() = Some(*now);
            db.backup(place, BackupOptions { on_progress: Some(&mut tell), cancel: Some(stop), ..options })
        };
        let thread = scope.spawn(work);
        let mut gone = None;
        while let Err(std::sync::mpsc::RecvTimeoutError::Timeout) = ended.recv_timeout(TELL_EVERY) {
            let now = progress.lock().take();
            let told = listener.check_there().and_then(|()| now.map_or(Ok(()), |now| listener.tell(Told::Backup(now))));
            if let Err(error) = told {
                stop.store(true, Ordering::SeqCst);
                gone.get_or_insert(error);
            }
        }
        let made = thread.join().unwrap_or_else(|_| Err(Error::internal("the backup panicked; please report it")));
        match (gone, progress.lock().take()) {
            (Some(why), _) => return Err(why),
            (None, Some(last)) if made.is_ok() => listener.tell(Told::Backup(last))?,
            (None, _) => {}
        }
        made
    })
}

/// An export on its way to the process that writes it.
struct Sending<'l> {
    listener: &'l mut dyn Listener,
    lines: Vec<u8>,
    progress: Option<TransferProgress>,
    told: Option<Instant>,
}

impl Sending<'_> {
    fn send(&mut self) -> Result<()> {
        if !self.lines.is_empty() {
            self.listener.tell(Told::Lines(Bytes(std::mem::take(&mut self.lines))))?;
        }
        match self.progress.take() {
            Some(progress) => self.listener.tell(Told::Transfer(progress)),
            None => Ok(()),
        }
    }
}

impl Outlet for Sending<'_> {
    fn begin(&mut self, file: &str) -> Result<()> {
        self.listener.tell(Told::File(file.into()))
    }

    fn line(&mut self, line: &[u8]) -> Result<()> {
        self.lines.extend_from_slice(line);
        if self.lines.len() < PIECE_BYTES { Ok(()) } else { self.send() }
    }

    fn end(&mut self) -> Result<()> {
        self.send()?;
        self.listener.tell(Told::FileEnds)
    }

    fn tell(&mut self, progress: TransferProgress) -> Result<()> {
        self.progress = Some(progress);
        if self.told.is_some_and(|told| told.elapsed() < TELL_EVERY) {
            return Ok(());
        }
        self.told = Some(Instant::now());
        self.listener.check_there()?;
        self.send()
    }
}
