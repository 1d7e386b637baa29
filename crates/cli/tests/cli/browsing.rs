//! `ui`: the console on a folder.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};

use serde_json::Value;

use crate::support::Place;

struct Browsed {
    child: Child,
    address: String,
    code: String,
}

/// The command, once it has printed its link.
fn browse(place: &Place, more: &[&str]) -> Browsed {
    let arguments = [&["ui", "--no-open"], more].concat();
    let mut child = place.command(&arguments).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let (address, code) = line.trim().strip_prefix("http://").unwrap().split_once("/ui/#code=").unwrap();
    assert!(address.starts_with("127.0.0.1:") && code.len() == 64, "{line}");
    Browsed { address: address.into(), code: code.into(), child }
}

impl Browsed {
    fn ask(&self, method: &str, path: &str, head: &str, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-length: {length}\r\n{head}\r\n{body}",
            self.address
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut all = String::new();
        stream.read_to_string(&mut all).unwrap();
        (all[9..12].parse().unwrap(), all.split_once("\r\n\r\n").unwrap().1.to_string())
    }

    fn redeem(&self, code: &str) -> (u16, Value) {
        let body = serde_json::json!({"code": code}).to_string();
        let (status, said) = self.ask("POST", "/ui/session", "content-type: application/json\r\n", &body);
        (status, serde_json::from_str(&said).unwrap())
    }

    fn get(&self, path: &str, key: &str) -> (u16, Value) {
        let (status, said) = self.ask("GET", path, &format!("authorization: Bearer {key}\r\n"), "");
        (status, serde_json::from_str(&said).unwrap())
    }

    fn interrupt(mut self) -> Option<i32> {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        self.child.wait().unwrap().code()
    }
}

#[test]
fn the_link_opens_the_folder_once_and_leaves_no_key_behind() {
    let place = Place::with_documents();
    let browsed = browse(&place, &[]);
    let code = browsed.code.clone();
    assert_eq!(browsed.get("/v1/collections", "").0, 401, "nobody gets in without the code");
    assert_eq!(browsed.redeem(&"0".repeat(64)).0, 401);
    let (status, session) = browsed.redeem(&browsed.code);
    assert_eq!(status, 200);
    let key = session["key"].as_str().unwrap();
    let (status, collections) = browsed.get("/v1/collections", key);
    assert_eq!((status, &collections["collections"][0]["name"]), (200, &"documents".into()));
    assert_eq!(browsed.get("/v1/caller", key).1["scopes"], serde_json::json!(["admin"]));
    let (status, refused) = browsed.redeem(&browsed.code);
    assert_eq!(status, 401);
    assert!(refused["remedy"].as_str().unwrap().contains("nuthatch ui"), "{refused}");
    assert!(!place.data().join("keys.json").exists(), "a server would ask for keys from then on");
    assert_eq!(browsed.interrupt(), Some(0));
    let noted = place.run(&["audit", "--action", "console.open", "--json"]).succeeds().out;
    let outcomes: Vec<&str> = noted.matches("\"refused\"").chain(noted.matches("\"done\"")).collect();
    assert_eq!(outcomes.len(), 3, "two were refused, one came in: {noted}");
    assert!(!noted.contains(&code), "{noted}");
    let again = browse(&place, &[]);
    assert_eq!(again.get("/v1/collections", key).0, 401, "the key ended with its process");
    assert_eq!(again.interrupt(), Some(0));
}

#[test]
fn it_can_be_held_to_reading_and_to_one_tenant() {
    let place = Place::with_documents();
    place.run(&["tenant", "create", "amber"]).succeeds();
    let browsed = browse(&place, &["--read-only", "--tenant", "amber"]);
    let (_, session) = browsed.redeem(&browsed.code);
    let key = session["key"].as_str().unwrap();
    let (_, caller) = browsed.get("/v1/caller", key);
    assert_eq!((&caller["tenant"], &caller["scopes"]), (&"amber".into(), &serde_json::json!(["read"])));
    assert_eq!(browsed.get("/v1/collections", key).1["collections"], serde_json::json!([]));
    assert_eq!(browsed.get("/v1/tenants", key).0, 403);
    assert_eq!(browsed.interrupt(), Some(0));
}

#[test]
fn it_creates_no_folder() {
    let place = Place::new();
    assert_eq!(place.run(&["ui", "--no-open"]).code, 3);
}

#[test]
fn a_tenant_that_is_not_there_is_named_before_anybody_is_invited() {
    let place = Place::with_documents();
    let ran = place.run(&["ui", "--no-open", "--tenant", "nobody"]);
    assert_eq!((ran.code, ran.out.as_str()), (3, ""));
    assert!(ran.err.contains("nobody"), "{}", ran.err);
}
