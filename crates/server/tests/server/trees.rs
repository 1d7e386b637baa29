//! Trees over HTTP: bytes with ranges and tags, versions, snapshots, differences, searches, scopes and tenants.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};

use nuthatch_link::{Database, Options};
use nuthatch_server::Scope;
use serde_json::{Value, json};

use crate::client::{Answer, Client};
use crate::place::Place;

/// Bytes without a pattern.
fn noise(bytes: usize) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(7);
    std::iter::repeat_with(|| random.u8(..)).take(bytes).collect()
}

fn ask(client: &Client, path: &str, headers: &[(&str, &str)]) -> Answer {
    client.send("GET", path, headers, Vec::new())
}

/// The messages of an answer of JSON.
fn messages(answer: &Answer) -> Vec<Value> {
    assert_eq!(answer.header("content-type"), Some("application/x-ndjson"), "{answer:?}");
    answer.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_file_comes_back_byte_for_byte_under_any_path() {
    let place = Place::new();
    let client = place.client();
    let bytes: Vec<u8> = (0..=255).collect();
    for path in ["plain.bin", "deep/er/down", "a%20b/gr%C3%BCn", "%2Ehidden", "100%25"] {
        let address = format!("/v1/trees/t/files/{path}");
        let report = client.put_bytes(&address, &bytes).is(200);
        assert_eq!((&report["added"], &report["gone"]), (&json!(1), &json!(0)), "{path}");
        let got = client.get(&address);
        assert_eq!((got.status, &got.body), (200, &bytes), "{path}");
        assert_eq!(got.header("content-type"), Some("application/octet-stream"));
        assert_eq!(got.header("content-length"), Some("256"));
        assert_eq!(got.header("accept-ranges"), Some("bytes"));
    }
    // A client that encodes the slashes means the same.
    assert_eq!(client.get("/v1/trees/t/files/deep%2Fer%2Fdown").body, bytes);
    client.put_bytes("/v1/trees/t/files/empty", b"").is(200);
    let empty = client.get("/v1/trees/t/files/empty");
    assert_eq!((empty.status, empty.body.as_slice(), empty.header("content-length")), (200, &b""[..], Some("0")));
    assert_eq!(client.get("/v1/trees").is(200), json!({"trees": ["t"]}));
    let info = client.get("/v1/trees/t").is(200);
    assert_eq!((&info["files"], &info["bytes"]), (&json!(6), &json!(5 * 256)));
    assert_eq!(info["together"]["contents"], 2, "the same bytes are stored once");
    place.stop();
}

#[test]
fn paths_that_lead_out_of_a_tree_and_files_that_are_not_there_are_problems() {
    let place = Place::new();
    let client = place.client();
    for path in ["a//b", "a/%2E%2E/b", "%00", "%2Fetc", "a/"] {
        client.put_bytes(&format!("/v1/trees/t/files/{path}"), b"x").fails(400, "invalid");
    }
    client.put_bytes("/v1/trees/no%20name/files/a", b"x").fails(400, "invalid");
    client.get("/v1/trees/t/files/%ff").fails(400, "invalid");
    client.get("/v1/trees/t").fails(404, "not_found");
    client.put_bytes("/v1/trees/t/files/a/b", b"x").is(200);
    let missing = client.get("/v1/trees/t/files/a");
    missing.fails(404, "not_found");
    assert_eq!(missing.json()["subject"], json!({"what": "file", "name": "a"}));
    let other = client.get("/v1/trees/u/files/a");
    other.fails(404, "not_found");
    assert_eq!(other.json()["subject"], json!({"what": "tree", "name": "u"}));
    client.get("/v1/trees/t/files/a/b?as_of=never").fails(404, "not_found");
    client.get("/v1/trees/t/files/a/b?at=never").fails(400, "invalid");
    client.put_bytes("/v1/trees/t/files/a?mode=9", b"x").fails(400, "invalid");
    client.put_bytes("/v1/trees/t/files/a?mode=77777", b"x").fails(400, "invalid");
    client.put_bytes("/v1/trees/t/files/a?modified=yesterday", b"x").fails(400, "invalid");
    let gzip = [("content-encoding", "gzip")];
    client.send("PUT", "/v1/trees/t/files/a", &gzip, b"x".to_vec()).fails(415, "invalid");
    for name in ["if-match", "if-none-match"] {
        // It cannot be looked at in the step that writes, and is not to be passed over.
        let conditional = [(name, "*")];
        client.send("PUT", "/v1/trees/t/files/a/b", &conditional, b"y".to_vec()).fails(400, "invalid");
        client.send("DELETE", "/v1/trees/t/files/a/b", &conditional, Vec::new()).fails(400, "invalid");
    }
    assert_eq!(client.get("/v1/trees/t/files/a/b").body, b"x");
    place.stop();
}

#[test]
fn a_range_is_that_part_of_the_bytes_across_all_chunks() {
    let place = Place::new();
    let client = place.client();
    let bytes = noise(3 << 20);
    client.put_bytes("/v1/trees/t/files/noise", &bytes).is(200);
    let whole = client.get("/v1/trees/t/files/noise");
    assert!(whole.body == bytes);
    let tag = whole.header("etag").unwrap().to_string();
    let range = |value: &str| ask(&client, "/v1/trees/t/files/noise", &[("range", value)]);
    for (value, from, to) in [
        ("bytes=0-0", 0, 1),
        ("bytes=1000-2500000", 1000, 2_500_001),
        ("bytes=3000000-", 3_000_000, bytes.len()),
        ("bytes=-7", bytes.len() - 7, bytes.len()),
    ] {
        let part = range(value);
        assert_eq!(part.status, 206, "{value}");
        assert!(part.body == bytes[from..to], "{value}");
        let told = format!("bytes {from}-{}/{}", to - 1, bytes.len());
        assert_eq!(part.header("content-range"), Some(told.as_str()));
        assert_eq!(part.header("etag"), Some(tag.as_str()));
    }
    let beyond = range(&format!("bytes={}-", bytes.len()));
    beyond.fails(416, "invalid");
    assert_eq!(beyond.header("content-range"), Some(format!("bytes */{}", bytes.len()).as_str()));
    let several = range("bytes=0-1,4-5");
    assert!(several.status == 200 && several.body == bytes, "all of it, which may be sent for several ranges");
    let if_range = |tag: &str| ask(&client, "/v1/trees/t/files/noise", &[("range", "bytes=5-6"), ("if-range", tag)]);
    assert_eq!(if_range(&tag).body, bytes[5..7]);
    assert!(if_range("\"another\"").body == bytes);
    place.stop();
}

#[test]
fn a_tag_names_the_bytes_and_spares_sending_them() {
    let place = Place::new();
    let client = place.client();
    let path = "/v1/trees/t/files/a";
    client.put_bytes(&format!("{path}?modified=2026-01-02T03:04:05Z"), b"one").is(200);
    let first = client.get(path);
    let tag = first.header("etag").unwrap().to_string();
    assert_eq!(first.header("last-modified"), Some("Fri, 02 Jan 2026 03:04:05 GMT"));
    let entry = &client.get("/v1/trees/t/entries").is(200)["entries"][0];
    assert_eq!(tag, format!("\"{}\"", entry["content"].as_str().unwrap()));
    let same = ask(&client, path, &[("if-none-match", &tag)]);
    assert_eq!((same.status, same.body.len(), same.header("etag")), (304, 0, Some(tag.as_str())));
    assert_eq!(ask(&client, path, &[("if-match", &tag)]).body, b"one");
    client.put_bytes(path, b"two").is(200);
    let other = ask(&client, path, &[("if-none-match", &tag)]);
    assert_eq!((other.status, other.body.as_slice()), (200, &b"two"[..]));
    let refused = ask(&client, path, &[("if-match", &tag)]);
    refused.fails(412, "conflict");
    assert_eq!(refused.json()["subject"], json!({"what": "file", "name": "a"}));
    client.put_bytes("/v1/trees/t/files/copy", b"one").is(200);
    assert_eq!(client.get("/v1/trees/t/files/copy").header("etag"), Some(tag.as_str()));
    let head = client.send("HEAD", path, &[], Vec::new());
    assert_eq!((head.status, head.header("content-length"), head.body.len()), (200, Some("3"), 0));
    assert_eq!(client.send("HEAD", "/v1/trees/t/files/none", &[], Vec::new()).status, 404);
    place.stop();
}

#[test]
fn a_file_of_many_parts_is_put_whole_and_read_as_it_was() {
    let place = Place::with(|config| config.body_max_bytes = 1 << 20);
    let client = place.client();
    // More than one put carries, and a part that is not full.
    let bytes = noise(20_000_001);
    let report = client.put_bytes("/v1/trees/t/files/large?mode=755", &bytes).is(200);
    assert_eq!(report["added"], 1);
    let entry = &client.get("/v1/trees/t/entries").is(200)["entries"][0];
    assert_eq!((&entry["bytes"], &entry["mode"]), (&json!(bytes.len()), &json!(0o755)));
    assert!(client.get("/v1/trees/t/files/large").body == bytes);
    let part = ask(&client, "/v1/trees/t/files/large", &[("range", "bytes=19999999-")]);
    assert_eq!(part.body, bytes[19_999_999..]);
    // Exactly as much as one part.
    client.put_bytes("/v1/trees/t/files/even", &bytes[..16 << 20]).is(200);
    assert!(client.get("/v1/trees/t/files/even").body == bytes[..16 << 20]);
    place.stop();
}

#[test]
fn a_file_that_does_not_come_to_its_end_is_not_there() {
    let place = Place::new();
    let client = place.client();
    client.put_bytes("/v1/trees/t/files/kept", b"kept").is(200);
    let chunks = || client.get("/v1/trees/t").is(200)["together"]["chunks"].as_u64().unwrap();
    let before = chunks();
    let mut stream = TcpStream::connect(place.address).unwrap();
    let head = "PUT /v1/trees/t/files/broken HTTP/1.1\r\nhost: localhost\r\ncontent-length: 30000000\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(&noise(10_000_000)).unwrap();
    while chunks() == before {
        std::thread::yield_now(); // until a part of it is stored
    }
    stream.shutdown(Shutdown::Write).unwrap();
    let mut said = String::new();
    stream.read_to_string(&mut said).ok();
    assert!(!said.starts_with("HTTP/1.1 200"), "{said}");
    while chunks() != before {
        std::thread::yield_now(); // until what had come is gone
    }
    client.get("/v1/trees/t/files/broken").fails(404, "not_found");
    place.stop();
}

#[test]
fn versions_snapshots_and_moments_show_a_tree_as_it_was() {
    let place = Place::new();
    let client = place.client();
    let first = client.put_bytes("/v1/trees/t/files/a", b"one").is(200)["sequence"].as_u64().unwrap();
    let named = client.post("/v1/trees/t/snapshots", json!({"name": "v1"})).is(201);
    assert_eq!((&named["name"], &named["sequence"]), (&json!("v1"), &json!(first)));
    client.post("/v1/trees/t/snapshots", json!({"name": "v1"})).fails(409, "conflict");
    client.put_bytes("/v1/trees/t/files/a", b"two").is(200);
    client.put_bytes("/v1/trees/t/files/b/c", b"three").is(200);
    for (as_of, bytes) in [("v1".to_string(), &b"one"[..]), (first.to_string(), b"one")] {
        assert_eq!(client.get(&format!("/v1/trees/t/files/a?as_of={as_of}")).body, bytes);
    }
    client.get("/v1/trees/t/files/a?as_of=2001-01-01T00:00:00Z").fails(404, "not_found");
    let paths = |query: &str| -> Vec<String> {
        let page = client.get(&format!("/v1/trees/t/entries?{query}")).is(200);
        page["entries"].as_array().unwrap().iter().map(|entry| entry["path"].as_str().unwrap().into()).collect()
    };
    assert_eq!(
        (paths(""), paths("as_of=v1"), paths("below=b")),
        (vec!["a".into(), "b/c".into()], vec!["a".into()], vec!["b/c".into()])
    );
    let page = client.get("/v1/trees/t/entries?limit=1").is(200);
    assert_eq!(page["cursor"], "a");
    assert_eq!(paths("after=a&limit=5"), ["b/c"]);
    let versions = client.get("/v1/trees/t/versions?path=a").is(200);
    assert_eq!(versions["versions"].as_array().unwrap().len(), 2);
    let changes = client.post("/v1/trees/t/diff", json!({"from": "v1"})).is(200);
    let kinds: Vec<_> = changes["changes"].as_array().unwrap().iter().map(|one| (&one["kind"], &one["path"])).collect();
    assert_eq!(kinds, [(&json!("modified"), &json!("a")), (&json!("added"), &json!("b/c"))]);
    assert_eq!(client.get("/v1/trees/t/snapshots").is(200)["snapshots"], json!([named]));
    assert_eq!(client.delete("/v1/trees/t/snapshots/v1").status, 204);
    client.delete("/v1/trees/t/snapshots/v1").fails(404, "not_found");
    place.stop();
}

#[test]
fn what_a_servers_snapshot_shows_stays_as_it_was() {
    let place = Place::new();
    let client = place.client();
    client.put_bytes("/v1/trees/t/files/a", b"one").is(200);
    let then = client.at(&client.snapshot());
    client.put_bytes("/v1/trees/t/files/a", b"two").is(200);
    client.put_bytes("/v1/trees/t/files/b", b"two").is(200);
    assert_eq!(then.get("/v1/trees/t/files/a").body, b"one");
    assert_eq!(then.get("/v1/trees/t").is(200)["files"], 1);
    let found = then.post("/v1/trees/t/grep", json!({"patterns": ["o"]}));
    assert_eq!(found.text(), "a:one\n");
    then.put_bytes("/v1/trees/t/files/a", b"three").fails(400, "invalid");
    place.stop();
}

#[test]
fn removing_keeps_versions_and_erasing_keeps_nothing() {
    let place = Place::new();
    let client = place.client();
    for (path, bytes) in [("d/a", b"1"), ("d/b", b"2"), ("e", b"3")] {
        client.put_bytes(&format!("/v1/trees/t/files/{path}"), bytes).is(200);
    }
    client.post("/v1/trees/t/snapshots", json!({"name": "v1"})).is(201);
    assert_eq!(client.delete("/v1/trees/t/files/d").is(200), json!({"removed": 2}));
    client.get("/v1/trees/t/files/d/a").fails(404, "not_found");
    assert_eq!(client.get("/v1/trees/t/files/d/a?as_of=v1").body, b"1");
    assert_eq!(client.delete("/v1/trees/t/files/d?erase=true").is(200), json!({"paths": 2, "versions": 2}));
    client.get("/v1/trees/t/files/d/a?as_of=v1").fails(404, "not_found");
    assert_eq!(client.get("/v1/trees/t/files/e").body, b"3");
    client.put("/v1/trees/t/retention", json!({"versions": 0, "seconds": null})).fails(400, "invalid");
    let kept = json!({"versions": 2, "seconds": 0});
    assert_eq!(client.put("/v1/trees/t/retention", kept.clone()).status, 204);
    assert_eq!(client.get("/v1/trees/t").is(200)["retention"], kept);
    assert_eq!(client.delete("/v1/trees/t").status, 204);
    client.delete("/v1/trees/t").fails(404, "not_found");
    assert_eq!(client.get("/v1/trees").is(200), json!({"trees": []}));
    place.stop();
}

#[test]
fn several_paths_are_written_together_or_not_at_all() {
    let place = Place::new();
    let client = place.client();
    client.put_bytes("/v1/trees/t/files/old", b"old").is(200);
    let put = json!([
        {"path": "text", "content": "grün", "mode": 0o600, "modified_ns": 5},
        {"path": "bytes", "content": {"base64": "AP8="}},
        {"path": "link", "target": "text"},
        {"path": "folder"},
    ]);
    let report = client.post("/v1/trees/t/write", json!({"put": put, "remove": ["old"]})).is(200);
    assert_eq!((&report["added"], &report["gone"]), (&json!(4), &json!(1)));
    assert_eq!(client.get("/v1/trees/t/files/text").text(), "grün");
    assert_eq!(client.get("/v1/trees/t/files/bytes").body, [0, 0xff]);
    client.get("/v1/trees/t/files/link").fails(400, "invalid");
    let entries = client.get("/v1/trees/t/entries").is(200);
    let kinds: Vec<_> = entries["entries"].as_array().unwrap().iter().map(|entry| &entry["kind"]).collect();
    assert_eq!(kinds, ["file", "folder", "link", "file"]);
    assert_eq!((&entries["entries"][3]["mode"], &entries["entries"][3]["modified_ns"]), (&json!(0o600), &json!(5)));
    let again = json!({"path": "text", "content": "grün", "mode": 0o600, "modified_ns": 5});
    assert_eq!(client.post("/v1/trees/t/write", json!({"put": [again]})).is(200)["unchanged"], 1);
    for wrong in [
        json!({"put": [{"path": "new", "content": ""}, {"path": "a/../b"}]}),
        json!({"put": [{"path": "new", "content": ""}, {"path": "new", "content": ""}]}),
        json!({"put": [{"path": "new", "content": "", "target": "text"}]}),
        json!({"put": [{"path": "new", "content": "", "mode": 0o10000}]}),
        json!({"put": [{"path": "new", "text": ""}]}),
    ] {
        client.post("/v1/trees/t/write", wrong).fails(400, "invalid");
    }
    client.get("/v1/trees/t/files/new").fails(404, "not_found");
    place.stop();
}

#[test]
fn a_search_prints_what_ripgrep_prints_and_says_what_it_left_out() {
    let place = Place::new();
    let client = place.client();
    for (path, text) in [("a.rs", "fn one() {}\nfn two() {}\n"), ("b/c.py", "def one():\n"), ("d.txt", "none\n")] {
        client.put_bytes(&format!("/v1/trees/t/files/{path}"), text.as_bytes()).is(200);
    }
    let grep = |body: Value| client.post("/v1/trees/t/grep", body);
    let found = grep(json!({"patterns": ["one"]}));
    assert_eq!(
        (found.header("content-type"), found.text()),
        (Some("text/plain"), "a.rs:fn one() {}\nb/c.py:def one():\nd.txt:none\n")
    );
    assert_eq!(
        grep(json!({"patterns": ["one"], "types": ["rust"], "line_number": true})).text(),
        "a.rs:1:fn one() {}\n"
    );
    assert_eq!(grep(json!({"patterns": ["ONE"], "ignore_case": true, "below": "b"})).text(), "b/c.py:def one():\n");
    assert_eq!(grep(json!({"patterns": ["fn"], "output": "count"})).text(), "a.rs:2\n");
    assert_eq!(grep(json!({"patterns": ["absent"]})).text(), "");
    grep(json!({"patterns": ["("]})).fails(400, "invalid");
    grep(json!({"patterns": []})).fails(400, "invalid");
    grep(json!({"patterns": ["x"], "case": true})).fails(400, "invalid");
    client.put_bytes("/v1/trees/t/files/a.rs", b"fn three() {}\n").is(200);
    let history = grep(json!({"patterns": ["two"], "history": true}));
    let [path, line] = history.text().splitn(2, ':').collect::<Vec<_>>()[..] else { panic!("{history:?}") };
    assert!(path.starts_with("a.rs@") && line == "fn two() {}\n", "{history:?}");
    let said = messages(&grep(json!({"patterns": ["one"], "output": "json"})));
    let kinds: Vec<&str> = said.iter().map(|message| message["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["begin", "match", "end", "begin", "match", "end", "summary", "report"]);
    let report = &said.last().unwrap()["data"];
    let told = ["matched", "searched", "cut", "cursor"].map(|name| report[name].clone());
    assert_eq!(told, [json!(true), json!(3), json!([]), json!(null)]);
    assert_eq!((&report["read"]["files"], &report["read"]["scanned"]), (&json!(3), &json!("the tree is small")));
    assert_eq!(client.get("/v1/trees/t/index").is(200)["indexed"], 0);
    let index = client.get("/v1/trees/t/index?wait=true").is(200);
    assert_eq!((&index["indexed"], &index["pending"]), (&json!(4), &json!(0)));
    let asked = json!({"patterns": ["def"], "output": "json", "index": "always"});
    let read = messages(&grep(asked)).last().unwrap()["data"]["read"].clone();
    assert_eq!((&read["files"], &read["scanned"]), (&json!(1), &json!(null)));
    grep(json!({"patterns": ["x"], "index": "sometimes"})).fails(400, "invalid");
    // More than a search of several lines holds.
    client.put_bytes("/v1/trees/t/files/large.txt", &vec![b'\n'; (16 << 20) + 1]).is(200);
    let several = json!({"patterns": ["one"], "multiline": true});
    let text = grep(several.clone());
    assert!(text.text().lines().last().unwrap().starts_with("nuthatch: large.txt: "), "{}", text.text());
    let said = messages(&grep(json!({"patterns": ["one"], "multiline": true, "output": "json"})));
    assert_eq!(said.last().unwrap()["data"]["cut"][0]["path"], "large.txt");
    place.stop();
}

#[test]
fn a_search_of_many_pages_has_all_of_them_in_one_answer_or_one_by_one() {
    let place = Place::new();
    let client = place.client();
    let text = format!("{}\n", "x".repeat(99)).repeat(60_000);
    for at in 0..4 {
        client.put_bytes(&format!("/v1/trees/t/files/{at}"), text.as_bytes()).is(200);
    }
    let counted = |messages: &[Value]| messages.iter().filter(|message| message["type"] == "match").count();
    let ask = json!({"patterns": ["x+"], "output": "json", "max_count": 20_000});
    let all = messages(&client.post("/v1/trees/t/grep", ask.clone()));
    assert_eq!(counted(&all), 80_000);
    assert_eq!(all.last().unwrap()["data"]["cut"], json!([]));
    let (mut found, mut pages, mut ask) = (0, 0, ask);
    ask["pages"] = json!(true);
    loop {
        let page = messages(&client.post("/v1/trees/t/grep", ask.clone()));
        found += counted(&page);
        pages += 1;
        let cursor = page.last().unwrap()["data"]["cursor"].clone();
        if cursor.is_null() {
            break;
        }
        ask["cursor"] = cursor;
    }
    assert!(found == 80_000 && pages > 1, "{found} in {pages} pages");
    let wrong = json!({"patterns": ["x"], "pages": true});
    client.post("/v1/trees/t/grep", wrong).fails(400, "invalid");
    place.stop();
}

#[test]
fn tenants_do_not_see_each_others_trees() {
    let place = Place::new();
    place.key("default", &[Scope::Admin]);
    let database = Database::open(place.folder.path().join("memory"), Options::default()).unwrap();
    for name in ["amber", "birch"] {
        database.create_tenant(name).unwrap();
    }
    drop(database);
    let all = [Scope::Read, Scope::Write];
    let [amber, birch] = ["amber", "birch"].map(|name| place.client().with_key(&place.key(name, &all)));
    amber.put_bytes("/v1/trees/t/files/secret", b"of amber").is(200);
    let tag = amber.get("/v1/trees/t/files/secret").header("etag").unwrap().to_string();
    birch.get("/v1/trees/t/files/secret").fails(404, "not_found");
    birch.post("/v1/trees/t/grep", json!({"patterns": ["amber"]})).fails(404, "not_found");
    assert_eq!(birch.get("/v1/trees").is(200), json!({"trees": []}));
    birch.put_bytes("/v1/trees/t/files/own", b"of birch").is(200);
    birch.get("/v1/trees/t/files/secret").fails(404, "not_found");
    birch.send("GET", "/v1/trees/t/files/secret", &[("if-match", &tag)], Vec::new()).fails(404, "not_found");
    assert_eq!(birch.post("/v1/trees/t/grep", json!({"patterns": ["of"]})).text(), "own:of birch\n");
    assert_eq!(birch.get("/v1/trees/t").is(200)["together"]["contents"], 1);
    assert_eq!(birch.delete("/v1/trees/t").status, 204);
    assert_eq!(amber.get("/v1/trees/t/files/secret").body, b"of amber");
    let reader = place.client().with_key(&place.key("amber", &[Scope::Read]));
    assert_eq!(reader.get("/v1/trees/t/files/secret").body, b"of amber");
    reader.put_bytes("/v1/trees/t/files/secret", b"x").fails(403, "forbidden");
    reader.delete("/v1/trees/t/files/secret").fails(403, "forbidden");
    let writer = place.client().with_key(&place.key("amber", &[Scope::Write]));
    writer.get("/v1/trees/t/files/secret").fails(403, "forbidden");
    writer.post("/v1/trees/t/grep", json!({"patterns": ["of"]})).fails(403, "forbidden");
    place.stop();
}
