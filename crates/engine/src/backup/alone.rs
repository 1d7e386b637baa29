//! Rows in a store of their own: one tenant's, so that a backup of it has nothing of the others, or all rows of a store that keeps
//! no files.

use std::ops::ControlFlow;
use std::path::Path;

use nuthatch_store::{Batch, Checkpoint, Direction, Extent, Reader, Store, Table};

use crate::below::remove_below;
use crate::database::Database;
use crate::runtime::{Runtime, stores};
use crate::tenant::{dropped, last_number, put_last_number, record_in};
use crate::{Error, Result};

/// Bytes of keys and values that are written as one batch.
const BATCH_BYTES: usize = 1 << 20;

/// Copies the current rows of the handle's tenant (all rows for the default tenant) into a new store; `place` becomes
/// its checkpoint. The copy uses the folder `beside` while it runs.
pub(crate) fn copy_rows(database: &Database, place: &Path, beside: &Path) -> Result<Box<dyn Checkpoint>> {
    let (shared, tenant) = (&database.inner.shared, &database.tenant);
    std::fs::create_dir_all(beside).map_err(|error| Error::io(beside, &error))?;
    let copy = stores::for_copy(beside)?;
    let snapshot = shared.store.owned_snapshot()?;
    let extent = if tenant.is_default() { Extent::Everything } else { tenant.extent() };
    if !tenant.is_default() {
        let mut batch = Batch::new();
        let record = record_in(&snapshot, &tenant.name)?.filter(|record| record.id == tenant.number);
        record.ok_or_else(|| dropped(&tenant.name))?.put(&mut batch, &tenant.name);
        put_last_number(&mut batch, last_number(&snapshot)?);
        copy.write(batch)?;
    }
    for table in Table::ALL {
        copy_table(shared, &snapshot, &*copy, table, extent)?;
    }
    let files = || Error::internal("the store that rows are copied into keeps no files");
    let upkeep = copy.upkeep().ok_or_else(files)?;
    upkeep.flush()?;
    upkeep.record_checksums()?;
    let checkpoint = upkeep.checkpoint(place)?.ok_or_else(files)?;
    drop(copy);
    remove_below(beside)?;
    Ok(checkpoint)
}

fn copy_table(shared: &Runtime, from: &dyn Reader, copy: &dyn Store, table: Table, extent: Extent) -> Result<()> {
    let (first, end) = extent.bounds();
    let (mut batch, mut bytes, mut outcome) = (Batch::new(), 0, Ok(()));
    from.scan(table, &first, &end, Direction::Forward, &mut |key, value| {
        batch.put(table, key.to_vec(), value.to_vec());
        bytes += key.len() + value.len();
        if bytes < BATCH_BYTES {
            return ControlFlow::Continue(());
        }
        bytes = 0;
        outcome = copy.write(std::mem::take(&mut batch)).map_err(Error::from).and_then(|_| shared.check_open());
        if outcome.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    outcome?;
    copy.write(batch)?;
    Ok(())
}
