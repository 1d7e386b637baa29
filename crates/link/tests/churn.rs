//! A collection that is replaced over and over does not grow.

mod support;

use std::path::Path;
use std::time::{Duration, Instant};

use nuthatch_link::*;

const DIM: usize = 48;
const ROWS: usize = 1500;
const BATCH: usize = 300;

/// Without logs: obsolete ones are kept for a minute to be written over, whatever there is in the folder.
fn bytes(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(found) if found.is_dir() => bytes(&entry.path()),
            Ok(_) if entry.path().extension().is_some_and(|ending| ending == "log") => 0,
            Ok(found) => found.len(),
            Err(_) => 0, // gone meanwhile
        })
        .sum()
}

fn written(folder: &Path, times: usize) -> (Database, Collection) {
    let options = Options { fresh_rows_max: 512, ..Options::default() };
    let db = Database::open(folder, options).unwrap();
    let collection = CollectionOptions { embedder: EmbedderChoice::None, ..Default::default() };
    let notes = db.collection("notes", collection).unwrap();
    let keys = db.kv("keys").unwrap();
    for _ in 0..times {
        let mut dice = fastrand::Rng::with_seed(6);
        for batch in 0..ROWS / BATCH {
            let mut record = |n: usize| {
                let text: String = (0..200).map(|_| dice.lowercase()).collect();
                let vector = (0..DIM).map(|_| dice.f32() - 0.5).collect();
                Record::new(format!("r{}", batch * BATCH + n)).text(text).vector(vector)
            };
            let records: Vec<Record> = (0..BATCH).map(&mut record).collect();
            let put = |record: &Record| KvOp::Put {
                key: record.id.clone().into(),
                value: record.text.clone().unwrap_or_default().into(),
                expires_in: None,
            };
            keys.multi_put(records.iter().map(put).collect()).unwrap();
            notes.upsert(records).unwrap();
        }
    }
    notes.wait_until_indexed(None).unwrap();
    (db, notes)
}

#[test]
fn replacing_everything_ten_times_leaves_at_most_twice_the_bytes_and_the_same_answers() {
    let (once, often) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (fresh, fresh_notes) = written(once.path(), 1);
    let (replaced, replaced_notes) = written(often.path(), 11);
    fresh.close().unwrap(); // nothing to wait for: everything is in table files
    let live = bytes(once.path());
    // Background work gets there by itself; how soon depends on the machine.
    let (started, patience) = (Instant::now(), Duration::from_secs(60));
    while bytes(often.path()) > 2 * live {
        assert!(started.elapsed() < patience, "{} bytes, live {live}", bytes(often.path()));
        std::thread::sleep(Duration::from_millis(100));
    }
    let left = bytes(often.path());
    println!(
        "proof: {ROWS} rows replaced ten times take {left} bytes, written once {live}: {:.2} times",
        left as f64 / live as f64
    );
    let fresh = Database::open(once.path(), Options::default()).unwrap();
    drop(fresh_notes);
    let fresh_notes = fresh.existing_collection("notes").unwrap();
    let mut dice = fastrand::Rng::with_seed(9);
    for _ in 0..50 {
        let question: Vec<f32> = (0..DIM).map(|_| dice.f32() - 0.5).collect();
        let ids = |notes: &Collection| -> Vec<String> {
            let hits = notes.search(&Search::vector(question.clone())).unwrap().hits;
            hits.into_iter().map(|hit| hit.id).collect()
        };
        assert_eq!(ids(&fresh_notes), ids(&replaced_notes));
    }
    replaced.close().unwrap();
}
