//! HTTP itself: addresses, methods, types, ids, both versions, the document.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::json;

use crate::place::Place;

#[test]
fn what_is_not_there_or_not_understood_is_a_problem_document() {
    let place = Place::new();
    let client = place.client();
    client.get("/nowhere").fails(404, "not_found");
    client.get("/v1/collections/").fails(404, "not_found");
    let wrong = client.delete("/v1/collections");
    wrong.fails(405, "invalid");
    assert!(wrong.header("allow").unwrap().contains("GET"));
    client.put("/v1/collections/notes", json!({})).is(201);
    let path = "/v1/collections/notes/records";
    client.send("POST", path, &[("content-type", "text/plain")], b"{}".to_vec()).fails(415, "invalid");
    client.send("POST", path, &[("content-type", "application/json")], b"{".to_vec()).fails(400, "invalid");
    client.get(&format!("{path}?limit=many")).fails(400, "invalid");
    client.get(&format!("{path}?unknown=1")).fails(400, "invalid");
    client.get("/v1/collections/%ff").fails(400, "invalid");
    place.stop();
}

#[test]
fn every_answer_has_the_id_of_its_request() {
    let place = Place::new();
    let ask = |id: &[(&str, &str)]| place.client().send("GET", "/healthz", id, Vec::new());
    assert_eq!(ask(&[("x-request-id", "mine-1")]).header("x-request-id"), Some("mine-1"));
    let made = [ask(&[]), ask(&[("x-request-id", &"x".repeat(200))])];
    let ids = made.each_ref().map(|answer| answer.header("x-request-id").unwrap());
    assert!(ids[0] != ids[1] && ids.iter().all(|id| !id.is_empty() && id.len() < 100), "{ids:?}");
    assert!(place.client().get("/nowhere").header("x-request-id").is_some());
    place.stop();
}

#[test]
fn the_document_is_served_as_it_lies_in_the_tree() {
    let place = Place::new();
    let served = place.client().get("/openapi.json");
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");
    if std::env::var_os("NUTHATCH_WRITE_OPENAPI").is_some() {
        std::fs::write(path, format!("{}\n", served.text())).unwrap();
    }
    let kept = std::fs::read_to_string(path).unwrap();
    assert!(
        kept.trim_end() == served.text(),
        "docs/openapi.json is not what the code says; `make openapi` writes it anew"
    );
    assert!(served.json()["openapi"].as_str().unwrap().starts_with("3.1"));
    place.stop();
}

#[test]
fn several_requests_go_over_one_connection() {
    let place = Place::new();
    let mut stream = TcpStream::connect(place.address).unwrap();
    let request = "GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";
    // Two at once, the second not waiting for the first.
    stream.write_all(request.repeat(2).as_bytes()).unwrap();
    stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").unwrap();
    let mut all = String::new();
    stream.read_to_string(&mut all).unwrap();
    assert_eq!(all.matches("HTTP/1.1 200 OK").count(), 3, "{all}");
    place.stop();
}

#[test]
fn a_client_whose_body_was_not_read_is_told_that_the_connection_ends() {
    let place = Place::new();
    let answer = |path: &str| place.client().put(path, json!({"a": "body that this address does not take"}));
    assert_eq!(answer("/v1/keyspaces/k").header("connection"), Some("close"));
    assert_eq!(answer("/v1/collections/notes").header("connection"), None, "it was read, and refused");
    assert_eq!(place.client().get("/v1/keyspaces").header("connection"), None);
    place.stop();
}

#[test]
fn http_2_is_spoken_on_the_same_port() {
    let place = Place::new();
    let address = place.address;
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let status = runtime.block_on(async {
        let stream = tokio::net::TcpStream::connect(address).await.unwrap();
        let (mut client, connection) = h2::client::handshake(stream).await.unwrap();
        tokio::spawn(connection);
        let ask = |path: &str| {
            let uri = format!("http://{address}{path}");
            ureq::http::Request::builder().uri(uri).body(()).unwrap()
        };
        // Side by side on one connection.
        let (first, _) = client.send_request(ask("/v1/collections"), true).unwrap();
        let (second, _) = client.send_request(ask("/nowhere"), true).unwrap();
        [first.await.unwrap().status().as_u16(), second.await.unwrap().status().as_u16()]
    });
    assert_eq!(status, [200, 404]);
    place.stop();
}

#[test]
fn a_parameter_that_an_address_does_not_have_is_refused_before_anything_is_done() {
    let place = Place::new();
    let client = place.client();
    client.put("/v1/collections/c", json!({"embedder": "none"})).is(201);
    client.put_bytes("/v1/keyspaces/k/keys/a", b"1");
    client.put("/v1/tenants/amber", json!({})).is(201);
    let document = client.get("/openapi.json").json();
    let mut asked = 0;
    for (path, item) in document["paths"].as_object().unwrap() {
        let names = [("{collection}", "c"), ("{keyspace}", "k"), ("{tenant}", "amber")];
        let address = names.iter().fold(path.clone(), |path, (part, name)| path.replace(part, name));
        let address = address.split('/').map(|part| if part.starts_with('{') { "x" } else { part });
        let address = format!("{}?unknown=1", address.collect::<Vec<_>>().join("/"));
        for method in item.as_object().unwrap().keys().map(|method| method.to_uppercase()) {
            let body = if matches!(&*method, "GET" | "DELETE") { Vec::new() } else { b"{}".to_vec() };
            let answer = client.send(&method, &address, &[("content-type", "application/json")], body);
            let said = answer.fails(400, "invalid");
            assert!(said.contains("unknown parameter \"unknown\""), "{method} {address}: {said}");
            asked += 1;
        }
    }
    assert!(asked > 60, "{asked}");
    let head = client.send("HEAD", "/v1/collections/c?where=a", &[], Vec::new());
    assert_eq!(head.status, 400);
    // Requests that would destroy everything where only a part was meant.
    let said = client.delete("/v1/collections/c?where=year%3C2020").fails(400, "invalid");
    assert!(said.contains("\"where\"; this endpoint takes none"), "{said}");
    client.delete("/v1/keyspaces/k?prefix=a").fails(400, "invalid");
    client.delete("/v1/tenants/amber?dry_run=true").fails(400, "invalid");
    client.post("/v1/reclaim?dry_run=1", json!({})).fails(400, "invalid");
    client.get("/v1/collections/c").is(200);
    assert_eq!(client.get("/v1/keyspaces/k/keys/a").text(), "1");
    client.get("/v1/tenants/amber").is(200);
    assert_eq!(client.get("/v1/receipts").is(200)["receipts"], json!([]));
    place.stop();
}

#[test]
fn what_is_no_number_is_told_in_words_of_the_request() {
    let place = Place::new();
    let client = place.client();
    client.put("/v1/collections/c", json!({"embedder": "none"})).is(201);
    let json = [("content-type", "application/json")];
    for (path, body, said) in [
        ("search", json!({"text": "a", "limit": -1}), "limit: expected a whole number of 0 or more, got the number -1"),
        ("search", json!({"text": "a", "limit": "3"}), "limit: expected a whole number of 0 or more, got the string"),
        ("search", json!({"text": "a", "recall": "high"}), "recall: expected a number, got the string"),
        ("records", json!({"records": [{"id": 5}]}), "records[0].id: expected a string, got the number 5"),
        ("records", json!({"records": {}}), "records: expected an array, got an object"),
    ] {
        let path = format!("/v1/collections/c/{path}");
        let told = client.send("POST", &path, &json, body.to_string().into_bytes()).fails(400, "invalid");
        assert!(told.contains(said), "{told}");
    }
    for (query, said) in [
        ("limit=x", "limit: expected a whole number"),
        ("limit=-1", "limit: expected a whole number"),
        ("limit=", "limit: expected a whole number, got nothing"),
        ("limit=99999999999999999999999", "limit: the number is too large"),
        ("vectors=maybe", "vectors: expected `true` or `false`"),
    ] {
        let told = client.get(&format!("/v1/collections/c/records?{query}")).fails(400, "invalid");
        assert!(told.contains(said), "{query}: {told}");
    }
}

#[test]
fn an_array_is_no_object_wherever_it_stands() {
    let place = Place::new();
    let client = place.client();
    client.put("/v1/collections/c", json!({"embedder": "none"})).is(201);
    client.put("/v1/tenants/amber", json!({})).is(201);
    for (method, path, body) in [
        ("PUT", "/v1/tenants/amber/limits", json!([1, 2, 3, 4])),
        ("POST", "/v1/collections/c/records", json!([[{"id": "a", "text": "t"}]])),
        ("POST", "/v1/collections/c/records", json!({"records": [["a", "t", null, {}, {}, [], null, false]]})),
        ("POST", "/v1/keyspaces/k/write", json!({"changes": [{"put": ["a", "1"]}]})),
        ("POST", "/v1/keyspaces/k/write", json!({"changes": [{"put": {"key": ["YQ=="], "value": "1"}}]})),
    ] {
        let body = body.to_string().into_bytes();
        let said = client.send(method, path, &[("content-type", "application/json")], body).fails(400, "invalid");
        assert!(said.contains("got an array"), "{said}");
    }
    let line = br#"["seq", "text", null, {}, {"p": 1}, [], null, false]"#.to_vec();
    let ingest = "/v1/collections/c/ingest";
    client.send("POST", ingest, &[("content-type", "application/x-ndjson")], line).fails(400, "invalid");
    assert_eq!(client.get("/v1/collections/c/count").is(200)["count"], 0);
    assert_eq!(client.get("/v1/tenants/amber").is(200)["limits"]["vectors"], json!(null));
    place.stop();
}

#[test]
fn what_was_wrong_comes_with_the_remedy_for_it() {
    let place = Place::new();
    let client = place.client();
    client.put("/v1/collections/c", json!({"embedder": "none"})).is(201);
    for (path, choices) in [
        ("/v1/collections/c/delete", "`ids`, `where`, `prefix`"),
        ("/v1/collections/c/erase", "`ids`, `where`, `prefix`, `files`"),
        ("/v1/keyspaces/k/delete", "`keys`, `prefix`, `all`"),
    ] {
        let said = client.post(path, json!({})).fails(400, "invalid");
        assert!(said.contains(&format!("give one of {choices}")), "{said}");
    }
    let two = json!({"ids": ["a"], "prefix": "b"});
    assert!(client.post("/v1/collections/c/delete", two).fails(400, "invalid").contains("is a second"));
    let said = client.post("/v1/collections/c/search", json!({"text": "a", "timeout_ms": 1e300})).fails(400, "invalid");
    assert!(said.contains("0 to 86400000"), "{said}");
    let stranger = client.send("GET", "/v1/collections", &[("x-nuthatch-tenant", "nobody")], Vec::new());
    assert!(stranger.fails(404, "not_found").contains("no tenant \"nobody\""));
    let headers = [("content-type", "application/json"), ("content-encoding", "gzip")];
    let said = client.send("POST", "/v1/collections/c/search", &headers, b"\x1f\x8b".to_vec()).fails(415, "invalid");
    assert!(said.contains("compressed"), "{said}");
    client.send("PUT", "/v1/keyspaces/k/keys/a", &headers, b"\x1f\x8b".to_vec()).fails(415, "invalid");
    place.stop();
}

#[test]
fn methods_that_nobody_knows_make_no_new_figures() {
    let place = Place::new();
    let admin = place.client().with_key(&place.key("default", &[nuthatch_server::Scope::Admin]));
    for method in ["FOO1", "FOO2", "FOO3"] {
        // The client of these tests sends no such thing.
        let mut stream = TcpStream::connect(place.address).unwrap();
        let head = format!("{method} /v1/collections HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 405 "), "{answer}");
    }
    let figures = admin.get("/metrics");
    let of_strangers: Vec<&str> = figures.text().lines().filter(|line| line.contains("method=\"other\"")).collect();
    let counted = "nuthatch_http_requests_total{method=\"other\",route=\"/v1/collections\",status=\"405\"} 3";
    assert!(of_strangers.contains(&counted) && !figures.text().contains("FOO"), "{of_strangers:?}");
    place.stop();
}
