//! The Model Context Protocol at `/mcp`.

use std::io::{Read, Write};
use std::net::TcpStream;

use jiff::Timestamp;
use nuthatch_mcp::STREAMS_MAX;
use nuthatch_server::Scope;
use serde_json::{Value, json};

use crate::client::{Answer, Client};
use crate::place::Place;

const HEADERS: [(&str, &str); 3] = [
    ("content-type", "application/json"),
    ("accept", "application/json, text/event-stream"),
    ("mcp-protocol-version", "2025-11-25"),
];

fn post(client: &Client, more: &[(&str, &str)], method: &str, params: Value) -> Answer {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    client.send("POST", "/mcp", &[&HEADERS, more].concat(), body.to_string().into_bytes())
}

/// The result of a request.
#[track_caller]
fn ask(client: &Client, method: &str, params: Value) -> Value {
    let answered = post(client, &[], method, params).is(200);
    assert!(answered.get("error").is_none(), "{answered}");
    answered["result"].clone()
}

#[track_caller]
fn call(client: &Client, tool: &str, arguments: Value) -> Value {
    let result = ask(client, "tools/call", json!({"name": tool, "arguments": arguments}));
    assert_eq!(result["isError"], false, "{result}");
    result["structuredContent"].clone()
}

fn tools(client: &Client) -> Vec<String> {
    let tools = ask(client, "tools/list", json!({}));
    tools["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_string()).collect()
}

fn notes(client: &Client) {
    client.put("/v1/collections/notes", json!({"embedder": "none"})).is(201);
}

#[test]
fn a_model_remembers_finds_reads_and_forgets() {
    let place = Place::new();
    let client = place.client();
    notes(&client);
    let hello =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let answered = post(&client, &[], "initialize", hello);
    assert_eq!(answered.header("mcp-session-id"), None);
    assert_eq!(answered.is(200)["result"]["serverInfo"]["name"], "nuthatch");
    assert_eq!(
        tools(&client),
        ["search", "get", "grep", "code", "list", "remember", "forget"],
        "no tool reads the server's files"
    );

    let remembered = call(&client, "remember", json!({"text": "The osprey is called Otto."}));
    client
        .send("PUT", "/v1/collections/notes/files?path=docs/birds.md", &[], b"# Nest\n\nA heap of branches.\n".to_vec())
        .is(200);
    let found = call(&client, "search", json!({"query": "what is the osprey called"}));
    assert_eq!(found["hits"][0]["id"], remembered["id"]);
    let found = call(&client, "search", json!({"query": "branches"}));
    assert_eq!(found["hits"][0]["source"], "docs/birds.md:1-3", "{found}");
    let read = call(&client, "get", json!({"path": "docs/birds.md"}));
    assert!(read["records"][0]["text"].as_str().unwrap().contains("heap of branches"));
    assert_eq!(call(&client, "forget", json!({"collection": "notes", "ids": [remembered["id"]]}))["records"], 1);
    assert_eq!(call(&client, "search", json!({"query": "osprey"}))["hits"], json!([]));
    let refused = ask(&client, "tools/call", json!({"name": "search", "arguments": {}}));
    assert_eq!(refused["isError"], true);
    place.stop();
}

#[test]
fn both_revisions_of_the_protocol_are_spoken() {
    let place = Place::new();
    let client = place.client();
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let body =
        |method: &str| json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {"_meta": meta}}).to_string();
    for method in ["server/discover", "tools/list"] {
        let headers = [HEADERS[0], HEADERS[1], ("mcp-protocol-version", "2026-07-28"), ("mcp-method", method)];
        let answered = client.send("POST", "/mcp", &headers, body(method).into_bytes()).is(200);
        assert!(answered.get("error").is_none(), "{answered}");
    }
    let old = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": old}).to_string();
    let answered = client.send("POST", "/mcp", &HEADERS[..2], body.into_bytes()).is(200);
    assert_eq!(answered["result"]["protocolVersion"], "2025-06-18");
    place.stop();
}

#[test]
fn a_call_that_takes_several_steps_tells_whoever_wants_to_know() {
    let place = Place::new();
    let client = place.client();
    for name in ["notes", "other", "third"] {
        client.put(&format!("/v1/collections/{name}"), json!({"embedder": "none"})).is(201);
    }
    call(&client, "remember", json!({"collection": "notes", "text": "The osprey is called Otto."}));
    let search = |meta: Value| {
        let arguments = json!({"name": "search", "arguments": {"query": "osprey"}, "_meta": meta});
        post(&client, &[], "tools/call", arguments)
    };
    // On a busy machine an answer may overtake its first step, and is then plain JSON.
    let is_told = |answer: &Answer| answer.header("content-type") == Some("text/event-stream");
    let told =
        (0..50).map(|_| search(json!({"progressToken": "mine"}))).find(is_told).expect("some search tells a step");
    assert_eq!(told.status, 200);
    let told = told.text();
    let messages: Vec<Value> = told
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .filter_map(|data| serde_json::from_str(data).ok())
        .collect();
    let (answer, steps) = messages.split_last().unwrap();
    assert_eq!(answer["result"]["structuredContent"]["hits"][0]["text"], "The osprey is called Otto.");
    assert!(!steps.is_empty(), "{told}");
    for step in steps {
        assert_eq!(
            (&step["method"], &step["params"]["progressToken"]),
            (&json!("notifications/progress"), &json!("mine"))
        );
        assert_eq!(step["params"]["total"], 3.0);
    }
    let untold = search(json!({}));
    assert_eq!(untold.header("content-type"), Some("application/json"), "whoever asks for nothing gets one document");
    place.stop();
}

/// A stream of notifications that is being read.
struct Listening {
    stream: TcpStream,
    said: String,
}

impl Listening {
    fn begin(place: &Place, key: &str, notifications: Value) -> Self {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let params = json!({"notifications": notifications, "_meta": meta});
        let body = json!({"jsonrpc": "2.0", "id": 7, "method": "subscriptions/listen", "params": params}).to_string();
        let mut stream = TcpStream::connect(place.address).unwrap();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {key}\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\nmcp-method: subscriptions/listen\r\n\
             connection: close\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        Self { stream, said: String::new() }
    }

    /// Reads until it has said one of these; what it had said before, and this.
    #[track_caller]
    fn until(&mut self, wanted: &[&str]) -> String {
        let mut bytes = [0; 4096];
        loop {
            let ends = wanted.iter().filter_map(|wanted| Some(self.said.find(wanted)? + wanted.len()));
            if let Some(end) = ends.min() {
                let rest = self.said.split_off(end);
                return std::mem::replace(&mut self.said, rest);
            }
            let read = self.stream.read(&mut bytes).unwrap();
            assert_ne!(read, 0, "it ended without {wanted:?}: {}", self.said);
            self.said += &String::from_utf8_lossy(&bytes[..read]);
        }
    }

    /// The same while something is changed again and again: the first look may come after the first change.
    fn until_while(&mut self, wanted: &[&str], mut change: impl FnMut(u32)) -> String {
        std::thread::scope(|scope| {
            let told = scope.spawn(|| self.until(wanted));
            for round in 0.. {
                if told.is_finished() {
                    break;
                }
                change(round);
                std::thread::sleep(std::time::Duration::from_millis(50));
            }
            told.join().unwrap()
        })
    }

    fn rest(mut self) -> String {
        self.stream.read_to_string(&mut self.said).unwrap();
        self.said
    }
}

const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";

#[test]
fn whoever_listens_is_told_what_has_changed_of_their_own() {
    let mut place = Place::new();
    let key = |tenant: &str, scopes: &[Scope]| place.key(tenant, scopes);
    let admin = place.client().with_key(&key("default", &[Scope::Admin]));
    admin.put("/v1/tenants/acme", json!({})).is(201);
    let (ours, theirs) = (key("default", &[Scope::Read, Scope::Write]), key("acme", &[Scope::Read, Scope::Write]));
    let [mine, other] = [&ours, &theirs].map(|key| place.client().with_key(key));
    notes(&mine);
    notes(&other);
    let uri = "nuthatch://collections/notes/records/a";
    let wanted = json!({"resourcesListChanged": true, "toolsListChanged": true, "resourceSubscriptions": [uri, "file:///etc/passwd"]});
    let mut listening = Listening::begin(&place, &ours, wanted.clone());
    listening.until(&[ACKNOWLEDGED]);
    let accepted = listening.until(&["\n"]);
    assert!(
        accepted.contains(uri) && !accepted.contains("passwd") && !accepted.contains("toolsListChanged"),
        "{accepted}"
    );
    let write = |client: &Client, text: &str| {
        let record = json!({"records": [{"id": "a", "text": text}]});
        client.post("/v1/collections/notes/records", record).is(200);
    };
    let before = listening.until_while(&["notifications/resources/updated"], |round| {
        write(&mine, &format!("mine {round}"));
    });
    assert!(!before.contains("list_changed"), "{before}");
    assert!(listening.until(&["\n"]).contains(uri));
    // Another tenant's writes are nobody else's business: what comes next is of the new collections.
    write(&other, "theirs");
    other.put("/v1/collections/more", json!({"embedder": "none"})).is(201);
    let said = listening.until_while(&["notifications/resources/list_changed"], |round| {
        mine.put(&format!("/v1/collections/new{round}"), json!({"embedder": "none"})).is(201);
    });
    assert!(!said.contains("theirs") && !said.contains("more"), "{said}");
    // The tenant's own stream; a key that is revoked is told nothing more.
    let mut revoked = Listening::begin(&place, &theirs, wanted);
    revoked.until(&[ACKNOWLEDGED]);
    place.keys().revoke(theirs.split('_').nth(1).unwrap(), Timestamp::now()).unwrap();
    let end = revoked.rest();
    assert!(end.contains("unauthenticated") && !end.contains("resources/"), "{end}");
    // A server that stops waits for nobody who only listens.
    place.tell_to_stop();
    let end = listening.rest();
    assert!(end.contains("\"id\":7") && end.contains("result"), "{end}");
    place.stop();
}

#[test]
fn a_tenant_has_no_more_streams_than_it_may() {
    let place = Place::new();
    let key = place.key("default", &[Scope::Read, Scope::Write]);
    let client = place.client().with_key(&key);
    let begin = || {
        let mut listening = Listening::begin(&place, &key, json!({"resourcesListChanged": true}));
        listening.until(&[ACKNOWLEDGED]);
        listening
    };
    let open: Vec<Listening> = (0..STREAMS_MAX).map(|_| begin()).collect();
    let refused = begin().rest();
    assert!(refused.contains("are open already"), "{refused}");
    drop(open);
    // The server sees by and by that they have gone.
    let mut made = 0;
    let mut is_refused = || {
        let said = begin().until_while(&["are open already", "list_changed"], |_| {
            made += 1;
            client.put(&format!("/v1/collections/new{made}"), json!({"embedder": "none"})).is(201);
        });
        said.contains("are open already")
    };
    while is_refused() {}
    place.stop();
}

#[test]
fn a_key_says_whose_memory_it_is_and_what_may_be_done() {
    let place = Place::new();
    let reader = place.key("default", &[Scope::Read]);
    let writer = place.key("default", &[Scope::Read, Scope::Write]);
    let admin = place.client().with_key(&place.key("default", &[Scope::Admin]));
    admin.put("/v1/tenants/acme", json!({})).is(201);
    let acme = place.client().with_key(&place.key("acme", &[Scope::Read, Scope::Write]));
    let [reader, writer] = [reader, writer].map(|key| place.client().with_key(&key));
    notes(&writer);
    notes(&acme);
    post(&place.client(), &[], "tools/list", json!({})).fails(401, "unauthenticated");
    post(&place.client().with_key("nuthatch_1_2"), &[], "tools/list", json!({})).fails(401, "unauthenticated");

    assert_eq!(tools(&reader), ["search", "get", "grep", "code", "list"]);
    call(&writer, "remember", json!({"text": "The heron is ours."}));
    call(&acme, "remember", json!({"text": "The heron is theirs."}));
    for (client, text) in [(&reader, "The heron is ours."), (&acme, "The heron is theirs.")] {
        let found = call(client, "search", json!({"query": "heron"}));
        assert_eq!(found["hits"].as_array().unwrap().len(), 1);
        assert_eq!(found["hits"][0]["text"], text);
    }
    let refused = post(&reader, &[], "tools/call", json!({"name": "remember", "arguments": {"text": "x"}})).is(200);
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    place.stop();
}

#[test]
fn limits_of_a_tenant_hold_here_too() {
    let place = Place::new();
    let admin = place.client().with_key(&place.key("default", &[Scope::Admin]));
    admin.put("/v1/tenants/acme", json!({})).is(201);
    admin.put("/v1/tenants/acme/limits", json!({"requests_per_second": 1})).is(200);
    let acme = place.client().with_key(&place.key("acme", &[Scope::Read]));
    let refused = (0..200).find_map(|_| {
        let result = ask(&acme, "tools/call", json!({"name": "list", "arguments": {}}));
        (result["isError"] == true).then(|| result["content"][0]["text"].as_str().unwrap().to_string())
    });
    let refused = refused.expect("two hundred questions were too many");
    assert!(refused.starts_with("exhausted: ") && refused.contains("\nNext: "), "{refused}");
    place.stop();
}

#[test]
fn pages_of_other_sites_and_names_of_other_machines_get_nothing() {
    let place = Place::new();
    let client = place.client();
    let list = |client: &Client, header: (&str, &str)| post(client, &[header], "tools/list", json!({}));
    list(&client, ("origin", "http://localhost:6274")).is(200);
    for header in [("origin", "https://example.org"), ("origin", "null"), ("host", "example.org")] {
        list(&client, header).fails(403, "forbidden");
    }
    // A key opens for programs wherever they are, and for no page.
    let client = client.with_key(&place.key("default", &[Scope::Read]));
    list(&client, ("host", "memory.example.org")).is(200);
    list(&client, ("origin", "https://example.org")).fails(403, "forbidden");
    place.stop();
}

#[test]
fn json_that_is_no_message_is_an_invalid_request_of_the_protocol() {
    let place = Place::new();
    let client = place.client();
    let ping = |id: u64| json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
    for (body, id, said) in [
        (json!({}), Value::Null, "not a JSON-RPC 2.0 message"),
        (json!({"jsonrpc": "1.0", "id": 7, "method": "ping"}), json!(7), "not a JSON-RPC 2.0 message"),
        (json!({"jsonrpc": "2.0", "id": [1], "method": 1}), Value::Null, "not a JSON-RPC 2.0 message"),
        (json!(3), Value::Null, "not a JSON-RPC 2.0 message"),
        (json!([ping(1), ping(2)]), Value::Null, "send each message in its own request"),
        (json!([]), Value::Null, "send each message in its own request"),
    ] {
        for revision in ["2025-03-26", "2025-11-25"] {
            let headers = [HEADERS[0], HEADERS[1], ("mcp-protocol-version", revision)];
            let answered = client.send("POST", "/mcp", &headers, body.to_string().into_bytes()).is(400);
            assert_eq!((&answered["id"], &answered["error"]["code"]), (&id, &json!(-32600)), "{body}: {answered}");
            assert!(answered["error"]["message"].as_str().unwrap().contains(said), "{body}: {answered}");
        }
    }
    place.stop();
}

#[test]
fn what_is_no_request_is_refused_and_nothing_is_kept() {
    let place = Place::with(|config| config.body_max_bytes = 4096);
    let client = place.client();
    client.get("/mcp").fails(405, "invalid");
    client.delete("/mcp").fails(405, "invalid");
    client.send("POST", "/mcp", &HEADERS[..2], b"{".to_vec()).fails(400, "invalid");
    assert_eq!(client.send("POST", "/mcp", &HEADERS[1..], b"{}".to_vec()).status, 415);
    assert_eq!(client.send("POST", "/mcp", &HEADERS[..1], b"{}".to_vec()).status, 406);
    let long = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"x": "x".repeat(8192)}});
    client.send("POST", "/mcp", &HEADERS, long.to_string().into_bytes()).fails(413, "exhausted");
    let notice = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(client.send("POST", "/mcp", &HEADERS, notice.to_string().into_bytes()).status, 202);
    let unknown = post(&client, &[("mcp-session-id", "anything")], "no/such/method", json!({})).is(200);
    assert_eq!(unknown["error"]["code"], -32601, "{unknown}");
    place.stop();
}

#[test]
fn a_question_under_way_is_answered_before_the_server_stops() {
    let mut place = Place::new();
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "list", "arguments": {}}})
        .to_string();
    let mut waiting = TcpStream::connect(place.address).unwrap();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\n\
         expect: 100-continue\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    waiting.write_all(head.as_bytes()).unwrap();
    let mut begun = [0; 25];
    waiting.read_exact(&mut begun).unwrap();
    assert!(begun.starts_with(b"HTTP/1.1 100"));
    place.tell_to_stop();
    while TcpStream::connect(place.address).is_ok() {
        std::thread::yield_now();
    }
    waiting.write_all(body.as_bytes()).unwrap();
    let mut said = String::new();
    waiting.read_to_string(&mut said).unwrap();
    assert!(said.starts_with("HTTP/1.1 200") && said.contains("\"id\":7"), "{said}");
    place.stop();
}
