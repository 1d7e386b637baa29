//! The log of the store with changed bytes: whatever is damaged, the store has a beginning of what was written, or is refused.

use std::ops::ControlFlow;

use nuthatch_store::{Batch, Direction, Reader, RocksStore, Shard, Store, StoreError, StoreOptions, Table};

use crate::Run;
use crate::folder::Folder;
use crate::patch::patched;

const OPTIONS: StoreOptions = StoreOptions { cache_bytes: 1 << 20, write_buffer_bytes: 1 << 20 };
const SHARD: Shard = Shard { tenant: 0, collection: 7 };
const BATCHES: u64 = 60;

pub fn start() -> Run {
    let folder = tempfile::tempdir().expect("a folder");
    let store = RocksStore::open(folder.path(), OPTIONS).expect("a store");
    for number in 0..BATCHES {
        let mut batch = Batch::new();
        batch.put(Table::Records, SHARD.number_key(number), vec![number as u8; 900]);
        let position = store.write(batch).expect("written");
        store.sync(position).expect("synced");
    }
    // As a kill would leave it.
    let healthy = Folder::read(folder.path());
    drop(store);
    let log = healthy
        .files
        .iter()
        .rposition(|(path, bytes)| path.extension().is_some_and(|e| e == "log") && !bytes.is_empty());
    let log = log.expect("a log");
    Box::new(move |changes| {
        let (name, bytes) = &healthy.files[log];
        let changed = patched(bytes, changes);
        let copy = healthy.copy();
        std::fs::write(copy.path().join(name), &changed).expect("written");
        match RocksStore::open(copy.path(), OPTIONS) {
            Ok(store) => {
                let kept = kept(&store);
                assert!(kept == BATCHES || changed != *bytes, "{kept} batches of a log that nobody changed");
            }
            Err(error) => assert!(matches!(error, StoreError::Corrupt { .. }), "{error}"),
        }
    })
}

/// How many batches there are: none but the last ones may be missing.
fn kept(store: &RocksStore) -> u64 {
    let mut next = 0_u64;
    let visit = &mut |key: &[u8], value: &[u8]| {
        assert_eq!(Shard::suffix(key), next.to_be_bytes(), "one is missing in the middle");
        assert_eq!(value, [next as u8; 900]);
        next += 1;
        ControlFlow::Continue(())
    };
    store
        .scan(Table::Records, &SHARD.prefix(), &SHARD.end(), Direction::Forward, visit)
        .expect("a store that was opened");
    next
}
