//! Doing what takes long, in the process that holds the folder.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nuthatch_engine::backup::{BackupOptions, BackupProgress, BackupReport};
use nuthatch_engine::codec::Bytes;
use nuthatch_engine::database::Database;
use nuthatch_engine::transfer::{Outlet, TransferProgress};
use nuthatch_engine::{Error, Result};
use parking_lot::Mutex;

use crate::long::{Exported, Listener, Long, Told};
use crate::request::Encoded;

/// How often the holder reports progress and checks that the caller is there.
const TELL_EVERY: Duration = Duration::from_millis(100);
/// Bytes of an export that go at a time.
const PIECE_BYTES: usize = 256 << 10;

/// Does it, and tells the listener how far it is.
pub(crate) fn answer(db: &Database, listener: &mut dyn Listener, long: Long) -> Result<Encoded> {
    match long {
        Long::Backup { place, indexes, rate_bytes_per_second } => {
            let options = BackupOptions { indexes, rate_bytes_per_second, ..BackupOptions::default() };
            Encoded::of(&back_up(db, place.found()?, options, listener)?)
        }
        Long::Export { collection } => {
            listener.tell(Told::Begins)?;
            let mut sending = Sending { listener, lines: Vec::new(), progress: None, told: None };
            let (report, manifest) = db.export_to(collection.as_deref(), &mut sending)?;
            Encoded::of(&Exported { report, manifest })
        }
    }
}

/// The backup works in a thread of its own, while this one reports progress and checks that the caller still waits.
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
