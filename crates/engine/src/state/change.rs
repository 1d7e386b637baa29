//! The change log of a collection: which rows each batch added and removed.

use std::ops::ControlFlow;

use nuthatch_store::{Direction, Reader, Shard, Table, changes_after};
use serde::{Deserialize, Serialize};

use crate::descriptor::meta::Counters;
use crate::{Error, Result};

const CHANGE_VERSION: u8 = 1;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Change {
    pub added: Vec<u64>,
    pub removed: Vec<u64>,
}

impl Change {
    pub fn encode(&self) -> Vec<u8> {
        postcard::to_extend(self, vec![CHANGE_VERSION]).expect("numbers always encode")
    }

    pub fn decode(bytes: &[u8]) -> Result<Self> {
        match bytes.split_first() {
            Some((&CHANGE_VERSION, rest)) => postcard::from_bytes(rest)
                .map_err(|error| Error::internal(format!("a change log entry cannot be decoded: {error}"))),
            _ => Err(Error::internal(
                "a change log entry has a version that this program cannot read; use a newer Nuthatch",
            )),
        }
    }
}

/// The oldest change of a collection that the log still has; one past the last when it has none.
pub(crate) fn oldest_change(reader: &dyn Reader, shard: Shard, counters: &Counters) -> Result<u64> {
    let mut oldest = counters.sequence + 1;
    reader.scan(Table::Log, &shard.prefix(), &shard.end(), Direction::Forward, &mut |key, _| {
        if let Ok(number) = Shard::suffix(key).try_into() {
            oldest = u64::from_be_bytes(number);
        }
        ControlFlow::Break(())
    })?;
    Ok(oldest)
}

/// Visits the changes of a collection after `sequence`, in order.
pub(crate) fn each_change(
    reader: &dyn Reader,
    shard: Shard,
    sequence: u64,
    visit: &mut dyn FnMut(u64, Change),
) -> Result<()> {
    let mut failed = None;
    changes_after(reader, shard, sequence, &mut |sequence, entry| match Change::decode(entry) {
        Ok(change) => {
            visit(sequence, change);
            ControlFlow::Continue(())
        }
        Err(error) => {
            failed = Some(error);
            ControlFlow::Break(())
        }
    })?;
    failed.map_or(Ok(()), Err)
}
