//! Snapshots and transactions: what was, for whom, for how long; and writes that depend on it.

use std::time::Duration;

use nuthatch_link::{Database, Options};
use nuthatch_server::{AuditFile, Scope};
use serde_json::{Value, json};

use crate::client::{Answer, Client};
use crate::flight::Flight;
use crate::place::Place;

/// A keyspace and a collection with something in them.
fn filled(client: &Client) {
    client.put("/v1/collections/notes", json!({"embedder": "none", "dim": 2})).is(201);
    let records = json!({"records": [{"id": "a", "text": "an osprey", "vector": [1, 0], "payload": {"n": 1}}, {"id": "b", "text": "a heron"}]});
    client.post("/v1/collections/notes/records", records).is(200);
    client.send("PUT", "/v1/collections/notes/files?path=notes/plan.md", &[], b"# Plan\n\nWalk.\n".to_vec()).is(200);
    let changes = json!({"changes": [{"put": {"key": "a", "value": "1"}}, {"put": {"key": "b", "value": "2", "expires_in_ms": 3600000}}]});
    assert_eq!(client.post("/v1/keyspaces/k/write", changes).status, 204);
}

/// Everything that a snapshot answers.
fn told(client: &Client) -> Vec<Value> {
    let key = client.get("/v1/keyspaces/k/keys/a");
    let mut told = vec![json!([key.status, String::from_utf8_lossy(&key.body)])];
    told.extend(
        [
            client.get("/v1/collections/notes/records/a"),
            client.get("/v1/collections/notes/records"),
            client.get("/v1/collections/notes/records?where=n%20%3D%201&limit=1"),
            client.post("/v1/collections/notes/get", json!({"ids": ["a", "c"], "vectors": true})),
            client.get("/v1/collections/notes/count"),
            client.get("/v1/collections/notes/count?where=n%20%3D%201"),
            client.post("/v1/collections/notes/search", json!({"text": "osprey heron"})),
            client.post("/v1/collections/notes/search-many", json!({"searches": [{"vector": [1, 0]}]})),
            client.get("/v1/collections/notes/files"),
            client.post("/v1/keyspaces/k/get", json!({"keys": ["a", "b", "c"]})),
            client.post("/v1/keyspaces/k/scan", json!({})),
            client.get("/v1/keyspaces/k/count"),
            client.post("/v1/keyspaces/k/ttl", json!({"key": "c"})),
        ]
        .map(|answer| answer.is(200)),
    );
    let info = client.get("/v1/collections/notes").is(200);
    told.extend(["rows", "vectors", "pending", "fields"].map(|what| info[what].clone()));
    told
}

fn changed(client: &Client) {
    let records = json!({"records": [{"id": "a", "text": "a swift"}, {"id": "c", "text": "an osprey"}]});
    client.post("/v1/collections/notes/records", records).is(200);
    client.post("/v1/collections/notes/delete", json!({"ids": ["b"]})).is(200);
    client.delete("/v1/collections/notes/files?path=notes/plan.md").is(200);
    let changes =
        json!({"changes": [{"put": {"key": "a", "value": "3"}}, {"delete": "b"}, {"put": {"key": "c", "value": "4"}}]});
    assert_eq!(client.post("/v1/keyspaces/k/write", changes).status, 204);
}

#[test]
fn every_read_that_names_a_snapshot_is_as_of_it_and_the_others_refuse_it() {
    let place = Place::new();
    let client = place.client();
    filled(&client);
    let before = told(&client);
    let id = client.snapshot();
    let then = client.at(&id);
    assert_eq!(told(&then), before);
    changed(&client);
    assert_eq!(told(&then), before);
    assert_ne!(told(&client), before);
    client.delete("/v1/keyspaces/k");
    client.put_bytes("/v1/keyspaces/k/keys/a", b"of another keyspace");
    client.delete("/v1/collections/notes");
    assert_eq!(told(&then), before, "also of what was dropped");
    assert_eq!(then.post("/v1/keyspaces/never/scan", json!({})).is(200), json!({"entries": [], "cursor": null}));
    then.get("/v1/collections/never/count").fails(404, "not_found");
    for refused in [
        then.get("/v1/collections"),
        then.get("/v1/keyspaces"),
        then.put_bytes("/v1/keyspaces/k/keys/a", b"1"),
        then.post("/v1/batches", json!({"writes": []})),
        then.get("/v1/stats"),
        then.post("/v1/snapshots", json!(null)),
    ] {
        assert!(refused.fails(400, "invalid").contains("x-nuthatch-snapshot"));
    }
    assert_eq!(client.get("/v1/stats").is(200)["snapshots"], 1);
    assert_eq!(client.delete(&format!("/v1/snapshots/{id}")).status, 204);
    assert!(then.get("/v1/keyspaces/k/keys/a").fails(409, "conflict").contains("take another"));
    client.delete(&format!("/v1/snapshots/{id}")).fails(404, "not_found");
    assert_eq!(client.get("/v1/stats").is(200)["snapshots"], 0);
    place.stop();
}

#[test]
fn a_snapshot_ends_when_it_is_too_old_and_no_tenant_has_more_than_it_may() {
    let place = Place::with(|config| config.snapshots_max = 3);
    let admin = place.client().with_key(&place.key("default", &[Scope::Admin]));
    admin.put("/v1/tenants/amber", json!({})).is(201);
    let (amber, other) = (place.key("amber", &[Scope::Read, Scope::Write]), place.key("amber", &[Scope::Read]));
    let (amber, other) = (place.client().with_key(&amber), place.client().with_key(&other));
    let first = amber.snapshot();
    amber.snapshot();
    other.snapshot();
    for client in [&amber, &other] {
        let refused = client.post("/v1/snapshots", json!(null));
        assert!(refused.fails(429, "exhausted").contains("3 snapshots"));
        assert!(refused.json()["remedy"].as_str().unwrap().contains("GET /v1/snapshots"));
        assert!(refused.header("retry-after").is_some());
    }
    admin.snapshot();
    assert_eq!(amber.delete(&format!("/v1/snapshots/{first}")).status, 204);
    other.snapshot();
    place.stop();

    let place = Place::with(|config| (config.snapshots_max, config.snapshot_age_max) = (1, Duration::from_millis(50)));
    let client = place.client();
    filled(&client);
    let id = client.snapshot();
    let read = || client.at(&id).get("/v1/keyspaces/k/keys/a");
    while read().status == 200 {
        std::thread::yield_now();
    }
    assert!(read().fails(409, "conflict").contains("older than 0.05 s"));
    assert_eq!(client.get("/v1/snapshots").is(200), json!({"snapshots": []}));
    let next = client.snapshot(); // the old one made room
    assert_ne!(next, id);
    assert!(read().fails(409, "conflict").contains("older than 0.05 s"), "and is forgotten");
    place.stop();
}

#[test]
fn a_snapshot_answers_the_key_that_took_it_and_nobody_else() {
    let place = Place::new();
    let admin = place.client().with_key(&place.key("default", &[Scope::Admin]));
    let key = |tenant: &str, scopes: &[Scope]| place.client().with_key(&place.key(tenant, scopes));
    let both = &[Scope::Read, Scope::Write];
    for tenant in ["amber", "birch"] {
        admin.put(&format!("/v1/tenants/{tenant}"), json!({})).is(201);
    }
    let amber = key("amber", both);
    filled(&amber);
    let id = amber.snapshot();
    let commit =
        json!({"writes": [{"keys": {"keyspace": "k", "changes": [{"put": {"key": "a", "value": "stolen"}}]}}]});
    let birch = key("birch", &[Scope::Admin]);
    filled(&birch);
    let never = "0".repeat(32);
    for other in [&birch, &key("amber", both), &admin] {
        let said = |id: &str| other.at(id).get("/v1/keyspaces/k/keys/a").fails(409, "conflict");
        assert_eq!(said(&id), said(&never), "nobody learns that it is there");
        other.post(&format!("/v1/snapshots/{id}/commit"), commit.clone()).fails(409, "conflict");
        let listed = other.get("/v1/snapshots").is(200);
        assert_eq!(listed, json!({"snapshots": []}));
    }
    for other in [&birch, &key("amber", both), &key("amber", &[Scope::Read])] {
        other.delete(&format!("/v1/snapshots/{id}")).fails(404, "not_found");
    }
    // Also of the same key, when it asks about another tenant.
    let own = admin.snapshot();
    let elsewhere = [("x-nuthatch-tenant", "amber"), ("x-nuthatch-snapshot", own.as_str())];
    admin.send("GET", "/v1/keyspaces/k/keys/a", &elsewhere, Vec::new()).fails(409, "conflict");
    assert_eq!(admin.delete(&format!("/v1/snapshots/{own}")).status, 204);
    let odd = [("x-nuthatch-snapshot", "grün")];
    amber.send("GET", "/v1/keyspaces/k/keys/a", &odd, Vec::new()).fails(409, "conflict");
    assert_eq!(amber.at(&id).get("/v1/keyspaces/k/keys/a").text(), "1", "it is still there");
    let listed = &amber.get("/v1/snapshots").is(200)["snapshots"];
    assert_eq!(
        (listed.as_array().unwrap().len(), &listed[0]["id"], &listed[0]["key"]),
        (1, &json!(id), &json!("test"))
    );
    assert!(listed[0]["ends_in_ms"].as_u64().unwrap() > 500_000, "{listed}");
    // A tenant's administrator sees and ends those of all its keys, and that is noted.
    let chief = key("amber", &[Scope::Admin]);
    assert_eq!(chief.get("/v1/snapshots").is(200)["snapshots"][0]["id"], json!(id));
    assert_eq!(chief.delete(&format!("/v1/snapshots/{id}")).status, 204);
    amber.at(&id).get("/v1/keyspaces/k/keys/a").fails(409, "conflict");
    let file = AuditFile::of(&place.folder.path().join("memory"));
    let noted = file.newest(10, |entry| entry.action == "snapshot.end").unwrap().entries;
    assert_eq!(noted.iter().map(|entry| entry.target.as_str()).collect::<Vec<_>>(), [id.as_str()]);
    // With its tenant, a snapshot has nothing to show.
    let last = amber.snapshot();
    admin.delete("/v1/tenants/amber").is(200);
    admin.put("/v1/tenants/amber", json!({})).is(201);
    let amber = key("amber", &[Scope::Read]);
    amber.at(&last).get("/v1/keyspaces/k/keys/a").fails(409, "conflict");
    assert_eq!(amber.get("/v1/snapshots").is(200), json!({"snapshots": []}));
    place.stop();
}

#[test]
fn a_snapshot_delays_nobodys_erasure_for_longer_than_its_grace() {
    let place = Place::with(|config| config.erasure_grace = Duration::from_millis(50));
    let admin = place.client().with_key(&place.key("default", &[Scope::Admin]));
    for tenant in ["amber", "birch", "cedar"] {
        admin.put(&format!("/v1/tenants/{tenant}"), json!({})).is(201);
    }
    let amber = place.client().with_key(&place.key("amber", &[Scope::Read, Scope::Write]));
    let birch = place.client().with_key(&place.key("birch", &[Scope::Admin]));
    filled(&amber);
    filled(&birch);
    let commit = json!({"writes": [{"keys": {"keyspace": "k", "changes": [{"put": {"key": "a", "value": "2"}}]}}]});
    // A tenant is not told how many others had.
    for (erase, told) in [
        (&|| admin.delete("/v1/tenants/cedar"), json!(2)),
        (&|| birch.post("/v1/collections/notes/erase", json!({"prefix": "x"})), Value::Null),
        (&|| admin.post("/v1/reclaim", json!({})), json!(2)),
    ] as [(&dyn Fn() -> Answer, Value); 3]
    {
        let (read, written) = (amber.snapshot(), amber.snapshot());
        assert_eq!(amber.at(&read).get("/v1/keyspaces/k/keys/a").text(), "1");
        assert_eq!(erase().is(200)["ended_snapshots"], told);
        let why = amber.at(&read).get("/v1/keyspaces/k/keys/a").fails(409, "conflict");
        assert!(why.contains("deleted permanently"), "{why}");
        let why = amber.post(&format!("/v1/snapshots/{written}/commit"), commit.clone()).fails(409, "conflict");
        assert!(why.contains("deleted permanently"), "{why}");
        assert_eq!(amber.get("/v1/snapshots").is(200), json!({"snapshots": []}));
        assert_eq!(amber.get("/v1/keyspaces/k/keys/a").text(), "1", "nothing was written");
    }
    let file = AuditFile::of(&place.folder.path().join("memory"));
    let is_erasure = |action: &str| ["tenant.drop", "collection.erase", "reclaim"].contains(&action);
    let noted = file.newest(10, |entry| is_erasure(&entry.action)).unwrap().entries;
    assert_eq!(noted.len(), 3);
    for entry in noted {
        assert_eq!(serde_json::to_value(&entry).unwrap()["details"]["ended_snapshots"], 2);
    }
    place.stop();
}

#[test]
fn reading_takes_read_and_committing_takes_write() {
    let place = Place::new();
    let (reader, writer) = (place.key("default", &[Scope::Read]), place.key("default", &[Scope::Write]));
    let (reader, writer) = (place.client().with_key(&reader), place.client().with_key(&writer));
    filled(&writer);
    let id = reader.snapshot();
    assert_eq!(reader.at(&id).get("/v1/keyspaces/k/keys/a").text(), "1");
    let commit = format!("/v1/snapshots/{id}/commit");
    reader.post(&commit, json!({"writes": []})).fails(403, "forbidden");
    assert_eq!(reader.delete(&format!("/v1/snapshots/{id}")).status, 204);
    place.client().post("/v1/snapshots", json!(null)).fails(401, "unauthenticated");
    place.stop();
}

#[test]
fn a_commit_writes_everything_if_nothing_that_was_read_has_changed_and_is_done_once() {
    let place = Place::new();
    let client = place.client();
    filled(&client);
    let writes = json!([
        {"keys": {"keyspace": "new", "changes": [{"put": {"key": "x", "value": "1"}}]}},
        {"records": {"collection": "notes", "delete": ["b"], "upsert": [{"id": "n", "text": "new"}]}},
    ]);
    let commit = |id: &str, reads: Value| {
        client.post(&format!("/v1/snapshots/{id}/commit?durability=os"), json!({"reads": reads, "writes": writes}))
    };
    let keys = |rest: Value| json!([{"keys": merged(json!({"keyspace": "k"}), rest)}]);
    let records = |rest: Value| json!([{"records": merged(json!({"collection": "notes"}), rest)}]);
    let put = |key: &str| assert_eq!(client.put_bytes(&format!("/v1/keyspaces/k/keys/{key}"), b"other").status, 204);
    let upsert = |id: &str| {
        client.post("/v1/collections/notes/records", json!({"records": [{"id": id, "text": "other"}]})).is(200);
    };
    let conflicts: [(Value, &dyn Fn()); 8] = [
        (keys(json!({"keys": ["a"]})), &|| put("a")),
        (keys(json!({"keys": ["absent"]})), &|| put("absent")),
        (keys(json!({"scans": [{"prefix": "r"}]})), &|| put("r1")),
        (keys(json!({"scans": [{"from": "m", "reverse": true, "limit": 1}]})), &|| put("z")),
        (records(json!({"ids": ["a"]})), &|| upsert("a")),
        (records(json!({"ids": ["absent"]})), &|| upsert("absent")),
        (records(json!({"all": true})), &|| upsert("z")),
        // A write counts as a read.
        (json!([]), &|| upsert("n")),
    ];
    for (reads, change) in conflicts {
        let id = client.snapshot();
        change();
        assert!(commit(&id, reads.clone()).fails(409, "conflict").contains("has changed"), "{reads}");
        client.get("/v1/keyspaces/new/keys/x").fails(404, "not_found");
        client.get("/v1/collections/notes/records/b").is(200);
        assert!(commit(&id, reads).fails(409, "conflict").contains("take another"), "it has ended");
    }
    let id = client.snapshot();
    put("elsewhere");
    let both = json!([{"keys": {"keyspace": "k", "keys": ["a"], "scans": [{"prefix": "r"}]}}, {"records": {"collection": "notes", "ids": ["a"]}}]);
    assert_eq!(commit(&id, both.clone()).status, 204);
    assert_eq!(client.get("/v1/keyspaces/new/keys/x").text(), "1");
    client.get("/v1/collections/notes/records/b").fails(404, "not_found");
    client.delete("/v1/keyspaces/new/keys/x");
    commit(&id, both).fails(409, "conflict");
    client.get("/v1/keyspaces/new/keys/x").fails(404, "not_found");
    client.at(&id).get("/v1/keyspaces/k/keys/a").fails(409, "conflict");

    let wrong = |body: Value, status: u16, kind: &str| {
        let id = client.snapshot();
        client.post(&format!("/v1/snapshots/{id}/commit"), body).fails(status, kind)
    };
    wrong(json!({"writes": [{"records": {"collection": "ghost", "delete": ["a"]}}]}), 404, "not_found");
    wrong(json!({"writes": [{"keys": {"keyspace": "k", "changes": [{"delete": ""}]}}]}), 400, "invalid");
    wrong(json!({"reads": [{"keys": {"keyspace": "k", "scans": [{"cursor": "?"}]}}], "writes": []}), 400, "invalid");
    assert!(wrong(json!({"reads": [{"kees": {}}], "writes": []}), 400, "invalid").contains("kees"));
    place.stop();
}

fn merged(mut one: Value, other: Value) -> Value {
    one.as_object_mut().unwrap().extend(other.as_object().unwrap().clone());
    one
}

#[test]
fn a_server_that_stops_lets_go_of_snapshots_and_its_successor_knows_none() {
    let place = Place::new();
    let client = place.client();
    filled(&client);
    let id = client.snapshot();
    let place = Place::in_folder(place.stop(), |_| ());
    let client = place.client();
    client.at(&id).get("/v1/keyspaces/k/keys/a").fails(409, "conflict");
    client.post(&format!("/v1/snapshots/{id}/commit"), json!({"writes": []})).fails(409, "conflict");
    place.stop();
}

#[test]
fn a_folder_that_another_process_holds_has_snapshots_and_they_go_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let holder = Database::open(folder.path().join("memory"), Options::default()).unwrap();
    let place = Place::in_folder(folder, |_| ());
    let client = place.client();
    filled(&client);
    let (one, other) = (client.snapshot(), client.snapshot());
    let before = told(&client.at(&one));
    changed(&client);
    assert_eq!(told(&client.at(&one)), before);
    let write = json!({"writes": [{"keys": {"keyspace": "k", "changes": [{"put": {"key": "d", "value": "5"}}]}}]});
    assert_eq!(client.post(&format!("/v1/snapshots/{other}/commit"), write).status, 204);
    holder.close().unwrap();
    client.at(&one).get("/v1/keyspaces/k/keys/a").fails(409, "conflict");
    assert_eq!(client.get("/v1/keyspaces/k/keys/d").text(), "5");
    assert_eq!(client.get("/v1/snapshots").is(200), json!({"snapshots": []}));
    place.stop();
}

#[test]
fn a_graph_is_read_with_what_a_transaction_is_going_to_write() {
    let place = Place::new();
    let client = place.client();
    let edge = |source: &str, target: &str| json!({"source": source, "type": "x", "target": target});
    assert_eq!(client.post("/v1/graphs/g/edges", json!({"edges": [edge("a", "b")]})).status, 204);
    let then = client.at(&client.snapshot());
    let with = json!([
        {"graph": "g", "put_nodes": [{"id": "n", "type": "t"}], "put_edges": [edge("a", "c")]},
        {"graph": "g", "delete_edges": [edge("a", "b")]},
    ]);
    let ids = |found: &Value, list: &str| -> Vec<String> {
        found[list].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap().to_string()).collect()
    };
    for (written, expected) in [(&with, "c"), (&json!([]), "b")] {
        let found = then.post("/v1/graphs/g/neighbors", json!({"id": "a", "with": written})).is(200);
        assert_eq!(ids(&found, "neighbors"), [expected]);
        let found = then.post("/v1/graphs/g/traverse", json!({"start": ["a"], "with": written})).is(200);
        assert_eq!(ids(&found, "nodes"), ["a", expected]);
        let found = then.post("/v1/graphs/g/edges/get", json!({"edges": [edge("a", "b")], "with": written})).is(200);
        assert_eq!(found["edges"][0].is_null(), expected == "c");
        let found = then.post("/v1/graphs/g/nodes/get", json!({"ids": ["n"], "with": written})).is(200);
        assert_eq!(found["nodes"][0].is_null(), expected == "b");
        let found = then.post("/v1/graphs/g/nodes/list", json!({"with": written})).is(200);
        assert_eq!(ids(&found, "nodes").len(), usize::from(expected == "c"));
    }
    let asked = json!({"id": "a", "with": with});
    client.post("/v1/graphs/g/neighbors", asked.clone()).fails(400, "invalid");
    then.post("/v1/graphs/other/neighbors", asked.clone()).fails(400, "invalid");
    let found = client.post("/v1/graphs/g/neighbors", json!({"id": "a"})).is(200);
    assert_eq!(ids(&found, "neighbors"), ["b"], "nothing of it was written");
    // The snapshot still works, and a caller that may only read cannot pass writes.
    then.post("/v1/graphs/g/neighbors", json!({"id": "a"})).is(200);
    let reader = Client::with_key(&client, &place.key("default", &[Scope::Read]));
    let then = reader.at(&reader.snapshot());
    then.post("/v1/graphs/g/neighbors", json!({"id": "a"})).is(200);
    then.post("/v1/graphs/g/neighbors", asked).fails(403, "forbidden");
}

#[test]
fn the_snapshots_of_all_faces_are_one_count_with_one_limit_for_each_tenant() {
    let place = Place::with(|config| config.snapshots_max = 3);
    let admin_key = place.key("default", &[Scope::Admin]);
    let admin = place.client().with_key(&admin_key);
    admin.put("/v1/tenants/amber", json!({})).is(201);
    let [own, other] = [(); 2].map(|()| place.key("amber", &[Scope::Read]));
    let (client, mut flight) = (place.client().with_key(&own), Flight::new(place.address).with_key(&own));
    let mut stranger = Flight::new(place.address).with_key(&other);
    let named = json!({"name": "nightly"});
    let id = client.snapshot();
    assert_eq!(flight.act("snapshot", &named).unwrap()["ends_after_s"], 600);
    stranger.act("snapshot", &named).unwrap(); // a name of its own
    client.post("/v1/snapshots", json!(null)).fails(429, "exhausted");
    assert_eq!(flight.act("snapshot", &json!({"name": "b"})).unwrap_err().code(), tonic::Code::ResourceExhausted);
    assert_eq!(admin.get("/v1/stats").is(200)["snapshots"], 3);
    Flight::new(place.address).with_key(&admin_key).act("snapshot", &named).unwrap(); // of another tenant
    // One face lists and ends a snapshot that another took; other keys do not see it.
    let listed = client.get("/v1/snapshots").is(200)["snapshots"].clone();
    let ids: Vec<&str> = listed.as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap()).collect();
    assert_eq!(ids, [id.as_str(), "nightly"]);
    assert_eq!(stranger.act("release", &json!({"name": id})).unwrap(), json!({"released": false}));
    assert_eq!(flight.act("release", &json!({"name": id})).unwrap(), json!({"released": true}));
    client.at(&id).get("/v1/keyspaces/k/keys/a").fails(409, "conflict");
    assert_eq!(client.delete("/v1/snapshots/nightly").status, 204);
    assert_eq!(admin.get("/v1/stats").is(200)["snapshots"], 2);
    place.stop();
}
