//! Resources: listed in pages, read by their URIs.

use std::collections::BTreeSet;

use nuthatch_link::StoreAnswer;
use serde_json::{Value, json};

use crate::host::Host;

fn read(host: &mut Host, uri: &Value) -> String {
    let read = host.ask("resources/read", json!({"uri": uri}));
    assert_eq!(read["contents"][0]["uri"], *uri);
    read["contents"][0]["text"].as_str().unwrap().to_string()
}

#[test]
fn every_collection_and_file_is_listed_once_and_can_be_read() {
    let mut host = Host::new();
    host.write("ä b/#1.md", "The heron stands.\n");
    for at in 0..450 {
        host.write(&format!("many/{at:03}.txt"), &format!("Passage {at}.\n"));
    }
    host.call("add_files", json!({"paths": ["."]}));
    host.call("remember", json!({"text": "The bittern hides."}));
    let (mut uris, mut pages, mut params) = (Vec::new(), 0, json!({}));
    loop {
        let page = host.ask("resources/list", params.clone());
        uris.extend(page["resources"].as_array().unwrap().iter().map(|resource| resource["uri"].to_string()));
        pages += 1;
        match page.get("nextCursor") {
            Some(cursor) => params = json!({"cursor": cursor}),
            None => break,
        }
    }
    assert_eq!((uris.len(), pages), (453, 3));
    assert_eq!(uris.iter().collect::<BTreeSet<_>>().len(), uris.len());
    for uri in uris.iter().take(3).chain(uris.last()) {
        read(&mut host, &serde_json::from_str(uri).unwrap());
    }
    let heron = uris.iter().find(|uri| uri.contains("%231.md")).unwrap();
    assert!(read(&mut host, &serde_json::from_str(heron).unwrap()).contains("The heron stands."));
    let (code, _) = host.is_refused("resources/list", json!({"cursor": "?"}));
    assert_eq!(code, -32602);
}

#[test]
fn records_are_read_by_template_and_what_is_not_there_is_said_to_be() {
    let mut host = Host::new();
    let id = host.call("remember", json!({"text": "The bittern hides.", "fields": {"topic": "birds"}}))["id"].clone();
    let templates = host.ask("resources/templates/list", json!({}));
    let uris: Vec<&str> = templates["resourceTemplates"]
        .as_array()
        .unwrap()
        .iter()
        .map(|template| template["uriTemplate"].as_str().unwrap())
        .collect();
    assert!(uris.contains(&"nuthatch://collections/{collection}/records/{id}"), "{uris:?}");
    let record = read(&mut host, &json!(format!("nuthatch://collections/notes/records/{}", id.as_str().unwrap())));
    let record: Value = serde_json::from_str(&record).unwrap();
    assert_eq!((&record["text"], &record["fields"]["topic"]), (&json!("The bittern hides."), &json!("birds")));
    let about = read(&mut host, &json!("nuthatch://collections/notes"));
    assert_eq!(serde_json::from_str::<Value>(&about).unwrap()["records"], 1);
    for uri in [
        "nuthatch://collections/nowhere",
        "nuthatch://collections/notes/records/nobody",
        "nuthatch://collections/notes/files/nowhere",
        "file:///etc/passwd",
    ] {
        let (code, message) = host.is_refused("resources/read", json!({"uri": uri}));
        assert_eq!(code, -32002, "{message}");
    }
}

#[test]
fn a_very_long_file_is_cut_and_says_how_to_read_on() {
    let mut host = Host::new();
    let lines: String = (0..12_000).map(|line| format!("Line {line} of a long file of many words.\n")).collect();
    let path = host.write("long.txt", &lines);
    host.call("add_files", json!({"paths": ["."]}));
    let uri = format!("nuthatch://collections/documents/files{path}");
    let text = read(&mut host, &json!(uri.replace("/files/", "/files/%2F")));
    assert!(text.len() < 270_000 && text.contains("`from_line`"), "{}", text.len());
}

#[test]
fn caches_are_listed_after_collections_and_tell_what_they_hold() {
    let mut host = Host::new();
    host.call("remember", json!({"text": "The bittern hides."}));
    for name in ["answers", "b.c"] {
        let cache = host.database.cache(name).unwrap();
        let answer = StoreAnswer { prompt: "What is DNS?".into(), response: "1".into(), ..StoreAnswer::default() };
        cache.store(answer).unwrap();
    }
    let listed = host.ask("resources/list", json!({}));
    let uris: Vec<&str> =
        listed["resources"].as_array().unwrap().iter().map(|one| one["uri"].as_str().unwrap()).collect();
    assert_eq!(uris, ["nuthatch://collections/notes", "nuthatch://caches/answers", "nuthatch://caches/b.c"]);
    let after = host.ask("resources/list", json!({"cursor": uris[1]}));
    assert_eq!(after["resources"].as_array().unwrap().len(), 1);
    let about: Value = serde_json::from_str(&read(&mut host, &json!(uris[2]))).unwrap();
    assert_eq!((&about["cache"], &about["entries"], &about["waiting"]), (&json!("b.c"), &json!(1), &json!([])));
    let (code, _) = host.is_refused("resources/read", json!({"uri": "nuthatch://caches/nowhere"}));
    assert_eq!(code, -32002);
}
