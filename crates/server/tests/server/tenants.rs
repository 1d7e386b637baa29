//! Tenants: what their keys open, what they may have, what they cannot see.

use std::sync::atomic::{AtomicUsize, Ordering};

use nuthatch_link::{Database, Options};
use nuthatch_server::{AuditFile, Scope};
use serde_json::{Value, json};

use crate::client::Client;
use crate::place::Place;
use crate::redis::Redis;

const NAMES: [&str; 4] = ["amber", "birch", "cedar", "dune"];

/// A server with an administrator and a client of each tenant.
fn with_tenants(place: &Place) -> (Client, Vec<Client>) {
    let admin = place.client().with_key(&place.key("default", &[Scope::Admin]));
    let one = |name: &&str| {
        admin.put(&format!("/v1/tenants/{name}"), json!({})).is(201);
        place.client().with_key(&place.key(name, &[Scope::Admin]))
    };
    let clients = NAMES.iter().map(one).collect();
    (admin, clients)
}

#[test]
fn a_tenant_sees_its_own_data_whatever_it_asks() {
    let place = Place::new();
    let (admin, clients) = with_tenants(&place);
    let crossed = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for (name, client) in NAMES.iter().zip(&clients) {
            let crossed = &crossed;
            scope.spawn(move || {
                // The same names everywhere, and contents that say whose they are.
                client.put("/v1/collections/notes", json!({"embedder": "none", "dim": 2})).is(201);
                for round in 0..20 {
                    let records: Vec<Value> = (0..5)
                        .map(|at| json!({"id": format!("r{at}"), "text": format!("{name} bird {round}"), "vector": [at, 1]}))
                        .collect();
                    client.post("/v1/collections/notes/records?durability=os", json!({"records": records})).is(200);
                    client.put_bytes("/v1/keyspaces/k/keys/a?durability=os", name.as_bytes());
                    let found = [
                        client.post("/v1/collections/notes/search", json!({"text": "bird"})),
                        client.post("/v1/collections/notes/search", json!({"vector": [0, 1], "limit": 100})),
                        client.get("/v1/collections/notes/records"),
                        client.get("/v1/collections/notes/records/r0"),
                        client.get("/v1/keyspaces/k/keys/a"),
                        client.post("/v1/keyspaces/k/scan", json!({})),
                    ];
                    let others = NAMES.iter().filter(|other| *other != name);
                    let is_seen = |other: &&str| found.iter().any(|answer| answer.text().contains(other));
                    crossed.fetch_add(others.filter(|other| is_seen(other)).count(), Ordering::SeqCst);
                    assert!(found.iter().all(|answer| answer.status == 200));
                    assert_eq!(client.post("/v1/collections/notes/delete", json!({"ids": ["r4"]})).is(200)["deleted"], 1);
                }
            });
        }
    });
    assert_eq!(crossed.load(Ordering::SeqCst), 0);
    assert_eq!(admin.get("/v1/collections").is(200), json!({"collections": []}));
    place.stop();
}

#[test]
fn what_is_about_everybody_is_not_for_a_tenant() {
    let place = Place::new();
    let (_, clients) = with_tenants(&place);
    for path in
        ["/v1/stats", "/metrics", "/v1/backups", "/v1/receipts", "/v1/tenants", "/v1/tenants/birch", "/v1/tenants/none"]
    {
        let detail = clients[0].get(path).fails(403, "forbidden");
        assert!(NAMES.iter().all(|name| !detail.contains(name)), "{detail}");
    }
    for path in ["/v1/reclaim", "/v1/doctor", "/v1/backups"] {
        clients[0].post(path, json!({})).fails(403, "forbidden");
    }
    clients[0].delete("/v1/tenants/birch").fails(403, "forbidden");
    // A key of a tenant that there is not learns nothing of those that there are.
    let nobody = place.client().with_key(&place.key("nobody", &[Scope::Admin]));
    let detail = nobody.get("/v1/collections").fails(404, "not_found");
    assert!(NAMES.iter().all(|name| !detail.contains(name)), "{detail}");
    place.stop();
}

#[test]
fn a_tenant_has_what_its_limits_say_and_is_gone_when_it_is_dropped() {
    let place = Place::new();
    let (admin, clients) = with_tenants(&place);
    let limits = json!({"vectors": 2, "requests_per_second": null});
    let set = admin.put("/v1/tenants/amber/limits", limits).is(200);
    assert_eq!((&set["limits"]["vectors"], &set["limits"]["bytes"]), (&json!(2), &json!(null)));
    clients[0].put("/v1/collections/notes", json!({"embedder": "none"})).is(201);
    let three: Vec<Value> = (0..3).map(|at| json!({"id": format!("r{at}"), "vector": [at, 1]})).collect();
    clients[0].post("/v1/collections/notes/records", json!({"records": three})).fails(507, "exhausted");
    clients[0].post("/v1/collections/notes/records", json!({"records": three[..2]})).is(200);
    assert_eq!(admin.get("/v1/tenants/amber").is(200)["vectors"], 2);
    admin.put("/v1/tenants/amber/limits", json!({"requests_per_second": 1})).is(200);
    let answers: Vec<u16> = (0..50).map(|_| clients[0].get("/v1/collections").status).collect();
    assert!(answers.contains(&429) && answers.iter().all(|status| [200, 429].contains(status)), "{answers:?}");
    assert_eq!(clients[1].get("/v1/collections").status, 200, "another's limit is another's");
    admin.put("/v1/tenants/amber", json!({})).fails(400, "invalid");
    assert!(admin.delete("/v1/tenants/amber").is(200)["id"].is_string());
    clients[0].get("/v1/collections").fails(401, "unauthenticated");
    assert_eq!(admin.get("/v1/tenants").is(200)["tenants"].as_array().unwrap().len(), 3);
    place.stop();
}

#[test]
fn a_key_of_a_dropped_tenant_opens_nothing_of_the_next_one_of_its_name() {
    let place = crate::redis::place();
    let admin = place.client().with_key(&place.key("default", &[Scope::Admin]));
    let make = || admin.put("/v1/tenants/amber", json!({})).is(201);
    let number = |place: &Place| {
        let database = Database::open(place.folder.path().join("memory"), Options::default()).unwrap();
        database.tenant("amber").unwrap().tenant_number()
    };
    make();
    let first = place.key("amber", &[Scope::Admin]);
    let client = place.client().with_key(&first);
    client.put("/v1/keyspaces/k/keys/a", json!("mine")).is(204);
    assert_eq!(client.get("/v1/keyspaces/k/keys/a").status, 200);
    // Dropped where nobody knows of keys.
    let database = Database::open(place.folder.path().join("memory"), Options::default()).unwrap();
    database.drop_tenant("amber").unwrap();
    drop(database);
    make();
    admin.put("/v1/tenants/amber/limits", json!({"vectors": 5})).is(200);
    client.get("/v1/keyspaces").fails(404, "not_found");
    client.get("/v1/keyspaces/k/keys/a").fails(404, "not_found");
    let mut redis = Redis::new(&place);
    assert!(redis.ask(&format!("AUTH {first}")).starts_with("-WRONGPASS"));
    // Dropped by the server, which ends the keys, and those alone.
    let second = place.key("amber", &[Scope::Read]);
    assert_eq!(place.client().with_key(&second).get("/v1/keyspaces").status, 200);
    let before = number(&place);
    admin.delete("/v1/tenants/amber").is(200);
    make();
    assert!(before < number(&place));
    place.client().with_key(&second).get("/v1/keyspaces").fails(401, "unauthenticated");
    let held: Vec<bool> = place.keys().read().unwrap().unwrap().iter().map(|key| key.revoked.is_none()).collect();
    assert_eq!(held, [true, true, false], "the administrator's, and the one that opens nothing");
    place.stop();
}

#[test]
fn an_administrator_names_the_tenant_that_is_asked_about_and_nobody_else_does() {
    let place = Place::new();
    let (admin, clients) = with_tenants(&place);
    clients[0].put_bytes("/v1/keyspaces/k/keys/a", b"amber's").is(204);
    let of = |client: &Client, tenant: &str, path: &str| {
        client.send("GET", path, &[("x-nuthatch-tenant", tenant)], Vec::new())
    };
    assert_eq!(of(&admin, "amber", "/v1/keyspaces/k/keys/a").text(), "amber's");
    of(&admin, "birch", "/v1/keyspaces/k/keys/a").fails(404, "not_found");
    of(&admin, "%61mber", "/v1/caller").is(200);
    of(&admin, "nobody", "/v1/keyspaces").fails(404, "not_found");
    of(&clients[1], "amber", "/v1/keyspaces/k/keys/a").fails(403, "forbidden");
    of(&clients[1], "default", "/v1/keyspaces").fails(403, "forbidden");
    let reader = place.client().with_key(&place.key("default", &[Scope::Read, Scope::Write]));
    of(&reader, "amber", "/v1/keyspaces/k/keys/a").fails(403, "forbidden");
    let caller = |client: &Client, tenant| of(client, tenant, "/v1/caller").is(200);
    let me = caller(&clients[0], "amber");
    assert_eq!((&me["tenant"], &me["scopes"]), (&json!("amber"), &json!(["admin"])));
    assert!(me["bytes"].as_u64().unwrap() > 0 && me["body_bytes_max"].as_u64().unwrap() > 0);
    assert_eq!(admin.get("/v1/caller").is(200)["tenant"], Value::Null);
    // Calls about the whole folder report that they are not for one tenant.
    assert!(of(&admin, "amber", "/v1/tenants").fails(400, "invalid").contains("amber"));
    assert_eq!(of(&admin, "amber", "/v1/stats").is(200)["collections"], json!([]));
    of(&clients[0], "amber", "/v1/stats").fails(403, "forbidden");
    // The audit log says whose data it was.
    admin.send("DELETE", "/v1/keyspaces/k", &[("x-nuthatch-tenant", "amber")], Vec::new()).is(204);
    let noted =
        AuditFile::of(&place.folder.path().join("memory")).newest(1, |entry| entry.action == "keyspace.drop").unwrap();
    assert_eq!(
        (noted.entries[0].who.tenant.as_deref(), &noted.entries[0].details["for"]),
        (Some("default"), &json!("amber"))
    );
    place.stop();
}
