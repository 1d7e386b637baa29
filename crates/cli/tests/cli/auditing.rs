//! `audit`, and what commands note.

use std::io::Write;
use std::process::Stdio;

use serde_json::Value;

use crate::support::{Place, Ran};

/// Entries as they are stored.
fn entries(place: &Place, more: &[&str]) -> Vec<Value> {
    let ran = place.run(&[&["audit", "--json"], more].concat()).succeeds();
    ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn with_input(place: &Place, arguments: &[&str], input: &str) -> Ran {
    let mut command = place.command(arguments);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // It may have ended before it read anything.
    child.stdin.take().unwrap().write_all(input.as_bytes()).ok();
    Ran::of(child.wait_with_output().unwrap())
}

#[test]
fn commands_that_administer_are_noted() {
    let place = Place::with_documents();
    place.run(&["audit"]).ends(1);
    place.run(&["tenant", "create", "amber", "--vectors", "10"]).succeeds();
    place.run(&["tenant", "limits", "amber", "--bytes", "1MiB"]).succeeds();
    let key = place.json(&["key", "create", "me", "--scope", "admin", "--json"]);
    let (id, token) = (key["id"].as_str().unwrap(), key["token"].as_str().unwrap());
    place.run(&["key", "rotate", id]).succeeds();
    place.run(&["key", "revoke", id]).succeeds();
    place.run(&["key", "revoke", "nobody"]).ends(3);
    place.run(&["rm", "--where", "path = 'x'", "--reclaim"]).ends(1);
    place.run(&["rm", "--all", "--yes"]).succeeds();
    place.run(&["reclaim"]).succeeds();
    place.run(&["backup", "copies", "--quiet"]).succeeds();
    place.run(&["tenant", "drop", "amber", "--yes"]).succeeds();
    let noted = entries(&place, &[]);
    let actions: Vec<&str> = noted.iter().map(|entry| entry["action"].as_str().unwrap()).collect();
    let wanted = [
        "tenant.create",
        "tenant.limit",
        "key.create",
        "key.rotate",
        "key.revoke",
        "key.revoke",
        "collection.erase",
        "collection.drop",
        "reclaim",
        "backup.create",
        "tenant.drop",
    ];
    assert_eq!(actions, wanted);
    assert_eq!((&noted[2]["target"], &noted[2]["details"]["key"]), (&"me".into(), &id.into()));
    assert_eq!((&noted[5]["outcome"], &noted[5]["kind"]), (&"failed".into(), &"not_found".into()));
    assert!(noted.iter().all(|entry| entry["face"] == "command"));
    assert_eq!(entries(&place, &["--action", "key", "-n", "2"]).len(), 2);
    let shown = place.run(&["audit"]).succeeds().out;
    assert!(shown.contains("tenant.drop amber") && !shown.contains(token) && shown.lines().count() == 11, "{shown}");
    // The copy has a log of its own.
    place.run(&["restore", "copies", "again", "--quiet"]).succeeds();
    let again = place.run(&["audit", "--json", "--data-dir", "again"]).succeeds().out;
    assert!(again.lines().count() == 1 && again.contains("\"restore\""), "{again}");
    place.run(&["doctor"]).succeeds();
}

#[test]
fn a_password_is_read_from_standard_input_and_written_nowhere() {
    let place = Place::with_documents();
    let made = with_input(
        &place,
        &["key", "create", "anna", "--password", "--scope", "write", "--json"],
        "heron in the reeds\n",
    );
    let made = made.succeeds().json();
    let id = made["id"].as_str().unwrap();
    with_input(&place, &["key", "create", "anna", "--password"], "another one for her\n").ends(2);
    with_input(&place, &["key", "create", "short", "--password"], "short\n").ends(2);
    with_input(&place, &["key", "password", id], "kingfisher by the river\n").succeeds();
    let listed = place.json(&["key", "list", "--json"]);
    assert_eq!((listed.as_array().unwrap().len(), &listed[0]["password"]), (1, &Value::Bool(true)));
    place.run(&["key", "rotate", id]).ends(2);
    for file in crate::support::files_below(&place.data()) {
        let bytes = std::fs::read(place.data().join(&file)).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("heron in the") && !text.contains("kingfisher by"), "{file:?}");
    }
    let actions: Vec<Value> = entries(&place, &[]).iter().map(|entry| entry["outcome"].clone()).collect();
    assert_eq!(actions, ["done", "failed", "failed", "done", "failed"]);
}
