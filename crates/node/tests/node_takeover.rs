//! Two nodes on one bucket, over HTTP: the owner is killed again and again, and its folder thrown away. Nothing acknowledged is lost,
//! nothing is done twice, and what a reader has seen stays.
//!
//! `NUTHATCH_KILLS` says how often the owner is killed (20 by default).
#![cfg(unix)]

mod nodes;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use nodes::*;
use serde_json::{Value, json};

#[test]
fn no_acknowledged_write_is_lost_or_done_twice_while_owners_are_killed() {
    kill_owners(&Cluster::new());
}

#[test]
fn records_and_their_searches_come_back_on_another_node() {
    let cluster = Cluster::new();
    let mut one = cluster.node("one");
    let addresses = vec![one.address.clone()];
    let (status, _) =
        ask(&addresses, "PUT", "/v1/collections/notes", json!({"embedder": "none"}).to_string().as_bytes(), true);
    assert!(status < 300, "{status}");
    let records = json!({"records": [
        {"id": "a", "text": "an osprey over the lake", "payload": {"year": 2025}},
        {"id": "b", "text": "a heron at the shore", "payload": {"year": 2026}},
    ]});
    let (status, body) = ask(&addresses, "POST", "/v1/collections/notes/records", records.to_string().as_bytes(), true);
    assert!(status < 300, "{status} {}", String::from_utf8_lossy(&body));
    let search = json!({"text": "osprey"}).to_string();
    let hits = |addresses: &[String]| -> BTreeMap<String, String> {
        let (status, body) = ask(addresses, "POST", "/v1/collections/notes/search", search.as_bytes(), true);
        assert_eq!(status, 200, "{}", String::from_utf8_lossy(&body));
        let answer: Value = serde_json::from_slice(&body).unwrap();
        let text = |hit: &Value, field: &str| hit[field].as_str().unwrap_or_default().to_string();
        answer["hits"].as_array().unwrap().iter().map(|hit| (text(hit, "id"), text(hit, "text"))).collect()
    };
    let before = hits(&addresses);
    assert_eq!(before.keys().collect::<Vec<_>>(), ["a"]);
    // A node that stops in good order releases the data, and finds its folder as it was.
    one.stop();
    assert_eq!(cluster.status()["owner"], Value::Null);
    one.start();
    assert_eq!(hits(&addresses), before);
    assert!(one.said().contains("as it was closed"), "{}", one.said());
    // A second node has nothing but the bucket.
    let two = cluster.node("two");
    one.kill();
    assert_eq!(hits(std::slice::from_ref(&two.address)), before);
}

#[test]
fn a_hung_owner_answers_nothing_and_writes_nothing_when_it_wakes() {
    hang_the_owner(&Cluster::new());
}

#[test]
fn a_nodes_folder_is_refused_by_everybody_else() {
    let cluster = Cluster::new();
    let mut one = cluster.node("one");
    ask(std::slice::from_ref(&one.address), "PUT", "/v1/keyspaces/k/keys/a", b"1", false);
    let again = program()
        .args(["serve", "--store", &cluster.store, "--listen", "127.0.0.1:0", "--data-dir"])
        .arg(&one.folder)
        .output()
        .unwrap();
    assert_eq!(again.status.code(), Some(4), "{}", String::from_utf8_lossy(&again.stderr));
    one.stop();
    let error = nuthatch_link::Database::open(&one.folder, nuthatch_link::Options::default()).err().unwrap();
    assert!(error.to_string().contains("copy of a cluster's data"), "{error}");
    // A data folder of its own is not replaced by a copy.
    let own = cluster.root.path().join("own");
    nuthatch_link::Database::open(&own, nuthatch_link::Options::default()).unwrap().close().unwrap();
    refused(&cluster, &own, "is a data folder of its own");
    // Nor is the copy of another cluster.
    let other = Cluster::new();
    refused(&other, &one.folder, "give another folder");
}

fn refused(cluster: &Cluster, folder: &Path, why: &str) {
    let said = program()
        .args(["serve", "--store", &cluster.store, "--listen", "127.0.0.1:0", "--data-dir"])
        .arg(folder)
        .output()
        .unwrap();
    assert_eq!(said.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&said.stderr).contains(why), "{}", String::from_utf8_lossy(&said.stderr));
}

#[test]
fn the_doctor_says_what_is_damaged_in_a_bucket() {
    let cluster = Cluster::new();
    let mut one = cluster.node("one");
    ask(std::slice::from_ref(&one.address), "PUT", "/v1/keyspaces/k/keys/a", b"1", false);
    one.stop();
    let doctor = || program().args(["doctor", &cluster.store, "--verify"]).output().unwrap();
    let well = doctor();
    assert!(well.status.success(), "{}", String::from_utf8_lossy(&well.stdout));
    let log = cluster.root.path().join("bucket/groups/0/log");
    let last = std::fs::read_dir(&log).unwrap().map(|entry| entry.unwrap().path()).max().unwrap();
    let mut bytes = std::fs::read(&last).unwrap();
    bytes[40] ^= 4;
    std::fs::write(&last, bytes).unwrap();
    let ill = doctor();
    assert_eq!(ill.status.code(), Some(6));
    let name = last.file_name().unwrap().to_string_lossy().into_owned();
    assert!(String::from_utf8_lossy(&ill.stdout).contains(&name), "{}", String::from_utf8_lossy(&ill.stdout));
    // A node does not go on from a damaged log.
    std::fs::remove_dir_all(&one.folder).unwrap();
    one.start();
    let status = one.child.take().unwrap().wait().unwrap();
    assert_eq!(status.code(), Some(6), "{}", one.said());
    assert!(one.said().contains(&name), "{}", one.said());
}

/// A lease that no test waits for.
const LONG_LEASE: &str = "10m";

#[test]
fn nobody_waits_for_the_lease_of_an_owner_whose_process_was_killed() {
    let cluster = Cluster::with_lease(LONG_LEASE);
    let (mut one, two) = cluster.owner_and_standby();
    let both = [one.address.clone(), two.address.clone()];
    one.kill();
    // Before its lease is over, a silent owner's data would not be served.
    let (status, body) = ask(&both[1..], "GET", "/v1/keyspaces/k/keys/a", b"", false);
    assert_eq!((status, &body[..]), (200, &b"1"[..]));
    let status = cluster.status();
    assert_eq!((&status["owner"], &status["epoch"]), (&json!(two.address), &json!(2)));
    // And again, with the roles changed.
    let mut two = two;
    one.start();
    cluster.until_followed_by(&two, &[&one]);
    two.kill();
    let (status, body) = ask(&both[..1], "GET", "/v1/keyspaces/k/keys/a", b"", false);
    assert_eq!((status, &body[..]), (200, &b"1"[..]));
}

#[test]
fn an_owner_that_hangs_is_not_taken_for_dead() {
    let cluster = Cluster::with_lease(LONG_LEASE);
    let (one, two) = cluster.owner_and_standby();
    one.signal("-STOP");
    // A look at the log and more.
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(cluster.status()["owner"], json!(one.address));
    one.signal("-CONT");
    let (status, body) = ask(std::slice::from_ref(&two.address), "GET", "/v1/keyspaces/k/keys/a", b"", false);
    assert_eq!((status, &body[..]), (200, &b"1"[..]), "the standby passes on what the owner answers");
    assert_eq!(cluster.status()["epoch"], json!(1));
}

#[test]
fn an_owner_whose_guard_was_killed_before_it_is_waited_for() {
    let cluster = Cluster::new();
    let (mut one, two) = cluster.owner_and_standby();
    let of_one = one.child.as_ref().unwrap().id().to_string();
    let guards = std::process::Command::new("pgrep").args(["-P", &of_one]).output().unwrap().stdout;
    let guard = String::from_utf8(guards).unwrap().trim().to_string();
    assert!(!guard.is_empty() && !guard.contains('\n'), "one guard: {guard:?}");
    assert!(std::process::Command::new("kill").args(["-KILL", &guard]).status().unwrap().success());
    // The owner goes on without it.
    ask(std::slice::from_ref(&one.address), "PUT", "/v1/keyspaces/k/keys/a", b"2", false);
    one.kill();
    let (status, body) = ask(std::slice::from_ref(&two.address), "GET", "/v1/keyspaces/k/keys/a", b"", false);
    assert_eq!((status, &body[..]), (200, &b"2"[..]));
}
