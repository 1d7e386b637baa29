//! Cursors: of the records of a collection, and of the keys of a keyspace.

use nuthatch_link::{
    Collection, CollectionOptions, Database, Durability, EmbedderChoice, ErrorKind, KeyScan, Options, Record, Scan,
};

use crate::Run;

const RECORDS: usize = 20;

/// The first byte says how many come on a page, and whether the keys are listed backwards.
pub fn start() -> Run {
    let db = Database::in_memory(Options::default()).expect("a database");
    let options = CollectionOptions { dim: Some(2), embedder: EmbedderChoice::None, ..CollectionOptions::default() };
    let notes = db.collection("notes", options).expect("a collection").with_durability(Durability::Os);
    notes.upsert((0..RECORDS).map(|at| Record::new(format!("r{at}")).text("heron")).collect()).expect("stored");
    let keys = db.kv("keys").expect("a keyspace").with_durability(Durability::Os);
    for at in 0..RECORDS {
        keys.put(format!("key {at:02}"), "value").expect("stored");
    }
    Box::new(move |bytes| {
        let Some((first, cursor)) = bytes.split_first() else { return };
        let Ok(cursor) = std::str::from_utf8(cursor) else { return };
        let limit = usize::from(first % 8);
        walk_records(&notes, cursor, limit);
        let mut scan = KeyScan { cursor: Some(cursor.into()), limit, reverse: first & 128 != 0, ..KeyScan::default() };
        let mut seen = 0;
        loop {
            match keys.scan(&scan) {
                Ok(page) => {
                    seen += page.entries.len();
                    assert!(page.entries.len() <= limit && seen <= RECORDS, "a page of {}", page.entries.len());
                    match page.cursor {
                        Some(next) => scan.cursor = Some(next),
                        None => break,
                    }
                }
                Err(error) => {
                    assert_eq!((error.kind, seen), (ErrorKind::Invalid, 0));
                    break;
                }
            }
        }
    })
}

fn walk_records(notes: &Collection, cursor: &str, limit: usize) {
    let mut scan = Scan { cursor: Some(cursor.into()), limit, filter: None, vectors: false };
    let mut seen = 0;
    loop {
        match notes.scan(&scan) {
            Ok(page) => {
                seen += page.records.len();
                assert!(page.records.len() <= limit && seen <= RECORDS, "a page of {}", page.records.len());
                match page.cursor {
                    Some(next) => scan.cursor = Some(next),
                    None => return,
                }
            }
            Err(error) => {
                assert_eq!((error.kind, seen), (ErrorKind::Invalid, 0));
                return;
            }
        }
    }
}
