//! Upkeep of the store on RocksDB; each task stands next to the code that it uses.

use std::path::Path;

use crate::{Checkpoint, Damage, Estimate, Extent, LogHole, Result, RocksStore, StoreMemory, Table, Upkeep};

impl Upkeep for RocksStore {
    fn flush(&self) -> Result<()> {
        Self::flush(self)
    }

    fn tidy(&self, flush: bool) -> Result<bool> {
        Self::tidy(self, flush)
    }

    fn reclaim_before(&self, extent: Extent, sequence: u64) -> Result<()> {
        Self::reclaim_before(self, extent, sequence)
    }

    fn empty_spare_logs(&self) -> Result<()> {
        Self::empty_spare_logs(self)
    }

    fn checkpoint(&self, folder: &Path) -> Result<Option<Box<dyn Checkpoint>>> {
        Ok(Some(Box::new(self.make_checkpoint(folder)?)))
    }

    fn record_checksums(&self) -> Result<()> {
        Self::record_checksums(self)
    }

    fn verify(&self) -> Result<Vec<Damage>> {
        crate::verify::verify_open(self)
    }

    fn torn_tail(&self) -> Option<&LogHole> {
        Self::torn_tail(self)
    }

    fn memory(&self) -> Result<StoreMemory> {
        Self::memory(self)
    }

    fn release_cache(&self) {
        Self::release_cache(self);
    }

    fn estimate(&self, table: Table, from: &[u8], to: &[u8]) -> Result<Option<Estimate>> {
        self.estimated(table, from, to).map(Some)
    }
}
