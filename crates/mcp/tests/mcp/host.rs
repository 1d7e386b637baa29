//! A host that speaks the protocol line by line with a handler over a real folder.

use std::path::Path;
use std::thread::JoinHandle;

use nuthatch_link::{CollectionOptions, Database, EmbedderChoice, Options, Record};
use nuthatch_mcp::{Access, Handler, Local, Settings, serve};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf};
use tokio::runtime::{Builder, Runtime};

pub struct Host {
    pub database: Database,
    pub folder: tempfile::TempDir,
    runtime: Runtime,
    input: WriteHalf<DuplexStream>,
    output: Lines<BufReader<ReadHalf<DuplexStream>>>,
    serving: JoinHandle<nuthatch_link::Result<()>>,
    asked: u64,
    /// Unsolicited messages: progress.
    pub notifications: Vec<Value>,
}

/// Words alone: no model is needed.
pub fn settings(folder: &Path) -> Settings {
    Settings { embedder: EmbedderChoice::None, folders: vec![folder.to_path_buf()], ..Settings::default() }
}

impl Host {
    /// With everything that `nuthatch mcp` offers, over an empty folder.
    pub fn new() -> Self {
        Self::with(|_| ())
    }

    pub fn with(change: impl FnOnce(&mut Settings)) -> Self {
        Self::asking(Local::new, change)
    }

    /// Where calls go another way than straight to the engine.
    pub fn asking<A: Access>(access: impl FnOnce(Database) -> A, change: impl FnOnce(&mut Settings)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let database = Database::open(folder.path().join("memory"), Options::default()).unwrap();
        let mut settings = settings(folder.path());
        change(&mut settings);
        let current_thread = || Builder::new_current_thread().enable_all().build().unwrap();
        let (here, there) = tokio::io::duplex(1 << 20);
        let ((output, input), (their_input, their_output)) = (tokio::io::split(here), tokio::io::split(there));
        let handler = Handler::new(access(database.clone()), settings);
        // As in the program: one thread moves messages, others do the work.
        let serving = std::thread::spawn(move || {
            current_thread().block_on(serve(handler, their_input, their_output, std::future::pending()))
        });
        let runtime = current_thread();
        let output = BufReader::new(output).lines();
        let mut host = Self { database, folder, runtime, input, output, serving, asked: 0, notifications: Vec::new() };
        let hello = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        });
        let hello = host.ask("initialize", hello);
        assert_eq!(hello["serverInfo"]["name"], "nuthatch");
        assert_eq!(hello["protocolVersion"], "2025-11-25");
        host.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        host
    }

    /// Writes a file next to the memory.
    pub fn write(&self, name: &str, text: &str) -> String {
        let path = self.folder.path().canonicalize().unwrap().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_string()
    }

    /// Records with these texts, by number.
    pub fn store(&self, collection: &str, texts: impl IntoIterator<Item = String>) {
        let options = CollectionOptions { embedder: EmbedderChoice::None, ..CollectionOptions::default() };
        let collection = self.database.collection(collection, options).unwrap();
        let records = texts.into_iter().enumerate().map(|(at, text)| Record::new(format!("r{at:04}")).text(text));
        collection.upsert(records.collect()).unwrap();
    }

    pub fn say(&mut self, message: &Value) {
        let line = format!("{message}\n");
        self.runtime.block_on(self.input.write_all(line.as_bytes())).unwrap();
    }

    /// Asks without waiting; the answer's number.
    pub fn begin(&mut self, method: &str, params: Value) -> u64 {
        self.asked += 1;
        let id = self.asked;
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// The next message.
    pub fn hear(&mut self) -> Value {
        let line = self.runtime.block_on(self.output.next_line()).unwrap().expect("the handler went");
        serde_json::from_str(&line).unwrap()
    }

    fn answered(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params);
        loop {
            let heard = self.hear();
            if heard["id"] == id {
                return heard;
            }
            assert!(heard.get("id").is_none(), "{heard}");
            self.notifications.push(heard);
        }
    }

    /// The result of a request.
    #[track_caller]
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let answered = self.answered(method, params);
        assert!(answered.get("error").is_none(), "{answered}");
        answered["result"].clone()
    }

    /// Code and message of a request that is refused by the protocol.
    #[track_caller]
    pub fn is_refused(&mut self, method: &str, params: Value) -> (i64, String) {
        let answered = self.answered(method, params);
        let error = &answered["error"];
        (error["code"].as_i64().unwrap_or_else(|| panic!("{answered}")), error["message"].as_str().unwrap().into())
    }

    /// Calls a tool, checks that its answer conforms to its schema, and returns the answer.
    #[track_caller]
    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.call_with_text(tool, arguments).0
    }

    /// The same, and what models read that are given no structure.
    #[track_caller]
    pub fn call_with_text(&mut self, tool: &str, arguments: Value) -> (Value, String) {
        let result = self.ask("tools/call", json!({"name": tool, "arguments": arguments}));
        assert_eq!(result["isError"], false, "{result}");
        let answer = result["structuredContent"].clone();
        let schema = self.tools().into_iter().find(|listed| listed["name"] == tool).unwrap()["outputSchema"].clone();
        conforms(&answer, &schema);
        (answer, result["content"][0]["text"].as_str().unwrap().to_string())
    }

    /// Returns the refusal that a tool gives the model.
    #[track_caller]
    pub fn tool_refuses(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.ask("tools/call", json!({"name": tool, "arguments": arguments}));
        assert_eq!(result["isError"], true, "{result}");
        let text = result["content"][0]["text"].as_str().unwrap().to_string();
        assert!(text.contains("\nNext: "), "{text}");
        text
    }

    pub fn tools(&mut self) -> Vec<Value> {
        self.ask("tools/list", json!({}))["tools"].as_array().unwrap().clone()
    }

    /// Closes standard input, as a host does that ends; what the handler still said.
    pub fn leave(mut self) -> Vec<Value> {
        self.runtime.block_on(self.input.shutdown()).unwrap();
        let mut said = Vec::new();
        while let Some(line) = self.runtime.block_on(self.output.next_line()).unwrap() {
            said.push(serde_json::from_str(&line).unwrap());
        }
        self.serving.join().unwrap().unwrap();
        said
    }
}

/// As far as the words of our schemas go.
#[track_caller]
fn conforms(value: &Value, schema: &Value) {
    let is_kind = match schema["type"].as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("integer") => value.is_u64() || value.is_i64(),
        Some("number") => value.is_number(),
        Some("boolean") => value.is_boolean(),
        _ => true,
    };
    assert!(is_kind, "{value} is not {schema}");
    if let Some(choices) = schema["enum"].as_array() {
        assert!(choices.contains(value), "{value} is not {schema}");
    }
    for required in schema["required"].as_array().into_iter().flatten() {
        assert!(value.get(required.as_str().unwrap()).is_some(), "{value} lacks {required}");
    }
    for (name, value) in value.as_object().into_iter().flatten() {
        match schema["properties"].get(name) {
            Some(property) => conforms(value, property),
            None => assert!(schema.get("properties").is_none(), "{schema} knows no {name}"),
        }
    }
    for item in value.as_array().into_iter().flatten() {
        conforms(item, &schema["items"]);
    }
}
