//! Any value of the store, changed: what reads it says so, or answers something, and goes on.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use nuthatch_link::{
    AddOptions, CollectionOptions, Database, Durability, EmbedderChoice, Error, KeyScan, Options, Record, Scan, Search,
    TenantLimits, Value,
};
use nuthatch_store::{Batch, Direction, Reader, RocksStore, Store, StoreOptions, Table};

use crate::Run;
use crate::folder::Folder;
use crate::patch::patched;

const STORE: StoreOptions = StoreOptions { cache_bytes: 1 << 20, write_buffer_bytes: 1 << 20 };

/// The first two bytes choose the entry of the store, the next whether its key is changed, or its value.
pub fn start() -> Run {
    let healthy = filled();
    let entries = entries(&healthy);
    Box::new(move |input| {
        let [low, high, what, changes @ ..] = input else { return };
        let (table, key, value) = &entries[usize::from(u16::from_le_bytes([*low, *high])) % entries.len()];
        let copy = healthy.copy();
        {
            let store = RocksStore::open(&copy.path().join("truth"), STORE).expect("a healthy store");
            let mut batch = Batch::new();
            match what & 1 {
                0 => batch.put(*table, key.clone(), patched(value, changes)),
                _ => {
                    batch.delete(*table, key.clone());
                    batch.put(*table, patched(key, changes), value.clone());
                }
            }
            let position = store.write(batch).expect("written");
            store.sync(position).expect("synced");
        }
        use_all(copy.path());
    })
}

fn options() -> Options {
    Options { background: false, memory_budget_bytes: 32 << 20, ..Options::default() }
}

/// A folder with something of everything.
fn filled() -> Folder {
    let folder = tempfile::tempdir().expect("a folder");
    let db = Database::open(folder.path(), options()).expect("a database");
    let of = CollectionOptions { dim: Some(2), embedder: EmbedderChoice::None, ..CollectionOptions::default() };
    let notes = db.collection("notes", of).expect("a collection");
    let record = |at: i64| Record {
        text: Some(format!("heron number {at}")),
        vector: Some(vec![at as f32, 1.0]),
        payload: [("n".to_string(), Value::Int(at)), ("at".to_string(), Value::Datetime(at))].into(),
        ..Record::new(format!("r{at}"))
    };
    notes.upsert((0..8).map(record).collect()).expect("stored");
    notes.optimize(Some(Duration::from_secs(60))).expect("indexed");
    notes.upsert((5..10).map(record).collect()).expect("stored");
    notes.delete(&["r1"]).expect("deleted");
    notes.add_document("a.md", b"# Osprey\n\nFishes.\n", AddOptions::default()).expect("added");
    let keys = db.kv("keys").expect("a keyspace").with_durability(Durability::Os);
    keys.put("small", "value").expect("stored");
    keys.put("large", vec![7; 100_000]).expect("stored");
    keys.put("short-lived", "value").expect("stored");
    keys.expire("short-lived", Some(Duration::from_secs(1 << 30))).expect("stored");
    db.create_tenant("amber").expect("a tenant").kv("k").expect("a keyspace").put("a", "b").expect("stored");
    db.set_tenant_limits("amber", TenantLimits { bytes: Some(1 << 20), ..TenantLimits::default() }).expect("limits");
    db.close().expect("closed");
    Folder::read(folder.path())
}

fn entries(healthy: &Folder) -> Vec<(Table, Vec<u8>, Vec<u8>)> {
    let copy = healthy.copy();
    let store = RocksStore::open(&copy.path().join("truth"), STORE).expect("a healthy store");
    let mut entries = Vec::new();
    for table in Table::ALL {
        let visit = &mut |key: &[u8], value: &[u8]| {
            entries.push((table, key.to_vec(), value.to_vec()));
            ControlFlow::Continue(())
        };
        store.scan(table, &[], &[], Direction::Forward, visit).expect("a healthy store");
    }
    entries
}

/// Everything that reads; what is damaged may refuse, but is no defect.
fn use_all(folder: &Path) {
    let Some(db) = said(Database::open(folder, options())) else { return };
    said(db.collections());
    said(db.stats());
    said(db.receipts());
    said(db.tenants());
    if let Some(notes) = said(db.existing_collection("notes")) {
        said(notes.scan(&Scan { cursor: None, limit: 100, filter: None, vectors: true }));
        said(notes.get(&["r0", "r1", "r9"], true));
        said(notes.count(Some("n >= 3")));
        said(notes.search(&Search::text("heron")));
        said(notes.search(&Search::vector(vec![1.0, 2.0])));
        said(notes.files(""));
        said(notes.upsert(vec![Record::new("r2")]));
        said(notes.optimize(Some(Duration::from_secs(60))));
    }
    if let Some(keys) = said(db.existing_keyspace("keys")) {
        said(keys.scan(&KeyScan::default()));
        said(keys.get("large"));
        said(keys.expires_in("short-lived"));
        said(keys.put("small", "other"));
    }
    if let Some(amber) = said(db.tenant("amber")) {
        said(amber.kv("k").and_then(|keys| keys.put("c", "d")));
    }
    said(db.doctor());
    said(db.close());
}

fn said<T>(outcome: Result<T, Error>) -> Option<T> {
    outcome.map_err(|error| assert!(!error.message.is_empty())).ok()
}
