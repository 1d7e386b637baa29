//! Starting and stopping.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use nuthatch_link::{Database, Options};
use serde_json::json;

use crate::place::Place;

#[test]
fn what_was_acknowledged_is_there_after_the_server_has_stopped() {
    let place = Place::new();
    let client = place.client();
    let (written, stopping, stopped) = (AtomicU64::new(0), AtomicBool::new(false), AtomicBool::new(false));
    let folder = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..4)
            .map(|writer| {
                let (client, written) = (client.clone(), &written);
                let (stopping, stopped) = (&stopping, &stopped);
                scope.spawn(move || {
                    let mut acknowledged = Vec::new();
                    let mut at = 0;
                    // Nothing is sent once it has stopped: the port may be another server's by then.
                    while !stopped.load(Ordering::SeqCst) {
                        let key = format!("w{writer}-{at}");
                        let sent = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                            client.put_bytes(&format!("/v1/keyspaces/k/keys/{key}"), b"1").status
                        }));
                        match sent {
                            Ok(204) => acknowledged.push(key),
                            // The connection was refused or closed between two requests.
                            _ => {
                                assert!(stopping.load(Ordering::SeqCst), "{sent:?}");
                                return acknowledged;
                            }
                        }
                        written.fetch_add(1, Ordering::SeqCst);
                        at += 1;
                    }
                    acknowledged
                })
            })
            .collect();
        while written.load(Ordering::SeqCst) < 50 {
            std::thread::yield_now();
        }
        stopping.store(true, Ordering::SeqCst);
        let folder = place.stop();
        stopped.store(true, Ordering::SeqCst);
        let acknowledged: Vec<String> = writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect();
        let database = Database::open(folder.path().join("memory"), Options::default()).unwrap();
        let values = database.existing_keyspace("k").unwrap().multi_get(&acknowledged).unwrap();
        assert!(acknowledged.len() >= 50 && values.iter().all(Option::is_some));
        database.close().unwrap();
        folder
    });
    let place = Place::in_folder(folder, |_| ());
    assert_eq!(place.client().get("/v1/keyspaces/k/keys/w0-0").status, 200);
    place.stop();
}

#[test]
fn a_request_under_way_is_answered_before_the_server_stops() {
    let mut place = Place::new();
    let mut waiting = TcpStream::connect(place.address).unwrap();
    let head =
        "PUT /v1/keyspaces/k/keys/a HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1\r\nexpect: 100-continue\r\n\r\n";
    waiting.write_all(head.as_bytes()).unwrap();
    let mut begun = [0; 25];
    waiting.read_exact(&mut begun).unwrap();
    assert!(begun.starts_with(b"HTTP/1.1 100"));
    place.tell_to_stop();
    // No new connection is accepted from some moment on.
    while TcpStream::connect(place.address).is_ok() {
        std::thread::yield_now();
    }
    waiting.write_all(b"x").unwrap();
    let mut said = String::new();
    waiting.read_to_string(&mut said).unwrap();
    assert!(said.contains("HTTP/1.1 204"), "{said}");
    place.stop();
}

#[test]
fn a_request_that_never_ends_does_not_keep_the_server() {
    let place = Place::with(|config| config.shutdown_timeout = std::time::Duration::from_millis(100));
    let mut waiting = TcpStream::connect(place.address).unwrap();
    waiting.write_all(b"PUT /v1/keyspaces/k/keys/a HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1\r\n\r\n").unwrap();
    place.stop();
}

#[test]
fn a_folder_that_another_process_holds_is_served_through_it() {
    let folder = tempfile::tempdir().unwrap();
    let holder = Database::open(folder.path().join("memory"), Options::default()).unwrap();
    holder.kv("k").unwrap().put("a", "1").unwrap();
    let place = Place::in_folder(folder, |_| ());
    let client = place.client();
    assert_eq!(client.get("/v1/keyspaces/k/keys/a").body, b"1");
    client.put("/v1/collections/notes", json!({"embedder": "none"})).is(201);
    // It goes; the server takes over.
    holder.close().unwrap();
    assert_eq!(client.get("/v1/keyspaces/k/keys/a").body, b"1");
    client.get("/v1/collections/notes").is(200);
    place.stop();
}
