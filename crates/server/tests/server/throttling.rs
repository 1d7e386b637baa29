//! Keys that end while they are in use, passwords, and what a tenant may have at a time, through each face.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering};

use jiff::Timestamp;
use nuthatch_server::config::Auth;
use nuthatch_server::{NewKey, Scope, Scopes};
use serde_json::{Value, json};

use crate::place::Place;
use crate::redis::{self, Redis};

fn id_of(token: &str) -> &str {
    token.split('_').nth(1).unwrap()
}

#[test]
fn a_key_that_is_revoked_ends_its_redis_connections_with_the_next_command() {
    let place = redis::place();
    let mut stranger = Redis::new(&place);
    assert_eq!(stranger.ask("SET a 1"), "+OK", "nobody needs a key yet");
    let (one, other) = (place.key("default", &[Scope::Admin]), place.key("default", &[Scope::Admin]));
    assert!(stranger.ask_all("GET a").starts_with("-NOAUTH"), "now everybody does");
    assert_eq!(stranger.ask_all("PING"), "", "it was ended");
    let [mut first, mut second] = [(); 2].map(|()| Redis::new(&place));
    assert_eq!(first.ask(&format!("AUTH {one}")), "+OK");
    assert_eq!(second.ask(&format!("AUTH {other}")), "+OK");
    assert_eq!(first.ask("GET a"), "1");
    place.keys().revoke(id_of(&one), Timestamp::now()).unwrap();
    assert!(first.ask_all("GET a").starts_with("-NOAUTH"));
    assert_eq!(first.ask_all("PING"), "", "it was ended");
    assert_eq!(second.ask("GET a"), "1", "another key's connection");
    let soon = place.keys().rotate(id_of(&other), std::time::Duration::from_nanos(1), None, Timestamp::now());
    soon.unwrap();
    // Times are kept in whole seconds: the old key has ended when this one has.
    while second.ask("GET a") == "1" {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert_eq!(second.ask_all("PING"), "", "an expired key is no better than a revoked one");
    place.stop();
}

#[test]
fn a_key_that_is_revoked_ends_a_stream_with_its_next_batch() {
    let place = Place::new();
    let (token, admin) = (place.key("default", &[Scope::Write]), place.key("default", &[Scope::Admin]));
    let client = place.client().with_key(&admin);
    client.put("/v1/collections/notes", json!({"embedder": "none"})).is(201);
    let mut stream = BufReader::new(TcpStream::connect(place.address).unwrap());
    let head = format!(
        "POST /v1/collections/notes/ingest?batch=1 HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\
         content-type: application/x-ndjson\r\ntransfer-encoding: chunked\r\n\r\n"
    );
    let line = |id: &str| {
        let line = format!("{{\"id\": \"{id}\", \"text\": \"bird\"}}\n");
        format!("{:x}\r\n{line}\r\n", line.len())
    };
    stream.get_mut().write_all((head + &line("a")).as_bytes()).unwrap();
    let mut said = String::new();
    while !said.contains("stored") {
        assert_ne!(stream.read_line(&mut said).unwrap(), 0, "{said}");
    }
    place.keys().revoke(id_of(&token), Timestamp::now()).unwrap();
    stream.get_mut().write_all(line("b").as_bytes()).unwrap();
    while !said.contains("unauthenticated") {
        assert_ne!(stream.read_line(&mut said).unwrap(), 0, "{said}");
    }
    assert_eq!(client.get("/v1/collections/notes/count").is(200)["count"], 1);
    place.stop();
}

#[test]
fn a_person_s_password_lets_a_redis_client_in() {
    let place = redis::place();
    let admin = place.client().with_key(&place.key("default", &[Scope::Admin]));
    admin.put("/v1/tenants/amber", json!({})).is(201);
    let new = place.of_tenant(NewKey::new("anna", Scopes::new([Scope::Read, Scope::Write])), "amber");
    let key = place.keys().create_with_password(new, b"heron-in-the-reeds", Timestamp::now()).unwrap();
    let mut anna = Redis::new(&place);
    for wrong in ["AUTH anna heron-in-the-weeds", "AUTH birch heron-in-the-reeds", "AUTH heron-in-the-reeds"] {
        assert!(anna.ask(wrong).starts_with("-WRONGPASS"), "{wrong}");
    }
    assert_eq!(anna.ask("AUTH anna heron-in-the-reeds"), "+OK");
    assert_eq!(anna.ask("SET a mine"), "+OK");
    let mut again = Redis::new(&place);
    assert!(again.ask_all("HELLO 2 AUTH anna heron-in-the-reeds").contains("nuthatch"));
    assert_eq!(again.ask("GET a"), "mine");
    // It is no token.
    place.client().with_key("heron-in-the-reeds").get("/v1/collections").fails(401, "unauthenticated");
    place.keys().set_password(&key.id, b"kingfisher-by-the-river", Timestamp::now()).unwrap();
    assert!(anna.ask_all("GET a").starts_with("-NOAUTH"), "it was let in with the password before");
    let mut third = Redis::new(&place);
    assert!(third.ask("AUTH anna heron-in-the-reeds").starts_with("-WRONGPASS"));
    assert_eq!(third.ask("AUTH anna kingfisher-by-the-river"), "+OK");
    // A client that keeps guessing is no longer checked, and locks nobody else out.
    let mut guessing = Redis::new(&place);
    let said: Vec<String> = (0..15).map(|n| guessing.ask(&format!("AUTH anna not-this-one-{n:04}"))).collect();
    assert!(said.last().unwrap().contains("too many"), "{said:?}");
    assert_eq!(guessing.ask("AUTH anna kingfisher-by-the-river"), "+OK");
    place.stop();
}

#[test]
fn a_strict_server_answers_nobody_without_a_key() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("memory");
    std::fs::create_dir(&data).unwrap();
    nuthatch_server::KeyFile::of(&data).create(NewKey::new("a", Scopes::all()), Timestamp::now()).unwrap();
    let place = Place::in_folder(folder, |config| {
        config.auth = Auth::Keys;
        config.redis = Some("127.0.0.1:0".parse().unwrap());
    });
    place.client().get("/v1/collections").fails(401, "unauthenticated");
    assert!(Redis::new(&place).ask("GET a").starts_with("-NOAUTH"));
    place.stop();
}

#[test]
fn a_tenant_s_requests_are_counted_through_each_face_alike() {
    let place = redis::place();
    let admin = place.client().with_key(&place.key("default", &[Scope::Admin]));
    admin.put("/v1/tenants/amber", json!({})).is(201);
    let token = place.key("amber", &[Scope::Admin]);
    let client = place.client().with_key(&token);
    let mut redis = Redis::new(&place);
    assert_eq!(redis.ask(&format!("AUTH {token}")), "+OK");
    assert_eq!(redis.ask("SET a 1"), "+OK");
    admin.put("/v1/tenants/amber/limits", json!({"concurrent_requests": 0})).is(200);
    assert!(redis.ask("GET a").starts_with("-LIMIT"), "none at a time");
    assert_eq!(redis.ask("PING"), "+PONG", "which asks nothing of the data");
    client.get("/v1/collections").fails(429, "exhausted");
    assert_eq!(redis.ask("MULTI"), "+OK");
    assert!(redis.ask("SET a 2").starts_with("-LIMIT"));
    assert!(redis.ask("EXEC").starts_with("-"), "of a transaction all or nothing");
    // Over both faces together, however many ask.
    admin.put("/v1/tenants/amber/limits", json!({"requests_per_second": 50})).is(200);
    let allowed = AtomicU64::new(0);
    let began = std::time::Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let (place, token, allowed) = (&place, &token, &allowed);
            scope.spawn(move || {
                let mut redis = Redis::new(place);
                assert_eq!(redis.ask(&format!("AUTH {token}")), "+OK");
                let client = place.client().with_key(token);
                for _ in 0..100 {
                    let through_redis = u64::from(redis.ask("GET a") == "1");
                    let through_http = u64::from(client.get("/v1/keyspaces/redis.0/keys/a").status == 200);
                    allowed.fetch_add(through_redis + through_http, Ordering::SeqCst);
                }
            });
        }
    });
    let most = 50 + (began.elapsed().as_secs_f64() * 50.0).ceil() as u64 + 1;
    let allowed = allowed.load(Ordering::SeqCst);
    assert!((50..=most).contains(&allowed), "{allowed} of at most {most}");
    admin.put("/v1/tenants/amber/limits", json!({})).is(200);
    assert_eq!(redis.ask("GET a"), "1");
    place.stop();
}

#[test]
fn tenants_that_share_one_worker_are_all_answered() {
    let place = Place::with(|config| config.workers = 1);
    let admin = place.client().with_key(&place.key("default", &[Scope::Admin]));
    for name in ["amber", "birch"] {
        admin.put(&format!("/v1/tenants/{name}"), json!({})).is(201);
    }
    let [amber, birch] = ["amber", "birch"].map(|name| place.client().with_key(&place.key(name, &[Scope::Admin])));
    amber.put("/v1/collections/notes", json!({"embedder": "none", "dim": 8})).is(201);
    let records: Vec<Value> = (0..500)
        .map(|at| json!({"id": format!("r{at}"), "text": "bird", "vector": [at, 1, 2, 3, 4, 5, 6, 7]}))
        .collect();
    amber.post("/v1/collections/notes/records?durability=os", json!({"records": records})).is(200);
    let asked = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..25 {
                    amber
                        .post("/v1/collections/notes/search", json!({"text": "bird", "exact": true, "limit": 50}))
                        .is(200);
                    asked.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        scope.spawn(|| {
            for _ in 0..50 {
                assert_eq!(birch.put_bytes("/v1/keyspaces/k/keys/a?durability=os", b"b").status, 204);
            }
        });
    });
    assert_eq!(asked.load(Ordering::SeqCst), 200, "all were answered in the end");
    place.stop();
}
