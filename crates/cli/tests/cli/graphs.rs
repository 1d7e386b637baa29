//! `graph`.

use std::io::Write;
use std::process::Stdio;

use serde_json::json;

use crate::support::Place;

/// Puts lines; gives the exit code, and what was said.
fn put(place: &Place, lines: &str) -> (i32, String) {
    let mut command = place.command(&["graph", "put", "-g", "web"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap(), String::from_utf8(said).unwrap())
}

const LINES: &str = r#"{"id": "home", "type": "page", "properties": {"title": "Home"}}
{"source": "home", "type": "links", "target": "about", "weight": 2.5}

{"source": "blog", "type": "links", "target": "home"}
{"source": "about", "type": "cites", "target": "book"}
"#;

#[test]
fn what_was_put_is_listed_traversed_and_deleted() {
    let place = Place::new();
    let (code, said) = put(&place, LINES);
    assert!(code == 0 && said.contains("Put 1 node and 3 edges."), "{said}");
    let ran = place.run(&["graph", "get", "home", "ghost", "-g", "web"]).ends(1);
    assert_eq!(ran.out, "home  page  {\"title\":\"Home\"}\n");
    assert!(ran.err.contains("no node \"ghost\" in graph \"web\""), "{}", ran.err);
    let out = place.run(&["graph", "neighbors", "home", "-g", "web", "--direction", "both"]).succeeds().out;
    assert_eq!(out, "home -links-> about  2.5\nblog -links-> home\n");
    let ran = place.run(&["graph", "neighbors", "home", "-g", "web", "-d", "both", "--limit", "1"]).succeeds();
    let cursor = ran.err.trim().strip_prefix("There is more: --cursor ").unwrap();
    let arguments = ["graph", "neighbors", "home", "-g", "web", "-d", "both", "--cursor", cursor];
    assert_eq!(place.run(&arguments).succeeds().out, "blog -links-> home\n");
    let out = place.run(&["graph", "traverse", "home", "-g", "web"]).succeeds().out;
    assert_eq!(out, "0  home\n1  about  home -links-> about  2.5\n2  book  about -cites-> book\n");
    let found = place.json(&["graph", "traverse", "home", "-g", "web", "--depth", "1", "-t", "links", "--json"]);
    let via = json!({"source": "home", "type": "links", "target": "about", "weight": 2.5});
    let nodes = json!([{"id": "home", "depth": 0, "via": null}, {"id": "about", "depth": 1, "via": via}]);
    assert_eq!(found, json!({"nodes": nodes, "truncated": false}));
    let nodes = place.json(&["graph", "list", "-g", "web", "--type", "page", "--json"]);
    let home = json!({"id": "home", "type": "page", "properties": {"title": "Home"}});
    assert_eq!(nodes, json!({"nodes": [home], "cursor": null}));
    assert_eq!(place.run(&["graph", "ls"]).succeeds().out, "web  1 node, 3 edges\n");
    let arguments = ["graph", "delete", "--edge", "about", "cites", "book", "-g", "web"];
    assert_eq!(place.run(&arguments).succeeds().out, "Deleted 0 nodes and 1 edge.\n");
    place.run(&arguments).ends(1);
    assert_eq!(place.json(&["graph", "delete", "home", "-g", "web", "--json"]), json!({"nodes": 1, "edges": 2}));
    place.run(&["graph", "neighbors", "home", "-g", "web"]).ends(1);
    assert!(place.run(&["graph", "drop", "-g", "web"]).ends(2).err.contains("--yes"));
    assert_eq!(place.run(&["graph", "drop", "-g", "web", "--yes"]).succeeds().out, "Dropped graph web.\n");
    place.run(&["graph", "ls"]).ends(1);
}

#[test]
fn a_line_that_is_wrong_is_named_and_nothing_of_its_write_stays() {
    let place = Place::new();
    for wrong in ["{", r#"{"id": "a"}"#, r#"{"source": "a", "type": "t", "target": ""}"#] {
        let (code, said) = put(&place, &format!("{{\"id\": \"fine\", \"type\": \"t\"}}\n{wrong}\n"));
        assert!(code == 2 && said.contains("standard input, line 2"), "{code} {said}");
    }
    place.run(&["graph", "list", "-g", "web"]).ends(3);
    place.run(&["kv", "put", "k", "v", "-k", "plain"]).succeeds();
    assert!(place.run(&["graph", "list", "-g", "plain"]).ends(2).err.contains("is a keyspace, not a graph"));
}
