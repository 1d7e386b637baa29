//! Facts that a batch records or takes back: with its other writes, or not at all.

use std::collections::HashMap;

use nuthatch_store::{Batch, Op, Reader, Shard, Table};
use serde::{Deserialize, Serialize};

use crate::Result;
use crate::facts::draft::Draft;
use crate::facts::write::{COPIES, check_new, record, retract};
use crate::facts::{NewFact, Recorded};
use crate::kv::{Entry, KeyPage, KeyScan, KvOp, Live, Rows, Space};
use crate::runtime::Reservation;

/// A batch's changes to the facts of one name, in the order requested.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct FactChanges {
    changes: Vec<FactChange>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum FactChange {
    Record(Vec<NewFact>),
    Retract(Vec<u64>),
}

/// The facts' part of a [`WriteBatch`](crate::WriteBatch). An invalid change is refused at once and leaves the batch unchanged.
pub struct FactWrites<'b> {
    pub(crate) changes: &'b mut FactChanges,
}

impl FactWrites<'_> {
    /// Records facts, as a call of its own does, when the batch is written. A source may be a record that the batch itself writes,
    /// wherever in the batch.
    ///
    /// # Errors
    /// `Invalid` for a fact that cannot be kept, and for over 10,000 in one batch.
    pub fn record(&mut self, facts: Vec<NewFact>) -> Result<&mut Self> {
        check_new(self.changes.recorded(), &facts)?;
        self.changes.changes.push(FactChange::Record(facts));
        Ok(self)
    }

    /// Takes facts back; those that are not there or not believed then are passed over.
    pub fn retract(&mut self, numbers: &[u64]) -> &mut Self {
        self.changes.changes.push(FactChange::Retract(numbers.to_vec()));
        self
    }
}

impl FactChanges {
    pub fn is_empty(&self) -> bool {
        self.changes.iter().all(|change| match change {
            FactChange::Record(facts) => facts.is_empty(),
            FactChange::Retract(numbers) => numbers.is_empty(),
        })
    }

    /// Facts to record so far.
    fn recorded(&self) -> usize {
        let facts = |change: &FactChange| match change {
            FactChange::Record(facts) => facts.len(),
            FactChange::Retract(_) => 0,
        };
        self.changes.iter().map(facts).sum()
    }

    /// Checks changes that may have come from another process.
    pub fn check(&self) -> Result<()> {
        let mut before = 0;
        self.changes.iter().try_for_each(|change| match change {
            FactChange::Record(facts) => {
                let checked = check_new(before, facts);
                before += facts.len();
                checked
            }
            FactChange::Retract(_) => Ok(()),
        })
    }

    /// The estimated memory of writing them.
    pub fn bytes(&self) -> u64 {
        let bytes = |change: &FactChange| match change {
            FactChange::Record(facts) => facts.iter().map(NewFact::bytes).sum::<u64>() * COPIES,
            FactChange::Retract(numbers) => numbers.len() as u64 * 8,
        };
        self.changes.iter().map(bytes).sum()
    }

    /// All rows that change. Sources are looked up in the store with what `batch` has so far.
    ///
    /// # Errors
    /// `NotFound` for a source that is in neither.
    pub fn into_ops(self, space: &Space, store: &dyn Reader, batch: &Batch) -> Result<Vec<KvOp>> {
        let rows = Leaving::of(space, store, batch);
        let mut draft = Draft::of(&rows)?;
        for change in self.changes {
            match change {
                FactChange::Record(facts) => record(&mut draft, facts, &mut Recorded::default())?,
                FactChange::Retract(numbers) => drop(retract(&mut draft, &numbers)?),
            }
        }
        match draft.is_empty() {
            true => Ok(Vec::new()),
            false => draft.into_ops(),
        }
    }
}

/// Rows of facts, and records as a batch leaves them. No batch has rows of facts besides those that are made from this.
struct Leaving<'b> {
    live: Live<'b>,
    /// Table and key -> what it will be; `None`: it goes.
    records: HashMap<(Table, &'b [u8]), Option<&'b [u8]>>,
}

impl<'b> Leaving<'b> {
    fn of(space: &'b Space, store: &'b dyn Reader, batch: &'b Batch) -> Self {
        let change = |op: &'b Op| match op {
            Op::Put { table, key, value } => Some(((*table, &key[..]), Some(&value[..]))),
            Op::Delete { table, key } => Some(((*table, &key[..]), None)),
            // Batches of several collections have none.
            Op::DeleteRange { .. } => None,
        };
        let of_records = |((table, _), _): &((Table, _), _)| matches!(table, Table::Ids | Table::Records);
        let records = batch.ops().iter().filter_map(change).filter(of_records).collect();
        Self { live: Live { space, reader: store }, records }
    }

    fn shard(&self, collection: u32) -> Shard {
        Shard { collection, ..self.live.space.shard }
    }
}

impl Rows for Leaving<'_> {
    fn entries(&self, keys: &[Vec<u8>]) -> Result<Vec<Option<Entry>>> {
        self.live.entries(keys)
    }

    fn page(&self, scan: &KeyScan) -> Result<KeyPage> {
        self.live.page(scan)
    }

    fn now_ms(&self) -> u64 {
        self.live.now_ms()
    }

    fn estimate(&self, prefix: &[u8]) -> Result<u64> {
        self.live.estimate(prefix)
    }

    fn row_of(&self, collection: u32, id: &str) -> Result<Option<u64>> {
        match self.records.get(&(Table::Ids, &self.shard(collection).key(id.as_bytes())[..])) {
            Some(changed) => Ok(changed.and_then(|row| row.try_into().ok().map(u64::from_be_bytes))),
            None => self.live.row_of(collection, id),
        }
    }

    fn record_bytes(&self, collection: u32, row: u64) -> Result<Option<Vec<u8>>> {
        match self.records.get(&(Table::Records, &self.shard(collection).number_key(row)[..])) {
            Some(changed) => Ok(changed.map(<[u8]>::to_vec)),
            None => self.live.record_bytes(collection, row),
        }
    }

    fn collection_number(&self, name: &str) -> Result<Option<u32>> {
        self.live.collection_number(name)
    }

    fn room(&self) -> Option<Reservation<'_>> {
        self.live.room()
    }

    fn blobs(&self, numbers: &[u64]) -> Result<Vec<Option<Vec<u8>>>> {
        self.live.blobs(numbers)
    }
}
