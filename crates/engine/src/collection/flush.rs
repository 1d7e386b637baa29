//! Bringing fresh rows into the indexes, and trimming the log behind them. Never on the write path.

use std::sync::atomic::Ordering;

use nuthatch_store::{Batch, trim_changes};

use crate::Result;
use crate::collection::Core;
use crate::index::{self, Eagerness, Indexed};
use crate::runtime::Throttle;

impl Core {
    /// Brings all fresh rows into the indexes. Writes and searches go on during the flush.
    pub(crate) fn flush(&self) -> Result<()> {
        let _work = self.index_work.work.lock();
        if self.is_dropped() {
            return Ok(());
        }
        self.shared.crash_point("flush");
        if self.indexes.iter().all(|index| !self.is_sound(index.id())) {
            return Ok(()); // nothing to flush into: a rebuild takes the fresh rows along
        }
        self.indexes.iter().try_for_each(|index| index.seal(self))?;
        self.shared.fit();
        nuthatch_heap::give_back();
        self.trim()
    }

    /// Forgets changes that all indexes have applied.
    pub(crate) fn trim(&self) -> Result<()> {
        let Some(applied) = self.applied() else { return Ok(()) }; // a rebuild decides
        if applied > 0 && self.shared.background.log_pins.load(Ordering::SeqCst) == 0 {
            let mut batch = Batch::new();
            trim_changes(&mut batch, self.shard, applied);
            self.shared.write(batch)?;
        }
        Ok(())
    }

    /// Reads the graphs that were there before this process into the page cache, if there is memory for them: until then most
    /// searches of a cold graph scan codes instead of waiting for the disk.
    pub(crate) fn read_graphs_ahead(&self) -> Result<()> {
        let view = self.state.read().view();
        let mut throttle = Throttle::default();
        let go_on = &mut || {
            throttle.rest(&self.shared, &|| false);
            !self.shared.background.is_stopping()
                && !self.is_dropped()
                && !self.upkeep.optimize_wanted.load(Ordering::SeqCst)
        };
        match view.segments.iter().try_for_each(|view| view.segment.read_ahead(go_on)) {
            // A search that comes by notes the damage.
            Err(error) if error.is_corrupt() => Ok(()),
            read => read,
        }
    }

    /// Merges once, if something is worth merging. True when it did. Sealing goes on during the merge.
    pub(crate) fn merge(&self, eagerness: Eagerness) -> Result<bool> {
        index::merge(self, eagerness)
    }
}
