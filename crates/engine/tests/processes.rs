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

use nuthatch_engine::embed::FnEmbedder;
use nuthatch_engine::*;
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
    let refused = second.transaction().err().unwrap();
    assert_eq!(refused.kind, ErrorKind::Unavailable);
    assert!(refused.message.contains("close it there"), "{refused}");
    first.close().unwrap();
    assert_eq!(keys.multi_get(&["a", "b", "c"]).unwrap(), [Some(b"43".to_vec()), Some(b"2".to_vec()), None]);
    assert!(keys.expires_in("log").unwrap().unwrap().is_some() && keys.contains("b").unwrap());
    assert_eq!(keys.scan(&KeyScan::prefix("")).unwrap().entries.len(), 3);
    assert_eq!((keys.count_estimate("").unwrap(), notes.len().unwrap()), (3, 1));
    assert_eq!((keys.delete(&["a", "x"]).unwrap(), keys.delete_prefix("").unwrap()), (1, 2));
    assert!(second.transaction().is_ok(), "now it holds the folder");
    assert!(second.drop_keyspace("settings").unwrap());
    assert!(keys.get("a").unwrap_err().message.contains("was dropped"));
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
    assert_eq!(error.message, "embedder lengths: the function given failed: no vector for this");
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
    let hello = frame(br#"{"protocol": 1, "build": "test", "pid": 1, "program": "test", "lane": "by hand"}"#);
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
