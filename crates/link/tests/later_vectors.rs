//! Vectors that come after the passages: words at once, every vector in the end, and nothing that was deleted comes back.
#![cfg(unix)]

use std::collections::HashSet;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use nuthatch_link::embed::{EmbedError, Embedder};
use nuthatch_link::*;

/// Embeds while its gate is open, and remembers what it was asked.
#[derive(Default)]
struct Gate {
    open: AtomicBool,
    asked: Mutex<Vec<String>>,
    /// Holds up each text, in milliseconds.
    pace_ms: u64,
}

impl Gate {
    fn opened() -> Arc<Self> {
        Arc::new(Self { open: AtomicBool::new(true), ..Self::default() })
    }

    fn closed() -> Arc<Self> {
        Arc::default()
    }

    fn let_through(&self) {
        self.open.store(true, Ordering::SeqCst);
    }

    fn has_begun(&self) {
        while self.asked.lock().unwrap().is_empty() {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

fn vector_of(text: &str) -> Vec<f32> {
    vec![text.len() as f32, text.bytes().map(f32::from).sum::<f32>() + 1.0]
}

impl Embedder for Gate {
    fn name(&self) -> &str {
        "gate"
    }

    fn dim(&self) -> usize {
        2
    }

    fn fingerprint(&self) -> &str {
        "gate-1"
    }

    fn embed_passages(&self, texts: &[&str]) -> std::result::Result<Vec<Vec<f32>>, EmbedError> {
        self.asked.lock().unwrap().extend(texts.iter().map(|text| text.to_string()));
        // Not for ever: a test that fails closes its database, which waits.
        let began = Instant::now();
        while !self.open.load(Ordering::SeqCst) && began.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(2));
        }
        std::thread::sleep(Duration::from_millis(self.pace_ms * texts.len() as u64));
        Ok(texts.iter().map(|text| vector_of(text)).collect())
    }

    fn embed_query(&self, text: &str) -> std::result::Result<Vec<f32>, EmbedError> {
        Ok(vector_of(text))
    }

    fn runs_alone(&self) -> bool {
        true
    }
}

fn with(gate: &Arc<Gate>) -> CollectionOptions {
    CollectionOptions { embedder: EmbedderChoice::Given(gate.clone()), ..CollectionOptions::default() }
}

fn papers(count: usize) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for n in 0..count {
        paper(folder.path(), n, "first");
    }
    folder
}

fn paper(folder: &Path, n: usize, version: &str) {
    std::fs::write(folder.join(format!("{n}.md")), format!("# Paper {n}\n\nAbout thing{n} {version}.\n")).unwrap();
}

fn add(collection: &Collection, papers: &Path, options: AddOptions<'_>) -> AddReport {
    collection.add(&[papers.to_path_buf()], options).unwrap()
}

fn ids(collection: &Collection, text: &str) -> Vec<String> {
    let search = Search::text(text).mode(Mode::Text).limit(100);
    collection.search(&search).unwrap().hits.into_iter().map(|hit| hit.id).collect()
}

fn everything(collection: &Collection) -> Vec<StoredRecord> {
    collection.scan(&Scan { limit: 10_000, vectors: true, ..Scan::default() }).unwrap().records
}

fn is_whole(collection: &Collection, records: usize) {
    let info = collection.info().unwrap();
    assert_eq!((info.rows, info.vectors, info.pending), (records as u64, records as u64, 0));
    let all = everything(collection);
    assert_eq!(all.len(), records);
    for record in all {
        let text = [record.context, record.text].into_iter().flatten().collect::<Vec<_>>().join("\n");
        assert_eq!(record.vector, Some(vector_of(&text)), "{}", record.id);
    }
}

#[test]
fn a_passage_is_found_by_its_words_before_it_has_a_vector_and_the_answer_says_so() {
    let (gate, papers) = (Gate::closed(), papers(20));
    let db = Database::in_memory(Options::default()).unwrap();
    let docs = db.collection("docs", with(&gate)).unwrap();
    let report = add(&docs, papers.path(), AddOptions::default());
    assert_eq!((report.passages_added, report.passages_pending), (20, 20));
    let answer = docs.search(&Search::text("thing7")).unwrap();
    assert_eq!(answer.hits.len(), 1);
    assert_eq!(answer.pending, Some(Pending { vectors: 0, records: 20 }));
    assert_eq!(answer.explain.mode, "text", "the nearest of no vectors says nothing");
    let id = &answer.hits[0].id;
    let refused = docs.search(&Search::like(id)).unwrap_err();
    assert!(refused.message.contains("no vector yet"), "{refused}");
    assert_eq!(db.stats().unwrap().collections[0].pending, 20);
    assert!(!docs.wait_until_embedded(Some(Duration::from_millis(50))).unwrap());
    gate.let_through();
    assert!(docs.wait_until_embedded(None).unwrap());
    is_whole(&docs, 20);
    let answer = docs.search(&Search::like(id)).unwrap();
    assert_eq!((answer.hits.len(), answer.pending), (10, None));
    assert_eq!(docs.search(&Search::text("thing7")).unwrap().explain.mode, "hybrid");
    assert_eq!(ids(&docs, "thing7").len(), 1, "its words are not there twice");
}

#[test]
fn a_record_whose_fields_change_while_it_waits_still_gets_its_vector() {
    let (gate, papers) = (Gate::closed(), papers(6));
    let db = Database::in_memory(Options::default()).unwrap();
    let docs = db.collection("docs", with(&gate)).unwrap();
    add(&docs, papers.path(), AddOptions::default());
    gate.has_begun();
    let seen = FieldChange { set: [("seen".to_string(), true.into())].into(), ..FieldChange::default() };
    assert_eq!(docs.update_where("kind = 'markdown'", seen).unwrap(), 6);
    assert_eq!(docs.info().unwrap().pending, 6);
    gate.let_through();
    assert!(docs.wait_until_embedded(None).unwrap());
    is_whole(&docs, 6);
    assert_eq!(docs.count(Some("seen")).unwrap(), 6);
}

#[test]
fn whoever_waits_gets_every_vector() {
    let (gate, papers) = (Gate::opened(), papers(40));
    let db = Database::in_memory(Options::default()).unwrap();
    let docs = db.collection("docs", with(&gate)).unwrap();
    let mut last = Progress::default();
    let mut tell = |progress: &Progress| last = progress.clone();
    let options = AddOptions { wait: true, on_progress: Some(&mut tell), ..AddOptions::default() };
    let report = add(&docs, papers.path(), options);
    assert_eq!((report.passages_added, report.passages_pending), (40, 0));
    assert_eq!((last.passages, last.passages_pending), (40, 0));
    is_whole(&docs, 40);
}

#[test]
fn a_passage_that_was_deleted_or_replaced_before_its_vector_came_does_not_come_back() {
    let (gate, papers) = (Gate::closed(), papers(30));
    let db = Database::in_memory(Options::default()).unwrap();
    let docs = db.collection("docs", with(&gate)).unwrap();
    add(&docs, papers.path(), AddOptions::default());
    gate.has_begun(); // its lot is read, and its vectors come when the rows are gone
    let root = papers.path().canonicalize().unwrap();
    let path = |n: usize| root.join(format!("{n}.md")).to_string_lossy().into_owned();
    let id = |n: usize| format!("{}#0", path(n));
    paper(papers.path(), 3, "second");
    add(&docs, papers.path(), AddOptions::default());
    docs.delete(&[id(0)]).unwrap();
    docs.delete_where("name = '1.md'").unwrap();
    docs.remove_files(&path(2)).unwrap();
    docs.upsert(vec![Record::new(id(4)).text("mine").vector(vec![1.0, 1.0])]).unwrap();
    let info = docs.info().unwrap();
    assert_eq!((info.rows, info.vectors, info.pending), (27, 1, 26));
    gate.let_through();
    docs.wait_until_embedded(None).unwrap();
    let info = docs.info().unwrap();
    assert_eq!((info.rows, info.vectors, info.pending), (27, 27, 0));
    let now = everything(&docs);
    let text_of = |n: usize| now.iter().find(|record| record.id == id(n)).and_then(|record| record.text.clone());
    assert!((0..3).all(|gone| text_of(gone).is_none()) && now.len() == 27);
    assert!(text_of(3).unwrap().contains("second"));
    assert_eq!(text_of(4).as_deref(), Some("mine"));
    assert!(ids(&docs, "first").len() == 25 && ids(&docs, "thing0").is_empty());
}

#[test]
fn passages_that_are_the_same_are_embedded_once() {
    let (gate, folder) = (Gate::opened(), tempfile::tempdir().unwrap());
    for n in 0..100 {
        std::fs::create_dir(folder.path().join(n.to_string())).unwrap();
        std::fs::write(folder.path().join(format!("{n}/LICENCE.txt")), "Permission is hereby granted.").unwrap();
    }
    let db = Database::in_memory(Options::default()).unwrap();
    let docs = db.collection("docs", with(&gate)).unwrap();
    add(&docs, folder.path(), AddOptions { wait: true, ..AddOptions::default() });
    assert_eq!(docs.info().unwrap().vectors, 100);
    assert_eq!(gate.asked.lock().unwrap().len(), 1);
}

#[test]
fn what_is_missing_at_a_close_is_made_after_the_next_opening_though_nobody_opens_the_collection() {
    let (folder, papers, gate) = (tempfile::tempdir().unwrap(), papers(25), Gate::closed());
    let db = Database::open(folder.path(), Options::default()).unwrap();
    db.collection("other", with(&gate)).unwrap();
    add(&db.collection("docs", with(&gate)).unwrap(), papers.path(), AddOptions::default());
    // The holder ends while it is embedding.
    std::thread::scope(|scope| {
        scope.spawn(|| db.close().unwrap());
        std::thread::sleep(Duration::from_millis(100));
        gate.let_through();
    });
    let gate = Gate::opened();
    let db = Database::open(folder.path(), Options::default()).unwrap();
    let before = db.collections().unwrap();
    assert_eq!(before[0].pending + before[0].vectors, 25);
    db.collection("other", with(&gate)).unwrap(); // it brings the embedder
    for _ in 0..1000 {
        if db.collections().unwrap()[0].pending == 0 {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    is_whole(&db.existing_collection("docs").unwrap(), 25);
}

#[test]
fn the_holder_embeds_what_another_handle_of_the_folder_adds() {
    let (folder, papers, gate) = (tempfile::tempdir().unwrap(), papers(25), Gate::closed());
    let holder = Database::open(folder.path(), Options::default()).unwrap();
    holder.collection("docs", with(&gate)).unwrap();
    let other = Database::open(folder.path(), Options::default()).unwrap();
    assert!(!other.holder().unwrap().is_this);
    let docs = other.existing_collection("docs").unwrap();
    let report = add(&docs, papers.path(), AddOptions::default());
    assert_eq!(report.passages_pending, 25);
    assert_eq!(docs.search(&Search::text("thing3")).unwrap().pending, Some(Pending { vectors: 0, records: 25 }));
    gate.let_through();
    docs.wait_until_embedded(None).unwrap();
    is_whole(&docs, 25);
}

#[test]
fn a_transaction_and_a_snapshot_see_one_moment_while_vectors_come() {
    let (gate, papers) = (Gate::closed(), papers(10));
    let db = Database::in_memory(Options::default()).unwrap();
    let docs = db.collection("docs", with(&gate)).unwrap();
    add(&docs, papers.path(), AddOptions::default());
    let snapshot = db.snapshot().unwrap();
    gate.let_through();
    docs.wait_until_embedded(None).unwrap();
    let then = snapshot.collection("docs").unwrap().search(&Search::text("thing3")).unwrap();
    assert_eq!((then.hits.len(), then.pending), (1, Some(Pending { vectors: 0, records: 10 })));
    assert_eq!(docs.search(&Search::text("thing3")).unwrap().pending, None);
}

#[test]
fn an_upsert_has_its_vector_when_it_returns() {
    let gate = Gate::opened();
    let db = Database::in_memory(Options::default()).unwrap();
    let docs = db.collection("docs", with(&gate)).unwrap();
    docs.upsert(vec![Record::new("a").text("a text")]).unwrap();
    is_whole(&docs, 1);
}

#[test]
fn without_background_work_files_are_embedded_before_add_returns() {
    let (gate, papers) = (Gate::opened(), papers(5));
    let db = Database::in_memory(Options { background: false, ..Options::default() }).unwrap();
    let docs = db.collection("docs", with(&gate)).unwrap();
    assert_eq!(add(&docs, papers.path(), AddOptions::default()).passages_pending, 0);
    is_whole(&docs, 5);
}

#[test]
fn a_tenants_limit_counts_vectors_that_are_to_come() {
    let (gate, papers) = (Gate::closed(), papers(6));
    let db = Database::in_memory(Options::default()).unwrap();
    let limits = TenantLimits { vectors: Some(6), ..TenantLimits::default() };
    let acme = db.create_tenant("acme").unwrap();
    db.set_tenant_limits("acme", limits).unwrap();
    let docs = acme.collection("docs", with(&gate)).unwrap();
    add(&docs, papers.path(), AddOptions::default());
    let record = Record::new("one more").vector(vec![1.0, 2.0]);
    assert_eq!(docs.upsert(vec![record]).unwrap_err().kind, ErrorKind::Exhausted);
    gate.let_through();
    docs.wait_until_embedded(None).unwrap();
    is_whole(&docs, 6);
    assert_eq!(acme.usage().unwrap().vectors, 6);
}

/// The victim: adds, waits for nothing, and is killed.
#[test]
#[ignore = "run by the test below in a process of its own"]
fn child_adds_until_it_is_killed() {
    let folder = std::env::var("NUTHATCH_CHILD_FOLDER").expect("set by the parent");
    let papers = std::env::var("NUTHATCH_CHILD_PAPERS").expect("set by the parent");
    let gate = Arc::new(Gate { open: AtomicBool::new(true), pace_ms: 2, ..Gate::default() });
    let db = Database::open(folder, Options { fresh_rows_max: 64, ..Options::default() }).unwrap();
    let docs = db.collection("docs", with(&gate)).unwrap();
    add(&docs, Path::new(&papers), AddOptions::default());
    println!("added");
    loop {
        std::thread::sleep(Duration::from_millis(5));
        db.optimize().unwrap();
    }
}

/// kill -9 while passages and vectors are written: what was added stays, and in the end each has its own vector, once.
#[test]
fn no_passage_is_lost_and_none_stays_without_its_vector_whenever_the_process_is_killed() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut dice = fastrand::Rng::with_seed(seed);
    let (folder, papers) = (tempfile::tempdir().unwrap(), papers(300));
    let mut complete = false;
    let mut round = 0;
    while round < 8 || !complete {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "child_adds_until_it_is_killed", "--nocapture"])
            .env("NUTHATCH_CHILD_FOLDER", folder.path())
            .env("NUTHATCH_CHILD_PAPERS", papers.path())
            .env("NUTHATCH_TEST_PAUSE", "embed=20,seal=10,flush=5")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(dice.u64(50..1500)));
        child.kill().unwrap();
        child.wait().unwrap();
        for n in (0..300).filter(|_| dice.u8(..20) == 0) {
            paper(papers.path(), n, &format!("version{round}"));
        }
        let db = Database::open(folder.path(), Options { background: false, ..Options::default() }).unwrap();
        if let Ok(docs) = db.existing_collection("docs") {
            let (all, files) = (everything(&docs), docs.files("").unwrap());
            let info = docs.info().unwrap();
            assert_eq!(all.len(), files.iter().map(|file| file.passages).sum::<usize>(), "round {round}");
            let without = all.iter().filter(|record| record.vector.is_none()).count() as u64;
            assert_eq!((info.rows, info.pending), (all.len() as u64, without), "round {round}");
            complete = files.len() == 300;
        }
        db.close().unwrap();
        round += 1;
    }
    let gate = Gate::opened();
    let db = Database::open(folder.path(), Options::default()).unwrap();
    let docs = db.collection("docs", with(&gate)).unwrap();
    add(&docs, papers.path(), AddOptions { wait: true, ..AddOptions::default() });
    docs.wait_until_embedded(None).unwrap();
    is_whole(&docs, 300);
    let found: HashSet<String> = ids(&docs, "about").into_iter().collect();
    assert_eq!(found.len(), 100);
    assert!(db.doctor().unwrap().findings.is_empty());
}

#[test]
fn a_backup_and_an_export_carry_what_is_to_come() {
    let (gate, papers, places) = (Gate::closed(), papers(12), tempfile::tempdir().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let db = Database::open(folder.path(), Options::default()).unwrap();
    let docs = db.collection("docs", with(&gate)).unwrap();
    add(&docs, papers.path(), AddOptions::default());
    // Without a vector, and nobody wants one.
    let plain = CollectionOptions { embedder: EmbedderChoice::None, ..CollectionOptions::default() };
    db.collection("plain", plain).unwrap().upsert(vec![Record::new("a").text("a text")]).unwrap();
    let (backup, export, restored) =
        (places.path().join("backup"), places.path().join("export"), places.path().join("restored"));
    db.backup(&backup, BackupOptions::default()).unwrap();
    db.export(&export, ExportOptions::default()).unwrap();
    gate.let_through();
    docs.wait_until_embedded(None).unwrap();

    let gate = Gate::opened();
    let imported = Database::in_memory(Options::default()).unwrap();
    imported.import(&export, ImportOptions::default()).unwrap();
    Backups::at(&backup).restore(&restored, RestoreOptions::default()).unwrap();
    let restored = Database::open(&restored, Options::default()).unwrap();
    for copy in [imported, restored] {
        let infos = copy.collections().unwrap();
        assert_eq!((infos[0].pending, infos[1].pending), (12, 0));
        let docs = copy.collection("docs", with(&gate)).unwrap();
        docs.wait_until_embedded(None).unwrap();
        is_whole(&docs, 12);
        assert_eq!(copy.collections().unwrap()[1].vectors, 0);
    }
}
