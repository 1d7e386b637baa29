//! Every implementation of the store answers as a naive model does, which keeps a copy of everything for each snapshot.
//!
//! A failure prints its seed; `NUTHATCH_SEED=… cargo test --test model` runs that one again.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use nuthatch_store::*;

const STEPS: usize = 1500;
const SEEDS: u64 = 4;
const OPTIONS: StoreOptions = StoreOptions { cache_bytes: 4 << 20, write_buffer_bytes: 1 << 20 };

type Rows = BTreeMap<Vec<u8>, Vec<u8>>;
type Tables = BTreeMap<Table, Rows>;
type Named = (&'static str, Arc<dyn Store>);

/// The implementations, each empty. The folder goes last.
fn stores() -> (Vec<Named>, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let rocks = Arc::new(RocksStore::open(folder.path(), OPTIONS).unwrap());
    (vec![("rocks", rocks), ("memory", Arc::new(MemoryStore::new()))], folder)
}

fn with_seeds(test: impl Fn(&mut fastrand::Rng)) {
    let given = std::env::var("NUTHATCH_SEED").ok().map(|seed| seed.parse().expect("a number"));
    for seed in given.map_or(0..SEEDS, |seed: u64| seed..seed + 1) {
        eprintln!("seed {seed}");
        test(&mut fastrand::Rng::with_seed(seed));
    }
}

/// Few keys, some of them beginnings of others, so that they meet often.
fn random_key(dice: &mut fastrand::Rng) -> Vec<u8> {
    (0..dice.usize(1..4)).map(|_| [0, 1, 7, 254, 255][dice.usize(..5)]).collect()
}

fn random_table(dice: &mut fastrand::Rng) -> Table {
    [Table::Ids, Table::Records, Table::Kv][dice.usize(..3)]
}

/// Any two keys in order; sometimes to the end of the table.
fn random_range(dice: &mut fastrand::Rng) -> (Vec<u8>, Vec<u8>) {
    let (one, other) = (random_key(dice), random_key(dice));
    match dice.u8(..8) {
        0 => (one, Vec::new()),
        1 => (Vec::new(), other),
        _ => (one.clone().min(other.clone()), one.max(other)),
    }
}

fn random_batch(dice: &mut fastrand::Rng, model: &mut Tables) -> Batch {
    let mut batch = Batch::new();
    // Small ones, and some that are larger than what the store in memory applies in place.
    let ops = if dice.u8(..10) == 0 { dice.usize(60..120) } else { dice.usize(0..6) };
    for _ in 0..ops {
        let table = random_table(dice);
        let rows = model.entry(table).or_default();
        match dice.u8(..10) {
            0 => {
                let (from, to) = random_range(dice);
                if !to.is_empty() {
                    rows.retain(|key, _| *key < from || *key >= to);
                    batch.delete_range(table, from, to);
                }
            }
            1..=3 => {
                let key = random_key(dice);
                rows.remove(&key);
                batch.delete(table, key);
            }
            _ => {
                let (key, value) = (random_key(dice), vec![dice.u8(..); dice.usize(..40)]);
                rows.insert(key.clone(), value.clone());
                batch.put(table, key, value);
            }
        }
    }
    batch
}

/// The first rows of a range, as `reader` gives them.
fn scanned(
    reader: &dyn Reader,
    table: Table,
    range: &(Vec<u8>, Vec<u8>),
    direction: Direction,
    most: usize,
) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut rows = Vec::new();
    if most == 0 {
        return rows;
    }
    let mut visit = |key: &[u8], value: &[u8]| {
        rows.push((key.to_vec(), value.to_vec()));
        if rows.len() == most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    reader.scan(table, &range.0, &range.1, direction, &mut visit).unwrap();
    rows
}

fn expected(
    model: &Tables,
    table: Table,
    range: &(Vec<u8>, Vec<u8>),
    direction: Direction,
    most: usize,
) -> Vec<(Vec<u8>, Vec<u8>)> {
    let inside = |key: &Vec<u8>| *key >= range.0 && (range.1.is_empty() || *key < range.1);
    let mut rows: Vec<_> = model.get(&table).into_iter().flatten().filter(|(key, _)| inside(key)).collect();
    if direction == Direction::Reverse {
        rows.reverse();
    }
    rows.into_iter().take(most).map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// Random reads of one view, which must be those of the model.
fn compare(name: &str, reader: &dyn Reader, model: &Tables, dice: &mut fastrand::Rng) {
    let table = random_table(dice);
    let keys: Vec<Vec<u8>> = (0..dice.usize(1..5)).map(|_| random_key(dice)).collect();
    let wanted: Vec<_> = keys.iter().map(|key| model.get(&table).and_then(|rows| rows.get(key)).cloned()).collect();
    assert_eq!(reader.get(table, &keys[0]).unwrap(), wanted[0], "{name}");
    assert_eq!(reader.multi_get(table, &keys).unwrap(), wanted, "{name}");
    let range = random_range(dice);
    for direction in [Direction::Forward, Direction::Reverse] {
        for most in [3, usize::MAX] {
            let found = scanned(reader, table, &range, direction, most);
            assert_eq!(found, expected(model, table, &range, direction, most), "{name} {range:?} {direction:?}");
        }
    }
    let mut once = Vec::new();
    reader
        .scan_once(table, &range.0, &range.1, &mut |key, value| {
            once.push((key.to_vec(), value.to_vec()));
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(once, expected(model, table, &range, Direction::Forward, usize::MAX), "{name} {range:?}");
}

#[test]
fn every_store_answers_as_the_model_does_live_and_as_of_each_snapshot() {
    with_seeds(|dice| {
        let (stores, _folder) = stores();
        let mut model = Tables::new();
        let mut kept: Vec<(Tables, Vec<OwnedSnapshot>)> = Vec::new();
        for step in 0..STEPS {
            let before: Vec<u64> = stores.iter().map(|(_, store)| store.latest()).collect();
            let batch = random_batch(dice, &mut model);
            let is_empty = batch.is_empty();
            for ((name, store), before) in stores.iter().zip(before) {
                let position = store.write(batch.clone()).unwrap();
                assert_eq!(store.latest() == before, is_empty, "{name}");
                if dice.u8(..20) == 0 {
                    store.sync(position).unwrap();
                }
            }
            if dice.u8(..50) == 0 {
                kept.push((model.clone(), stores.iter().map(|(_, store)| store.clone().owned_snapshot()).collect()));
            }
            if dice.u8(..50) == 0 && !kept.is_empty() {
                kept.swap_remove(dice.usize(..kept.len()));
            }
            let mut same = dice.clone();
            for (at, (name, store)) in stores.iter().enumerate() {
                *dice = same.clone(); // everybody is asked the same
                compare(name, &**store, &model, dice);
                compare(name, &*store.snapshot(), &model, dice);
                for (then, snapshots) in &kept {
                    compare(name, &snapshots[at], then, dice);
                }
            }
            same = dice.clone();
            if step % 300 == 299 {
                for (name, store) in &stores {
                    let upkeep = store.upkeep().expect("both have it");
                    upkeep.flush().unwrap();
                    upkeep.tidy(true).unwrap();
                    compare(name, &**store, &model, dice);
                }
            }
            *dice = same;
        }
    });
}

#[test]
fn a_batch_is_applied_in_the_order_of_its_changes() {
    let (stores, _folder) = stores();
    for (name, store) in &stores {
        for more in [0, 200] {
            let mut batch = Batch::new();
            batch.put(Table::Kv, b"a".to_vec(), b"1".to_vec());
            batch.put(Table::Kv, b"b".to_vec(), b"1".to_vec());
            batch.delete_range(Table::Kv, b"a".to_vec(), b"b".to_vec());
            batch.delete(Table::Kv, b"b".to_vec());
            batch.put(Table::Kv, b"b".to_vec(), b"2".to_vec());
            (0..more).for_each(|n: u8| batch.put(Table::Kv, vec![b'c', n], vec![n]));
            store.write(batch).unwrap();
            assert_eq!(store.get(Table::Kv, b"a").unwrap(), None, "{name}");
            assert_eq!(store.get(Table::Kv, b"b").unwrap(), Some(b"2".to_vec()), "{name}");
        }
    }
}

#[test]
fn readers_see_each_batch_whole_or_not_at_all() {
    let (stores, _folder) = stores();
    for (name, store) in &stores {
        std::thread::scope(|scope| {
            let writing = scope.spawn(|| {
                for round in 0..300u32 {
                    let mut batch = Batch::new();
                    // In turns what is applied in place and what is not.
                    for key in 0..if round % 2 == 0 { 40 } else { 100u8 } {
                        batch.put(Table::Kv, vec![key], round.to_be_bytes().to_vec());
                    }
                    store.write(batch).unwrap();
                }
            });
            while !writing.is_finished() {
                let keys: Vec<Vec<u8>> = (0..40u8).map(|key| vec![key]).collect();
                let view = store.snapshot();
                let (found, mut walked) = (view.multi_get(Table::Kv, &keys).unwrap(), Vec::new());
                assert!(found.windows(2).all(|two| two[0] == two[1]), "{name}: {found:?}");
                view.scan(Table::Kv, &[0], &[40], Direction::Forward, &mut |_, value| {
                    walked.push(Some(value.to_vec()));
                    ControlFlow::Continue(())
                })
                .unwrap();
                assert!(walked.is_empty() || walked == found, "{name}");
            }
        });
    }
}

#[test]
fn a_scan_may_write_to_the_store_that_it_reads() {
    let (stores, _folder) = stores();
    for (name, store) in &stores {
        let put = |key: u8| {
            let mut batch = Batch::new();
            batch.put(Table::Kv, vec![key], vec![key]);
            store.write(batch).unwrap();
        };
        (0..10).for_each(put);
        let mut seen = Vec::new();
        store
            .scan(Table::Kv, &[], &[], Direction::Forward, &mut |key, _| {
                seen.push(key[0]);
                put(key[0] + 100);
                ControlFlow::Continue(())
            })
            .unwrap();
        assert_eq!(seen, (0..10).collect::<Vec<u8>>(), "{name}: a scan is one view");
        assert_eq!(store.get(Table::Kv, &[105]).unwrap(), Some(vec![105]), "{name}");
    }
}

#[test]
fn reclaiming_waits_for_snapshots_that_show_what_goes_and_for_no_others() {
    let (stores, _folder) = stores();
    for (name, store) in &stores {
        let mut batch = Batch::new();
        batch.put(Table::Kv, b"a".to_vec(), b"1".to_vec());
        store.write(batch).unwrap();
        let old = store.clone().owned_snapshot();
        let mut batch = Batch::new();
        batch.delete(Table::Kv, b"a".to_vec());
        store.write(batch).unwrap();
        let sequence = store.latest();
        let _young = store.clone().owned_snapshot();
        std::thread::scope(|scope| {
            let reclaiming =
                scope.spawn(|| store.upkeep().unwrap().reclaim_before(Extent::Everything, sequence).unwrap());
            std::thread::sleep(std::time::Duration::from_millis(200));
            assert!(!reclaiming.is_finished(), "{name}");
            assert_eq!(old.get(Table::Kv, b"a").unwrap(), Some(b"1".to_vec()));
            drop(old);
            reclaiming.join().unwrap();
        });
    }
}

#[test]
fn the_store_in_memory_counts_what_it_holds_and_frees_what_is_deleted() {
    let store = MemoryStore::new();
    let bytes = || store.upkeep().unwrap().memory().unwrap().cache_bytes;
    let empty = bytes();
    let mut batch = Batch::new();
    for key in 0..100u8 {
        batch.put(Table::Records, vec![key], vec![key; 1000]);
    }
    store.write(batch).unwrap();
    assert!((100_000..130_000).contains(&bytes()), "{}", bytes());
    let mut batch = Batch::new();
    batch.put(Table::Records, vec![1], vec![1; 50_000]);
    store.write(batch).unwrap();
    assert!((149_000..180_000).contains(&bytes()), "{}", bytes());
    let mut batch = Batch::new();
    batch.delete(Table::Records, vec![1]);
    batch.delete(Table::Records, vec![200]);
    batch.delete_range(Table::Records, vec![0], vec![100]);
    store.write(batch).unwrap();
    assert_eq!(bytes(), empty);
}
