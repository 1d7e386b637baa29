//! Many processes, one folder: served handles, takeovers, refusals, and what comes over the socket.
#![cfg(unix)]

mod support;

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nuthatch_link::embed::FnEmbedder;
use nuthatch_link::*;
use support::*;

fn open(folder: &Path) -> Database {
    Database::open(folder, quiet()).unwrap()
}

fn named(program: &str) -> Options {
    Options { program: program.into(), ..quiet() }
}

fn one(id: &str) -> Vec<Record> {
    vec![Record::new(id).text(format!("words of {id}"))]
}

#[test]
fn the_first_opener_holds_the_folder_and_the_next_are_served() {
    let folder = tempfile::tempdir().unwrap();
    let first = Database::open(folder.path(), named("first")).unwrap();
    let second = Database::open(folder.path(), named("second")).unwrap();
    let holders = [first.holder().unwrap(), second.holder().unwrap()];
    assert_eq!(holders.each_ref().map(|holder| holder.program.as_str()), ["first", "first"]);
    assert_eq!(holders.each_ref().map(|holder| holder.is_this), [true, false]);
    assert_eq!(holders[1].pid, std::process::id());
    let (here, there) =
        (first.collection("notes", no_embedder()).unwrap(), second.existing_collection("notes").unwrap());
    assert_eq!(there.upsert(one("a")).unwrap(), Upserted { inserted: 1, replaced: 0 });
    assert_eq!(here.search(&Search::text("words")).unwrap().hits[0].id, "a");
    assert_eq!(here.upsert(one("a")).unwrap(), Upserted { inserted: 0, replaced: 1 });
    assert_eq!(there.search(&Search::text("words")).unwrap().hits.len(), 1);
    assert_eq!(
        (there.metric(), there.element(), there.dim().unwrap()),
        (here.metric(), here.element(), here.dim().unwrap())
    );
    assert_eq!(there.info().unwrap(), here.info().unwrap());
    assert_eq!(second.collection_names().unwrap(), ["notes"]);
    assert_eq!(second.stats().unwrap().collections, first.stats().unwrap().collections);
    assert!(second.doctor().unwrap().is_well());
    assert!(second.drop_collection("notes").unwrap() && !second.drop_collection("notes").unwrap());
    for dropped in [here.len().unwrap_err(), there.len().unwrap_err(), there.upsert(one("b")).unwrap_err()] {
        assert_eq!(dropped.kind, ErrorKind::NotFound, "{dropped}");
        assert!(dropped.message.contains("was dropped"), "{dropped}");
    }
    second.collection("notes", no_embedder()).unwrap();
    assert!(there.len().unwrap_err().message.contains("was dropped"), "another collection of the same name is another");
}

#[test]
fn an_error_says_which_thing_it_is_about_here_and_over_the_socket() {
    let folder = tempfile::tempdir().unwrap();
    let (here, there) = (open(folder.path()), open(folder.path()));
    for db in [&here, &there] {
        let about = |error: Error| (error.kind, error.subject.map(|subject| (subject.what, subject.name)));
        let is = |what: What, name: &str| (ErrorKind::NotFound, Some((what, name.to_string())));
        assert_eq!(about(db.existing_collection("notes").err().unwrap()), is(What::Collection, "notes"));
        assert_eq!(about(db.existing_keyspace("seen").err().unwrap()), is(What::Keyspace, "seen"));
        assert_eq!(about(db.existing_graph("links").err().unwrap()), is(What::Graph, "links"));
        assert_eq!(about(db.tenant("acme").err().unwrap()), is(What::Tenant, "acme"));
        let docs = db.collection("docs", no_embedder()).unwrap();
        assert_eq!(about(docs.search(&Search::like("none")).unwrap_err()), is(What::Record, "none"));
        let keys = db.kv("keys").unwrap();
        db.drop_collection("docs").unwrap();
        db.drop_keyspace("keys").unwrap();
        assert_eq!(about(docs.len().unwrap_err()), is(What::Collection, "docs"));
        let dropped = keys.get("a").unwrap_err();
        assert!(dropped.is_missing(What::Keyspace) && !dropped.is_missing(What::Key), "{dropped}");
        assert_eq!(about(dropped), is(What::Keyspace, "keys"));
        assert_eq!(db.collection("no/name", no_embedder()).err().unwrap().subject, None);
    }
}

#[test]
fn a_closing_holder_hands_over_and_nobody_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let mut handles: Vec<Database> = (0..3).map(|_| open(folder.path())).collect();
    let notes: Vec<Collection> = handles.iter().map(|db| db.collection("notes", no_embedder()).unwrap()).collect();
    let stop = AtomicBool::new(false);
    let written = std::thread::scope(|scope| {
        let writers: Vec<_> = notes[1..]
            .iter()
            .enumerate()
            .map(|(writer, notes)| {
                let stop = &stop;
                scope.spawn(move || {
                    let mut written = 0;
                    while !stop.load(Ordering::SeqCst) {
                        match notes.upsert(one(&format!("{writer}-{written}"))) {
                            Ok(done) => assert_eq!(done, Upserted { inserted: 1, replaced: 0 }),
                            Err(error) if error.kind == ErrorKind::Closed => break, // its own handle was closed
                            Err(error) => panic!("{error}"),
                        }
                        written += 1;
                    }
                    written
                })
            })
            .collect();
        for db in handles.drain(..2) {
            std::thread::sleep(Duration::from_millis(150));
            db.close().unwrap();
            assert_eq!(db.stats().unwrap_err().kind, ErrorKind::Closed);
        }
        std::thread::sleep(Duration::from_millis(150));
        stop.store(true, Ordering::SeqCst);
        writers.into_iter().map(|writer| writer.join().unwrap()).sum::<u64>()
    });
    let last = &handles[0];
    assert!(last.holder().unwrap().is_this);
    let count = notes[2].len().unwrap();
    // The handle that was closed may have been in the middle of a write, which then happened or did not.
    assert!((written..=written + 1).contains(&count), "{written} acknowledged, {count} there");
}

#[test]
fn keys_and_batches_go_to_the_holder_and_outlive_it() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (open(folder.path()), open(folder.path()));
    let notes = second.collection("notes", no_embedder()).unwrap();
    let keys = second.kv("settings").unwrap().with_durability(Durability::Os);
    keys.put("a", "1").unwrap();
    assert_eq!(first.kv("settings").unwrap().get("a").unwrap().as_deref(), Some(&b"1"[..]));
    assert_eq!(keys.increment("a", 41).unwrap(), 42);
    assert_eq!(keys.append("log", b"xy").unwrap(), 2);
    assert!(keys.compare_and_set("a", Some(b"42"), Some(b"43"), None).unwrap());
    assert!(!keys.compare_and_set("a", Some(b"42"), None, None).unwrap());
    assert!(keys.expire("log", Some(Duration::from_secs(600))).unwrap());
    let mut batch = WriteBatch::new();
    batch.put("settings", "b", "2").upsert("notes", one("r"));
    second.write(batch).unwrap();
    first.close().unwrap();
    assert_eq!(keys.multi_get(&["a", "b", "c"]).unwrap(), [Some(b"43".to_vec()), Some(b"2".to_vec()), None]);
    assert!(keys.expires_in("log").unwrap().unwrap().is_some() && keys.contains("b").unwrap());
    assert_eq!(keys.scan(&KeyScan::prefix("")).unwrap().entries.len(), 3);
    assert_eq!((keys.count_estimate("").unwrap(), notes.len().unwrap()), (3, 1));
    assert_eq!((keys.delete(&["a", "x"]).unwrap(), keys.delete_prefix("").unwrap()), (1, 2));
    assert!(second.drop_keyspace("settings").unwrap());
    assert!(keys.get("a").unwrap_err().message.contains("was dropped"));
}

#[test]
fn a_snapshot_in_the_holder_shows_one_moment_and_goes_with_its_handle_or_its_holder() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (open(folder.path()), open(folder.path()));
    let notes = second.collection("notes", no_embedder()).unwrap();
    let keys = second.kv("keys").unwrap();
    notes.upsert(vec![Record::new("a").text("alpha").vector(vec![1.0, 0.0])]).unwrap();
    keys.put("k", "then").unwrap();
    let snapshot = second.snapshot().unwrap();
    let (kept, kept_keys) = (snapshot.collection("notes").unwrap(), snapshot.kv("keys").unwrap());
    let nothing = snapshot.kv("later").unwrap();
    notes.upsert(vec![Record::new("b").text("alpha again").vector(vec![0.0, 1.0])]).unwrap();
    notes.delete(&["a"]).unwrap();
    keys.put("k", "now").unwrap();
    keys.put("more", "x").unwrap();
    second.kv("later").unwrap().put("k", "x").unwrap();
    second.collection("afterwards", no_embedder()).unwrap();
    assert_eq!((kept.name(), kept.count(None).unwrap()), ("notes", 1));
    assert_eq!(kept.get(&["a", "b"], true).unwrap().iter().map(Option::is_some).collect::<Vec<_>>(), [true, false]);
    assert_eq!(kept.scan(&Scan { limit: 10, ..Scan::default() }).unwrap().records[0].id, "a");
    let searches = [Search::text("alpha"), Search::vector(vec![0.0, 1.0])];
    assert_eq!(kept.search(&searches[0]).unwrap().hits.len(), 1);
    for answer in kept.search_many(&searches).unwrap() {
        assert_eq!(answer.hits.iter().map(|hit| hit.id.as_str()).collect::<Vec<_>>(), ["a"]);
    }
    assert!(kept.files("").unwrap().is_empty());
    assert_eq!(kept_keys.get("k").unwrap().unwrap(), b"then");
    assert_eq!(kept_keys.multi_get(&["more", "k"]).unwrap(), [None, Some(b"then".to_vec())]);
    assert_eq!(kept_keys.scan(&KeyScan::default()).unwrap().entries.len(), 1);
    assert_eq!(nothing.get("k").unwrap(), None);
    assert_eq!(snapshot.collection("afterwards").err().unwrap().kind, ErrorKind::NotFound);
    second.drop_collection("notes").unwrap();
    assert_eq!(kept.count(None).unwrap(), 1, "after dropping the collection");

    let other = second.snapshot().unwrap();
    assert_eq!(first.stats().unwrap().snapshots, 2);
    other.close();
    assert_eq!(other.kv("keys").err().unwrap().kind, ErrorKind::Closed);
    wait_until(|| first.stats().unwrap().snapshots == 1);
    first.close().unwrap();
    for error in [kept.count(None).unwrap_err(), kept_keys.get("k").unwrap_err(), snapshot.kv("keys").err().unwrap()] {
        assert_eq!(error.kind, ErrorKind::Conflict, "{error}");
        assert!(error.message.contains("begin another one"), "{error}");
    }
    assert_eq!(second.snapshot().unwrap().kv("keys").unwrap().get("k").unwrap().unwrap(), b"now");
}

#[test]
fn what_a_handle_that_is_closed_has_taken_goes_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (open(folder.path()), open(folder.path()));
    let snapshot = second.snapshot().unwrap();
    let transaction = second.transaction().unwrap();
    assert_eq!(first.stats().unwrap().snapshots, 2);
    second.close().unwrap();
    wait_until(|| first.stats().unwrap().snapshots == 0);
    assert_eq!(snapshot.kv("keys").err().unwrap().kind, ErrorKind::Closed);
    assert_eq!(transaction.kv("keys").err().unwrap().kind, ErrorKind::Closed);
}

#[test]
fn the_holder_keeps_as_many_for_a_tenant_as_it_may_over_all_faces() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { snapshots_max: 3, ..named("first") };
    let first = Database::open(folder.path(), options).unwrap();
    let second = Database::open(folder.path(), named("second")).unwrap();
    let owner = Owner { tenant: None, holder: Holder::Key(None) };
    first.kept_snapshots().keep(&owner, "of a client", None, || first.snapshot()).unwrap();
    let kept = [second.snapshot().unwrap(), second.snapshot().unwrap()];
    let refused = second.snapshot().map(drop).unwrap_err();
    assert!(refused.kind == ErrorKind::Exhausted && refused.message.contains("3 snapshots"), "{refused}");
    assert_eq!(first.stats().unwrap().snapshots, 3);
    assert_eq!(second.stats().unwrap().snapshots, 3);
    first.create_tenant("amber").unwrap();
    let amber = second.tenant("amber").unwrap();
    let of_amber = amber.snapshot().unwrap();
    assert!(of_amber.kv("k").unwrap().get("a").unwrap().is_none());
    assert_eq!(amber.stats().unwrap().snapshots, 1);
    drop(kept);
    wait_until(|| first.stats().unwrap().snapshots == 2);
    second.snapshot().unwrap().kv("k").unwrap();
    // Ids of the one are no ids of the other.
    assert!(first.kept_snapshots().list(&owner, true).iter().all(|one| one.id == "of a client"));
}

#[test]
fn transactions_of_served_handles_read_their_own_writes_and_conflict_as_any_other() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (open(folder.path()), open(folder.path()));
    let notes = first.collection("notes", no_embedder()).unwrap();
    let keys = first.kv("keys").unwrap();
    keys.put("read", "1").unwrap();
    notes.upsert(one("a")).unwrap();

    let transaction = second.transaction().unwrap();
    let (inside, records) = (transaction.kv("keys").unwrap(), transaction.collection("notes").unwrap());
    inside.put("written", "mine").unwrap();
    keys.put("other", "theirs").unwrap();
    assert_eq!(inside.get("written").unwrap().unwrap(), b"mine");
    assert_eq!(inside.get("read").unwrap().unwrap(), b"1");
    let scan = KeyScan { from: std::ops::Bound::Included(b"r".to_vec()), ..KeyScan::default() };
    let seen: Vec<_> = inside.scan(&scan).unwrap().entries.into_iter().map(|(key, _)| key).collect();
    assert_eq!(seen, [b"read".to_vec(), b"written".to_vec()]);
    records.upsert(one("b")).unwrap();
    records.delete(&["a"]).unwrap();
    let got = records.get(&["a", "b"], false).unwrap();
    assert!(got[0].is_none() && got[1].is_some());
    assert_eq!(records.search(&Search::text("words")).unwrap().hits[0].id, "a", "of the moment when it began");
    transaction.commit(Durability::Commit).unwrap();
    assert_eq!(transaction.commit(Durability::Commit).unwrap_err().kind, ErrorKind::Closed);
    assert_eq!(keys.get("written").unwrap().unwrap(), b"mine");
    assert_eq!(notes.search(&Search::text("words")).unwrap().hits[0].id, "b");

    type Change<'c> = (&'c str, &'c dyn Fn(), bool);
    let changes: [Change<'_>; 5] = [
        ("the key it read", &|| keys.put("read", "2").unwrap(), true),
        ("the key it writes", &|| keys.put("written", "2").unwrap(), true),
        ("a key in the range it read", &|| keys.put("range/7", "2").unwrap(), true),
        ("the collection it counted", &|| assert_eq!(notes.upsert(one("z")).unwrap().inserted, 1), true),
        ("another key", &|| keys.put("another", "2").unwrap(), false),
    ];
    for (what, change, conflicts) in changes {
        let transaction = second.transaction().unwrap();
        let inside = transaction.kv("keys").unwrap();
        inside.get("read").unwrap();
        inside.scan(&KeyScan::prefix("range/")).unwrap();
        transaction.collection("notes").unwrap().count(None).unwrap();
        inside.put("written", "1").unwrap();
        change();
        let outcome = transaction.commit(Durability::Commit);
        assert_eq!(outcome.as_ref().is_err_and(|error| error.kind == ErrorKind::Conflict), conflicts, "{what}");
        assert_eq!(outcome.is_ok(), !conflicts, "{what}: {outcome:?}");
    }
    let sum = |transaction: &Transaction| {
        let inside = transaction.kv("counts")?;
        let old: u64 = inside.get("n")?.map_or(0, |bytes| String::from_utf8(bytes).unwrap().parse().unwrap());
        inside.put("n", (old + 1).to_string())
    };
    std::thread::scope(|scope| {
        for db in [&first, &second, &second] {
            scope.spawn(move || (0..20).for_each(|_| db.transact(10_000, sum).unwrap()));
        }
    });
    assert_eq!(first.kv("counts").unwrap().get("n").unwrap().unwrap(), b"60");
    wait_until(|| first.stats().unwrap().snapshots == 0); // each is let go with its transaction

    let transaction = second.transaction().unwrap();
    transaction.kv("keys").unwrap().put("never", "1").unwrap();
    first.close().unwrap();
    let error = transaction.commit(Durability::Commit).unwrap_err();
    assert!(error.kind == ErrorKind::Conflict && error.message.contains("begin another one"), "{error}");
    assert_eq!(second.kv("keys").unwrap().get("never").unwrap(), None);
    second.transact(0, sum).unwrap();
}

#[test]
fn a_transaction_goes_on_with_the_next_holder_and_uses_up_no_retry() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (open(folder.path()), open(folder.path()));
    let mut runs = 0;
    let value = second.transact(0, |transaction| {
        runs += 1;
        let keys = transaction.kv("keys")?;
        if runs == 1 {
            first.close().unwrap();
        }
        keys.put("k", runs.to_string())?;
        Ok(runs)
    });
    assert_eq!((value.unwrap(), runs), (2, 2));
    assert_eq!(second.kv("keys").unwrap().get("k").unwrap().unwrap(), b"2");
}

#[test]
fn embedders_that_a_served_handle_brought_serve_batches_snapshots_and_transactions() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (open(folder.path()), open(folder.path()));
    let embedder = FnEmbedder::new("lengths", 2, |texts: &[&str]| {
        Ok(texts.iter().map(|text| vec![text.len() as f32, 1.0]).collect())
    });
    let options = CollectionOptions { embedder: EmbedderChoice::Given(Arc::new(embedder.unwrap())), ..no_embedder() };
    let notes = second.collection("notes", options).unwrap();
    let mut batch = WriteBatch::new();
    batch.upsert("notes", vec![Record::new("short").text("word")]);
    second.write(batch).unwrap();
    let long = |transaction: &Transaction| {
        transaction.collection("notes")?.upsert(vec![Record::new("long").text("many words here")])
    };
    second.transact(0, long).unwrap();
    let near = Search::text("four").mode(Mode::Vector);
    assert_eq!(notes.search(&near).unwrap().hits.len(), 2);
    let kept = second.snapshot().unwrap().collection("notes").unwrap();
    assert_eq!(kept.search(&near).unwrap().hits[0].id, "short");
    first.close().unwrap();
    // It holds the folder now, and no handle of the collection has been used since.
    let mut batch = WriteBatch::new();
    batch.upsert("notes", vec![Record::new("after").text("taken over")]);
    second.write(batch).unwrap();
    assert_eq!(second.snapshot().unwrap().collection("notes").unwrap().search(&near).unwrap().hits.len(), 3);
}

#[test]
fn backups_exports_imports_and_migrations_work_in_a_served_process() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (open(folder.path()), open(folder.path()));
    let notes = second.collection("notes", no_embedder()).unwrap();
    notes.upsert((0..3000).map(|n| Record::new(n.to_string()).text(format!("words number{n}"))).collect()).unwrap();
    second.kv("keys").unwrap().put("k", "v").unwrap();
    notes.wait_until_indexed(None).unwrap();
    assert_eq!(second.migration().unwrap(), first.migration().unwrap());
    assert!(second.migrate().unwrap().steps.is_empty());

    let place = tempfile::tempdir().unwrap();
    let backups = place.path().join("backups");
    let mut told: Vec<BackupProgress> = Vec::new();
    let mut on_progress = |progress: &BackupProgress| told.push(*progress);
    let options = BackupOptions { on_progress: Some(&mut on_progress), ..BackupOptions::default() };
    let report = second.backup(&backups, options).unwrap();
    assert_eq!((report.backup.rows(), report.backup.left_out.len()), (3000, 0));
    let last = told.last().unwrap();
    assert!(last.bytes_done == last.bytes_total && last.bytes_total > 0, "{last:?}");
    let inside = second.backup(folder.path().join("inside"), BackupOptions::default()).unwrap_err();
    assert_eq!(inside.kind, ErrorKind::Invalid, "{inside}");
    assert!(!folder.path().join("inside").exists());
    let cancel = AtomicBool::new(true);
    let options = BackupOptions { cancel: Some(&cancel), ..BackupOptions::default() };
    let error = second.backup(&backups, options).unwrap_err();
    assert!(error.kind == ErrorKind::Unavailable && error.message.contains("was cancelled"), "{error}");
    assert_eq!(Backups::at(&backups).list().unwrap().len(), 1);
    Backups::at(&backups).restore(place.path().join("restored"), RestoreOptions::default()).unwrap();

    let (mut told, exported) = (Vec::new(), place.path().join("exported"));
    let mut on_progress = |progress: &TransferProgress| told.push(progress.clone());
    let options = ExportOptions { on_progress: Some(&mut on_progress), ..ExportOptions::default() };
    let report = second.export(&exported, options).unwrap();
    assert_eq!((report.records, report.keys, report.folder.as_path()), (3000, 1, exported.as_path()));
    assert!(told.iter().any(|progress| progress.name == "notes" && progress.done == 3000), "{told:?}");
    let here = place.path().join("exported here");
    let same = first.export(&here, ExportOptions::default()).unwrap();
    assert_eq!((same.records, same.bytes), (report.records, report.bytes));
    let records = |export: &Path| std::fs::read(export.join("collections/000-notes/records.jsonl")).unwrap();
    assert!(records(&exported) == records(&here));
    let error = second.export(&exported, ExportOptions::default()).unwrap_err();
    assert!(error.kind == ErrorKind::Invalid && error.message.contains("is not empty"), "{error}");
    let options = ExportOptions { cancel: Some(&cancel), ..ExportOptions::default() };
    let error = second.export(place.path().join("never"), options).unwrap_err();
    assert_eq!((error.kind, error.message.as_str()), (ErrorKind::Unavailable, "cancelled"));

    let other = tempfile::tempdir().unwrap();
    let (holder, served) = (open(other.path()), open(other.path()));
    let report = served.import(&exported, ImportOptions::default()).unwrap();
    assert_eq!((report.records, report.keys), (3000, 1));
    let error = served.import(&exported, ImportOptions::default()).unwrap_err();
    assert!(error.kind == ErrorKind::Invalid && error.message.contains("already exists"), "{error}");
    served.import(&exported, ImportOptions { merge: true, ..ImportOptions::default() }).unwrap();
    assert_eq!(holder.existing_collection("notes").unwrap().len().unwrap(), 3000);
    assert_eq!(holder.kv("keys").unwrap().get("k").unwrap().unwrap(), b"v");
}

#[test]
fn a_backup_and_an_export_begin_again_when_the_holder_closes() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (open(folder.path()), open(folder.path()));
    let notes = second.collection("notes", no_embedder()).unwrap();
    let mut dice = fastrand::Rng::with_seed(1);
    for n in 0..10 {
        let mut words = || (0..300).map(|_| format!("{:06x} ", dice.u32(..1 << 24))).collect::<String>();
        notes.upsert((0..200).map(|m| Record::new(format!("{n}-{m}")).text(words())).collect()).unwrap();
    }
    let place = tempfile::tempdir().unwrap();
    // Closes the holder, and comes back as soon as that has begun.
    let close = |db: Database| {
        let closing = std::thread::spawn(move || db.close().unwrap());
        wait_until(|| !folder.path().join("SOCKET").exists());
        closing
    };
    let (mut holder, mut closing, mut told) = (Some(first), None, Vec::new());
    let mut on_progress = |progress: &TransferProgress| {
        told.push(progress.done);
        holder.take().into_iter().for_each(|db| closing = Some(close(db)));
    };
    let options = ExportOptions { on_progress: Some(&mut on_progress), ..ExportOptions::default() };
    let exported = place.path().join("exported");
    assert_eq!(second.export(&exported, options).unwrap().records, 2000);
    closing.take().unwrap().join().unwrap();
    assert!(second.holder().unwrap().is_this);
    assert!(told.windows(2).any(|pair| pair[1] < pair[0] || pair == [256, 256]), "it began again: {told:?}");
    let lines = std::fs::read_to_string(exported.join("collections/000-notes/records.jsonl")).unwrap();
    assert_eq!(lines.lines().count(), 2000);

    let third = open(folder.path());
    let mut holder = Some(second);
    let mut on_progress = |_: &BackupProgress| holder.take().into_iter().for_each(|db| closing = Some(close(db)));
    let on_progress: Option<&mut (dyn FnMut(&BackupProgress) + Send)> = Some(&mut on_progress);
    let options = BackupOptions { rate_bytes_per_second: Some(8 << 20), on_progress, ..BackupOptions::default() };
    let backups = place.path().join("backups");
    assert_eq!(third.backup(&backups, options).unwrap().backup.rows(), 2000);
    closing.take().unwrap().join().unwrap();
    assert!(third.holder().unwrap().is_this);
    assert!(Backups::at(&backups).verify(&[], None, None).unwrap().is_well());
}

/// Waits for what another thread is about to do.
fn wait_until(is_so: impl Fn() -> bool) {
    let until = std::time::Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(std::time::Instant::now() < until, "it does not come to be");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn an_embedder_stays_with_the_process_that_brought_it() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (open(folder.path()), open(folder.path()));
    let ours = std::thread::current().id();
    let embedder = FnEmbedder::new("lengths", 2, move |texts: &[&str]| {
        assert_eq!(std::thread::current().id(), ours, "it is called by the thread whose call needs it");
        match texts.contains(&"bad") {
            true => Err("no vector for this".into()),
            false => Ok(texts.iter().map(|text| vec![text.len() as f32, 1.0]).collect()),
        }
    });
    let options = CollectionOptions { embedder: EmbedderChoice::Given(Arc::new(embedder.unwrap())), ..no_embedder() };
    let notes = second.collection("notes", options).unwrap();
    notes.upsert(vec![Record::new("long").text("many words here"), Record::new("short").text("word")]).unwrap();
    let hits = notes.search(&Search::text("four").mode(Mode::Vector)).unwrap().hits;
    assert_eq!((hits[0].id.as_str(), hits[0].score), ("short", 0.0));
    let error = notes.upsert(vec![Record::new("x").text("bad")]).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unavailable);
    assert_eq!(error.message, "embedder lengths: the given function failed: no vector for this");
    // The holder was not given it.
    let error = first.existing_collection("notes").unwrap().upsert(one("y")).unwrap_err();
    assert!(error.message.contains("\"lengths\""), "{error}");
    first.close().unwrap();
    notes.upsert(vec![Record::new("after").text("taken over")]).unwrap();
    assert_eq!(notes.len().unwrap(), 3);
}

#[test]
fn files_are_read_by_the_process_that_adds_them() {
    let folder = tempfile::tempdir().unwrap();
    let papers = tempfile::tempdir().unwrap();
    for n in 0..20 {
        std::fs::write(papers.path().join(format!("{n}.md")), format!("# Paper {n}\n\nAbout thing{n}.\n")).unwrap();
    }
    let (first, second) = (open(folder.path()), open(folder.path()));
    let documents = second.collection("documents", no_embedder()).unwrap();
    let paths = [papers.path().to_path_buf()];
    let mut told = 0;
    let mut on_progress = |_: &Progress| told += 1;
    let options = AddOptions { on_progress: Some(&mut on_progress), ..AddOptions::default() };
    let report = documents.add(&paths, options).unwrap();
    assert_eq!((report.files_added, report.passages_added), (20, 20));
    assert!(told > 0);
    std::fs::remove_file(papers.path().join("3.md")).unwrap();
    let cancel = AtomicBool::new(true);
    let cancelled = AddOptions { cancel: Some(&cancel), ..AddOptions::default() };
    assert!(documents.add(&paths, cancelled).unwrap().cancelled);
    let report = documents.add(&paths, AddOptions { prune: true, ..AddOptions::default() }).unwrap();
    assert_eq!((report.files_unchanged, report.files_pruned), (19, 1));
    assert_eq!(documents.search(&Search::text("thing7")).unwrap().hits.len(), 1);
    assert_eq!(documents.files("").unwrap(), first.existing_collection("documents").unwrap().files("").unwrap());
    std::fs::write(papers.path().join("3.md"), "# Paper 3\n\nAbout thing3 again.\n").unwrap();
    let mut batch = WriteBatch::new();
    batch.add_files(&documents, &paths, AddOptions::default()).unwrap();
    batch.put("state", "papers", "20");
    second.write(batch).unwrap();
    assert_eq!(first.existing_collection("documents").unwrap().files("").unwrap().len(), 20);
    first.close().unwrap();
    assert_eq!(documents.remove_files(&papers.path().canonicalize().unwrap().to_string_lossy()).unwrap(), 20);
}

#[test]
fn time_limits_and_cancelling_reach_the_holder() {
    let folder = tempfile::tempdir().unwrap();
    let (_first, second) = (open(folder.path()), open(folder.path()));
    let notes = second.collection("notes", no_embedder()).unwrap();
    let records = (0..2000).map(|n| Record::new(n.to_string()).vector(vec![n as f32, 1.0]).text("word")).collect();
    notes.upsert(records).unwrap();
    let error = notes.search(&Search::text("word").time_limit(Duration::ZERO)).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unavailable);
    let cancelled = Search { cancel: Some(Arc::new(AtomicBool::new(true))), ..Search::vector(vec![1.0, 1.0]) };
    let many = vec![cancelled; 64];
    match notes.search_many(&many) {
        Err(error) => assert_eq!(error.kind, ErrorKind::Unavailable),
        // Cancelling is a wish: what has been answered by then is answered.
        Ok(answers) => assert_eq!(answers.len(), 64),
    }
    assert_eq!(notes.search_many(&[Search::text("word"), Search::like("7")]).unwrap()[1].hits.len(), 10);
    let error = notes.search_many(&[Search::text("word"), Search::like("nobody")]).unwrap_err();
    assert_eq!((error.kind, error.message.starts_with("search 1: ")), (ErrorKind::NotFound, true));
}

#[test]
fn who_does_not_share_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let alone = Database::open(folder.path(), Options { exclusive: true, ..named("the only one") }).unwrap();
    let error = Database::open(folder.path(), quiet()).err().unwrap();
    assert_eq!(error.kind, ErrorKind::Conflict);
    for part in [&std::process::id().to_string(), "the only one", " since 20", "opened as exclusive", "close it there"]
    {
        assert!(error.message.contains(part), "{part:?} in {error}");
    }
    alone.close().unwrap();
    let sharing = Database::open(folder.path(), named("sharing")).unwrap();
    let error = Database::open(folder.path(), Options { exclusive: true, ..quiet() }).err().unwrap();
    assert!(error.kind == ErrorKind::Conflict && error.message.contains("sharing"), "{error}");
    let error = Database::repair(folder.path(), quiet()).err().unwrap();
    assert!(error.kind == ErrorKind::Conflict && error.message.contains("sharing"), "{error}");
    sharing.close().unwrap();
    assert!(!folder.path().join("SOCKET").exists());
    Database::repair(folder.path(), quiet()).unwrap();
}

fn frame(body: &[u8]) -> Vec<u8> {
    [&(body.len() as u32).to_le_bytes()[..], &crc32c::crc32c(body).to_le_bytes(), body].concat()
}

/// Connects by hand, says this, and returns what came back until the holder hung up.
fn say(folder: &Path, bytes: &[u8]) -> Vec<u8> {
    let mut stream = UnixStream::connect(folder.join("SOCKET")).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    stream.write_all(bytes).ok(); // it may have hung up already
    stream.shutdown(std::net::Shutdown::Write).ok();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).ok();
    answer
}

#[test]
fn another_version_is_refused_with_both_versions() {
    let folder = tempfile::tempdir().unwrap();
    let _db = open(folder.path());
    let hello = br#"{"protocol": 999, "build": "nuthatch 9.9.9", "pid": 1, "program": "later", "news": true}"#;
    let answer = String::from_utf8_lossy(&say(folder.path(), &frame(hello))).into_owned();
    assert!(answer.contains("process protocol 999") && answer.contains("nuthatch 9.9.9"), "{answer}");
    assert!(answer.contains(&format!("nuthatch {}", env!("CARGO_PKG_VERSION"))), "{answer}");
}

#[test]
fn whatever_comes_over_the_socket_only_that_connection_ends() {
    let folder = tempfile::tempdir().unwrap();
    let (db, served) = (open(folder.path()), open(folder.path()));
    let notes = served.collection("notes", no_embedder()).unwrap();
    notes.upsert(one("a")).unwrap();
    let mode = std::fs::metadata(folder.path().join("SOCKET")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let mut dice = fastrand::Rng::with_seed(7);
    let hello = frame(br#"{"protocol": 2, "build": "test", "pid": 1, "program": "test", "lane": "by hand"}"#);
    for round in 0..200 {
        let mut bytes: Vec<u8> = (0..dice.usize(..300)).map(|_| dice.u8(..)).collect();
        if round % 2 == 0 {
            bytes = frame(&bytes); // sound outside, nonsense inside
        }
        if round % 4 < 2 {
            bytes = [hello.clone(), bytes].concat();
        }
        say(folder.path(), &bytes);
    }
    assert_eq!(notes.search(&Search::text("words")).unwrap().hits.len(), 1);
    assert_eq!(db.collections().unwrap()[0].rows, 1);
}

#[test]
fn a_folder_may_lie_deeper_than_a_socket_address_reaches() {
    let folder = tempfile::tempdir().unwrap();
    let deep = folder.path().join("d".repeat(100)).join("e".repeat(100));
    let (first, second) = (open(&deep), open(&deep));
    let notes = second.collection("notes", no_embedder()).unwrap();
    notes.upsert(one("a")).unwrap();
    assert!(!second.holder().unwrap().is_this);
    first.close().unwrap();
    assert_eq!(notes.len().unwrap(), 1);
    assert!(second.holder().unwrap().is_this);
}

#[test]
fn a_lock_that_a_dead_holder_left_to_its_fork_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    open(folder.path()).close().unwrap();
    let path = folder.path().join("LOCK");
    let mut holder: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    // As a fork of a killed process leaves it: locked by somebody, in the name of nobody alive.
    let orphan = std::fs::File::open(&path).unwrap();
    orphan.lock().unwrap();
    let mut gone = std::process::Command::new("true").spawn().unwrap();
    holder["pid"] = gone.id().into();
    gone.wait().unwrap();
    std::fs::write(&path, holder.to_string()).unwrap();
    let db = open(folder.path());
    assert!(db.holder().unwrap().is_this);
    assert!(!open(folder.path()).holder().unwrap().is_this, "and the new lock holds");
    // In the name of a process that may live on another machine, nothing is certain.
    db.close().unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let mut holder: serde_json::Value = serde_json::from_str(&text).unwrap();
    holder["identity"]["boot"] = "another machine".into();
    holder["unshared"] = "it is far away".into();
    std::fs::write(&path, holder.to_string()).unwrap();
    let far = std::fs::File::open(&path).unwrap();
    far.lock().unwrap();
    let error = Database::open(folder.path(), quiet()).err().unwrap();
    assert!(error.kind == ErrorKind::Conflict && error.message.contains("far away"), "{error}");
}
