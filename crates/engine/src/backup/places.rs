//! A place with backups: listing, checking and deleting them.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use nuthatch_backup::{BackupError, Repository};

pub use nuthatch_backup::DamagedObject;

use crate::backup::about::BackupInfo;
use crate::backup::watch::{BackupProgress, Step, Watch};
use crate::{Error, Result};

/// The backups in one place.
#[derive(Clone, Debug)]
pub struct Backups {
    pub(crate) place: PathBuf,
}

/// The findings of a check.
#[derive(Clone, Debug, Default)]
pub struct BackupCheck {
    /// Backups that were looked at.
    pub backups: u64,
    /// Objects that were looked at, each one once.
    pub objects: u64,
    /// Bytes of the objects that are whole.
    pub bytes: u64,
    /// Manifests and objects that are damaged or missing.
    pub damage: Vec<DamagedObject>,
}

impl BackupCheck {
    /// Whether everything can be restored.
    pub fn is_well(&self) -> bool {
        self.damage.is_empty()
    }
}

/// The backups that were deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BackupsDeleted {
    /// Ids of the deleted backups.
    pub backups: Vec<String>,
    /// Objects that only they had.
    pub objects: u64,
    /// Bytes of these objects.
    pub bytes: u64,
}

impl Backups {
    /// The backups in the folder `place`.
    pub fn at(place: impl AsRef<Path>) -> Self {
        Self { place: place.as_ref().to_path_buf() }
    }

    /// All backups, oldest first. One whose manifest is damaged says so.
    pub fn list(&self) -> Result<Vec<BackupInfo>> {
        let repository = Repository::open(&self.place)?;
        let one = |id: &String| match repository.manifest(id) {
            Ok(manifest) => BackupInfo::from_manifest(&manifest),
            Err(error @ (BackupError::Corrupt { .. } | BackupError::Invalid(_))) => {
                Ok(BackupInfo::damaged(id, error.to_string()))
            }
            Err(error) => Err(error.into()),
        };
        repository.ids()?.iter().map(one).collect()
    }

    /// Reads every object of these backups (all, when none is named) and compares it with its name.
    pub fn verify<'a>(
        &self,
        ids: &[String],
        on_progress: Option<&'a mut (dyn FnMut(&BackupProgress) + Send)>,
        cancel: Option<&'a AtomicBool>,
    ) -> Result<BackupCheck> {
        let repository = Repository::open(&self.place)?;
        let mut watch = Watch::new(on_progress, cancel, None);
        let mut before = 0;
        let found = repository.verify(ids, &mut |bytes| {
            let step = Step::Read(bytes - before);
            before = bytes;
            watch.step(step)
        })?;
        let nuthatch_backup::Verified { backups, objects, bytes, damage } = found;
        Ok(BackupCheck { backups, objects, bytes, damage })
    }

    /// Deletes backups by name, and what only they had.
    pub fn delete(&self, ids: &[String]) -> Result<BackupsDeleted> {
        let deleted = Repository::open_to_change(&self.place)?.delete(ids)?;
        let nuthatch_backup::Collected { backups, objects, bytes } = deleted;
        Ok(BackupsDeleted { backups, objects, bytes })
    }

    /// Deletes all backups but the `newest` of each data folder.
    pub fn keep(&self, newest: usize) -> Result<BackupsDeleted> {
        if newest == 0 {
            return Err(Error::invalid("cannot keep 0 backups; keep at least 1, or delete backups by name"));
        }
        let all = self.list()?;
        let is_newer = |one: &BackupInfo, other: &BackupInfo| other.folder == one.folder && other.id > one.id;
        let old = all
            .iter()
            .filter(|one| one.damaged.is_none() && all.iter().filter(|other| is_newer(one, other)).count() >= newest);
        let old: Vec<String> = old.map(|one| one.id.clone()).collect();
        self.delete(&old)
    }
}
