//! Exports: their manifest, and the lines of records, files and keys.

use std::path::Path;

use nuthatch_engine::{Database, ErrorKind, ExportOptions, ImportOptions, Options};

use crate::Run;

/// The manifest, the records, the files and the keys, with a line of `===` between them. The manifest finds the collection in `c` and the keys in `k`.
pub fn start() -> Run {
    let db = Database::in_memory(Options::default()).expect("a database");
    Box::new(move |bytes| {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("c")).expect("a folder");
        let mut rest = bytes;
        for name in ["export.json", "c/records.jsonl", "c/files.jsonl", "k"] {
            let end = rest.windows(5).position(|window| window == b"\n===\n");
            let (part, after) = end.map_or((rest, &[][..]), |end| (&rest[..end + 1], &rest[end + 5..]));
            std::fs::write(at(name), part).expect("written");
            rest = after;
        }
        if imports(&db, folder.path()) {
            // What could be imported can be taken out and in again, and is the same.
            let (first, second) = (at("first"), at("second"));
            db.export(&first, ExportOptions::default()).expect("what was imported can be exported");
            empty(&db);
            assert!(imports(&db, &first), "an export can be imported");
            db.export(&second, ExportOptions::default()).expect("what was imported can be exported");
            same(&first, &second);
        }
        empty(&db);
    })
}

fn imports(db: &Database, folder: &Path) -> bool {
    match db.import(folder, ImportOptions::default()) {
        Ok(_) => true,
        Err(error) => {
            assert_ne!(error.kind, ErrorKind::Internal, "{error}");
            false
        }
    }
}

fn empty(db: &Database) {
    for name in db.collection_names().expect("names") {
        db.drop_collection(&name).expect("dropped");
    }
    for name in db.keyspace_names().expect("names") {
        db.drop_keyspace(&name).expect("dropped");
    }
}

/// Every file but the manifest, which has the time in it.
fn same(first: &Path, second: &Path) {
    for entry in std::fs::read_dir(first).expect("a folder") {
        let name = entry.expect("an entry").file_name();
        let (one, other) = (first.join(&name), second.join(&name));
        if one.is_dir() {
            same(&one, &other);
        } else if name != "export.json" {
            assert_eq!(std::fs::read(&one).expect("a file"), std::fs::read(&other).expect("a file"), "{name:?}");
        }
    }
}
