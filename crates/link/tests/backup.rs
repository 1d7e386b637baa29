//! The guarantees of database backups.

mod support;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nuthatch_link::*;
use support::*;

fn fill(notes: &Collection, model: &mut Model, dice: &mut fastrand::Rng, range: std::ops::Range<u32>) {
    let mut records = Vec::new();
    for id in range {
        let kept = random_kept(dice, true);
        records.push(record(&format!("r{id}"), &kept));
        model.insert(format!("r{id}"), kept);
    }
    notes.upsert(records).unwrap();
}

fn restore(place: &Path, id: Option<&str>) -> (tempfile::TempDir, Database) {
    let beside = tempfile::tempdir().unwrap();
    let folder = beside.path().join("restored");
    let options = RestoreOptions { backup: id.map(str::to_string), ..RestoreOptions::default() };
    Backups::at(place).restore(&folder, options).unwrap();
    let db = Database::open(&folder, quiet()).unwrap();
    (beside, db)
}

fn damage(path: &Path, at: usize) {
    let mut bytes = std::fs::read(path).unwrap();
    let at = at.min(bytes.len() - 1);
    bytes[at] ^= 0x20;
    // Written as another file, because the old one may be shared with others by links.
    std::fs::remove_file(path).unwrap();
    std::fs::write(path, bytes).unwrap();
}

fn find(folder: &Path, ends_with: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(find(&path, ends_with));
        } else if path.to_string_lossy().ends_with(ends_with) {
            found.push(path);
        }
    }
    found.sort();
    found
}

#[test]
fn every_backup_comes_back_as_it_was_and_indexes_answer_at_once() {
    let (folder, place) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut dice = fastrand::Rng::with_seed(11);
    let db = Database::open(folder.path(), quiet()).unwrap();
    let notes = db.collection("notes", no_embedder()).unwrap();
    let mut model = Model::new();
    let mut moments = Vec::new();
    for round in 0..3u32 {
        fill(&notes, &mut model, &mut dice, round * 60..round * 60 + 150);
        notes.delete(&[format!("r{}", round * 7)]).unwrap();
        model.remove(&format!("r{}", round * 7));
        if round != 1 {
            db.optimize().unwrap(); // the second moment has fresh rows that no index holds
        }
        let report = db.backup(place.path(), BackupOptions::default()).unwrap();
        assert_eq!(report.backup.left_out, Vec::<String>::new());
        assert_eq!(report.backup.rows(), model.len() as u64);
        moments.push((report.backup.id, model.clone()));
    }
    assert!(!folder.path().join("backing-up").exists());
    db.close().unwrap();
    for (id, model) in &moments {
        let (_folder, restored) = restore(place.path(), Some(id));
        let notes = restored.existing_collection("notes").unwrap();
        assert!(notes.info().unwrap().degraded.is_empty(), "{:?}", notes.info().unwrap().degraded);
        assert!(notes.info().unwrap().segments > 0, "the segments came along");
        assert_same(&notes, model, &mut dice, id);
        assert!(restored.doctor().unwrap().is_well());
        restored.close().unwrap();
    }
    assert!(Backups::at(place.path()).verify(&[], None, None).unwrap().is_well());
}

#[test]
fn a_second_backup_reads_and_stores_only_what_is_new() {
    let (folder, place) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut dice = fastrand::Rng::with_seed(12);
    let db = Database::open(folder.path(), quiet()).unwrap();
    let notes = db.collection("notes", no_embedder()).unwrap();
    let mut model = Model::new();
    for batch in 0..8 {
        fill(&notes, &mut model, &mut dice, batch * 500..batch * 500 + 500);
    }
    db.optimize().unwrap();
    let first = db.backup(place.path(), BackupOptions::default()).unwrap();
    // Noted checksums make a file known by its name.
    db.close().unwrap();
    let db = Database::open(folder.path(), quiet()).unwrap();
    let second = db.backup(place.path(), BackupOptions::default()).unwrap();
    assert!(second.files_unchanged * 2 > second.files, "{second:?}");
    assert!(second.read_bytes * 4 < first.read_bytes, "{} of {}", second.read_bytes, first.read_bytes);
    assert!(second.new_bytes * 10 < first.new_bytes, "{} of {}", second.new_bytes, first.new_bytes);
    let (_folder, restored) = restore(place.path(), Some(&second.backup.id));
    assert_same(&restored.existing_collection("notes").unwrap(), &model, &mut dice, "second");
}

/// While a loader writes: what is restored is the state after some whole batch, no older than what was acknowledged before.
#[test]
fn a_backup_while_others_write_is_one_moment() {
    let (folder, place) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let db = Database::open(folder.path(), Options { fresh_rows_max: 200, ..Options::default() }).unwrap();
    let names = ["left", "right"];
    let both: Vec<Collection> = names.iter().map(|name| db.collection(name, no_embedder()).unwrap()).collect();
    let (stop, acknowledged) = (AtomicBool::new(false), std::sync::atomic::AtomicI64::new(-1));
    let mut backups = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut version = 0i64;
            while !stop.load(Ordering::SeqCst) {
                for collection in &both {
                    let one = |id: i64| {
                        Record::new(format!("r{id}"))
                            .text(format!("version{version}"))
                            .vector(vec![version as f32 + 1.0; DIM])
                            .payload([("version".to_string(), Value::Int(version))].into())
                    };
                    // Replaces twenty, adds ten.
                    let records = (version * 10 - 20..version * 10 + 10).filter(|id| *id >= 0).map(one).collect();
                    collection.upsert(records).unwrap();
                }
                acknowledged.store(version, Ordering::SeqCst);
                version += 1;
            }
        });
        for _ in 0..4 {
            std::thread::sleep(Duration::from_millis(150));
            let before = acknowledged.load(Ordering::SeqCst);
            let report = db.backup(place.path(), BackupOptions::default()).unwrap();
            backups.push((report.backup.id, before));
        }
        stop.store(true, Ordering::SeqCst);
    });
    db.close().unwrap();
    for (id, acknowledged) in backups {
        let (_folder, restored) = restore(place.path(), Some(&id));
        let mut versions = Vec::new();
        for name in names {
            let collection = restored.existing_collection(name).unwrap();
            let mut found = BTreeMap::new();
            let mut cursor = None;
            loop {
                let page = collection.scan(&Scan { cursor, limit: 1000, filter: None, vectors: true }).unwrap();
                for record in page.records {
                    let Some(Value::Int(version)) = record.payload.get("version").cloned() else {
                        panic!("{record:?}")
                    };
                    assert_eq!(record.text, Some(format!("version{version}")));
                    assert_eq!(record.vector, Some(vec![version as f32 + 1.0; DIM]));
                    found.insert(record.id[1..].parse::<i64>().unwrap(), version);
                }
                cursor = page.cursor;
                if cursor.is_none() {
                    break;
                }
            }
            let last = found.values().copied().max().unwrap_or(-1);
            let whole: BTreeMap<i64, i64> = (0..(last + 1) * 10).map(|id| (id, (id / 10 + 2).min(last))).collect();
            assert_eq!(found, whole, "{id}: {name} is the state after version {last}");
            let indexed = collection.search(&Search::text(format!("version{last}")).limit(100)).unwrap();
            assert_eq!(indexed.hits.len(), whole.values().filter(|version| **version == last).count(), "{id}: {name}");
            versions.push(last);
        }
        assert!(versions[0] == versions[1] || versions[0] == versions[1] + 1, "{id}: one moment, not {versions:?}");
        assert!(versions[1] >= acknowledged, "{id}: {versions:?} is older than {acknowledged}");
        assert!(restored.doctor().unwrap().is_well());
    }
}

#[test]
fn damage_in_the_store_ends_the_backup_and_names_the_file() {
    let (folder, place) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut dice = fastrand::Rng::with_seed(13);
    let db = Database::open(folder.path(), quiet()).unwrap();
    let notes = db.collection("notes", no_embedder()).unwrap();
    fill(&notes, &mut Model::new(), &mut dice, 0..400);
    db.close().unwrap();
    let tables = find(&folder.path().join("truth"), ".sst");
    assert!(!tables.is_empty());
    for table in tables {
        let sound = std::fs::read(&table).unwrap();
        damage(&table, sound.len() / 2);
        let outcome = Database::open(folder.path(), quiet()).and_then(|db| {
            let made = db.backup(place.path(), BackupOptions::default());
            db.close().ok();
            made
        });
        let error = outcome.expect_err("damaged bytes were backed up");
        assert_eq!(error.kind, ErrorKind::Corrupt { path: table.clone() }, "{error}");
        std::fs::write(&table, sound).unwrap();
    }
    assert!(Backups::at(place.path()).list().unwrap().is_empty(), "nothing is listed");
    assert!(!folder.path().join("backing-up").exists());
}

#[test]
fn damage_in_an_index_leaves_it_out_and_says_so() {
    let (folder, place) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut dice = fastrand::Rng::with_seed(14);
    let db = Database::open(folder.path(), quiet()).unwrap();
    let notes = db.collection("notes", no_embedder()).unwrap();
    let mut model = Model::new();
    fill(&notes, &mut model, &mut dice, 0..400);
    db.optimize().unwrap();
    db.close().unwrap();
    let codes = find(folder.path(), "codes1").remove(0);
    damage(&codes, 100);
    let db = Database::open(folder.path(), quiet()).unwrap();
    let report = db.backup(place.path(), BackupOptions::default()).unwrap();
    assert_eq!(report.backup.left_out.len(), 1, "{:?}", report.backup.left_out);
    assert!(report.backup.left_out[0].contains("codes1"), "{:?}", report.backup.left_out);
    assert_eq!(
        db.existing_collection("notes").unwrap().info().unwrap().degraded.len(),
        1,
        "and it is rebuilt here, too"
    );
    let (_folder, restored) = restore(place.path(), None);
    let notes = restored.existing_collection("notes").unwrap();
    assert_eq!(notes.info().unwrap().degraded.len(), 1);
    notes.wait_until_indexed(None).unwrap();
    assert!(notes.info().unwrap().degraded.is_empty());
    assert_same(&notes, &model, &mut dice, "restored");
}

#[test]
fn a_damaged_object_is_named_by_the_check_and_by_restoring() {
    let (folder, place) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let db = Database::open(folder.path(), quiet()).unwrap();
    let notes = db.collection("notes", no_embedder()).unwrap();
    fill(&notes, &mut Model::new(), &mut fastrand::Rng::with_seed(15), 0..100);
    let report = db.backup(place.path(), BackupOptions::default()).unwrap();
    let backups = Backups::at(place.path());
    for object in find(&place.path().join("objects"), "").into_iter().step_by(8) {
        let sound = std::fs::read(&object).unwrap();
        damage(&object, sound.len() / 3);
        let check = backups.verify(&[], None, None).unwrap();
        assert_eq!(check.damage.len(), 1);
        assert_eq!(check.damage[0].path, object);
        let target = folder.path().with_extension("restored");
        let error = backups.restore(&target, RestoreOptions::default()).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Corrupt { path: object.clone() }, "{error}");
        assert!(!target.exists() && !folder.path().with_extension("restored.restoring").exists());
        std::fs::write(&object, sound).unwrap();
    }
    // An object that is gone is stored again by the next backup.
    for object in find(&place.path().join("objects"), "") {
        std::fs::remove_file(object).unwrap();
    }
    assert!(!backups.verify(&[report.backup.id], None, None).unwrap().is_well());
    let second = db.backup(place.path(), BackupOptions::default()).unwrap();
    assert!(backups.verify(&[second.backup.id], None, None).unwrap().is_well());
}

#[test]
fn restoring_refuses_what_is_in_the_way_and_what_is_not_there() {
    let (folder, place) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let db = Database::open(folder.path(), quiet()).unwrap();
    let notes = db.collection("notes", no_embedder()).unwrap();
    fill(&notes, &mut Model::new(), &mut fastrand::Rng::with_seed(16), 0..10);
    let backups = Backups::at(place.path());
    assert_eq!(backups.list().unwrap_err().kind, ErrorKind::NotFound);
    db.backup(place.path(), BackupOptions::default()).unwrap();
    let refused = backups.restore(folder.path(), RestoreOptions::default()).unwrap_err();
    assert!(refused.kind == ErrorKind::Invalid && refused.message.contains("is not empty"), "{refused}");
    let named = |backup: Option<&str>, collection: Option<&str>| RestoreOptions {
        backup: backup.map(str::to_string),
        collection: collection.map(str::to_string),
        ..RestoreOptions::default()
    };
    let target = folder.path().with_extension("restored");
    for options in
        [named(Some("000009-x"), None), named(Some("../NUTHATCH-BACKUPS"), None), named(None, Some("letters"))]
    {
        assert_eq!(backups.restore(&target, options).unwrap_err().kind, ErrorKind::NotFound);
        assert!(!target.exists());
    }
    let inside = db.backup(folder.path().join("backups"), BackupOptions::default()).unwrap_err();
    assert!(inside.message.contains("inside the data folder"), "{inside}");
    // Another database may share the place, and then the one that is meant must be named.
    let other = Database::in_memory(quiet()).unwrap();
    other.backup(place.path(), BackupOptions::default()).unwrap();
    let which = backups.restore(&target, RestoreOptions::default()).unwrap_err();
    assert!(which.message.contains("several data folders"), "{which}");
}

#[test]
fn one_collection_can_be_restored_alone() {
    let (folder, place) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut dice = fastrand::Rng::with_seed(17);
    let db = Database::open(folder.path(), quiet()).unwrap();
    let (mut notes, mut letters) = (Model::new(), Model::new());
    fill(&db.collection("notes", no_embedder()).unwrap(), &mut notes, &mut dice, 0..100);
    fill(&db.collection("letters", no_embedder()).unwrap(), &mut letters, &mut dice, 0..80);
    db.optimize().unwrap();
    db.backup(place.path(), BackupOptions::default()).unwrap();
    let target = tempfile::tempdir().unwrap();
    let options = RestoreOptions { collection: Some("letters".into()), ..RestoreOptions::default() };
    let report = Backups::at(place.path()).restore(target.path(), options).unwrap();
    assert_eq!((report.rows, &report.collections[..]), (80, &["letters".to_string()][..]));
    let restored = Database::open(target.path(), quiet()).unwrap();
    assert_eq!(restored.collection_names().unwrap(), ["letters"]);
    assert_same(&restored.existing_collection("letters").unwrap(), &letters, &mut dice, "letters");
}

#[test]
fn old_backups_go_and_the_rest_stays_whole() {
    let (folder, place) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut dice = fastrand::Rng::with_seed(18);
    let db = Database::open(folder.path(), quiet()).unwrap();
    let notes = db.collection("notes", no_embedder()).unwrap();
    let mut model = Model::new();
    for round in 0..4 {
        fill(&notes, &mut model, &mut dice, round * 50..round * 50 + 50);
        db.optimize().unwrap();
        db.backup(place.path(), BackupOptions::default()).unwrap();
    }
    let backups = Backups::at(place.path());
    let deleted = backups.keep(2).unwrap();
    assert!(deleted.backups.len() == 2 && deleted.objects > 0 && deleted.bytes > 0, "{deleted:?}");
    assert_eq!(backups.list().unwrap().len(), 2);
    assert!(backups.verify(&[], None, None).unwrap().is_well());
    assert_eq!(backups.keep(2).unwrap(), BackupsDeleted::default());
    let (_folder, restored) = restore(place.path(), None);
    assert_same(&restored.existing_collection("notes").unwrap(), &model, &mut dice, "newest");
}

#[test]
fn a_cancelled_backup_lists_nothing_and_leaves_nothing_in_the_folder() {
    let (folder, place) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let db = Database::open(folder.path(), quiet()).unwrap();
    let notes = db.collection("notes", no_embedder()).unwrap();
    fill(&notes, &mut Model::new(), &mut fastrand::Rng::with_seed(19), 0..100);
    let cancel = AtomicBool::new(false);
    let mut told = |_: &BackupProgress| cancel.store(true, Ordering::SeqCst);
    let options = BackupOptions { on_progress: Some(&mut told), cancel: Some(&cancel), ..BackupOptions::default() };
    assert_eq!(db.backup(place.path(), options).unwrap_err().kind, ErrorKind::Unavailable);
    assert!(Backups::at(place.path()).list().unwrap().is_empty());
    assert!(!folder.path().join("backing-up").exists());
}

/// The victim: backs up again and again until it is killed.
#[test]
#[ignore = "run by the test below in a process of its own"]
fn child_backs_up_until_it_is_killed() {
    let variable = |name: &str| std::env::var(name).expect("set by the parent");
    let db = Database::open(variable("NUTHATCH_CHILD_FOLDER"), quiet()).unwrap();
    let notes = db.existing_collection("notes").unwrap();
    for round in 0.. {
        notes.upsert(vec![Record::new(format!("extra{round}")).text("extra")]).unwrap();
        db.backup(variable("NUTHATCH_CHILD_PLACE"), BackupOptions::default()).unwrap();
    }
}

#[test]
#[cfg(unix)]
fn kill_9_during_a_backup_leaves_whole_backups_and_a_clean_folder() {
    let (folder, place) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut dice = fastrand::Rng::with_seed(20);
    let db = Database::open(folder.path(), quiet()).unwrap();
    let notes = db.collection("notes", no_embedder()).unwrap();
    let mut model = Model::new();
    fill(&notes, &mut model, &mut dice, 0..2000);
    db.optimize().unwrap();
    db.backup(place.path(), BackupOptions::default()).unwrap();
    db.close().unwrap();
    let rounds = if std::env::var_os("NUTHATCH_LONG").is_some() { 100 } else { 4 };
    let mut left_links = 0;
    for round in 0..rounds {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["child_backs_up_until_it_is_killed", "--exact", "--ignored"])
            .env("NUTHATCH_CHILD_FOLDER", folder.path())
            .env("NUTHATCH_CHILD_PLACE", place.path())
            .env("NUTHATCH_TEST_PAUSE", ["", "backup=40"][round % 2])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(dice.u64(80..500)));
        child.kill().unwrap(); // SIGKILL
        child.wait().unwrap();
        left_links += usize::from(folder.path().join("backing-up").exists());
        let db = Database::open(folder.path(), quiet()).unwrap();
        assert!(!folder.path().join("backing-up").exists(), "the next opening removes what was left");
        assert!(db.doctor().unwrap().is_well());
        let check = Backups::at(place.path()).verify(&[], None, None).unwrap();
        assert!(check.is_well(), "{check:?}");
        db.backup(place.path(), BackupOptions::default()).unwrap();
        db.close().unwrap();
        Backups::at(place.path()).keep(2).unwrap();
    }
    println!("{left_links} of {rounds} kills left links");
    let (_folder, restored) = restore(place.path(), None);
    let notes = restored.existing_collection("notes").unwrap();
    for id in notes.scan(&Scan { limit: 10_000, ..Scan::default() }).unwrap().records.into_iter().map(|r| r.id) {
        assert!(id.starts_with("extra") || model.contains_key(&id));
    }
    assert!(notes.len().unwrap() >= 2000);
}
