//! The engine's guarantees, one test for each.

mod support;

use std::path::{Path, PathBuf};

use nuthatch_link::*;
use support::*;

fn filled(db: &Database, rows: u32) -> (Collection, Model) {
    let mut dice = fastrand::Rng::with_seed(7);
    let notes = db.collection("notes", no_embedder()).unwrap();
    let mut model = Model::new();
    let ids: Vec<String> = (0..rows).map(|id| format!("r{id}")).collect();
    for ids in ids.chunks(50) {
        let mut records = Vec::new();
        for id in ids {
            let kept = random_kept(&mut dice, true);
            records.push(record(id, &kept));
            model.insert(id.clone(), kept);
        }
        notes.upsert(records).unwrap();
    }
    (notes, model)
}

#[test]
fn a_write_is_visible_to_the_next_search_before_any_index_has_it() {
    let db = Database::in_memory(quiet()).unwrap();
    let (notes, model) = filled(&db, 40);
    assert_eq!(notes.info().unwrap().segments, 0);
    assert_same(&notes, &model, &mut fastrand::Rng::with_seed(1), "fresh");
    let answer = notes.search(&Search::vector(vec![0.5; DIM])).unwrap();
    assert!(answer.explain.vector.unwrap().exact);
}

#[test]
fn text_scores_do_not_depend_on_whether_rows_are_indexed_yet() {
    let db = Database::in_memory(quiet()).unwrap();
    let (notes, _) = filled(&db, 60);
    let search = Search::text("winter memory").mode(Mode::Text).limit(50);
    let scores = |notes: &Collection| -> Vec<(String, f32)> {
        notes.search(&search).unwrap().hits.into_iter().map(|hit| (hit.id, hit.score)).collect()
    };
    let fresh = scores(&notes);
    notes.wait_until_indexed(None).unwrap();
    assert_eq!(fresh, scores(&notes));
}

#[test]
fn bad_input_is_refused_by_name_and_changes_nothing() {
    let db = Database::in_memory(quiet()).unwrap();
    let (notes, model) = filled(&db, 20);
    let cases: Vec<(Vec<Record>, &str)> = vec![
        (vec![Record::new("x").vector(vec![1.0; DIM + 1])], "12"),
        (vec![Record::new("x").vector(vec![f32::NAN; DIM])], "element 0"),
        (vec![Record::new("x").vector([vec![0.0; DIM - 1], vec![f32::INFINITY]].concat())], "element 11"),
        (vec![Record::new("x").text("a"), Record::new("x").text("b")], "twice"),
        (vec![Record::new("").text("a")], "empty id"),
        (vec![Record::new("y".repeat(2000)).text("a")], "1024"),
        (vec![Record::new("x")], "no text, vector or payload"),
        (vec![Record::new("x").payload([("a.b".to_string(), Value::Int(1))].into())], "a.b"),
        (vec![Record::new("x").payload([("f".to_string(), Value::Float(f64::NAN))].into())], "f"),
        (vec![Record::new("ok").text("fine"), Record::new("x").vector(vec![1.0])], "1 dimension"),
    ];
    for (records, expected) in cases {
        let error = notes.upsert(records).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Invalid, "{error}");
        assert!(error.message.contains(expected), "{error} should say {expected}");
    }
    assert!(notes.upsert(Vec::new()).unwrap_err().message.contains("batch is empty"));
    for (search, expected) in [
        (Search::default(), "needs a text, a vector"),
        (Search::text("a").limit(0), "limit is 0"),
        (Search::text("a").limit(10_001), "10000"),
        (Search::vector(vec![1.0; 3]), "12"),
        (Search::vector(vec![f32::NAN; DIM]), "element 0"),
        (Search::text("a").mode(Mode::Vector), "no embedder"),
        (Search::text("a").filter("yaer = 2020").unwrap(), "did you mean `year`"),
    ] {
        let error = notes.search(&search).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Invalid, "{error}");
        assert!(error.message.contains(expected), "{error} should say {expected}");
    }
    let error = Search::text("a").filter("year >= and").unwrap_err();
    assert!(error.message.contains("column"), "{error}");
    assert_same(&notes, &model, &mut fastrand::Rng::with_seed(2), "after bad input");
}

#[test]
fn options_that_contradict_the_collection_are_refused_with_both() {
    let db = Database::in_memory(quiet()).unwrap();
    filled(&db, 1);
    let wrong_dim = CollectionOptions { dim: Some(99), ..Default::default() };
    let error = db.collection("notes", wrong_dim).err().unwrap();
    assert!(error.message.contains("12") && error.message.contains("99"), "{error}");
    let wrong_metric = CollectionOptions { metric: Some(Metric::Dot), ..Default::default() };
    let error = db.collection("notes", wrong_metric).err().unwrap();
    assert!(error.message.contains("l2") && error.message.contains("dot"), "{error}");
    for name in ["", "a/b", "../x", "a b"] {
        assert_eq!(db.collection(name, Default::default()).err().unwrap().kind, ErrorKind::Invalid);
    }
    assert_eq!(db.existing_collection("nots").err().unwrap().kind, ErrorKind::NotFound);
}

#[test]
fn a_closed_database_says_so() {
    let db = Database::in_memory(quiet()).unwrap();
    let (notes, _) = filled(&db, 5);
    db.close().unwrap();
    db.close().unwrap();
    assert_eq!(notes.search(&Search::text("bird")).unwrap_err().kind, ErrorKind::Closed);
    assert_eq!(notes.upsert(vec![Record::new("a").text("b")]).unwrap_err().kind, ErrorKind::Closed);
    assert_eq!(db.stats().unwrap_err().kind, ErrorKind::Closed);
}

#[test]
fn a_folder_of_something_else_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("thesis.txt"), "mine").unwrap();
    assert_eq!(Database::open(folder.path(), quiet()).err().unwrap().kind, ErrorKind::Invalid);
    let names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, ["thesis.txt"]);
}

#[test]
fn a_newer_format_is_refused_with_both_versions() {
    let folder = tempfile::tempdir().unwrap();
    Database::open(folder.path(), quiet()).unwrap().close().unwrap();
    let body = br#"{"format":99,"created":"2030-01-01T00:00:00Z","uuid":"u","written_by":"nuthatch 9.0"}"#;
    nuthatch_segment::write_sealed(&folder.path().join("NUTHATCH"), body).unwrap();
    let error = Database::open(folder.path(), quiet()).err().unwrap();
    assert!(error.message.contains("99") && error.message.contains("nuthatch 9.0"), "{error}");
}

#[test]
fn dropping_a_collection_takes_everything_of_it_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let db = Database::open(folder.path(), quiet()).unwrap();
    let (notes, _) = filled(&db, 30);
    let other = db.collection("other", no_embedder()).unwrap();
    other.upsert(vec![Record::new("a").text("bird")]).unwrap();
    notes.wait_until_indexed(None).unwrap();
    assert!(db.drop_collection("notes").unwrap());
    assert!(!db.drop_collection("notes").unwrap());
    assert_eq!(notes.len().unwrap_err().kind, ErrorKind::NotFound);
    assert_eq!(db.collection_names().unwrap(), ["other"]);
    let again = db.collection("notes", no_embedder()).unwrap();
    assert_eq!(again.len().unwrap(), 0);
    assert_eq!(other.search(&Search::text("bird")).unwrap().hits.len(), 1);
}

#[test]
fn deleting_any_index_folder_costs_a_rebuild_and_no_answer() {
    for victim in ["", "segments", "text"] {
        let folder = tempfile::tempdir().unwrap();
        let db = Database::open(folder.path(), quiet()).unwrap();
        let (notes, mut model) = filled(&db, 200);
        notes.wait_until_indexed(None).unwrap();
        db.close().unwrap();
        std::fs::remove_dir_all(folder.path().join("indexes/0/1").join(victim)).unwrap();

        let db = Database::open(folder.path(), quiet()).unwrap();
        let notes = db.collection("notes", no_embedder()).unwrap();
        let answer = notes.search(&Search::text("bird").mode(Mode::Text)).unwrap();
        assert!(!answer.degraded.is_empty(), "{victim}");
        assert!(!db.doctor().unwrap().degraded.is_empty(), "{victim}");
        assert_same(&notes, &model, &mut fastrand::Rng::with_seed(3), "degraded");
        // Writes while degraded count, too.
        notes.delete(&["r1", "r2"]).unwrap();
        model.retain(|id, _| id != "r1" && id != "r2");
        let kept = random_kept(&mut fastrand::Rng::with_seed(4), true);
        notes.upsert(vec![record("new", &kept)]).unwrap();
        model.insert("new".into(), kept);
        assert_same(&notes, &model, &mut fastrand::Rng::with_seed(3), "degraded, written");
        notes.wait_until_indexed(None).unwrap();
        assert_same(&notes, &model, &mut fastrand::Rng::with_seed(3), "rebuilt");
        assert_eq!(notes.search(&Search::text("bird")).unwrap().degraded, Vec::<String>::new());
        assert!(db.doctor().unwrap().is_well());
    }
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files.extend(files_below(&path)),
            false => files.push(path),
        }
    }
    files.sort();
    files
}

fn copy(from: &Path, to: &Path) {
    for file in files_below(from) {
        let target = to.join(file.strip_prefix(from).unwrap());
        std::fs::create_dir_all(target.parent().unwrap()).unwrap();
        std::fs::copy(&file, &target).unwrap();
    }
}

/// One flipped byte in any file of the folder: found, named, and the rest serves after at most a repair.
#[test]
fn one_flipped_byte_in_any_file_is_found_named_and_survived() {
    let folder = tempfile::tempdir().unwrap();
    let db = Database::open(folder.path(), quiet()).unwrap();
    let (notes, model) = filled(&db, 300);
    notes.wait_until_indexed(None).unwrap();
    db.collection("other", no_embedder()).unwrap().upsert(vec![Record::new("a").text("bird")]).unwrap();
    let keys = db.kv("keys").unwrap();
    let large = vec![7; 100_000];
    keys.put("large", &large).unwrap();
    keys.put_expiring("expires", "x", std::time::Duration::from_secs(3_600)).unwrap();
    db.close().unwrap();

    let mut kinds = std::collections::BTreeSet::new();
    for file in files_below(folder.path()) {
        let inside = file.strip_prefix(folder.path()).unwrap().to_path_buf();
        let name = inside.file_name().unwrap().to_string_lossy().into_owned();
        let good = std::fs::read(&file).unwrap();
        if name == "LOCK" || good.is_empty() {
            continue; // rewritten at every open, holds nothing
        }
        kinds.insert(name.split(['-', '.']).next_back().unwrap_or_default().to_string());
        for at in [0, good.len() / 2, good.len() - 1] {
            let broken = tempfile::tempdir().unwrap();
            copy(folder.path(), broken.path());
            let mut bad = good.clone();
            bad[at] ^= 0x21;
            std::fs::write(broken.path().join(&inside), &bad).unwrap();
            let note = format!("{} byte {at} of {}", inside.display(), good.len());

            let named = match Database::open(broken.path(), quiet()) {
                Err(error) => error.message.contains(&name),
                Ok(db) => {
                    let doctor = db.doctor().unwrap_or_else(|error| panic!("{note}: {error}"));
                    // Derived files: answers are right all along.
                    if inside.starts_with("indexes") {
                        let notes = db.collection("notes", no_embedder()).unwrap();
                        assert_same(&notes, &model, &mut fastrand::Rng::with_seed(5), &note);
                    }
                    doctor.findings.iter().any(|f| f.path == inside || f.what.contains(&name))
                        || doctor.degraded.iter().any(|why| why.contains(&name))
                }
            };
            assert!(named, "{note}: not named");

            let (db, outcome) =
                Database::repair(broken.path(), quiet()).unwrap_or_else(|error| panic!("{note}: {error}"));
            let notes = db.collection("notes", no_embedder()).unwrap();
            let left = notes.len().unwrap() as usize;
            assert!(left == model.len() || !outcome.store.is_empty(), "{note}: {left} left, {outcome:?}");
            let mut cursor = None;
            loop {
                let page = notes.scan(&Scan { cursor, limit: 100, ..Default::default() }).unwrap();
                assert!(page.records.iter().all(|r| model[&r.id].payload == r.payload), "{note}");
                cursor = page.cursor;
                if cursor.is_none() {
                    break;
                }
            }
            for (key, value) in [("large", large.as_slice()), ("expires", b"x")] {
                // A lost catalog takes the keyspace's name, a lost table file the key: never half of a value.
                let there = db.keyspace_names().unwrap().pop().and_then(|name| db.kv(&name).unwrap().get(key).unwrap());
                assert!(there.is_none_or(|there| there == value), "{note}: {key}");
                assert!(
                    db.kv("keys").unwrap().get(key).unwrap().is_some() || !outcome.store.is_empty(),
                    "{note}: {key}"
                );
            }
            let answer = notes.search(&Search::text("bird").mode(Mode::Text).limit(5)).unwrap();
            assert!(answer.degraded.is_empty(), "{note}: {:?}", answer.degraded);
            let doctor = db.doctor().unwrap();
            assert!(doctor.is_well(), "{note}: {doctor:?} after {outcome:?}");
            notes.upsert(vec![Record::new("after").text("bird")]).unwrap();
        }
    }
    for kind in [
        "sst",
        "NUTHATCH",
        "MANIFEST",
        "COLLECTION",
        "codes1",
        "codes4",
        "columns",
        "ids",
        "rows",
        "CURRENT",
        "CHECKSUMS",
    ] {
        assert!(kinds.contains(kind), "{kind} was not among {kinds:?}");
    }
}

#[test]
fn hybrid_hits_carry_rank_and_score_of_both_legs() {
    let db = Database::in_memory(quiet()).unwrap();
    let (notes, model) = filled(&db, 150);
    let id = model.iter().find(|(_, k)| k.text.as_ref().is_some_and(|t| t.contains("bird"))).unwrap().0.clone();
    let search = Search { vector: model[&id].vector.clone(), ..Search::text("bird") };
    let answer = notes.search(&search).unwrap();
    let hit = answer.hits.iter().find(|hit| hit.id == id).unwrap();
    assert_eq!(hit.legs.vector.unwrap(), Leg { rank: 1, score: 0.0 });
    assert!(hit.legs.text.unwrap().score > 0.0);
    assert_eq!(answer.explain.fusion.as_deref(), Some("rrf"));
    assert!(answer.hits.windows(2).all(|pair| pair[0].score >= pair[1].score));
}

#[test]
fn pages_of_a_search_meet_without_gap_or_overlap() {
    let db = Database::in_memory(quiet()).unwrap();
    let (notes, model) = filled(&db, 100);
    let mut ids = Vec::new();
    let mut offset = Some(0);
    while let Some(at) = offset {
        let answer = notes.search(&Search::vector(vec![0.1; DIM]).limit(7).offset(at)).unwrap();
        ids.extend(answer.hits.into_iter().map(|hit| hit.id));
        offset = answer.next_offset;
    }
    assert_eq!(ids.len(), model.len());
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), model.len());
}

#[test]
fn pages_of_a_fused_search_are_of_one_ranking_however_large_they_are() {
    let db = Database::in_memory(quiet()).unwrap();
    let (notes, _) = filled(&db, 600);
    let vector = Some(vec![0.1; DIM]);
    for fusion in ["rrf", "weighted", "normalised"] {
        let fusion = Fusion::named(fusion, 1.0, 0.5).unwrap();
        let search = |limit, offset| {
            let search = Search { vector: vector.clone(), fusion, ..Search::text("bird lake stone") };
            notes.search(&search.limit(limit).offset(offset)).unwrap()
        };
        let ids = |answer: Answer| answer.hits.into_iter().map(|hit| hit.id).collect::<Vec<_>>();
        let all = ids(search(600, 0));
        assert!(all.len() > 400, "{}", all.len());
        for limit in [37, 100, 250] {
            let (mut paged, mut offset) = (Vec::new(), Some(0));
            while let Some(at) = offset {
                let answer = search(limit, at);
                offset = answer.next_offset;
                paged.extend(ids(answer));
            }
            assert_eq!(paged, all, "{fusion:?} by {limit}");
        }
    }
}

#[test]
fn writers_wait_instead_of_exceeding_the_budget() {
    let options =
        Options { memory_budget_bytes: MEMORY_BUDGET_MIN_BYTES, fresh_rows_max: 1 << 20, ..Options::default() };
    let db = Database::in_memory(options).unwrap();
    let notes = db.collection("notes", CollectionOptions { dim: Some(256), ..no_embedder() }).unwrap();
    let mut dice = fastrand::Rng::with_seed(11);
    let mut highest = 0;
    for batch in 0..60 {
        let records = (0..500)
            .map(|n| Record::new(format!("{batch}-{n}")).vector((0..256).map(|_| dice.f32()).collect()))
            .collect();
        notes.upsert(records).unwrap();
        highest = highest.max(db.stats().unwrap().memory.fresh_bytes);
    }
    // One batch may come on top of the share that lets it in.
    assert!(highest < MEMORY_BUDGET_MIN_BYTES / 4, "{highest} bytes of fresh rows");
    assert!(notes.wait_until_indexed(None).unwrap());
    assert_eq!(notes.search(&Search::vector(vec![0.5; 256]).limit(100)).unwrap().hits.len(), 100);
}

#[test]
fn merges_keep_the_number_of_segments_small_and_drop_dead_rows() {
    let db = Database::in_memory(quiet()).unwrap();
    let notes = db.collection("notes", no_embedder()).unwrap();
    let mut dice = fastrand::Rng::with_seed(13);
    let mut model = Model::new();
    for round in 0..20 {
        let mut records = Vec::new();
        for n in 0..30 {
            let kept = random_kept(&mut dice, true);
            let id = format!("r{}", n + (round % 3) * 10);
            records.push(record(&id, &kept));
            model.insert(id, kept);
        }
        notes.upsert(records).unwrap();
        notes.wait_until_indexed(None).unwrap();
        db.optimize().unwrap();
    }
    assert!(notes.info().unwrap().segments <= 5, "{} segments", notes.info().unwrap().segments);
    assert_same(&notes, &model, &mut dice, "after churn");
}

#[test]
fn what_is_indexed_no_longer_counts_as_fresh() {
    let db = Database::in_memory(quiet()).unwrap();
    let (notes, _) = filled(&db, 60);
    assert!(db.stats().unwrap().memory.fresh_bytes > 0);
    notes.wait_until_indexed(None).unwrap();
    assert_eq!(db.stats().unwrap().memory.fresh_bytes, 0);
}

#[test]
fn an_embedder_of_another_dimension_is_refused_and_not_remembered() {
    let db = Database::in_memory(quiet()).unwrap();
    let options = CollectionOptions { metric: Some(Metric::L2), ..Default::default() };
    let notes = db.collection("notes", options).unwrap();
    notes.upsert(vec![Record::new("a").vector(vec![1.0; DIM])]).unwrap();
    let embedder = |dim: usize| {
        let vectors = move |texts: &[&str]| Ok(texts.iter().map(|text| vec![text.len() as f32; dim]).collect());
        EmbedderChoice::Given(std::sync::Arc::new(
            embed::FnEmbedder::new(format!("lengths-{dim}"), dim, vectors).unwrap(),
        ))
    };
    let wrong = CollectionOptions { embedder: embedder(8), ..Default::default() };
    let error = db.collection("notes", wrong).err().unwrap();
    assert!(error.message.contains("12") && error.message.contains("lengths-8"), "{error}");
    let right = CollectionOptions { embedder: embedder(DIM), ..Default::default() };
    let notes = db.collection("notes", right).unwrap();
    notes.upsert(vec![Record::new("b").text("four")]).unwrap();
    assert_eq!(notes.search(&Search::text("fore")).unwrap().hits[0].id, "b");
    let other = CollectionOptions {
        embedder: EmbedderChoice::Given(std::sync::Arc::new(
            embed::FnEmbedder::new("other", DIM, |texts: &[&str]| Ok(vec![vec![1.0; DIM]; texts.len()])).unwrap(),
        )),
        ..Default::default()
    };
    let error = db.collection("notes", other).err().unwrap();
    assert!(error.message.contains("lengths-12") && error.message.contains("other"), "{error}");
}
