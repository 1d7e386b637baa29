//! A collection inside a transaction.

use std::ops::Deref;

use nuthatch_engine::Result;
use nuthatch_engine::record::Record;
use nuthatch_store::Table;

use crate::transaction::Transaction;
use crate::work::Working;
use crate::{Records, records};

/// A collection as the transaction sees it. Reads are those of [`Records`].
pub struct TransactionCollection<'t> {
    records: Records<'t>,
    work: &'t Working,
    kept: records::SnapshotRecords,
}

impl<'t> Deref for TransactionCollection<'t> {
    type Target = Records<'t>;

    fn deref(&self) -> &Records<'t> {
        &self.records
    }
}

impl<'t> TransactionCollection<'t> {
    pub(crate) fn of(transaction: &'t Transaction, kept: records::SnapshotRecords) -> Self {
        let work = &transaction.work;
        Self { records: Records { from: records::From::Within(work, kept.clone()) }, work, kept }
    }

    /// Inserts records, replacing those with the same id.
    pub fn upsert(&self, records: Vec<Record>) -> Result<()> {
        let shard = self.kept.shard()?;
        records.iter().try_for_each(Record::check)?;
        self.work.with(|work| {
            for record in &records {
                work.reads.key(Table::Ids, shard.key(record.id.as_bytes()));
            }
            work.batch.upsert(self.kept.name(), records);
            Ok(())
        })
    }

    /// Deletes records by id; unknown ones are passed over.
    pub fn delete<I: AsRef<str>>(&self, ids: &[I]) -> Result<()> {
        self.depend_on_records(ids)?;
        self.work.with(|work| {
            work.batch.delete_records(self.kept.name(), ids.iter().map(|id| id.as_ref().to_string()).collect());
            Ok(())
        })
    }

    /// Depends on these records as reading them does: the commit conflicts when one of them has changed.
    pub fn depend_on_records<I: AsRef<str>>(&self, ids: &[I]) -> Result<()> {
        let shard = self.kept.shard()?;
        self.work.with(|work| {
            ids.iter().for_each(|id| work.reads.key(Table::Ids, shard.key(id.as_ref().as_bytes())));
            Ok(())
        })
    }

    /// Depends on the whole collection, as a search, a count or a listing does: the commit conflicts after any change.
    pub fn depend_on_everything(&self) -> Result<()> {
        self.work.depend_on_collection(&self.kept)
    }
}
