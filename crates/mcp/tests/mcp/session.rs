//! A model's view of a session, from the first call to the last.

use serde_json::json;

use crate::host::Host;

#[test]
fn what_was_added_is_found_read_and_cited_and_what_was_forgotten_is_gone() {
    let mut host = Host::new();
    let path = host.write(
        "docs/birds.md",
        "# Birds\n\nThe osprey fishes in the lake.\n\n## Nest\n\nIts nest is a heap of branches.\n",
    );
    let added = host.call("add_files", json!({"paths": ["docs"]}));
    assert_eq!((&added["added"], &added["collection"]), (&json!(1), &json!("documents")));

    let (found, text) = host.call_with_text("search", json!({"query": "where does the osprey fish"}));
    let hit = &found["hits"][0];
    assert!(hit["text"].as_str().unwrap().contains("osprey"), "{found}");
    let source = hit["source"].as_str().unwrap();
    assert!(source.starts_with(&format!("{path}:")), "{source}");
    assert!(text.contains(source) && text.contains("The osprey fishes"), "{text}");
    assert!(hit["score"].as_f64().unwrap() > 0.0);

    let read = host.call("get", json!({"ids": [hit["id"]], "collection": hit["collection"]}));
    assert_eq!(read["records"][0]["text"], hit["text"]);
    let file = host.call("get", json!({"path": "docs/birds.md"}));
    let texts: Vec<&str> =
        file["records"].as_array().unwrap().iter().map(|record| record["text"].as_str().unwrap()).collect();
    assert!(texts.concat().contains("osprey") && texts.concat().contains("heap of branches"), "{file}");

    let note = json!({"text": "The team calls the osprey by the name Otto.", "fields": {"topic": "names"}});
    let remembered = host.call("remember", note.clone());
    assert_eq!(remembered["outcome"], "added");
    assert_eq!(host.call("remember", note)["outcome"], "unchanged");
    let found = host.call("search", json!({"query": "what is the osprey called, Otto", "where": "topic = 'names'"}));
    assert_eq!(found["hits"].as_array().unwrap().len(), 1, "{found}");
    assert_eq!(found["hits"][0]["id"], remembered["id"]);
    assert!(found["hits"][0]["fields"]["remembered"].is_string());
    assert!(found["notes"][0].as_str().unwrap().contains("documents was left out"), "{found}");
    let everywhere = host.call("search", json!({"query": "osprey"}));
    assert_eq!(everywhere["hits"].as_array().unwrap().len(), 2, "{everywhere}");

    let better = json!({"text": "The osprey is called Olga since May.", "id": remembered["id"]});
    assert_eq!(host.call("remember", better)["outcome"], "replaced");
    assert!(host.call("search", json!({"query": "Otto"}))["hits"].as_array().unwrap().is_empty());

    let would = host.call("forget", json!({"collection": "notes", "ids": [remembered["id"]], "dry_run": true}));
    assert_eq!((&would["records"], &would["dry_run"]), (&json!(1), &json!(true)));
    assert_eq!(host.call("search", json!({"query": "Olga"}))["hits"].as_array().unwrap().len(), 1);
    let forgotten = host.call("forget", json!({"collection": "notes", "ids": [remembered["id"]]}));
    assert_eq!(forgotten["records"], 1);
    assert!(host.call("search", json!({"query": "Olga"}))["hits"].as_array().unwrap().is_empty());
    assert_eq!(host.leave(), Vec::<serde_json::Value>::new());
}

#[test]
fn files_that_a_condition_forgets_are_read_again_when_they_are_added_again() {
    let mut host = Host::new();
    host.write("a.md", "The heron stands in the reeds.\n");
    host.write("b.md", "The bittern hides in the reeds.\n");
    host.call("add_files", json!({"paths": ["."]}));
    let condition = json!({"collection": "documents", "where": "name = 'a.md'"});
    assert_eq!(host.call("forget", condition)["files"], 1);
    let left = host.call("search", json!({"query": "reeds"}));
    assert_eq!(left["hits"].as_array().unwrap().len(), 1);
    let added = host.call("add_files", json!({"paths": ["."]}));
    assert_eq!((&added["added"], &added["unchanged"]), (&json!(1), &json!(1)));
    let path = left["hits"][0]["source"].as_str().unwrap().rsplit_once(':').unwrap().0.to_string();
    assert_eq!(host.call("forget", json!({"collection": "documents", "path": path}))["files"], 1);
    let listed = host.call("list", json!({"collection": "documents"}));
    assert_eq!(listed["files"].as_array().unwrap().len(), 1, "{listed}");
}

#[test]
fn what_goes_wrong_is_told_with_what_to_do() {
    let mut host = Host::new();
    assert!(host.call("search", json!({"query": "x"}))["notes"][0].as_str().unwrap().contains("empty"));
    host.call("remember", json!({"text": "one thing"}));
    for (tool, arguments, said) in [
        ("search", json!({}), "missing field `query`"),
        ("search", json!({"query": "x", "limit": -1}), "limit: expected a whole number"),
        ("search", json!({"query": "x", "limit": "3"}), "got the string \"3\""),
        ("search", json!({"query": "x", "querry": "y"}), "unknown field `querry`"),
        ("search", json!({"query": "x", "collection": "nowhere"}), "there are: notes"),
        ("search", json!({"query": "x", "where": "topic ="}), "expected a value"),
        ("search", json!({"query": "x", "where": "topik = 1"}), "topik"),
        ("search", json!({"query": "x", "limit": 0}), "give 1 to 50"),
        ("search", json!({"query": "x", "max_tokens": 1}), "give 300 to 20000"),
        ("search", json!({"query": "x", "cursor": "?"}), "is not a cursor"),
        ("get", json!({}), "give `ids`, or `path`"),
        ("get", json!({"ids": ["nobody"]}), "no record has the id nobody"),
        ("get", json!({"path": "nowhere.md"}), "no file"),
        ("remember", json!({"text": "  "}), "empty"),
        ("remember", json!({"text": "x".repeat(40_000)}), "one note for each thing"),
        ("forget", json!({"collection": "notes"}), "give one of"),
        ("search", json!({"query": " "}), "the query is empty"),
        ("forget", json!({"collection": "nowhere", "ids": ["x"]}), "there are: notes"),
        ("list", json!({"what": "files"}), "name it"),
        ("add_files", json!({"paths": []}), "no paths"),
        ("add_files", json!({"paths": ["nowhere"]}), "nowhere"),
    ] {
        let text = host.tool_refuses(tool, arguments.clone());
        assert!(text.contains(said), "{tool} {arguments}: {text}");
    }
    let (code, message) = host.is_refused("tools/call", json!({"name": "fly", "arguments": {}}));
    assert_eq!(code, -32602);
    assert!(message.contains("search"), "{message}");
}
