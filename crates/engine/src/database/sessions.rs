//! Idempotency records of the sessions whose requests this database answers.

use crate::Result;
use crate::call::IdempotencyRecord;
use crate::database::Database;

impl Database {
    /// Returns the last write of a session.
    pub fn last_write_of(&self, session: &str) -> Result<Option<IdempotencyRecord>> {
        IdempotencyRecord::read(&*self.inner.shared.store()?, session)
    }

    /// Forgets a session that has ended.
    pub fn forget_session(&self, session: &str) -> Result<()> {
        IdempotencyRecord::forget(&*self.inner.shared.store()?, session)
    }

    /// Forgets the sessions that no process will continue.
    pub fn forget_old_sessions(&self) -> Result<()> {
        IdempotencyRecord::forget_old(&*self.inner.shared.store()?)
    }
}
