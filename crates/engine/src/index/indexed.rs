//! The interface through which an index uses its collection, which is in the layer above.

use std::path::PathBuf;
use std::sync::Arc;

use nuthatch_segment::BlockCache;
use nuthatch_store::{Shard, Table};
use parking_lot::{MappedMutexGuard, Mutex, RwLock};
use roaring::RoaringTreemap;

use crate::descriptor::field::Fields;
use crate::descriptor::meta::Counters;
use crate::record::Row;
use crate::runtime::Runtime;
use crate::state::building::Building;
use crate::state::change::{Change, each_change};
use crate::state::segment::Segment;
use crate::state::{IndexId, SEGMENTS, State, each_row_in};
use crate::{Error, Result};

/// A collection, as its indexes see it.
pub(crate) trait Indexed: Sync {
    /// The store, the budget and the wake-ups.
    fn runtime(&self) -> &Runtime;

    /// The tenant's handle of the cache.
    fn cache(&self) -> &Arc<BlockCache>;

    /// Where its rows lie.
    fn shard(&self) -> Shard;

    /// The name within its tenant.
    fn name(&self) -> &str;

    /// Of the texts.
    fn language(&self) -> &str;

    /// The vector fields as they are now.
    fn fields(&self) -> Arc<Fields>;

    /// The state that searches see.
    fn state(&self) -> &RwLock<State>;

    /// The locks of work on its indexes.
    fn index_work(&self) -> &IndexWork;

    /// Nobody writes until this is dropped: the counters as they are until then.
    fn pause_writes(&self) -> MappedMutexGuard<'_, Counters>;

    /// It was dropped: work on it ends.
    fn is_dropped(&self) -> bool;

    /// A caller waits for background work, or soon will, because there are many fresh rows.
    fn is_waited_for(&self) -> bool;

    /// False: the index waits for a rebuild.
    fn is_sound(&self, index: IndexId) -> bool {
        self.state().read().is_sound(index)
    }

    /// From now on searches bypass the damaged index; maintenance rebuilds it.
    fn note_damage(&self, error: &Error, index: IndexId) {
        self.state().write().pass_by(index, error.to_string());
        self.runtime().background.wake();
    }

    /// Where its indexes lie.
    fn index_folder(&self) -> PathBuf {
        let shard = self.shard();
        self.runtime().folder.index(shard.tenant, shard.collection)
    }

    /// Where the segments lie.
    fn segments_folder(&self) -> PathBuf {
        self.folder_of(SEGMENTS)
    }

    /// Where an index lies.
    fn folder_of(&self, index: IndexId) -> PathBuf {
        self.index_folder().join(index.folder)
    }

    /// Visits the changes after `sequence`, in order.
    fn each_change(&self, sequence: u64, visit: &mut dyn FnMut(u64, Change)) -> Result<()> {
        each_change(&*self.runtime().store()?, self.shard(), sequence, visit)
    }

    /// Visits every stored record, in one consistent view.
    fn each_record(&self, visit: &mut dyn FnMut(u64, &[u8]) -> Result<()>) -> Result<()> {
        let range = (self.shard().prefix().to_vec(), self.shard().end());
        each_row_in(&*self.runtime().store()?, Table::Records, range, visit)
    }

    /// The rows of all records.
    fn all_rows(&self) -> Result<RoaringTreemap> {
        let mut rows = RoaringTreemap::new();
        self.each_record(&mut |row, _| {
            rows.insert(row);
            Ok(())
        })?;
        Ok(rows)
    }

    /// Live rows that were added after a change.
    fn rows_added_after(&self, sequence: u64) -> Result<Vec<(u64, Row)>> {
        let mut added = RoaringTreemap::new();
        self.each_change(sequence, &mut |_, change| added.extend(change.added))?;
        let mut rows = Vec::new();
        for row in added {
            if let Some(stored) = self.runtime().store()?.get(Table::Records, &self.shard().number_key(row))? {
                rows.push((row, Row::decode(&stored)?));
            }
        }
        Ok(rows)
    }
}

/// Work on the indexes of a collection, in the order in which its locks are taken.
#[derive(Default)]
pub(crate) struct IndexWork {
    /// One merge at a time, and none during a rebuild.
    pub merging: Mutex<()>,
    /// One seal or rebuild at a time.
    pub work: Mutex<()>,
    /// One change of the segments at a time, with its manifest. Taken before the state.
    pub manifest: Mutex<()>,
    /// Segments that are replaced, until nobody reads them any more.
    pub retired: Mutex<Vec<Arc<Segment>>>,
    /// The graph that is being built.
    pub building: Mutex<Option<Building>>,
}

/// Ends the snapshots that read old files.
pub(crate) trait EndSnapshots {
    /// Waits for all snapshots of a tenant, and ends those that stay.
    fn all_of(&mut self, tenant: u32) -> Result<()>;
}
