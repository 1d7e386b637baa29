//! Statistics, checks, reclaiming, backups, figures.

use nuthatch_server::Scope;
use serde_json::{Value, json};

use crate::place::Place;

#[test]
fn statistics_and_figures_tell_of_rows_and_requests() {
    let place = Place::new();
    let client = place.client();
    client.put("/v1/collections/notes", json!({"embedder": "none"})).is(201);
    client.post("/v1/collections/notes/records", json!({"records": [{"id": "a", "text": "t"}]})).is(200);
    let stats = client.get("/v1/stats").is(200);
    assert_eq!(stats["collections"][0]["rows"], 1);
    assert!(stats["disk"]["total_bytes"].as_u64() > Some(0) && stats["memory"]["budget_bytes"].as_u64() > Some(0));
    assert_eq!(stats["disk"]["truth_bytes"], stats["disk"]["store_bytes"], "the deprecated name");
    assert!(stats["disk"]["store_bytes"].is_u64() && stats["memory"]["store_cache_bytes"].is_u64());
    let figures = client.get("/metrics");
    assert!(figures.header("content-type").unwrap().starts_with("application/openmetrics-text"));
    for series in [
        "nuthatch_collection_rows{collection=\"notes\"} 1",
        "nuthatch_http_requests_total{method=\"PUT\",route=\"/v1/collections/{collection}\",status=\"201\"} 1",
        "nuthatch_http_request_seconds_count{method=\"GET\",route=\"/v1/stats\"} 1",
        "nuthatch_disk_bytes{part=\"store\"}",
        "nuthatch_disk_bytes{part=\"truth\"}",
        "nuthatch_memory_bytes{part=\"store_cache\"}",
        "nuthatch_memory_bytes{part=\"block_cache\"}",
        "nuthatch_http_connections ",
    ] {
        assert!(figures.text().contains(series), "{series}: {}", figures.text());
    }
    assert!(figures.text().ends_with("# EOF\n"));
    place.stop();
}

#[test]
fn what_was_erased_has_a_receipt() {
    let place = Place::new();
    let client = place.client();
    client.put("/v1/collections/notes", json!({"embedder": "none"})).is(201);
    let records = json!({"records": [{"id": "a", "text": "t"}, {"id": "b", "text": "u"}]});
    client.post("/v1/collections/notes/records", records).is(200);
    let receipt = client.post("/v1/collections/notes/erase", json!({"ids": ["a"]})).is(200);
    assert_eq!((&receipt["deleted_records"], &receipt["collection"]), (&json!(1), &json!("notes")));
    let second = client.post("/v1/reclaim", json!({})).is(200);
    let receipts = client.get("/v1/receipts").is(200);
    assert_eq!(receipts["receipts"], json!([receipt, second]));
    client.post("/v1/reclaim", json!({"collection": "nobody"})).fails(404, "not_found");
    assert_eq!(client.post("/v1/collections/notes/optimize", json!({})).is(200)["done"], true);
    // A tenant's has nothing in it of the folder, which others fill.
    client.put("/v1/tenants/amber", json!({})).is(201);
    let amber = [("x-nuthatch-tenant", "amber"), ("content-type", "application/json")];
    client.send("PUT", "/v1/collections/notes", &amber, b"{\"embedder\": \"none\"}".to_vec()).is(201);
    let theirs = place.key("amber", &[Scope::Admin]);
    let owner = place.client().with_key(&place.key("default", &[Scope::Admin]));
    let told = place.client().with_key(&theirs).post("/v1/collections/notes/erase", json!({"ids": ["a"]})).is(200);
    for folder_wide in ["bytes_before", "bytes_after", "ended_snapshots"] {
        assert!(told.get(folder_wide).is_none(), "{told}");
    }
    let files = |list: &str| told[list].as_array().unwrap().clone();
    let is_own = |file: &Value| file["path"].as_str().unwrap().starts_with("indexes/");
    assert!([files("removed"), files("written")].iter().flatten().all(is_own), "{told}");
    let whole = owner.get("/v1/receipts").is(200)["receipts"].as_array().unwrap().last().unwrap().clone();
    assert_eq!((&whole["checksum"], whole["bytes_before"].is_u64()), (&told["checksum"], true));
    assert!(whole["removed"].as_array().unwrap().iter().any(|file| !is_own(file)), "{whole}");
    let client = owner;
    let found = client.post("/v1/doctor", json!({})).is(200);
    assert_eq!((&found["well"], &found["records"]), (&json!(true), &json!(1)));
    place.stop();
}

#[test]
fn backups_go_where_the_configuration_says_and_nowhere_else() {
    let place = Place::new();
    place.client().post("/v1/backups", json!({})).fails(503, "unavailable");
    place.stop();
    let backups = tempfile::tempdir().unwrap();
    let place = Place::with(|config| config.backup_dir = Some(backups.path().join("here")));
    let client = place.client();
    assert_eq!(client.get("/v1/backups").is(200), json!({"backups": []}));
    client.put("/v1/collections/notes", json!({"embedder": "none"})).is(201);
    client.post("/v1/collections/notes/records", json!({"records": [{"id": "a", "text": "t"}]})).is(200);
    let made = client.post("/v1/backups", json!({})).is(201);
    assert_eq!(made["backup"]["collections"][0], json!({"name": "notes", "tenant": null, "rows": 1, "vectors": 0}));
    assert_eq!(client.get("/v1/backups").is(200)["backups"][0]["id"], made["backup"]["id"]);
    let checked = client.post("/v1/backups/verify", json!({})).is(200);
    assert_eq!((&checked["well"], &checked["backups"]), (&json!(true), &json!(1)));
    client.post("/v1/backups", json!({"place": "/tmp"})).fails(400, "invalid");
    place.stop();
}

#[test]
fn where_no_backup_was_made_there_are_none_and_all_of_them_are_well() {
    let backups = tempfile::tempdir().unwrap();
    let place = Place::with(|config| config.backup_dir = Some(backups.path().into()));
    let client = place.client();
    assert_eq!(client.get("/v1/backups").is(200), json!({"backups": []}));
    let verified = client.post("/v1/backups/verify", json!({})).is(200);
    assert_eq!((&verified["well"], &verified["backups"]), (&json!(true), &json!(0)));
    client.post("/v1/backups/verify", json!({"ids": ["nobody"]})).fails(404, "not_found");
    place.stop();
}
