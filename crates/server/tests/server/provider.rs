//! A provider of models in this process that says exactly what a test has it say.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

pub struct Provider {
    pub address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    say: Arc<Mutex<Say>>,
}

type Say = Box<dyn FnMut(&Seen) -> Said + Send>;

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Seen {
    pub method: String,
    pub path: String,
    headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// A response, in pieces.
pub struct Said {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub pieces: Vec<Piece>,
    /// The connection breaks off instead of ending.
    pub is_cut: bool,
}

pub enum Piece {
    Bytes(Vec<u8>),
    /// Not before the test says so.
    After(Receiver<()>),
}

impl Seen {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

impl Said {
    pub fn json(body: &Value) -> Self {
        Self::of("application/json", vec![body.to_string().into_bytes()])
    }

    pub fn events(pieces: Vec<Vec<u8>>) -> Self {
        Self::of("text/event-stream", pieces)
    }

    pub fn of(kind: &str, pieces: Vec<Vec<u8>>) -> Self {
        let pieces = pieces.into_iter().map(Piece::Bytes).collect();
        Self { status: 200, headers: vec![("content-type", kind.into())], pieces, is_cut: false }
    }
}

impl Provider {
    /// One that answers as OpenAI and Anthropic do.
    pub fn new() -> Self {
        Self::saying(|seen| usual(seen, "Names to numbers."))
    }

    pub fn saying(say: impl FnMut(&Seen) -> Said + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let provider = Self {
            address: listener.local_addr().unwrap(),
            seen: Arc::default(),
            say: Arc::new(Mutex::new(Box::new(say))),
        };
        let (seen, say) = (provider.seen.clone(), provider.say.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (seen, say) = (seen.clone(), say.clone());
                std::thread::spawn(move || converse(stream.unwrap(), &seen, &say));
            }
        });
        provider
    }

    /// From now on it says that.
    pub fn says(&self, say: impl FnMut(&Seen) -> Said + Send + 'static) {
        *self.say.lock().unwrap() = Box::new(say);
    }

    /// The requests that came.
    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    pub fn asked(&self) -> usize {
        self.seen.lock().unwrap().len()
    }
}

fn converse(mut stream: TcpStream, seen: &Mutex<Vec<Seen>>, say: &Mutex<Say>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let Some(request) = read(&mut reader) else { return };
    seen.lock().unwrap().push(request.clone());
    let Said { status, headers, pieces, is_cut } = (*say.lock().unwrap())(&request);
    let mut head = format!("HTTP/1.1 {status} Said\r\ntransfer-encoding: chunked\r\nconnection: close\r\n");
    headers.iter().for_each(|(name, value)| head += &format!("{name}: {value}\r\n"));
    // A client that has gone is part of some tests.
    stream.write_all(format!("{head}\r\n").as_bytes()).ok();
    for piece in pieces {
        match piece {
            Piece::Bytes(bytes) if bytes.is_empty() => {}
            Piece::Bytes(bytes) => {
                stream.write_all(&[format!("{:x}\r\n", bytes.len()).as_bytes(), &bytes, b"\r\n"].concat()).ok();
            }
            Piece::After(word) => drop(word.recv()),
        }
    }
    if !is_cut {
        stream.write_all(b"0\r\n\r\n").ok();
    }
}

fn read(reader: &mut BufReader<TcpStream>) -> Option<Seen> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|bytes| *bytes > 0)?;
    let mut words = line.split_whitespace();
    let (method, path) = (words.next()?.to_string(), words.next()?.to_string());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.push((name.to_lowercase(), value.to_string()));
    }
    let mut seen = Seen { method, path, headers, body: Vec::new() };
    let length = seen.header("content-length").map_or(0, |length| length.parse().unwrap());
    seen.body = vec![0; length];
    reader.read_exact(&mut seen.body).ok()?;
    Some(seen)
}

/// Returns a provider's usual response to a request.
pub fn usual(seen: &Seen, text: &str) -> Said {
    let asked = seen.json();
    let is_stream = asked["stream"] == true;
    match seen.path.rsplit('/').next().unwrap() {
        "messages" if is_stream => Said::events(messages_events(text)),
        "messages" => Said::json(&message(text)),
        "responses" if is_stream => Said::events(responses_events(text)),
        "responses" => Said::json(&response(text)),
        "embeddings" => Said::json(&embeddings(&asked["input"])),
        _ if is_stream => Said::events(chat_events(text)),
        _ => Said::json(&chat(text)),
    }
}

pub fn chat(text: &str) -> Value {
    let message = json!({ "role": "assistant", "content": text, "refusal": null });
    json!({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "gpt-4o-2026",
        "choices": [{ "index": 0, "message": message, "finish_reason": "stop", "logprobs": null }],
        "usage": { "prompt_tokens": 1000, "completion_tokens": 500, "total_tokens": 1500,
            "prompt_tokens_details": { "cached_tokens": 200 } },
    })
}

fn event(name: &str, data: &Value) -> Vec<u8> {
    let name = if name.is_empty() { String::new() } else { format!("event: {name}\n") };
    format!("{name}data: {data}\n\n").into_bytes()
}

pub fn chat_events(text: &str) -> Vec<Vec<u8>> {
    let chunk = |delta: Value, finish: Value| {
        let choice = json!({ "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish });
        event(
            "",
            &json!({ "id": "c", "object": "chat.completion.chunk", "created": 1, "model": "gpt", "choices": [choice] }),
        )
    };
    let mut events = vec![chunk(json!({ "role": "assistant", "content": "" }), Value::Null)];
    events.extend(text.split_inclusive(' ').map(|word| chunk(json!({ "content": word }), Value::Null)));
    events.push(chunk(json!({}), json!("stop")));
    events.push(b"data: [DONE]\n\n".to_vec());
    events
}

fn message(text: &str) -> Value {
    json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude", "stop_reason": "end_turn",
        "stop_sequence": null, "content": [{ "type": "text", "text": text }],
        "usage": { "input_tokens": 3, "output_tokens": 4 },
    })
}

pub fn messages_events(text: &str) -> Vec<Vec<u8>> {
    let mut begun = message(text);
    begun["content"] = json!([]);
    begun["stop_reason"] = Value::Null;
    let tell = |kind: &str, mut data: Value| {
        data["type"] = kind.into();
        event(kind, &data)
    };
    let says = json!({ "type": "text_delta", "text": text });
    let ended =
        json!({ "delta": { "stop_reason": "end_turn", "stop_sequence": null }, "usage": { "output_tokens": 4 } });
    vec![
        tell("message_start", json!({ "message": begun })),
        tell("ping", json!({})),
        tell("content_block_start", json!({ "index": 0, "content_block": { "type": "text", "text": "" } })),
        tell("content_block_delta", json!({ "index": 0, "delta": says })),
        tell("content_block_stop", json!({ "index": 0 })),
        tell("message_delta", ended),
        tell("message_stop", json!({})),
    ]
}

fn response(text: &str) -> Value {
    let part = json!({ "type": "output_text", "text": text, "annotations": [], "logprobs": [] });
    let said = json!({ "id": "m", "type": "message", "role": "assistant", "status": "completed", "content": [part] });
    json!({
        "id": "resp_1", "object": "response", "created_at": 1, "model": "gpt", "status": "completed", "output": [said],
        "usage": { "input_tokens": 3, "output_tokens": 4, "total_tokens": 7 },
    })
}

pub fn responses_events(text: &str) -> Vec<Vec<u8>> {
    let tell = |kind: &str, mut data: Value| {
        data["type"] = kind.into();
        event(kind, &data)
    };
    let place = json!({ "item_id": "m", "output_index": 0, "content_index": 0, "delta": text });
    vec![
        tell("response.created", json!({ "response": {} })),
        tell("response.output_text.delta", place),
        tell("response.completed", json!({ "response": response(text) })),
    ]
}

pub fn embeddings(input: &Value) -> Value {
    let inputs = match input {
        Value::Array(all) => all.clone(),
        one => vec![one.clone()],
    };
    let data = inputs.iter().enumerate();
    let data: Vec<Value> = data
        .map(|(at, one)| json!({ "object": "embedding", "index": at, "embedding": [one.to_string().len(), 0.5] }))
        .collect();
    let count = inputs.len() * 2;
    json!({ "object": "list", "model": "e", "data": data, "usage": { "prompt_tokens": count, "total_tokens": count } })
}
