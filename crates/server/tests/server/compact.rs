//! Features for clients that are programs: vectors in base64, datetimes that stay datetimes, waiting.

use serde_json::json;

use crate::place::Place;

#[test]
fn a_vector_may_be_base64_wherever_it_may_be_numbers() {
    let place = Place::new();
    let client = place.client();
    let fields = json!({"embedder": "none", "metric": "l2", "vectors": {"title": {"dim": 2}}});
    client.put("/v1/collections/c", fields).is(201);
    let (one_half, ones) = ("AACAPwAAAD8=", "AACAPwAAgD8="); // [1, 0.5], [1, 1]
    let records = json!([
        {"id": "a", "vector": one_half, "vectors": {"title": ones}},
        {"id": "b", "vector": [3, 4], "vectors": {"title": [0, 0.5]}},
    ]);
    client.post("/v1/collections/c/records", json!({"records": records})).is(200);
    let batch = json!([{"records": {"collection": "c", "upsert": [{"id": "d", "vector": ones}]}}]);
    client.post("/v1/batches", json!({"writes": batch})).is(204);
    let get = |format: &str| {
        let asked = json!({"ids": ["a"], "vectors": true, "vector_format": format});
        client.post("/v1/collections/c/get", asked).is(200)["records"][0].clone()
    };
    assert_eq!(
        (&get("numbers")["vector"], &get("numbers")["vectors"]),
        (&json!([1.0, 0.5]), &json!({"title": [1.0, 1.0]}))
    );
    assert_eq!((&get("base64")["vector"], &get("base64")["vectors"]), (&json!(one_half), &json!({"title": ones})));
    let found = client.get("/v1/collections/c/records?vectors=true&vector_format=base64").is(200);
    assert_eq!(found["records"][0]["vector"], one_half);
    let asked = json!({"vector": one_half, "limit": 1, "include": ["vector"], "vector_format": "base64"});
    let hit = &client.post("/v1/collections/c/search", asked).is(200)["hits"][0];
    assert_eq!((&hit["id"], &hit["vector"], &hit["score"]), (&json!("a"), &json!(one_half), &json!(0.0)));
    for wrong in ["AACA", "?", "AACAPw"] {
        let why = client.post("/v1/collections/c/search", json!({"vector": wrong})).fails(400, "invalid");
        assert!(why.contains("vector") && why.contains("base64"), "{why}");
    }
    place.stop();
}

#[test]
fn a_datetime_comes_back_as_one() {
    let place = Place::new();
    let client = place.client();
    client.put("/v1/collections/c", json!({"embedder": "none"})).is(201);
    let payload =
        json!({"at": "2025-01-31T12:30:00Z", "events": [{"on": "2024-02-29"}], "text": "2025-01-31T12:30:00Z"});
    let record = json!({"id": "a", "text": "x", "payload": payload, "datetimes": ["at", "events.0.on"]});
    client.post("/v1/collections/c/records", json!({"records": [record]})).is(200);
    let found = client.get("/v1/collections/c/records/a").is(200);
    assert_eq!(found["datetimes"], json!(["at", "events.0.on"]));
    assert_eq!(
        (&found["payload"]["at"], &found["payload"]["events"][0]["on"]),
        (&payload["at"], &json!("2024-02-29T00:00:00Z"))
    );
    let hit = &client
        .post("/v1/collections/c/search", json!({"text": "x", "where": "at > '2025-01-31 12:00'"}))
        .is(200)["hits"][0];
    assert_eq!(hit["datetimes"], found["datetimes"]);
    let wrong = json!({"id": "b", "payload": {"n": 1.5}, "datetimes": ["n"]});
    let why = client.post("/v1/collections/c/records", json!({"records": [wrong]})).fails(400, "invalid");
    assert!(why.contains("\"b\"") && why.contains("datetimes"), "{why}");
    place.stop();
}

#[test]
fn many_searches_have_one_time() {
    let place = Place::new();
    let client = place.client();
    client.put("/v1/collections/c", json!({"embedder": "none", "dim": 2})).is(201);
    client.post("/v1/collections/c/records", json!({"records": [{"id": "a", "vector": [1, 0]}]})).is(200);
    let searches = json!([{"vector": [1, 0]}, {"vector": [0, 1]}]);
    let ask = |timeout_ms| {
        client.post("/v1/collections/c/search-many", json!({"searches": searches, "timeout_ms": timeout_ms}))
    };
    assert_eq!(ask(60_000.0).is(200)["answers"].as_array().unwrap().len(), 2);
    let late = ask(1e-6);
    assert!(late.header("retry-after").is_none(), "trying again would take as long");
    assert!(late.fails(503, "unavailable").contains("time was up"));
    assert!(ask(-1.0).fails(400, "invalid").contains("timeout_ms"));
    place.stop();
}

#[test]
fn keys_tell_their_time_and_prefixes_may_be_bytes() {
    let place = Place::new();
    let client = place.client();
    client.put_bytes("/v1/keyspaces/k/keys/%FFa?expires_in_ms=60000", b"x").is(204);
    client.put_bytes("/v1/keyspaces/k/keys/b", b"x").is(204);
    let ttl = |key| client.post("/v1/keyspaces/k/ttl", json!({"key": key})).is(200);
    let left = ttl(json!({"base64": "/2E="}));
    assert!(left["found"] == true && (1..=60_000).contains(&left["expires_in_ms"].as_u64().unwrap()), "{left}");
    assert_eq!(ttl(json!("b")), json!({"found": true, "expires_in_ms": null}));
    assert_eq!(ttl(json!("none")), json!({"found": false, "expires_in_ms": null}));
    assert_eq!(client.get("/v1/keyspaces/k/count?prefix_base64=%2Fw%3D%3D").is(200)["count_estimate"], 1);
    assert_eq!(client.get("/v1/keyspaces/k/count").is(200)["count_estimate"], 2);
    client.get("/v1/keyspaces/k/count?prefix_base64=_").fails(400, "invalid");
    place.stop();
}

#[test]
fn waiting_ends_when_everything_is_in_the_indexes() {
    let place = Place::new();
    let client = place.client();
    client.put("/v1/collections/c", json!({"embedder": "none"})).is(201);
    client.post("/v1/collections/c/records", json!({"records": [{"id": "a", "text": "x"}]})).is(200);
    let wait = |ms| client.post("/v1/collections/c/wait-until-indexed", json!({"wait_ms": ms}));
    while wait(10_000).is(200)["indexed"] != true {}
    assert_eq!(client.get("/v1/collections/c").is(200)["fresh_rows"], 0);
    wait(10_001).fails(400, "invalid");
    place.stop();
}
