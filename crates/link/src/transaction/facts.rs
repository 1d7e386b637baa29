//! Facts inside a transaction.

use nuthatch_engine::{NewFact, Result};

use crate::work::Working;

/// Facts that a transaction writes. They are recorded at its commit, by the rules and from the sources that there are then, the
/// transaction's own records among them: so they conflict with nothing, and cannot be read before. Read facts from a snapshot.
pub struct TransactionFacts<'t> {
    work: &'t Working,
    name: String,
}

impl<'t> TransactionFacts<'t> {
    pub(crate) fn of(work: &'t Working, name: &str) -> Self {
        Self { work, name: name.into() }
    }

    /// Records facts, as [`Facts::record`](crate::Facts::record) does, when the transaction commits.
    ///
    /// # Errors
    /// `Invalid` for a fact that cannot be kept, and for over 10,000 in one transaction.
    pub fn record(&self, facts: Vec<NewFact>) -> Result<()> {
        self.work.with(|work| work.batch.facts(&self.name).record(facts).map(drop))
    }

    /// Takes facts back; those that are not there or not believed at the commit are passed over.
    pub fn retract(&self, numbers: &[u64]) -> Result<()> {
        self.work.with(|work| {
            work.batch.facts(&self.name).retract(numbers);
            Ok(())
        })
    }
}
