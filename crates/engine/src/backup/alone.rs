//! One tenant's rows in a store of their own, so that a backup of it has nothing of the others.

use std::ops::ControlFlow;
use std::path::Path;

use nuthatch_store::{Batch, Checkpoint, Direction, Reader, RocksStore, Store, StoreOptions, Table};

use crate::backup::capture::remove;
use crate::database::Database;
use crate::tenant::{dropped, last_number, put_last_number, record_in};
use crate::{Error, Result};

/// Memory of the store that is written.
const COPYING: StoreOptions = StoreOptions { cache_bytes: 2 << 20, write_buffer_bytes: 2 << 20 };
/// Bytes of keys and values that are written as one batch.
const BATCH_BYTES: usize = 1 << 20;

/// Copies the rows of the handle's tenant, as they are now, into a new store; `place` becomes its checkpoint. `beside` is needed
/// meanwhile.
pub(crate) fn copy_tenant(database: &Database, place: &Path, beside: &Path) -> Result<Checkpoint> {
    let (shared, tenant) = (&database.inner.shared, &database.tenant);
    std::fs::create_dir_all(beside).map_err(|error| Error::io(beside, &error))?;
    let copy = RocksStore::open(beside, COPYING)?;
    let snapshot = shared.owned_snapshot()?;
    let mut batch = Batch::new();
    let record = record_in(&snapshot, &tenant.name)?.filter(|record| record.id == tenant.number);
    record.ok_or_else(|| dropped(&tenant.name))?.put(&mut batch, &tenant.name);
    put_last_number(&mut batch, last_number(&snapshot)?);
    copy.write(batch)?;
    let (from, to) = tenant.extent().bounds();
    for table in Table::ALL {
        let (mut batch, mut bytes, mut outcome) = (Batch::new(), 0, Ok(()));
        snapshot.scan(table, &from, &to, Direction::Forward, &mut |key, value| {
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
    }
    copy.flush()?;
    copy.record_checksums()?;
    copy.checkpoint(place)?;
    let checkpoint = Checkpoint::open(place, beside)?;
    drop(copy);
    remove(beside)?;
    Ok(checkpoint)
}
