//! The format is a promise: a folder that an earlier build wrote opens, answers and says what is damaged.
//!
//! The folders lie in `tests/compat/format-<n>`, every file compressed with gzip. The one of this format is made by
//! `make compat-fixture`, which runs `make_the_fixture` below; what is in it is what `fill` puts there.

mod support;

use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use nuthatch_link::*;
use support::*;

const ROWS: i64 = 60;
const ELEMENTS: [(Element, Metric); 5] = [
    (Element::F32, Metric::Cosine),
    (Element::F16, Metric::Dot),
    (Element::Int8, Metric::L2),
    (Element::Uint8, Metric::L2),
    (Element::Binary, Metric::Hamming),
];

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/compat")
}

/// The record with this number. Its vector is nearest to itself alone.
fn expected(at: i64, element: Element) -> Record {
    let bit = |n: i64| (at + 1) >> n & 1;
    let component = |n: i64| match element {
        Element::F32 => (at * 7 + n * n) as f32 / 10.0 - 3.0,
        Element::F16 => (at * 3 - n * 8) as f32 / 4.0,
        Element::Int8 => (at * 2 - n - 50) as f32,
        Element::Uint8 => (at * 3 + n + 1) as f32,
        Element::Binary => bit(n) as f32,
    };
    let mut record = Record::new(format!("r{at}"));
    record.text = (at % 4 > 0).then(|| format!("the nuthatch number{at} stores seeds"));
    record.context = (at % 5 == 0).then(|| "Birds > Nuthatches".to_string());
    record.code = at % 6 == 0;
    record.vector = (at % 3 > 0 || at % 4 == 0).then(|| (0..8).map(component).collect());
    record.payload = Payload::from([
        ("n".to_string(), Value::Int(at)),
        ("share".to_string(), Value::Float(at as f64 / 3.0)),
        ("even".to_string(), Value::Bool(at % 2 == 0)),
        ("name".to_string(), Value::Text(format!("name {}", at % 7))),
        ("when".to_string(), Value::Datetime(at * 86_400_000_000)),
        ("tags".to_string(), Value::Array(vec![Value::Text("a".into()), Value::Null])),
        ("meta".to_string(), Value::Map([("depth".to_string(), Value::Int(at % 3))].into())),
    ]);
    record
}

fn options(element: Element, metric: Metric) -> CollectionOptions {
    CollectionOptions {
        dim: Some(8),
        element: Some(element),
        metric: Some(metric),
        embedder: EmbedderChoice::None,
        ..CollectionOptions::default()
    }
}

/// The same numbers by the names of fields, each record with some of them.
fn with_fields(at: i64) -> Record {
    let mut record = expected(at, Element::F32);
    for (element, _) in ELEMENTS.iter().filter(|(element, _)| (at + *element as i64) % 4 > 0) {
        let of_field = expected(at - at % 3 + 1, *element).vector; // one that has a vector
        record.vectors.extend(of_field.map(|vector| (format!("of-{element}"), vector.into())));
    }
    record
}

fn fill_fields(db: &Database) {
    let field = |(element, metric): (Element, Metric)| {
        let field =
            VectorFieldOptions { dim: Some(8), metric: Some(metric), element: Some(element), ..Default::default() };
        (format!("of-{element}"), field)
    };
    let options = CollectionOptions {
        vectors: ELEMENTS.into_iter().map(field).collect(),
        ..options(Element::F32, Metric::Cosine)
    };
    let collection = db.collection("fields", options).unwrap();
    collection.upsert((0..ROWS).map(with_fields).collect()).unwrap();
    collection.wait_until_indexed(None).unwrap();
    collection.delete(&["r11"]).unwrap();
    collection.upsert(vec![with_fields(ROWS)]).unwrap();
}

fn check_fields(db: &Database, note: &str) {
    let collection = db.existing_collection("fields").unwrap();
    assert_eq!(collection.info().unwrap().vector_fields.len(), ELEMENTS.len(), "{note}");
    for at in (0..=ROWS).filter(|at| *at != 11) {
        let wanted = with_fields(at);
        let found = collection.get(&[&wanted.id], true).unwrap()[0].clone().unwrap();
        assert_eq!((found.vector, found.vectors), (wanted.vector, wanted.vectors.clone()), "{note}: {at}");
        for (field, vector) in wanted.vectors {
            let near =
                collection.search(&Search::vector(vector.dense().unwrap().to_vec()).using(&field).limit(3)).unwrap();
            assert_eq!(near.hits.len(), 3, "{note}: {field} {at}");
            if field != "of-f16" {
                let first = collection.get(&[&near.hits[0].id], true).unwrap()[0].clone().unwrap();
                assert_eq!(first.vectors[&field], vector, "{note}: {field} {at}");
            }
        }
    }
}

fn fill(db: &Database) {
    for (element, metric) in ELEMENTS {
        let collection = db.collection(&format!("of-{element}"), options(element, metric)).unwrap();
        collection.upsert((0..ROWS).map(|at| expected(at, element)).collect()).unwrap();
        collection.upsert((0..10).map(|at| expected(at, element)).collect()).unwrap(); // replaced
        collection.wait_until_indexed(None).unwrap();
        // Dead in a sealed segment, and fresh in none.
        collection.delete(&["r11"]).unwrap();
        collection.upsert(vec![expected(ROWS, element)]).unwrap();
    }
    let documents = tempfile::tempdir().unwrap();
    std::fs::write(documents.path().join("keys.md"), "# Keys\n\nThe spare key is under the blue pot.\n").unwrap();
    let files = db.collection("files", no_embedder()).unwrap();
    files.add(&[documents.path().to_path_buf()], AddOptions::default()).unwrap();
    let kv = db.kv("settings").unwrap();
    for at in 0..20 {
        kv.put(format!("key{at:02}"), format!("value {at}")).unwrap();
    }
    kv.put("large", vec![b'x'; 70_000]).unwrap();
    kv.put_expiring("expires", "in a hundred years", std::time::Duration::from_secs(100 * 365 * 86_400)).unwrap();
}

fn check(db: &Database, note: &str) {
    for (element, metric) in ELEMENTS {
        let collection = db.existing_collection(&format!("of-{element}")).unwrap();
        assert_eq!(
            (collection.element(), collection.metric(), collection.dim().unwrap()),
            (element, metric, Some(8)),
            "{note}"
        );
        assert_eq!(collection.len().unwrap() as i64, ROWS, "{note}");
        for at in (0..=ROWS).filter(|at| *at != 11) {
            let wanted = expected(at, element);
            let found = collection.get(&[&wanted.id], true).unwrap()[0].clone().unwrap();
            let parts = (found.text, found.context, found.vector, found.payload);
            assert_eq!(parts, (wanted.text, wanted.context, wanted.vector, wanted.payload), "{note}: {element} {at}");
        }
        let by_words = collection.search(&Search::text("number17").mode(Mode::Text)).unwrap();
        assert_eq!(by_words.hits[0].id, "r17", "{note}: {element}");
        let vector = expected(16, element).vector.unwrap();
        let near = collection.search(&Search::vector(vector).limit(3).filter("n >= 10 and meta.depth = 1").unwrap());
        if metric != Metric::Dot {
            assert_eq!(near.unwrap().hits[0].id, "r16", "{note}: {element}");
        }
        assert_eq!(collection.count(Some("even and when < '1970-01-11'")).unwrap(), 5, "{note}");
    }
    let files = db.existing_collection("files").unwrap();
    assert_eq!(files.files("").unwrap().len(), 1, "{note}");
    assert_eq!(files.search(&Search::text("spare key")).unwrap().hits.len(), 1, "{note}");
    let kv = db.existing_keyspace("settings").unwrap();
    assert_eq!(kv.get("key07").unwrap().as_deref(), Some(&b"value 7"[..]), "{note}");
    assert_eq!(kv.get("large").unwrap().map(|value| value.len()), Some(70_000), "{note}");
    assert_eq!(kv.scan(&KeyScan::prefix("key")).unwrap().entries.len(), 20, "{note}");
    assert!(kv.get("expires").unwrap().is_some(), "{note}");
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(files_below(&path)),
            false => found.push(path),
        }
    }
    found.sort();
    found
}

fn unpack(fixture: &Path) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for path in files_below(fixture) {
        let inside = path.strip_prefix(fixture).unwrap().with_extension("");
        let name = path.file_name().unwrap().to_string_lossy();
        let target = folder.path().join(inside.with_file_name(name.strip_suffix(".gz").unwrap()));
        std::fs::create_dir_all(target.parent().unwrap()).unwrap();
        let mut bytes = Vec::new();
        GzDecoder::new(std::fs::File::open(&path).unwrap()).read_to_end(&mut bytes).unwrap();
        std::fs::write(target, bytes).unwrap();
    }
    folder
}

fn every_fixture() -> Vec<(String, PathBuf)> {
    let folders =
        std::fs::read_dir(fixtures()).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    let mut all: Vec<_> =
        folders.map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), path)).collect();
    all.sort();
    assert!(all.iter().any(|(name, _)| *name == format!("format-{FORMAT_VERSION}")), "one of this format: {all:?}");
    all
}

fn fill_graph(db: &Database) {
    let graph = db.graph("web").unwrap();
    let properties =
        Payload::from([("when".to_string(), Value::Datetime(86_400_000_000)), ("n".into(), Value::Int(7))]);
    graph.put_nodes(vec![Node::new("a", "page").properties(properties.clone()), Node::new("ü", "page")]).unwrap();
    graph
        .put_edges(vec![Edge::new("a", "links", "ü"), Edge::new("b", "cites", "a").weight(0.5).properties(properties)])
        .unwrap();
}

fn check_graph(db: &Database, note: &str) {
    let graph = db.existing_graph("web").unwrap();
    let properties =
        Payload::from([("when".to_string(), Value::Datetime(86_400_000_000)), ("n".into(), Value::Int(7))]);
    let nodes = [Some(Node::new("a", "page").properties(properties.clone())), None, Some(Node::new("ü", "page"))];
    assert_eq!(graph.nodes(&["a", "b", "ü"]).unwrap(), nodes, "{note}");
    let around = Neighbors { direction: EdgeDirection::Both, ..Neighbors::default() };
    let edges: Vec<Edge> = graph.neighbors("a", &around).unwrap().neighbors.into_iter().map(|it| it.edge).collect();
    let wanted = [Edge::new("a", "links", "ü"), Edge::new("b", "cites", "a").weight(0.5).properties(properties)];
    assert_eq!(edges, wanted, "{note}");
}

/// Files of every way in which contents are kept, with versions and a snapshot.
fn originals() -> Vec<(&'static str, Vec<u8>)> {
    let noise = |bytes: usize| (0..bytes as u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    vec![("inline", b"a few bytes".to_vec()), ("one chunk", noise(3_000)), ("deep/many chunks", noise(300_000))]
}

fn fill_tree(db: &Database) {
    let tree = db.tree("originals").unwrap();
    let put =
        |path: &str, what| PutFile { path: path.into(), mode: 0o640, modified_ns: 1_700_000_000_123_456_789, what };
    let files = originals().into_iter().map(|(path, bytes)| put(path, PutWhat::File(bytes)));
    let others = [put("folder", PutWhat::Folder), put("link", PutWhat::Link("one chunk".into()))];
    tree.put(PutFiles { files: files.chain(others).collect(), ..PutFiles::default() }).unwrap();
    tree.name_snapshot("v1").unwrap();
    let files = vec![put("inline", PutWhat::File(b"others".to_vec()))];
    tree.put(PutFiles { files, gone: vec!["link".into()], ..PutFiles::default() }).unwrap();
    tree.set_retention(Retention { versions: Some(3), seconds: None }).unwrap();
}

fn check_tree(db: &Database, note: &str) {
    let tree = db.existing_tree("originals").unwrap();
    for (path, bytes) in originals() {
        let found = tree.read(Some("v1"), path, 0, READ_BYTES_MAX).unwrap().unwrap();
        assert_eq!((found.bytes, found.entry.mode), (bytes, 0o640), "{note}: {path}");
    }
    assert_eq!(tree.read(None, "inline", 0, 100).unwrap().unwrap().bytes, b"others", "{note}");
    assert_eq!(tree.versions("link").unwrap().len(), 2, "{note}");
    assert_eq!(tree.info().unwrap().retention, Retention { versions: Some(3), seconds: None }, "{note}");
    // Files written by an earlier program are indexed from their versions.
    assert_eq!((tree.index(true).unwrap().indexed, tree.index(true).unwrap().pending), (4, 0), "{note}");
    let request = GrepRequest { patterns: vec!["few bytes|others".into()], ..GrepRequest::default() };
    let (at, index) = (tree.at(Some("v1")), GrepIndex::Always);
    let ask = GrepTree {
        at,
        below: String::new(),
        request,
        history: false,
        cursor: None,
        bytes_max: 1_000,
        index,
        filter: None,
    };
    let page = tree.grep_page(ask).unwrap();
    assert_eq!((page.output, page.read.scanned), (b"inline:a few bytes\n".to_vec(), None), "{note}");
    assert_eq!(tree.check(true).unwrap().findings, Vec::<String>::new(), "{note}");
}

fn fill_cache(db: &Database) {
    let cache = db.cache("answers").unwrap();
    cache.configure(&CacheChange { budget: Some(0.1), ..CacheChange::default() }).unwrap();
    let vector = Some(vec![1.0, 0.0]);
    let prompt = "How do I reset my password?".to_string();
    let answer =
        StoreAnswer { prompt, response: "{\"n\":7}".into(), vector, tags: vec!["t".into()], ..Default::default() };
    cache.store(answer).unwrap().unwrap();
    let hit = cache.lookup(&ask_cache("How can I reset the password?")).unwrap().hit.unwrap();
    cache.report(Verdict { hit: hit.hit, entry: hit.entry, wrong: false, served: true, spent_nano_usd: 0 }).unwrap();
}

fn check_cache(db: &Database, note: &str) {
    let cache = db.existing_cache("answers").unwrap();
    let hit = cache.lookup(&ask_cache("how can I reset the password")).unwrap().hit.unwrap();
    assert_eq!((hit.tier, &*hit.response, hit.tags.len()), (CacheTier::Alias, "{\"n\":7}", 1), "{note}");
    let stats = cache.stats().unwrap();
    assert_eq!((stats.entries, stats.settings.budget, stats.ledger.hits), (1, 0.1, 1), "{note}");
}

/// Two values of a functional relation, of which one is read in a record.
fn fill_facts(db: &Database) {
    let facts = db.facts("people").unwrap();
    facts.declare("works_at", true).unwrap();
    let fact = |at: &str, from: &str| NewFact {
        valid_from: parse_datetime(from),
        ..NewFact::new("Anna", "works_at", Object::Entity(at.into()))
    };
    let of = PassageRef { collection: "of-f32".into(), id: "r5".into(), start: 0, end: 3 };
    let read = NewFact { sources: vec![of], extractor: "test:1".into(), ..fact("Initech", "2024-05-01") };
    facts.record(vec![fact("Acme", "2020-01-01"), read]).unwrap();
    facts.alias("Annie", "Anna").unwrap();
}

fn check_facts(db: &Database, note: &str) {
    let facts = db.existing_facts("people").unwrap();
    let ask =
        |day: &str| AskFacts { subject: Some("Annie".into()), valid_at: parse_datetime(day), ..AskFacts::default() };
    for (day, at) in [("2022-01-01", "Acme"), ("2025-01-01", "Initech")] {
        let found = facts.list(&ask(day)).unwrap().facts;
        assert_eq!(found.len(), 1, "{note}");
        assert_eq!(found[0].fact.object, Object::Entity(at.into()), "{note}");
    }
    let why = facts.why(2).unwrap().unwrap();
    assert_eq!(why.sources[0].text.as_deref(), Some("the"), "{note}");
}

fn ask_cache(prompt: &str) -> AskCache {
    AskCache { prompt: prompt.into(), vector: Some(vec![1.0, 0.02]), ..AskCache::default() }
}

/// Sparse and token vectors, sealed and fresh ones.
fn with_kinds(at: u32) -> Record {
    let sparse = SparseVector::new(vec![at % 7, 1000 + at], vec![0.5 + at as f32, 2.0]).unwrap();
    let tokens = TokenVectors::of_rows(vec![vec![1.0, at as f32], vec![-1.0, 0.25]]).unwrap();
    Record::new(format!("s{at}")).text("seed").named_vector("splade", sparse).named_vector("late", tokens)
}

fn fill_sparse(db: &Database) {
    let sparse = VectorFieldOptions { kind: Some(FieldKind::Sparse), ..Default::default() };
    let tokens = VectorFieldOptions { kind: Some(FieldKind::Tokens), dim: Some(2), ..Default::default() };
    let vectors = [("splade".to_string(), sparse), ("late".to_string(), tokens)].into();
    let notes = db.collection("kinds", CollectionOptions { vectors, ..no_embedder() }).unwrap();
    notes.upsert((0..100).map(with_kinds).collect()).unwrap();
    notes.wait_until_indexed(None).unwrap();
    notes.upsert((100..110).map(with_kinds).collect()).unwrap();
}

fn check_sparse(db: &Database, note: &str) {
    let notes = db.existing_collection("kinds").unwrap();
    for at in [3, 99, 105] {
        let wanted = with_kinds(at);
        assert_eq!(notes.get(&[&wanted.id], true).unwrap()[0].clone().unwrap().vectors, wanted.vectors, "{note}");
        let query = SparseVector::new(vec![1000 + at], vec![1.0]).unwrap();
        let search = Search { vectors: [("splade".to_string(), query.into())].into(), ..Search::default() };
        let hits = notes.search(&search).unwrap().hits;
        assert_eq!((hits.len(), hits[0].id.clone(), hits[0].score), (1, wanted.id, 2.0), "{note}");
    }
}

/// Removes the fixture of this format and makes it again.
#[test]
#[ignore = "run by `make compat-fixture`, when the format changes"]
fn make_the_fixture() {
    let folder = tempfile::tempdir().unwrap();
    let db = Database::open(folder.path(), quiet()).unwrap();
    fill(&db);
    fill_fields(&db);
    fill_graph(&db);
    fill_tree(&db);
    fill_cache(&db);
    fill_sparse(&db);
    fill_facts(&db);
    check(&db, "as made");
    check_fields(&db, "as made");
    check_graph(&db, "as made");
    check_tree(&db, "as made");
    check_cache(&db, "as made");
    check_sparse(&db, "as made");
    check_facts(&db, "as made");
    db.close().unwrap();
    let target = fixtures().join(format!("format-{FORMAT_VERSION}"));
    if target.exists() {
        std::fs::remove_dir_all(&target).unwrap();
    }
    let mut total = 0;
    for path in files_below(folder.path()) {
        let inside = path.strip_prefix(folder.path()).unwrap();
        if inside.ends_with("LOCK") {
            continue; // who had it open is no part of the format
        }
        let place = target.join(format!("{}.gz", inside.display()));
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        let mut packed = GzEncoder::new(Vec::new(), Compression::best());
        packed.write_all(&std::fs::read(&path).unwrap()).unwrap();
        let packed = packed.finish().unwrap();
        total += packed.len();
        std::fs::write(place, packed).unwrap();
    }
    println!("{}: {total} bytes", target.display());
}

#[test]
fn folders_of_every_format_open_and_answer() {
    for (name, fixture) in every_fixture() {
        let folder = unpack(&fixture);
        let db = Database::open(folder.path(), quiet()).unwrap();
        assert!(db.doctor().unwrap().is_well(), "{name}");
        check(&db, &name);
        if name == "format-1" {
            fill_fields(&db); // an older folder can have them, too
        }
        check_fields(&db, &name);
        if name.as_str() < "format-3" {
            fill_graph(&db);
        }
        check_graph(&db, &name);
        if name.as_str() < "format-4" {
            fill_tree(&db);
        }
        check_tree(&db, &name);
        if name.as_str() < "format-5" {
            fill_cache(&db);
        }
        check_cache(&db, &name);
        if name.as_str() < "format-6" {
            fill_sparse(&db);
            fill_facts(&db);
        }
        check_sparse(&db, &name);
        check_facts(&db, &name);
        // They can be written as well, merged, migrated, and opened again.
        let notes = db.existing_collection("of-f32").unwrap();
        notes.upsert(vec![expected(12, Element::F32)]).unwrap();
        db.optimize().unwrap();
        db.migrate().unwrap();
        check(&db, &name);
        db.close().unwrap();
        let db = Database::open(folder.path(), quiet()).unwrap();
        check(&db, &name);
        check_fields(&db, &name);
        check_graph(&db, &name);
        check_tree(&db, &name);
        check_cache(&db, &name);
        check_facts(&db, &name);
        assert!(db.doctor().unwrap().is_well(), "{name}");
        assert!(db.migration().unwrap().steps.is_empty(), "{name}");
    }
}

#[test]
fn damage_in_folders_of_every_format_is_named() {
    for (name, fixture) in every_fixture() {
        let paths: Vec<PathBuf> =
            files_below(&fixture).iter().map(|path| path.strip_prefix(&fixture).unwrap().to_path_buf()).collect();
        // One file of each kind: the names of text segments and tables differ, their kinds do not.
        let mut kinds = std::collections::BTreeMap::new();
        for path in &paths {
            let text = path.to_string_lossy().trim_end_matches(".gz").to_string();
            let file = Path::new(&text).file_name().unwrap().to_string_lossy().into_owned();
            let kind =
                file.rsplit('.').next().unwrap().trim_end_matches(|c: char| c.is_ascii_digit() || c == '-').to_string();
            kinds.entry(kind).or_insert(text);
        }
        for (kind, inside) in kinds {
            if ["log", "writing"].contains(&&*kind) {
                continue; // a log's torn end is what a crash leaves
            }
            let folder = unpack(&fixture);
            let path = folder.path().join(&inside);
            let mut bytes = std::fs::read(&path).unwrap();
            if bytes.is_empty() {
                continue;
            }
            let middle = bytes.len() / 2;
            bytes[middle] ^= 0x24;
            std::fs::write(&path, bytes).unwrap();
            let said = match Database::open(folder.path(), quiet()).and_then(|db| db.doctor()) {
                Err(error) => error.message,
                Ok(doctor) => {
                    assert!(!doctor.is_well(), "{name}: damage in {inside} was not seen");
                    let findings = doctor.findings.iter().map(|it| format!("{}: {}", it.path.display(), it.what));
                    findings.chain(doctor.degraded.iter().cloned()).collect::<Vec<_>>().join("\n")
                }
            };
            assert!(said.contains(&inside), "{name}: damage in {inside}, but said: {said}");
        }
    }
}

#[test]
fn a_newer_folder_is_refused_with_both_versions_and_stays_as_it_was() {
    let (_, fixture) = every_fixture().pop().unwrap();
    let folder = unpack(&fixture);
    let identity = folder.path().join("NUTHATCH");
    let body = String::from_utf8(nuthatch_segment::read_sealed(&identity).unwrap().unwrap()).unwrap();
    let newer = body.replace(&format!("\"format\": {FORMAT_VERSION}"), &format!("\"format\": {}", FORMAT_VERSION + 1));
    assert_ne!(newer, body);
    nuthatch_segment::write_sealed(&identity, newer.as_bytes()).unwrap();
    let before = files_below(folder.path());
    let Err(error) = Database::open(folder.path(), quiet()) else { panic!("opened") };
    assert_eq!(error.kind, ErrorKind::Invalid);
    let named = format!("format {}", FORMAT_VERSION + 1);
    assert!(error.message.contains(&named) && error.message.contains(&format!("to {FORMAT_VERSION}")), "{error}");
    assert_eq!(files_below(folder.path()), before);
}

/// The first layout of columns is read where it lies; a migration says so, and replaces it.
#[test]
fn columns_of_version_1_are_read_and_migrated() {
    let folder = tempfile::tempdir().unwrap();
    let db = Database::open(folder.path(), Options { fresh_rows_max: 1000, ..quiet() }).unwrap();
    let notes = db.collection("notes", no_embedder()).unwrap();
    let payload = |row: i64| Payload::from([("id".to_string(), Value::Text(format!("doc-{row}")))]);
    notes.upsert((0..300).map(|row| Record::new(format!("{row}")).payload(payload(row))).collect()).unwrap();
    notes.wait_until_indexed(None).unwrap();
    db.close().unwrap();
    let columns = files_below(folder.path()).into_iter().find(|path| path.ends_with("columns")).unwrap();
    let version_1 = Path::new(env!("CARGO_MANIFEST_DIR")).join("../filter/tests/fixtures/columns-1");
    std::fs::remove_file(&columns).unwrap();
    let mut writer = nuthatch_segment::BlockFileWriter::create(&columns).unwrap();
    writer.write_all(&std::fs::read(version_1).unwrap()).unwrap();
    writer.finish().unwrap();

    let db = Database::open(folder.path(), quiet()).unwrap();
    let notes = db.existing_collection("notes").unwrap();
    assert_eq!(notes.count(Some("id = 'doc-123'")).unwrap(), 1);
    let planned = db.migration().unwrap();
    assert_eq!(planned.steps.len(), 1, "{planned:?}");
    assert!(planned.steps[0].what.contains("version 1"), "{planned:?}");
    assert_eq!(db.migration().unwrap(), planned, "asking changes nothing");
    assert_eq!(db.migrate().unwrap(), planned);
    assert!(db.migration().unwrap().steps.is_empty());
    assert_eq!(notes.count(Some("id = 'doc-123'")).unwrap(), 1);
    assert!(db.doctor().unwrap().is_well());
}
