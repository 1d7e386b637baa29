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
