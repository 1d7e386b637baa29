//! Each route and action takes the scope of the operation that it asks.

use std::collections::BTreeSet;

use nuthatch_link::ops;
use nuthatch_server::Scope;
use serde_json::{Value, json};
use tonic::Code;

use crate::flight::Flight;
use crate::place::Place;

/// Method, path, and the operation that it asks.
const ROUTES: &[(&str, &str, &str)] = &[
    ("GET", "/metrics", "folder.stats"),
    ("GET", "/v1/stats", "folder.stats"),
    ("POST", "/v1/doctor", "folder.doctor"),
    ("GET", "/v1/receipts", "folder.receipts"),
    ("POST", "/v1/reclaim", "folder.reclaim"),
    ("POST", "/v1/collections/{collection}/erase", "folder.erase"),
    ("POST", "/v1/batches", "batch.write"),
    ("POST", "/v1/snapshots/{snapshot}/commit", "snapshot.commit"),
    ("GET", "/v1/collections", "collections.infos"),
    ("GET", "/v1/collections/{collection}", "records.info"),
    ("PUT", "/v1/collections/{collection}", "collections.open"),
    ("DELETE", "/v1/collections/{collection}", "collections.drop"),
    ("GET", "/v1/collections/{collection}/count", "records.count"),
    ("POST", "/v1/collections/{collection}/count", "records.count"),
    ("POST", "/v1/collections/{collection}/duplicates", "records.duplicates"),
    ("POST", "/v1/collections/{collection}/facets", "records.facets"),
    ("POST", "/v1/collections/{collection}/delete", "records.delete_where"),
    ("GET", "/v1/collections/{collection}/files", "files.list"),
    ("PUT", "/v1/collections/{collection}/files", "files.apply"),
    ("DELETE", "/v1/collections/{collection}/files", "files.remove"),
    ("PATCH", "/v1/collections/{collection}/files", "files.update"),
    ("POST", "/v1/collections/{collection}/files/preview", "files.passage_embedder"),
    ("POST", "/v1/collections/{collection}/get", "records.get"),
    ("POST", "/v1/collections/{collection}/ingest", "records.upsert"),
    ("POST", "/v1/collections/{collection}/optimize", "records.optimize"),
    ("GET", "/v1/collections/{collection}/records", "records.scan"),
    ("POST", "/v1/collections/{collection}/records", "records.upsert"),
    ("PATCH", "/v1/collections/{collection}/records", "records.update"),
    ("GET", "/v1/collections/{collection}/records/{id}", "records.get"),
    ("DELETE", "/v1/collections/{collection}/records/{id}", "records.delete"),
    ("POST", "/v1/collections/{collection}/search", "records.search"),
    ("POST", "/v1/collections/{collection}/search-many", "records.search_many"),
    ("POST", "/v1/collections/{collection}/wait-until-indexed", "records.wait_until_indexed"),
    ("GET", "/v1/caches", "keyspaces.names"),
    ("PUT", "/v1/caches/{cache}", "keyspaces.open"),
    ("DELETE", "/v1/caches/{cache}", "keyspaces.drop"),
    ("GET", "/v1/caches/{cache}/stats", "caches.stats"),
    ("POST", "/v1/caches/{cache}/answers", "caches.answers"),
    ("POST", "/v1/caches/{cache}/audits", "caches.audits"),
    ("POST", "/v1/caches/{cache}/configure", "caches.configure"),
    ("POST", "/v1/caches/{cache}/explain", "caches.explain"),
    ("POST", "/v1/caches/{cache}/import", "caches.import"),
    ("POST", "/v1/caches/{cache}/invalidate", "caches.invalidate"),
    ("POST", "/v1/caches/{cache}/reembed", "caches.reembed"),
    ("POST", "/v1/caches/{cache}/report", "caches.report"),
    ("POST", "/v1/caches/{cache}/store", "caches.store"),
    ("GET", "/v1/facts", "keyspaces.names"),
    ("PUT", "/v1/facts/{facts}", "keyspaces.open"),
    ("DELETE", "/v1/facts/{facts}", "keyspaces.drop"),
    ("POST", "/v1/facts/{facts}/list", "facts.list"),
    ("POST", "/v1/facts/{facts}/why", "facts.why"),
    ("POST", "/v1/facts/{facts}/entities", "facts.entities"),
    ("POST", "/v1/facts/{facts}/predicates", "facts.predicates"),
    ("POST", "/v1/facts/{facts}/stats", "facts.stats"),
    ("POST", "/v1/facts/{facts}/trace", "facts.trace"),
    ("POST", "/v1/facts/{facts}/failures", "facts.failures"),
    ("POST", "/v1/facts/{facts}/paths", "facts.paths"),
    ("POST", "/v1/facts/{facts}/rank", "facts.rank"),
    ("POST", "/v1/facts/{facts}/groups", "facts.groups"),
    ("POST", "/v1/facts/{facts}/record", "facts.record"),
    ("POST", "/v1/facts/{facts}/retract", "facts.retract"),
    ("POST", "/v1/facts/{facts}/end", "facts.end"),
    ("POST", "/v1/facts/{facts}/declare", "facts.declare"),
    ("POST", "/v1/facts/{facts}/alias", "facts.alias"),
    ("POST", "/v1/facts/{facts}/remove_alias", "facts.remove_alias"),
    ("POST", "/v1/facts/{facts}/work", "facts.work"),
    ("POST", "/v1/facts/{facts}/learn", "facts.learn"),
    ("POST", "/v1/facts/{facts}/extract", "facts.extract"),
    ("POST", "/v1/facts/{facts}/settle", "facts.settle"),
    ("POST", "/v1/facts/{facts}/erase", "facts.erase"),
    ("GET", "/v1/graphs", "keyspaces.names"),
    ("PUT", "/v1/graphs/{graph}", "keyspaces.open"),
    ("DELETE", "/v1/graphs/{graph}", "keyspaces.drop"),
    ("GET", "/v1/graphs/{graph}/counts", "nodes.counts"),
    ("POST", "/v1/graphs/{graph}/edges", "nodes.put_edges"),
    ("POST", "/v1/graphs/{graph}/edges/delete", "nodes.delete_edges"),
    ("POST", "/v1/graphs/{graph}/edges/get", "nodes.edge"),
    ("POST", "/v1/graphs/{graph}/neighbors", "nodes.neighbors"),
    ("POST", "/v1/graphs/{graph}/nodes", "nodes.put"),
    ("POST", "/v1/graphs/{graph}/nodes/delete", "nodes.delete"),
    ("POST", "/v1/graphs/{graph}/nodes/get", "nodes.get"),
    ("POST", "/v1/graphs/{graph}/nodes/list", "nodes.list"),
    ("POST", "/v1/graphs/{graph}/groups", "nodes.groups"),
    ("POST", "/v1/graphs/{graph}/paths", "nodes.paths"),
    ("POST", "/v1/graphs/{graph}/rank", "nodes.rank"),
    ("POST", "/v1/graphs/{graph}/traverse", "nodes.traverse"),
    ("GET", "/v1/keyspaces", "keyspaces.names"),
    ("PUT", "/v1/keyspaces/{keyspace}", "keyspaces.open"),
    ("DELETE", "/v1/keyspaces/{keyspace}", "keyspaces.drop"),
    ("POST", "/v1/keyspaces/{keyspace}/append", "keys.append"),
    ("POST", "/v1/keyspaces/{keyspace}/cas", "keys.compare_and_set"),
    ("GET", "/v1/keyspaces/{keyspace}/count", "keys.count_estimate"),
    ("POST", "/v1/keyspaces/{keyspace}/delete", "keys.delete_prefix"),
    ("POST", "/v1/keyspaces/{keyspace}/expire", "keys.expire"),
    ("POST", "/v1/keyspaces/{keyspace}/get", "keys.multi_get"),
    ("POST", "/v1/keyspaces/{keyspace}/increment", "keys.increment"),
    ("GET", "/v1/keyspaces/{keyspace}/keys/{key}", "keys.get"),
    ("PUT", "/v1/keyspaces/{keyspace}/keys/{key}", "keys.multi_put"),
    ("DELETE", "/v1/keyspaces/{keyspace}/keys/{key}", "keys.delete"),
    ("POST", "/v1/keyspaces/{keyspace}/scan", "keys.scan"),
    ("POST", "/v1/keyspaces/{keyspace}/ttl", "keys.expires_in"),
    ("POST", "/v1/keyspaces/{keyspace}/write", "keys.multi_put"),
    ("GET", "/v1/trees", "trees.names"),
    ("GET", "/v1/trees/{tree}", "trees.info"),
    ("DELETE", "/v1/trees/{tree}", "trees.drop"),
    ("GET", "/v1/trees/{tree}/code/{question}", "trees.code"),
    ("POST", "/v1/trees/{tree}/diff", "trees.diff"),
    ("GET", "/v1/trees/{tree}/entries", "trees.list"),
    ("POST", "/v1/trees/{tree}/facets", "trees.facets"),
    ("PATCH", "/v1/trees/{tree}/fields", "trees.update"),
    ("GET", "/v1/trees/{tree}/files/{path}", "trees.read"),
    ("PUT", "/v1/trees/{tree}/files/{path}", "trees.put"),
    ("DELETE", "/v1/trees/{tree}/files/{path}", "trees.remove"),
    ("POST", "/v1/trees/{tree}/grep", "trees.grep"),
    ("GET", "/v1/trees/{tree}/index", "trees.index"),
    ("POST", "/v1/trees/{tree}/passages", "passages.make"),
    ("PUT", "/v1/trees/{tree}/retention", "trees.set_retention"),
    ("GET", "/v1/trees/{tree}/root", "trees.roots"),
    ("POST", "/v1/trees/{tree}/search", "passages.search"),
    ("GET", "/v1/trees/{tree}/snapshots", "trees.snapshots"),
    ("POST", "/v1/trees/{tree}/snapshots", "trees.name_snapshot"),
    ("POST", "/v1/trees/{tree}/symbols", "trees.import_symbols"),
    ("DELETE", "/v1/trees/{tree}/snapshots/{name}", "trees.drop_snapshot"),
    ("GET", "/v1/trees/{tree}/verify", "trees.verify"),
    ("GET", "/v1/trees/{tree}/versions", "trees.versions"),
    ("POST", "/v1/trees/{tree}/write", "trees.put"),
    ("GET", "/v1/tenants", "tenants.infos"),
    ("GET", "/v1/tenants/{tenant}", "tenants.info"),
    ("PUT", "/v1/tenants/{tenant}", "tenants.create"),
    ("DELETE", "/v1/tenants/{tenant}", "tenants.drop"),
    ("PUT", "/v1/tenants/{tenant}/limits", "tenants.set_limits"),
];

/// Routes that both read and write, and so require both scopes.
const BOTH: &[(&str, &str)] = &[
    ("POST", "/v1/caches/{cache}/lookup"),
    ("POST", "/v1/caches/{cache}/lease"),
    ("POST", "/v1/caches/{cache}/release"),
];

/// Routes that are not operations: those of the server itself, of backups, of the ids of snapshots, and of nodes of a cluster.
const NO_OPERATION: &[(&str, &str)] = &[
    ("GET", "/healthz"),
    ("GET", "/readyz"),
    ("GET", "/openapi.json"),
    ("GET", "/v1/audit"),
    ("GET", "/v1/caller"),
    ("GET", "/v1/backups"),
    ("POST", "/v1/backups"),
    ("POST", "/v1/backups/verify"),
    ("GET", "/v1/snapshots"),
    ("POST", "/v1/snapshots"),
    ("DELETE", "/v1/snapshots/{snapshot}"),
    ("GET", "/v1/cluster"),
    ("POST", "/v1/cluster/hand-over"),
];

fn scope(operation: &str) -> Scope {
    match ops::find(operation).unwrap().scope {
        ops::Scope::Read => Scope::Read,
        ops::Scope::Write => Scope::Write,
        ops::Scope::Admin => Scope::Admin,
    }
}

/// As a key of exactly one scope is let in: an administrator everywhere, another where that scope is what it takes.
fn lets_in(needed: Scope, key: Scope) -> bool {
    key == needed || key == Scope::Admin
}

#[test]
fn every_route_takes_the_scope_of_the_operation_that_it_asks() {
    let place = Place::new();
    let document: Value = place.client().get("/openapi.json").is(200);
    let paths = document["paths"].as_object().unwrap();
    let served: BTreeSet<(String, String)> = paths
        .iter()
        .flat_map(|(path, methods)| methods.as_object().unwrap().keys().map(move |method| (method, path)))
        .map(|(method, path)| (method.to_uppercase(), path.clone()))
        .collect();
    let listed = ROUTES.iter().map(|(method, path, _)| (method, path));
    let listed = listed.chain(NO_OPERATION.iter().chain(BOTH).map(|(method, path)| (method, path)));
    assert_eq!(served, listed.map(|(method, path)| (method.to_string(), path.to_string())).collect());
    for (method, path) in BOTH {
        let written = &paths[*path][method.to_lowercase()]["security"][0]["key"];
        assert_eq!(written, &json!(["read", "write"]), "{method} {path}");
        let named = path.replace(['{', '}'], "");
        for scopes in [&[Scope::Read][..], &[Scope::Write], &[Scope::Read, Scope::Write]] {
            let client = place.client().with_key(&place.key("default", scopes));
            let answer = client.send(method, &named, &[("content-type", "application/json")], b"{}".to_vec());
            assert_eq!(answer.status != 403, scopes.len() == 2, "{method} {path} with {scopes:?}: {answer:?}");
        }
    }
    let keys = [Scope::Read, Scope::Write, Scope::Admin];
    let clients = keys.map(|key| (key, place.client().with_key(&place.key("default", &[key]))));
    for (method, path, operation) in ROUTES {
        let needed = scope(operation);
        let written = &paths[*path][method.to_lowercase()]["security"][0]["key"];
        assert_eq!(written, &json!([needed.to_string()]), "{method} {path} asks {operation}");
        let named = path.replace(['{', '}'], "");
        for (key, client) in &clients {
            let answer = client.send(method, &named, &[("content-type", "application/json")], b"{}".to_vec());
            let is_let_in = answer.status != 403;
            assert_eq!(
                is_let_in,
                lets_in(needed, *key),
                "{method} {path} asks {operation}; a key with `{key}`: {answer:?}"
            );
        }
    }
    place.stop();
}

#[test]
fn only_administrators_of_all_data_ask_of_a_cluster() {
    let place = Place::new();
    for (method, path) in [("GET", "/v1/cluster"), ("POST", "/v1/cluster/hand-over")] {
        for scope in [Scope::Read, Scope::Write, Scope::Admin] {
            let client = place.client().with_key(&place.key("default", &[scope]));
            let answer = client.send(method, path, &[("content-type", "application/json")], b"{}".to_vec());
            // This server is no node of any cluster.
            assert_eq!(answer.status, if scope == Scope::Admin { 404 } else { 403 }, "{method} {path} with {scope}");
        }
    }
    place.stop();
}

#[test]
fn every_action_of_flight_takes_the_scope_of_the_operation_that_it_asks() {
    let notes = json!({"collection": "notes"});
    let actions = [
        ("create", json!({"collection": "notes", "embedder": "none"}), "collections.open"),
        ("delete", json!({"collection": "notes", "ids": ["a"]}), "records.delete"),
        ("delete", json!({"collection": "notes", "prefix": "a"}), "records.delete_prefix"),
        ("delete", json!({"collection": "notes", "where": "n = 1"}), "records.delete_where"),
        ("add_edges", json!({"graph": "g", "edges": []}), "nodes.put_edges"),
        ("traverse", json!({"graph": "g", "start": ["a"]}), "nodes.traverse"),
        ("stats", notes.clone(), "records.info"),
        ("stats", json!({}), "folder.stats"),
        ("readiness", notes.clone(), "records.info"),
        ("drop", notes, "collections.drop"),
    ];
    let place = Place::new();
    for key in [Scope::Read, Scope::Write, Scope::Admin] {
        let mut client = Flight::new(place.address).with_key(&place.key("default", &[key]));
        for (action, body, operation) in &actions {
            let refused = client.act(action, body).err().is_some_and(|status| status.code() == Code::PermissionDenied);
            assert_eq!(!refused, lets_in(scope(operation), key), "{action} asks {operation}; a key with `{key}`");
        }
    }
    place.stop();
}
