//! Restoring a database into a folder next to the original.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use nuthatch_backup::{Manifest, Repository};
use nuthatch_segment::rename_durably;

use crate::backup::about::{About, BackedUpCollection, BackupInfo};
use crate::backup::places::Backups;
use crate::backup::watch::{BackupProgress, Step, Watch};
use crate::database::Database;
use crate::folder::{FORMAT_OLDEST_READABLE, FORMAT_VERSION, Folder, is_ours};
use crate::options::Options;
use crate::tenant::DEFAULT;
use crate::{Error, Result, What};

/// The backup to restore, and how.
#[derive(Default)]
pub struct RestoreOptions<'a> {
    /// Left out: the newest.
    pub backup: Option<String>,
    /// Only this tenant. The restored folder holds it alone, under its own name.
    pub tenant: Option<String>,
    /// Only this collection (of `tenant`, or of the default one), and no keyspace.
    pub collection: Option<String>,
    /// Leave the indexes of the backup; they are built again.
    pub without_indexes: bool,
    /// For opening what was restored.
    pub options: Options,
    /// Called now and then.
    pub on_progress: Option<&'a mut (dyn FnMut(&BackupProgress) + Send)>,
    /// Set to end it; nothing is left in the target then.
    pub cancel: Option<&'a AtomicBool>,
}

/// The result of a restore.
#[derive(Clone, Debug)]
pub struct RestoreReport {
    /// The backup that was restored.
    pub backup: BackupInfo,
    /// The new data folder.
    pub folder: PathBuf,
    /// Names of the restored collections; of a tenant other than the default one `tenant/name`.
    pub collections: Vec<String>,
    /// Records of these collections.
    pub rows: u64,
    /// Files that were written.
    pub files: u64,
    /// Bytes of these files.
    pub bytes: u64,
    /// From the call to the folder that can be opened.
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
        let chosen = Chosen::of(&about, &manifest.id, options.tenant.as_deref(), options.collection.as_deref())?;
        let folders: Vec<String> = about
            .collections
            .iter()
            .filter(|collection| chosen.has(collection) && !options.without_indexes)
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
            let rows = settle(&beside, &about, &chosen, options.options)?;
            if target.exists() {
                std::fs::remove_dir(target).map_err(|error| Error::io(target, &error))?;
            }
            rename_durably(&beside, target)?;
            Ok((written, rows))
        });
        let (written, rows) = finished.inspect_err(|_| drop(std::fs::remove_dir_all(&beside)))?;
        Ok(RestoreReport {
            folder: target.to_path_buf(),
            collections: about.collections.iter().filter(|c| chosen.has(c)).map(|c| about.label(c)).collect(),
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
            return Err(
                Error::not_found(format!("{} holds no backups yet", self.place.display())).about_path(&self.place)
            );
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

/// Prepares the folder that a restore writes first, and removes what a killed restore left there.
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
                "{} already exists and contains other files; move it, or restore under another name",
                beside.display()
            )));
        }
        std::fs::remove_dir_all(&beside).map_err(|error| io(&beside, error))?;
    }
    Ok(beside)
}

/// Which part of a backup is wanted.
struct Chosen {
    /// `None`: all of them.
    tenant: Option<u32>,
    collection: Option<String>,
}

impl Chosen {
    fn of(about: &About, id: &str, tenant: Option<&str>, collection: Option<&str>) -> Result<Self> {
        let not_in_it = |what: What, name: &str, names: Vec<&str>| {
            Error::not_found(format!("backup {id} has no {what} {name:?}; it has: {}", names.join(", ")))
                .about(what, name)
        };
        let number = match tenant {
            Some(name) => match about.tenants.iter().find(|tenant| tenant.name == name) {
                Some(tenant) => Some(tenant.number),
                None => {
                    let names = about.tenants.iter().map(|tenant| &*tenant.name).collect();
                    return Err(not_in_it(What::Tenant, name, names));
                }
            },
            // A collection alone is the default tenant's.
            None => collection.map(|_| DEFAULT),
        };
        let chosen = Self { tenant: number, collection: collection.map(Into::into) };
        if let Some(name) = collection
            && !about.collections.iter().any(|collection| chosen.has(collection))
        {
            let of_tenant = about.collections.iter().filter(|collection| Some(collection.tenant) == number);
            return Err(not_in_it(What::Collection, name, of_tenant.map(|collection| &*collection.name).collect()));
        }
        Ok(chosen)
    }

    fn has(&self, collection: &BackedUpCollection) -> bool {
        self.tenant.is_none_or(|tenant| tenant == collection.tenant)
            && self.collection.as_ref().is_none_or(|name| *name == collection.name)
    }
}

/// Opens what was written, so that it is known to open; drops what is not wanted. How many records there are.
fn settle(folder: &Path, about: &About, chosen: &Chosen, options: Options) -> Result<u64> {
    let database = Database::open(folder, Options { background: false, must_exist: true, ..options })?;
    let rows = about.collections.iter().filter(|collection| chosen.has(collection)).map(|one| one.rows).sum();
    if let Some(wanted) = chosen.tenant {
        if about.tenants.iter().any(|tenant| tenant.number != wanted) || wanted != DEFAULT {
            database.delete_other_tenants(wanted)?;
        }
        if let Some(name) = &chosen.collection {
            let scopes = database.scopes()?;
            let scope = scopes.iter().find(|scope| scope.tenant.number == wanted);
            let scope = scope.ok_or_else(|| Error::internal("the restored folder does not contain the tenant"))?;
            for other in scope.collection_names()?.iter().filter(|other| *other != name) {
                scope.drop_collection(other)?;
            }
            scope.drop_keyspaces()?;
        }
    }
    database.close()?;
    Ok(rows)
}
