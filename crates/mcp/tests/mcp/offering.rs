//! The capabilities on offer, to whom, and how they are described.

use std::collections::BTreeSet;

use nuthatch_mcp::BYTES_PER_TOKEN;
use serde_json::{Value, json};

use crate::host::Host;

fn names(tools: &[Value]) -> BTreeSet<String> {
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_string()).collect()
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| name.to_string()).collect()
}

#[test]
fn every_tool_is_annotated_and_described() {
    let mut host = Host::new();
    let tools = host.tools();
    assert_eq!(names(&tools), set(&["search", "get", "grep", "code", "list", "remember", "forget", "add_files"]));
    for tool in &tools {
        assert!(tool["description"].as_str().unwrap().starts_with("Use when "), "{tool}");
        let hints = &tool["annotations"];
        let reads = matches!(tool["name"].as_str().unwrap(), "search" | "get" | "grep" | "code" | "list");
        assert_eq!(hints["readOnlyHint"], reads, "{tool}");
        assert_eq!(hints["destructiveHint"], tool["name"] == "forget", "{tool}");
        assert_eq!(hints["openWorldHint"], false, "{tool}");
        assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{tool}");
        let arguments = tool["inputSchema"]["properties"].as_object().unwrap();
        assert!(arguments.values().all(|argument| argument["description"].is_string()), "{tool}");
        // The protocol takes no `true` for anything, as JSON Schema does.
        let parts = tool["outputSchema"]["properties"].as_object().unwrap();
        assert!(parts.values().all(Value::is_object), "{tool}");
        // Hosts are known that take one type for each argument and no references.
        let schema = tool["inputSchema"].to_string();
        assert!(!schema.contains("$ref") && !schema.contains("null") && !schema.contains("anyOf"), "{schema}");
    }
}

/// A host puts names, descriptions and arguments into every conversation; some put the rest there, too.
#[test]
fn all_tools_together_take_few_tokens() {
    let tools = Host::new().tools();
    assert!(tools.len() <= 8);
    let seen = |tool: &Value| json!([tool["name"], tool["description"], tool["inputSchema"]]).to_string().len();
    let seen = tools.iter().map(seen).sum::<usize>() / BYTES_PER_TOKEN;
    let all = Value::Array(tools).to_string().len() / BYTES_PER_TOKEN;
    assert!(seen <= 3_500 && all <= 6_400, "{seen} tokens of arguments and descriptions, {all} of everything");
}

#[test]
fn who_may_not_write_is_not_offered_what_writes_and_cannot_call_it() {
    let mut host = Host::with(|settings| settings.writes = false);
    assert_eq!(names(&host.tools()), set(&["search", "get", "grep", "code", "list"]));
    for (tool, arguments) in [
        ("remember", json!({"text": "x"})),
        ("forget", json!({"collection": "notes", "ids": ["x"]})),
        ("add_files", json!({"paths": ["."]})),
    ] {
        assert_eq!(host.is_refused("tools/call", json!({"name": tool, "arguments": arguments})).0, -32602);
    }
    let prompts = host.ask("prompts/list", json!({}));
    assert_eq!(prompts["prompts"].as_array().unwrap().len(), 1);
    host.is_refused("prompts/get", json!({"name": "save"}));
    assert!(host.database.collection_names().unwrap().is_empty());
}

#[test]
fn files_are_read_from_where_it_was_allowed_and_from_nowhere_else() {
    let mut host = Host::with(|settings| settings.folders.iter_mut().for_each(|folder| folder.push("open")));
    host.write("open/a.txt", "The open reed.\n");
    let secret = host.write("closed/b.txt", "The closed reed.\n");
    #[cfg(unix)]
    std::os::unix::fs::symlink(host.folder.path().join("closed"), host.folder.path().join("open/link")).unwrap();
    for path in [
        secret.as_str(),
        "../closed",
        "..",
        "/",
        #[cfg(unix)]
        "link/b.txt",
    ] {
        let text = host.tool_refuses("add_files", json!({"paths": [path]}));
        assert!(text.contains("is not allowed") && text.contains("--files"), "{text}");
    }
    assert_eq!(host.call("add_files", json!({"paths": ["."]}))["added"], 1);
    assert!(host.call("search", json!({"query": "closed"}))["hits"].as_array().unwrap().is_empty());
    let mut host = Host::with(|settings| settings.folders.clear());
    assert!(!names(&host.tools()).contains("add_files"));
}

#[test]
fn a_prompt_brings_what_was_found_with_its_sources() {
    let mut host = Host::new();
    let path = host.write("a.md", "The kingfisher needs clear water.\n");
    host.call("add_files", json!({"paths": ["."]}));
    let prompt =
        host.ask("prompts/get", json!({"name": "recall", "arguments": {"question": "what does a kingfisher need?"}}));
    let text = prompt["messages"][0]["content"]["text"].as_str().unwrap();
    assert!(text.contains("needs clear water") && text.contains(&path), "{text}");
    let save = host.ask("prompts/get", json!({"name": "save", "arguments": {"topic": "kingfishers"}}));
    assert!(save["messages"][0]["content"]["text"].as_str().unwrap().contains("about kingfishers"));
    let (_, message) = host.is_refused("prompts/get", json!({"name": "recall"}));
    assert!(message.contains("question"), "{message}");
    let reference = json!({"type": "ref/prompt", "name": "recall"});
    let asked = json!({"ref": reference, "argument": {"name": "collection", "value": "doc"}});
    assert_eq!(host.ask("completion/complete", asked)["completion"]["values"], json!(["documents"]));
}
