//! `kv`.

use std::io::Write;
use std::process::Stdio;

use serde_json::json;

use crate::support::{Place, Ran};

/// Runs a command with something on standard input; gives exit code and standard output, byte by byte.
fn piped(place: &Place, arguments: &[&str], input: &[u8]) -> (i32, Vec<u8>) {
    let mut command = place.command(arguments);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    (output.status.code().unwrap(), output.stdout)
}

#[test]
fn a_value_comes_back_byte_by_byte() {
    let place = Place::new();
    let ran = place.run(&["kv", "put", "greeting", "hello"]).succeeds();
    assert!(ran.out.is_empty() && ran.err.contains("New data folder"), "{}{}", ran.out, ran.err);
    assert_eq!(place.run(&["kv", "get", "greeting"]).succeeds().out, "hello");
    let binary: Vec<u8> = (0..=255).chain(*b"\x1b[31mred\r\n").collect();
    assert_eq!(piped(&place, &["kv", "put", "binary", "-"], &binary).0, 0);
    assert_eq!(piped(&place, &["kv", "get", "binary"], b""), (0, binary));
    place.run(&["kv", "put", "empty", ""]).succeeds();
    assert_eq!(place.run(&["kv", "get", "empty"]).succeeds().out, "");
    place.run(&["kv", "put", "negative", "-5"]).succeeds();
    assert_eq!(place.run(&["kv", "incr", "negative", "-1"]).succeeds().out, "-6\n");
}

#[test]
fn what_is_not_there_is_named() {
    let place = Place::new();
    place.run(&["kv", "get", "a"]).ends(3);
    place.run(&["kv", "put", "a", "1"]).succeeds();
    assert!(place.run(&["kv", "get", "ghost"]).ends(1).err.contains("no key ghost in keyspace \"default\""));
    let ran = place.run(&["kv", "get", "a", "ghost", "--json"]).ends(1);
    assert_eq!(ran.json(), json!([{"key": "a", "value": "1"}]));
    assert!(place.run(&["kv", "get", "a", "--keyspace", "other"]).ends(3).err.contains("there are: default"));
    place.run(&["kv", "ttl", "ghost"]).ends(1);
    place.run(&["kv", "expire", "ghost", "--ttl", "1s"]).ends(1);
    place.run(&["kv", "del", "ghost"]).ends(1);
    place.run(&["kv", "scan", "--prefix", "ghost"]).ends(1);
}

#[test]
fn scan_shows_a_line_a_key_that_can_be_typed_again() {
    let place = Place::new();
    place.run(&["kv", "put", "--escaped", r"b\x00\xff\\", r"line\nline\x1b[2J"]).succeeds();
    for (key, value) in [("a/1", "one"), ("a/2", "zwei → drei"), ("a/3", "x")] {
        place.run(&["kv", "put", key, value, "-k", "default"]).succeeds();
    }
    let all = "a/1\tone\na/2\tzwei → drei\na/3\tx\nb\\x00\\xff\\\\\tline\\nline\\x1b[2J\n";
    assert_eq!(place.run(&["kv", "scan"]).succeeds().out, all);
    assert_eq!(place.run(&["kv", "get", "-e", r"b\x00\xff\\"]).succeeds().out, "line\nline\u{1b}[2J");
    let ran = place.run(&["kv", "scan", "--prefix", "a/", "-n", "2", "--keys-only"]).succeeds();
    assert_eq!(ran.out, "a/1\na/2\n");
    let cursor = ran.err.trim().strip_prefix("There is more: --cursor ").unwrap();
    assert_eq!(place.run(&["kv", "scan", "--prefix", "a/", "--cursor", cursor]).succeeds().out, "a/3\tx\n");
    let out = place.run(&["kv", "scan", "--start", "a/2", "--stop", "b", "--reverse", "--keys-only"]).succeeds().out;
    assert_eq!(out, "a/3\na/2\n");
    let page = place.json(&["kv", "scan", "--start", "a/3", "--json"]);
    assert_eq!(page["entries"][0], json!({"key": "a/3", "value": "x"}));
    assert_eq!(page["entries"][1], json!({"key_base64": "YgD/XA==", "value": "line\nline\u{1b}[2J"}));
    assert_eq!(page["cursor"], json!(null));
    assert_eq!(place.run(&["kv", "scan", "--prefix", "ghost", "--json"]).ends(1).json()["entries"], json!([]));
    let page = place.json(&["kv", "scan", "-n", "1", "--json"]);
    assert!(page["entries"].as_array().unwrap().len() == 1 && page["cursor"].is_string(), "{page}");
}

#[test]
fn keys_expire() {
    let place = Place::new();
    place.run(&["kv", "put", "session", "x", "--ttl", "10m"]).succeeds();
    let left: f64 = place.run(&["kv", "ttl", "session"]).succeeds().out.trim().parse().unwrap();
    assert!((500.0..=600.0).contains(&left), "{left}");
    place.run(&["kv", "expire", "session", "--never"]).succeeds();
    assert_eq!(place.run(&["kv", "ttl", "session"]).succeeds().out, "never\n");
    assert_eq!(place.json(&["kv", "ttl", "session", "--json"]), json!({"key": "session", "ttl_seconds": null}));
    place.run(&["kv", "expire", "session", "--ttl", "1ms"]).succeeds();
    place.run(&["kv", "get", "session"]).ends(1);
    place.run(&["kv", "put", "a", "b", "--ttl", "soon"]).ends(2);
}

#[test]
fn a_script_can_count_append_and_take_a_lock() {
    let place = Place::new();
    assert_eq!(place.run(&["kv", "incr", "visits"]).succeeds().out, "1\n");
    assert_eq!(place.json(&["kv", "incr", "visits", "41", "--json"]), json!({"key": "visits", "value": 42}));
    assert_eq!(place.run(&["kv", "append", "log", "line;"]).succeeds().out, "5\n");
    assert_eq!(piped(&place, &["kv", "append", "log", "-"], b"more").1, b"9\n");
    assert!(place.run(&["kv", "incr", "log"]).ends(2).err.contains("not a 64-bit integer"));
    place.run(&["kv", "cas", "lock", "me", "--absent", "--ttl", "1h"]).succeeds();
    let ran = place.run(&["kv", "cas", "lock", "you", "--absent"]).ends(1);
    assert!(ran.err.contains("lock has a different value"), "{}", ran.err);
    let refused = place.run(&["kv", "cas", "lock", "you", "--expect", "nobody", "--json"]).ends(1).json();
    assert_eq!(refused, json!({"key": "lock", "swapped": false}));
    place.run(&["kv", "cas", "lock", "you", "--expect", "me"]).succeeds();
    assert_eq!(place.run(&["kv", "get", "lock"]).succeeds().out, "you");
    place.run(&["kv", "cas", "lock", "--delete", "--expect", "you"]).succeeds();
    place.run(&["kv", "get", "lock"]).ends(1);
    for wrong in [&["kv", "cas", "lock", "x"][..], &["kv", "cas", "lock", "--absent"], &["kv", "cas", "x", "--delete"]]
    {
        place.run(wrong).ends(2);
    }
}

#[test]
fn a_batch_from_standard_input_is_written_whole_or_not_at_all() {
    let place = Place::new();
    place.run(&["kv", "put", "old", "x"]).succeeds();
    let lines = concat!(
        r#"{"key": "a", "value": "1"}"#,
        "\n\n",
        r#"{"key_base64": "AP8=", "value_base64": "/w==", "ttl": "1h"}"#,
        "\n",
        r#"{"key": "old", "delete": true}"#,
        "\n",
        r#"{"key": "elsewhere", "value": "", "keyspace": "other"}"#,
        "\n"
    );
    for (wrong, named) in [
        (r#"{"key": "a"}"#, "line 6 of standard input: give either"),
        (r#"{"value": "a"}"#, "\"key\" is missing"),
        (r#"{"key": "a", "value": "1", "delete": true}"#, "give either"),
        (r#"{"key": "a", "key_base64": "AA==", "value": "1"}"#, "give only one"),
        (r#"{"key_base64": "?", "value": "1"}"#, "not base64"),
        (r#"{"key": "a", "value": "1", "ttl": "soon"}"#, "is not a duration"),
        (r#"{"key": "a", "valeu": "1"}"#, "valeu"),
        (r#"{"key": "", "value": "1"}"#, "key is empty"),
        ("a=1", "line 6"),
    ] {
        let mut command = place.command(&["kv", "batch"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(format!("{lines}{wrong}\n").as_bytes()).unwrap();
        let ran = Ran::of(child.wait_with_output().unwrap()).ends(2);
        assert!(ran.err.contains(named), "{wrong}: {}", ran.err);
    }
    assert_eq!(place.run(&["kv", "scan"]).succeeds().out, "old\tx\n");
    let (code, out) = piped(&place, &["kv", "batch"], lines.as_bytes());
    assert_eq!((code, out), (0, b"3 keys set, 1 deleted.\n".to_vec()));
    assert_eq!(place.run(&["kv", "scan"]).succeeds().out, "\\x00\\xff\t\\xff\na\t1\n");
    place.run(&["kv", "get", "elsewhere", "-k", "other"]).succeeds();
    let entries = place.json(&["kv", "scan", "--json"])["entries"].clone();
    let again: String = entries.as_array().unwrap().iter().map(|entry| format!("{entry}\n")).collect();
    assert_eq!(piped(&place, &["kv", "batch", "-k", "copy"], again.as_bytes()).0, 0);
    assert_eq!(place.json(&["kv", "scan", "-k", "copy", "--json"])["entries"], entries);
}

#[test]
fn keys_and_keyspaces_go() {
    let place = Place::new();
    for key in ["a/1", "a/2", "b"] {
        place.run(&["kv", "-k", "one", "put", key, "x", "--durability", "os"]).succeeds();
    }
    place.run(&["kv", "put", "a", "x", "--keyspace", "two"]).succeeds();
    assert_eq!(place.run(&["kv", "count", "-k", "one", "--prefix", "a/"]).succeeds().out, "2\n");
    assert_eq!(place.run(&["kv", "ls"]).succeeds().out, "one  about 3 keys\ntwo  about 1 key\n");
    assert_eq!(place.run(&["kv", "del", "-k", "one", "b", "ghost"]).succeeds().out, "Deleted 1 key.\n");
    assert_eq!(place.json(&["kv", "del", "-k", "one", "--prefix", "a/", "--json"])["deleted"], 2);
    assert!(place.run(&["kv", "del", "-k", "one", "--prefix", ""]).ends(2).err.contains("kv drop"));
    assert!(place.run(&["kv", "drop", "-k", "one"]).ends(2).err.contains("--yes"));
    assert!(place.run(&["kv", "drop", "-k", "one", "--yes"]).succeeds().out.contains("Dropped keyspace one"));
    place.run(&["kv", "drop", "-k", "one", "--yes"]).ends(3);
    assert_eq!(place.json(&["kv", "ls", "--json"]), json!([{"name": "two", "count_estimate": 1}]));
    place.run(&["kv", "drop", "-k", "two", "--yes"]).succeeds();
    place.run(&["kv", "ls"]).ends(1);
}

#[test]
fn several_values_are_not_run_together() {
    let place = Place::new();
    place.run(&["kv", "put", "a", "1"]).succeeds();
    assert!(place.run(&["kv", "get", "a", "a"]).ends(2).err.contains("--json"));
    place.run(&["kv", "put", "a", "1", "--durability", "soon"]).ends(2);
    place.run(&["kv"]).ends(2);
}

#[test]
fn a_closed_pipe_ends_a_scan_quietly() {
    let place = Place::new();
    let database = nuthatch_link::Database::open(place.data(), Default::default()).unwrap();
    let entry =
        |n: u32| nuthatch_link::KvOp::Put { key: n.to_be_bytes().to_vec(), value: vec![7; 100], expires_in: None };
    database.kv("default").unwrap().multi_put((0..3000).map(entry).collect()).unwrap();
    database.close().unwrap();
    for command in [&["kv", "scan"][..], &["kv", "scan", "--json"], &["kv", "get", "-e", r"\x00\x00\x00\x01"]] {
        let mut child = place.command(command).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let ran = Ran::of(child.wait_with_output().unwrap()).succeeds();
        assert!(!ran.err.contains("error"), "{command:?}: {}", ran.err);
    }
}
