//! Streaming records in.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::client::Answer;
use crate::place::Place;

const NDJSON: (&str, &str) = ("content-type", "application/x-ndjson");

fn lines(answer: &Answer) -> Vec<Value> {
    answer.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn records(number: usize) -> String {
    (0..number).map(|at| format!("{{\"id\": \"r{at}\", \"text\": \"t\"}}\n")).collect()
}

#[test]
fn every_batch_that_is_stored_is_acknowledged() {
    let place = Place::new();
    let client = place.client();
    client.put("/v1/collections/notes", json!({"embedder": "none"})).is(201);
    let send =
        |body: String| client.send("POST", "/v1/collections/notes/ingest?batch=100", &[NDJSON], body.into_bytes());
    let answer = send(records(250) + "\n\n{\"id\": \"r0\", \"text\": \"last, without an end of line\"}");
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/x-ndjson")));
    let said = lines(&answer);
    assert_eq!(said[0]["stored"], json!({"lines": 100, "inserted": 100, "replaced": 0}));
    assert_eq!(said.last().unwrap()["done"], json!({"lines": 253, "inserted": 250, "replaced": 1}));
    assert_eq!(client.get("/v1/collections/notes/count").is(200)["count"], 250);
    assert_eq!(lines(&send(String::new()))[0]["done"]["lines"], 0);
    place.stop();
}

#[test]
fn a_line_that_is_wrong_is_named_with_what_was_stored_before() {
    let place = Place::new();
    let client = place.client();
    client.put("/v1/collections/notes", json!({"embedder": "none"})).is(201);
    let send =
        |body: String| client.send("POST", "/v1/collections/notes/ingest?batch=10", &[NDJSON], body.into_bytes());
    let answer = send(records(15) + "{\"id\": 1}\n");
    let said = lines(&answer);
    assert_eq!((answer.status, said[0]["stored"]["lines"].as_u64()), (200, Some(10)));
    let failed = &said.last().unwrap()["failed"];
    assert_eq!((&failed["stored"]["inserted"], &failed["problem"]["status"]), (&json!(10), &json!(400)));
    assert!(failed["problem"]["detail"].as_str().unwrap().contains("line 16"), "{failed}");
    let remedy = failed["problem"]["remedy"].as_str().unwrap();
    assert!(remedy.contains("first 10 lines are stored") && !remedy.contains("nothing was changed"), "{failed}");
    assert_eq!(client.get("/v1/collections/notes/count").is(200)["count"], 10);
    // Before anything is stored, the answer itself is the problem.
    assert!(send("{\n".into()).fails(400, "invalid").contains("line 1"));
    client.send("POST", "/v1/collections/nobody/ingest", &[NDJSON], Vec::new()).fails(404, "not_found");
    client
        .send("POST", "/v1/collections/notes/ingest", &[("content-type", "text/csv")], Vec::new())
        .fails(415, "invalid");
    place.stop();
}

#[test]
fn a_client_that_waits_for_its_answer_before_sending_more_gets_it() {
    let place = Place::new();
    place.client().put("/v1/collections/notes", json!({"embedder": "none"})).is(201);
    let stream = TcpStream::connect(place.address).unwrap();
    let head = "POST /v1/collections/notes/ingest HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-ndjson\r\n\
                transfer-encoding: chunked\r\n\r\n";
    (&stream).write_all(head.as_bytes()).unwrap();
    let mut answers = BufReader::new(&stream);
    for at in 0..3 {
        let line = format!("{{\"id\": \"r{at}\", \"text\": \"t\"}}\n");
        (&stream).write_all(format!("{:x}\r\n{line}\r\n", line.len()).as_bytes()).unwrap();
        let expected = format!("{{\"stored\":{{\"lines\":{},\"inserted\":{},\"replaced\":0}}}}", at + 1, at + 1);
        let mut said = String::new();
        while !said.contains(&expected) {
            assert_ne!(answers.read_line(&mut said).unwrap(), 0, "{said}");
        }
    }
    (&stream).write_all(b"0\r\n\r\n").unwrap();
    let mut said = String::new();
    while !said.contains("\"done\"") {
        assert_ne!(answers.read_line(&mut said).unwrap(), 0, "{said}");
    }
    place.stop();
}
