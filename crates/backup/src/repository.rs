//! A place for backups: opening it, listing what is there.

use std::path::{Path, PathBuf};

use nuthatch_blob::{Access, BlobStore, FolderStore};
use nuthatch_segment::{seal, unseal};
use serde::{Deserialize, Serialize};

use crate::clock;
use crate::{BACKUP_FORMAT_OLDEST_READABLE, BACKUP_FORMAT_VERSION, BackupError, Manifest, Result, Writer};

/// The file that marks a folder as a place for backups.
const IDENTITY: &str = "NUTHATCH-BACKUPS";

#[derive(Serialize, Deserialize)]
struct Identity {
    format: u32,
    created: String,
}

/// A place for backups. It is held against others while this is alive.
pub struct Repository {
    pub(crate) store: Box<dyn BlobStore>,
    _guard: Guard,
}

/// Keeps others from changing a place.
pub type Guard = Box<dyn Send + Sync>;

impl Repository {
    /// Opens the place in `folder` to read from it.
    pub fn open(folder: &Path) -> Result<Self> {
        Self::existing(folder, Access::Read)
    }

    /// Opens the place in `folder` to delete backups.
    pub fn open_to_change(folder: &Path) -> Result<Self> {
        Self::existing(folder, Access::Change)
    }

    /// Opens the place in `folder` for a new backup; makes it when the folder is missing or empty.
    pub fn create(folder: &Path) -> Result<Self> {
        let io = |error| BackupError::io(folder, error);
        if folder.exists() && !folder.is_dir() {
            return Err(BackupError::Invalid(format!("{} is a file; give a folder", folder.display())));
        }
        let store = FolderStore::new(folder);
        if store.size(IDENTITY)?.is_none() {
            let mut entries = match std::fs::read_dir(folder) {
                Ok(entries) => entries,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    std::fs::create_dir_all(folder).map_err(io)?;
                    std::fs::read_dir(folder).map_err(io)?
                }
                Err(error) => return Err(io(error)),
            };
            // Files left by a killed first attempt are ours.
            let is_ours = |name: &str| matches!(name, "LOCK" | "NUTHATCH-BACKUPS.writing");
            if entries.any(|entry| entry.is_ok_and(|entry| !is_ours(&entry.file_name().to_string_lossy()))) {
                return Err(BackupError::Invalid(format!(
                    "{} has other files in it; give an empty or a new folder, or one with backups",
                    folder.display()
                )));
            }
            let guard = hold(&store, Access::Change)?;
            let created = clock::stamp(clock::now());
            let body = serde_json::to_vec_pretty(&Identity { format: BACKUP_FORMAT_VERSION, created });
            store.put(IDENTITY, &seal(&body.expect("plain fields are JSON")))?;
            store.sync()?;
            return Ok(Self { store: Box::new(store), _guard: guard });
        }
        Self::open_to_change(folder)
    }

    fn existing(folder: &Path, access: Access) -> Result<Self> {
        let store = FolderStore::new(folder);
        let path = store.place(IDENTITY);
        let bytes = store.get(IDENTITY)?.ok_or_else(|| {
            BackupError::NotFound(format!("{} holds no backups; make one with `nuthatch backup`", folder.display()))
        })?;
        let identity: Identity = serde_json::from_slice(&unseal(&path, &bytes)?)
            .map_err(|error| BackupError::corrupt(&path, error.to_string()))?;
        if !(BACKUP_FORMAT_OLDEST_READABLE..=BACKUP_FORMAT_VERSION).contains(&identity.format) {
            return Err(BackupError::Invalid(format!(
                "{} has backup format {}, this program reads {BACKUP_FORMAT_OLDEST_READABLE} to {BACKUP_FORMAT_VERSION}; use a newer Nuthatch",
                folder.display(),
                identity.format
            )));
        }
        let guard = hold(&store, access)?;
        Ok(Self { store: Box::new(store), _guard: guard })
    }

    /// Names of all backups, oldest first.
    pub fn ids(&self) -> Result<Vec<String>> {
        let keys = self.store.list("backups")?;
        Ok(keys.iter().filter_map(|key| Some(key.strip_prefix("backups/")?.to_string())).collect())
    }

    /// The manifest of one backup.
    pub fn manifest(&self, id: &str) -> Result<Manifest> {
        // Names come from people: one with slashes would leave the folder.
        let is_name = !id.is_empty() && id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
        let bytes = if is_name { self.store.get(&key(id))? } else { None };
        let Some(bytes) = bytes else {
            let ids = self.ids()?;
            let known = if ids.is_empty() { "there are none".into() } else { format!("there are: {}", ids.join(", ")) };
            return Err(BackupError::NoBackup { id: id.to_string(), known });
        };
        let path = self.place(id);
        let manifest: Manifest = serde_json::from_slice(&unseal(&path, &bytes)?)
            .map_err(|error| BackupError::corrupt(&path, error.to_string()))?;
        if !(BACKUP_FORMAT_OLDEST_READABLE..=BACKUP_FORMAT_VERSION).contains(&manifest.version) {
            return Err(BackupError::Invalid(format!(
                "backup {id} has format {}, this program reads {BACKUP_FORMAT_OLDEST_READABLE} to {BACKUP_FORMAT_VERSION}; use a newer Nuthatch",
                manifest.version
            )));
        }
        Ok(manifest)
    }

    /// Begins a backup. Files that are unchanged since the last manifest that passes `is_same` are not read again.
    pub fn begin(&self, is_same: &dyn Fn(&Manifest) -> bool) -> Result<Writer<'_>> {
        self.tidy()?;
        let ids = self.ids()?;
        let last = ids.iter().filter_map(|id| id.split('-').next()?.parse::<u64>().ok()).max();
        let mut previous = None;
        for id in ids.iter().rev() {
            match self.manifest(id) {
                Ok(manifest) if is_same(&manifest) => {
                    previous = Some(manifest);
                    break;
                }
                // A damaged manifest is `verify`'s to tell; everything is read again then.
                Ok(_) | Err(BackupError::Corrupt { .. } | BackupError::Invalid(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Writer::new(self, last.unwrap_or(0) + 1, previous))
    }

    /// The file of a backup's manifest, for messages.
    pub fn place(&self, id: &str) -> PathBuf {
        self.store.place(&key(id))
    }

    /// Removes what interrupted backups and deletions left half written.
    pub(crate) fn tidy(&self) -> Result<()> {
        Ok(["objects", "backups"].iter().try_for_each(|prefix| self.store.tidy(prefix))?)
    }

    pub(crate) fn put_manifest(&self, manifest: &Manifest) -> Result<()> {
        let body = serde_json::to_vec(manifest).expect("strings and numbers are JSON");
        self.store.put(&key(&manifest.id), &seal(&body))?;
        Ok(self.store.sync()?)
    }
}

pub(crate) fn key(id: &str) -> String {
    format!("backups/{id}")
}

fn hold(store: &FolderStore, access: Access) -> Result<Guard> {
    store.hold(access)?.ok_or_else(|| {
        BackupError::Held(format!(
            "{} is in use by another backup, restore or check; wait until it ends, and try again",
            store.place("LOCK").parent().unwrap_or(Path::new("")).display()
        ))
    })
}
