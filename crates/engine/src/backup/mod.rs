//! Online backups: the whole database as it is at one moment, in a place where each content is kept once.
//!
//! **Useful for** `Database::backup` while others read and write, and for listing, checking, deleting and restoring what was
//! backed up ([`Backups`]).
//! **Not for** how objects and manifests are kept (the crate `backup`), and not for open formats (`transfer`).
//!
//! **Invariant:** what a backup lists was read with its checksums and is durable there; damage in the store ends it, with the
//! file's name; damage in an index leaves that index out, and the backup says so.

mod about;
mod alone;
mod capture;
mod check;
mod copy;
mod places;
mod restore;
mod watch;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nuthatch_backup::Repository;
use serde::{Deserialize, Serialize};

pub use about::{BackedUpCollection, BackedUpTenant, BackupInfo};
pub use places::{BackupCheck, Backups, BackupsDeleted, DamagedObject};
pub use restore::{RestoreOptions, RestoreReport};
pub use watch::BackupProgress;

use crate::backup::about::About;
use crate::backup::capture::Capture;
use crate::backup::watch::Watch;
use crate::database::Database;
use crate::{Error, ErrorKind, Result};

/// How a backup is made.
pub struct BackupOptions<'a> {
    /// Take the indexes along: a restored folder then answers quickly at once, and the backup is larger. They are derived, and are
    /// built again where they are missing.
    pub indexes: bool,
    /// Bytes a second to read at most.
    pub rate_bytes_per_second: Option<u64>,
    /// Told after each piece.
    pub on_progress: Option<&'a mut (dyn FnMut(&BackupProgress) + Send)>,
    /// Set to end it; nothing of it is listed then.
    pub cancel: Option<&'a AtomicBool>,
}

impl Default for BackupOptions<'_> {
    fn default() -> Self {
        Self { indexes: true, rate_bytes_per_second: None, on_progress: None, cancel: None }
    }
}

/// The result of a backup.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BackupReport {
    /// The backup that was made.
    pub backup: BackupInfo,
    /// Files of the backup.
    pub files: u64,
    /// Of these, files that were not read because the backup before has them.
    pub files_unchanged: u64,
    /// Bytes that were read to make it.
    pub read_bytes: u64,
    /// Objects that were not there yet, and their bytes.
    pub new_objects: u64,
    /// Bytes of these objects.
    pub new_bytes: u64,
    /// How long sealing waited, which is the time that the moment itself took. Writers waited for less.
    pub moment: Duration,
    /// From the call to the durable backup.
    pub elapsed: Duration,
}

impl Database {
    /// Backs the database up to the folder `place` (created when missing), as of one moment: records, vectors, files
    /// and indexes of all tenants. A scoped handle backs up its own tenant, and no byte of another's.
    /// Stores only what no earlier backup there has. Reads and writes go on during the backup, which is listed once all
    /// of it is durable.
    ///
    /// # Errors
    /// `Corrupt` when stored records are damaged, with the file's name; `Conflict` when another backup is under way here or there;
    /// `Invalid` when `place` has other files in it; `Unavailable` when it was cancelled.
    pub fn backup(&self, place: impl AsRef<std::path::Path>, options: BackupOptions<'_>) -> Result<BackupReport> {
        let place = place.as_ref();
        let shared = &self.inner.shared;
        self.check_open()?;
        check_place(place, shared.folder.root())?;
        // Its own thread, so that it can yield to whatever else there is to do.
        std::thread::scope(|scope| {
            let work = || {
                crate::runtime::yield_to_others();
                self.back_up(place, options)
            };
            let thread = std::thread::Builder::new().name("nuthatch-backup".into()).spawn_scoped(scope, work);
            let thread = thread.map_err(|error| Error::internal(format!("starting nuthatch-backup: {error}")))?;
            thread
                .join()
                .unwrap_or_else(|_| Err(Error::internal("the backup panicked; this is a defect, please report it")))
        })
    }

    fn back_up(&self, place: &std::path::Path, options: BackupOptions<'_>) -> Result<BackupReport> {
        let started = Instant::now();
        let (shared, registry) = (&self.inner.shared, &self.inner.registry);
        let Some(_one_at_a_time) = registry.backing_up.try_lock() else {
            return Err(Error::new(
                ErrorKind::Conflict,
                "a backup of this database is already running; wait until it ends",
            ));
        };
        let repository = Repository::create(place)?;
        let capture = Capture::take(self, options.indexes)?;
        // After the moment: the format says no less than what it needs.
        let identity = shared.folder.read_identity()?;
        shared.crash_point("backup");
        let mut watch = Watch::new(options.on_progress, options.cancel, options.rate_bytes_per_second);
        watch.expect(capture.files(), capture.bytes());
        let mut about = About::of(&capture, shared.folder.root(), &identity, &self.tenant)?;
        let mut writer =
            repository.begin(&|manifest| About::from_manifest(manifest).is_ok_and(|it| it.is_of_the_same(&about)))?;
        capture.copy_into(&mut writer, &mut about, &mut |bytes| {
            shared.check_open()?;
            watch.step(bytes)
        })?;
        let stored = writer.stored();
        let manifest = writer.finish(about.to_json())?;
        let moment = capture.moment();
        capture.remove()?;
        Ok(BackupReport {
            backup: BackupInfo::from_manifest(&manifest)?,
            files: stored.files,
            files_unchanged: stored.files_unchanged,
            read_bytes: stored.read_bytes,
            new_objects: stored.new_objects,
            new_bytes: stored.new_bytes,
            moment,
            elapsed: started.elapsed(),
        })
    }
}

/// A place inside the data folder would be backed up into itself, and be lost with it.
pub fn check_place(place: &std::path::Path, root: &std::path::Path) -> Result<()> {
    let absolute = |path: &std::path::Path| {
        path.ancestors().find_map(|known| Some((known, known.canonicalize().ok()?))).map_or_else(
            || path.to_path_buf(),
            |(known, real)| match path.strip_prefix(known) {
                Ok(rest) => real.join(rest),
                Err(_) => real,
            },
        )
    };
    let place_is = std::path::absolute(place).map_err(|error| Error::io(place, &error))?;
    match absolute(&place_is).starts_with(absolute(root)) {
        true => Err(Error::invalid(format!(
            "{} is inside the data folder {}; choose a folder outside of it, preferably on another disk",
            place.display(),
            root.display()
        ))),
        false => Ok(()),
    }
}

pub(crate) fn is_cancelled(cancel: Option<&AtomicBool>) -> bool {
    cancel.is_some_and(|cancel| cancel.load(Ordering::SeqCst))
}

/// Ends a backup that its caller cancelled.
pub fn refuse_when_cancelled(cancel: Option<&AtomicBool>) -> Result<()> {
    match is_cancelled(cancel) {
        true => Err(Error::new(
            ErrorKind::Unavailable,
            "the backup was cancelled and is not listed; run it again, it reuses what was stored",
        )),
        false => Ok(()),
    }
}
