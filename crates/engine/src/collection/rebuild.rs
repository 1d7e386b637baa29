//! Building an index anew from the store, after it was damaged, deleted, or fell behind the change log.

use nuthatch_store::Table;
use roaring::RoaringTreemap;

use crate::Result;
use crate::collection::Core;
use crate::record::Row;

impl Core {
    /// Rebuilds what is broken. Searches go on exactly meanwhile; what was damaged moves to the quarantine folder.
    pub(crate) fn rebuild_broken(&self) -> Result<()> {
        for index in &self.indexes {
            let why = self.state.read().why_broken(index.id()).map(str::to_owned);
            if let Some(why) = why {
                index.rebuild(self, &why)?;
            }
        }
        nuthatch_heap::give_back();
        self.trim()
    }

    /// Live rows that were added after a change.
    pub(crate) fn rows_added_after(&self, sequence: u64) -> Result<Vec<(u64, Row)>> {
        let mut added = RoaringTreemap::new();
        self.each_change(sequence, &mut |_, change| added.extend(change.added))?;
        let mut rows = Vec::new();
        for row in added {
            if let Some(stored) = self.shared.store()?.get(Table::Records, &self.shard.number_key(row))? {
                rows.push((row, Row::decode(&stored)?));
            }
        }
        Ok(rows)
    }

    pub(crate) fn all_rows(&self) -> Result<RoaringTreemap> {
        let mut rows = RoaringTreemap::new();
        self.each_row(&*self.shared.store()?, Table::Records, &mut |row, _| {
            rows.insert(row);
            Ok(())
        })?;
        Ok(rows)
    }
}
