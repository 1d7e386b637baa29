//! Fields of records that change where they are: nothing else changes, and nobody's change is lost.

mod support;

use std::collections::BTreeMap;
use std::path::PathBuf;

use nuthatch_link::*;
use support::{no_embedder, quiet};

fn change(json: serde_json::Value) -> FieldChange {
    let part = |name: &str| json.get(name).map_or(Payload::new(), |part| payload_from_json(part.clone()).unwrap());
    let unset = json["unset"].as_array().into_iter().flatten().map(|path| path.as_str().unwrap().into()).collect();
    FieldChange { set: part("set"), add: part("add"), remove: part("remove"), unset }
}

fn of(ids: &[&str], json: serde_json::Value) -> RecordChange {
    RecordChange { ids: ids.iter().map(|id| id.to_string()).collect(), change: change(json) }
}

fn payload(collection: &Collection, id: &str) -> serde_json::Value {
    let found = collection.get(&[id], false).unwrap().pop().flatten().expect("it is there");
    serde_json::Value::Object(payload_to_json(&found.payload))
}

fn records(count: usize, options: CollectionOptions) -> (Database, Collection) {
    let db = Database::in_memory(quiet()).unwrap();
    let notes = db.collection("notes", options).unwrap();
    let one = |n: usize| {
        Record::new(format!("n{n}"))
            .text(format!("note about thing{n}"))
            .vector(vec![1.0, n as f32])
            .payload(payload_from_json(serde_json::json!({ "n": n, "tags": ["all"] })).unwrap())
    };
    notes.upsert((0..count).map(one).collect()).unwrap();
    (db, notes)
}

#[test]
fn an_update_changes_its_fields_and_keeps_text_and_vectors_of_every_type() {
    for element in [Element::F32, Element::F16, Element::Int8, Element::Uint8, Element::Binary] {
        let named = VectorFieldOptions { dim: Some(8), element: Some(element), ..VectorFieldOptions::default() };
        let named = match element {
            Element::Binary => VectorFieldOptions { metric: Some(Metric::Hamming), ..named },
            _ => named,
        };
        let options = CollectionOptions { vectors: [("side".to_string(), named)].into(), ..no_embedder() };
        let (_db, notes) = records(3, options);
        let mut record = Record::new("x").text("the words of x").vector(vec![0.25, 0.1]);
        record.vectors.insert("side".into(), vec![1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.0].into());
        record.context = Some("Above".into());
        notes.upsert(vec![record]).unwrap();
        notes.wait_until_indexed(None).unwrap();
        let before = notes.get(&["x"], true).unwrap();
        let updated = notes.update(vec![of(&["x", "nobody"], serde_json::json!({"set": {"meta.by": "me"}}))]).unwrap();
        assert_eq!(updated, 1, "an unknown id is passed over");
        let mut expected = before[0].clone().unwrap();
        expected.payload = payload_from_json(serde_json::json!({"meta": {"by": "me"}})).unwrap();
        assert_eq!(notes.get(&["x"], true).unwrap()[0].as_ref(), Some(&expected), "{element:?}");
        for sealed in [false, true] {
            if sealed {
                notes.wait_until_indexed(None).unwrap();
            }
            let asked = Search::text("words of x").filter("meta.by = 'me'").unwrap();
            assert_eq!(notes.search(&asked).unwrap().hits[0].id, "x");
            let asked = Search::vector(vec![0.25, 0.1]).filter("meta.by = 'me'").unwrap();
            assert_eq!(notes.search(&asked).unwrap().hits.len(), 1);
            assert_eq!((notes.len().unwrap(), notes.count(Some("exists(meta)")).unwrap()), (4, 1));
        }
    }
}

#[test]
fn a_change_that_changes_nothing_writes_nothing() {
    let (_db, notes) = records(2, no_embedder());
    let again = || vec![of(&["n0", "n1"], serde_json::json!({"add": {"tags": ["all"]}, "unset": ["absent"]}))];
    let cursor = |notes: &Collection| notes.scan(&Scan { limit: 2, ..Scan::default() }).unwrap().cursor;
    let before = cursor(&notes);
    assert_eq!(notes.update(again()).unwrap(), 0);
    assert_eq!(cursor(&notes), before, "the rows are the same");
}

#[test]
fn a_refused_update_changes_no_record() {
    let (_db, notes) = records(3, no_embedder());
    let bad = [
        vec![of(&["n0"], serde_json::json!({"set": {"n": 7}})), of(&["n1"], serde_json::json!({"add": {"n": [1]}}))],
        vec![of(&["n0"], serde_json::json!({"set": {"n": 7}})), of(&["n1"], serde_json::json!({"set": {"n.a": 1}}))],
        vec![of(&["n0", "n0"], serde_json::json!({"set": {"n": 7}}))],
        vec![of(&["n0"], serde_json::json!({}))],
    ];
    for changes in bad {
        let error = notes.update(changes).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Invalid, "{error}");
        assert_eq!(payload(&notes, "n0")["n"], 0);
    }
    let error = notes.update(vec![of(&["n1"], serde_json::json!({"add": {"n": [1]}}))]).unwrap_err();
    assert!(error.message.contains("\"n1\"") && error.message.contains("`n`"), "{error}");
}

#[test]
fn changes_that_many_make_at_the_same_time_are_all_made() {
    let (_db, notes) = records(20, no_embedder());
    let ids: Vec<String> = (0..20).map(|n| format!("n{n}")).collect();
    std::thread::scope(|scope| {
        for writer in 0..6 {
            let (notes, ids) = (&notes, &ids);
            scope.spawn(move || {
                for turn in 0..10 {
                    let tag = format!("{writer}/{turn}");
                    let change = change(serde_json::json!({"add": {"tags": [tag]}}));
                    match writer % 2 {
                        0 => notes.update(vec![RecordChange { ids: ids.clone(), change }]).unwrap(),
                        _ => notes.update_where("tags contains 'all'", change).unwrap(),
                    };
                }
            });
        }
    });
    for id in ids {
        let tags = payload(&notes, &id)["tags"].as_array().unwrap().len();
        assert_eq!(tags, 1 + 60, "{id}");
    }
}

#[test]
fn a_change_by_condition_reaches_every_match_once_also_when_they_still_match() {
    let (_db, notes) = records(5_000, no_embedder());
    notes.wait_until_indexed(None).unwrap();
    let more = change(serde_json::json!({"add": {"tags": ["more"]}}));
    assert_eq!(notes.update_where("n >= 1000 and tags contains 'all'", more.clone()).unwrap(), 4_000);
    assert_eq!(notes.count(Some("tags contains 'more'")).unwrap(), 4_000);
    assert_eq!(notes.update_where("tags contains 'all'", more).unwrap(), 1_000);
    assert_eq!(notes.update_where("exists(n)", change(serde_json::json!({"unset": ["tags"]}))).unwrap(), 5_000);
    assert_eq!(notes.count(Some("exists(tags)")).unwrap(), 0);
}

#[test]
fn another_process_updates_the_same_records() {
    let folder = tempfile::tempdir().unwrap();
    let open = || Database::open(folder.path(), quiet()).unwrap();
    let (first, second) = (open(), open());
    let here = first.collection("notes", no_embedder()).unwrap();
    here.upsert(vec![Record::new("a").text("words")]).unwrap();
    let there = second.existing_collection("notes").unwrap();
    let at = parse_datetime("2026-01-31T12:30:00Z").unwrap();
    let set = FieldChange { set: [("at".to_string(), Value::Datetime(at))].into(), ..FieldChange::default() };
    assert_eq!(there.update(vec![RecordChange { ids: vec!["a".into()], change: set }]).unwrap(), 1);
    assert_eq!(there.update_where("exists(at)", change(serde_json::json!({"set": {"n": 1}}))).unwrap(), 1);
    let found = here.get(&["a"], false).unwrap().remove(0).unwrap().payload;
    assert_eq!(found, BTreeMap::from([("at".to_string(), Value::Datetime(at)), ("n".to_string(), 1.into())]));
}

#[test]
fn files_keep_what_was_told_of_them_when_they_change() {
    let papers = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(papers.path().join(name), text).unwrap();
    write("a.md", "# A\n\nOne thing.\n");
    write("b.md", "# B\n\nAnother thing.\n");
    let db = Database::in_memory(quiet()).unwrap();
    let docs = db.collection("docs", no_embedder()).unwrap();
    let paths: Vec<PathBuf> = vec![papers.path().to_path_buf()];
    let add = |json| docs.add(&paths, AddOptions { fields: change(json), ..AddOptions::default() });
    add(serde_json::json!({"set": {"team": "ops"}, "add": {"tags": ["new"]}})).unwrap();
    assert_eq!(docs.count(Some("team = 'ops' and tags contains 'new'")).unwrap(), 2);

    write("a.md", "# A\n\nOne thing, and then much else.\n");
    let report = add(serde_json::json!({"add": {"tags": ["seen"]}})).unwrap();
    assert_eq!((report.files_changed, report.files_unchanged), (1, 1));
    assert_eq!(docs.count(Some("team = 'ops' and tags contains 'new' and tags contains 'seen'")).unwrap(), 2);

    let folder = papers.path().canonicalize().unwrap().to_str().unwrap().to_string();
    let file = format!("{folder}/b.md");
    assert_eq!(docs.update_files(vec![file], change(serde_json::json!({"unset": ["team"]}))).unwrap(), 1);
    assert_eq!(
        docs.update_files(vec![folder.clone()], change(serde_json::json!({"remove": {"tags": ["new"]}}))).unwrap(),
        2
    );
    write("b.md", "# B\n\nAnother thing again.\n");
    add(serde_json::json!({"set": {"n": 1}})).unwrap();
    assert_eq!(docs.count(Some("n = 1 and tags contains 'seen' and not tags contains 'new'")).unwrap(), 2);
    assert_eq!(docs.count(Some("team = 'ops'")).unwrap(), 1);

    for own in ["path", "place", "mtime"] {
        let error = docs.update_files(vec![folder.clone()], change(serde_json::json!({"unset": [own]}))).unwrap_err();
        assert!(error.message.contains(own), "{error}");
    }
}
