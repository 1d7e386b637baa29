//! Getting a database back, beside the one that it was.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use nuthatch_backup::{Manifest, Repository};
use nuthatch_segment::sync_folder;

use crate::backup::about::{About, BackupInfo};
use crate::backup::places::Backups;
use crate::backup::watch::{BackupProgress, Step, Watch};
use crate::database::Database;
use crate::folder::{FORMAT_OLDEST_READABLE, FORMAT_VERSION, Folder, is_ours};
use crate::options::Options;
use crate::{Error, Result};

/// What is restored, and how.
#[derive(Default)]
pub struct RestoreOptions<'a> {
    /// Left out: the newest.
    pub backup: Option<String>,
    /// Only this collection, and no keyspace.
    pub collection: Option<String>,
    /// Leave the indexes of the backup; they are built again.
    pub without_indexes: bool,
    /// For opening what was restored.
    pub options: Options,
    pub on_progress: Option<&'a mut (dyn FnMut(&BackupProgress) + Send)>,
    /// Set to end it; nothing is left in the target then.
    pub cancel: Option<&'a AtomicBool>,
}

/// What was restored.
#[derive(Clone, Debug)]
pub struct RestoreReport {
    pub backup: BackupInfo,
    pub folder: PathBuf,
    pub collections: Vec<String>,
    pub rows: u64,
    pub files: u64,
    pub bytes: u64,
    pub elapsed: Duration,
}

impl Backups {
    /// Writes a backup into `target`, a new or empty folder, which is a data folder of its own then. Every byte is checked before it is
    /// written; `target` appears only when everything is there, durable, and has been opened once.
    ///
    /// # Errors
    /// `Invalid` when `target` is not empty, when backups of several data folders are here and none is named, or when the backup has a
    /// newer format; `NotFound` for a backup or a collection that is not there; `Corrupt`, naming the object, when the backup is damaged.
    pub fn restore(&self, target: impl AsRef<Path>, options: RestoreOptions<'_>) -> Result<RestoreReport> {
        let (target, started) = (target.as_ref(), Instant::now());
        let repository = Repository::open(&self.place)?;
        let manifest = self.choose(&repository, options.backup.as_deref())?;
        let about = About::from_manifest(&manifest)?;
        if !(FORMAT_OLDEST_READABLE..=FORMAT_VERSION).contains(&about.format) {
            return Err(Error::invalid(format!(
                "backup {} has format {} (written by {}), this program reads {FORMAT_OLDEST_READABLE} to {FORMAT_VERSION}; use a newer Nuthatch",
                manifest.id, about.format, about.written_by
            )));
        }
        let only = options.collection.as_deref();
        let chosen = |name: &str| only.is_none_or(|only| only == name);
        if !about.collections.iter().any(|collection| chosen(&collection.name)) && only.is_some() {
            let names: Vec<&str> = about.collections.iter().map(|collection| &*collection.name).collect();
            return Err(Error::not_found(format!(
                "backup {} has no collection {:?}; there are: {}",
                manifest.id,
                only.unwrap_or_default(),
                names.join(", ")
            )));
        }
        let folders: Vec<String> = about
            .collections
            .iter()
            .filter(|collection| chosen(&collection.name) && !options.without_indexes)
            .map(|collection| format!("indexes/{}/{}/", collection.tenant, collection.id))
            .collect();
        let wanted = |path: &str| path.starts_with("truth/") || folders.iter().any(|folder| path.starts_with(folder));

        let beside = prepare(target)?;
        let mut watch = Watch::new(options.on_progress, options.cancel, None);
        let of_it = || manifest.files.iter().filter(|file| wanted(&file.path));
        watch.expect(of_it().count() as u64, of_it().map(|file| file.bytes).sum());
        let mut before = 0;
        let written = repository.restore(&manifest, &beside, &wanted, &mut |bytes| {
            let step = Step::Read(bytes - before);
            before = bytes;
            watch.step(step)
        });
        let finished = written.and_then(|written| {
            Folder::at(&beside).write_identity_of_copy(about.format)?;
            let rows = settle(&beside, &about, only, options.options)?;
            if target.exists() {
                std::fs::remove_dir(target).map_err(|error| Error::io(target, &error))?;
            }
            std::fs::rename(&beside, target).map_err(|error| Error::io(target, &error))?;
            if let Some(parent) = std::path::absolute(target).ok().as_deref().and_then(Path::parent) {
                sync_folder(parent)?;
            }
            Ok((written, rows))
        });
        let (written, rows) = finished.inspect_err(|_| drop(std::fs::remove_dir_all(&beside)))?;
        Ok(RestoreReport {
            folder: target.to_path_buf(),
            collections: about.collections.iter().map(|c| c.name.clone()).filter(|name| chosen(name)).collect(),
            rows,
            files: written.files,
            bytes: written.bytes,
            backup: BackupInfo::from_manifest(&manifest)?,
            elapsed: started.elapsed(),
        })
    }

    fn choose(&self, repository: &Repository, id: Option<&str>) -> Result<Manifest> {
        if let Some(id) = id {
            return Ok(repository.manifest(id)?);
        }
        let ids = repository.ids()?;
        let Some(newest) = ids.last() else {
            return Err(Error::not_found(format!("{} holds no backups yet", self.place.display())));
        };
        let manifest = repository.manifest(newest)?;
        let uuid = About::from_manifest(&manifest)?.uuid;
        for id in &ids {
            // A damaged one is none that could be meant.
            let Ok(other) = repository.manifest(id) else { continue };
            let about = About::from_manifest(&other)?;
            if about.uuid != uuid {
                return Err(Error::invalid(format!(
                    "{} holds backups of several data folders ({} is one of {}); name the backup that you want",
                    self.place.display(),
                    id,
                    about.folder
                )));
            }
        }
        Ok(manifest)
    }
}

/// The folder that is written first. What a killed restore left there goes.
fn prepare(target: &Path) -> Result<PathBuf> {
    let io = |path: &Path, error: std::io::Error| Error::io(path, &error);
    if target.exists() {
        if !target.is_dir() {
            return Err(Error::invalid(format!("{} is a file; give a new or an empty folder", target.display())));
        }
        let mut entries = std::fs::read_dir(target).map_err(|error| io(target, error))?;
        if entries.next().is_some() {
            return Err(Error::invalid(format!(
                "{} is not empty; restore into a new or an empty folder",
                target.display()
            )));
        }
    }
    let Some(name) = target.file_name() else {
        return Err(Error::invalid(format!("{} has no name; give a new or an empty folder", target.display())));
    };
    let mut beside = name.to_os_string();
    beside.push(".restoring");
    let beside = target.with_file_name(beside);
    if beside.exists() {
        let mut entries = std::fs::read_dir(&beside).map_err(|error| io(&beside, error))?;
        if entries.any(|entry| entry.is_ok_and(|entry| !is_ours(&entry.file_name().to_string_lossy()))) {
            return Err(Error::invalid(format!(
                "{} is in the way, and has other files in it; move it, or restore under another name",
                beside.display()
            )));
        }
        std::fs::remove_dir_all(&beside).map_err(|error| io(&beside, error))?;
    }
    Ok(beside)
}

/// Opens what was written, so that it is known to open; drops the collections that are not wanted. How many records there are.
fn settle(folder: &Path, about: &About, only: Option<&str>, options: Options) -> Result<u64> {
    let database = Database::open(folder, Options { background: false, must_exist: true, ..options })?;
    let mut rows = 0;
    for collection in &about.collections {
        match only {
            Some(only) if only != collection.name => drop(database.drop_collection(&collection.name)?),
            _ => rows += collection.rows,
        }
    }
    for name in about.keyspaces.iter().filter(|_| only.is_some()) {
        database.drop_keyspace(name)?;
    }
    database.close()?;
    Ok(rows)
}
