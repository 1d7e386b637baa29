//! The database that callers see: it holds the folder, or asks the process that does.

use std::path::Path;
use std::sync::Arc;

use nuthatch_truth::Damage;

use crate::backup::{BackupOptions, BackupReport};
use crate::collection::{CollectionInfo, CollectionOptions};
use crate::database::{Database as LocalDatabase, Doctor, Erase, Migration, Receipt, RepairOutcome, Stats};
use crate::lock::{Holder, named};
use crate::options::Options;
use crate::process::collection::Collection;
use crate::process::keyspace::Keyspace;
use crate::process::limits::Limits;
use crate::process::link::{Held, Link, Role, note_store};
use crate::process::request::{Opened, Request};
use crate::process::wire::OptionsAsk;
use crate::snapshot::Snapshot;
use crate::transaction::{Transaction, WriteBatch};
use crate::transfer::{ExportOptions, ExportReport, ImportOptions, ImportReport};
use crate::{EmbedderChoice, Error, ErrorKind, Result};

/// An open data folder. Cheap to clone; closed by [`close`](Self::close) or with the last clone of it and of its collections.
///
/// The first process to open a folder **holds** it and serves the others; when it goes, another takes over. No call tells the
/// difference, but for its latency.
#[derive(Clone)]
pub struct Database {
    link: Arc<Link>,
}

/// Who holds an open folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderHolder {
    pub pid: u32,
    pub program: String,
    /// When it came to hold the folder, `2026-01-31T12:00:00Z`.
    pub since: String,
    /// It is this very handle, not another process or another handle of this one.
    pub is_this: bool,
}

/// Where a call goes.
enum Side {
    Here(Arc<Held>),
    There(Arc<Link>),
}

impl Database {
    /// Opens a data folder, creating it when it is missing. When another process, or another handle of this one, holds it, this
    /// handle is served by that one, with that one's memory budget and background work.
    ///
    /// # Errors
    /// `Conflict` when whoever holds it does not share it, or runs another version, naming pid, program, since when and the
    /// remedy; `Corrupt` when the truth is damaged, naming the file; `Invalid` for a folder of something else, a newer format, or
    /// a budget under 32 MiB.
    pub fn open(folder: impl AsRef<Path>, options: Options) -> Result<Self> {
        options.check()?;
        Ok(Self { link: Link::open(folder.as_ref(), options)? })
    }

    /// A database that is gone when it is closed: on a memory file system where there is one, else in the temporary folder. No
    /// other process can use it.
    pub fn in_memory(options: Options) -> Result<Self> {
        note_store()?;
        let db = LocalDatabase::in_memory(options.clone())?;
        Ok(Self { link: Link::alone(db, options, true) })
    }

    /// Repairs a folder that nobody has open: writes a damaged identity file anew, lets the truth keep what can be read,
    /// removes what points at lost records, and rebuilds damaged indexes. Damaged files are kept in `quarantine/`.
    ///
    /// # Errors
    /// `Conflict` while anybody has it open.
    pub fn repair(root: &Path, options: Options) -> Result<(Self, RepairOutcome)> {
        note_store()?;
        let (db, outcome) = LocalDatabase::repair(root, options.clone())?;
        Ok((Self { link: Link::alone(db, options, false) }, outcome))
    }

    /// What a [`repair`](Self::repair) would have to leave behind; changes nothing.
    ///
    /// # Errors
    /// As those of [`repair`](Self::repair).
    pub fn repair_plan(root: &Path, options: &Options) -> Result<Vec<Damage>> {
        LocalDatabase::repair_plan(root, options)
    }

    pub fn folder(&self) -> &Path {
        &self.link.shown
    }

    /// Who holds the folder now.
    pub fn holder(&self) -> Result<FolderHolder> {
        let link = self.link.here()?;
        let is_this = matches!(link.role()?, Role::Holds(_));
        let Holder { pid, program, since, .. } =
            link.holder().ok_or_else(|| Error::internal("the lock file does not say who holds the folder"))?;
        Ok(FolderHolder { pid, program, since, is_this })
    }

    /// The collection of that name, created with these options when there is none.
    ///
    /// # Errors
    /// `Invalid` when an option contradicts what is stored (both are named), or a name or dimension is unusable.
    pub fn collection(&self, name: &str, options: CollectionOptions) -> Result<Collection> {
        match self.side()? {
            Side::Here(held) => {
                let embedder = options.embedder.clone();
                let local = held.db().collection(name, options)?;
                Ok(Collection::held(self.link.here()?, local, embedder))
            }
            Side::There(link) => {
                let embedder = options.embedder.clone();
                let request =
                    Request::Open { name: name.into(), options: OptionsAsk::from(&options), must_exist: false };
                let opened: Opened = link.ask(request, &embedder, &Limits::default())?;
                Collection::served(link, name, opened, embedder)
            }
        }
    }

    /// The collection of that name.
    ///
    /// # Errors
    /// `NotFound`, with the names that there are.
    pub fn existing_collection(&self, name: &str) -> Result<Collection> {
        match self.side()? {
            Side::Here(held) => {
                let local = held.db().existing_collection(name)?;
                Ok(Collection::held(self.link.here()?, local, EmbedderChoice::Auto))
            }
            Side::There(link) => {
                let options = OptionsAsk::from(&CollectionOptions::default());
                let request = Request::Open { name: name.into(), options, must_exist: true };
                let opened: Opened = link.ask(request, &EmbedderChoice::Auto, &Limits::default())?;
                Collection::served(link, name, opened, EmbedderChoice::Auto)
            }
        }
    }

    /// Names of all collections, sorted.
    pub fn collection_names(&self) -> Result<Vec<String>> {
        self.either(LocalDatabase::collection_names, || Request::Names)
    }

    /// What every collection is and holds.
    pub fn collections(&self) -> Result<Vec<CollectionInfo>> {
        self.either(LocalDatabase::collections, || Request::Infos)
    }

    /// Deletes a collection with everything in it. False when there is none.
    pub fn drop_collection(&self, name: &str) -> Result<bool> {
        self.either(|db| db.drop_collection(name), || Request::Drop { name: name.into() })
    }

    /// The keyspace of that name, made when there is none.
    ///
    /// # Errors
    /// `Invalid` for a name that no keyspace can have.
    pub fn kv(&self, name: &str) -> Result<Keyspace> {
        self.keyspace(name, false)
    }

    /// The keyspace of that name.
    ///
    /// # Errors
    /// `NotFound`, with the names that there are.
    pub fn existing_keyspace(&self, name: &str) -> Result<Keyspace> {
        self.keyspace(name, true)
    }

    /// Names of all keyspaces, sorted.
    pub fn keyspace_names(&self) -> Result<Vec<String>> {
        self.either(LocalDatabase::keyspace_names, || Request::KeyspaceNames)
    }

    /// Deletes a keyspace with everything in it. False when there is none.
    pub fn drop_keyspace(&self, name: &str) -> Result<bool> {
        self.either(|db| db.drop_keyspace(name), || Request::DropKeyspace { name: name.into() })
    }

    /// Writes a batch: all of it or nothing, in one place of the order of all writes, durable as the batch says.
    ///
    /// # Errors
    /// As those of [`Keyspace`] and [`Collection::upsert`]; `NotFound` for a collection that there is not. Nothing is changed
    /// then.
    pub fn write(&self, batch: WriteBatch) -> Result<()> {
        match self.side()? {
            Side::Here(held) => held.db().write(batch),
            Side::There(link) => link.ask(Request::Write(Box::new(batch)), &EmbedderChoice::Auto, &Limits::default()),
        }
    }

    /// Everything that was written before, with whatever durability, is on the disk when this returns.
    pub fn sync(&self) -> Result<()> {
        self.either(LocalDatabase::sync, || Request::Sync)
    }

    /// Everything as it is now, whatever is written later.
    ///
    /// # Errors
    /// `Unavailable` where another process holds the folder: snapshots are for the process that holds it.
    pub fn snapshot(&self) -> Result<Snapshot> {
        self.held("a snapshot")?.db().snapshot()
    }

    /// Begins a transaction on everything as it is now.
    ///
    /// # Errors
    /// `Unavailable` where another process holds the folder: transactions are for the process that holds it.
    pub fn transaction(&self) -> Result<Transaction> {
        self.held("a transaction")?.db().transaction()
    }

    /// Runs `body` in a transaction and commits it; up to `retries` times anew when somebody else has changed what it read.
    ///
    /// # Errors
    /// As [`transaction`](Self::transaction).
    pub fn transact<T>(&self, retries: u32, body: impl FnMut(&Transaction) -> Result<T>) -> Result<T> {
        self.held("a transaction")?.db().transact(retries, body)
    }

    /// Rows, bytes on disk and bytes resident, by part: of the process that holds the folder.
    pub fn stats(&self) -> Result<Stats> {
        self.either(LocalDatabase::stats, || Request::Stats)
    }

    /// Reads every byte of the folder and checks it against its checksums. Searches and writes go on meanwhile.
    pub fn doctor(&self) -> Result<Doctor> {
        self.either(LocalDatabase::doctor, || Request::Doctor)
    }

    /// Brings everything fresh into the indexes and merges what is worth merging, now, in this call.
    pub fn optimize(&self) -> Result<()> {
        self.either(LocalDatabase::optimize, || Request::OptimizeAll)
    }

    /// Writes every file anew that may hold bytes of what was deleted or replaced before this call (in one collection, or in
    /// all), removes the old ones and what is in quarantine, and returns the receipt. Takes as long as reading and writing the
    /// data; searches and writes go on.
    ///
    /// # Errors
    /// `NotFound` for a collection that there is not; `Conflict` while a snapshot from before the deletion is open;
    /// `Exhausted` when the disk has no room for the new files beside the old. Calling again goes on where it ended.
    pub fn reclaim(&self, collection: Option<&str>) -> Result<Receipt> {
        self.either(|db| db.reclaim(collection), || Request::Reclaim(collection.map(Into::into)))
    }

    /// Receipts of all reclaims of this folder, oldest first.
    pub fn receipts(&self) -> Result<Vec<Receipt>> {
        self.either(LocalDatabase::receipts, || Request::Receipts)
    }

    /// Deletes and leaves nothing behind: one of the ways of deleting, and [`reclaim`](Self::reclaim) of the collection.
    pub fn erase(&self, collection: &str, what: &Erase) -> Result<Receipt> {
        self.either(
            |db| db.erase(collection, what),
            || Request::Erase { collection: collection.into(), what: what.clone() },
        )
    }

    /// Writes a backup of everything as of one moment. See [`BackupOptions`].
    ///
    /// # Errors
    /// `Unavailable` where another process holds the folder: a backup is made by the process that holds it.
    pub fn backup(&self, place: impl AsRef<Path>, options: BackupOptions<'_>) -> Result<BackupReport> {
        self.held("a backup")?.db().backup(place, options)
    }

    /// Writes everything, or one collection, in open formats. See [`ExportOptions`].
    ///
    /// # Errors
    /// As [`backup`](Self::backup).
    pub fn export(&self, folder: impl AsRef<Path>, options: ExportOptions<'_>) -> Result<ExportReport> {
        self.held("an export")?.db().export(folder, options)
    }

    /// Reads what an export wrote. See [`ImportOptions`].
    ///
    /// # Errors
    /// As [`backup`](Self::backup).
    pub fn import(&self, folder: impl AsRef<Path>, options: ImportOptions<'_>) -> Result<ImportReport> {
        self.held("an import")?.db().import(folder, options)
    }

    /// What [`migrate`](Self::migrate) would do.
    ///
    /// # Errors
    /// As [`backup`](Self::backup).
    pub fn migration(&self) -> Result<Migration> {
        self.held("a migration")?.db().migration()
    }

    /// Brings the folder to this program's format.
    ///
    /// # Errors
    /// As [`backup`](Self::backup).
    pub fn migrate(&self) -> Result<Migration> {
        self.held("a migration")?.db().migrate()
    }

    /// Finishes background work, writes what is buffered and lets the folder go; one of the others takes over. Calling it again
    /// does nothing. Every other use of this handle, its clones and its collections says `Closed` from here on.
    pub fn close(&self) -> Result<()> {
        match self.link.is_ours() {
            true => self.link.close(),
            // What the parent of a fork has is the parent's.
            false => self.link.here().and_then(|link| link.close()),
        }
    }

    fn keyspace(&self, name: &str, must_exist: bool) -> Result<Keyspace> {
        match self.side()? {
            Side::Here(held) => {
                let local = match must_exist {
                    true => held.db().existing_keyspace(name)?,
                    false => held.db().kv(name)?,
                };
                Ok(Keyspace::held(self.link.here()?, local))
            }
            Side::There(link) => {
                let request = Request::OpenKeyspace { name: name.into(), must_exist };
                let id = link.ask(request, &EmbedderChoice::None, &Limits::default())?;
                Ok(Keyspace::served(link, name, id))
            }
        }
    }

    /// The database in this very handle, for what cannot be asked of another.
    fn held(&self, what: &str) -> Result<Arc<Held>> {
        match self.side()? {
            Side::Here(held) => Ok(held),
            Side::There(link) => Err(Error::new(
                ErrorKind::Unavailable,
                format!(
                    "{what} needs the process that holds the folder, and that is {}; do this there, or close it there first",
                    named(link.holder().as_ref())
                ),
            )),
        }
    }

    fn side(&self) -> Result<Side> {
        let link = self.link.here()?;
        match link.role()? {
            Role::Holds(held) => Ok(Side::Here(held)),
            Role::IsServed(_) => Ok(Side::There(link)),
            Role::Closed => Err(Error::closed()),
        }
    }

    fn either<T: serde::de::DeserializeOwned>(
        &self,
        here: impl FnOnce(&LocalDatabase) -> Result<T>,
        there: impl FnOnce() -> Request,
    ) -> Result<T> {
        match self.side()? {
            Side::Here(held) => here(held.db()),
            Side::There(link) => link.ask(there(), &EmbedderChoice::Auto, &Limits::default()),
        }
    }
}
