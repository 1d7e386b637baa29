//! The guarantees of keyspaces.

mod support;

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use nuthatch_link::{Clock, Database, Durability, ErrorKind, KeyScan, Keyspace, KvOp, Options};

/// A database whose background work is done when the test says so, and whose clock the test moves.
fn open(folder: &std::path::Path, clock: &Arc<AtomicU64>) -> Database {
    let clock = clock.clone();
    let clock = Clock::from_fn(move || clock.load(Ordering::SeqCst));
    Database::open(folder, Options { clock, background: false, ..Options::default() }).unwrap()
}

fn put(key: &[u8], value: &[u8]) -> KvOp {
    KvOp::Put { key: key.to_vec(), value: value.to_vec(), expires_in: None }
}

fn keys(space: &Keyspace, scan: &KeyScan) -> Vec<String> {
    let page = space.scan(scan).unwrap();
    page.entries.into_iter().map(|(key, _)| String::from_utf8(key).unwrap()).collect()
}

#[test]
fn random_operations_agree_with_a_map_also_after_reopening() {
    let folder = tempfile::tempdir().unwrap();
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut dice = fastrand::Rng::with_seed(seed);
    let clock = Arc::new(AtomicU64::new(1_000));
    let mut db = open(folder.path(), &clock);
    // Key -> value and when it expires.
    let mut model: BTreeMap<Vec<u8>, (Vec<u8>, Option<u64>)> = BTreeMap::new();
    for step in 0..3_000 {
        let space = db.kv("model").unwrap().with_durability(Durability::Os);
        let key = format!("k{:02}", dice.u32(0..60)).into_bytes();
        let now = clock.fetch_add(dice.u64(0..5), Ordering::SeqCst);
        let now = now.max(clock.load(Ordering::SeqCst));
        model.retain(|_, (_, at)| at.is_none_or(|at| at > now));
        let length = if dice.u32(0..40) == 0 { 70_000 } else { dice.usize(0..50) };
        let value: Vec<u8> = std::iter::repeat_with(|| dice.u8(..)).take(length).collect();
        match dice.u32(0..12) {
            0..=3 => {
                space.put(&key, &value).unwrap();
                model.insert(key, (value, None));
            }
            4 | 5 => {
                let left = dice.u64(1..200);
                space.put_expiring(&key, &value, Duration::from_millis(left)).unwrap();
                model.insert(key, (value, Some(now + left)));
            }
            6 => assert_eq!(space.delete(&[&key]).unwrap(), u64::from(model.remove(&key).is_some())),
            7 => {
                let expected = model.get(&key).map(|(value, _)| value.clone());
                assert!(space.compare_and_set(&key, expected.as_deref(), Some(&value), None).unwrap());
                assert!(!space.compare_and_set(&key, None, Some(b"never"), None).unwrap());
                model.insert(key, (value, None));
            }
            8 => {
                let entry = model.entry(key.clone()).or_default();
                entry.0.extend_from_slice(b"more");
                assert_eq!(space.append(&key, b"more").unwrap(), entry.0.len() as u64);
            }
            9 => {
                let left = dice.bool().then(|| dice.u64(1..200));
                let there = space.expire(&key, left.map(Duration::from_millis)).unwrap();
                assert_eq!(there, model.contains_key(&key));
                if let Some(entry) = model.get_mut(&key) {
                    entry.1 = left.map(|left| now + left);
                }
            }
            10 => {
                let several: Vec<KvOp> = (0..5).map(|n| put(format!("k{n:02}").as_bytes(), &[n; 3])).collect();
                space.multi_put(several).unwrap();
                model.extend((0..5).map(|n| (format!("k{n:02}").into_bytes(), (vec![n; 3], None))));
            }
            _ => {
                let prefix = format!("k{}", dice.u32(0..6));
                let before = model.len();
                model.retain(|key, _| !key.starts_with(prefix.as_bytes()));
                // Expired keys that are still stored are deleted and counted, too.
                assert!(space.delete_prefix(&prefix).unwrap() >= (before - model.len()) as u64);
            }
        }
        if step % 500 == 499 {
            db.close().unwrap();
            db = open(folder.path(), &clock);
        }
        if step % 50 == 0 {
            let space = db.kv("model").unwrap();
            let now = clock.load(Ordering::SeqCst);
            let live = model.iter().filter(|(_, (_, at))| at.is_none_or(|at| at > now));
            let mut live: Vec<_> = live.map(|(key, (value, _))| (key.clone(), value.clone())).collect();
            let all = KeyScan { limit: 10_000, ..KeyScan::default() };
            assert_eq!(space.scan(&all).unwrap().entries, live, "seed {seed}, step {step}");
            live.reverse();
            assert_eq!(
                space.scan(&KeyScan { reverse: true, ..all }).unwrap().entries,
                live,
                "seed {seed}, step {step}"
            );
        }
    }
}

#[test]
fn scans_keep_to_their_range_and_a_cursor_outlives_the_process() {
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(AtomicU64::new(0));
    let db = open(folder.path(), &clock);
    let space = db.kv("range").unwrap();
    space.multi_put((0..25).map(|n| put(format!("a{n:02}").as_bytes(), b"x")).collect()).unwrap();
    space.multi_put(vec![put(b"b", b"y"), put(&[255, 255], b"z")]).unwrap();
    db.kv("other").unwrap().put("a99", "not this one").unwrap();

    let first = space.scan(&KeyScan { limit: 10, ..KeyScan::prefix("a") }).unwrap();
    assert_eq!(first.entries.len(), 10);
    space.delete(&["a09", "a10"]).unwrap(); // the cursor's own key, and the next
    db.close().unwrap();
    let db = open(folder.path(), &clock);
    let space = db.kv("range").unwrap();
    let rest = KeyScan { cursor: first.cursor, ..KeyScan::prefix("a") };
    assert_eq!(keys(&space, &rest).first().unwrap(), "a11");
    assert_eq!(keys(&space, &rest).len(), 14);

    let range = KeyScan {
        from: Bound::Excluded(b"a20".to_vec()),
        to: Bound::Included(b"b".to_vec()),
        reverse: true,
        ..KeyScan::default()
    };
    assert_eq!(keys(&space, &range), ["b", "a24", "a23", "a22", "a21"]);
    let page = space.scan(&KeyScan { limit: 2, ..range.clone() }).unwrap();
    assert_eq!(keys(&space, &KeyScan { cursor: page.cursor, ..range }), ["a23", "a22", "a21"]);
    assert_eq!(space.scan(&KeyScan::prefix([255])).unwrap().entries.len(), 1);
    assert_eq!(space.count_estimate("a").unwrap(), 23);
    assert!(space.scan(&KeyScan { cursor: Some("?".into()), ..KeyScan::default() }).is_err());
}

#[test]
fn expired_keys_are_gone_at_once_and_their_bytes_in_the_background() {
    let folder = tempfile::tempdir().unwrap();
    let now = Arc::new(AtomicU64::new(1_000));
    let clock = {
        let now = now.clone();
        Clock::from_fn(move || now.load(Ordering::SeqCst))
    };
    let db = Database::open(folder.path(), Options { clock, ..Options::default() }).unwrap();
    let space = db.kv("sessions").unwrap();
    space.put_expiring("s1", "one", Duration::from_millis(500)).unwrap();
    space.put_expiring("s2", vec![7; 100_000], Duration::from_millis(500)).unwrap();
    space.put_expiring("kept", "x", Duration::from_millis(500)).unwrap();
    space.put("kept", "for ever").unwrap();
    assert_eq!(space.expires_in("s1").unwrap(), Some(Some(Duration::from_millis(500))));
    assert_eq!(space.expires_in("kept").unwrap(), Some(None));
    now.store(1_499, Ordering::SeqCst);
    assert_eq!(space.get("s1").unwrap().unwrap(), b"one");
    now.store(1_500, Ordering::SeqCst);
    assert_eq!(space.get("s1").unwrap(), None);
    assert_eq!(space.expires_in("s1").unwrap(), None);
    assert_eq!(keys(&space, &KeyScan::default()), ["kept"]);
    // Setting the clock back brings nothing back.
    now.store(1_000, Ordering::SeqCst);
    assert_eq!(space.get("s2").unwrap(), None);
    // The estimate counts what is still there: it falls when the background has been round.
    let mut rounds = 0;
    while space.count_estimate("").unwrap() > 1 {
        std::thread::sleep(Duration::from_millis(50));
        rounds += 1;
        assert!(rounds < 1_200, "the expired keys are never removed");
    }
    assert_eq!(space.get("kept").unwrap().unwrap(), b"for ever");
}

#[test]
fn increments_from_many_threads_add_up() {
    let db = Database::in_memory(Options::default()).unwrap();
    let space = db.kv("counters").unwrap().with_durability(Durability::Os);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let space = space.clone();
            scope.spawn(move || {
                for n in 0..500 {
                    space.increment("hits", 1).unwrap();
                    space.append(format!("list{}", n % 3), &[thread]).unwrap();
                }
            });
        }
    });
    assert_eq!(space.get("hits").unwrap().unwrap(), b"4000");
    let lengths: usize = (0..3).map(|n| space.get(format!("list{n}")).unwrap().unwrap().len()).sum();
    assert_eq!(lengths, 4_000);
}

#[test]
fn a_value_of_64_mib_comes_back_and_a_larger_one_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(AtomicU64::new(0));
    let db = open(folder.path(), &clock);
    let space = db.kv("large").unwrap();
    let large: Vec<u8> = (0..64usize << 20).map(|at| ((at * 31) >> 7) as u8).collect();
    space.put("large", &large).unwrap();
    assert!(space.get("large").unwrap().unwrap() == large);
    let error = space.put("larger", vec![0; (64 << 20) + 1]).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Exhausted);
    db.close().unwrap();
    let db = open(folder.path(), &clock);
    let space = db.kv("large").unwrap();
    assert!(space.get("large").unwrap().unwrap() == large);
    space.put("large", "small now").unwrap();
    assert_eq!(space.get("large").unwrap().unwrap(), b"small now");
}

#[test]
fn bad_calls_change_nothing_and_say_what_to_do() {
    let db = Database::in_memory(Options::default()).unwrap();
    let space = db.kv("careful").unwrap();
    space.put("text", "not a number").unwrap();
    for (error, word) in [
        (space.put("", "x").unwrap_err(), "key is empty"),
        (space.put(vec![b'k'; 65_536], "x").unwrap_err(), "65536 bytes"),
        (space.increment("text", 1).unwrap_err(), "not a 64-bit integer"),
        (space.put_expiring("k", "v", Duration::ZERO).unwrap_err(), "time to live"),
        (space.scan(&KeyScan { limit: 0, ..KeyScan::default() }).unwrap_err(), "1 to 10,000"),
        (db.kv("no/such").map(drop).unwrap_err(), "not a valid name for a keyspace"),
        (space.multi_put(vec![put(b"fine", b"x"), put(b"", b"x")]).unwrap_err(), "key is empty"),
    ] {
        assert_eq!(error.kind, ErrorKind::Invalid);
        assert!(error.message.contains(word), "{error}");
    }
    let missing = db.existing_keyspace("carefull").map(drop).unwrap_err();
    assert!(missing.kind == ErrorKind::NotFound && missing.message.contains("careful"), "{missing}");
    assert_eq!(keys(&space, &KeyScan::default()), ["text"]);
    space.put("most", i64::MAX.to_string()).unwrap();
    assert_eq!(space.increment("most", 1).unwrap_err().kind, ErrorKind::Invalid);
}

#[test]
fn a_dropped_keyspace_is_empty_when_it_is_made_again() {
    let db = Database::in_memory(Options::default()).unwrap();
    let old = db.kv("again").unwrap();
    old.put_expiring("k", "v", Duration::from_secs(9)).unwrap();
    assert_eq!(db.keyspace_names().unwrap(), ["again"]);
    assert!(db.drop_keyspace("again").unwrap());
    assert!(!db.drop_keyspace("again").unwrap());
    assert_eq!(old.put("k", "v").unwrap_err().kind, ErrorKind::NotFound);
    assert_eq!(db.kv("again").unwrap().get("k").unwrap(), None);
}

/// The `.sst` file below a folder that holds these bytes, and where.
fn table_with(folder: &std::path::Path, bytes: &[u8]) -> (std::path::PathBuf, usize) {
    let tables = std::fs::read_dir(folder.join("truth")).unwrap().map(|entry| entry.unwrap().path());
    let found = tables.filter(|path| path.extension().is_some_and(|kind| kind == "sst")).find_map(|path| {
        let at = std::fs::read(&path).unwrap().windows(bytes.len()).position(|window| window == bytes)?;
        Some((path, at))
    });
    found.expect("the bytes are in a table file")
}

#[test]
fn a_damaged_newest_large_value_costs_that_value_and_large_writes_alone() {
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(AtomicU64::new(1_000));
    let noise = |seed| {
        let mut dice = fastrand::Rng::with_seed(seed);
        std::iter::repeat_with(|| dice.u8(..)).take(100_000).collect::<Vec<u8>>()
    };
    let (old, new) = (noise(1), noise(2));
    let db = open(folder.path(), &clock);
    let space = db.kv("files").unwrap();
    space.put("small", "x").unwrap();
    space.put("old", &old).unwrap();
    space.put("new", &new).unwrap();
    db.close().unwrap();
    let (table, at) = table_with(folder.path(), &new[50_000..50_064]);
    let mut bytes = std::fs::read(&table).unwrap();
    bytes[at] ^= 1;
    std::fs::write(&table, bytes).unwrap();

    let db = open(folder.path(), &clock);
    let space = db.kv("files").unwrap();
    assert_eq!(space.get("small").unwrap().as_deref(), Some(b"x".as_slice()));
    assert_eq!(space.get("old").unwrap(), Some(old.clone()));
    let damaged = ErrorKind::Corrupt { path: table };
    assert_eq!(space.get("new").unwrap_err().kind, damaged);
    space.put("small", "y").unwrap();
    assert_eq!(space.put("other", noise(3)).unwrap_err().kind, damaged, "its number cannot be told");
    assert_eq!(space.get("other").unwrap(), None);
    drop((space, db)); // closing would merge tables, and fail at the damaged one

    let (db, _) = Database::repair(folder.path(), Options { background: false, ..Options::default() }).unwrap();
    let space = db.kv("files").unwrap();
    space.put("other", noise(3)).unwrap();
    assert_eq!(space.get("other").unwrap(), Some(noise(3)));
    assert!(space.get("old").unwrap().is_none_or(|value| value == old), "no value is taken for another");
    assert_eq!(space.get("small").unwrap().as_deref(), Some(b"y".as_slice()));
}
