//! The view that an operation runs on: everything as it is now, as it was, or as a transaction sees it.
//!
//! **Invariant:** an operation that reads takes no notice of which it is. One that writes asks for what is live, and is refused
//! elsewhere: a snapshot does not change, and a transaction writes when it commits.

use crate::call::Watched;
use crate::collection::{Collection, Core, FieldValues, ReadSource};
use crate::database::Database;
use crate::kv::{Keyspace, Rows};
use crate::snapshot::{Snapshot, SnapshotCollection};
use crate::{Error, Result};

/// Whatever an operation may be asked of.
pub enum View<'v> {
    /// A tenant's data as it is now.
    Everything(&'v Database),
    /// A snapshot, or the snapshot of a transaction.
    ReadPoint(&'v Snapshot),
    /// The records of a collection.
    Records(Records<'v>),
    /// The keys of a keyspace, or the rows of a graph.
    Keys(Keys<'v>),
}

/// The records of a collection.
#[derive(Clone, Copy)]
pub enum Records<'v> {
    /// As they are now.
    Live(&'v Collection),
    /// As a snapshot has them.
    At(&'v SnapshotCollection),
}

/// The keys of a keyspace, or the rows of a graph.
#[derive(Clone, Copy)]
pub enum Keys<'v> {
    /// As they are now.
    Live(&'v Keyspace),
    /// Of a snapshot, or of a transaction.
    At(&'v dyn Rows),
}

impl<'v> View<'v> {
    /// The database, if it is that.
    pub fn database(&self) -> Result<&'v Database> {
        match self {
            Self::Everything(db) => Ok(db),
            _ => Err(misplaced("a database")),
        }
    }

    /// The snapshot, if it is that.
    pub fn snapshot(&self) -> Result<&'v Snapshot> {
        match self {
            Self::ReadPoint(snapshot) => Ok(snapshot),
            _ => Err(misplaced("a snapshot")),
        }
    }

    /// The records, if it is those.
    pub fn records(&self) -> Result<Records<'v>> {
        match self {
            Self::Records(records) => Ok(*records),
            _ => Err(misplaced("a collection")),
        }
    }

    /// The keys, if it is those.
    pub fn keys(&self) -> Result<Keys<'v>> {
        match self {
            Self::Keys(keys) => Ok(*keys),
            _ => Err(misplaced("a keyspace")),
        }
    }

    /// The collection itself.
    ///
    /// # Errors
    /// `Invalid` within a snapshot or a transaction.
    pub fn collection(&self) -> Result<&'v Collection> {
        match self.records()? {
            Records::Live(collection) => Ok(collection),
            Records::At(_) => Err(of_now("collection")),
        }
    }

    /// The keyspace itself.
    ///
    /// # Errors
    /// As [`collection`](Self::collection).
    pub fn keyspace(&self) -> Result<&'v Keyspace> {
        match self.keys()? {
            Keys::Live(keyspace) => Ok(keyspace),
            Keys::At(_) => Err(of_now("keyspace or graph")),
        }
    }

    /// Keys, each read as of one moment.
    pub fn rows(&self) -> Result<&'v dyn Rows> {
        Ok(match self.keys()? {
            Keys::Live(keyspace) => keyspace,
            Keys::At(rows) => rows,
        })
    }

    /// Reads keys, all of them as of one moment.
    pub fn at_once<T>(&self, read: impl FnOnce(&dyn Rows) -> Result<T>) -> Result<T> {
        match self.keys()? {
            Keys::Live(keyspace) => keyspace.at_once(read),
            Keys::At(rows) => read(rows),
        }
    }
}

impl Records<'_> {
    /// Counts the values of each field among the records that pass a condition; shows up to `limit` of each.
    ///
    /// # Errors
    /// `Invalid` for a field that the collection never had, `Exhausted` for one with too many values.
    pub fn count_values(&self, fields: &[String], condition: Option<&str>, limit: usize) -> Result<Vec<FieldValues>> {
        let filter = condition.map(nuthatch_filter::parse).transpose()?;
        self.ask(|core, place| core.count_values(place, fields, filter.as_ref(), limit))
    }

    /// Asks the indexes, and the rows as they are when each is read.
    pub(crate) fn ask<T>(&self, ask: impl FnOnce(&Core, ReadSource<'_>) -> Result<T>) -> Result<T> {
        match self {
            Self::Live(collection) => {
                let (core, waits) = (&collection.core, collection.call.waits());
                core.check_open()?;
                waits.check()?;
                let reader = Watched::new(&core.shared.store, waits);
                ask(core, ReadSource { reader: &reader, waits, ..core.live() })
            }
            Self::At(kept) => kept.with(|core, place| place.waits.check().and_then(|()| ask(core, place))),
        }
    }

    /// Reads rows as of one moment.
    pub(crate) fn read<T>(&self, read: impl FnOnce(&Core, ReadSource<'_>) -> Result<T>) -> Result<T> {
        match self {
            Self::Live(collection) => {
                let (core, waits) = (&collection.core, collection.call.waits());
                core.check_open()?;
                waits.check()?;
                let store = core.shared.store()?;
                // A record that is replaced while it is read must not seem gone.
                let snapshot = store.snapshot();
                let reader = Watched::new(&*snapshot, waits);
                read(core, ReadSource { reader: &reader, waits, ..core.live() })
            }
            Self::At(kept) => kept.with(|core, place| place.waits.check().and_then(|()| read(core, place))),
        }
    }
}

fn misplaced(what: &str) -> Error {
    Error::internal(format!("an operation for {what} reached something else"))
}

fn of_now(what: &str) -> Error {
    Error::invalid(format!("this operation works on the current {what}, not on a snapshot or a transaction"))
}
