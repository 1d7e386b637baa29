//! `nuthatch mcp`: a host starts it and talks to it.

use std::io::{BufRead, BufReader, Lines, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::support::Place;

/// A host and the program that it started.
struct Host {
    child: Child,
    input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
    asked: u64,
}

impl Host {
    fn start(place: &Place, more: &[&str]) -> Self {
        let arguments = [&["mcp", "--embedder", "none"], more].concat();
        let mut command = place.command(&arguments);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut host = Self { child, input, output, asked: 0 };
        let client = json!({"name": "test", "version": "1"});
        host.ask("initialize", json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}));
        host.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        host
    }

    fn say(&mut self, message: &Value) {
        writeln!(self.input.as_mut().unwrap(), "{message}").unwrap();
    }

    #[track_caller]
    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.asked += 1;
        self.say(&json!({"jsonrpc": "2.0", "id": self.asked, "method": method, "params": params}));
        let line = self.output.next().expect("the program ended").unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert_eq!((&answer["id"], answer.get("error")), (&json!(self.asked), None), "{answer}");
        answer["result"].clone()
    }

    #[track_caller]
    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let result = self.ask("tools/call", json!({"name": tool, "arguments": arguments}));
        assert_eq!(result["isError"], false, "{result}");
        result["structuredContent"].clone()
    }

    fn tools(&mut self) -> Vec<String> {
        let listed = self.ask("tools/list", json!({}));
        listed["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_string()).collect()
    }

    /// Closes standard input; exit code, and what the program still said on standard output and on standard error.
    fn leave(mut self) -> (Option<i32>, String, String) {
        drop(self.input.take());
        self.end()
    }

    fn end(mut self) -> (Option<i32>, String, String) {
        let rest: Vec<String> = self.output.map(Result::unwrap).collect();
        let mut errors = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
        (self.child.wait().unwrap().code(), rest.join("\n"), errors)
    }
}

#[test]
fn a_host_finds_what_was_added_and_what_it_remembers_stays() {
    let place = Place::with_documents();
    let mut host = Host::start(&place, &[]);
    assert_eq!(host.tools(), ["search", "get", "grep", "code", "list", "remember", "forget", "add_files"]);
    let found = host.call("search", json!({"query": "osprey"}));
    let source = place.path().join("alpha.md");
    assert!(found["hits"][0]["source"].as_str().unwrap().starts_with(source.to_str().unwrap()), "{found}");
    host.call("remember", json!({"text": "The osprey is called Otto.", "id": "otto"}));
    place.write("new.md", "The bittern booms.\n");
    assert_eq!(host.call("add_files", json!({"paths": ["new.md"]}))["added"], 1);
    assert_eq!(host.leave(), (Some(0), String::new(), String::new()));
    assert_eq!(place.json(&["search", "bittern", "--json"])["hits"].as_array().unwrap().len(), 1);
    assert_eq!(
        place.json(&["get", "otto", "--collection", "notes", "--json"])[0]["text"],
        "The osprey is called Otto."
    );
    place.run(&["doctor"]).succeeds();
}

#[test]
fn several_hosts_and_commands_share_a_folder() {
    let place = Place::with_documents();
    let mut first = Host::start(&place, &[]);
    let mut second = Host::start(&place, &[]);
    first.call("remember", json!({"text": "The heron is called Hanna."}));
    assert_eq!(second.call("search", json!({"query": "Hanna"}))["hits"].as_array().unwrap().len(), 1);
    place.run(&["search", "osprey"]).succeeds();
    // The one that held the folder goes; the other goes on.
    assert_eq!(first.leave().0, Some(0));
    second.call("remember", json!({"text": "The bittern is called Bruno."}));
    assert_eq!(second.call("search", json!({"query": "called"}))["hits"].as_array().unwrap().len(), 2);
    assert_eq!(second.leave().0, Some(0));
}

#[test]
fn a_host_that_may_only_read_is_given_no_tool_that_writes() {
    let place = Place::with_documents();
    let mut host = Host::start(&place, &["--read-only"]);
    assert_eq!(host.tools(), ["search", "get", "grep", "code", "list"]);
    host.call("search", json!({"query": "osprey"}));
    assert_eq!(host.leave().0, Some(0));
    let empty = Place::new();
    empty.run(&["mcp", "--read-only", "--data-dir", "memory"]).ends(3);
    assert!(!empty.path().join("memory").exists());
    place.run(&["mcp", "--read-only", "--files", "."]).ends(2);
}

#[test]
fn a_folder_is_made_where_it_was_named_and_nowhere_else() {
    let place = Place::new();
    let ran = place.run(&["mcp"]).ends(3);
    assert!(ran.err.contains("--data-dir"), "{}", ran.err);
    assert!(!place.data().exists());
    let mut host = Host::start(&place, &["--data-dir", "memory"]);
    host.call("remember", json!({"text": "The osprey is called Otto."}));
    let (code, out, _) = host.leave();
    assert_eq!((code, out.as_str()), (Some(0), ""));
    assert!(place.path().join("memory").exists());
}

#[test]
fn a_tenant_sees_its_own_memory() {
    let place = Place::with_documents();
    place.run(&["tenant", "create", "acme"]).succeeds();
    let mut host = Host::start(&place, &["--tenant", "acme"]);
    host.call("remember", json!({"text": "The osprey is ours."}));
    assert_eq!(host.call("search", json!({"query": "osprey"}))["hits"].as_array().unwrap().len(), 1);
    assert_eq!(host.leave().0, Some(0));
    assert_eq!(place.json(&["search", "osprey", "--json"])["hits"].as_array().unwrap().len(), 1);
}

#[test]
fn it_ends_with_its_host_and_in_good_order_when_told_to() {
    let place = Place::with_documents();
    // Hosts look whether it starts.
    place.run(&["mcp"]).ends(0);
    let mut host = Host::start(&place, &[]);
    host.call("remember", json!({"text": "The osprey is called Otto.", "id": "otto"}));
    let pid = rustix::process::Pid::from_child(&host.child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert_eq!(host.end(), (Some(0), String::new(), String::new()));
    place.run(&["get", "otto", "--collection", "notes"]).succeeds();
    place.run(&["doctor"]).succeeds();
}

#[test]
fn lines_that_are_no_requests_end_nothing() {
    let place = Place::with_documents();
    let mut host = Host::start(&place, &[]);
    // The server skips input that is not JSON: nothing in it says whom to answer.
    writeln!(host.input.as_mut().unwrap(), "hello\n{{}}").unwrap();
    let line: Value = serde_json::from_str(&host.output.next().unwrap().unwrap()).unwrap();
    assert_eq!(line["error"]["code"], -32600, "{line}");
    assert_eq!(host.call("search", json!({"query": "osprey"}))["hits"].as_array().unwrap().len(), 1);
    assert_eq!(host.leave().0, Some(0));
}
