//! Collections and their records.

use serde_json::{Value, json};

use crate::place::Place;

#[test]
fn a_collection_is_made_once_described_and_dropped() {
    let place = Place::new();
    let client = place.client();
    assert_eq!(client.get("/v1/collections").is(200), json!({"collections": []}));
    let made = client.put("/v1/collections/notes", json!({"dim": 2, "metric": "l2", "embedder": "none"})).is(201);
    assert_eq!((&made["name"], &made["dim"], &made["metric"]), (&json!("notes"), &json!(2), &json!("l2")));
    client.put("/v1/collections/notes", json!({})).is(200);
    let said = client.put("/v1/collections/notes", json!({"metric": "dot"})).fails(400, "invalid");
    assert!(said.contains("l2") && said.contains("dot"), "{said}");
    assert_eq!(client.get("/v1/collections/notes").is(200)["rows"], 0);
    assert_eq!(client.delete("/v1/collections/notes").status, 204);
    client.delete("/v1/collections/notes").fails(404, "not_found");
    client.get("/v1/collections/notes").fails(404, "not_found");
    client.put("/v1/collections/a%20b", json!({})).fails(400, "invalid");
    place.stop();
}

#[test]
fn records_are_written_read_listed_counted_and_deleted() {
    let place = Place::new();
    let client = place.client();
    client.put("/v1/collections/notes", json!({"embedder": "none"})).is(201);
    let records = json!({"records": [
        {"id": "a", "text": "osprey", "vector": [1, 0], "payload": {"year": 2024, "tags": ["x", null]}},
        {"id": "b/c#1", "text": "heron", "vector": [0, 1], "payload": {"year": 2025}},
    ]});
    let written = client.post("/v1/collections/notes/records?durability=os", records.clone()).is(200);
    assert_eq!(written, json!({"inserted": 2, "replaced": 0}));
    assert_eq!(client.post("/v1/collections/notes/records", records).is(200)["replaced"], 2);
    let one = client.get("/v1/collections/notes/records/b%2Fc%231?vectors=true").is(200);
    assert_eq!((&one["text"], &one["vector"]), (&json!("heron"), &json!([0.0, 1.0])));
    client.get("/v1/collections/notes/records/nobody").fails(404, "not_found");
    let several = client.post("/v1/collections/notes/get", json!({"ids": ["nobody", "a"]})).is(200);
    assert_eq!(several["records"][0], json!(null));
    assert_eq!(several["records"][1]["payload"], json!({"year": 2024, "tags": ["x", null]}));
    let first = client.get("/v1/collections/notes/records?limit=1").is(200);
    let cursor = first["cursor"].as_str().unwrap();
    let second = client.get(&format!("/v1/collections/notes/records?limit=1&cursor={cursor}")).is(200);
    assert_eq!((&first["records"][0]["id"], &second["records"][0]["id"]), (&json!("a"), &json!("b/c#1")));
    assert_eq!(client.get("/v1/collections/notes/count").is(200), json!({"count": 2}));
    assert_eq!(client.get("/v1/collections/notes/count?where=year%20%3E%202024").is(200), json!({"count": 1}));
    let filtered = client.get("/v1/collections/notes/records?where=year%20%3D%202025").is(200);
    assert_eq!(filtered["records"].as_array().unwrap().len(), 1);
    assert_eq!(client.post("/v1/collections/notes/delete", json!({"where": "year = 2025"})).is(200)["deleted"], 1);
    assert_eq!(client.post("/v1/collections/notes/delete", json!({"ids": ["a", "nobody"]})).is(200)["deleted"], 1);
    assert_eq!(client.post("/v1/collections/notes/delete", json!({"prefix": "x"})).is(200)["deleted"], 0);
    client.post("/v1/collections/notes/records", json!({"records": [{"id": "z", "text": "t"}]})).is(200);
    assert_eq!(client.delete("/v1/collections/notes/records/z").status, 204);
    client.delete("/v1/collections/notes/records/z").fails(404, "not_found");
    place.stop();
}

#[test]
fn what_cannot_be_stored_is_refused_whole_with_its_place() {
    let place = Place::new();
    let client = place.client();
    client.put("/v1/collections/notes", json!({"embedder": "none", "dim": 2})).is(201);
    let upsert = |records| client.post("/v1/collections/notes/records", json!({"records": records}));
    let fine = json!({"id": "a", "text": "t"});
    for (wrong, said) in [
        (json!([fine, {"id": "b", "vector": [1, 2, 3]}]), "\"b\""),
        (json!([fine, {"id": "b"}]), "\"b\""),
        (json!([fine, {"id": "b", "txt": "t"}]), "txt"),
        (json!([fine, {"id": "b", "text": 1}]), "records[1].text"),
        (json!([fine, {"id": "b", "payload": {"n": u64::MAX}}]), "n"),
        (json!([]), "empty"),
    ] {
        let detail = upsert(wrong).fails(400, "invalid");
        assert!(detail.contains(said), "{detail}");
    }
    assert_eq!(client.get("/v1/collections/notes/count").is(200)["count"], 0);
    client.post("/v1/collections/nobody/records", json!({"records": [fine]})).fails(404, "not_found");
    client.post("/v1/collections/notes/delete", json!({"ids": [], "where": "a = 1"})).fails(400, "invalid");
    place.stop();
}

#[test]
fn a_batch_is_written_whole_or_not_at_all() {
    let place = Place::new();
    let client = place.client();
    client.put("/v1/collections/notes", json!({"embedder": "none"})).is(201);
    let batch = |id: &str, collection: &str| {
        json!({"writes": [
            {"keys": {"keyspace": "meta", "changes": [{"put": {"key": id, "value": "1"}}, {"delete": "other"}]}},
            {"records": {"collection": collection, "upsert": [{"id": id, "text": "t"}], "delete": ["gone"]}},
        ]})
    };
    assert_eq!(client.post("/v1/batches", batch("a", "notes")).status, 204);
    assert_eq!(client.get("/v1/keyspaces/meta/keys/a").body, b"1");
    client.post("/v1/batches", batch("b", "nobody")).fails(404, "not_found");
    client.get("/v1/keyspaces/meta/keys/b").fails(404, "not_found");
    assert_eq!(client.get("/v1/collections/notes/count").is(200)["count"], 1);
    place.stop();
}

#[test]
fn files_of_a_batch_are_there_with_the_rest_of_it_or_not_at_all() {
    let place = Place::new();
    let client = place.client();
    client.put("/v1/collections/notes", json!({"embedder": "none"})).is(201);
    let batch = |files: Value, key: &str| {
        let keys = json!({"keyspace": "meta", "changes": [{"put": {"key": key, "value": "1"}}]});
        client.post("/v1/batches", json!({"writes": [{"keys": keys}, {"files": files}]}))
    };
    let paths = || {
        let files = client.get("/v1/collections/notes/files").is(200)["files"].clone();
        let files = files.as_array().unwrap().clone();
        files
            .iter()
            .map(|file| (file["path"].as_str().unwrap().to_string(), file["revision"].clone()))
            .collect::<Vec<_>>()
    };
    let preview = |path: &str, text: &[u8]| {
        let place = format!("/v1/collections/notes/files/preview?path={path}&passage_chars=100");
        client.send("POST", &place, &[], text.to_vec()).is(200)
    };
    let seen = preview("docs/a.md", b"# A\n\nOspreys.\n");
    assert_eq!(
        (&seen["outcome"], &seen["passages_added"], &seen["revision"]),
        (&json!("added"), &json!(1), &json!("absent"))
    );
    assert_eq!(preview("x.bin", &[0, 1, 255])["outcome"], "unreadable");
    assert_eq!(paths(), [], "a preview writes nothing");
    let latin = json!({"base64": "IyBCCgpIZXJvbnMuCg=="});
    let two = json!([
        {"path": "docs/a.md", "content": "# A\n\nOspreys.\n", "revision": "absent", "passage_chars": 100},
        {"path": "docs/b.md", "content": latin, "passage_chars": 100, "overlap_chars": 10}
    ]);
    assert_eq!(batch(json!({"collection": "notes", "add": two}), "both").status, 204);
    assert_eq!(client.get("/v1/keyspaces/meta/keys/both").body, b"1");
    let there = paths();
    assert_eq!(there.iter().map(|(path, _)| path.as_str()).collect::<Vec<_>>(), ["docs/a.md", "docs/b.md"]);
    assert_eq!(preview("docs/a.md", b"# A\n\nOspreys.\n")["outcome"], "unchanged");
    assert_eq!(preview("docs/a.md", b"# A\n\nEagles.\n")["revision"], there[0].1);
    let hits = client.post("/v1/collections/notes/search", json!({"text": "herons"})).is(200);
    assert_eq!(hits["hits"][0]["payload"]["path"], "docs/b.md");
    // Nothing of these is written, nor of what comes with them.
    let new = json!({"path": "docs/c.md", "content": "# C\n\nGulls.\n"});
    let (first, stale) = (&there[0].1, "0".repeat(32));
    for (files, status, kind) in [
        (json!({"collection": "nobody", "add": [new]}), 404, "not_found"),
        (json!({"collection": "notes", "add": [new, new]}), 400, "invalid"),
        (
            json!({"collection": "notes", "add": [new, {"path": "x.bin", "content": {"base64": "AAH/"}}]}),
            400,
            "invalid",
        ),
        (json!({"collection": "notes", "add": [new, {"path": "../d.md", "content": "d"}]}), 400, "invalid"),
        (
            json!({"collection": "notes", "add": [new, {"path": "docs/a.md", "content": "x", "revision": "absent"}]}),
            409,
            "conflict",
        ),
        (
            json!({"collection": "notes", "add": [new], "remove": [{"path": "docs/a.md", "revision": stale}]}),
            409,
            "conflict",
        ),
        (
            json!({"collection": "notes", "add": [new], "remove": [{"path": "docs", "revision": first}]}),
            409,
            "conflict",
        ),
        (json!({"collection": "notes", "add": [new], "remov": []}), 400, "invalid"),
    ] {
        batch(files, "none").fails(status, kind);
    }
    client.get("/v1/keyspaces/meta/keys/none").fails(404, "not_found");
    assert_eq!(paths(), there);
    let change = json!({
        "collection": "notes",
        "remove": [{"path": "docs/b.md", "revision": there[1].1}],
        "add": [{"path": "docs/a.md", "content": "# A\n\nEagles.\n", "revision": first}, new],
    });
    assert_eq!(batch(change, "third").status, 204);
    assert_eq!(paths().iter().map(|(path, _)| path.as_str()).collect::<Vec<_>>(), ["docs/a.md", "docs/c.md"]);
    assert_ne!(&paths()[0].1, first);
    assert_eq!(batch(json!({"collection": "notes", "remove": [{"path": "docs"}]}), "last").status, 204);
    assert_eq!(client.get("/v1/collections/notes/count").is(200)["count"], 0);
    // A transaction has none.
    let taken = client.snapshot();
    let files = json!({"files": {"collection": "notes", "add": [new]}});
    client.post(&format!("/v1/snapshots/{taken}/commit"), json!({"writes": [files]})).fails(400, "invalid");
    place.stop();
}

#[test]
fn a_document_that_is_sent_becomes_passages_and_goes_with_its_name() {
    let place = Place::new();
    let client = place.client();
    client.put("/v1/collections/notes", json!({"embedder": "none"})).is(201);
    let text = b"# Birds\n\nThe osprey fishes.\n\n## Nests\n\nA heap of branches.\n";
    let put = |text: &[u8]| client.put_bytes("/v1/collections/notes/files?path=docs%2Fbirds.md", text);
    let added = put(text).is(200);
    assert_eq!((&added["outcome"], &added["passages_added"]), (&json!("added"), &json!(1)));
    assert_eq!(put(text).is(200)["outcome"], "unchanged");
    assert_eq!(put(b"# Birds\n\nThe osprey dives.\n").is(200)["outcome"], "changed");
    let listed = client.get("/v1/collections/notes/files?path=docs").is(200);
    assert_eq!(listed["files"][0]["path"], "docs/birds.md");
    let hits = client.post("/v1/collections/notes/search", json!({"text": "osprey"})).is(200);
    assert_eq!(hits["hits"][0]["payload"]["path"], "docs/birds.md");
    client.put_bytes("/v1/collections/notes/files?path=x.bin", &[0, 1, 2, 255]).fails(400, "invalid");
    for path in ["", "..%2Fa.md", "%2Fetc%2Fa.md", "a%2F%2Fb.md", "a%00.md"] {
        client.put_bytes(&format!("/v1/collections/notes/files?path={path}"), text).fails(400, "invalid");
    }
    assert_eq!(client.delete("/v1/collections/notes/files?path=docs").is(200)["removed"], 1);
    assert_eq!(client.get("/v1/collections/notes/count").is(200)["count"], 0);
    place.stop();
}

#[test]
fn an_empty_path_removes_no_files() {
    let place = Place::new();
    let client = place.client();
    client.put("/v1/collections/notes", json!({"embedder": "none"})).is(201);
    client.put_bytes("/v1/collections/notes/files?path=a.txt", b"The osprey fishes.");
    let remove = json!({"writes": [{"files": {"collection": "notes", "remove": [{"path": ""}]}}]});
    for refused in [
        client.delete("/v1/collections/notes/files?path="),
        client.post("/v1/collections/notes/erase", json!({"files": ""})),
        client.post("/v1/batches", remove),
    ] {
        let said = refused.fails(400, "invalid");
        assert!(said.contains("the path is empty") && said.contains("drop the collection"), "{said}");
    }
    client.post("/v1/collections/notes/erase", json!({"prefix": ""})).fails(400, "invalid");
    assert_eq!(client.get("/v1/collections/notes/files").is(200)["files"].as_array().unwrap().len(), 1);
    place.stop();
}
