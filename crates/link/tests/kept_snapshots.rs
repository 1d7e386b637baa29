//! The guarantees of the one registry of kept snapshots: a policy for each tenant, whatever face they were taken over.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use nuthatch_link::{Clock, Database, Error, ErrorKind, Holder, Listed, NotKept, Options, Owner, Result};

/// A database with two tenants whose clock stands until it is moved.
fn database(options: Options) -> (Arc<AtomicU64>, Database) {
    let now = Arc::new(AtomicU64::new(0));
    let read = now.clone();
    let clock = Clock::from_fn(move || read.load(Ordering::SeqCst));
    let db = Database::in_memory(Options { clock, background: false, ..options }).unwrap();
    for tenant in ["amber", "birch"] {
        db.create_tenant(tenant).unwrap();
    }
    (now, db)
}

fn owner(tenant: &str, key: &str) -> Owner {
    Owner { tenant: Some(tenant.into()), holder: Holder::Key(Some(key.into())) }
}

fn keep(db: &Database, owner: &Owner, id: &str) -> std::result::Result<Listed, NotKept> {
    let of_it = db.tenant(owner.tenant.as_ref().unwrap()).unwrap();
    db.kept_snapshots().keep(owner, id, None, || of_it.snapshot())
}

fn read(db: &Database, owner: &Owner, id: &str) -> Result<()> {
    let found = db.kept_snapshots().get(owner, id).ok_or_else(|| Error::not_found("gone"))?;
    found.kv("k").map(drop)
}

#[test]
fn a_tenant_cannot_use_up_the_places_of_another() {
    let (_, db) = database(Options { snapshots_max: 2, ..Options::default() });
    let (amber, other, birch) = (owner("amber", "1"), owner("amber", "2"), owner("birch", "1"));
    let process = Owner { holder: Holder::Process, ..amber.clone() };
    keep(&db, &amber, "a").unwrap();
    keep(&db, &process, "b").unwrap();
    for owner in [&amber, &other, &process] {
        let NotKept::TooMany(why) = keep(&db, owner, "c").unwrap_err() else { panic!("of another kind") };
        assert!(why.kind == ErrorKind::Exhausted && why.message.contains("2 snapshots"), "{why}");
    }
    keep(&db, &birch, "a").unwrap();
    assert_eq!(db.stats().unwrap().snapshots, 3, "one that was refused is not held");
    drop(db.kept_snapshots().remove(&amber, "a").unwrap());
    keep(&db, &other, "c").unwrap();
    db.kept_snapshots().get(&other, "c").unwrap().close();
    keep(&db, &amber, "d").unwrap(); // one that has ended makes room
    assert!(matches!(keep(&db, &birch, "a"), Err(NotKept::Exists)));
    db.kept_snapshots().get(&birch, "a").unwrap().close();
    keep(&db, &birch, "a").unwrap();
}

#[test]
fn an_idle_one_ends_and_says_so_and_one_that_is_read_goes_on_until_it_is_too_old() {
    let (idle_max, age_max) = (Some(Duration::from_secs(5)), Duration::from_secs(12));
    let (now, db) = database(Options { snapshot_idle_max: idle_max, snapshot_age_max: age_max, ..Options::default() });
    let amber = owner("amber", "1");
    keep(&db, &amber, "read").unwrap();
    keep(&db, &amber, "idle").unwrap();
    let own = db.snapshot().unwrap();
    now.store(4_000, Ordering::SeqCst);
    read(&db, &amber, "read").unwrap();
    now.store(8_000, Ordering::SeqCst);
    read(&db, &amber, "read").unwrap();
    let listed: Vec<String> = db.kept_snapshots().list(&amber, false).into_iter().map(|one| one.id).collect();
    assert_eq!(listed, ["read"]);
    let error = read(&db, &amber, "idle").unwrap_err();
    assert!(error.kind == ErrorKind::Conflict && error.message.contains("not read for 5 s"), "{error}");
    own.kv("k").unwrap(); // nobody keeps it for another
    assert_eq!(db.stats().unwrap().snapshots, 2, "the idle one holds nothing");
    now.store(12_001, Ordering::SeqCst);
    let error = read(&db, &amber, "read").unwrap_err();
    assert!(error.message.contains("older than 12 s"), "{error}");
    keep(&db, &amber, "next").unwrap();
    assert_eq!(read(&db, &amber, "read").unwrap_err().kind, ErrorKind::NotFound, "only its id was left");
}

#[test]
fn one_of_another_key_tenant_or_process_is_not_found() {
    let (_, db) = database(Options::default());
    let amber = owner("amber", "1");
    keep(&db, &amber, "id").unwrap();
    let nobody = Owner { holder: Holder::Key(None), ..amber.clone() };
    let process = Owner { holder: Holder::Process, ..amber.clone() };
    for other in [owner("amber", "2"), owner("birch", "1"), nobody, process] {
        assert!(db.kept_snapshots().get(&other, "id").is_none());
        assert!(db.kept_snapshots().remove(&other, "id").is_none());
        assert!(db.kept_snapshots().list(&other, false).is_empty());
    }
    read(&db, &amber, "id").unwrap();
}

#[test]
fn dropping_its_tenant_and_closing_the_folder_end_one() {
    let (_, db) = database(Options { erasure_grace: Duration::ZERO, ..Options::default() });
    let (amber, birch) = (owner("amber", "1"), owner("birch", "1"));
    keep(&db, &amber, "id").unwrap();
    db.drop_tenant("amber").unwrap();
    assert!(db.kept_snapshots().get(&amber, "id").is_none());
    keep(&db, &birch, "id").unwrap();
    read(&db, &birch, "id").unwrap();
    let (kept, of_birch) = (db.kept_snapshots().clone(), db.kept_snapshots().get(&birch, "id").unwrap());
    db.close().unwrap();
    assert!(kept.get(&birch, "id").is_none());
    assert_eq!(of_birch.kv("k").map(drop).unwrap_err().kind, ErrorKind::Closed);
}
