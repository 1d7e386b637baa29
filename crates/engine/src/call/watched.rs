//! Reading the store on behalf of somebody who may stop waiting.

use std::ops::ControlFlow;

use nuthatch_store::{Direction, Reader, Result, StoreError, Table, Visit};

use crate::call::Waits;

/// Rows after which a scan looks whether somebody still waits.
const LOOK_EVERY_ROWS: u32 = 64;

/// A reader that refuses when nobody waits for what is read any more, also in the middle of a scan.
pub(crate) struct Watched<'r> {
    reader: &'r dyn Reader,
    waits: &'r Waits,
}

impl<'r> Watched<'r> {
    pub fn new(reader: &'r dyn Reader, waits: &'r Waits) -> Self {
        Self { reader, waits }
    }

    fn check(&self) -> Result<()> {
        if self.waits.is_over() { Err(StoreError::Abandoned) } else { Ok(()) }
    }

    fn watch(&self, visit: &mut Visit<'_>, scan: impl FnOnce(&mut Visit<'_>) -> Result<()>) -> Result<()> {
        self.check()?;
        if !self.waits.may_end() {
            return scan(visit);
        }
        let (mut rows, mut is_over) = (0_u32, false);
        scan(&mut |key, value| {
            rows = rows.wrapping_add(1);
            is_over = rows.is_multiple_of(LOOK_EVERY_ROWS) && self.waits.is_over();
            if is_over { ControlFlow::Break(()) } else { visit(key, value) }
        })?;
        if is_over { Err(StoreError::Abandoned) } else { Ok(()) }
    }
}

impl Reader for Watched<'_> {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.check()?;
        self.reader.get(table, key)
    }

    fn multi_get(&self, table: Table, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>> {
        self.check()?;
        self.reader.multi_get(table, keys)
    }

    fn scan(&self, table: Table, from: &[u8], to: &[u8], direction: Direction, visit: &mut Visit<'_>) -> Result<()> {
        self.watch(visit, |visit| self.reader.scan(table, from, to, direction, visit))
    }

    fn scan_once(&self, table: Table, from: &[u8], to: &[u8], visit: &mut Visit<'_>) -> Result<()> {
        self.watch(visit, |visit| self.reader.scan_once(table, from, to, visit))
    }

    fn scan_through(&self, table: Table, from: &[u8], to: &[u8], visit: &mut Visit<'_>) -> Result<()> {
        self.watch(visit, |visit| self.reader.scan_through(table, from, to, visit))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use nuthatch_store::{Batch, MemoryStore, Store};

    use super::*;

    #[test]
    fn a_scan_ends_in_the_middle_when_it_is_cancelled() {
        let store = MemoryStore::new();
        let mut batch = Batch::new();
        (0..1000_u32).for_each(|key| batch.put(Table::Kv, key.to_be_bytes().to_vec(), Vec::new()));
        store.write(batch).unwrap();
        let cancel = Arc::new(AtomicBool::new(false));
        let waits = Waits::of(None, Some(&cancel));
        let reader = Watched::new(&store, &waits);
        let mut seen = 0;
        let ended = reader.scan(Table::Kv, &[], &[], Direction::Forward, &mut |_, _| {
            seen += 1;
            cancel.store(true, Ordering::SeqCst);
            ControlFlow::Continue(())
        });
        assert!(matches!(ended, Err(StoreError::Abandoned)));
        assert!(seen < 1000, "{seen}");
        assert!(matches!(reader.get(Table::Kv, &[0; 4]), Err(StoreError::Abandoned)));
        assert!(matches!(reader.multi_get(Table::Kv, &[]), Err(StoreError::Abandoned)));
    }
}
