//! Tenants from the shell.

use crate::support::Place;

#[test]
fn what_one_tenant_adds_the_others_do_not_find() {
    let place = Place::new();
    place.write("note.md", "The spare key is under the blue pot.\n");
    place.run(&["tenant", "create", "acme", "--vectors", "10", "--bytes", "1MiB"]).succeeds();
    place.run(&["tenant", "create", "bolt"]).succeeds();
    place.run(&["--tenant", "acme", "add", "note.md", "--embedder", "none"]).succeeds();
    place.run(&["--tenant", "acme", "kv", "put", "k", "of acme"]).succeeds();
    place.run(&["--tenant", "acme", "search", "spare key"]).succeeds();
    for other in [&["search", "spare key"][..], &["--tenant", "bolt", "search", "spare key"]] {
        assert_ne!(place.run(other).code, 0, "{other:?}");
    }
    assert_eq!(place.run(&["--tenant", "acme", "kv", "get", "k"]).out, "of acme");
    assert_ne!(place.run(&["kv", "get", "k"]).code, 0);
    let listed: serde_json::Value = serde_json::from_str(&place.run(&["tenant", "list", "--json"]).out).unwrap();
    assert_eq!(listed[0]["name"], "acme");
    assert_eq!(listed[0]["limits"]["bytes"], 1 << 20);
    assert!(listed[0]["usage"]["bytes"].as_u64().unwrap() > 0);
    assert_eq!(listed[1]["usage"]["bytes"], 0);
    let unknown = place.run(&["--tenant", "cove", "ls"]);
    assert_eq!(unknown.code, 3);
    assert!(unknown.err.contains("acme, bolt"), "{}", unknown.err);
}

#[test]
fn limits_are_shown_and_set_one_by_one() {
    let place = Place::new();
    place.run(&["tenant", "create", "acme", "--bytes", "20"]).succeeds();
    assert_eq!(place.run(&["--tenant", "acme", "kv", "put", "k", "a value that is too long"]).code, 7);
    place.run(&["tenant", "limits", "acme", "--requests-per-second", "7"]).succeeds();
    let shown: serde_json::Value =
        serde_json::from_str(&place.run(&["tenant", "limits", "acme", "--json"]).out).unwrap();
    assert_eq!((&shown["limits"]["bytes"], &shown["limits"]["requests_per_second"]), (&20.into(), &7.into()));
    place.run(&["tenant", "limits", "acme", "--no-others"]).succeeds();
    place.run(&["--tenant", "acme", "kv", "put", "k", "a value that is too long"]).succeeds();
}

#[test]
fn dropping_a_tenant_wants_to_be_meant() {
    let place = Place::new();
    place.run(&["tenant", "create", "acme"]).succeeds();
    place.run(&["--tenant", "acme", "kv", "put", "k", "v"]).succeeds();
    assert_ne!(place.run(&["tenant", "drop", "acme"]).code, 0);
    let receipt: serde_json::Value =
        serde_json::from_str(&place.run(&["tenant", "drop", "acme", "--yes", "--json"]).out).unwrap();
    assert_eq!(receipt["tenant"], "acme");
    assert_eq!(place.run(&["tenant", "list"]).code, 1);
    let refused = place.run(&["--tenant", "acme", "doctor"]);
    assert_ne!(refused.code, 0);
}
