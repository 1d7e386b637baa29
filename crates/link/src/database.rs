//! The database that callers see: it holds the folder, or asks the process that does.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use nuthatch_engine::backup::{self, BackupOptions, BackupReport, check_place};
use nuthatch_engine::call::Waits;
use nuthatch_engine::collection::{CollectionInfo, CollectionOptions};
use nuthatch_engine::database::{Database as LocalDatabase, Doctor, Erase, Migration, Receipt, RepairOutcome, Stats};
use nuthatch_engine::durability::Durability;
use nuthatch_engine::kv::Kind;
use nuthatch_engine::lock::Holder;
use nuthatch_engine::ops::{Op, collections, keyspaces, maintenance, on};
use nuthatch_engine::options::Options;
use nuthatch_engine::transaction::WriteBatch;
use nuthatch_engine::transfer::{self, CollectionEntry, ExportFolder, ExportOptions, ExportReport, Outlet};
use nuthatch_engine::tree::{TREES, check_tree};
use nuthatch_engine::{EmbedderChoice, Error, ErrorKind, Result, What};
use nuthatch_store::{Damage, Store};

use crate::cache::Cache;
use crate::collection::Collection;
use crate::facts::Facts;
use crate::graph::Graph;
use crate::keyspace::Keyspace;
use crate::link::{Link, Role, note_store};
use crate::long::{Exported, Long, SeenFolder, Told};
use crate::meanwhile::{Meanwhile, OnTold};
use crate::request::{Ask, Of};
use crate::route::Route;
use crate::snapshot::{KeepPolicy, KeptSnapshots, Snapshot};
use crate::transaction::Transaction;
use crate::tree::Tree;

/// An open data folder, as one of its tenants sees it. Cheap to clone; closed by [`close`](Self::close), or with the
/// last clone of it and of its collections.
///
/// The first process to open a folder **holds** it and serves the others; when it ends, another takes over. Calls
/// differ only in their latency.
///
/// Opening returns the handle of the **default tenant**, which is also the administrator's: it creates, lists and drops
/// the other tenants, and gives the handles of their data ([`tenant`](Self::tenant)), which access nothing else.
#[derive(Clone)]
pub struct Database {
    link: Route,
    /// The snapshots that it keeps for others, of all tenants.
    kept: Arc<KeptSnapshots>,
}

/// The holder of an open folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderHolder {
    /// The process.
    pub pid: u32,
    /// The name of its program.
    pub program: String,
    /// When it came to hold the folder, `2026-01-31T12:00:00Z`.
    pub since: String,
    /// It is this very handle, not another process or another handle of this one.
    pub is_this: bool,
}

/// Where a call goes.
enum Side {
    Here(LocalDatabase),
    There(Route),
}

impl Database {
    /// Opens a data folder, creating it when it is missing. When another process, or another handle in this one, holds
    /// the folder, that one serves this handle, with its own memory budget and background work.
    ///
    /// # Errors
    /// `Conflict` when the folder's holder does not share it, or runs another version: names its pid, program, since
    /// when it holds the folder, and the remedy; `Corrupt` when the store is damaged, naming the file; `Invalid` for a
    /// folder of another program, a newer format, or a budget under 32 MiB.
    pub fn open(folder: impl AsRef<Path>, options: Options) -> Result<Self> {
        options.check()?;
        let kept = keeper(&options);
        Ok(Self { link: Route::new(Link::open(folder.as_ref(), options, kept.clone())?), kept })
    }

    /// A database that is gone when it is closed: its rows are in memory, its index files on a memory file system where there is
    /// one, else in the temporary folder. No other process can use it.
    pub fn in_memory(options: Options) -> Result<Self> {
        note_store()?;
        let db = LocalDatabase::in_memory(options.clone())?;
        Ok(Self::alone(db, options, true))
    }

    /// A database on the caller's own store, which outlives it. Its index files are as those of a database in memory,
    /// and are built again from the store's rows at the next opening. Nothing else may write to the store while the
    /// database is open.
    pub fn with_store(store: Arc<dyn Store>, options: Options) -> Result<Self> {
        note_store()?;
        let db = LocalDatabase::with_store(store, options.clone())?;
        Ok(Self::alone(db, options, true))
    }

    /// Repairs a folder that no process has open: rewrites a damaged identity file, has the store keep what can be
    /// read, removes references to lost records, and rebuilds damaged indexes. Keeps damaged files in `quarantine/`.
    ///
    /// # Errors
    /// `Conflict` while a process has it open.
    pub fn repair(root: &Path, options: Options) -> Result<(Self, RepairOutcome)> {
        note_store()?;
        let (db, outcome) = LocalDatabase::repair(root, options.clone())?;
        Ok((Self::alone(db, options, false), outcome))
    }

    /// Lists the data that a [`repair`](Self::repair) would lose; changes nothing.
    ///
    /// # Errors
    /// As those of [`repair`](Self::repair).
    pub fn repair_plan(root: &Path, options: &Options) -> Result<Vec<Damage>> {
        LocalDatabase::repair_plan(root, options)
    }

    /// The same database, for a caller who waits no longer than this. Reads through it, and through any handle made
    /// from it, then end with `Unavailable`, in whichever process they run; writes are completed.
    #[must_use]
    pub fn waiting(&self, waits: Waits) -> Self {
        self.along(self.link.waiting(waits))
    }

    /// Returns the limits that end the reads of this handle.
    pub fn waits(&self) -> Waits {
        self.link.waits().clone()
    }

    /// Whether this is the default tenant's handle, which is also the administrator's.
    pub fn is_of_the_default_tenant(&self) -> bool {
        self.link.tenant().is_none()
    }

    /// The data folder, as the caller named it.
    pub fn folder(&self) -> &Path {
        self.link.shown()
    }

    /// Returns the current holder of the folder.
    pub fn holder(&self) -> Result<FolderHolder> {
        let link = self.link.here()?;
        let is_this = matches!(link.role()?, Role::Holds(_));
        let Holder { pid, program, since, .. } = link
            .holder()
            .ok_or_else(|| Error::internal("the lock file does not name the process that holds the folder"))?;
        Ok(FolderHolder { pid, program, since, is_this })
    }

    /// The collection of that name, created with these options when there is none.
    ///
    /// # Errors
    /// `Invalid` when an option contradicts what is stored (both are named), or a name or dimension is unusable.
    pub fn collection(&self, name: &str, options: CollectionOptions) -> Result<Collection> {
        match self.side()? {
            Side::Here(db) => {
                let embedder = options.embedder.clone();
                let local = db.collection(name, options)?;
                Ok(Collection::held(self.link.here()?, local, embedder))
            }
            Side::There(link) => {
                let embedder = match &options.embedder {
                    EmbedderChoice::Auto => link.given_embedder(name),
                    chosen => chosen.clone(),
                };
                let open = collections::Open { name: name.into(), options: (&options).into(), must_exist: false };
                let opened = link.ask(Of::Everything, &embedder, &open)?;
                link.note_embedder(name, &embedder);
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
            Side::Here(db) => {
                let local = db.existing_collection(name)?;
                Ok(Collection::held(self.link.here()?, local, EmbedderChoice::Auto))
            }
            Side::There(link) => {
                let options = (&CollectionOptions::default()).into();
                let open = collections::Open { name: name.into(), options, must_exist: true };
                let embedder = link.given_embedder(name);
                let opened = link.ask(Of::Everything, &embedder, &open)?;
                Collection::served(link, name, opened, embedder)
            }
        }
    }

    /// Names of all collections, sorted.
    pub fn collection_names(&self) -> Result<Vec<String>> {
        self.ask(collections::Names)
    }

    /// The options, counts and state of every collection.
    pub fn collections(&self) -> Result<Vec<CollectionInfo>> {
        self.ask(collections::Infos)
    }

    /// Deletes a collection with everything in it. False when there is none.
    pub fn drop_collection(&self, name: &str) -> Result<bool> {
        let dropped = self.ask(collections::Drop(name.into()))?;
        self.link.forget_embedder(name);
        Ok(dropped)
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
        self.names_of(Kind::Plain)
    }

    /// Deletes a keyspace with everything in it. False when there is none.
    ///
    /// # Errors
    /// `Invalid` for a graph's name.
    pub fn drop_keyspace(&self, name: &str) -> Result<bool> {
        self.drop_kind(name, Kind::Plain)
    }

    /// The graph of that name, made when there is none. A folder gets format 3 with its first one.
    ///
    /// # Errors
    /// `Invalid` for a name that no graph can have, or that a keyspace has.
    pub fn graph(&self, name: &str) -> Result<Graph> {
        self.open_graph(name, false)
    }

    /// The graph of that name.
    ///
    /// # Errors
    /// `NotFound`, with the names that there are.
    pub fn existing_graph(&self, name: &str) -> Result<Graph> {
        self.open_graph(name, true)
    }

    /// Names of all graphs, sorted.
    pub fn graph_names(&self) -> Result<Vec<String>> {
        self.names_of(Kind::Graph)
    }

    /// Deletes a graph with everything in it. False when there is none.
    ///
    /// # Errors
    /// `Invalid` for a keyspace's name.
    pub fn drop_graph(&self, name: &str) -> Result<bool> {
        self.drop_kind(name, Kind::Graph)
    }

    /// The tree of that name, which its first file makes. A folder gets format 4 with its first tree.
    ///
    /// # Errors
    /// `Invalid` for a name that no tree can have.
    pub fn tree(&self, name: &str) -> Result<Tree> {
        check_tree(name)?;
        self.open_trees(name, false)
    }

    /// The tree of that name.
    ///
    /// # Errors
    /// `NotFound`, with the names that there are.
    pub fn existing_tree(&self, name: &str) -> Result<Tree> {
        check_tree(name)?;
        if self.names_of(Kind::Trees)?.is_empty() {
            return Err(Error::not_among(What::Tree, name, &[]));
        }
        let tree = self.open_trees(name, true)?;
        tree.info()?;
        Ok(tree)
    }

    /// The passages of all trees, as a collection that only searches of trees write; `None` when none were made.
    pub fn passages_of_trees(&self) -> Result<Option<Collection>> {
        let found = match self.side()? {
            Side::Here(db) => db
                .passages_of_trees()
                .and_then(|local| Ok(Collection::held(self.link.here()?, local, EmbedderChoice::Auto))),
            Side::There(link) => {
                let options = (&CollectionOptions::default()).into();
                let open = collections::Open { name: TREES.into(), options, must_exist: true };
                let opened = link.ask(Of::Everything, &EmbedderChoice::Auto, &open);
                opened.and_then(|opened| Collection::served(link, TREES, opened, EmbedderChoice::Auto))
            }
        };
        match found {
            Err(error) if error.is_missing(What::Collection) => Ok(None),
            found => found.map(Some),
        }
    }

    /// Names of all trees, sorted.
    pub fn tree_names(&self) -> Result<Vec<String>> {
        if self.names_of(Kind::Trees)?.is_empty() {
            return Ok(Vec::new());
        }
        self.open_trees("any", true)?.names()
    }

    /// Erases a tree with all its versions and snapshots. False when there is none.
    pub fn drop_tree(&self, name: &str) -> Result<bool> {
        match self.existing_tree(name) {
            Ok(tree) => tree.erase_all(),
            Err(error) if error.is_missing(What::Tree) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The cache of that name, made when there is none. A folder gets format 5 with its first one.
    ///
    /// # Errors
    /// `Invalid` for a name that no cache can have, or that a keyspace or a graph has.
    pub fn cache(&self, name: &str) -> Result<Cache> {
        self.open_cache(name, false)
    }

    /// The cache of that name.
    ///
    /// # Errors
    /// `NotFound`, with the names that there are.
    pub fn existing_cache(&self, name: &str) -> Result<Cache> {
        self.open_cache(name, true)
    }

    /// Names of all caches, sorted.
    pub fn cache_names(&self) -> Result<Vec<String>> {
        self.names_of(Kind::Cache)
    }

    /// Deletes a cache with everything in it, its ledger too. False when there is none.
    ///
    /// # Errors
    /// `Invalid` for the name of a keyspace or a graph.
    pub fn drop_cache(&self, name: &str) -> Result<bool> {
        self.drop_kind(name, Kind::Cache)
    }

    /// The facts of that name, made when there are none. A folder gets format 6 with its first ones.
    ///
    /// # Errors
    /// `Invalid` for a name that facts cannot have, or that a keyspace, a graph or a cache has.
    pub fn facts(&self, name: &str) -> Result<Facts> {
        self.open_facts(name, false)
    }

    /// The facts of that name.
    ///
    /// # Errors
    /// `NotFound`, with the names that there are.
    pub fn existing_facts(&self, name: &str) -> Result<Facts> {
        self.open_facts(name, true)
    }

    /// Names of all facts, sorted.
    pub fn facts_names(&self) -> Result<Vec<String>> {
        self.names_of(Kind::Facts)
    }

    /// Deletes all facts of that name, with what extractors found. False when there are none.
    ///
    /// # Errors
    /// `Invalid` for the name of a keyspace, a graph or a cache.
    pub fn drop_facts(&self, name: &str) -> Result<bool> {
        self.drop_kind(name, Kind::Facts)
    }

    /// Writes a batch: all of it or nothing, at one place in the order of all writes, durable as the batch says.
    ///
    /// # Errors
    /// As those of [`Keyspace`] and [`Collection::upsert`]; `NotFound` for an unknown collection. Nothing is changed
    /// then.
    pub fn write(&self, mut batch: WriteBatch) -> Result<()> {
        match self.side()? {
            Side::Here(db) => db.write(batch),
            Side::There(link) => {
                link.embed(&mut batch)?;
                link.ask(Of::Everything, &EmbedderChoice::Auto, &batch)
            }
        }
    }

    /// A view of everything as it is now; later writes do not change it. Where another process holds the folder, that
    /// one keeps it.
    ///
    /// # Errors
    /// `Exhausted` when another process holds the folder and keeps [`Options::snapshots_max`] of this tenant for others already.
    pub fn snapshot(&self) -> Result<Snapshot> {
        loop {
            match self.side()? {
                Side::Here(db) => return Ok(Snapshot::here(db.snapshot()?)),
                Side::There(link) => {
                    // None: this process has come to hold the folder.
                    if let Some(snapshot) = Snapshot::there(link)? {
                        return Ok(snapshot);
                    }
                }
            }
        }
    }

    /// The snapshots that this handle keeps under an id for others, of all tenants and over all faces.
    pub fn kept_snapshots(&self) -> &Arc<KeptSnapshots> {
        &self.kept
    }

    /// Begins a transaction on everything as it is now.
    ///
    /// # Errors
    /// As [`snapshot`](Self::snapshot).
    pub fn transaction(&self) -> Result<Transaction> {
        Ok(Transaction::on(self.snapshot()?))
    }

    /// Runs `body` in a transaction and commits it; repeats it up to `retries` times when another writer has changed
    /// what it read, and each time the process that holds the folder changes.
    ///
    /// # Errors
    /// As [`transaction`](Self::transaction), [`Transaction::commit`] and the body.
    pub fn transact<T>(&self, retries: u32, mut body: impl FnMut(&Transaction) -> Result<T>) -> Result<T> {
        let mut tried = 0;
        loop {
            let transaction = self.transaction()?;
            let outcome = body(&transaction).and_then(|value| transaction.commit(Durability::Commit).map(|()| value));
            match outcome {
                Err(error) if error.kind == ErrorKind::Conflict && transaction.is_lost() => {}
                Err(error) if error.kind == ErrorKind::Conflict && tried < retries => tried += 1,
                outcome => return outcome,
            }
        }
    }

    /// Rows, bytes on disk and bytes resident, by part: of the process that holds the folder.
    pub fn stats(&self) -> Result<Stats> {
        self.ask(maintenance::Stats)
    }

    /// Reads every byte of the folder and checks it against its checksums. Searches and writes go on during the check.
    pub fn doctor(&self) -> Result<Doctor> {
        self.ask(maintenance::Doctor)
    }

    /// Brings all fresh rows into the indexes and merges what is worth merging, now, in this call.
    pub fn optimize(&self) -> Result<()> {
        self.ask(maintenance::Optimize)
    }

    /// Rewrites every file that may hold bytes of data deleted or replaced before this call (in one collection, or in
    /// all), removes the old files and the quarantine's, and returns the receipt. Takes as long as reading and writing
    /// the data; searches and writes go on. Ends older snapshots and transactions, of any tenant and process, that do
    /// not end by themselves within [`crate::Options::erasure_grace`]; their next read says `Conflict`.
    ///
    /// # Errors
    /// `NotFound` for an unknown collection; `Conflict` while an earlier export or a very long read goes on;
    /// `Exhausted` when the disk has no room for the new files next to the old ones. A second call continues where it
    /// ended.
    pub fn reclaim(&self, collection: Option<&str>) -> Result<Receipt> {
        self.ask(maintenance::Reclaim(collection.map(Into::into)))
    }

    /// Receipts of all reclaims of this folder, oldest first.
    pub fn receipts(&self) -> Result<Vec<Receipt>> {
        self.ask(maintenance::Receipts)
    }

    /// Deletes and leaves nothing behind: one way of deleting, then [`reclaim`](Self::reclaim) of the collection.
    pub fn erase(&self, collection: &str, what: &Erase) -> Result<Receipt> {
        self.ask(maintenance::EraseIn { collection: collection.into(), what: what.clone() })
    }

    /// Writes a backup of everything as of one moment. See [`BackupOptions`]. The process that holds the folder writes
    /// it; if that process ends, the next holder begins again and takes over what was stored.
    ///
    /// # Errors
    /// `Corrupt` when stored records are damaged, with the file's name; `Conflict` when another backup is under way here or there;
    /// `Invalid` when `place` has other files in it; `Unavailable` when it was cancelled, or when the process that holds the folder
    /// does not see the same `place` (in another container).
    pub fn backup(&self, place: impl AsRef<Path>, options: BackupOptions<'_>) -> Result<BackupReport> {
        let place = place.as_ref();
        let link = match self.side()? {
            Side::Here(db) => return db.backup(place, options),
            Side::There(link) => link,
        };
        let BackupOptions { indexes, rate_bytes_per_second, mut on_progress, cancel } = options;
        let still_wanted = || backup::refuse_when_cancelled(cancel);
        still_wanted()?;
        check_place(place, link.root())?;
        let request = Long::Backup { place: SeenFolder::make(place)?, indexes, rate_bytes_per_second };
        let mut tell = |told: Told| {
            if let (Told::Backup(progress), Some(tell)) = (&told, &mut on_progress) {
                tell(progress);
            }
            still_wanted()
        };
        ask_long(&link, request, &mut tell, &still_wanted)
    }

    /// Writes everything, or one collection, in open formats. See [`ExportOptions`]. This process writes the files,
    /// even if another one holds the data folder; if that one ends, the export begins again.
    ///
    /// # Errors
    /// `Invalid` when `folder` is not empty; `NotFound` for an unknown collection; `Unavailable` when it was cancelled.
    pub fn export(&self, folder: impl AsRef<Path>, options: ExportOptions<'_>) -> Result<ExportReport> {
        let (folder, started) = (folder.as_ref(), Instant::now());
        let (collection, cancel) = (options.collection.clone(), options.cancel);
        let side = self.side()?;
        let mut target = ExportFolder::new(folder, options)?;
        let (mut report, manifest) = match side {
            Side::Here(db) => db.export_to(collection.as_deref(), &mut target)?,
            Side::There(link) => {
                let still_wanted = || transfer::refuse_when_cancelled(cancel);
                let mut write = |told| match told {
                    Told::Begins => target.begin_again(),
                    Told::File(file) => target.begin(&file),
                    Told::Lines(lines) => target.line(&lines.0).and_then(|()| still_wanted()),
                    Told::FileEnds => target.end(),
                    Told::Transfer(progress) => target.tell(progress),
                    Told::Backup(_) => Ok(()),
                };
                let Exported { report, manifest } =
                    ask_long(&link, Long::Export { collection }, &mut write, &still_wanted)?;
                (report, manifest)
            }
        };
        target.finish(&manifest)?;
        (report.folder, report.elapsed) = (folder.to_path_buf(), started.elapsed());
        Ok(report)
    }

    /// Returns the changes that [`migrate`](Self::migrate) would make.
    pub fn migration(&self) -> Result<Migration> {
        self.ask(maintenance::Migration)
    }

    /// Brings the folder to this program's format, in the process that holds it. Reads and writes go on during the
    /// migration.
    pub fn migrate(&self) -> Result<Migration> {
        self.ask(maintenance::Migrate)
    }

    /// Creates a collection with exactly the options of an exported one, if no collection has that name.
    pub(crate) fn make_collection(&self, entry: &CollectionEntry) -> Result<()> {
        self.ask(collections::Make(entry.clone()))
    }

    /// When this returns, all earlier writes of every durability are on the disk.
    pub fn sync(&self) -> Result<()> {
        self.ask(maintenance::Sync)
    }

    pub(crate) fn now_ms(&self) -> Result<u64> {
        Ok(self.link.here()?.now_ms())
    }

    /// Finishes background work, writes what is buffered and releases the folder; another process takes over. Calling
    /// it again does nothing. Every other use of this handle, its clones and its collections says `Closed` from here
    /// on.
    ///
    /// A tenant's handle has nothing to close: closing it does nothing.
    pub fn close(&self) -> Result<()> {
        if self.link.tenant().is_some() {
            return Ok(());
        }
        match self.link.is_ours() {
            true => self.link.close(),
            // In a fork, whatever the parent has stays the parent's.
            false => self.link.here().and_then(|link| link.close()),
        }
    }

    /// The database that this handle is of, asked over another route.
    pub(crate) fn along(&self, link: Route) -> Self {
        Self { link, kept: self.kept.clone() }
    }

    /// A database that no other process sees.
    fn alone(db: LocalDatabase, options: Options, in_memory: bool) -> Self {
        let kept = keeper(&options);
        Self { link: Route::new(Link::alone(db, options, in_memory, kept.clone())), kept }
    }

    pub(crate) fn route(&self) -> &Route {
        &self.link
    }

    fn keyspace(&self, name: &str, must_exist: bool) -> Result<Keyspace> {
        match self.side()? {
            Side::Here(db) => Ok(Keyspace::held(self.link.here()?, db.keyspace(name, Kind::Plain, must_exist)?)),
            Side::There(link) => {
                let id = id_of(&link, name, Kind::Plain, must_exist)?;
                Ok(Keyspace::served(link, name, id))
            }
        }
    }

    fn open_graph(&self, name: &str, must_exist: bool) -> Result<Graph> {
        match self.side()? {
            Side::Here(db) => Ok(Graph::held(self.link.here()?, db.keyspace(name, Kind::Graph, must_exist)?)),
            Side::There(link) => {
                let id = id_of(&link, name, Kind::Graph, must_exist)?;
                Ok(Graph::served(link, name, id))
            }
        }
    }

    fn open_trees(&self, name: &str, must_exist: bool) -> Result<Tree> {
        match self.side()? {
            Side::Here(db) => {
                let local = db.keyspace(TREES, Kind::Trees, must_exist)?;
                Ok(Tree::held(self.link.here()?, local, name))
            }
            Side::There(link) => {
                let id = id_of(&link, TREES, Kind::Trees, must_exist)?;
                Ok(Tree::served(link, name, id))
            }
        }
    }

    fn open_facts(&self, name: &str, must_exist: bool) -> Result<Facts> {
        match self.side()? {
            Side::Here(db) => Ok(Facts::held(self.link.here()?, db.keyspace(name, Kind::Facts, must_exist)?)),
            Side::There(link) => {
                let id = id_of(&link, name, Kind::Facts, must_exist)?;
                Ok(Facts::served(link, name, id))
            }
        }
    }

    fn open_cache(&self, name: &str, must_exist: bool) -> Result<Cache> {
        match self.side()? {
            Side::Here(db) => Ok(Cache::held(self.link.here()?, db.keyspace(name, Kind::Cache, must_exist)?)),
            Side::There(link) => {
                let id = id_of(&link, name, Kind::Cache, must_exist)?;
                Ok(Cache::served(link, name, id))
            }
        }
    }

    fn names_of(&self, kind: Kind) -> Result<Vec<String>> {
        self.ask(keyspaces::Names(kind))
    }

    fn drop_kind(&self, name: &str, kind: Kind) -> Result<bool> {
        self.ask(keyspaces::Drop { name: name.into(), kind })
    }

    fn side(&self) -> Result<Side> {
        let link = self.link.here()?;
        match link.role()? {
            Role::Holds(held) => Ok(Side::Here(link.local(&held))),
            Role::IsServed(_) => Ok(Side::There(link)),
            Role::Closed => Err(Error::closed()),
        }
    }

    pub(crate) fn ask<O: Op<On = on::Everything>>(&self, op: O) -> Result<O::Answer> {
        self.link.ask_everything(&EmbedderChoice::Auto, op)
    }
}

fn keeper(options: &Options) -> Arc<KeptSnapshots> {
    Arc::new(KeptSnapshots::new(KeepPolicy::of(options)))
}

/// The number of a keyspace in the holder.
fn id_of(link: &Route, name: &str, kind: Kind, must_exist: bool) -> Result<u32> {
    link.ask(Of::Everything, &EmbedderChoice::None, &keyspaces::Open { name: name.into(), kind, must_exist })
}

fn ask_long<T: serde::de::DeserializeOwned>(
    link: &Route,
    long: Long,
    on_told: &mut OnTold<'_>,
    still_wanted: &dyn Fn() -> Result<()>,
) -> Result<T> {
    let waits = Waits::default();
    let mut meanwhile = Meanwhile::new(&EmbedderChoice::Auto, &waits);
    meanwhile.on_told = Some(on_told);
    meanwhile.still_wanted = Some(still_wanted);
    link.ask_meanwhile(Ask::Long(long), &mut meanwhile)
}
