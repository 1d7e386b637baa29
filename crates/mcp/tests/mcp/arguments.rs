//! Arguments: what the schemas say of them is so, and what cannot be meant is refused.

use nuthatch_link::{NewFact, Object, Record, payload_from_json};
use serde_json::{Value, json};

use crate::host::Host;

fn property(tools: &[Value], tool: &str, name: &str) -> Value {
    tools.iter().find(|listed| listed["name"] == tool).unwrap()["inputSchema"]["properties"][name].clone()
}

#[test]
fn the_bounds_of_a_schema_are_those_that_hold() {
    let mut host = Host::new();
    host.store("notes", (0..3).map(|at| format!("Heron {at}.")));
    let tools = host.tools();
    for (tool, name, arguments) in [
        ("search", "limit", json!({"query": "heron"})),
        ("search", "max_tokens", json!({"query": "heron"})),
        ("get", "max_tokens", json!({"ids": ["r0000"]})),
        ("list", "max_tokens", json!({})),
    ] {
        let property = property(&tools, tool, name);
        let (least, most) = (property["minimum"].as_u64().unwrap(), property["maximum"].as_u64().unwrap());
        let with = |value: u64| {
            let mut arguments = arguments.clone();
            arguments[name] = value.into();
            arguments
        };
        host.call(tool, with(least));
        host.call(tool, with(most));
        host.tool_refuses(tool, with(least - 1));
        host.tool_refuses(tool, with(most + 1));
    }
}

#[test]
fn a_cursor_goes_on_with_what_it_was_given_for_and_with_nothing_else() {
    let mut host = Host::new();
    host.store("notes", (0..40).map(|at| format!("Heron {at} stands beside a bittern.")));
    let asked = json!({"query": "heron", "limit": 5});
    let cursor = host.call("search", asked)["cursor"].clone();
    for other in [
        json!({"query": "bittern", "cursor": cursor}),
        json!({"query": "heron", "collection": "notes", "cursor": cursor}),
        json!({"query": "heron", "mode": "text", "cursor": cursor}),
    ] {
        assert!(host.tool_refuses("search", other).contains("with the same arguments"));
    }
    // How much of it is asked for is another matter.
    assert_eq!(
        host.call("search", json!({"query": "heron", "limit": 7, "cursor": cursor}))["hits"].as_array().unwrap().len(),
        7
    );
    let listing = json!({"collection": "notes", "what": "records", "max_tokens": 300});
    let cursor = host.call("list", listing)["cursor"].clone();
    assert!(cursor.is_string());
    for (tool, other) in [
        ("list", json!({"collection": "notes", "what": "files", "cursor": cursor})),
        ("list", json!({"cursor": cursor})),
        ("get", json!({"ids": ["r0000"], "cursor": cursor})),
    ] {
        assert!(host.tool_refuses(tool, other).contains("with the same arguments"));
    }
    host.call("list", json!({"collection": "notes", "what": "records", "cursor": cursor}));
}

#[test]
fn a_field_that_no_collection_has_is_told_with_the_fields_of_each() {
    let mut host = Host::new();
    host.write("a.md", "The osprey fishes.\n");
    host.call("add_files", json!({"paths": ["a.md"]}));
    host.call("remember", json!({"text": "The osprey is called Otto.", "fields": {"topic": "names"}}));
    let text = host.tool_refuses("search", json!({"query": "osprey", "where": "knd = 'markdown'"}));
    for said in ["collection documents: ", "collection notes: ", "kind", "topic"] {
        assert!(text.contains(said), "{said}: {text}");
    }
}

#[test]
fn reading_from_a_line_that_a_file_does_not_have_says_where_it_ends() {
    let mut host = Host::new();
    host.write("a.md", "One.\nTwo.\nThree.\n");
    host.call("add_files", json!({"paths": ["a.md"]}));
    assert!(host.call("get", json!({"path": "a.md", "from_line": 3}))["records"][0]["text"].is_string());
    let text = host.tool_refuses("get", json!({"path": "a.md", "from_line": 100}));
    assert!(text.contains("ends at line 3"), "{text}");
}

#[test]
fn remembering_a_known_text_without_fields_keeps_those_that_it_has() {
    let mut host = Host::new();
    let text = "The osprey is called Otto.";
    let fields = |host: &mut Host, id: &Value| -> Value {
        let mut fields = host.call("get", json!({"collection": "notes", "ids": [id]}))["records"][0]["fields"].clone();
        fields.as_object_mut().unwrap().remove("remembered");
        fields
    };
    let id =
        host.call("remember", json!({"text": text, "fields": {"topic": "names", "tags": ["a", "b"]}}))["id"].clone();
    assert_eq!(host.call("remember", json!({"text": text}))["outcome"], "unchanged");
    assert_eq!(fields(&mut host, &id), json!({"topic": "names", "tags": ["a", "b"]}));
    assert_eq!(host.call("remember", json!({"text": text, "id": id}))["outcome"], "unchanged");
    assert_eq!(host.call("remember", json!({"text": text, "fields": {"topic": "birds"}}))["outcome"], "replaced");
    assert_eq!(fields(&mut host, &id), json!({"topic": "birds"}), "fields that are given are all that there are");
    let other = json!({"text": "The osprey is called Olga.", "id": id});
    assert_eq!(host.call("remember", other)["outcome"], "replaced");
    assert_eq!(fields(&mut host, &id), json!({}), "another text has fields of its own");
    host.call("remember", json!({"text": text, "id": id, "fields": {"topic": "names"}}));
    assert_eq!(host.call("remember", json!({"text": text, "id": id, "fields": {}}))["outcome"], "replaced");
    assert_eq!(fields(&mut host, &id), json!({}));
}

#[test]
fn forgetting_what_is_gone_is_done_already() {
    let mut host = Host::new();
    let id = host.call("remember", json!({"text": "The osprey is called Otto."}))["id"].clone();
    for records in [1, 0] {
        assert_eq!(host.call("forget", json!({"collection": "notes", "ids": [id]}))["records"], records);
    }
    let (gone, text) = host.call_with_text("forget", json!({"collection": "notes", "path": "nowhere"}));
    assert_eq!((&gone["records"], &gone["files"]), (&json!(0), &json!(0)));
    assert!(text.contains("nothing to forget"), "{text}");
}

#[test]
fn facets_are_asked_alone_and_with_a_search_and_hits_are_grouped() {
    let mut host = Host::new();
    let notes = host.database.collection("notes", Default::default()).unwrap();
    let team = |n: usize| if n.is_multiple_of(2) { "core" } else { "ops" };
    let payload = |n: usize| payload_from_json(json!({"team": team(n), "n": n})).unwrap();
    let record = |n: usize| Record::new(n.to_string()).text("red fish").payload(payload(n));
    notes.upsert((0..9).map(record).collect()).unwrap();
    let question = json!({"fields": ["team"], "where": "n > 0"});
    let asked = json!({"collection": "notes", "ask": "facets", "question": question});
    let (asked, text) = host.call_with_text("list", asked);
    let values = json!([{"value": "core", "count": 4}, {"value": "ops", "count": 4}]);
    assert_eq!(asked["answer"]["facets"][0]["values"], values);
    assert!(text.contains("4  core"), "{text}");
    let found = host.call("search", json!({"query": "fish", "where": "n > 0", "facets": ["team"], "group_by": "team"}));
    assert_eq!(found["hits"].as_array().unwrap().len(), 2);
    assert_eq!(found["facets"][0]["facets"][0]["values"], values);
    let none = host.call("search", json!({"query": "fish", "mode": "text", "score_threshold": 1e6}));
    assert_eq!(none["hits"], json!([]));
    let refused = host.tool_refuses("list", json!({"collection": "notes", "ask": "facts"}));
    assert!(refused.contains("facets"), "{refused}");
}

#[test]
fn facts_are_listed_and_asked_in_place_of_a_collection() {
    let mut host = Host::new();
    let facts = host.database.facts("people").unwrap();
    let fact = |object: &str| NewFact::new("Anna", "knows", Object::Entity(object.into()));
    facts.record(vec![fact("Ben"), fact("Carla")]).unwrap();
    assert_eq!(host.call("list", json!({}))["facts"], json!(["people"]));
    let found = host.call("list", json!({"facts": "people", "question": {"subject": "Anna", "object": "Ben"}}));
    assert_eq!(found["answer"]["facts"][0]["object"], "Ben");
    let why = host.call("list", json!({"facts": "people", "ask": "why", "question": {"number": 2}}));
    assert_eq!(why["answer"]["fact"]["object"], "Carla");
    let question = json!({"from": "Ben", "to": "Carla", "direction": "both"});
    let paths = host.call("list", json!({"facts": "people", "ask": "paths", "question": question}));
    assert_eq!(paths["answer"]["paths"][0]["cost"], 2.0);
    let refused = host.tool_refuses("list", json!({"facts": "people", "collection": "notes"}));
    assert!(refused.contains("`facts`"), "{refused}");
    let refused = host.tool_refuses("list", json!({"facts": "people", "ask": "record", "question": {"facts": []}}));
    assert!(refused.contains("record"), "{refused}");
    let refused = host.tool_refuses("list", json!({"facts": "nobody"}));
    assert!(refused.contains("people"), "{refused}");
}
