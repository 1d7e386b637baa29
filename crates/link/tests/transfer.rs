//! The guarantees of exports and imports.

mod support;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use nuthatch_link::*;
use support::*;

/// Collections of every element type, files, keys.
fn rich(db: &Database, dice: &mut fastrand::Rng) {
    for (element, metric) in [
        (Element::F32, Metric::Cosine),
        (Element::F16, Metric::Dot),
        (Element::Int8, Metric::L2),
        (Element::Uint8, Metric::L2),
        (Element::Binary, Metric::Hamming),
    ] {
        let options = CollectionOptions {
            element: Some(element),
            metric: Some(metric),
            dim: Some(16),
            embedder: EmbedderChoice::None,
            vectors: Default::default(),
            language: (element == Element::F16).then(|| "german".to_string()),
        };
        let collection = db.collection(&format!("of-{element}"), options).unwrap();
        let mut vector = || -> Vec<f32> {
            (0..16)
                .map(|_| match element {
                    Element::F32 => dice.f32() - 0.5,
                    Element::F16 => dice.i32(-100..100) as f32 / 64.0,
                    Element::Int8 => dice.i32(-128..128) as f32,
                    Element::Uint8 => dice.i32(1..256) as f32,
                    Element::Binary => dice.i32(0..2) as f32,
                })
                .collect()
        };
        let records = (0..700).map(|at| Record {
            id: format!("r{at} \"\u{1F426}\""),
            text: (at % 3 > 0).then(|| format!("text {at} of {element}\n\tindented")),
            vector: (at % 5 > 0 || at % 3 == 0).then(&mut vector),
            vectors: Default::default(),
            context: (at % 4 == 0).then(|| format!("heading {at}")),
            code: at % 7 == 0,
            payload: Payload::from([
                ("at".to_string(), Value::Datetime(at * 1_000_001)),
                ("share".to_string(), Value::Float(at as f64 / 7.0)),
                ("nested".to_string(), Value::Array(vec![Value::Map([("n".to_string(), Value::Int(at))].into())])),
            ]),
        });
        collection.upsert(records.collect()).unwrap();
        collection.delete(&["r5 \"\u{1F426}\""]).unwrap();
    }
    let documents = tempfile::tempdir().unwrap();
    std::fs::write(documents.path().join("a.md"), "# Keys\n\nThe spare key is under the blue pot.\n").unwrap();
    let files = db.collection("files", no_embedder()).unwrap();
    files.add(&[documents.path().to_path_buf()], AddOptions::default()).unwrap();
    db.collection("..", no_embedder()).unwrap(); // a name like any other
    let kv = db.kv("settings").unwrap();
    kv.put("plain", "value").unwrap();
    kv.put([0xff, 0], [1, 2, 0xfe]).unwrap();
    kv.put("large", vec![7; 200_000]).unwrap();
    kv.put_expiring("later", "x", Duration::from_secs(1 << 30)).unwrap();
    db.kv("empty").unwrap();
}

type Everything = (Vec<CollectionInfo>, BTreeMap<String, Vec<(StoredRecord, bool)>>, Vec<FileInfo>, Vec<KeyPage>);

fn everything(db: &Database) -> Everything {
    let mut infos = db.collections().unwrap();
    let mut records = BTreeMap::new();
    for info in &mut infos {
        (info.fresh_rows, info.segments) = (0, 0);
        let collection = db.existing_collection(&info.name).unwrap();
        let page = collection.scan(&Scan { limit: 10_000, vectors: true, ..Scan::default() }).unwrap();
        // Whether a text is code shows in what finds it; the flag itself is read from a second export below.
        records.insert(info.name.clone(), page.records.into_iter().map(|record| (record, true)).collect());
    }
    let files = db.existing_collection("files").unwrap().files("").unwrap();
    let keys = db.keyspace_names().unwrap();
    let keys = keys.iter().map(|name| db.existing_keyspace(name).unwrap().scan(&KeyScan::default()).unwrap());
    (infos, records, files, keys.collect())
}

fn lines(folder: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(at) = folders.pop() {
        for entry in std::fs::read_dir(at).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false if path.extension().is_some_and(|kind| kind == "jsonl") => {
                    let name = path.strip_prefix(folder).unwrap().to_string_lossy().into_owned();
                    found.insert(name, std::fs::read_to_string(&path).unwrap());
                }
                false => {}
            }
        }
    }
    found
}

#[test]
fn an_import_of_an_export_is_an_equal_database() {
    let mut dice = fastrand::Rng::with_seed(31);
    let db = Database::in_memory(quiet()).unwrap();
    rich(&db, &mut dice);
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (folder.path().join("first"), folder.path().join("second"));
    let report = db.export(&first, ExportOptions::default()).unwrap();
    assert_eq!((report.collections, report.keyspaces, report.files, report.keys), (7, 2, 1, 4));
    let other = Database::in_memory(quiet()).unwrap();
    let imported = other.import(&first, ImportOptions::default()).unwrap();
    assert_eq!((imported.records, imported.files, imported.keys), (report.records, 1, 4));
    assert_eq!(everything(&other), everything(&db));
    // Byte for byte, so also what no listing shows: code, hashes of files, times of expiry.
    other.export(&second, ExportOptions::default()).unwrap();
    let (mut before, mut after) = (lines(&first), lines(&second));
    let expiring = |lines: &mut BTreeMap<String, String>| -> String {
        lines.iter_mut().filter(|(name, _)| name.contains("settings")).map(|(_, text)| std::mem::take(text)).collect()
    };
    let (kept, came) = (expiring(&mut before), expiring(&mut after));
    assert_eq!(before, after);
    assert_eq!(kept.lines().count(), came.lines().count());
    assert!(came.contains("expires_at_ms"));
    // And it answers alike.
    let ask = |db: &Database| {
        let found = db.existing_collection("of-f32").unwrap().search(&Search::text("text 44").limit(5)).unwrap();
        found.hits.into_iter().map(|hit| (hit.id, hit.score)).collect::<Vec<_>>()
    };
    assert_eq!(ask(&db), ask(&other));
}

#[test]
fn what_is_there_already_is_refused_unless_it_is_to_be_merged() {
    let db = Database::in_memory(quiet()).unwrap();
    let notes = db.collection("notes", no_embedder()).unwrap();
    notes.upsert(vec![Record::new("a").text("old"), Record::new("b").text("other")]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("export");
    db.export(&target, ExportOptions::default()).unwrap();
    notes.upsert(vec![Record::new("a").text("new")]).unwrap();
    let refused = db.import(&target, ImportOptions::default()).unwrap_err();
    assert!(refused.kind == ErrorKind::Invalid && refused.message.contains("\"notes\" already exists"), "{refused}");
    let merged = db.import(&target, ImportOptions { merge: true, ..ImportOptions::default() }).unwrap();
    assert_eq!(merged.records, 2);
    assert_eq!(notes.get(&["a"], false).unwrap()[0].as_ref().unwrap().text.as_deref(), Some("old"));
    let again = db.export(&target, ExportOptions::default()).unwrap_err();
    assert!(again.message.contains("not empty"), "{again}");
    let nothing = db.import(folder.path(), ImportOptions::default()).unwrap_err();
    assert!(nothing.kind == ErrorKind::NotFound && nothing.message.contains("export.json"), "{nothing}");
}

#[test]
fn one_collection_can_go_alone() {
    let db = Database::in_memory(quiet()).unwrap();
    for name in ["notes", "letters"] {
        db.collection(name, no_embedder()).unwrap().upsert(vec![Record::new("a").text(name)]).unwrap();
    }
    db.kv("settings").unwrap().put("a", "b").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let both = folder.path().join("both");
    db.export(&both, ExportOptions::default()).unwrap();
    let only = || Some("letters".to_string());
    let one = folder.path().join("one");
    let report = db.export(&one, ExportOptions { collection: only(), ..ExportOptions::default() }).unwrap();
    assert_eq!((report.collections, report.keyspaces), (1, 0));
    for source in [both, one] {
        let other = Database::in_memory(quiet()).unwrap();
        other.import(&source, ImportOptions { collection: only(), ..ImportOptions::default() }).unwrap();
        assert_eq!(other.collection_names().unwrap(), ["letters"]);
        assert!(other.keyspace_names().unwrap().is_empty());
    }
}

#[test]
fn a_line_that_is_wrong_is_named_and_so_is_a_place_outside() {
    let db = Database::in_memory(quiet()).unwrap();
    db.collection("notes", no_embedder()).unwrap().upsert(vec![Record::new("a").text("x")]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("export");
    db.export(&target, ExportOptions::default()).unwrap();
    let records = target.join("collections/000-notes/records.jsonl");
    for (bad, named) in [
        ("{\"id\": \"b\", \"text\": 5}", "line 2"),
        ("not json", "line 2"),
        ("{\"id\": \"\", \"text\": \"x\"}", "empty id"),
        ("{\"id\": \"b\", \"vector\": [1.0, \"x\"]}", "line 2"),
    ] {
        std::fs::write(&records, format!("{{\"id\": \"a\", \"text\": \"x\"}}\n{bad}\n")).unwrap();
        let error = Database::in_memory(quiet()).unwrap().import(&target, ImportOptions::default()).unwrap_err();
        assert!(error.kind == ErrorKind::Invalid && error.message.contains(named), "{bad}: {error}");
        assert!(error.message.contains("records.jsonl"), "{error}");
    }
    let manifest = std::fs::read_to_string(target.join("export.json")).unwrap();
    for (from, to, named) in [
        ("collections/000-notes", "../elsewhere", "outside of its folder"),
        ("\"nuthatch_export\": 1", "\"nuthatch_export\": 9", "export format 9"),
        ("\"cosine\"", "\"cosinus\"", "cosinus"),
        ("\"l2\"", "\"l3\"", "l3"),
        ("\"jsonl\"", "\"parquet\"", "Python"),
    ] {
        if !manifest.contains(from) {
            continue;
        }
        std::fs::write(target.join("export.json"), manifest.replace(from, to)).unwrap();
        let error = Database::in_memory(quiet()).unwrap().import(&target, ImportOptions::default()).unwrap_err();
        assert!(error.message.contains(named), "{to}: {error}");
    }
    std::fs::write(target.join("export.json"), manifest.replace("collections/000-notes", "export.json")).unwrap();
    let error = Database::in_memory(quiet()).unwrap().import(&target, ImportOptions::default()).unwrap_err();
    assert!(error.kind == ErrorKind::Invalid, "a file lies where a folder has to be: {error}");
}
