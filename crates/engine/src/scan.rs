//! Scans of the store whose visit may fail, and the shards that a table has entries of.

use std::ops::ControlFlow;

use nuthatch_store::{Direction, Reader, Shard, Table, Visit};

use crate::Result;

/// Runs a scan whose visit may fail; the first error ends it.
pub(crate) fn until_error(
    scan: impl FnOnce(&mut Visit<'_>) -> nuthatch_store::Result<()>,
    mut visit: impl FnMut(&[u8], &[u8]) -> Result<ControlFlow<()>>,
) -> Result<()> {
    let mut failed = None;
    scan(&mut |key, value| {
        visit(key, value).unwrap_or_else(|error| {
            failed = Some(error);
            ControlFlow::Break(())
        })
    })?;
    failed.map_or(Ok(()), Err)
}

/// The shard of the first key of a table in `from..to`.
pub(crate) fn first_shard(reader: &dyn Reader, table: Table, from: &[u8], to: &[u8]) -> Result<Option<Shard>> {
    let mut found = None;
    reader.scan(table, from, to, Direction::Forward, &mut |key, _| {
        found = Shard::of(key);
        ControlFlow::Break(())
    })?;
    Ok(found)
}
