//! Keyspaces and keys.

use serde_json::json;

use crate::place::Place;

#[test]
fn a_value_comes_back_byte_for_byte_under_any_key() {
    let place = Place::new();
    let client = place.client();
    let value: Vec<u8> = (0..=255).collect();
    for key in ["plain", "%ff%00%fe", "a%2Fb", "gr%C3%BCn", "%20"] {
        let path = format!("/v1/keyspaces/k/keys/{key}");
        assert_eq!(client.put_bytes(&path, &value).status, 204, "{key}");
        let got = client.get(&path);
        assert_eq!((got.status, &got.body), (200, &value), "{key}");
        assert_eq!(got.header("content-type"), Some("application/octet-stream"));
        assert_eq!(client.delete(&path).status, 204);
        client.get(&path).fails(404, "not_found");
        client.delete(&path).fails(404, "not_found");
    }
    assert_eq!(client.put_bytes("/v1/keyspaces/k/keys/empty", b"").status, 204);
    assert_eq!(client.get("/v1/keyspaces/k/keys/empty").body, b"");
    place.stop();
}

#[test]
fn keyspaces_are_made_by_name_or_by_the_first_write() {
    let place = Place::new();
    let client = place.client();
    client.get("/v1/keyspaces/k/keys/a").fails(404, "not_found");
    client.put("/v1/keyspaces/made", json!({})).is(201);
    client.put("/v1/keyspaces/made", json!({})).is(200);
    client.put_bytes("/v1/keyspaces/written/keys/a", b"1");
    assert_eq!(client.get("/v1/keyspaces").is(200), json!({"keyspaces": ["made", "written"]}));
    assert_eq!(client.delete("/v1/keyspaces/made").status, 204);
    client.delete("/v1/keyspaces/made").fails(404, "not_found");
    client.put_bytes("/v1/keyspaces/no%20name/keys/a", b"1").fails(400, "invalid");
    place.stop();
}

#[test]
fn several_keys_are_written_read_listed_and_deleted_together() {
    let place = Place::new();
    let client = place.client();
    let binary = json!({"base64": "/w=="});
    let changes = json!({"changes": [
        {"put": {"key": "a", "value": "1"}}, {"put": {"key": binary, "value": {"base64": "AP8="}}},
        {"put": {"key": "ab", "value": "2"}}, {"delete": "c"},
    ]});
    assert_eq!(client.post("/v1/keyspaces/k/write?durability=interval", changes).status, 204);
    let got = client.post("/v1/keyspaces/k/get", json!({"keys": ["a", "x", binary]})).is(200);
    assert_eq!(got, json!({"values": ["1", null, {"base64": "AP8="}]}));
    let first = client.post("/v1/keyspaces/k/scan", json!({"limit": 2})).is(200);
    assert_eq!(first["entries"], json!([{"key": "a", "value": "1"}, {"key": "ab", "value": "2"}]));
    let rest = client.post("/v1/keyspaces/k/scan", json!({"cursor": first["cursor"], "keys_only": true})).is(200);
    assert_eq!(rest, json!({"entries": [{"key": binary}], "cursor": null}));
    let some = client.post("/v1/keyspaces/k/scan", json!({"prefix": "a", "reverse": true, "from": "ab"})).is(200);
    assert_eq!(some["entries"], json!([{"key": "ab", "value": "2"}]));
    assert_eq!(client.get("/v1/keyspaces/k/count?prefix=a").is(200), json!({"count_estimate": 2}));
    assert_eq!(client.post("/v1/keyspaces/k/delete", json!({"keys": [binary, "x"]})).is(200)["deleted"], 1);
    assert_eq!(client.post("/v1/keyspaces/k/delete", json!({"prefix": "a"})).is(200)["deleted"], 2);
    place.stop();
}

#[test]
fn reading_and_writing_a_key_in_one_step() {
    let place = Place::new();
    let client = place.client();
    let post = |verb: &str, body| client.post(&format!("/v1/keyspaces/k/{verb}"), body).is(200);
    assert_eq!(post("cas", json!({"key": "a", "new": "1"})), json!({"set": true}));
    assert_eq!(post("cas", json!({"key": "a", "expected": "2", "new": "3"})), json!({"set": false}));
    assert_eq!(post("cas", json!({"key": "a", "expected": "1"})), json!({"set": true}));
    assert_eq!(post("increment", json!({"key": "n"})), json!({"value": 1}));
    assert_eq!(post("increment", json!({"key": "n", "by": -3})), json!({"value": -2}));
    assert_eq!(post("append", json!({"key": "n", "more": "x"})), json!({"bytes": 3}));
    client.post("/v1/keyspaces/k/increment", json!({"key": "n"})).fails(400, "invalid");
    place.stop();
}

#[test]
fn a_key_says_how_long_it_has_to_live() {
    let place = Place::new();
    let client = place.client();
    let path = "/v1/keyspaces/k/keys/a";
    assert_eq!(client.put_bytes(&format!("{path}?expires_in_ms=3600000"), b"1").status, 204);
    let left: u64 = client.get(path).header("x-expires-in-ms").unwrap().parse().unwrap();
    assert!((1..=3_600_000).contains(&left));
    let expire = |body| client.post("/v1/keyspaces/k/expire", body).is(200);
    assert_eq!(expire(json!({"key": "a"})), json!({"found": true}));
    assert_eq!(client.get(path).header("x-expires-in-ms"), None);
    assert_eq!(expire(json!({"key": "x", "expires_in_ms": 5})), json!({"found": false}));
    expire(json!({"key": "a", "expires_in_ms": 1}));
    while client.get(path).status != 404 {
        std::thread::yield_now();
    }
    client.put_bytes(&format!("{path}?expires_in_ms=0"), b"1").fails(400, "invalid");
    place.stop();
}

#[test]
fn all_keys_are_deleted_only_by_saying_so() {
    let place = Place::new();
    let client = place.client();
    for key in ["a", "b"] {
        client.put_bytes(&format!("/v1/keyspaces/k/keys/{key}"), b"1");
    }
    for all_but in [json!({"prefix": ""}), json!({"prefix": {"base64": ""}}), json!({"all": false})] {
        client.post("/v1/keyspaces/k/delete", all_but).fails(400, "invalid");
    }
    let said = client.post("/v1/keyspaces/k/delete", json!({"prefix": ""})).fails(400, "invalid");
    assert!(said.contains("{\"all\": true}"), "{said}");
    assert_eq!(client.post("/v1/keyspaces/k/delete", json!({"all": true})).is(200)["deleted"], 2);
    assert_eq!(client.get("/v1/keyspaces").is(200)["keyspaces"], json!(["k"]));
    place.stop();
}
