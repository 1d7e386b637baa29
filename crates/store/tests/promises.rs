//! The promises of the store: atomic, ordered, durable, and loud about damage.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

use nuthatch_store::*;

const OPTIONS: StoreOptions = StoreOptions { cache_bytes: 4 << 20, write_buffer_bytes: 1 << 20 };

const SHARD: Shard = Shard { tenant: 0, collection: 7 };

fn put(store: &RocksStore, number: u64, value: &[u8]) -> Position {
    let mut batch = Batch::new();
    batch.put(Table::Records, SHARD.number_key(number), value.to_vec());
    append_change(&mut batch, SHARD, number, vec![1]);
    store.write(batch).unwrap()
}

fn rows(reader: &dyn Reader, table: Table, direction: Direction) -> Vec<u64> {
    let mut found = Vec::new();
    reader
        .scan(table, &SHARD.prefix(), &SHARD.end(), direction, &mut |key, _| {
            found.push(u64::from_be_bytes(Shard::suffix(key).try_into().unwrap()));
            ControlFlow::Continue(())
        })
        .unwrap();
    found
}

#[test]
fn reopens_with_everything_that_was_synced() {
    let folder = tempfile::tempdir().unwrap();
    let store = RocksStore::open(folder.path(), OPTIONS).unwrap();
    for n in 1..=499u64 {
        put(&store, n, &n.to_le_bytes());
    }
    let last = put(&store, 500, &500u64.to_le_bytes());
    store.sync(last).unwrap();
    drop(store);
    let store = RocksStore::open(folder.path(), OPTIONS).unwrap();
    assert_eq!(rows(&store, Table::Records, Direction::Forward), (1..=500).collect::<Vec<_>>());
    assert_eq!(store.get(Table::Records, &SHARD.number_key(300)).unwrap().unwrap(), 300u64.to_le_bytes());
}

#[test]
fn scans_both_ways_and_never_leave_their_shard() {
    let folder = tempfile::tempdir().unwrap();
    let store = RocksStore::open(folder.path(), OPTIONS).unwrap();
    for n in 1..=9 {
        put(&store, n, b"x");
    }
    let mut other = Batch::new();
    for collection in [6, 8] {
        other.put(Table::Records, Shard { tenant: 0, collection }.number_key(5), b"other".to_vec());
    }
    other.put(Table::Records, Shard { tenant: 1, collection: 7 }.number_key(5), b"other".to_vec());
    store.write(other).unwrap();
    assert_eq!(rows(&store, Table::Records, Direction::Forward), (1..=9).collect::<Vec<_>>());
    assert_eq!(rows(&store, Table::Records, Direction::Reverse), (1..=9).rev().collect::<Vec<_>>());
}

#[test]
fn a_snapshot_does_not_see_later_writes() {
    let folder = tempfile::tempdir().unwrap();
    let store = RocksStore::open(folder.path(), OPTIONS).unwrap();
    put(&store, 1, b"old");
    let snapshot = store.snapshot();
    put(&store, 1, b"new");
    put(&store, 2, b"new");
    assert_eq!(snapshot.get(Table::Records, &SHARD.number_key(1)).unwrap().unwrap(), b"old");
    assert_eq!(rows(&*snapshot, Table::Records, Direction::Forward), [1]);
    let values =
        store.multi_get(Table::Records, &[SHARD.number_key(2), SHARD.number_key(9), SHARD.number_key(1)]).unwrap();
    assert_eq!(values, [Some(b"new".to_vec()), None, Some(b"new".to_vec())]);
}

#[test]
fn the_change_log_replays_in_order_and_can_be_trimmed() {
    let folder = tempfile::tempdir().unwrap();
    let store = RocksStore::open(folder.path(), OPTIONS).unwrap();
    for n in 1..=20 {
        put(&store, n, b"x");
    }
    let mut batch = Batch::new();
    trim_changes(&mut batch, SHARD, 5);
    store.write(batch).unwrap();
    let mut seen = Vec::new();
    changes_after(&store, SHARD, 3, &mut |sequence, entry| {
        assert_eq!(entry, [1]);
        seen.push(sequence);
        ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!(seen, (6..=20).collect::<Vec<_>>());
}

#[test]
fn agrees_with_a_naive_model_over_random_batches_and_reopens() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut dice = fastrand::Rng::with_seed(seed);
    let folder = tempfile::tempdir().unwrap();
    let mut store = RocksStore::open(folder.path(), OPTIONS).unwrap();
    let mut model: BTreeMap<u64, Vec<u8>> = BTreeMap::new();
    for round in 0..300 {
        let mut batch = Batch::new();
        for _ in 0..dice.usize(1..20) {
            let key = dice.u64(..200);
            match dice.u8(..10) {
                0..=6 => {
                    let value: Vec<u8> = (0..dice.usize(..300)).map(|_| dice.u8(..)).collect();
                    batch.put(Table::Records, SHARD.number_key(key), value.clone());
                    model.insert(key, value);
                }
                7 | 8 => {
                    batch.delete(Table::Records, SHARD.number_key(key));
                    model.remove(&key);
                }
                _ => {
                    let to = key + dice.u64(..20);
                    batch.delete_range(Table::Records, SHARD.number_key(key), SHARD.number_key(to));
                    model.retain(|k, _| !(key..to).contains(k));
                }
            }
        }
        let position = store.write(batch).unwrap();
        if round % 60 == 59 {
            store.sync(position).unwrap();
            if dice.bool() {
                store.flush().unwrap();
            }
            drop(store);
            store = RocksStore::open(folder.path(), OPTIONS).unwrap();
        }
        assert_eq!(
            rows(&store, Table::Records, Direction::Forward),
            model.keys().copied().collect::<Vec<_>>(),
            "seed {seed}"
        );
    }
    for (key, value) in &model {
        assert_eq!(store.get(Table::Records, &SHARD.number_key(*key)).unwrap().as_ref(), Some(value), "seed {seed}");
    }
}

#[test]
fn many_writers_share_an_fsync_and_none_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let store = RocksStore::open(folder.path(), OPTIONS).unwrap();
    std::thread::scope(|scope| {
        for writer in 0..16u64 {
            let store = &store;
            scope.spawn(move || {
                for n in 0..20 {
                    let position = put(store, writer * 100 + n, b"x");
                    store.sync(position).unwrap();
                }
            });
        }
    });
    assert_eq!(rows(&store, Table::Records, Direction::Forward).len(), 320);
}

fn filled(folder: &Path) {
    let store = RocksStore::open(folder, OPTIONS).unwrap();
    let value: Vec<u8> = (0..400u32).map(|i| (i * 7) as u8).collect();
    for n in 1..=2000 {
        put(&store, n, &value);
    }
    store.flush().unwrap();
    for n in 2001..=2400 {
        let position = put(&store, n, &value);
        store.sync(position).unwrap();
    }
    store.record_checksums().unwrap();
}

#[test]
fn a_flipped_byte_in_any_file_is_found_and_named() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path());
    assert_eq!(verify(folder.path()).unwrap(), []);
    let mut kinds = std::collections::BTreeSet::new();
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let good = std::fs::read(&path).unwrap();
        if name == "LOCK" || good.is_empty() {
            continue;
        }
        kinds.insert(name.split(['-', '.']).next_back().unwrap().to_string());
        for at in [0, good.len() / 3, good.len() - 1] {
            let mut bad = good.clone();
            bad[at] ^= 0x08;
            std::fs::write(&path, &bad).unwrap();
            let damage = verify(folder.path()).unwrap();
            assert!(damage.iter().any(|d| d.path == path), "{name} byte {at}: {damage:?}");
        }
        std::fs::write(&path, &good).unwrap();
    }
    assert!(kinds.contains("sst") && kinds.contains("log") && kinds.contains("CURRENT"), "{kinds:?}");
    assert_eq!(verify(folder.path()).unwrap(), []);
}

#[test]
fn damage_in_the_middle_of_the_log_is_refused_by_name_and_a_torn_tail_is_not() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path());
    let log = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "log"))
        .max()
        .unwrap();
    let good = std::fs::read(&log).unwrap();

    let copy = copy_of(folder.path());
    let log_copy = copy.path().join(log.file_name().unwrap());
    std::fs::write(&log_copy, &good[..good.len() - 50]).unwrap();
    let torn = RocksStore::open(copy.path(), OPTIONS).unwrap();
    assert_eq!(rows(&torn, Table::Records, Direction::Forward).len(), 2399);
    drop(torn);

    let copy = copy_of(folder.path());
    let log_copy = copy.path().join(log.file_name().unwrap());
    let mut bad = good.clone();
    bad[good.len() / 2] ^= 1;
    std::fs::write(&log_copy, &bad).unwrap();
    match RocksStore::open(copy.path(), OPTIONS) {
        Err(StoreError::Corrupt { path, what }) => {
            assert_eq!(path, log_copy);
            assert!(what.contains("intact batches"), "{what}");
        }
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("opened a damaged log"),
    }
    let aside = copy.path().join("aside");
    let report = repair(copy.path(), &aside, OPTIONS).unwrap();
    assert_eq!(report.quarantined.len(), 1);
    let repaired = RocksStore::open(copy.path(), OPTIONS).unwrap();
    let rows = rows(&repaired, Table::Records, Direction::Forward);
    assert!(rows.len() >= 2000 && rows.len() < 2400, "{}", rows.len());
    assert_eq!(rows, (1..=rows.len() as u64).collect::<Vec<_>>());
}

#[test]
fn a_lost_manifest_is_rebuilt_from_the_tables() {
    for victim in ["MANIFEST", "CURRENT"] {
        let folder = tempfile::tempdir().unwrap();
        filled(folder.path());
        let path = std::fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .find(|path| path.file_name().unwrap().to_string_lossy().starts_with(victim))
            .unwrap();
        let mut bytes = std::fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        match RocksStore::open(folder.path(), OPTIONS) {
            Err(error) => assert!(error.to_string().contains(victim), "{error}"),
            Ok(_) => panic!("opened without {victim}"),
        }
        let report = repair(folder.path(), &folder.path().join("aside"), OPTIONS).unwrap();
        assert_eq!(report.quarantined.len(), 1, "{report:?}");
        let store = RocksStore::open(folder.path(), OPTIONS).unwrap();
        assert_eq!(rows(&store, Table::Records, Direction::Forward).len(), 2400);
    }
}

fn copy_of(folder: &Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, copy.path().join(path.file_name().unwrap())).unwrap();
    }
    copy
}

#[test]
fn who_goes_through_everything_leaves_the_cache_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let store = RocksStore::open(folder.path(), OPTIONS).unwrap();
    let mut dice = fastrand::Rng::with_seed(1);
    for n in 0..3000 {
        let value: Vec<u8> = (0..2000).map(|_| dice.u8(..)).collect();
        put(&store, n, &value);
    }
    store.flush().unwrap();
    for n in 0..100 {
        store.get(Table::Records, &SHARD.number_key(n)).unwrap();
    }
    let before = store.memory().unwrap().cache_bytes;
    let mut seen = 0;
    let mut visit = |_: &[u8], _: &[u8]| {
        seen += 1;
        ControlFlow::Continue(())
    };
    store.scan_once(Table::Records, &SHARD.prefix(), &SHARD.end(), &mut visit).unwrap();
    store.snapshot().scan_once(Table::Records, &SHARD.prefix(), &SHARD.end(), &mut visit).unwrap();
    assert_eq!(seen, 6000);
    let after = store.memory().unwrap().cache_bytes;
    assert!(after < before + (256 << 10), "{after} after {before}: 6 MB were read twice");
    assert_eq!(rows(&store, Table::Records, Direction::Forward).len(), 3000);
    assert!(store.memory().unwrap().cache_bytes > after + (1 << 20), "an ordinary scan fills it");
}
