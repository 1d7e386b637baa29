//! Bounds: what is too much, too slow or too many.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::json;

use crate::flight::Flight;
use crate::place::Place;

#[test]
fn a_body_that_is_too_large_is_refused_before_it_is_read() {
    let place = Place::with(|config| config.body_max_bytes = 1000);
    let client = place.client();
    assert_eq!(client.put_bytes("/v1/keyspaces/k/keys/a", &[0; 1000]).status, 204);
    client.put_bytes("/v1/keyspaces/k/keys/a", &[0; 1001]).fails(413, "exhausted");
    let mut stream = TcpStream::connect(place.address).unwrap();
    stream
        .write_all(b"PUT /v1/keyspaces/k/keys/a HTTP/1.1\r\nhost: localhost\r\ncontent-length: 99999999999\r\n\r\n")
        .unwrap();
    assert!(first_line(&mut stream).starts_with("HTTP/1.1 413 "));
    place.stop();
}

#[test]
fn bodies_together_take_no_more_memory_than_they_may() {
    let place = Place::with(|config| config.bodies_memory_bytes = 1000);
    let client = place.client();
    client.put_bytes("/v1/keyspaces/k/keys/a", &[0; 1001]).fails(503, "unavailable");
    assert_eq!(client.put_bytes("/v1/keyspaces/k/keys/a", &[0; 1000]).status, 204);
    assert_eq!(client.put_bytes("/v1/keyspaces/k/keys/b", &[0; 1000]).status, 204, "it was given back");
    place.stop();
}

#[test]
fn a_client_that_stalls_is_let_go() {
    let place = Place::with(|config| {
        config.header_timeout = Duration::from_millis(100);
        config.body_timeout = Duration::from_millis(100);
    });
    for begun in [
        "",
        "P",
        "PRI * HTTP/2.0\r\n",
        "GET /healthz HT",
        "GET /healthz HTTP/1.1\r\nhost: localhost\r\nx: ",
        "PUT /v1/keyspaces/k/keys/a HTTP/1.1\r\nhost: localhost\r\ncontent-length: 10\r\n\r\nabc",
    ] {
        let mut stream = TcpStream::connect(place.address).unwrap();
        // On a busy machine the server may have hung up before this.
        stream.write_all(begun.as_bytes()).ok();
        let mut rest = Vec::new();
        // Ends when the server hangs up; a reset is as good.
        stream.read_to_end(&mut rest).ok();
        let said = String::from_utf8_lossy(&rest);
        assert!(!said.contains("200 OK"), "{begun}: {said}");
    }
    // Others are served: one that is kept waiting for a tenth of a second here comes again.
    let is_served = || {
        let mut stream = TcpStream::connect(place.address).unwrap();
        stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").ok();
        let mut said = Vec::new();
        stream.read_to_end(&mut said).ok();
        said.starts_with(b"HTTP/1.1 200 ")
    };
    assert!((0..100).any(|_| is_served()));
    place.stop();
}

#[test]
fn more_requests_than_are_allowed_are_told_to_come_back() {
    let place = Place::with(|config| config.requests_max = 1);
    let mut waiting = TcpStream::connect(place.address).unwrap();
    let head =
        "PUT /v1/keyspaces/k/keys/a HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1\r\nexpect: 100-continue\r\n\r\n";
    waiting.write_all(head.as_bytes()).unwrap();
    // The server asks for the body: the request is under way.
    assert!(first_line(&mut waiting).starts_with("HTTP/1.1 100 "));
    let refused = place.client().get("/v1/collections");
    refused.fails(503, "unavailable");
    assert!(refused.header("retry-after").is_some() && refused.header("x-request-id").is_some());
    waiting.write_all(b"x").unwrap();
    // Among the lines is the id of the request, which is random and may hold any number.
    while !first_line(&mut waiting).starts_with("HTTP/1.1 204 ") {}
    while place.client().get("/v1/collections").status != 200 {}
    place.stop();
}

#[test]
fn connections_over_the_bound_wait_for_a_place() {
    let place = Place::with(|config| config.connections_max = 2);
    let first = TcpStream::connect(place.address).unwrap();
    let second = TcpStream::connect(place.address).unwrap();
    let mut third = TcpStream::connect(place.address).unwrap();
    third.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").unwrap();
    drop((first, second));
    assert!(first_line(&mut third).starts_with("HTTP/1.1 200 "));
    place.stop();
}

#[test]
fn a_search_takes_no_longer_than_the_server_allows() {
    let place = Place::with(|config| config.search_timeout = Duration::from_nanos(1));
    let client = place.client();
    client.put("/v1/collections/notes", json!({"embedder": "none", "dim": 2})).is(201);
    client.post("/v1/collections/notes/records", json!({"records": [{"id": "a", "vector": [1, 2]}]})).is(200);
    let question = json!({"vector": [1, 2], "timeout_ms": 60000, "exact": true});
    client.post("/v1/collections/notes/search", question).fails(503, "unavailable");
    place.stop();
}

#[test]
fn a_flight_call_reads_no_longer_than_its_deadline() {
    let place = Place::new();
    let client = place.client();
    client.put("/v1/collections/notes", json!({"embedder": "none", "dim": 2})).is(201);
    let records: Vec<_> =
        (0..300).map(|n| json!({"id": format!("r{n}"), "vector": [1, n], "payload": {"n": n}})).collect();
    client.post("/v1/collections/notes/records", json!({"records": records})).is(200);
    let ticket = json!({"collection": "notes", "search": {"vector": [1, 2], "exact": true}});
    let late = Flight::new(place.address).within("1n").get(&ticket).unwrap_err();
    assert_eq!(late.code(), tonic::Code::Unavailable, "{late:?}");
    let scan = json!({"collection": "notes", "where": "n != 7"});
    assert!(Flight::new(place.address).within("1n").get(&scan).is_err());
    let mut patient = Flight::new(place.address).within("1M");
    assert!(patient.get(&ticket).unwrap().len() > 1 && patient.get(&scan).unwrap().len() > 1);
    place.stop();
}

fn first_line(stream: &mut TcpStream) -> String {
    let mut line = Vec::new();
    let mut byte = [0];
    while line.last() != Some(&b'\n') && stream.read(&mut byte).unwrap() == 1 {
        line.push(byte[0]);
    }
    String::from_utf8(line).unwrap()
}
