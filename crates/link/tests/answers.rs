//! Large answers that many ask for at once: they wait for each other, and `stats().memory` says what they hold.
//!
//! One test a process, because it is about what the whole process holds. `NUTHATCH_LONG=1`: 64 threads and larger answers.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use nuthatch_link::*;

const DIM: usize = 64;
/// Up to this size, the engine counts an answer but never makes it wait.
const SMALL_BYTES: u64 = 64 << 10;

fn filled(db: &Database, rows: usize) -> (Collection, Keyspace) {
    let options = CollectionOptions { dim: Some(DIM), embedder: EmbedderChoice::None, ..CollectionOptions::default() };
    let (notes, keys) = (db.collection("notes", options).unwrap(), db.kv("keys").unwrap());
    let notes = notes.with_durability(Durability::Os);
    let mut dice = fastrand::Rng::with_seed(3);
    let text = "a stone in the river, ".repeat(50);
    for batch in 0..rows / 500 {
        let record = |n: usize| {
            let vector = (0..DIM).map(|_| dice.f32() - 0.5).collect();
            let payload = Payload::from([("number".to_string(), Value::Int(n as i64))]);
            Record::new(format!("r{}-{n}", batch)).text(text.as_str()).vector(vector).payload(payload)
        };
        notes.upsert((0..500).map(record).collect()).unwrap();
        let put = |n: usize| KvOp::Put { key: format!("{batch}-{n}").into(), value: vec![7; 1000], expires_in: None };
        keys.with_durability(Durability::Os).multi_put((0..500).map(put).collect()).unwrap();
    }
    notes.wait_until_indexed(None).unwrap();
    (notes, keys)
}

/// Asks for everything, in one of four ways.
fn ask(way: usize, notes: &Collection, keys: &Keyspace, rows: usize) {
    let got = match way % 4 {
        0 => {
            let include = Include { vector: true, ..Include::default() };
            let search = Search { include, ..Search::vector(vec![0.1; DIM]).limit(rows) };
            notes.search(&search).unwrap().hits.len()
        }
        1 => {
            let scan = Scan { limit: rows, vectors: true, ..Scan::default() };
            notes.scan(&scan).unwrap().records.len()
        }
        2 => {
            let ids: Vec<String> = (0..rows).map(|n| format!("r{}-{}", n / 500, n % 500)).collect();
            notes.get(&ids, true).unwrap().into_iter().flatten().count()
        }
        _ => keys.scan(&KeyScan { limit: rows, ..KeyScan::default() }).unwrap().entries.len(),
    };
    assert_eq!(got, rows);
}

#[test]
fn large_answers_that_many_ask_for_at_once_stay_within_their_share() {
    let (threads, rows) = if std::env::var_os("NUTHATCH_LONG").is_some() { (64, 10_000) } else { (16, 3_000) };
    let folder = tempfile::tempdir().unwrap();
    let options = Options { memory_budget_bytes: 32 << 20, ..Options::default() };
    let db = Database::open(folder.path(), options).unwrap();
    let (notes, keys) = filled(&db, rows);
    let most = AtomicU64::new(0);
    let anonymous = AtomicU64::new(0);
    // Watches while `work` goes on.
    let watch = |work: &dyn Fn()| {
        most.store(0, Ordering::SeqCst);
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::SeqCst) {
                    let memory = db.stats().unwrap().memory;
                    assert!(memory.answer_bytes <= memory.engine_bytes, "it is a part of what the budget covers");
                    most.fetch_max(memory.answer_bytes, Ordering::SeqCst);
                    anonymous.fetch_max(memory.process_anonymous_bytes, Ordering::SeqCst);
                    // Each look takes the allocator's locks, and a thread that takes them again at once starves the
                    // others.
                    std::thread::sleep(std::time::Duration::from_millis(5));
                }
            });
            work();
            done.store(true, Ordering::SeqCst);
        });
        most.load(Ordering::SeqCst)
    };
    // Until it was seen, however seldom the other thread gets to look.
    let mut alone = 0;
    for way in 0..4 {
        let mut seen = 0;
        while seen == 0 {
            seen = watch(&|| (0..5).for_each(|_| ask(way, &notes, &keys, rows)));
        }
        alone = alone.max(seen);
    }
    assert!(alone > 2 << 20, "an answer of {alone} bytes is none to wait for");
    let before = anonymous.swap(0, Ordering::SeqCst);
    let together = watch(&|| {
        std::thread::scope(|scope| {
            for way in 0..threads {
                let (notes, keys) = (&notes, &keys);
                scope.spawn(move || (0..4).for_each(|_| ask(way, notes, keys, rows)));
            }
        });
    });
    println!(
        "proof: {threads} threads asked for {rows} rows each: answers held {} KiB at most, one alone {} KiB; the process {} MiB, with one at a time {} MiB",
        together >> 10,
        alone >> 10,
        anonymous.load(Ordering::SeqCst) >> 20,
        before >> 20
    );
    // An answer that was estimated too low takes its memory without waiting, one such answer at a time.
    let share = 4 << 20;
    assert!(together <= alone.max(share) * 3 / 2 + threads as u64 * SMALL_BYTES, "{together} bytes, one alone {alone}");
    assert_eq!(db.stats().unwrap().memory.answer_bytes, 0, "nobody holds anything any more");
    db.close().unwrap();
}
