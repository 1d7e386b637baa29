//! The cost of a search to a model's host, compared with the engine's own call.
//!
//! Data: records of 60 words from a vocabulary of 4,096 (a linear congruential generator, seed 1), without vectors; 2,000 questions of three words, 10
//! hits each, one after the other. `cargo build --workspace --release --example cost`, then
//! `target/release/examples/cost target/release/nuthatch [RECORDS]`

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nuthatch_link::{CollectionOptions, Database, EmbedderChoice, Options, Record, Search};
use serde_json::{Value, json};

const QUESTIONS: usize = 2_000;
const HITS: usize = 10;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let command = arguments.next().expect("give the path of the built `nuthatch`");
    let records = arguments.next().map_or(100_000, |number| number.parse().expect("a number of records"));
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("memory");
    let mut words = Words(1);
    fill(&folder, records, &mut words);
    let questions: Vec<String> = (0..QUESTIONS).map(|_| words.some(3)).collect();
    println!("{records} records, {QUESTIONS} questions, {HITS} hits each; microseconds a question");
    engine(&folder, &questions);
    stdio(&command, &folder, &questions);
    http(&command, &folder, &questions);
}

/// A linear congruential generator of words.
struct Words(u64);

impl Words {
    fn some(&mut self, number: usize) -> String {
        let word = |_| {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // The smaller the number, the more often: a product of two is.
            let (a, b) = ((self.0 >> 33) & 63, (self.0 >> 45) & 63);
            format!("word{}", a * b)
        };
        (0..number).map(word).collect::<Vec<_>>().join(" ")
    }
}

fn fill(folder: &Path, records: usize, words: &mut Words) {
    let database = Database::open(folder, Options::default()).unwrap();
    let options = CollectionOptions { embedder: EmbedderChoice::None, ..CollectionOptions::default() };
    let collection = database.collection("notes", options).unwrap();
    for from in (0..records).step_by(1_000) {
        let batch = (from..records.min(from + 1_000)).map(|at| Record::new(format!("r{at}")).text(words.some(60)));
        collection.upsert(batch.collect()).unwrap();
    }
    collection.wait_until_indexed(None).unwrap();
    database.optimize().unwrap();
    database.close().unwrap();
}

fn show(what: &str, mut took: Vec<Duration>) {
    took.sort_unstable();
    let at = |share: f64| took[(took.len() as f64 * share) as usize].as_secs_f64() * 1e6;
    println!("{what:<28} p50 {:>8.0}   p95 {:>8.0}", at(0.5), at(0.95));
}

fn engine(folder: &Path, questions: &[String]) {
    let database = Database::open(folder, Options::default()).unwrap();
    let collection = database.existing_collection("notes").unwrap();
    let ask = |question: &String| {
        let started = Instant::now();
        assert!(!collection.search(&Search::text(question.as_str()).limit(HITS)).unwrap().hits.is_empty());
        started.elapsed()
    };
    questions.iter().map(ask).for_each(|_warmed_up| ());
    show("the engine's own call", questions.iter().map(ask).collect());
    database.close().unwrap();
}

fn stdio(command: &str, folder: &Path, questions: &[String]) {
    let started = Instant::now();
    let mut child = Command::new(command)
        .args(["mcp", "--embedder", "none", "--data-dir"])
        .arg(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut output = BufReader::new(output);
    let mut ask = |message: Value| {
        let started = Instant::now();
        input.write_all(format!("{message}\n").as_bytes()).unwrap();
        if message.get("id").is_some() {
            let mut line = String::new();
            output.read_line(&mut line).unwrap();
            assert!(line.contains("\"result\""), "{line}");
        }
        started.elapsed()
    };
    ask(hello());
    println!("{:<28} {:>12.1} ms", "nuthatch mcp: ready after", started.elapsed().as_secs_f64() * 1e3);
    ask(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    println!("{:<28} {:>12.1} MiB", "resident, idle", resident_mib(child.id()));
    ask(question(&questions[0]));
    println!("{:<28} {:>12.1} ms", "first search answered after", started.elapsed().as_secs_f64() * 1e3);
    questions.iter().map(|text| ask(question(text))).for_each(|_warmed_up| ());
    show("`search` over stdio", questions.iter().map(|text| ask(question(text))).collect());
    println!("{:<28} {:>12.1} MiB", "resident, after them", resident_mib(child.id()));
    drop(input);
    assert!(child.wait().unwrap().success());
}

fn http(command: &str, folder: &Path, questions: &[String]) {
    let mut child = Command::new(command)
        .args(["serve", "--listen", "127.0.0.1:0", "--log-format", "json", "--log-level", "info", "--data-dir"])
        .arg(folder)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap());
    let mut address = String::new();
    loop {
        let mut line = String::new();
        log.read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap();
        if let Some(found) = said["address"].as_str() {
            address = found.to_string();
        }
        if said["message"] == "ready" {
            break;
        }
    }
    // The log must not fill its pipe.
    let reader = std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()).unwrap());
    let mut stream = BufReader::new(TcpStream::connect(&address).unwrap());
    stream.get_ref().set_nodelay(true).unwrap();
    let mut post = |path: &str, body: &Value| {
        let body = body.to_string();
        let started = Instant::now();
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.get_mut().write_all(head.as_bytes()).unwrap();
        let (mut line, mut bytes) = (String::new(), 0);
        while line != "\r\n" {
            line.clear();
            stream.read_line(&mut line).unwrap();
            if let Some(length) = line.to_ascii_lowercase().strip_prefix("content-length: ") {
                bytes = length.trim().parse().unwrap();
            }
        }
        let mut answer = vec![0; bytes];
        stream.read_exact(&mut answer).unwrap();
        assert!(bytes > 100, "{}", String::from_utf8_lossy(&answer));
        started.elapsed()
    };
    questions.iter().map(|text| post("/mcp", &question(text))).for_each(|_warmed_up| ());
    show("`search` over HTTP", questions.iter().map(|text| post("/mcp", &question(text))).collect());
    let rest = |text: &String| json!({"text": text, "limit": HITS});
    let path = "/v1/collections/notes/search";
    show("REST, for comparison", questions.iter().map(|text| post(path, &rest(text))).collect());
    child.kill().unwrap();
    child.wait().unwrap();
    reader.join().unwrap();
}

fn hello() -> Value {
    let client = json!({"name": "cost", "version": "1"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
}

fn question(text: &str) -> Value {
    let arguments = json!({"query": text, "limit": HITS, "max_tokens": 20_000});
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "search", "arguments": arguments}})
}

/// Linux only.
fn resident_mib(pid: u32) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("0 kB");
    line.trim().trim_end_matches(" kB").parse::<f64>().unwrap_or(0.0) / 1024.0
}
