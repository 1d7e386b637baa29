//! The collection that callers see: the local one where this process holds the folder, requests where another does.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nuthatch_vector::{Element, Metric, VectorError};
use serde::de::DeserializeOwned;

use crate::collection::{
    Answer, Collection as LocalCollection, CollectionInfo, CollectionOptions, Deleted, Page, Scan, Search, Upserted,
    WriteSet, Written,
};
use crate::database::Database as LocalDatabase;
use crate::durability::Durability;
use crate::files::{Add, AddOptions, AddReport, FileInfo, Shelf, staged};
use crate::process::adding::Elsewhere;
use crate::process::limits::Limits;
use crate::process::request::{Call, Choice, Opened, Place, Request};
use crate::process::route::Route;
use crate::process::side::{Anchor, Side, the_same};
use crate::process::wire::{ScanAsk, SearchAsk};
use crate::record::{Record, StoredRecord};
use crate::{EmbedderChoice, Result, What};

/// How long the holder waits at a time for what takes long, so that it can be closed meanwhile.
const SLICE: Duration = Duration::from_millis(250);

/// A handle on a collection. Cheap to clone; safe to share between threads and with forks of the process.
#[derive(Clone)]
pub struct Collection {
    inner: Arc<Inner>,
    durability: Durability,
}

struct Inner {
    anchor: Anchor<LocalCollection>,
    metric: Metric,
    element: Element,
    /// What the caller gave when opening it.
    embedder: EmbedderChoice,
}

impl Collection {
    pub(crate) fn held(link: Route, local: LocalCollection, embedder: EmbedderChoice) -> Self {
        let place = Place { name: local.name().to_string(), id: local.core.shard.collection };
        let (metric, element) = (local.metric(), local.element());
        let inner = Inner { anchor: Anchor::held(link, place, local), metric, element, embedder };
        Self { inner: Arc::new(inner), durability: Durability::default() }
    }

    pub(crate) fn served(link: Route, name: &str, opened: Opened, embedder: EmbedderChoice) -> Result<Self> {
        let place = Place { name: name.to_string(), id: opened.id };
        let (metric, element) = (opened.metric.parse()?, opened.element.parse()?);
        let inner = Inner { anchor: Anchor::served(link, place), metric, element, embedder };
        Ok(Self { inner: Arc::new(inner), durability: Durability::default() })
    }

    /// The same collection, written with another durability.
    pub fn with_durability(&self, durability: Durability) -> Self {
        Self { inner: self.inner.clone(), durability }
    }

    pub fn name(&self) -> &str {
        &self.inner.anchor.place.name
    }

    pub fn metric(&self) -> Metric {
        self.inner.metric
    }

    pub fn element(&self) -> Element {
        self.inner.element
    }

    /// Components of the vectors, once settled.
    pub fn dim(&self) -> Result<Option<usize>> {
        match self.side()? {
            Side::Here(local) => Ok(local.dim()),
            Side::There(link) => Ok(self.ask::<CollectionInfo>(&link, Call::Info)?.dim),
        }
    }

    /// Records in the collection.
    pub fn len(&self) -> Result<u64> {
        self.either(LocalCollection::len, || Call::Len)
    }

    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.len()? == 0)
    }

    /// What it is and holds.
    pub fn info(&self) -> Result<CollectionInfo> {
        match self.side()? {
            Side::Here(local) => {
                local.core.check_open()?;
                Ok(local.info())
            }
            Side::There(link) => self.ask(&link, Call::Info),
        }
    }

    /// Inserts records, replacing those with the same id. All or nothing, durable when it returns, visible to the next search.
    ///
    /// # Errors
    /// `Invalid` for a wrong dimension, NaN, an empty or repeated id, a bad payload: nothing is changed. `Unavailable` when a
    /// vector is wanted and the embedder is not there. `Exhausted` when the disk is full or the batch is over 128 MiB.
    pub fn upsert(&self, records: Vec<Record>) -> Result<Upserted> {
        match self.side()? {
            Side::Here(local) => local.upsert(records),
            Side::There(link) => self.ask(&link, Call::Upsert(records)),
        }
    }

    /// As [`upsert`](Self::upsert), but for waiting until it is durable: searches see it, and [`Written::wait`] says that it is stored.
    /// For streams, which lay out the next batch meanwhile. A process that does not hold the folder waits here already.
    ///
    /// # Errors
    /// As [`upsert`](Self::upsert).
    pub fn begin_upsert(&self, records: Vec<Record>) -> Result<Written> {
        match self.side()? {
            Side::Here(local) => local.begin_upsert(records),
            Side::There(link) => self.ask(&link, Call::Upsert(records)).map(Written::durable),
        }
    }

    /// Deletes records by id; ids that are not there are passed over.
    pub fn delete<I: AsRef<str>>(&self, ids: &[I]) -> Result<Deleted> {
        self.either(|local| local.delete(ids), || Call::Delete(strings(ids)))
    }

    /// Deletes the records whose payload passes the filter.
    pub fn delete_where(&self, filter: &str) -> Result<Deleted> {
        self.either(|local| local.delete_where(filter), || Call::DeleteWhere(filter.into()))
    }

    /// Deletes the records whose id begins with `prefix`; visible at once. Their bytes go with the next [`Database::reclaim`].
    ///
    /// # Errors
    /// `Invalid` for an empty prefix: [`Database::drop_collection`] deletes everything.
    ///
    /// [`Database::reclaim`]: crate::Database::reclaim
    /// [`Database::drop_collection`]: crate::Database::drop_collection
    pub fn delete_prefix(&self, prefix: &str) -> Result<Deleted> {
        self.either(|local| local.delete_prefix(prefix), || Call::DeletePrefix(prefix.into()))
    }

    /// Records by id, in the order of the ids; `None` for those that are not there.
    pub fn get<I: AsRef<str>>(&self, ids: &[I], vectors: bool) -> Result<Vec<Option<StoredRecord>>> {
        self.either(|local| local.get(ids, vectors), || Call::Get { ids: strings(ids), vectors })
    }

    /// Number of records, or of those whose payload passes the filter.
    pub fn count(&self, filter: Option<&str>) -> Result<u64> {
        self.either(|local| local.count(filter), || Call::Count(filter.map(Into::into)))
    }

    /// One page of a listing.
    pub fn scan(&self, scan: &Scan) -> Result<Page> {
        self.either(|local| local.scan(scan), || Call::Scan(ScanAsk::from(scan)))
    }

    /// Finds the best `limit` records. That many come back whenever that many match.
    ///
    /// # Errors
    /// `Invalid` for a wrong dimension, a limit of 0 or over 10,000, an unknown field in the filter; `Unavailable` when a text
    /// must be embedded and the embedder is not there.
    pub fn search(&self, search: &Search) -> Result<Answer> {
        match self.side()? {
            Side::Here(local) => local.search(search),
            Side::There(link) => {
                refuse_cancelled(std::slice::from_ref(search))?;
                let call = Call::Search(Box::new(SearchAsk::from(search)));
                self.ask_within(&link, call, limits(std::slice::from_ref(search)))
            }
        }
    }

    /// Several searches at once, on as many threads as there are CPUs; the answers in the order of the searches. Ends soon after
    /// the first error, whose message says which search it was.
    pub fn search_many(&self, searches: &[Search]) -> Result<Vec<Answer>> {
        match self.side()? {
            Side::Here(local) => local.search_many(searches),
            Side::There(link) => {
                refuse_cancelled(searches)?;
                let call = Call::SearchMany(searches.iter().map(SearchAsk::from).collect());
                self.ask_within(&link, call, limits(searches))
            }
        }
    }

    /// Merges the segments into as few as the memory for building allows, and waits until that is done. True when it is, false
    /// when the time ran out first (the work goes on). Searches are right without it; after a large load they are faster.
    pub fn optimize(&self, timeout: Option<Duration>) -> Result<bool> {
        self.in_slices(timeout, |local, timeout| local.optimize(timeout), Call::Optimize)
    }

    /// Waits until everything written before is in the indexes. True when it is, false when the time ran out first.
    /// Searches are right without it; they are faster after it.
    pub fn wait_until_indexed(&self, timeout: Option<Duration>) -> Result<bool> {
        self.in_slices(timeout, |local, timeout| local.wait_until_indexed(timeout), Call::WaitUntilIndexed)
    }

    /// Adds files and folders: new and changed files are read, split into passages, embedded and stored; unchanged ones are
    /// passed over. Files that cannot be read are reported and do not stop the rest. They are read by this process, whoever
    /// holds the folder.
    ///
    /// # Errors
    /// `NotFound` for a path that does not exist; `Unavailable` without an embedder; errors of the store. What was committed
    /// before stays, and running it again finishes the rest.
    pub fn add(&self, paths: &[PathBuf], options: AddOptions<'_>) -> Result<AddReport> {
        self.with_shelf(|shelf| Add::new(shelf, options).run(paths))
    }

    /// Hands over what adding files asks of the collection, wherever it is held.
    pub(crate) fn with_shelf<T>(&self, work: impl FnOnce(&dyn Shelf) -> Result<T>) -> Result<T> {
        match self.side()? {
            Side::Here(local) => {
                local.core.check_open()?;
                work(&local)
            }
            Side::There(link) => work(&Elsewhere { collection: self, link: &link }),
        }
    }

    /// Adds one document whose content the caller has, under a relative path of the caller's choice, whose ending says what it is. Of a
    /// document that was added under the same path before, passages that have not changed keep their vectors. What cannot be
    /// read is in the report's `skipped`.
    ///
    /// # Errors
    /// `Invalid` for a path that is absolute or has empty parts; else as those of [`add`](Self::add).
    pub fn add_document(&self, path: &str, content: &[u8], options: AddOptions<'_>) -> Result<AddReport> {
        self.with_shelf(|shelf| Add::new(shelf, options).document(path, content))
    }

    /// What [`add_document`](Self::add_document) would report, without writing anything, and the revision of what is stored under that path
    /// ([`crate::FILE_ABSENT`] when nothing is), on which a batch may depend.
    ///
    /// # Errors
    /// As those of [`add_document`](Self::add_document).
    pub fn preview_document(&self, path: &str, content: &[u8], options: AddOptions<'_>) -> Result<(AddReport, String)> {
        self.with_shelf(|shelf| staged::preview(shelf, path, content, options))
    }

    /// Files that were added at or below `prefix` (all with ""), by path.
    pub fn files(&self, prefix: &str) -> Result<Vec<FileInfo>> {
        self.either(|local| local.files(prefix), || Call::Files(prefix.into()))
    }

    /// Removes the file at `path`, or all files below it, with their passages. Returns how many files.
    pub fn remove_files(&self, path: &str) -> Result<u64> {
        self.either(|local| local.remove_files(path), || Call::RemoveFiles(path.into()))
    }

    /// Everything that one call of an import changes.
    pub(crate) fn apply(&self, set: WriteSet) -> Result<()> {
        self.with_shelf(|shelf| shelf.apply(set))
    }

    pub(crate) fn embedder(&self) -> &EmbedderChoice {
        &self.inner.embedder
    }

    pub(crate) fn ask<T: DeserializeOwned>(&self, link: &Route, call: Call) -> Result<T> {
        self.ask_within(link, call, Limits::default())
    }

    fn ask_within<T: DeserializeOwned>(&self, link: &Route, call: Call, limits: Limits) -> Result<T> {
        let inner = &*self.inner;
        let request = Request::In {
            collection: inner.anchor.place.clone(),
            embedder: Choice::from(&inner.embedder),
            durability: self.durability,
            call,
        };
        link.ask(request, &inner.embedder, &limits)
    }

    fn side(&self) -> Result<Side<LocalCollection>> {
        let Inner { anchor, embedder, .. } = &*self.inner;
        let hand = |local: &LocalCollection| local.with_durability(self.durability);
        anchor.side(hand, |db| {
            find(db, &anchor.place)?;
            db.collection(&anchor.place.name, CollectionOptions { embedder: embedder.clone(), ..Default::default() })
        })
    }

    fn either<T: DeserializeOwned>(
        &self,
        here: impl FnOnce(&LocalCollection) -> Result<T>,
        there: impl FnOnce() -> Call,
    ) -> Result<T> {
        match self.side()? {
            Side::Here(local) => here(&local),
            Side::There(link) => self.ask(&link, there()),
        }
    }

    /// Waits for the holder a little at a time; when this process comes to hold the folder meanwhile, it waits here.
    fn in_slices(
        &self,
        timeout: Option<Duration>,
        here: impl Fn(&LocalCollection, Option<Duration>) -> Result<bool>,
        there: impl Fn(Duration) -> Call,
    ) -> Result<bool> {
        let started = Instant::now();
        loop {
            let left = timeout.map(|timeout| timeout.saturating_sub(started.elapsed()));
            match self.side()? {
                Side::Here(local) => return here(&local, left),
                Side::There(link) => {
                    if self.ask(&link, there(left.map_or(SLICE, |left| left.min(SLICE))))? {
                        return Ok(true);
                    }
                }
            }
            if left.is_some_and(|left| left.is_zero()) {
                return Ok(false);
            }
        }
    }
}

/// The collection that a handle means, unless it was dropped.
pub(crate) fn find(db: &LocalDatabase, place: &Place) -> Result<LocalCollection> {
    the_same(What::Collection, place, db.existing_collection(&place.name), |found| found.core.shard.collection)
}

pub(crate) fn strings<I: AsRef<str>>(ids: &[I]) -> Vec<String> {
    ids.iter().map(|id| id.as_ref().to_string()).collect()
}

/// One that was cancelled before it is asked is not asked: its answer might come before anybody looks at the flag.
pub(crate) fn refuse_cancelled(searches: &[Search]) -> Result<()> {
    match searches.iter().any(|search| search.is_over(None)) {
        true => Err(VectorError::Stopped.into()),
        false => Ok(()),
    }
}

/// When to stop waiting for an answer. Many searches run side by side, but each has its time from its own beginning.
pub(crate) fn limits(searches: &[Search]) -> Limits {
    let mut limits = Limits { cancel: searches.iter().find_map(|search| search.cancel.clone()), deadline: None };
    if let [search] = searches {
        limits.deadline = search.time_limit.and_then(|limit| Instant::now().checked_add(limit));
    }
    limits
}
