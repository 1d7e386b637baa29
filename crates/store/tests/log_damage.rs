//! The write-ahead log after a crash, and after damage: what was still on its way is cut off and told, what was acknowledged is
//! never let go in silence.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use nuthatch_store::*;

const OPTIONS: StoreOptions = StoreOptions { cache_bytes: 4 << 20, write_buffer_bytes: 1 << 20 };
const SHARD: Shard = Shard { tenant: 0, collection: 7 };

fn put(store: &RocksStore, table: Table, number: u64) -> Position {
    let mut batch = Batch::new();
    batch.put(table, SHARD.number_key(number), vec![number as u8; 300]);
    store.write(batch).unwrap()
}

fn rows(store: &RocksStore, table: Table) -> BTreeSet<u64> {
    let mut found = BTreeSet::new();
    store
        .scan(table, &SHARD.prefix(), &SHARD.end(), Direction::Forward, &mut |key, value| {
            let number = u64::from_be_bytes(Shard::suffix(key).try_into().unwrap());
            assert_eq!(value, vec![number as u8; 300]);
            found.insert(number);
            ControlFlow::Continue(())
        })
        .unwrap();
    found
}

/// The folder as it is now, as a kill would leave it.
fn killed_copy(folder: &Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, copy.path().join(path.file_name().unwrap())).unwrap();
    }
    copy
}

fn logs(folder: &Path) -> Vec<PathBuf> {
    let mut logs: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "log"))
        .collect();
    logs.sort();
    logs
}

fn zero(path: &Path, from: usize, to: usize) {
    let mut bytes = std::fs::read(path).unwrap();
    bytes[from..to].fill(0);
    std::fs::write(path, bytes).unwrap();
}

fn refusal(folder: &Path) -> Option<(PathBuf, String)> {
    match RocksStore::open(folder, OPTIONS) {
        Ok(_) => None,
        Err(StoreError::Corrupt { path, what }) => Some((path, what)),
        Err(other) => panic!("{other}"),
    }
}

/// Some thousand synced rows through logs that have been written over several times.
fn through_recycled_logs(folder: &Path) -> (RocksStore, u64) {
    let store = RocksStore::open(folder, OPTIONS).unwrap();
    let mut last = 0;
    for round in 0..4 {
        for number in round * 1000..round * 1000 + 800 + round * 100 {
            last = number;
            put(&store, Table::Records, number);
        }
        store.sync_all().unwrap();
        store.flush().unwrap();
    }
    for number in 9000..9200 {
        last = number;
        let position = put(&store, Table::Records, number);
        store.sync(position).unwrap();
    }
    (store, last)
}

#[test]
fn the_old_contents_of_a_recycled_log_are_neither_read_nor_reported() {
    let folder = tempfile::tempdir().unwrap();
    let (store, _) = through_recycled_logs(folder.path());
    let expected = rows(&store, Table::Records);
    assert_eq!(store.upkeep().unwrap().verify().unwrap(), []);
    let copy = killed_copy(folder.path());
    let newest = logs(copy.path()).pop().unwrap();
    assert!(
        std::fs::metadata(&newest).unwrap().len() > 200 * 500,
        "the newest log was to be an older, longer one written over"
    );
    assert_eq!(verify(copy.path()).unwrap(), []);
    let again = RocksStore::open(copy.path(), OPTIONS).unwrap();
    assert_eq!(again.torn_tail(), None);
    assert_eq!(rows(&again, Table::Records), expected);
}

#[test]
fn damage_anywhere_in_a_synced_recycled_log_is_refused_or_only_the_last_batch() {
    let folder = tempfile::tempdir().unwrap();
    let (store, last) = through_recycled_logs(folder.path());
    let expected = rows(&store, Table::Records);
    let seed = fastrand::u64(..);
    let mut dice = fastrand::Rng::with_seed(seed);
    let (mut refused, mut cut) = (0, 0);
    for round in 0..40 {
        let copy = killed_copy(folder.path());
        let newest = logs(copy.path()).pop().unwrap();
        let mut bytes = std::fs::read(&newest).unwrap();
        // 200 batches of some 350 bytes; the last one among them.
        let at = if round < 4 { 50 * round } else { dice.usize(..70_000) };
        bytes[at] ^= 1 << dice.u8(..8);
        std::fs::write(&newest, bytes).unwrap();
        match refusal(copy.path()) {
            Some((path, what)) => {
                assert_eq!(path, newest, "seed {seed}");
                assert!(what.contains("intact batches"), "{what}");
                refused += 1;
            }
            None => {
                let again = RocksStore::open(copy.path(), OPTIONS).unwrap();
                let mut kept = rows(&again, Table::Records);
                if kept != expected {
                    kept.insert(last);
                    assert_eq!(kept, expected, "seed {seed}: byte {at}");
                    cut += 1;
                }
            }
        }
    }
    println!(
        "proof: seed {seed}, a flipped bit of the log: {refused} times refused with its place, {cut} times the last batch was cut off"
    );
    assert!(refused > 30);
}

/// A store with a row that is in its oldest log alone, many more rows after it, and the length of that log after 500 of them.
fn store_of_several_logs() -> (tempfile::TempDir, RocksStore, u64) {
    for _ in 0..20 {
        let folder = tempfile::tempdir().unwrap();
        let store = RocksStore::open(folder.path(), OPTIONS).unwrap();
        put(&store, Table::Ids, 1); // keeps every log needed, as long as it is in memory
        let mut a_records_end = 0;
        for number in 0..3000 {
            if number == 500 {
                a_records_end = std::fs::metadata(&logs(folder.path())[0]).unwrap().len();
            }
            put(&store, Table::Records, number);
            if number % 100 == 99 {
                store.sync_all().unwrap();
            }
        }
        // A slow disk makes the store flush that row, too, and then the oldest log may be anything.
        let copy = killed_copy(folder.path());
        std::fs::remove_file(&logs(copy.path())[0]).unwrap();
        let is_flushed = RocksStore::open(copy.path(), OPTIONS).is_ok_and(|store| !rows(&store, Table::Ids).is_empty());
        if !is_flushed {
            return (folder, store, a_records_end);
        }
    }
    panic!("the row is always flushed");
}

#[test]
fn a_hole_in_an_older_log_is_refused_although_newer_logs_are_intact() {
    let (folder, _store, a_records_end) = store_of_several_logs();
    let all = logs(folder.path());
    assert!(all.len() >= 2, "{all:?}");
    let oldest = std::fs::read(&all[0]).unwrap();

    for (what, from, to) in
        [("the middle", 20_000, 24_096), ("the end", oldest.len() - 5000, oldest.len()), ("the beginning", 0, 1)]
    {
        let copy = killed_copy(folder.path());
        let log = copy.path().join(all[0].file_name().unwrap());
        zero(&log, from, to);
        assert!(refusal(copy.path()).is_some_and(|(path, _)| path == log), "{what}");
    }
    // Cut at a record's end, nothing in the file itself is wrong.
    let copy = killed_copy(folder.path());
    let log = copy.path().join(all[0].file_name().unwrap());
    std::fs::OpenOptions::new().write(true).open(log).unwrap().set_len(a_records_end).unwrap();
    assert!(refusal(copy.path()).is_some());
}

#[test]
fn what_was_never_synced_is_cut_and_told_together_with_what_came_after_it() {
    let folder = tempfile::tempdir().unwrap();
    let store = RocksStore::open(folder.path(), OPTIONS).unwrap();
    for number in 0..200 {
        put(&store, Table::Records, number);
    }
    store.sync_all().unwrap();
    for number in 200..600 {
        put(&store, Table::Records, number);
    }
    let copy = killed_copy(folder.path());
    let log = logs(copy.path()).pop().unwrap();
    // A power cut: of the unsynced pages, a later one reached the disk and an earlier one did not.
    zero(&log, 100_000, 104_096);
    let again = RocksStore::open(copy.path(), OPTIONS).unwrap();
    let tail = again.torn_tail().expect("told").clone();
    assert_eq!(tail.path, log);
    assert!(tail.batches_after > 100 && tail.offset > 90_000, "{tail:?}");
    let kept = rows(&again, Table::Records);
    assert!(kept.len() >= 200 && kept.len() < 400, "{}", kept.len());
    assert_eq!(kept, (0..kept.len() as u64).collect());
    drop(again);
    let again = RocksStore::open(copy.path(), OPTIONS).unwrap();
    assert_eq!(again.torn_tail(), None, "told once");
    assert_eq!(rows(&again, Table::Records), kept);
}

#[test]
fn repair_says_how_many_intact_batches_go_with_the_damage() {
    let folder = tempfile::tempdir().unwrap();
    let store = RocksStore::open(folder.path(), OPTIONS).unwrap();
    for number in 0..400 {
        let position = put(&store, Table::Records, number);
        store.sync(position).unwrap();
    }
    let copy = killed_copy(folder.path());
    let log = logs(copy.path()).pop().unwrap();
    zero(&log, 50_000, 50_100);
    let (_, what) = refusal(copy.path()).expect("refused");
    let report = repair(copy.path(), &copy.path().join("aside"), OPTIONS).unwrap();
    let cut = report.cut.expect("the log was cut");
    assert!(what.contains(&format!("{} intact batches", cut.batches_after)), "{what} {cut:?}");
    assert_eq!(report.quarantined.len(), 1);
    let kept = rows(&RocksStore::open(copy.path(), OPTIONS).unwrap(), Table::Records).len() as u64;
    // The damaged stretch of 100 bytes lies in one batch or two.
    assert!((1..=2).contains(&(400 - kept - cut.batches_after)), "{kept} kept, {cut:?}");
}

#[test]
fn scrubbing_leaves_nothing_of_what_was_deleted_in_any_log() {
    let folder = tempfile::tempdir().unwrap();
    let store = RocksStore::open(folder.path(), OPTIONS).unwrap();
    let secret = b"the erased sentence".to_vec();
    let is_there = || {
        logs(folder.path())
            .iter()
            .any(|log| std::fs::read(log).unwrap().windows(secret.len()).any(|window| window == secret))
    };
    for number in 0..2000 {
        let mut batch = Batch::new();
        batch.put(Table::Files, SHARD.number_key(number), secret.clone());
        store.write(batch).unwrap();
    }
    store.flush().unwrap();
    put(&store, Table::Records, 1);
    assert!(is_there(), "recycled logs were to keep it");
    store.scrub_logs().unwrap();
    assert!(!is_there());
    for number in 0..50 {
        let position = put(&store, Table::Records, number);
        store.sync(position).unwrap();
    }
    let copy = killed_copy(folder.path());
    assert_eq!(rows(&RocksStore::open(copy.path(), OPTIONS).unwrap(), Table::Records).len(), 50);
}

#[test]
fn scrubbing_goes_on_while_logs_are_deleted_under_it() {
    let folder = tempfile::tempdir().unwrap();
    let store = RocksStore::open(folder.path(), OPTIONS).unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for (thread, table) in [Table::Records, Table::Ids, Table::Kv].into_iter().enumerate() {
            let (store, is_over) = (&store, &is_over);
            scope.spawn(move || {
                for number in (thread as u64..).step_by(3) {
                    put(store, table, number);
                    if number % 50 == thread as u64 {
                        store.flush().unwrap();
                    }
                    if is_over.load(Ordering::Relaxed) {
                        return;
                    }
                }
            });
        }
        let scrubbed = (0..200).try_for_each(|_| store.scrub_logs().and_then(|()| store.empty_spare_logs()));
        is_over.store(true, Ordering::Relaxed);
        scrubbed.unwrap();
    });
}
