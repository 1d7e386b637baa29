//! Keys, scopes, and who gets in without one.

use std::time::Duration;

use jiff::Timestamp;
use nuthatch_server::config::Auth;
use nuthatch_server::{Config, KeyFile, NewKey, Scope, Scopes, Server, Token};
use serde_json::json;

use crate::place::{Place, config};

fn key(place: &Place, scopes: &[Scope]) -> (String, String) {
    let file = KeyFile::of(&place.folder.path().join("memory"));
    let new = NewKey::new("test", Scopes::new(scopes.iter().copied()));
    let (key, Token(token)) = file.create(new, Timestamp::now()).unwrap();
    (key.id, token)
}

#[test]
fn from_the_first_key_on_nobody_gets_in_without_one() {
    let place = Place::new();
    let open = place.client();
    open.put("/v1/collections/notes", json!({})).is(201);
    let (id, token) = key(&place, &[Scope::Admin]);
    for path in ["/v1/collections", "/v1/collections/notes", "/v1/collections/nobody", "/v1/stats", "/metrics"] {
        let answer = open.get(path);
        // The same words, whether or not there is such a thing.
        let detail = answer.fails(401, "unauthenticated");
        assert!(!detail.contains("no") || !detail.contains("nobody"), "{detail}");
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
    }
    for wrong in ["", "nuthatch_1_2", &token[..token.len() - 1]] {
        open.with_key(wrong).get("/v1/collections").fails(401, "unauthenticated");
    }
    open.with_key(&token).get("/v1/collections").is(200);
    open.get("/healthz").is(200);
    open.get("/readyz").is(200);
    KeyFile::of(&place.folder.path().join("memory")).revoke(&id, Timestamp::now()).unwrap();
    open.with_key(&token).get("/v1/collections").fails(401, "unauthenticated");
    open.get("/v1/collections").fails(401, "unauthenticated");
    place.stop();
}

#[test]
fn a_key_allows_what_its_scopes_say() {
    let place = Place::new();
    let (_, reader) = key(&place, &[Scope::Read]);
    let (_, writer) = key(&place, &[Scope::Write]);
    let (_, admin) = key(&place, &[Scope::Admin]);
    let [reader, writer, admin] = [reader, writer, admin].map(|token| place.client().with_key(&token));
    let make = json!({"embedder": "none"});
    reader.put("/v1/collections/notes", make.clone()).fails(403, "forbidden");
    writer.put("/v1/collections/notes", make).is(201);
    writer.get("/v1/collections/notes").fails(403, "forbidden");
    reader.get("/v1/collections/notes").is(200);
    for client in [&reader, &writer] {
        client.get("/v1/stats").fails(403, "forbidden");
        client.get("/metrics").fails(403, "forbidden");
        client.post("/v1/reclaim", json!({})).fails(403, "forbidden");
        client.post("/v1/doctor", json!({})).fails(403, "forbidden");
    }
    admin.get("/v1/stats").is(200);
    assert_eq!(admin.get("/metrics").status, 200);
    admin.get("/v1/collections/notes").is(200);
    place.stop();
}

#[test]
fn a_page_of_another_site_gets_nothing() {
    let place = Place::new();
    let ask = |headers: &[(&str, &str)]| place.client().send("GET", "/v1/collections", headers, Vec::new());
    ask(&[("origin", "http://localhost:3000")]).is(200);
    ask(&[("origin", "https://example.org")]).fails(403, "forbidden");
    ask(&[("origin", "null")]).fails(403, "forbidden");
    ask(&[("host", "example.org")]).fails(403, "forbidden");
    place.stop();
}

#[test]
fn the_server_refuses_to_listen_where_anybody_could_ask_or_listen_in() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let anywhere = || Config { listen: "0.0.0.0:0".parse().unwrap(), ..config(folder.path()) };
    let bind = |config| runtime.block_on(Server::bind(config)).map(drop).map_err(|error| error.message);
    assert!(bind(anywhere()).unwrap_err().contains("nuthatch key create"));
    assert!(bind(Config { auth: Auth::None, ..anywhere() }).unwrap_err().contains("127.0.0.1"));
    assert!(bind(Config { auth: Auth::Keys, ..config(folder.path()) }).unwrap_err().contains("nuthatch key create"));
    let memory = folder.path().join("memory");
    std::fs::create_dir(&memory).unwrap();
    let new = NewKey { expires_in: Some(Duration::from_secs(60)), ..NewKey::new("test", Scopes::all()) };
    KeyFile::of(&memory).create(new, Timestamp::now()).unwrap();
    assert!(bind(anywhere()).unwrap_err().contains("tls_cert"));
    assert!(bind(Config { auth: Auth::None, allow_plaintext: true, ..anywhere() }).is_err());
    bind(Config { allow_plaintext: true, ..anywhere() }).unwrap();
}

#[test]
fn a_key_that_may_only_write_knows_itself_and_is_told_nothing_more() {
    let place = Place::new();
    let admin = place.client().with_key(&place.key("default", &[Scope::Admin]));
    let writer = place.client().with_key(&place.key("default", &[Scope::Write]));
    admin.put("/v1/collections/notes", json!({"embedder": "none"})).is(201);
    let records = json!({"records": [{"id": "a", "text": "t", "payload": {"secret_field": 1}}]});
    admin.post("/v1/collections/notes/records", records.clone()).is(200);
    assert_eq!(writer.get("/v1/caller").is(200)["scopes"], json!(["write"]));
    assert_eq!(writer.put("/v1/collections/notes", json!({})).is(200), json!({"name": "notes"}));
    assert_eq!(writer.put("/v1/collections/new", json!({"embedder": "none"})).is(201), json!({"name": "new"}));
    assert_eq!(writer.post("/v1/collections/new/records", records).is(200)["inserted"], 1);
    writer.get("/v1/collections/notes").fails(403, "forbidden");
    assert_eq!(admin.put("/v1/collections/notes", json!({})).is(200)["rows"], 1);
    place.client().get("/v1/caller").fails(401, "unauthenticated");
    place.stop();
}
