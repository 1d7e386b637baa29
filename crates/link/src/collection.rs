//! Collections as callers see them.

use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nuthatch_engine::collection::{
    Collection as LocalCollection, Deleted, PendingWrite, RecordChange, Upserted, WriteSet,
};
use nuthatch_engine::database::WriteReservation;
use nuthatch_engine::durability::Durability;
use nuthatch_engine::files::{Add, AddOptions, AddReport, PassageSink, Shelved, staged};
use nuthatch_engine::ops::collections::Opened;
use nuthatch_engine::ops::{Op, files, on, records};
use nuthatch_engine::record::Record;
use nuthatch_engine::{EmbedderChoice, FieldChange, Result};
use nuthatch_vector::{Element, Metric};

use crate::adding::Elsewhere;
use crate::records::{From, Inner, Records, strings};
use crate::request::ObjectRef;
use crate::route::Route;
use crate::side::{Anchor, Side};

/// How long the holder waits at a time in a long call, so that it can be closed in between.
const SLICE: Duration = Duration::from_millis(250);

/// A handle on a collection. Cheap to clone; safe to share between threads and with forks of the process.
#[derive(Clone)]
pub struct Collection {
    records: Records<'static>,
    inner: Arc<Inner>,
    durability: Durability,
}

/// Reads are those of [`Records`].
impl Deref for Collection {
    type Target = Records<'static>;

    fn deref(&self) -> &Records<'static> {
        &self.records
    }
}

impl Collection {
    pub(crate) fn held(link: Route, local: LocalCollection, embedder: EmbedderChoice) -> Self {
        let place = ObjectRef { name: local.name().to_string(), id: local.id() };
        let (metric, element) = (local.metric(), local.element());
        Self::of(Inner { anchor: Anchor::held(link, place, local), metric, element, embedder })
    }

    pub(crate) fn served(link: Route, name: &str, opened: Opened, embedder: EmbedderChoice) -> Result<Self> {
        let place = ObjectRef { name: name.to_string(), id: opened.id };
        let (metric, element) = (opened.metric.parse()?, opened.element.parse()?);
        Ok(Self::of(Inner { anchor: Anchor::served(link, place), metric, element, embedder }))
    }

    fn of(inner: Inner) -> Self {
        let inner = Arc::new(inner);
        Self { records: Records { from: From::Now(inner.clone()) }, inner, durability: Durability::default() }
    }

    /// The same collection, written with another durability.
    pub fn with_durability(&self, durability: Durability) -> Self {
        Self { durability, ..self.clone() }
    }

    /// How unnamed vectors are compared, as it was when the handle was made.
    pub fn metric(&self) -> Metric {
        self.inner.metric
    }

    /// Type of the unnamed vectors' components, as they are stored.
    pub fn element(&self) -> Element {
        self.inner.element
    }

    /// Components of the vectors, once settled.
    pub fn dim(&self) -> Result<Option<usize>> {
        match self.side()? {
            Side::Here(local) => Ok(local.dim()),
            Side::There(_) => Ok(self.info()?.dim),
        }
    }

    /// Inserts records, replacing those with the same id. All or nothing, durable when it returns, visible to the next search.
    ///
    /// # Errors
    /// `Invalid` for a wrong dimension, NaN, an empty or repeated id, a bad payload: nothing is changed. `Unavailable`
    /// when a record needs a vector and there is no embedder. `Exhausted` when the disk is full or the batch is over
    /// 128 MiB.
    pub fn upsert(&self, records: Vec<Record>) -> Result<Upserted> {
        self.ask(records::Upsert(records))
    }

    /// As [`upsert`](Self::upsert), but returns before the write is durable: searches see it, and
    /// [`PendingWrite::wait`] returns once it is stored. For streams, which prepare the next batch in between. A
    /// process that does not hold the folder waits here already.
    ///
    /// # Errors
    /// As [`upsert`](Self::upsert).
    pub fn begin_upsert(&self, records: Vec<Record>) -> Result<PendingWrite> {
        match self.side()? {
            Side::Here(local) => local.begin_upsert(records),
            Side::There(_) => self.upsert(records).map(PendingWrite::durable),
        }
    }

    /// Waits until there is room in the memory budget for a batch of about `bytes` bytes, for callers that build the
    /// records afterwards. A process that does not hold the folder has a budget of its own and does not wait.
    ///
    /// # Errors
    /// `Closed` when the database is.
    pub fn reserve_to_write(&self, bytes: u64) -> Result<Option<WriteReservation>> {
        match self.side()? {
            Side::Here(local) => local.reserve_to_write(bytes).map(Some),
            Side::There(_) => Ok(None),
        }
    }

    /// As [`upsert`](Self::upsert), with the memory that was reserved before the records were made.
    ///
    /// # Errors
    /// As [`upsert`](Self::upsert).
    pub fn upsert_within(&self, room: Option<WriteReservation>, records: Vec<Record>) -> Result<Upserted> {
        match self.side()? {
            Side::Here(local) => local.begin_upsert_within(room, records)?.wait(),
            Side::There(_) => self.upsert(records),
        }
    }

    /// Changes fields of records by id, all in one batch; text and vectors stay. Gives how many records changed: those
    /// that were like this already do not count, and unknown ids are passed over.
    ///
    /// # Errors
    /// `Invalid` for a change that cannot be made, naming the record, and for an id that is named twice; `Exhausted` for
    /// over 128 MiB of records; `Conflict` when other writers keep changing them. Nothing is changed then.
    pub fn update(&self, changes: Vec<RecordChange>) -> Result<u64> {
        self.ask(records::Update(changes))
    }

    /// Changes fields of the records whose payload passes the filter, in as many batches as that takes. Gives how many
    /// changed.
    ///
    /// # Errors
    /// As for [`update`](Self::update); batches that were written before stay.
    pub fn update_where(&self, filter: &str, change: FieldChange) -> Result<u64> {
        self.ask(records::UpdateWhere { filter: filter.into(), change })
    }

    /// Deletes records by id; ids that are not there are passed over.
    pub fn delete<I: AsRef<str>>(&self, ids: &[I]) -> Result<Deleted> {
        self.ask(records::Delete(strings(ids)))
    }

    /// Deletes the records whose payload passes the filter.
    pub fn delete_where(&self, filter: &str) -> Result<Deleted> {
        self.ask(records::DeleteWhere(filter.into()))
    }

    /// Deletes the records whose id begins with `prefix`; visible at once. Their bytes go with the next [`Database::reclaim`].
    ///
    /// # Errors
    /// `Invalid` for an empty prefix: [`Database::drop_collection`] deletes everything.
    ///
    /// [`Database::reclaim`]: crate::Database::reclaim
    /// [`Database::drop_collection`]: crate::Database::drop_collection
    pub fn delete_prefix(&self, prefix: &str) -> Result<Deleted> {
        self.ask(records::DeletePrefix(prefix.into()))
    }

    /// Merges the segments into as few as are worth it, mostly one, and waits until that is done. True when it is, false
    /// when the time ran out first (the work goes on). Searches are right without it; after a large load they are faster.
    pub fn optimize(&self, timeout: Option<Duration>) -> Result<bool> {
        self.in_slices(timeout, records::Optimize)
    }

    /// Waits until everything written before is in the indexes. True when it is, false when the time ran out first.
    /// Searches are right without it; they are faster after it.
    pub fn wait_until_indexed(&self, timeout: Option<Duration>) -> Result<bool> {
        self.in_slices(timeout, records::WaitUntilIndexed)
    }

    /// Waits until every record written before has its vector, if it is to have one. True when all have, false when the
    /// time ran out first: the process that holds the folder goes on.
    ///
    /// # Errors
    /// `Unavailable` when no process can make them: the model that the collection was made with is not installed.
    pub fn wait_until_embedded(&self, timeout: Option<Duration>) -> Result<bool> {
        self.in_slices(timeout, records::WaitUntilEmbedded)
    }

    /// Adds files and folders: reads new and changed files, splits them into passages and stores these; skips unchanged
    /// files. Searches find them by their words at once. Where the folder's holder can embed alone, vectors come later,
    /// unless the options say to wait. Unreadable files are reported and do not stop the rest. This process reads the
    /// files, even if another one holds the folder.
    ///
    /// # Errors
    /// `NotFound` for a path that does not exist; `Unavailable` without an embedder; errors of the store. Passages
    /// committed before the error stay; running it again finishes the rest.
    pub fn add(&self, paths: &[PathBuf], options: AddOptions<'_>) -> Result<AddReport> {
        self.with_passage_sink(|sink| Add::new(sink, options).run(paths))
    }

    /// Adds one document whose content the caller has, under a relative path of the caller's choice; the path's
    /// extension gives the format. If the same path was added before, unchanged passages keep their vectors. Unreadable
    /// content is in the report's `skipped`.
    ///
    /// # Errors
    /// `Invalid` for a path that is absolute or has empty parts; else as those of [`add`](Self::add).
    pub fn add_document(&self, path: &str, content: &[u8], options: AddOptions<'_>) -> Result<AddReport> {
        self.with_passage_sink(|sink| Add::new(sink, options).document(path, content))
    }

    /// Returns the report that [`add_document`](Self::add_document) would give, without writing anything, and the
    /// revision stored under that path ([`crate::FILE_ABSENT`] when there is none), on which a batch may depend.
    ///
    /// # Errors
    /// As those of [`add_document`](Self::add_document).
    pub fn preview_document(&self, path: &str, content: &[u8], options: AddOptions<'_>) -> Result<(AddReport, String)> {
        self.with_passage_sink(|sink| staged::preview(sink, path, content, options))
    }

    /// Changes fields of all passages of the files at these paths, or below them; a file that changes keeps such fields
    /// when it is added again. Gives how many passages changed.
    ///
    /// # Errors
    /// As for [`update`](Self::update), and `Invalid` for a field that adding files sets; batches that were written
    /// before stay.
    pub fn update_files(&self, paths: Vec<String>, change: FieldChange) -> Result<u64> {
        self.ask(files::UpdateFiles { paths, change })
    }

    /// Removes the file at `path`, or all files below it, with their passages. Returns how many files.
    pub fn remove_files(&self, path: &str) -> Result<u64> {
        self.ask(files::RemoveFiles(path.into()))
    }

    /// Applies all changes of one call of an import.
    pub(crate) fn apply(&self, set: WriteSet) -> Result<()> {
        self.with_passage_sink(|sink| sink.apply(set))
    }

    pub(crate) fn ask<O: Op<On = on::Records>>(&self, op: O) -> Result<O::Answer> {
        self.inner.ask(op, self.durability)
    }

    fn side(&self) -> Result<Side<LocalCollection>> {
        self.inner.side(self.durability)
    }

    /// Waits for the holder a little at a time; if this process comes to hold the folder, it continues the wait itself.
    fn in_slices<O: Op<On = on::Records, Answer = bool>>(
        &self,
        timeout: Option<Duration>,
        wait: impl Fn(Option<Duration>) -> O,
    ) -> Result<bool> {
        let started = Instant::now();
        loop {
            let left = timeout.map(|timeout| timeout.saturating_sub(started.elapsed()));
            let slice = match self.side()? {
                Side::Here(_) => return self.ask(wait(left)),
                Side::There(_) => left.map_or(SLICE, |left| left.min(SLICE)),
            };
            if self.ask(wait(Some(slice)))? {
                return Ok(true);
            }
            if left.is_some_and(|left| left.is_zero()) {
                return Ok(false);
            }
        }
    }
}

impl Shelved for Collection {
    fn name(&self) -> &str {
        self.records.name()
    }

    fn with_passage_sink<T>(&self, work: impl FnOnce(&dyn PassageSink) -> Result<T>) -> Result<T> {
        match self.side()? {
            Side::Here(local) => {
                local.check_open()?;
                work(&local)
            }
            Side::There(link) => work(&Elsewhere { collection: &self.inner, durability: self.durability, link: &link }),
        }
    }
}
