//! Deleted data leaves the files: completely on request, and when idle as far as it is worth the work.

use std::path::Path;

use nuthatch_store::*;

const OPTIONS: StoreOptions = StoreOptions { cache_bytes: 4 << 20, write_buffer_bytes: 1 << 20 };
const SHARDS: [Shard; 2] = [Shard { tenant: 0, collection: 7 }, Shard { tenant: 0, collection: 8 }];

/// Of table files: obsolete logs are kept to be written over. A file that goes meanwhile has no bytes.
fn bytes(folder: &Path) -> u64 {
    let files = std::fs::read_dir(folder).unwrap().flatten();
    let tables = files.filter(|file| file.path().extension().is_some_and(|ending| ending == "sst"));
    tables.filter_map(|file| file.metadata().ok()).map(|file| file.len()).sum()
}

/// RocksDB unlinks what a compaction replaced on a thread of its own, shortly after the compaction has ended.
fn bytes_fall_below(folder: &Path, limit: u64) -> u64 {
    let started = std::time::Instant::now();
    loop {
        match bytes(folder) {
            now if now < limit || started.elapsed() > std::time::Duration::from_secs(60) => return now,
            _ => std::thread::sleep(std::time::Duration::from_millis(20)),
        }
    }
}

/// A compaction of RocksDB's own may leave something that is worth a second look, but not for ever.
fn tidy_to_the_end(store: &RocksStore) {
    assert!((0..5).any(|_| !store.tidy(false).unwrap()), "there is always something left to do");
}

fn holds(folder: &Path, needle: &[u8]) -> bool {
    let files = std::fs::read_dir(folder).unwrap().flatten();
    files.map(|file| std::fs::read(file.path()).unwrap()).any(|all| all.windows(needle.len()).any(|at| at == needle))
}

fn noise(dice: &mut fastrand::Rng, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|_| dice.u8(..)).collect()
}

fn fill(store: &RocksStore, dice: &mut fastrand::Rng, table: Table, rows: u64) {
    for row in 0..rows {
        let mut batch = Batch::new();
        for shard in SHARDS {
            batch.put(table, shard.number_key(row), noise(dice, 500));
        }
        store.write(batch).unwrap();
    }
}

#[test]
fn a_reclaim_of_one_shard_leaves_the_tables_of_others_alone() {
    let folder = tempfile::tempdir().unwrap();
    let store = RocksStore::open(folder.path(), OPTIONS).unwrap();
    let mut dice = fastrand::Rng::with_seed(1);
    for (table, shard) in [(Table::Records, SHARDS[0]), (Table::Vectors, SHARDS[1])] {
        let mut batch = Batch::new();
        (0..200).for_each(|row| batch.put(table, shard.number_key(row), noise(&mut dice, 500)));
        store.write(batch).unwrap();
        store.flush().unwrap();
    }
    let names = || -> Vec<String> {
        let files = std::fs::read_dir(folder.path()).unwrap().flatten();
        let names = files.map(|file| file.file_name().to_string_lossy().into_owned());
        names.filter(|name| name.ends_with(".sst")).collect()
    };
    let before = names();
    store.reclaim(Extent::Shard(SHARDS[0])).unwrap();
    let after = names();
    assert_eq!(before.iter().filter(|name| after.contains(name)).count(), 1, "{before:?} {after:?}");
    assert_eq!(store.upkeep().unwrap().verify().unwrap(), vec![]);
}

/// Files are as wide as the shards that were written at the same time.
#[test]
fn a_file_with_nothing_of_the_shard_between_its_keys_is_no_obstacle() {
    let folder = tempfile::tempdir().unwrap();
    let store = RocksStore::open(folder.path(), OPTIONS).unwrap();
    let mut dice = fastrand::Rng::with_seed(6);
    let [below, between, above] = [6, 7, 8].map(|collection| Shard { tenant: 0, collection });
    let write = |shards: &[Shard], dice: &mut fastrand::Rng| {
        let mut batch = Batch::new();
        shards.iter().for_each(|shard| batch.put(Table::Records, shard.number_key(1), noise(dice, 500)));
        store.write(batch).unwrap();
        store.flush().unwrap();
    };
    for shards in [&[below, above][..], &[below, between, above], &[below, above]] {
        write(shards, &mut dice);
        store.reclaim(Extent::Shard(between)).unwrap();
    }
    assert!(store.get(Table::Records, &between.number_key(1)).unwrap().is_some());
}

#[test]
fn an_old_snapshot_keeps_a_reclaim_from_pretending() {
    let folder = tempfile::tempdir().unwrap();
    let store = std::sync::Arc::new(RocksStore::open(folder.path(), OPTIONS).unwrap());
    let mut dice = fastrand::Rng::with_seed(2);
    let needle = noise(&mut dice, 40);
    let mut batch = Batch::new();
    batch.put(Table::Kv, SHARDS[0].key(b"k"), needle.clone());
    store.write(batch).unwrap();
    let snapshot = store.clone().owned_snapshot();
    let mut batch = Batch::new();
    batch.delete(Table::Kv, SHARDS[0].key(b"k"));
    store.write(batch).unwrap();
    let waiting = {
        let store = store.clone();
        std::thread::spawn(move || store.reclaim(Extent::Everything))
    };
    // It cannot have ended: what the snapshot sees is still there.
    assert_eq!(snapshot.get(Table::Kv, &SHARDS[0].key(b"k")).unwrap(), Some(needle.clone()));
    assert!(!waiting.is_finished());
    drop(snapshot);
    waiting.join().unwrap().unwrap();
    assert!(!holds(folder.path(), &needle));
}

#[test]
fn a_manifest_is_renewed_however_often_it_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let store = RocksStore::open(folder.path(), OPTIONS).unwrap();
    fill(&store, &mut fastrand::Rng::with_seed(3), Table::Records, 500);
    let manifest = || std::fs::read_to_string(folder.path().join("CURRENT")).unwrap();
    let mut seen = vec![manifest()];
    for _ in 0..6 {
        store.reclaim(Extent::Everything).unwrap();
        let now = manifest();
        assert!(!seen.contains(&now));
        seen.push(now);
    }
    // The padding does not pile up from one time to the next.
    let bytes = std::fs::metadata(folder.path().join(seen.pop().unwrap().trim_end())).unwrap().len();
    assert!(bytes < 64 << 10, "{bytes}");
}

#[test]
fn spare_logs_can_be_emptied_and_are_written_again() {
    let folder = tempfile::tempdir().unwrap();
    let store = RocksStore::open(folder.path(), OPTIONS).unwrap();
    let mut dice = fastrand::Rng::with_seed(5);
    let logs = || -> u64 {
        let files = std::fs::read_dir(folder.path()).unwrap().flatten();
        let logs = files.filter(|file| file.path().extension().is_some_and(|ending| ending == "log"));
        logs.map(|file| file.metadata().unwrap().len()).sum()
    };
    fill(&store, &mut dice, Table::Records, 3000);
    store.flush().unwrap();
    let before = logs();
    store.empty_spare_logs().unwrap();
    assert!(logs() < before / 2, "{} of {before}", logs());
    fill(&store, &mut dice, Table::Kv, 3000);
    store.sync_all().unwrap();
    drop(store);
    let store = RocksStore::open(folder.path(), OPTIONS).unwrap();
    assert_eq!(store.upkeep().unwrap().verify().unwrap(), vec![]);
    for shard in SHARDS {
        for row in 0..3000 {
            assert!(store.get(Table::Kv, &shard.number_key(row)).unwrap().is_some());
        }
    }
}

#[test]
fn an_idle_store_gives_back_what_was_overwritten_or_deleted() {
    for table in [Table::Kv, Table::Records] {
        let folder = tempfile::tempdir().unwrap();
        let store = RocksStore::open(folder.path(), OPTIONS).unwrap();
        let mut dice = fastrand::Rng::with_seed(4);
        for _ in 0..4 {
            fill(&store, &mut dice, table, 2000);
        }
        tidy_to_the_end(&store);
        let live = 2000 * 2 * 500;
        let now = bytes_fall_below(folder.path(), live * 2);
        assert!(now > live / 2 && now < live * 2, "{now} of {live}");
        // A whole shard goes by one entry.
        let mut batch = Batch::new();
        batch.delete_range(table, SHARDS[0].prefix().to_vec(), SHARDS[0].end());
        store.write(batch).unwrap();
        assert!(store.tidy(true).unwrap());
        tidy_to_the_end(&store);
        let after = bytes_fall_below(folder.path(), live * 3 / 4);
        assert!(after < live * 3 / 4, "{after} of {now}");
    }
}
