//! A collection: records of one kind, searched together.
//!
//! **Useful for** `upsert`, `get`, `delete`, `count`, `scan`, `search` over records with text, vector and payload.
//! **Not for** files (the `files` module turns them into records) and not for deciding when to seal (`maintenance` does).
//!
//! **Invariant:** what a search sees is the store as of some change, never half of a batch; indexes only make it faster.

pub(crate) mod descriptor;
mod exact;
mod explain;
pub(crate) mod field_options;
mod files;
pub(crate) mod flush;
mod fusion;
mod hits;
mod info;
pub(crate) mod lanes;
pub(crate) mod open;
pub(crate) mod pending;
mod pending_write;
mod phrases;
mod plan;
mod ranking;
mod read;
mod read_source;
mod rebuild;
mod reclaim;
mod refine;
mod request;
mod rerank;
mod room;
mod search;
mod sparse_leg;
mod uncached_reader;
mod update;
mod values;
mod vector_leg;
pub mod visit;
mod write;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use nuthatch_segment::BlockCache;
use nuthatch_store::Shard;
use nuthatch_vector::{DIM_MAX, DIM_MIN, Element, Metric};
use parking_lot::{MappedMutexGuard, Mutex, MutexGuard, RwLock};
use roaring::RoaringTreemap;

pub use explain::Explain;
pub use field_options::VectorFieldOptions;
pub use fusion::Fusion;
pub use pending::Pending;
pub use pending_write::PendingWrite;
pub use read::{Page, Scan};
pub(crate) use read_source::ReadSource;
pub use refine::Refine;
pub use request::{Answer, Hit, Include, Leg, Legs, Mode, Search};
pub use rerank::Rerank;
pub(crate) use room::reserve_for_batch;
pub(crate) use search::at_once;
pub use update::RecordChange;
pub use values::FieldValues;
pub(crate) use values::count_payloads;
pub use visit::{Passing, PassingVector, Visitor, Wanted};
pub(crate) use write::{BATCH_BYTES_MAX, record_bytes};
pub use write::{Deleted, Upserted, WriteSet};

use crate::call::Call;
use crate::collection::descriptor::Descriptor;
use crate::descriptor::field::Fields;
pub use crate::descriptor::meta;
use crate::descriptor::meta::{Counters, Meta};
use crate::durability::Durability;
use crate::embedder::EmbedderChoice;
pub(crate) use crate::index::Eagerness;
use crate::index::{DerivedIndex, IndexWork, Indexed};
pub(crate) use crate::record::row_of;
use crate::runtime::{RowLength, Runtime};
use crate::state::State;
pub use crate::state::building::BuildProgress;
pub(crate) use crate::state::building::Building;
use crate::tenant::Tenant;
use crate::{Error, Result, What};

/// Options for [`crate::Database::collection`]. Those left out keep what is stored, or take the default.
#[derive(Clone, Default)]
pub struct CollectionOptions {
    /// Components of the vectors, 2 to 4096. Left out: the embedder's, or that of the first vector.
    pub dim: Option<usize>,
    /// Default cosine; Hamming for binary vectors.
    pub metric: Option<Metric>,
    /// Type of the vectors' components as they are stored. Default `f32`.
    pub element: Option<Element>,
    /// Named vector fields besides. Missing ones are created; existing ones that are left out stay.
    pub vectors: BTreeMap<String, VectorFieldOptions>,
    /// The embedder for texts that come without a vector.
    pub embedder: EmbedderChoice,
    /// Language of the texts, for stemming and stop words. Default `english`.
    pub language: Option<String>,
}

/// A handle on a collection. Cheap to clone; safe to share between threads.
#[derive(Clone)]
pub struct Collection {
    pub(crate) core: Arc<Core>,
    pub(crate) durability: Durability,
    pub(crate) call: Call,
}

/// The state that all handles of one collection share.
pub(crate) struct Core {
    pub shared: Arc<Runtime>,
    pub tenant: Arc<Tenant>,
    /// The tenant's handle of the cache.
    pub cache: Arc<BlockCache>,
    pub shard: Shard,
    pub name: String,
    pub language: String,
    /// One writer at a time decides row ids and order.
    pub writer: Mutex<Writer>,
    /// Changed while holding the writer.
    pub descriptor: RwLock<Arc<Descriptor>>,
    pub state: RwLock<State>,
    pub indexes: Vec<Arc<dyn DerivedIndex>>,
    pub index_work: IndexWork,
    pub embedder: RwLock<EmbedderChoice>,
    pub upkeep: Upkeep,
    pub late: LateVectors,
    /// A dropped collection refuses everything.
    pub dropped: AtomicBool,
    pub row_length: RowLength,
}

/// Requests to background work for a collection, and whether anybody uses the collection.
pub(crate) struct Upkeep {
    /// Someone waits until everything is indexed.
    pub flush_wanted: AtomicBool,
    /// Someone waits until there is nothing left to merge.
    pub optimize_wanted: AtomicBool,
    /// The last change when background work last looked whether anything was written.
    pub sequence_seen: AtomicU64,
    /// A call came in since the last check whether the collection may be closed.
    pub used: AtomicBool,
}

impl Default for Upkeep {
    fn default() -> Self {
        Self {
            flush_wanted: AtomicBool::new(false),
            optimize_wanted: AtomicBool::new(false),
            sequence_seen: AtomicU64::new(u64::MAX),
            used: AtomicBool::new(true),
        }
    }
}

/// Vectors that are made after their records were written.
#[derive(Default)]
pub(crate) struct LateVectors {
    /// Held exclusively while late vectors give rows new numbers; a writer that refers to rows by number holds it
    /// shared until it has written.
    pub renumbering: RwLock<()>,
    /// The row after which the next vectors are made, so that a text that fails holds up no other.
    pub embedded_upto: AtomicU64,
}

/// State that only the writer changes.
pub(crate) struct Writer {
    pub counters: Counters,
    /// Rows whose vector is still to come.
    pub pending: RoaringTreemap,
}

/// The description of a collection, for listings.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct CollectionInfo {
    /// The name within its tenant.
    pub name: String,
    /// Components of an unnamed vector; `None` until the first one comes.
    pub dim: Option<usize>,
    /// Of the unnamed vectors.
    #[serde(with = "crate::codec::named")]
    pub metric: Metric,
    /// Of the unnamed vectors, as they are stored.
    #[serde(with = "crate::codec::named")]
    pub element: Element,
    /// Language of the texts, or `none`.
    pub language: String,
    /// Name of the embedder; `None`: the caller brings every vector.
    pub embedder: Option<String>,
    /// Records.
    pub rows: u64,
    /// Unnamed vectors.
    pub vectors: u64,
    /// Records whose unnamed vector is still to come.
    pub pending: u64,
    /// Named vector fields.
    pub vector_fields: Vec<VectorFieldInfo>,
    /// Rows that wait outside the indexes.
    pub fresh_rows: u64,
    /// Segments, which hold the indexed rows.
    pub segments: usize,
    /// How many of them are large enough to have a vector graph.
    pub vector_graphs: usize,
    /// The graph that is being built, if one is.
    pub building: Option<BuildProgress>,
    /// Why an index is not in use, one sentence each. For a closed collection, only what its manifest shows: opening it
    /// finds the rest.
    pub degraded: Vec<String>,
    /// Payload fields seen, with their kinds.
    pub fields: Vec<(String, Vec<String>)>,
}

/// A named vector field, for listings.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct VectorFieldInfo {
    /// The field's name.
    pub name: String,
    /// `dense`, `sparse`, or `tokens` where there is a vector for each token.
    pub kind: String,
    /// Components of a vector.
    pub dim: usize,
    /// How its vectors are compared.
    #[serde(with = "crate::codec::named")]
    pub metric: Metric,
    /// Type of the components, as they are stored.
    #[serde(with = "crate::codec::named")]
    pub element: Element,
    /// Rows that have one.
    pub vectors: u64,
}

impl Collection {
    /// The same collection, on behalf of somebody.
    pub fn on_behalf_of(&self, call: &Call) -> Self {
        Self { call: call.clone(), ..self.clone() }
    }

    /// Tells it from one of the same name that is made after it was dropped.
    pub fn id(&self) -> u32 {
        self.core.shard.collection
    }

    /// Whether it was dropped since the handle was made.
    pub fn is_dropped(&self) -> bool {
        self.core.is_dropped()
    }

    /// # Errors
    /// `Closed` or `NotFound`.
    pub fn check_open(&self) -> Result<()> {
        self.core.check_open()
    }

    /// The same collection, written with another durability.
    pub fn with_durability(&self, durability: Durability) -> Self {
        Self { durability, ..self.clone() }
    }

    /// The name within its tenant.
    pub fn name(&self) -> &str {
        &self.core.name
    }

    /// How unnamed vectors are compared.
    pub fn metric(&self) -> Metric {
        self.core.fields().unnamed().metric
    }

    /// Type of the unnamed vectors' components, as they are stored.
    pub fn element(&self) -> Element {
        self.core.fields().unnamed().element
    }

    /// Components of the vectors, once settled.
    pub fn dim(&self) -> Option<usize> {
        self.core.fields().unnamed().dim
    }

    /// Records in the collection.
    pub fn row_count(&self) -> Result<u64> {
        self.core.check_open()?;
        Ok(self.core.writer.lock().counters.rows)
    }

    /// Merges the segments into as few as are worth it, mostly one, and waits until that is done. True when it is, false
    /// when the time ran out first (the work goes on). Searches are right without it; after a large load they are faster.
    pub fn optimize(&self, timeout: Option<Duration>) -> Result<bool> {
        let started = Instant::now();
        let left = || timeout.map(|timeout| timeout.saturating_sub(started.elapsed()));
        let core = &self.core;
        core.upkeep.optimize_wanted.store(core.shared.options.background, Ordering::SeqCst);
        if !self.wait_until_indexed(timeout)? {
            return Ok(false);
        }
        if !core.shared.options.background {
            while core.merge(Eagerness::All)? {}
            return Ok(true);
        }
        core.upkeep.optimize_wanted.store(true, Ordering::SeqCst);
        let mut wakes = true;
        loop {
            // Not on every report: a worker that finds nothing to do reports that, too, and would wake itself for ever.
            if wakes {
                core.shared.background.wake();
            }
            core.check_open()?;
            if !core.upkeep.optimize_wanted.load(Ordering::SeqCst) {
                return Ok(true);
            }
            let mut signal = core.shared.background.signal.lock();
            if let Some(error) = signal.merge_error.take() {
                return Err(error);
            }
            if left().is_some_and(|left| left.is_zero()) {
                return Ok(false);
            }
            wakes = core.shared.background.relieved.wait_for(&mut signal, Duration::from_millis(50)).timed_out();
        }
    }

    /// Waits until everything written before is in the indexes. True when it is, false when the time ran out first.
    /// Searches are right without it; they are faster after it.
    pub fn wait_until_indexed(&self, timeout: Option<Duration>) -> Result<bool> {
        let core = &self.core;
        core.check_open()?;
        if !core.shared.options.background {
            core.rebuild_broken()?;
            core.flush()?;
            return Ok(true);
        }
        let target = core.state.read().sequence;
        let started = Instant::now();
        let mut wakes = true;
        let outcome = loop {
            // Every time round: another waiter may have taken it back.
            core.upkeep.flush_wanted.store(true, Ordering::SeqCst);
            if wakes {
                core.shared.background.wake();
            }
            core.check_open()?;
            if core.applied().is_some_and(|applied| applied >= target) {
                break Ok(true);
            }
            let mut signal = core.shared.background.signal.lock();
            if let Some(error) = signal.seal_error.take() {
                break Err(error);
            }
            if timeout.is_some_and(|timeout| started.elapsed() >= timeout) {
                break Ok(false);
            }
            wakes = core.shared.background.relieved.wait_for(&mut signal, Duration::from_millis(50)).timed_out();
        };
        core.upkeep.flush_wanted.store(false, Ordering::SeqCst);
        outcome
    }
}

impl Core {
    pub(crate) fn is_dropped(&self) -> bool {
        self.dropped.load(Ordering::SeqCst)
    }

    /// Nothing was written since this was asked last.
    pub(crate) fn is_idle(&self) -> bool {
        let now = self.state.read().sequence;
        self.upkeep.sequence_seen.swap(now, Ordering::SeqCst) == now
    }

    pub(crate) fn check_open(&self) -> Result<()> {
        self.shared.check_open()?;
        if !self.upkeep.used.load(Ordering::Relaxed) {
            self.upkeep.used.store(true, Ordering::Relaxed);
        }
        if self.is_dropped() {
            return Err(Error::dropped(What::Collection, &self.name));
        }
        Ok(())
    }

    /// Bytes of memory that the graph takes that is being built; one of more rows than fit takes what is allowed.
    pub(crate) fn build_bytes(&self) -> u64 {
        let rows = self.index_work.building.lock().as_ref().map_or(0, |building| building.progress().total);
        let at_once = nuthatch_vector::graph_build_bytes(self.fields().dim_max(), rows);
        at_once.min(self.runtime().options.build_memory_bytes)
    }

    /// The last change that all indexes have applied; `None` while one of them is broken.
    pub(crate) fn applied(&self) -> Option<u64> {
        let state = self.state.read();
        let applied = |index: &Arc<dyn DerivedIndex>| index.applied(&state).filter(|_| state.is_sound(index.id()));
        self.indexes.iter().map(applied).min().flatten()
    }

    /// Bytes of memory that stay with the open indexes.
    pub(crate) fn resident_bytes(&self) -> u64 {
        let state = self.state.read();
        self.indexes.iter().map(|index| index.resident_bytes(&state)).sum()
    }

    /// Stores the dimension of a collection that has none yet.
    pub(crate) fn settle_dim(&self, dim: usize) -> Result<()> {
        if !(DIM_MIN..=DIM_MAX).contains(&dim) {
            return Err(Error::invalid(format!("{dim} dimensions are not supported; choose {DIM_MIN} to {DIM_MAX}")));
        }
        let writer = self.writer.lock();
        self.check_open()?; // a dropped collection must not write itself back
        let descriptor = self.descriptor();
        self.settle(writer, descriptor.with_meta(Meta { dim: Some(dim), ..descriptor.meta.clone() })?)
    }
}

impl Indexed for Core {
    fn runtime(&self) -> &Runtime {
        &self.shared
    }

    fn cache(&self) -> &Arc<BlockCache> {
        &self.cache
    }

    fn shard(&self) -> Shard {
        self.shard
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn language(&self) -> &str {
        &self.language
    }

    fn fields(&self) -> Arc<Fields> {
        self.descriptor.read().fields.clone()
    }

    fn state(&self) -> &RwLock<State> {
        &self.state
    }

    fn index_work(&self) -> &IndexWork {
        &self.index_work
    }

    fn pause_writes(&self) -> MappedMutexGuard<'_, Counters> {
        MutexGuard::map(self.writer.lock(), |writer| &mut writer.counters)
    }

    fn is_dropped(&self) -> bool {
        Self::is_dropped(self)
    }

    fn is_waited_for(&self) -> bool {
        !self.shared.options.background
            || self.upkeep.flush_wanted.load(Ordering::SeqCst)
            || self.upkeep.optimize_wanted.load(Ordering::SeqCst)
            || self.shared.background.sealer_priority.is_wanted()
            || self.shared.fresh_bytes() * 2 > self.shared.memory.budget.fresh_bytes
    }
}
