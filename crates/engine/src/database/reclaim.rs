//! Giving back the bytes of deleted data, and the receipt of which files were removed and which written.

use std::collections::{BTreeMap, HashSet};
use std::io::Read;
use std::path::{Path, PathBuf};

use nuthatch_segment::{read_sealed, write_sealed};
use nuthatch_store::Extent;
use serde::{Deserialize, Serialize};

use crate::below::{Seen, files_below};
use crate::collection::Core;
use crate::database::{Database, Registry};
use crate::descriptor::meta::{self, Meta, meta_key};
use crate::runtime::Runtime;
use crate::snapshot::Ending;
use crate::tenant::{Tenant, records};
use crate::{Error, ErrorKind, Result};

const RECEIPT_VERSION: u32 = 3;
/// The last version whose receipts named no tenant.
const WITHOUT_TENANT: u32 = 1;
/// The last version whose receipts counted no snapshots.
const WITHOUT_SNAPSHOTS: u32 = 2;

/// The data to erase from a collection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Erase {
    /// Records by id; ids that are not there are passed over.
    Ids(Vec<String>),
    /// Records whose payload passes the filter.
    Where(String),
    /// Records whose id begins so.
    Prefix(String),
    /// A file, or every file below a folder, with their passages.
    Files(String),
}

/// The record of a [`Database::reclaim`]. Stored as JSON in `receipts/`; it names files and counts, and nothing of what
/// the files contained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Receipt {
    /// Version of the receipt's layout.
    pub version: u32,
    /// Name of the receipt's file, without its ending.
    pub id: String,
    /// UTC, RFC 3339.
    pub started: String,
    /// UTC, RFC 3339.
    pub finished: String,
    /// The program that did it, with its version.
    pub program: String,
    /// The tenant whose data was reclaimed; absent for the default tenant and for the whole folder.
    #[serde(default)]
    pub tenant: Option<String>,
    /// The one collection that was reclaimed; absent for all of them.
    pub collection: Option<String>,
    /// Records that the same call deleted first; absent when it deleted none itself.
    pub deleted_records: Option<u64>,
    /// Older snapshots and transactions, of any tenant, that the call ended because they showed deleted data.
    #[serde(default)]
    pub ended_snapshots: u64,
    /// For each collection, the last change that the rewritten files account for. In a receipt for the whole folder,
    /// names are `tenant/name`.
    pub sequences: BTreeMap<String, u64>,
    /// Files that were removed: they may have held deleted data.
    pub removed: Vec<RemovedFile>,
    /// Files that took their place.
    pub written: Vec<WrittenFile>,
    /// Bytes of the folder's files before; of a tenant, of those that may hold something of its.
    pub bytes_before: u64,
    /// Bytes of the same sort of files afterwards.
    pub bytes_after: u64,
    /// BLAKE3 of this receipt as compact JSON with an empty checksum, in hex.
    pub checksum: String,
}

/// A file that is gone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemovedFile {
    /// Relative to the data folder.
    pub path: String,
    /// Its size.
    pub bytes: u64,
}

/// A file that took the place of others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrittenFile {
    /// Relative to the data folder.
    pub path: String,
    /// Its size.
    pub bytes: u64,
    /// BLAKE3 of the file, in hex.
    pub blake3: String,
}

impl Receipt {
    /// True when nothing in it was changed since it was written.
    pub fn is_genuine(&self) -> bool {
        self.checksum == self.digest()
    }

    fn digest(&self) -> String {
        let unsigned = Self { checksum: String::new(), ..self.clone() };
        let mut body = serde_json::to_string(&unsigned).expect("names and numbers are JSON");
        if self.version <= WITHOUT_TENANT {
            // As it was written then. Nothing in quotes can look like this.
            body = body.replacen("\"tenant\":null,", "", 1);
        }
        if self.version <= WITHOUT_SNAPSHOTS {
            body = body.replacen("\"ended_snapshots\":0,", "", 1);
        }
        blake3::hash(body.as_bytes()).to_hex().to_string()
    }
}

impl Database {
    /// Rewrites every file that may hold bytes of data deleted or replaced before this call (in one collection, or in
    /// all), removes the old files and the quarantine's, and returns the receipt. Takes as long as reading and writing
    /// the data; searches and writes go on. Ends older snapshots and transactions, of any tenant, that do not end by
    /// themselves within [`crate::Options::erasure_grace`]; their next read says `Conflict`.
    ///
    /// # Errors
    /// `NotFound` for an unknown collection; `Conflict` while an earlier read goes on for more than a minute: an
    /// export, the backup of one tenant, a very long search; `Exhausted` when the disk has no room for the new files
    /// next to the old ones. A second call continues where it ended.
    pub fn reclaim(&self, collection: Option<&str>) -> Result<Receipt> {
        self.reclaim_after(collection, None)
    }

    /// Receipts of all reclaims of this folder, oldest first; of a scoped handle, those of its tenant's own.
    pub fn receipts(&self) -> Result<Vec<Receipt>> {
        self.check_open()?;
        let folder = self.inner.shared.folder.receipts();
        let mut receipts = Vec::new();
        for path in files_below(&folder)?.into_keys() {
            let body = read_sealed(&path)?.unwrap_or_default();
            let receipt: Receipt = serde_json::from_slice(&body)
                .map_err(|error| Error::corrupt(&path, format!("{}: {error}", path.display())))?;
            receipts.push(receipt);
        }
        if !self.tenant.is_default() {
            receipts.retain(|receipt| receipt.tenant.as_ref() == Some(&self.tenant.name));
        }
        receipts.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(receipts)
    }

    fn reclaim_after(&self, only: Option<&str>, deleted_records: Option<u64>) -> Result<Receipt> {
        let registry = &self.inner.registry;
        self.check_open()?;
        if only.is_none() {
            for scope in self.scopes()? {
                scope.sweep_tree_passages()?;
            }
        }
        let mut work = Reclaiming::begin(registry, Some(&self.tenant))?;
        let only = only.map(|name| self.borrow(name)).transpose()?;
        let extent = match (&only, self.tenant.is_default()) {
            (Some(core), _) => Extent::Shard(core.shard),
            (None, true) => Extent::Everything,
            (None, false) => self.tenant.extent(),
        };
        match &only {
            Some(core) => work.collection(core, &core.name)?,
            None => {
                for scope in self.scopes()? {
                    work.collections_of(&scope, scope.tenant.number == self.tenant.number)?;
                }
            }
        }
        for scope in self.scopes()? {
            registry.remove_outdated(&scope.tenant)?;
        }
        registry.sweep_all_expired(match self.tenant.is_default() {
            true => Extent::Everything,
            false => self.tenant.extent(),
        })?;
        self.remove_orphans()?;
        work.finish(extent, only.as_ref().map(|core| core.name.clone()), deleted_records)
    }
}

/// A reclaim under way: the files before it, and what it has rewritten since.
pub(crate) struct Reclaiming<'s> {
    shared: &'s Runtime,
    tenant: Option<&'s Tenant>,
    started: jiff::Timestamp,
    before: BTreeMap<PathBuf, Seen>,
    sequences: BTreeMap<String, u64>,
    ending: Ending<'s>,
}

impl<'s> Reclaiming<'s> {
    /// `tenant`: whose data is reclaimed.
    pub fn begin(registry: &'s Registry, tenant: Option<&'s Tenant>) -> Result<Self> {
        let shared = &registry.shared;
        let tenant = tenant.filter(|tenant| !tenant.is_default());
        let before = files_of(shared, tenant)?;
        let (started, sequences) = (shared.options.clock.now(), BTreeMap::new());
        Ok(Self { shared, tenant, started, before, sequences, ending: Ending::begin(shared, &registry.snapshots) })
    }

    /// Every collection that a handle sees. `is_own`: named without their tenant.
    fn collections_of(&mut self, scope: &Database, is_own: bool) -> Result<()> {
        let names = match scope.collection_names() {
            Err(error) if error.kind == ErrorKind::NotFound => return Ok(()), // the tenant has been dropped
            names => names?,
        };
        for name in names {
            let core = match scope.borrow(&name) {
                Err(error) if error.kind == ErrorKind::NotFound => continue, // dropped since
                core => core?,
            };
            let label = if is_own { name } else { core.tenant.label(&name) };
            self.collection(&core, &label)?;
        }
        Ok(())
    }

    fn collection(&mut self, core: &Core, label: &str) -> Result<()> {
        core.reclaim(&mut self.ending)?;
        self.sequences.insert(label.to_string(), core.applied().unwrap_or(0));
        Ok(())
    }

    /// Rewrites the store, and records in a receipt what became of the files.
    pub fn finish(self, extent: Extent, collection: Option<String>, deleted_records: Option<u64>) -> Result<Receipt> {
        let Self { shared, tenant, started, before, sequences, mut ending } = self;
        empty_quarantine(shared, tenant)?;
        let sequence = ending.before_now()?;
        if let Some(upkeep) = shared.store()?.upkeep() {
            upkeep.reclaim_before(extent, sequence)?;
            upkeep.record_checksums()?;
        }
        nuthatch_heap::give_back();
        let after = files_of(shared, tenant)?;
        let mut receipt = Receipt {
            version: RECEIPT_VERSION,
            id: format!("{}", started.strftime("%Y%m%dT%H%M%S%3fZ")),
            started: stamp(started),
            finished: stamp(shared.options.clock.now()),
            program: format!("nuthatch {}", env!("CARGO_PKG_VERSION")),
            tenant: tenant.map(|tenant| tenant.name.clone()),
            collection,
            deleted_records,
            ended_snapshots: ending.ended(),
            sequences,
            removed: Vec::new(),
            written: Vec::new(),
            bytes_before: before.values().map(|file| file.bytes).sum(),
            bytes_after: after.values().map(|file| file.bytes).sum(),
            checksum: String::new(),
        };
        let root = shared.folder.root();
        let name = |path: &Path| path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned();
        for (path, file) in &before {
            if after.get(path).is_none_or(|now| now != file && !is_in_use(path)) {
                receipt.removed.push(RemovedFile { path: name(path), bytes: file.bytes });
            }
        }
        for (path, file) in &after {
            if before.get(path) != Some(file)
                && !is_in_use(path)
                && let Some((bytes, blake3)) = digest_of(path)?
            {
                receipt.written.push(WrittenFile { path: name(path), bytes, blake3 });
            }
        }
        receipt.checksum = receipt.digest();
        let folder = shared.folder.receipts();
        std::fs::create_dir_all(&folder).map_err(|error| Error::io(&folder, &error))?;
        let body = serde_json::to_vec_pretty(&receipt).expect("names and numbers are JSON");
        write_sealed(&folder.join(format!("{}.json", receipt.id)), &body)?;
        Ok(receipt)
    }
}

/// The files of a receipt: every file of the folder, or those that may hold data of one tenant.
fn files_of(shared: &Runtime, tenant: Option<&Tenant>) -> Result<BTreeMap<PathBuf, Seen>> {
    let folder = &shared.folder;
    let mut files = files_below(folder.root())?;
    if let Some(tenant) = tenant {
        let indexes = folder.indexes_of(tenant.number);
        let may_hold = |path: &Path| {
            path.starts_with(folder.store())
                || path.starts_with(&indexes)
                || path.starts_with(folder.quarantine()) && may_be_of(tenant, path, &folder.quarantine())
        };
        files.retain(|path, _| may_hold(path));
    }
    Ok(files)
}

/// Whether something in quarantine may hold bytes of a tenant: its indexes, and files of the store.
fn may_be_of(tenant: &Tenant, path: &Path, quarantine: &Path) -> bool {
    let inside = path.strip_prefix(quarantine).unwrap_or(path);
    let name = inside.iter().next().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    name.starts_with("truth-") || name.starts_with(&format!("{}-", tenant.number))
}

/// Empties the quarantine, or removes only what may belong to one tenant.
fn empty_quarantine(shared: &Runtime, tenant: Option<&Tenant>) -> Result<()> {
    let quarantine = shared.folder.quarantine();
    let remove = |path: &Path| match std::fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::io(path, &error)),
        _ => Ok(()),
    };
    let Some(tenant) = tenant else { return remove(&quarantine) };
    for path in entries(&quarantine)? {
        if may_be_of(tenant, &path, &quarantine) {
            remove(&path)?;
        }
    }
    Ok(())
}

/// Returns the entries of a folder; none when it does not exist.
fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(|error| Error::io(folder, &error))?,
    };
    entries.map(|entry| Ok(entry.map_err(|error| Error::io(folder, &error))?.path())).collect()
}

impl Database {
    /// Deletes and leaves nothing behind: one way of deleting, then [`reclaim`](Self::reclaim) of the collection.
    pub fn erase(&self, collection: &str, what: &Erase) -> Result<Receipt> {
        let records = self.existing_collection(collection)?;
        let before = records.row_count()?;
        match what {
            Erase::Ids(ids) => drop(records.delete(ids)?),
            Erase::Where(filter) => drop(records.delete_where(filter)?),
            Erase::Prefix(prefix) => drop(records.delete_prefix(prefix)?),
            Erase::Files(path) => drop(records.remove_files(path)?),
        }
        self.reclaim_after(Some(collection), Some(before.saturating_sub(records.row_count()?)))
    }

    /// Removes index folders of collections that the catalog does not know: left by a process that ended while dropping
    /// one.
    pub(crate) fn remove_orphans(&self) -> Result<()> {
        let (shared, registry) = (&self.inner.shared, &self.inner.registry);
        let _catalog = registry.catalog.lock();
        let store = shared.store()?;
        let mut tenants = vec![self.tenant.number];
        if self.tenant.is_default() {
            // Those that are being dropped have no collections.
            tenants.extend(records(&*store)?.into_iter().map(|(_, record)| record.id));
            let folders: HashSet<PathBuf> = tenants.iter().map(|tenant| shared.folder.indexes_of(*tenant)).collect();
            for path in entries(&shared.folder.indexes())? {
                if path.is_dir() && !folders.contains(&path) {
                    std::fs::remove_dir_all(&path).map_err(|error| Error::io(&path, &error))?;
                }
            }
        }
        for tenant in tenants {
            let mut known = HashSet::new();
            for name in registry.collection_names(tenant)? {
                let meta: Option<Meta> = meta::read(&*store, &meta_key(tenant, &name))?;
                known.extend(meta.map(|meta| shared.folder.index(tenant, meta.id)));
            }
            for path in entries(&shared.folder.indexes_of(tenant))? {
                if path.is_dir() && !known.contains(&path) {
                    std::fs::remove_dir_all(&path).map_err(|error| Error::io(&path, &error))?;
                }
            }
        }
        Ok(())
    }
}

/// True for files that change while they are read: logs, and the lock file.
fn is_in_use(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "log") || path.file_name().is_some_and(|name| name == "LOCK")
}

/// Length and BLAKE3 of a file; `None` when it has gone.
fn digest_of(path: &Path) -> Result<Option<(u64, String)>> {
    let mut file = match std::fs::File::open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        file => file.map_err(|error| Error::io(path, &error))?,
    };
    let (mut hasher, mut bytes) = (blake3::Hasher::new(), 0);
    let mut buffer = vec![0; 256 << 10];
    loop {
        match file.read(&mut buffer).map_err(|error| Error::io(path, &error))? {
            0 => return Ok(Some((bytes, hasher.finalize().to_hex().to_string()))),
            read => {
                hasher.update(&buffer[..read]);
                bytes += read as u64;
            }
        }
    }
}

fn stamp(when: jiff::Timestamp) -> String {
    when.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}
