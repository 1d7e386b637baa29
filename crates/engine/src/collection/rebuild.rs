//! Rebuilding an index from the store after it was damaged, deleted, or fell behind the change log.

use crate::Result;
use crate::collection::Core;

impl Core {
    /// Rebuilds broken indexes. Searches compare exactly during the rebuild; damaged files move to the quarantine
    /// folder.
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
}
