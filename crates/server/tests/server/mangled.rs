//! Bodies, parameters, cursors and lines with bytes changed, cut, doubled and swapped: an answer that says what is wrong, never a failure of the server.

use serde_json::json;

use crate::place::Place;

/// A well-formed request for each route.
const SEEDS: &[(&str, &str, &str)] = &[
    (
        "PUT",
        "/v1/collections/other",
        r#"{"embedder": "none", "dim": 2, "metric": "cosine", "vectors": {"side": {"dim": 3, "elements": "int8"}}}"#,
    ),
    (
        "POST",
        "/v1/collections/notes/records",
        r#"{"records": [{"id": "a", "text": "bird", "vector": [0.5, 1e3], "payload": {"n": [1, {"x": null}]}}]}"#,
    ),
    (
        "POST",
        "/v1/collections/notes/search",
        r#"{"text": "bird", "vector": [1, 2], "where": "n >= 1 and k in ('a')", "limit": 3, "offset": 1, "mode": "hybrid"}"#,
    ),
    ("POST", "/v1/collections/notes/search-many", r#"{"searches": [{"text": "bird"}, {"vector": [1, 2]}]}"#),
    ("POST", "/v1/collections/notes/get", r#"{"ids": ["a", "b"]}"#),
    ("POST", "/v1/collections/notes/delete", r#"{"where": "n = 99"}"#),
    (
        "POST",
        "/v1/collections/notes/ingest",
        "{\"id\": \"l1\", \"text\": \"line\"}\n{\"id\": \"l2\", \"vector\": [1, 2]}\n",
    ),
    (
        "POST",
        "/v1/keyspaces/k/write",
        r#"{"changes": [{"put": {"key": "a", "value": {"base64": "AAEC"}, "expires_in_ms": 1000}}, {"delete": "b"}]}"#,
    ),
    ("POST", "/v1/keyspaces/k/scan", r#"{"prefix": "a", "from": "a", "limit": 2, "reverse": true}"#),
    ("POST", "/v1/keyspaces/k/cas", r#"{"key": "a", "expected": "1", "new": "2", "expires_in_ms": 50}"#),
    ("POST", "/v1/keyspaces/k/increment", r#"{"key": "n", "by": 9223372036854775807}"#),
    (
        "POST",
        "/v1/batches",
        r#"{"writes": [{"keys": {"keyspace": "k", "changes": [{"put": {"key": "z", "value": "1"}}]}}, {"records": {"collection": "notes", "upsert": [{"id": "z"}]}}]}"#,
    ),
    (
        "POST",
        "/v1/snapshots/{snapshot}/commit",
        r#"{"reads": [{"keys": {"keyspace": "k", "keys": ["a"], "scans": [{"prefix": "b"}]}}, {"records": {"collection": "notes", "ids": ["a"], "all": true}}], "writes": [{"keys": {"keyspace": "k", "changes": [{"delete": "z"}]}}]}"#,
    ),
    (
        "PUT",
        "/v1/tenants/amber/limits",
        r#"{"vectors": 1, "bytes": 2, "requests_per_second": 3, "concurrent_requests": 4}"#,
    ),
    ("GET", "/v1/collections/notes/records?limit=2&cursor=AAAA&where=n%20%3D%201", ""),
    ("GET", "/v1/audit?limit=2&action=tenant", ""),
];

const PIECES: &[&str] = &[
    "\"",
    "\\u0000",
    "\\ud800",
    "[",
    "{",
    "}",
    "]",
    "-",
    "1e999",
    "-0",
    "null",
    "18446744073709551616",
    "é",
    "\u{202e}",
    "''",
    "%00",
    ",",
];

fn mangle(seed: &str, dice: &mut fastrand::Rng) -> Vec<u8> {
    let mut bytes = seed.as_bytes().to_vec();
    for _ in 0..dice.usize(1..4) {
        let at = dice.usize(..=bytes.len());
        let to = (at + dice.usize(..12)).min(bytes.len());
        match dice.u8(..6) {
            0 if at < bytes.len() => bytes[at] ^= 1 << dice.u8(..8),
            1 => drop(bytes.drain(at..to)),
            2 => drop(bytes.splice(at..at, dice.choice(PIECES).unwrap().bytes())),
            3 => drop(bytes.splice(at..to, dice.choice(PIECES).unwrap().bytes())),
            4 => bytes.truncate(at),
            _ => {
                let piece = bytes[at..to].repeat(dice.usize(1..200));
                drop(bytes.splice(at..at, piece));
            }
        }
    }
    bytes
}

#[test]
fn mangled_requests_are_answered_and_change_no_server() {
    let place = Place::with(|config| {
        config.search_timeout = std::time::Duration::from_secs(5);
        // A commit that cannot be read leaves its snapshot.
        (config.snapshots_max, config.snapshot_age_max) = (usize::MAX, std::time::Duration::from_secs(5));
    });
    let client = place.client();
    client.put("/v1/collections/notes", json!({"embedder": "none", "dim": 2})).is(201);
    client.put("/v1/tenants/amber", json!({})).is(201);
    let rounds = if std::env::var_os("NUTHATCH_LONG").is_some() { 200_000 } else { 750 };
    let seed = fastrand::u64(..);
    eprintln!("seed {seed}");
    let mut dice = fastrand::Rng::with_seed(seed);
    let (mut well, mut refused) = (0, 0);
    for round in 0..rounds {
        let (method, path, body) = SEEDS[round % SEEDS.len()];
        let media = if path.ends_with("ingest") { "application/x-ndjson" } else { "application/json" };
        let (path, body) = match body {
            "" => {
                let (address, query) = path.split_once('?').unwrap();
                let query: String = mangle(query, &mut dice)
                    .iter()
                    .map(|byte| match byte {
                        b'&' | b'=' | b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => char::from(*byte).to_string(),
                        byte => format!("%{byte:02X}"),
                    })
                    .collect();
                (format!("{address}?{query}"), Vec::new())
            }
            body if path.contains("{snapshot}") => {
                (path.replace("{snapshot}", &client.snapshot()), mangle(body, &mut dice))
            }
            body => (path.to_string(), mangle(body, &mut dice)),
        };
        let answer = client.send(method, &path, &[("content-type", media)], body.clone());
        // Room may run out, work may be refused for now; nothing may fail inside.
        assert!(
            answer.status < 500 || [503, 507].contains(&answer.status),
            "{path} {:?}: {answer:?}",
            String::from_utf8_lossy(&body)
        );
        if answer.status >= 400 { refused += 1 } else { well += 1 }
    }
    println!("{well} were answered well, {refused} refused");
    assert!(well > 0 && refused > rounds / 2);
    client.get("/readyz").is(200);
    place.stop();
}
