//! Exports: their manifest, and the lines of records, files and keys.

use std::path::Path;

use nuthatch_link::{Database, ErrorKind, ExportOptions, ImportOptions, Options};

use serde_json::Value;

use crate::Run;

/// No import here takes as long.
const IMPORT_MS_MAX: u64 = 60_000;

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
            // Imported data can be exported and imported again, and is the same.
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

/// Every file but the manifest, which has the time in it. A key may expire a little later after an import: times are given to the store as spans.
fn same(first: &Path, second: &Path) {
    for entry in std::fs::read_dir(first).expect("a folder") {
        let name = entry.expect("an entry").file_name();
        let (one, other) = (first.join(&name), second.join(&name));
        if one.is_dir() {
            same(&one, &other);
        } else if name != "export.json" {
            let lines = |path| -> Vec<(Value, u64)> {
                let text = std::fs::read_to_string(path).expect("a file of text");
                text.lines().map(|line| without_expiry(serde_json::from_str(line).expect("JSON"))).collect()
            };
            let (one, other) = (lines(&one), lines(&other));
            assert_eq!(one.len(), other.len(), "{name:?}");
            for ((one, expires_ms), (other, expires_later_ms)) in one.iter().zip(&other) {
                assert_eq!(one, other, "{name:?}");
                assert!(expires_later_ms.abs_diff(*expires_ms) <= IMPORT_MS_MAX, "{name:?}: {one}");
            }
        }
    }
}

/// A line, and when what it has expires; 0 for never.
fn without_expiry(mut line: Value) -> (Value, u64) {
    let expires_at_ms = line.as_object_mut().and_then(|line| line.remove("expires_at_ms"));
    (line, expires_at_ms.map_or(0, |at| at.as_u64().expect("milliseconds")))
}
