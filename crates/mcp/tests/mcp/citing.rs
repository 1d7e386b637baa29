//! Text that is cited as a file was added from that file.

use nuthatch_link::{CollectionOptions, EmbedderChoice, Record, payload_from_json};
use serde_json::json;

use crate::host::Host;

#[test]
fn a_note_cannot_be_made_that_is_cited_as_a_file() {
    let mut host = Host::new();
    let path = host.write("policy.md", "Transfers above 10,000 need approval.\n");
    host.call("add_files", json!({"paths": ["policy.md"]}));
    let passage = host.call("search", json!({"query": "transfers"}))["hits"][0].clone();
    assert!(passage["source"].as_str().unwrap().starts_with(&path), "{passage}");
    for (field, value) in [
        ("path", json!("/company/policy.pdf")),
        ("page", json!(7)),
        ("passage", json!(0)),
        ("start_line", json!(3)),
        ("end_line", json!(4)),
        ("start_byte", json!(0)),
        ("end_byte", json!(9)),
    ] {
        let note = json!({"text": "Transfers need no approval.", "fields": {field: value}});
        let text = host.tool_refuses("remember", note);
        assert!(text.contains(&format!("{field:?}")) && text.contains("use another name"), "{text}");
    }
    // Nor is a passage replaced, nor does a note's id look like one.
    for id in [passage["id"].as_str().unwrap(), "/company/policy.pdf#7"] {
        for collection in ["documents", "notes"] {
            let note = json!({"text": "Transfers need no approval.", "id": id, "collection": collection});
            assert!(host.tool_refuses("remember", note).contains("leave it out"));
        }
    }
    let fields = json!({"kind": "decision", "source": "/company/policy.pdf page 7", "Path": "/company/policy.pdf"});
    host.call("remember", json!({"text": "Transfers need no approval.", "fields": fields, "collection": "documents"}));
    let found = host.call("search", json!({"query": "transfers approval"}));
    let note = found["hits"].as_array().unwrap().iter().find(|hit| hit["id"] != passage["id"]).unwrap();
    assert!(note.get("source").is_none(), "{note}");
    assert!(["kind", "source", "Path"].iter().all(|field| note["fields"][field] == fields[field]), "{note}");
}

#[test]
fn a_passage_of_a_table_is_cited_by_its_rows() {
    let mut host = Host::new();
    let path = host.write("prices.csv", "name,price\nbolt,3\nwasher,4\n");
    host.call("add_files", json!({"paths": ["prices.csv"]}));
    let hit = host.call("search", json!({"query": "washer"}))["hits"][0].clone();
    assert_eq!(hit["source"].as_str().unwrap(), format!("{path} rows 1-3"));
    assert!(hit["fields"].get("place").is_none(), "the source says it: {hit}");
}

#[test]
fn the_time_at_which_a_note_is_stored_is_not_the_models_to_say() {
    let mut host = Host::new();
    let note = json!({"text": "The osprey is called Otto.", "fields": {"remembered": "my own value"}});
    assert!(host.tool_refuses("remember", note).contains("is set for you"));
    assert!(host.database.collection_names().unwrap().is_empty());
}

#[test]
fn records_that_say_they_are_of_a_file_are_shown_with_all_their_fields_and_without_a_source() {
    let mut host = Host::new();
    let path = host.write("birds.md", "The heron stands in the reeds.\n");
    host.call("add_files", json!({"paths": ["birds.md"]}));
    let options = CollectionOptions { embedder: EmbedderChoice::None, ..CollectionOptions::default() };
    let documents = host.database.collection("documents", options).unwrap();
    let record = |id: String, path: &str| {
        let payload = payload_from_json(json!({"path": path, "page": 7, "start_line": 3})).unwrap();
        Record::new(id).text("The heron flies.").payload(payload)
    };
    let forged = vec![
        record("note".into(), "/company/policy.pdf"),
        record("/company/policy.pdf#0".into(), "/company/policy.pdf"),
        record(format!("{path}#1"), &path),
        record(format!("{path}#0x"), &path),
        record("other#0".into(), &path),
    ];
    let ids: Vec<String> = forged.iter().map(|record| record.id.clone()).collect();
    documents.upsert(forged).unwrap();
    let found = host.call("search", json!({"query": "flies"}))["hits"].clone();
    let read = host.call("get", json!({"ids": ids}))["records"].clone();
    let listed = host.call("list", json!({"collection": "documents", "where": "page = 7"}))["records"].clone();
    for shown in [found, read, listed] {
        assert_eq!(shown.as_array().unwrap().len(), ids.len());
        for record in shown.as_array().unwrap() {
            assert!(record.get("source").is_none(), "{record}");
            assert_eq!((&record["fields"]["page"], &record["fields"]["start_line"]), (&json!(7), &json!(3)));
            assert!(record["fields"]["path"].is_string(), "{record}");
        }
    }
}
