//! Fields of sparse vectors and of token vectors: compared with a naive model whatever happens, and what is refused.

mod support;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use nuthatch_link::*;

use support::quiet;

const TOKENS_DIM: usize = 6;

#[derive(Clone, Debug, PartialEq)]
struct Kept {
    sparse: Option<SparseVector>,
    tokens: Option<TokenVectors>,
    text: String,
    year: i64,
}

type Model = BTreeMap<String, Kept>;

fn options() -> CollectionOptions {
    let sparse = VectorFieldOptions { kind: Some(FieldKind::Sparse), ..Default::default() };
    let tokens = VectorFieldOptions {
        kind: Some(FieldKind::Tokens),
        dim: Some(TOKENS_DIM),
        element: Some(Element::F16),
        ..Default::default()
    };
    let title = VectorFieldOptions { dim: Some(3), metric: Some(Metric::L2), ..Default::default() };
    CollectionOptions {
        embedder: EmbedderChoice::None,
        vectors: [("splade", sparse), ("late", tokens), ("title", title)]
            .map(|(name, field)| (name.to_string(), field))
            .into(),
        ..Default::default()
    }
}

fn sparse(dice: &mut fastrand::Rng) -> SparseVector {
    let mut terms: BTreeMap<u32, f32> = BTreeMap::new();
    for _ in 0..dice.usize(0..12) {
        // Few terms are in most vectors; one is far away.
        let term = if dice.u8(..20) == 0 { u32::MAX - 3 } else { dice.u32(..8) * dice.u32(..40) };
        terms.insert(term, dice.i32(1..60) as f32 / 8.0);
    }
    SparseVector::new(terms.keys().copied().collect(), terms.values().copied().collect()).unwrap()
}

fn tokens(dice: &mut fastrand::Rng) -> TokenVectors {
    // Values that fit in 16 bits.
    let mut row = || (0..TOKENS_DIM).map(|at| dice.i32(-40..40) as f32 / 4.0 + at as f32).collect::<Vec<f32>>();
    TokenVectors::of_rows((0..3).map(|_| row()).collect()).unwrap()
}

fn random_kept(dice: &mut fastrand::Rng) -> Kept {
    Kept {
        sparse: (dice.u8(..5) > 0).then(|| sparse(dice)),
        tokens: (dice.u8(..4) > 0).then(|| tokens(dice)),
        text: ["seed", "bird seed", "bird", "nut"][dice.usize(..4)].into(),
        year: dice.i64(2000..2026),
    }
}

fn record(id: &str, kept: &Kept) -> Record {
    let mut record =
        Record::new(id).text(kept.text.clone()).payload([("year".to_string(), Value::Int(kept.year))].into());
    record.vectors.extend(kept.sparse.clone().map(|vector| ("splade".to_string(), vector.into())));
    record.vectors.extend(kept.tokens.clone().map(|tokens| ("late".to_string(), tokens.into())));
    record
}

fn by_sparse(query: SparseVector) -> Search {
    Search { vectors: [("splade".to_string(), query.into())].into(), ..Search::default() }
}

fn max_sim(query: &TokenVectors, tokens: &TokenVectors) -> f64 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
    let cosine = |a: &[f32], b: &[f32]| dot(a, b) / (dot(a, a) * dot(b, b)).sqrt();
    query.rows().map(|q| tokens.rows().map(|row| cosine(q, row)).fold(f64::MIN, f64::max)).sum()
}

fn assert_same(collection: &Collection, model: &Model, dice: &mut fastrand::Rng, note: &str) {
    let (mut seen, mut cursor) = (0, None);
    loop {
        let page = collection.scan(&Scan { cursor, limit: 97, filter: None, vectors: true }).unwrap();
        for found in page.records {
            let kept = &model[&found.id];
            assert_eq!(found.vectors, record(&found.id, kept).vectors, "{note}: {}", found.id);
            seen += 1;
        }
        match page.cursor {
            Some(next) => cursor = Some(next),
            None => break,
        }
    }
    assert_eq!(seen, model.len(), "{note}");
    let info = collection.info().unwrap();
    let counted = |name: &str| info.vector_fields.iter().find(|field| field.name == name).unwrap().vectors as usize;
    assert_eq!(counted("splade"), model.values().filter(|kept| kept.sparse.is_some()).count(), "{note}");
    assert_eq!(counted("late"), model.values().filter(|kept| kept.tokens.is_some()).count(), "{note}");
    for since in [None, Some(2020)] {
        if model.is_empty() {
            continue;
        }
        let passes = |kept: &Kept| since.is_none_or(|since| kept.year >= since);
        let filtered = |search: Search| match since {
            Some(since) => search.filter(&format!("year >= {since}")).unwrap(),
            None => search,
        };
        let query = sparse(dice);
        let mut right: Vec<f32> =
            model.values().filter(|kept| passes(kept)).filter_map(|kept| query.dot(kept.sparse.as_ref()?)).collect();
        right.sort_by(|a, b| b.total_cmp(a));
        right.truncate(10);
        let found = collection.search(&filtered(by_sparse(query.clone()))).unwrap();
        let scores: Vec<f32> = found.hits.iter().map(|hit| hit.score).collect();
        assert_eq!(scores, right, "{note}: since {since:?}, {:?}", found.explain.vectors);
        for hit in &found.hits {
            let kept = &model[&hit.id];
            assert_eq!(query.dot(kept.sparse.as_ref().unwrap()), Some(hit.score), "{note}: {}", hit.id);
            assert!(passes(kept), "{note}: {} does not pass", hit.id);
            assert_eq!(hit.legs.vectors["splade"].score, hit.score);
        }
        let query = tokens(dice);
        let rerank = Rerank { field: "late".into(), tokens: query.clone(), candidates: 400 };
        let mut search = filtered(Search::text("seed").mode(Mode::Text).limit(20));
        search.refine.rerank = Some(rerank);
        let mut right: Vec<f64> = model
            .values()
            .filter(|kept| passes(kept) && kept.text.contains("seed"))
            .filter_map(|kept| Some(max_sim(&query, kept.tokens.as_ref()?)))
            .collect();
        right.sort_by(|a, b| b.total_cmp(a));
        let found = collection.search(&search).unwrap();
        assert_eq!(found.explain.reranked, Some(right.len()), "{note}");
        let compared: Vec<&Hit> = found.hits.iter().take_while(|hit| hit.legs.rerank.is_some()).collect();
        assert_eq!(compared.len(), right.len().min(20), "{note}: rows with token vectors come first");
        for (hit, right) in compared.iter().zip(&right) {
            assert!((f64::from(hit.score) - right).abs() < 1e-3, "{note}: {} for {right}", hit.score);
        }
        assert!(found.hits[compared.len()..].iter().all(|hit| model[&hit.id].tokens.is_none()), "{note}");
    }
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(files_below(&path)),
            false if path.is_file() => found.push(path),
            false => {}
        }
    }
    found.sort();
    found
}

fn postings_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = files_below(&folder.join("indexes"));
    files.retain(|path| path.file_name().is_some_and(|name| name == "postings"));
    files
}

fn one_run(seed: u64, served: bool) {
    println!("seed {seed}");
    let mut dice = fastrand::Rng::with_seed(seed);
    let folder = tempfile::tempdir().unwrap();
    let open = || Database::open(folder.path(), quiet()).unwrap();
    let mut holder = served.then(open);
    let mut db = open();
    let mut notes = db.collection("notes", options()).unwrap();
    let mut model = Model::new();
    for step in 0..80 {
        let note = format!("seed {seed} step {step}");
        match dice.u8(..18) {
            0..=8 => {
                let mut ids: Vec<u32> = (0..dice.usize(1..40)).map(|_| dice.u32(..300)).collect();
                ids.sort_unstable();
                ids.dedup();
                let mut records = Vec::new();
                for id in ids {
                    let kept = random_kept(&mut dice);
                    records.push(record(&format!("r{id}"), &kept));
                    model.insert(format!("r{id}"), kept);
                }
                notes.upsert(records).unwrap();
            }
            9 | 10 => {
                let ids: Vec<String> = (0..dice.usize(1..20)).map(|_| format!("r{}", dice.u32(..300))).collect();
                ids.iter().for_each(|id| drop(model.remove(id)));
                notes.delete(&ids).unwrap();
            }
            11 | 12 => assert!(notes.wait_until_indexed(None).unwrap(), "{note}"),
            13 => db.optimize().unwrap(),
            14 if served => {
                holder.replace(db).unwrap().close().unwrap();
                assert_same(&notes, &model, &mut dice, &format!("{note}, taken over"));
                db = open();
                notes = db.collection("notes", options()).unwrap();
            }
            14 => {
                drop(notes);
                db.close().unwrap();
                db = open();
                notes = db.collection("notes", options()).unwrap();
            }
            15 if !served => {
                drop(notes);
                db.close().unwrap();
                let damaged = dice.choice(&postings_files(folder.path())).cloned();
                if let Some(path) = &damaged {
                    let mut bytes = std::fs::read(path).unwrap();
                    let at = dice.usize(..bytes.len());
                    bytes[at] ^= 1 << dice.u8(..8);
                    std::fs::write(path, bytes).unwrap();
                }
                db = open();
                notes = db.collection("notes", options()).unwrap();
                assert_same(&notes, &model, &mut dice, &format!("{note}, damaged: {damaged:?}"));
                assert!(notes.wait_until_indexed(None).unwrap());
            }
            _ => {}
        }
        if step % 5 == 0 || dice.u8(..6) == 0 {
            assert_same(&notes, &model, &mut dice, &note);
        }
    }
    if !served {
        db.close().unwrap();
        db = Database::repair(folder.path(), quiet()).unwrap().0;
        notes = db.existing_collection("notes").unwrap();
    }
    assert_same(&notes, &model, &mut dice, &format!("seed {seed} end"));
    assert!(db.doctor().unwrap().is_well(), "{:?}", db.doctor().unwrap());
}

#[test]
fn sparse_and_token_fields_agree_with_a_naive_model_whatever_happens() {
    for _ in 0..2 {
        one_run(fastrand::u64(..), false);
    }
}

#[test]
fn sparse_and_token_fields_are_the_same_in_another_process_holding_the_folder() {
    one_run(fastrand::u64(..), true);
}

/// Records 0 to 399, sealed and fresh ones.
fn filled(db: &Database, dice: &mut fastrand::Rng) -> (Collection, Model) {
    let notes = db.collection("notes", options()).unwrap();
    let model: Model = (0..400).map(|id| (format!("r{id:03}"), random_kept(dice))).collect();
    for (at, (id, kept)) in model.iter().enumerate() {
        notes.upsert(vec![record(id, kept)]).unwrap();
        if at == 300 {
            notes.wait_until_indexed(None).unwrap();
        }
    }
    (notes, model)
}

#[test]
fn a_snapshot_keeps_its_sparse_vectors_and_its_tokens() {
    let db = Database::in_memory(quiet()).unwrap();
    let mut dice = fastrand::Rng::with_seed(4);
    let (notes, _) = filled(&db, &mut dice);
    let (query, asked) = (sparse(&mut dice), tokens(&mut dice));
    let mut search = by_sparse(query).limit(50);
    search.refine.rerank = Some(Rerank { field: "late".into(), tokens: asked, candidates: 60 });
    let ids = |answer: Answer| answer.hits.into_iter().map(|hit| (hit.id, hit.score)).collect::<Vec<_>>();
    let before = ids(notes.search(&search).unwrap());
    assert!(before.len() > 20);
    let snapshot = db.snapshot().unwrap();
    notes.delete(&(0..400).step_by(2).map(|id| format!("r{id:03}")).collect::<Vec<_>>()).unwrap();
    notes.wait_until_indexed(None).unwrap();
    db.optimize().unwrap();
    assert_ne!(ids(notes.search(&search).unwrap()), before);
    assert_eq!(ids(snapshot.collection("notes").unwrap().search(&search).unwrap()), before);
}

#[test]
fn pages_of_a_reranked_search_are_of_one_ranking() {
    let db = Database::in_memory(quiet()).unwrap();
    let mut dice = fastrand::Rng::with_seed(8);
    let (notes, _) = filled(&db, &mut dice);
    let mut search = Search::text("seed").mode(Mode::Text).limit(60);
    search.refine.rerank = Some(Rerank { field: "late".into(), tokens: tokens(&mut dice), candidates: 80 });
    let ids = |search: &Search| notes.search(search).unwrap().hits.into_iter().map(|hit| hit.id).collect::<Vec<_>>();
    let whole = ids(&search);
    assert_eq!(whole.len(), 60);
    let pages: Vec<String> =
        (0..60).step_by(7).flat_map(|offset| ids(&search.clone().offset(offset).limit(7.min(60 - offset)))).collect();
    assert_eq!(pages, whole);
}

#[test]
fn a_sparse_leg_is_fused_with_words_and_found_by_a_record_like_it() {
    let db = Database::in_memory(quiet()).unwrap();
    let mut dice = fastrand::Rng::with_seed(5);
    let (notes, model) = filled(&db, &mut dice);
    let (id, kept) =
        model.iter().find(|(_, kept)| kept.sparse.as_ref().is_some_and(|vector| vector.len() > 4)).unwrap();
    let query = kept.sparse.clone().unwrap();
    let like = notes.search(&Search::like(id.as_str()).using("splade").limit(5)).unwrap();
    assert!(like.hits.len() == 5 && like.hits.iter().all(|hit| hit.id != *id));
    let by_query = notes.search(&by_sparse(query.clone()).limit(6)).unwrap();
    let others: Vec<&str> = by_query.hits.iter().map(|hit| hit.id.as_str()).filter(|other| other != id).collect();
    assert_eq!(like.hits.iter().map(|hit| hit.id.as_str()).collect::<Vec<_>>(), others[..5]);
    let fused = notes.search(&Search { text: Some("bird".into()), ..by_sparse(query) }).unwrap();
    assert_eq!(fused.explain.fusion.as_deref(), Some("rrf"));
    assert_eq!(fused.explain.vectors["splade"].plan, "posting lists");
    assert!(fused.hits[0].legs.text.is_some() && fused.hits[0].legs.vectors.contains_key("splade"));
}

#[test]
fn what_such_a_field_cannot_hold_is_refused_by_name_and_nothing_changes() {
    let folder = tempfile::tempdir().unwrap();
    let db = Database::open(folder.path(), quiet()).unwrap();
    let notes = db.collection("notes", options()).unwrap();
    let one = SparseVector::new(vec![1], vec![1.0]).unwrap();
    notes.upsert(vec![Record::new("a").named_vector("splade", one.clone())]).unwrap();
    let short = TokenVectors::of_rows(vec![vec![1.0, 2.0]]).unwrap();
    let zero = TokenVectors::of_rows(vec![vec![1.0; TOKENS_DIM], vec![0.0; TOKENS_DIM]]).unwrap();
    let refused: [(&str, VectorValue, &str); 6] = [
        ("splade", vec![1.0, 2.0].into(), "vector field \"splade\" is sparse, and the value given is dense"),
        ("late", one.clone().into(), "vector field \"late\" is tokens, and the value given is sparse"),
        ("title", one.clone().into(), "vector field \"title\" is dense, and the value given is sparse"),
        ("late", vec![1.0; TOKENS_DIM].into(), "one list of numbers for each token"),
        ("late", short.clone().into(), "vector field \"late\" has 6 dimensions, but the vector has 2"),
        ("late", zero.into(), "vector field \"late\": the vector is zero"),
    ];
    for (field, value, said) in refused {
        let batch = vec![Record::new("b").text("fine"), Record::new("a").named_vector(field, value.clone())];
        let error = notes.upsert(batch).unwrap_err();
        assert!(error.kind == ErrorKind::Invalid && error.message.contains("record \"a\""), "{error}");
        assert!(error.message.contains(said), "{error}");
        assert_eq!(notes.len().unwrap(), 1);
        let error = notes.search(&Search { vectors: [(field.to_string(), value)].into(), ..Search::default() });
        let error = error.unwrap_err();
        assert!(error.kind == ErrorKind::Invalid && error.message.contains(said), "{error}");
    }
    assert_eq!(notes.get(&["a"], true).unwrap()[0].clone().unwrap().vectors["splade"], one.clone().into());
    let query = TokenVectors::of_rows(vec![vec![1.0; TOKENS_DIM]]).unwrap();
    let reranks = [
        ("splade", query.clone(), 100, "`rerank` needs a field of token vectors, and \"splade\" is sparse"),
        ("none", query.clone(), 100, "vector field \"none\" does not exist"),
        ("late", short, 100, "has 6 dimensions, but the vector has 2"),
        ("late", query.clone(), 3, "`rerank` looks at 3 candidates; give 10 (limit and offset) to 10000"),
    ];
    for (field, tokens, candidates, said) in reranks {
        let mut search = Search::text("fine");
        search.refine.rerank = Some(Rerank { field: field.into(), tokens, candidates });
        let error = notes.search(&search).unwrap_err();
        assert!(error.kind == ErrorKind::Invalid && error.message.contains(said), "{error}");
    }
    let alone = Search { vectors: [("late".to_string(), query.into())].into(), ..Search::default() };
    let error = notes.search(&alone).unwrap_err();
    assert!(error.message.contains("give the tokens to `rerank`"), "{error}");
    let dense = notes.search(&Search::vector(vec![1.0]).using("splade")).unwrap_err();
    assert!(dense.message.contains("is sparse; give its indices and values in `vectors`"), "{dense}");
    let sparse = VectorFieldOptions { kind: Some(FieldKind::Sparse), ..Default::default() };
    let fields = [
        (
            "splade",
            VectorFieldOptions { kind: Some(FieldKind::Dense), dim: Some(4), ..Default::default() },
            "has kind sparse, but dense",
        ),
        ("title", sparse, "has kind dense, but sparse was given"),
        ("more", VectorFieldOptions { dim: Some(5), ..sparse }, "is sparse; it has no `dim`"),
        ("more", VectorFieldOptions { metric: Some(Metric::L2), ..sparse }, "is sparse; it has no `dim`"),
        ("more", VectorFieldOptions { kind: Some(FieldKind::Tokens), ..Default::default() }, "needs its dimension"),
    ];
    for (name, field, said) in fields {
        let wanted = CollectionOptions { vectors: [(name.to_string(), field)].into(), ..options() };
        let error = db.collection("notes", wanted).err().unwrap();
        assert!(error.kind == ErrorKind::Invalid && error.message.contains(said), "{error}");
    }
    assert_eq!(notes.info().unwrap().vector_fields.len(), 3);
}

#[test]
fn a_damaged_posting_file_is_named_and_the_rest_serves() {
    let folder = tempfile::tempdir().unwrap();
    let mut dice = fastrand::Rng::with_seed(6);
    let db = Database::open(folder.path(), quiet()).unwrap();
    let (notes, model) = filled(&db, &mut dice);
    notes.wait_until_indexed(None).unwrap();
    drop(notes);
    db.close().unwrap();
    let path = postings_files(folder.path()).pop().expect("a segment with posting lists");
    let mut bytes = std::fs::read(&path).unwrap();
    let at = bytes.len() / 3;
    bytes[at] ^= 0x10;
    std::fs::write(&path, bytes).unwrap();
    let db = Database::open(folder.path(), quiet()).unwrap();
    let doctor = db.doctor().unwrap();
    assert!(!doctor.is_well(), "{doctor:?}");
    let named = format!("{doctor:?}");
    assert!(named.contains("postings is damaged"), "{named}");
    let notes = db.collection("notes", options()).unwrap();
    assert_same(&notes, &model, &mut dice, "damaged");
    assert!(notes.wait_until_indexed(None).unwrap());
    assert!(db.doctor().unwrap().is_well());
    assert_same(&notes, &model, &mut dice, "rebuilt");
}

#[test]
fn a_folder_with_such_fields_has_a_format_that_earlier_programs_refuse() {
    let folder = tempfile::tempdir().unwrap();
    let db = Database::open(folder.path(), quiet()).unwrap();
    let says = || String::from_utf8_lossy(&std::fs::read(folder.path().join("NUTHATCH")).unwrap()).into_owned();
    let dense = CollectionOptions {
        vectors: options().vectors.into_iter().filter(|(name, _)| name == "title").collect(),
        ..options()
    };
    db.collection("plain", dense).unwrap();
    assert!(says().contains("\"format\": 2"), "{}", says());
    let notes = db.collection("notes", options()).unwrap();
    assert!(says().contains("\"format\": 6"), "{}", says());
    let info = notes.info().unwrap();
    let kinds: Vec<(&str, &str, usize)> =
        info.vector_fields.iter().map(|field| (field.name.as_str(), field.kind.as_str(), field.dim)).collect();
    assert_eq!(kinds, [("title", "dense", 3), ("splade", "sparse", 0), ("late", "tokens", TOKENS_DIM)]);
}

#[test]
fn an_export_carries_both_bit_for_bit() {
    let folder = tempfile::tempdir().unwrap();
    let mut dice = fastrand::Rng::with_seed(7);
    let db = Database::open(folder.path().join("a"), quiet()).unwrap();
    let (_, model) = filled(&db, &mut dice);
    let out = folder.path().join("out");
    db.export(&out, ExportOptions::default()).unwrap();
    let manifest = std::fs::read_to_string(out.join("export.json")).unwrap();
    assert!(manifest.contains("\"nuthatch_export\": 4") && manifest.contains("\"kind\": \"sparse\""), "{manifest}");
    let other = Database::open(folder.path().join("b"), quiet()).unwrap();
    other.import(&out, ImportOptions::default()).unwrap();
    assert_same(&other.existing_collection("notes").unwrap(), &model, &mut dice, "imported");
}

#[test]
fn nothing_of_deleted_sparse_and_token_vectors_is_left_after_a_reclaim() {
    let folder = tempfile::tempdir().unwrap();
    let mut dice = fastrand::Rng::with_seed(2);
    let db = Database::open(folder.path(), quiet()).unwrap();
    let (notes, _) = filled(&db, &mut dice);
    let marked: Vec<f32> = (0..40).map(|at| 3.0 + at as f32 * 0.001_953_125 + 0.000_061).collect();
    let secret = SparseVector::new((7_000_000..7_000_040).collect(), marked.clone()).unwrap();
    let tokens = TokenVectors::new(TOKENS_DIM, (0..12).map(|at| 17.5 + at as f32 * 0.25).collect()).unwrap();
    let halves = Element::F16.encode(tokens.components()).unwrap();
    notes.upsert(vec![Record::new("secret").named_vector("splade", secret).named_vector("late", tokens)]).unwrap();
    notes.wait_until_indexed(None).unwrap();
    db.optimize().unwrap();
    let needles: Vec<Vec<u8>> =
        vec![marked[10..14].iter().flat_map(|x| x.to_le_bytes()).collect(), halves[..12].to_vec()];
    let holding = |needle: &[u8]| {
        let has = |path: &PathBuf| std::fs::read(path).unwrap().windows(needle.len()).any(|window| window == needle);
        files_below(folder.path()).into_iter().filter(has).collect::<Vec<_>>()
    };
    let postings = postings_files(folder.path());
    assert!(holding(&7_000_010u32.to_le_bytes()).iter().any(|path| postings.contains(path)), "it is in a posting file");
    assert!(!holding(&needles[0]).is_empty() || !holding(&needles[1]).is_empty(), "or nothing was looked for");
    notes.delete(&["secret"]).unwrap();
    let receipt = db.reclaim(None).unwrap();
    assert!(receipt.is_genuine());
    for needle in &needles {
        assert_eq!(holding(needle), Vec::<PathBuf>::new());
    }
    let postings = postings_files(folder.path());
    assert!(holding(&7_000_010u32.to_le_bytes()).iter().all(|path| !postings.contains(path)));
}
