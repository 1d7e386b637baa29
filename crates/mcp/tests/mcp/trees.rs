//! Files of trees: exact search, texts as they were, what changed, and what there is.

use nuthatch_link::{PutFile, PutFiles, PutWhat};
use serde_json::json;

use crate::host::Host;

fn store(host: &Host, files: &[(&str, &str)]) {
    let tree = host.database.tree("code").unwrap();
    let file = |(path, text): &(&str, &str)| PutFile {
        path: path.to_string(),
        what: PutWhat::File(text.as_bytes().to_vec()),
        mode: 0o644,
        modified_ns: 0,
    };
    tree.put(PutFiles { files: files.iter().map(file).collect(), ..PutFiles::default() }).unwrap();
}

/// Two files with a snapshot `v1`, one of them changed since.
fn with_a_tree() -> Host {
    let host = Host::new();
    store(&host, &[("src/a.rs", "fn one() {}\nfn two() { one() }\n"), ("notes.md", "# Notes\n\none of them\n")]);
    host.database.tree("code").unwrap().name_snapshot("v1").unwrap();
    store(&host, &[("src/a.rs", "fn one() {}\nfn three() { one() }\n")]);
    host
}

#[test]
fn grep_finds_every_line_also_as_it_was() {
    let mut host = with_a_tree();
    let (found, text) = host.call_with_text("grep", json!({"pattern": "one"}));
    let lines = found["lines"].as_str().unwrap();
    assert_eq!(lines, "notes.md\n3:one of them\n\nsrc/a.rs\n1:fn one() {}\n2:fn three() { one() }\n");
    assert!(text.contains("three"));
    let was = host.call("grep", json!({"pattern": "two", "tree": "code", "as_of": "v1", "globs": ["*.rs"]}));
    assert_eq!(was["lines"], "src/a.rs\n2:fn two() { one() }\n");
    let paths = host.call("grep", json!({"pattern": "ONE", "ignore_case": true, "paths_only": true, "path": "src"}));
    assert_eq!(paths["lines"], "src/a.rs\n");
    let history = host.call("grep", json!({"pattern": "fn t(wo|hree)", "history": true}));
    assert!(history["lines"].as_str().unwrap().contains('@'));
    let none = host.call("grep", json!({"pattern": "a.b", "fixed": true}));
    assert_eq!((none["lines"].as_str(), none["notes"].as_array().unwrap().len()), (Some(""), 1));
    assert!(host.tool_refuses("grep", json!({"pattern": "("})).contains("regex"));
    assert!(host.tool_refuses("grep", json!({"pattern": "x", "tree": "none"})).contains("code"));
    assert!(host.tool_refuses("grep", json!({"pattern": "x", "context": 21})).contains("20"));
}

#[test]
fn what_does_not_fit_comes_with_the_cursor_and_nothing_twice() {
    let mut host = Host::new();
    let long: String = (0..400).map(|n| format!("line {n} of a bird\n")).collect();
    let names: Vec<String> = (0..12).map(|n| format!("{n:02}.txt")).collect();
    store(&host, &names.iter().map(|name| (&**name, &*long)).collect::<Vec<_>>());
    let (mut lines, mut cursor, mut answers) = (String::new(), json!(null), 0);
    loop {
        let mut asked = json!({"pattern": "bird", "max_tokens": 2000});
        if !cursor.is_null() {
            asked["cursor"] = cursor.clone();
        }
        let found = host.call("grep", asked);
        assert!(found.to_string().len() <= 3 * 2000, "{}", found.to_string().len());
        lines += found["lines"].as_str().unwrap();
        answers += 1;
        cursor = found["cursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert!(answers > 12, "{answers}");
    let whole = |name: &String| {
        let numbered: String = long.lines().enumerate().map(|(at, line)| format!("{}:{line}\n", at + 1)).collect();
        format!("{name}\n{numbered}")
    };
    assert_eq!(lines, names.iter().map(whole).collect::<Vec<_>>().join("\n"));
}

#[test]
fn get_reads_a_file_as_it_is_as_it_was_and_what_changed() {
    let mut host = with_a_tree();
    let now = host.call("get", json!({"tree": "code", "path": "src/a.rs", "from_line": 2}));
    assert_eq!((&now["file"]["text"], &now["file"]["from_line"]), (&json!("fn three() { one() }\n"), &json!(2)));
    let was = host.call("get", json!({"tree": "code", "path": "src/a.rs", "as_of": "v1"}));
    assert!(was["file"]["text"].as_str().unwrap().contains("two"));
    let version = was["file"]["version"].as_u64().unwrap().to_string();
    let again = host.call("get", json!({"tree": "code", "path": "src/a.rs", "as_of": version}));
    assert_eq!(again["file"]["text"], was["file"]["text"]);
    let (changed, text) = host.call_with_text("get", json!({"tree": "code", "path": "src", "diff": "v1"}));
    let patch = changed["file"]["text"].as_str().unwrap();
    assert!(patch.contains("-fn two() { one() }\n+fn three() { one() }\n"), "{patch}");
    assert!(text.contains("+fn three"));
    assert!(host.tool_refuses("get", json!({"tree": "code", "path": "none"})).contains("nothing at"));
    assert!(host.tool_refuses("get", json!({"path": "src/a.rs", "as_of": "v1"})).contains("tree"));
    assert!(host.tool_refuses("get", json!({"tree": "code", "path": "src"})).contains("folder"));
    assert!(
        host.tool_refuses("get", json!({"tree": "code", "path": "src/a.rs", "from_line": 9})).contains("from_line")
    );
}

#[test]
fn a_long_file_comes_in_parts_that_join_to_the_whole() {
    let mut host = Host::new();
    let long: String = (0..3000).map(|n| format!("Zeile {n}: zwölf Vögel 鳥\n")).collect();
    store(&host, &[("long.txt", &long)]);
    let (mut text, mut cursor) = (String::new(), json!(null));
    loop {
        let mut asked = json!({"tree": "code", "path": "long.txt"});
        if !cursor.is_null() {
            asked["cursor"] = cursor.clone();
        }
        let part = host.call("get", asked);
        assert_eq!(part["file"]["from_line"].as_u64().unwrap() as usize, text.matches('\n').count() + 1);
        text += part["file"]["text"].as_str().unwrap();
        cursor = part["cursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(text, long);
}

#[test]
fn list_tells_of_trees_their_files_versions_snapshots_and_changes() {
    let mut host = with_a_tree();
    let all = host.call("list", json!({}));
    assert_eq!((&all["trees"][0]["tree"], &all["trees"][0]["files"]), (&json!("code"), &json!(2)));
    let names = |answer: &serde_json::Value| {
        let entries = answer["entries"].as_array().unwrap();
        entries.iter().map(|entry| format!("{} {}", entry["name"], entry["what"])).collect::<Vec<_>>()
    };
    let files = host.call("list", json!({"tree": "code"}));
    assert_eq!(names(&files), [r#""notes.md" "file""#, r#""src/a.rs" "file""#]);
    let versions = host.call("list", json!({"tree": "code", "what": "versions", "path": "src/a.rs"}));
    assert_eq!(names(&versions).len(), 2);
    let snapshots = host.call("list", json!({"tree": "code", "what": "snapshots"}));
    assert_eq!(names(&snapshots), [r#""v1" "snapshot""#]);
    let changes = host.call("list", json!({"tree": "code", "what": "changes", "since": "v1"}));
    assert_eq!(names(&changes), [r#""src/a.rs" "modified""#]);
    assert!(host.tool_refuses("list", json!({"tree": "code", "what": "changes"})).contains("since"));
    assert!(host.tool_refuses("list", json!({"what": "snapshots", "collection": "notes"})).contains("notes"));
}

#[test]
fn code_tells_where_names_are_defined_and_called_and_how_sure_that_is() {
    let mut host = with_a_tree();
    let defined = host.call("code", json!({"ask": "definitions", "name": "one"}));
    assert_eq!(defined["lines"].as_array().unwrap().len(), 1, "{defined}");
    assert!(defined["lines"][0].as_str().unwrap().starts_with("src/a.rs:1 function one"), "{defined}");
    let (callers, text) = host.call_with_text("code", json!({"ask": "callers", "name": "one", "tree": "code"}));
    assert!(callers["lines"][0].as_str().unwrap().contains("in three"), "{callers}");
    assert!(text.contains("certain"), "{text}");
    let then = host.call("code", json!({"ask": "callers", "name": "one", "as_of": "v1"}));
    assert!(then["lines"][0].as_str().unwrap().contains("in two"), "{then}");
    let outline = host.call("code", json!({"ask": "outline", "name": "src/a.rs"}));
    assert_eq!(outline["lines"].as_array().unwrap().len(), 2);
    let (_, map) = host.call_with_text("code", json!({"ask": "map"}));
    assert!(map.contains("outline"), "{map}");
    store(&host, &[("src/b.rs", "use crate::a::one;\nfn four() { one() }\n")]);
    let map = host.call("code", json!({"ask": "map"}));
    assert!(map["lines"][0].as_str().unwrap().contains("one"), "{map}");
    assert!(host.tool_refuses("code", json!({"ask": "callers"})).contains("name"));
    assert!(host.tool_refuses("code", json!({"ask": "impact", "name": "one", "depth": 99})).contains("depth"));
}
