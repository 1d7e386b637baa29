//! Idempotency records of the lanes whose requests this database answers.

use crate::Result;
use crate::call::Receipt;
use crate::database::Database;

impl Database {
    /// What a lane did last.
    pub fn done_by(&self, lane: &str) -> Result<Option<Receipt>> {
        Receipt::read(&*self.inner.shared.store()?, lane)
    }

    /// A lane is not gone on with.
    pub fn forget_lane(&self, lane: &str) -> Result<()> {
        Receipt::forget(&*self.inner.shared.store()?, lane)
    }

    /// Forgets the lanes that nobody will go on with.
    pub fn forget_old_lanes(&self) -> Result<()> {
        Receipt::forget_old(&*self.inner.shared.store()?)
    }
}
