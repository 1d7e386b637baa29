//! `cache`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use nuthatch_link::{AskCache, CacheChange, Database, Options, StoreAnswer};

use crate::support::Place;

/// A folder whose cache `answers` has an answer, and has given it for another prompt.
fn place() -> Place {
    let place = Place::new();
    let options = Options { background: false, ..Options::default() };
    let database = Database::open(place.data(), options).unwrap();
    let cache = database.cache("answers").unwrap();
    cache.configure(&CacheChange { budget: Some(0.1), ..CacheChange::default() }).unwrap();
    let answer = StoreAnswer {
        prompt: "How do I reset my password?".into(),
        response: "\"in the settings\"".into(),
        vector: Some(vec![1.0, 0.0]),
        tags: vec!["help".into()],
        ..StoreAnswer::default()
    };
    cache.store(answer).unwrap();
    let prompt = "How can I reset the password?".into();
    let ask = AskCache { prompt, vector: Some(vec![1.0, 0.02]), ..AskCache::default() };
    cache.lookup(&ask).unwrap().hit.unwrap();
    database.close().unwrap();
    place
}

#[test]
fn a_verdict_is_asked_for_and_reported() {
    let place = place();
    let out = place.run(&["cache", "audits", "-c", "answers"]).succeeds().out;
    assert!(out.starts_with("0 0  How can I reset the password?") && out.contains("in the settings"), "{out}");
    let stats = place.run(&["cache", "stats", "-c", "answers"]).succeeds().out;
    assert!(stats.contains("answers  1 answer") && stats.contains("1 waiting for a verdict"), "{stats}");
    assert_eq!(place.run(&["cache", "report", "0", "0", "--right", "-c", "answers"]).succeeds().out, "Noted.\n");
    assert_eq!(
        place.run(&["cache", "report", "0", "0", "--right", "-c", "answers"]).succeeds().out,
        "That was known.\n"
    );
    assert_eq!(place.run(&["cache", "audits", "-c", "answers"]).succeeds().out, "");
    place.run(&["cache", "report", "0", "0", "-c", "answers"]).ends(2);
    let out = place.run(&["cache", "explain", "how can i reset the password", "-c", "answers"]).succeeds().out;
    assert!(out.contains("form: how can i reset password") && out.contains("answer 0 (alias)"), "{out}");
}

#[test]
fn answers_and_caches_are_removed_when_that_is_confirmed() {
    let place = place();
    assert_eq!(place.run(&["cache", "ls"]).succeeds().out, "answers\n");
    assert!(place.run(&["cache", "clear", "-c", "answers"]).ends(2).err.contains("--yes"));
    let out = place.run(&["cache", "clear", "--tag", "help", "-c", "answers"]).succeeds().out;
    assert_eq!(out, "Removed 1 answer.\n");
    let json = place.run(&["cache", "stats", "-c", "answers", "--json"]).succeeds().out;
    let stats: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&stats["entries"], &stats["ledger"]["hits"]), (&0.into(), &1.into()), "the ledger stays");
    assert!(place.run(&["cache", "drop", "-c", "answers"]).ends(2).err.contains("--yes"));
    assert_eq!(place.run(&["cache", "drop", "-c", "answers", "--yes"]).succeeds().out, "Dropped cache answers.\n");
    assert_eq!(place.run(&["cache", "ls"]).succeeds().out, "");
}

#[test]
fn known_answers_are_stored_and_carried_to_another_cache() {
    let place = place();
    let lines = place.path().join("faq.jsonl");
    let answers = [
        r#"{"prompt": "What is DNS?", "response": "names", "tags": ["net"], "cost": {"tokens": 40, "usd": 0.5}}"#,
        "",
        r#"{"prompt": "What is BGP?", "response": {"is": "routes"}, "scope": {"user": "anna"}}"#,
    ];
    std::fs::write(&lines, answers.join("\n")).unwrap();
    let lines = lines.to_str().unwrap();
    place.run(&["cache", "warm", lines, "-c", "copy", "--create"]).succeeds();
    assert!(place.run(&["cache", "warm", lines, "-c", "faq"]).ends(3).err.contains("faq"), "it does not exist");
    assert_eq!(place.run(&["cache", "warm", lines, "-c", "faq", "--create"]).succeeds().out, "Stored 2 answers.\n");
    let exported = place.run(&["cache", "export", "-c", "faq"]).succeeds().out;
    assert_eq!(exported.lines().count(), 3, "{exported}");
    let export = place.path().join("export.jsonl");
    std::fs::write(&export, &exported).unwrap();
    let export = export.to_str().unwrap();
    place.run(&["cache", "clear", "--yes", "-c", "copy"]).succeeds();
    assert_eq!(place.run(&["cache", "import", export, "-c", "copy"]).succeeds().out, "Kept 2 answers.\n");
    let found = ["cache", "explain", "what's BGP", "--scope", "user=anna", "-c", "copy"];
    assert!(place.run(&found).succeeds().out.contains("(canonical)"));
    assert!(place.run(&["cache", "import", lines, "-c", "copy"]).ends(2).err.contains("no export"));
    std::fs::write(export, exported.replace("names", "na\nmes")).unwrap();
    assert!(place.run(&["cache", "import", export, "-c", "copy"]).ends(2).err.contains("export.jsonl:2"));
}

#[test]
fn labelled_pairs_are_measured_without_a_cache() {
    let place = Place::new();
    let pairs = place.path().join("pairs.jsonl");
    let lines = [
        r#"{"stored": "reset my password", "asked": "reset the password", "same": true, "vectors": [[1, 0], [0.9, 0.1]]}"#,
        r#"{"stored": "reset my password", "asked": "close my account", "same": false, "vectors": [[1, 0], [0.2, 1]]}"#,
        r#"{"stored": "15% of 80?", "asked": "18% of 80?", "same": false, "vectors": [[1, 0], [1, 0.5]]}"#,
    ];
    std::fs::write(&pairs, lines.join("\n")).unwrap();
    let pairs = pairs.to_str().unwrap();
    let out = place.run(&["cache", "calibrate", pairs]).succeeds().out;
    assert!(out.contains("precision 1.000, recall 1.000") && out.contains("of 1 same and 2 different"), "{out}");
    assert!(out.contains("ruled out by numbers: 0 same, 1 different"), "{out}");
    std::fs::write(pairs, lines[1]).unwrap();
    assert!(place.run(&["cache", "calibrate", pairs]).ends(2).err.contains("no pair is the same"));
}

/// A server of that command, until its log says that it is ready; what it said, and where it listens.
fn until_ready(command: &mut Command) -> (Child, String, String) {
    let mut child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    while !said.contains("\"ready\"") {
        assert_ne!(log.read_line(&mut said).unwrap(), 0, "it ended: {said}");
    }
    // It goes on writing.
    std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
    let (_, after) = said.split_once("\"proxy\":\"").unwrap();
    let address = after.split('"').next().unwrap().to_string();
    (child, said, address)
}

fn post(address: &str, text: &str) -> String {
    let body = format!(r#"{{"model":"m","messages":[{{"role":"user","content":"{text}"}}]}}"#);
    let mut stream = TcpStream::connect(address).unwrap();
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: Bearer sk-secret\r\n\
         content-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes()).unwrap();
    let mut all = String::new();
    stream.read_to_string(&mut all).unwrap();
    all
}

fn terminate(mut child: Child) -> Option<i32> {
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), rustix::process::Signal::TERM).unwrap();
    child.wait().unwrap().code()
}

#[test]
fn serve_answers_for_a_provider_and_what_it_kept_outlives_kill_9() {
    let place = Place::new();
    let flags = ["cache", "serve", "--upstream", "canned", "--listen", "127.0.0.1:0", "--json", "-c", "answers"];
    let (mut child, said, address) = until_ready(&mut place.command(&flags));
    assert!(!said.contains("listening at"), "the proxy alone: {said}");
    assert!(post(&address, "What is DNS?").contains("x-nuthatch-cache: MISS"));
    child.kill().unwrap();
    child.wait().unwrap();
    let (child, _, address) = until_ready(&mut place.command(&flags));
    let again = post(&address, "What is DNS?");
    assert!(again.contains("x-nuthatch-cache: HIT") && again.contains("turns names"), "{again}");
    let stats = place.json(&["cache", "stats", "-c", "answers", "--json"]);
    assert_eq!((&stats["entries"], &stats["counts"]["exact"]), (&1.into(), &1.into()), "another process may look");
    assert_eq!(terminate(child), Some(0));
}

#[test]
fn the_log_names_no_key_of_a_provider_however_much_it_says() {
    let place = Place::new();
    let log = place.path().join("log");
    let flags = ["cache", "serve", "--upstream", "canned", "--listen", "127.0.0.1:0", "--json", "--log-level", "trace"];
    let mut child =
        place.command(&flags).stderr(std::fs::File::create(&log).unwrap()).stdout(Stdio::null()).spawn().unwrap();
    let said = || std::fs::read_to_string(&log).unwrap();
    while !said().contains("\"ready\"") {
        assert!(child.try_wait().unwrap().is_none(), "{}", said());
    }
    let all = said();
    let address = all.split_once("\"proxy\":\"").unwrap().1.split('"').next().unwrap();
    assert!(post(address, "What is DNS?").contains("200 OK"));
    assert_eq!(terminate(child), Some(0));
    assert!(said().contains("answered") && !said().contains("sk-secret"));
}

#[test]
fn a_proxy_without_a_provider_says_what_to_name() {
    let place = Place::new();
    let err = place.run(&["cache", "serve"]).ends(2).err;
    assert!(err.contains("--upstream https://api.openai.com/v1"), "{err}");
    let err = place.run(&["cache", "serve", "--upstream", "https://u:p@example.org"]).ends(2).err;
    assert!(err.contains("cache_upstream_key"), "{err}");
    let err = place.run(&["cache", "serve", "--upstream", "canned", "--listen", "0.0.0.0:0"]).ends(2).err;
    assert!(err.contains("no key exists"), "{err}");
    let err = place.run(&["serve", "--cache-upstream", "canned", "--listen", "127.0.0.1:7710"]).ends(2).err;
    assert!(err.contains("another port"), "{err}");
}
