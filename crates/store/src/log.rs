//! The change log: one entry per batch and shard, in the same batch as what it describes.

use std::ops::ControlFlow;

use crate::{Batch, Direction, Reader, Result, Shard, Table};

/// Adds the entry of change `sequence` to its batch. Sequences of a shard ascend by one.
pub fn append_change(batch: &mut Batch, shard: Shard, sequence: u64, entry: Vec<u8>) {
    batch.put(Table::Log, shard.number_key(sequence), entry);
}

/// Visits the entries after `sequence`, in order.
pub fn changes_after(
    reader: &dyn Reader,
    shard: Shard,
    sequence: u64,
    visit: &mut dyn FnMut(u64, &[u8]) -> ControlFlow<()>,
) -> Result<()> {
    let from = shard.number_key(sequence.saturating_add(1));
    reader.scan(Table::Log, &from, &shard.end(), Direction::Forward, &mut |key, entry| match Shard::suffix(key)
        .try_into()
    {
        Ok(number) => visit(u64::from_be_bytes(number), entry),
        Err(_) => ControlFlow::Continue(()),
    })
}

/// Forgets the entries up to and including `sequence`: every derived index has applied them durably.
pub fn trim_changes(batch: &mut Batch, shard: Shard, sequence: u64) {
    batch.delete_range(Table::Log, shard.number_key(0), shard.number_key(sequence.saturating_add(1)));
}
