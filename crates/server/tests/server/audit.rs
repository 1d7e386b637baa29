//! The audit log's notes about those who administer.

use nuthatch_server::{AuditFile, AuditOutcome, Scope};
use serde_json::{Value, json};

use crate::flight::Flight;
use crate::place::Place;
use crate::redis::{self, Redis};

fn entries(place: &Place) -> Vec<Value> {
    let file = AuditFile::of(&place.folder.path().join("memory"));
    file.newest(1000, |_| true).unwrap().entries.iter().map(|entry| serde_json::to_value(entry).unwrap()).collect()
}

#[test]
fn who_did_what_and_how_it_ended_is_in_the_log_before_the_answer() {
    let place = Place::new();
    let token = place.key("default", &[Scope::Admin]);
    let admin = place.client().with_key(&token);
    let made = admin.send("PUT", "/v1/tenants/amber", &[("x-request-id", "mine-1")], Vec::new());
    made.is(201);
    admin.put("/v1/tenants/amber/limits", json!({"vectors": 7})).is(200);
    admin.put("/v1/tenants/amber", json!({})).fails(400, "invalid");
    admin.put("/v1/collections/notes", json!({"embedder": "none"})).is(201);
    admin
        .post(
            "/v1/collections/notes/records",
            json!({"records": [{"id": "a", "text": "t", "payload": {"who": "Ann"}}]}),
        )
        .is(200);
    admin.post("/v1/collections/notes/erase", json!({"where": "who = 'Ann'"})).is(200);
    assert_eq!(admin.delete("/v1/collections/notes").status, 204);
    admin.delete("/v1/tenants/amber").is(200);
    let noted = entries(&place);
    let actions: Vec<&str> = noted.iter().map(|entry| entry["action"].as_str().unwrap()).collect();
    let wanted = [
        "server.start",
        "tenant.create",
        "tenant.limit",
        "tenant.create",
        "collection.erase",
        "collection.drop",
        "tenant.drop",
    ];
    assert_eq!(actions, wanted);
    let made = &noted[1];
    assert_eq!(
        (&made["request"], &made["target"], &made["outcome"]),
        (&json!("mine-1"), &json!("amber"), &json!("done"))
    );
    assert_eq!(
        (&made["who"]["name"], &made["who"]["tenant"], &made["face"]),
        (&json!("test"), &json!("default"), &json!("http"))
    );
    assert!(made["who"]["address"].as_str().unwrap().starts_with("127.0.0.1:"), "{made}");
    assert_eq!(noted[2]["details"]["limits"]["vectors"], 7);
    assert_eq!((&noted[3]["outcome"], &noted[3]["kind"]), (&json!("failed"), &json!("invalid")));
    assert_eq!((&noted[4]["details"]["by"], &noted[4]["details"]["records"]), (&json!("where"), &json!(1)));
    assert!(noted[6]["details"]["receipt"].is_string());
    // The same through the route, which is noted itself.
    let read = admin.get("/v1/audit?action=tenant&limit=2").is(200);
    assert_eq!(read["entries"], json!([noted[3], noted[6]]));
    assert_eq!(entries(&place).last().unwrap()["action"], "audit.read");
    // No secret, and nobody's name.
    let folder = place.folder.path().join("memory/audit");
    for file in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        assert!(!text.contains(&token) && !text.contains(token.rsplit('_').next().unwrap()) && !text.contains("Ann"));
    }
    place.stop();
}

#[test]
fn who_was_refused_is_in_the_log_and_cannot_fill_it() {
    let place = Place::new();
    let admin = place.client().with_key(&place.key("default", &[Scope::Admin]));
    admin.put("/v1/tenants/amber", json!({})).is(201);
    let amber = place.client().with_key(&place.key("amber", &[Scope::Admin]));
    let reader = place.client().with_key(&place.key("default", &[Scope::Read]));
    amber.get("/v1/stats").fails(403, "forbidden");
    amber.get("/v1/audit").fails(403, "forbidden");
    reader.delete("/v1/tenants/amber").fails(403, "forbidden");
    place.client().post("/v1/reclaim", json!({})).fails(401, "unauthenticated");
    let refused = entries(&place).split_off(2);
    let actions: Vec<&str> = refused.iter().map(|entry| entry["action"].as_str().unwrap()).collect();
    assert_eq!(actions, ["GET /v1/stats", "audit.read", "tenant.drop", "reclaim"]);
    assert!(refused.iter().all(|entry| entry["outcome"] == "refused"));
    assert_eq!(refused[0]["who"]["tenant"], "amber");
    assert_eq!((&refused[3]["who"]["name"], &refused[3]["kind"]), (&json!(""), &json!("unauthenticated")));
    for _ in 0..200 {
        amber.get("/v1/stats").fails(403, "forbidden");
    }
    let noted = entries(&place);
    assert!(noted.len() < 80, "{} entries", noted.len());
    // Actions of administrators are still recorded.
    admin.delete("/v1/tenants/amber").is(200);
    assert_eq!(entries(&place).last().unwrap()["action"], "tenant.drop");
    place.stop();
}

#[test]
fn what_cannot_be_noted_is_not_administered() {
    let place = Place::new();
    let client = place.client();
    let folder = place.folder.path().join("memory/audit");
    std::fs::remove_dir_all(&folder).unwrap();
    std::fs::write(&folder, "in the way").unwrap();
    client.put("/v1/tenants/amber", json!({})).is(201);
    client.put("/v1/tenants/birch", json!({})).fails(503, "unavailable");
    client.get("/v1/collections").is(200);
    std::fs::remove_file(&folder).unwrap();
    client.put("/v1/tenants/birch", json!({})).is(201);
    let file = AuditFile::of(&place.folder.path().join("memory"));
    let noted = file.newest(10, |entry| entry.outcome == AuditOutcome::Done).unwrap().entries;
    let targets: Vec<&str> = noted.iter().map(|entry| entry.target.as_str()).collect();
    assert_eq!(targets, ["amber", "birch"]);
    place.stop();
}

#[test]
fn emptying_a_database_through_redis_is_noted() {
    let place = redis::place();
    let mut client = Redis::new(&place);
    for command in ["SELECT 3", "FLUSHDB", "MULTI", "SELECT 2", "FLUSHDB", "EXEC", "FLUSHALL", "CLIENT KILL ID 999"] {
        client.ask_all(command);
    }
    let noted = entries(&place).split_off(1);
    let all: Vec<(&str, &str)> = noted
        .iter()
        .map(|entry| (entry["action"].as_str().unwrap(), entry["target"].as_str().unwrap_or_default()))
        .collect();
    let wanted = [("redis.flushdb", "3"), ("redis.flushdb", "2"), ("redis.flushall", ""), ("redis.client.kill", "")];
    assert_eq!(all, wanted);
    assert_eq!(noted[0]["face"], "redis");
    place.stop();
}

#[test]
fn who_guesses_passwords_or_lacks_a_scope_over_redis_is_in_the_log_and_cannot_fill_it() {
    let place = redis::place();
    let admin = place.key("default", &[Scope::Admin]);
    let reader = place.key("default", &[Scope::Read]);
    let mut client = Redis::new(&place);
    for command in ["AUTH hunter2", "AUTH s3cret-user guess", "HELLO 3 AUTH test guess"] {
        assert!(client.ask(command).starts_with("-WRONGPASS"), "{command}");
    }
    assert_eq!(client.ask(&format!("AUTH {reader}")), "+OK");
    for command in ["SET a 1", "CLIENT LIST", "CLIENT KILL ID 1"] {
        assert!(client.ask(command).starts_with("-NOPERM"), "{command}");
    }
    let noted = entries(&place).split_off(1);
    let all: Vec<(&str, &str, &str)> = noted
        .iter()
        .map(|entry| {
            let text = |name: &str| entry[name].as_str().unwrap_or_default();
            (text("action"), text("target"), text("kind"))
        })
        .collect();
    let wanted = [
        ("redis.auth", "default", "wrongpass"),
        // Neither has a password: what somebody typed there may be one.
        ("redis.auth", "", "wrongpass"),
        ("redis.auth", "", "wrongpass"),
        ("redis.set", "", "noperm"),
        ("redis.client.list", "", "noperm"),
        ("redis.client.kill", "", "noperm"),
    ];
    assert_eq!(all, wanted);
    assert!(noted.iter().all(|entry| entry["outcome"] == "refused" && entry["face"] == "redis"));
    assert!(noted[0]["who"]["address"].as_str().unwrap().starts_with("127.0.0.1:"), "{}", noted[0]);
    assert_eq!(noted[3]["who"]["name"], "test");
    let mut guessing = Redis::new(&place);
    for _ in 0..200 {
        guessing.ask("AUTH guess");
        client.ask("SET a 1");
    }
    let written = entries(&place).len();
    assert!((100..140).contains(&written), "{written} entries");
    // Actions of administrators are still recorded.
    assert_eq!(client.ask(&format!("AUTH {admin}")), "+OK");
    client.ask("FLUSHALL");
    assert_eq!(entries(&place).last().unwrap()["action"], "redis.flushall");
    place.stop();
}

#[test]
fn what_is_refused_over_flight_is_in_the_log_as_it_is_over_http() {
    let place = Place::new();
    let admin = place.client().with_key(&place.key("default", &[Scope::Admin]));
    admin.put("/v1/tenants/amber", json!({})).is(201);
    admin.put("/v1/collections/notes", json!({"embedder": "none", "dim": 2})).is(201);
    let flight = |token: &str| Flight::new(place.address).with_key(token);
    let (notes, nothing) = (json!({"collection": "notes"}), json!({}));
    let mut reader = flight(&place.key("default", &[Scope::Read]));
    let mut amber = flight(&place.key("amber", &[Scope::Admin]));
    let mut writer = flight(&place.key("default", &[Scope::Write]));
    let code = |said: Result<Value, tonic::Status>| said.unwrap_err().code();
    assert_eq!(code(reader.act("drop", &notes)), tonic::Code::PermissionDenied);
    assert_eq!(code(amber.act("stats", &nothing)), tonic::Code::PermissionDenied);
    assert_eq!(code(reader.act("stats", &nothing)), tonic::Code::PermissionDenied);
    assert_eq!(code(Flight::new(place.address).act("drop", &notes)), tonic::Code::Unauthenticated);
    assert_eq!(code(amber.act("drop", &notes)), tonic::Code::NotFound);
    writer.act("drop", &notes).unwrap();
    // No more than over HTTP: reads, and writes that are refused.
    assert_eq!(
        code(reader.act("delete", &json!({"collection": "notes", "ids": ["a"]}))),
        tonic::Code::PermissionDenied
    );
    reader.get(&notes).unwrap_err();
    let noted = entries(&place).split_off(2);
    let said: Vec<_> = noted.iter().map(|entry| [&entry["action"], &entry["target"], &entry["outcome"]]).collect();
    let route = "POST /arrow.flight.protocol.FlightService/{*rest}";
    let wanted = [
        ["collection.drop", "notes", "refused"],
        [route, "DoAction", "refused"],
        [route, "DoAction", "refused"],
        [route, "DoAction", "refused"],
        ["collection.drop", "notes", "failed"],
        ["collection.drop", "notes", "done"],
    ];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    assert_eq!(
        said.iter().map(|entry| entry.map(text)).collect::<Vec<_>>(),
        wanted.map(|entry| entry.map(str::to_string))
    );
    assert!(noted.iter().all(|entry| entry["face"] == "grpc"));
    assert_eq!(noted[1]["who"]["tenant"], "amber");
    let kinds: Vec<String> = noted.iter().map(|entry| text(&entry["kind"])).collect();
    assert_eq!(kinds, ["forbidden", "forbidden", "forbidden", "unauthenticated", "not_found", ""]);
    assert!(noted.iter().all(|entry| entry["who"]["address"].as_str().unwrap().starts_with("127.0.0.1:")));
    place.stop();
}
