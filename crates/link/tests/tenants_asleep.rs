//! The cost of unused tenants, measured in a separate process.
#![cfg(target_os = "linux")]

mod support;

use std::path::Path;
use std::time::Instant;

use nuthatch_link::*;
use support::*;

const FOLDER: &str = "NUTHATCH_TEST_TENANTS";
/// The most memory that 10,000 of them may take.
const ASLEEP_BYTES_MAX: u64 = 50_000_000;

fn resident() -> u64 {
    let memory = ProcessMemory::now().unwrap();
    memory.anonymous_bytes + memory.file_bytes
}

fn is_long() -> bool {
    std::env::var_os("NUTHATCH_LONG").is_some()
}

/// Tenants made between two openings: without background work, nothing closes what was opened.
const MADE_AT_ONCE: usize = 500;

/// A few keys and a small collection each.
fn make(folder: &Path, tenants: usize) {
    for first in (0..tenants).step_by(MADE_AT_ONCE) {
        make_some(folder, first..tenants.min(first + MADE_AT_ONCE));
    }
}

fn make_some(folder: &Path, numbers: std::ops::Range<usize>) {
    let db = Database::open(folder, quiet()).unwrap();
    for n in numbers {
        let tenant = db.create_tenant(&format!("tenant-{n:05}")).unwrap();
        let options = CollectionOptions { dim: Some(DIM), ..no_embedder() };
        let notes = tenant.collection("notes", options).unwrap().with_durability(Durability::Os);
        let record = |row: usize| Record::new(format!("{row}")).text("a few words").vector(vec![row as f32; DIM]);
        notes.upsert((0..5).map(record).collect()).unwrap();
        let keys = tenant.kv("keys").unwrap().with_durability(Durability::Os);
        let put = |key: u8| KvOp::Put { key: vec![key], value: vec![key; 50], expires_in: None };
        keys.multi_put((0..5).map(put).collect()).unwrap();
    }
    db.close().unwrap();
}

fn look(folder: &Path) {
    let before = resident();
    let started = Instant::now();
    let db = Database::open(folder, Options::default()).unwrap();
    let tenants = db.tenant_names().unwrap().len();
    let opened = started.elapsed();
    let more = || resident().saturating_sub(before);
    let asleep = more();
    println!("{tenants} tenants: opened in {opened:?}, {} KiB more than before", asleep >> 10);
    assert!(asleep < ASLEEP_BYTES_MAX, "{asleep} bytes");
    let last = db.tenant(&format!("tenant-{:05}", tenants - 1)).unwrap();
    assert_eq!(last.existing_collection("notes").unwrap().len().unwrap(), 5);
    assert_eq!(last.kv("keys").unwrap().get([3]).unwrap(), Some(vec![3; 50]));
    println!("one used: {} KiB", more() >> 10);
    assert_eq!(db.doctor().unwrap().collections, tenants);
    println!("after a check of everything: {} KiB", more() >> 10);
    let memory = db.stats().unwrap().memory;
    assert!(memory.engine_bytes < memory.budget_bytes, "{memory:?}");
}

/// `NUTHATCH_LONG=1` for 10,000.
#[test]
fn tenants_asleep_cost_nearly_nothing() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        return look(Path::new(&folder));
    }
    let folder = tempfile::tempdir().unwrap();
    make(folder.path(), if is_long() { 10_000 } else { 100 });
    let ran = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "tenants_asleep_cost_nearly_nothing", "--nocapture"])
        .env(FOLDER, folder.path())
        .output()
        .unwrap();
    println!("{}", String::from_utf8_lossy(&ran.stdout));
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
}
