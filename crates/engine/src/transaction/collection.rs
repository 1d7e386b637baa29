//! A collection inside a transaction.

use nuthatch_store::Table;

use crate::Result;
use crate::collection::meta::COUNTERS;
use crate::collection::{Answer, Page, Scan, Search};
use crate::process::SnapshotCollection;
use crate::record::{Record, StoredRecord};
use crate::transaction::Transaction;

/// A collection as the transaction sees it. What it has written itself is seen by [`get`](Self::get); searches, counts and
/// listings are of the moment when the transaction began, and conflict with any change of the collection since.
pub struct TransactionCollection<'t> {
    pub(crate) transaction: &'t Transaction,
    pub(crate) kept: SnapshotCollection,
}

impl TransactionCollection<'_> {
    /// Records by id, in the order of the ids; `None` for those that are not there.
    pub fn get<I: AsRef<str>>(&self, ids: &[I], vectors: bool) -> Result<Vec<Option<StoredRecord>>> {
        let shard = self.kept.shard()?;
        let written = self.transaction.with(|work| {
            let changes = work.batch.records.get(self.kept.name());
            let written: Vec<_> = ids.iter().map(|id| changes.and_then(|all| all.get(id.as_ref()).cloned())).collect();
            for id in ids {
                work.reads.key(Table::Ids, shard.key(id.as_ref().as_bytes()));
            }
            Ok(written)
        })?;
        let kept = self.kept.get(ids, vectors)?;
        let now = written.into_iter().zip(kept).map(|(written, kept)| match written {
            None => kept,
            Some(written) => written.map(|record| StoredRecord {
                vector: record.vector.filter(|_| vectors),
                vectors: if vectors { record.vectors } else { Default::default() },
                id: record.id,
                text: record.text,
                context: record.context,
                payload: record.payload,
            }),
        });
        Ok(now.collect())
    }

    /// Inserts records, replacing those with the same id.
    pub fn upsert(&self, records: Vec<Record>) -> Result<()> {
        let shard = self.kept.shard()?;
        records.iter().try_for_each(Record::check)?;
        self.transaction.with(|work| {
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
        self.transaction.with(|work| {
            work.batch.delete_records(self.kept.name(), ids.iter().map(|id| id.as_ref().to_string()).collect());
            Ok(())
        })
    }

    pub fn count(&self, filter: Option<&str>) -> Result<u64> {
        self.depend_on_everything()?;
        self.kept.count(filter)
    }

    pub fn scan(&self, scan: &Scan) -> Result<Page> {
        self.depend_on_everything()?;
        self.kept.scan(scan)
    }

    pub fn search(&self, search: &Search) -> Result<Answer> {
        self.depend_on_everything()?;
        self.kept.search(search)
    }

    /// As if these records had been read: the commit conflicts when one of them has changed.
    pub fn depend_on_records<I: AsRef<str>>(&self, ids: &[I]) -> Result<()> {
        let shard = self.kept.shard()?;
        self.transaction.with(|work| {
            ids.iter().for_each(|id| work.reads.key(Table::Ids, shard.key(id.as_ref().as_bytes())));
            Ok(())
        })
    }

    /// As if the collection had been searched, counted or listed: the commit conflicts when anything in it has changed.
    // Every write to it moves its counters.
    pub fn depend_on_everything(&self) -> Result<()> {
        let key = self.kept.shard()?.key(COUNTERS);
        self.transaction.with(|work| {
            work.reads.key(Table::Catalog, key);
            Ok(())
        })
    }
}
