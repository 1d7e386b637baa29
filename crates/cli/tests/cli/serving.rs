//! `serve`, `config check` and `key`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};

use serde_json::Value;

use crate::support::{Place, Ran};

pub struct Served {
    pub child: Child,
    pub address: String,
    /// For Redis clients; empty without the flag.
    pub redis: String,
    log: BufReader<Box<dyn Read + Send + Sync>>,
}

/// A server on a port of its own, ready.
pub fn serve(place: &Place, more: &[&str]) -> Served {
    let arguments = [&["serve", "--listen", "127.0.0.1:0", "--log-format", "json"], more].concat();
    let mut child = place.command(&arguments).stderr(Stdio::piped()).spawn().unwrap();
    let stderr: Box<dyn Read + Send + Sync> = Box::new(child.stderr.take().unwrap());
    let log = BufReader::new(stderr);
    let mut served = Served { child, address: String::new(), redis: String::new(), log };
    loop {
        let mut line = String::new();
        assert_ne!(served.log.read_line(&mut line).unwrap(), 0, "the server ended");
        let line: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        if let Some(said) = line["address"].as_str() {
            served.address = said.to_string();
        }
        if let Some(said) = line["redis"].as_str() {
            served.redis = said.to_string();
        }
        if line["message"] == "ready" {
            return served;
        }
    }
}

impl Served {
    /// Reads the log away: a server that cannot write a line waits until it can.
    pub fn with_a_log_that_nobody_keeps(mut self) -> Self {
        let mut log = std::mem::replace(&mut self.log, BufReader::new(Box::new(std::io::empty())));
        std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
        self
    }

    /// Status and body.
    pub fn get(&self, path: &str, key: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let head = format!(
            "GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: Bearer {key}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut all = String::new();
        stream.read_to_string(&mut all).unwrap();
        (all[9..12].parse().unwrap(), all.split_once("\r\n\r\n").unwrap().1.to_string())
    }

    fn hang_up(&self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::HUP).unwrap();
    }

    /// The next line of the log that has this in it.
    fn next_line_of(&mut self, said: &str) -> String {
        loop {
            let mut line = String::new();
            assert_ne!(self.log.read_line(&mut line).unwrap(), 0, "the server ended");
            if line.contains(said) {
                return line;
            }
        }
    }

    /// Exit code and the rest of the log after SIGTERM.
    pub fn terminate(mut self) -> (Option<i32>, String) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        let mut rest = String::new();
        self.log.read_to_string(&mut rest).unwrap();
        (self.child.wait().unwrap().code(), rest)
    }
}

#[test]
fn a_server_answers_logs_and_ends_in_good_order() {
    let place = Place::with_documents();
    let served = serve(&place, &[]);
    let (status, body) = served.get("/v1/collections/documents", "");
    assert_eq!(status, 200);
    assert_eq!(serde_json::from_str::<Value>(&body).unwrap()["name"], "documents");
    // Other commands work through it meanwhile.
    assert_eq!(place.json(&["search", "osprey", "--json"])["hits"].as_array().unwrap().len(), 1);
    let (code, log) = served.terminate();
    assert_eq!(code, Some(0), "{log}");
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let request = lines.iter().find(|line| line["status"] == 200).unwrap();
    assert_eq!(request["span"]["route"], "/v1/collections/{collection}");
    assert!(request["span"]["id"].is_string(), "{request}");
    assert!(log.contains("everything is written"), "{log}");
    place.run(&["doctor"]).succeeds();
}

#[test]
fn a_key_opens_until_it_is_revoked() {
    let place = Place::with_documents();
    let made = place.json(&["key", "create", "me", "--scope", "read", "--json"]);
    let (id, token) = (made["id"].as_str().unwrap(), made["token"].as_str().unwrap());
    let served = serve(&place, &[]);
    assert_eq!(served.get("/v1/collections", "").0, 401);
    assert_eq!(served.get("/v1/collections", token).0, 200);
    assert_eq!(served.get("/v1/stats", token).0, 403);
    let rotated = place.json(&["key", "rotate", id, "--json"]);
    assert_eq!(served.get("/v1/collections", rotated["token"].as_str().unwrap()).0, 200);
    assert_eq!(served.get("/v1/collections", token).0, 200, "both hold for a while");
    place.run(&["key", "revoke", id]).succeeds();
    assert_eq!(served.get("/v1/collections", token).0, 401);
    let listed = place.json(&["key", "list", "--json"]);
    assert_eq!((&listed[0]["holds"], &listed[1]["holds"]), (&Value::Bool(false), &Value::Bool(true)));
    assert!(!place.run(&["key", "list"]).succeeds().out.contains(token));
    assert_eq!(served.terminate().0, Some(0));
    place.run(&["key", "revoke", "nobody"]).ends(3);
    place.run(&["key", "create", "me", "--scope", "root"]).ends(2);
}

#[test]
fn settings_say_where_they_come_from() {
    let place = Place::new();
    place.write("server.toml", "# mine\nworkers = 3\nlog_format = 'json'\nlisten = '127.0.0.1:1'\n");
    let arguments = ["config", "check", "--config", "server.toml", "--listen", "127.0.0.1:2", "--exclusive", "--json"];
    let ran =
        place.command(&arguments).env("NUTHATCH_WORKERS", "4").env("NUTHATCH_MEMORY_BUDGET", "64MiB").output().unwrap();
    let said: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let of = |name: &str| {
        let found = said.as_array().unwrap().iter().find(|said| said["setting"] == name).unwrap();
        (found["value"].as_str().unwrap().to_string(), found["from"].as_str().unwrap().to_string())
    };
    assert_eq!(of("listen"), ("127.0.0.1:2".into(), "flag --listen".into()));
    assert_eq!(of("workers"), ("4".into(), "environment NUTHATCH_WORKERS".into()));
    assert_eq!(of("log_format"), ("json".into(), "server.toml:3".into()));
    assert_eq!(of("exclusive"), ("true".into(), "flag --exclusive".into()));
    assert_eq!(of("memory_budget"), ("64MiB".into(), "environment NUTHATCH_MEMORY_BUDGET".into()));
    assert_eq!(of("requests_max"), ("1024".into(), "default".into()));
    let flag = place.json(&["config", "check", "--memory-budget", "1GiB", "--mapped", "--json"]);
    assert!(
        flag.to_string().contains(r#"{"from":"flag --memory-budget","setting":"memory_budget","value":"1GiB"}"#),
        "{flag}"
    );
    assert!(flag.to_string().contains(r#"{"from":"flag --mapped","setting":"mapped","value":"true"}"#), "{flag}");
}

#[test]
fn a_setting_that_cannot_be_is_named_with_its_place() {
    let place = Place::new();
    place.write("server.toml", "workers = 3\nlog_format = 'loud'\n");
    for command in [&["config", "check"][..], &["serve"]] {
        let ran = place.run(&[command, &["--config", "server.toml"]].concat()).ends(2);
        assert!(ran.err.contains("server.toml:2: log_format"), "{}", ran.err);
    }
    place.run(&["serve", "--config", "nowhere.toml"]).ends(3);
    let ran = place.run(&["serve", "--listen", "0.0.0.0:0"]).ends(2);
    assert!(ran.err.contains("nuthatch key create"), "{}", ran.err);
    let ran = place.run(&["serve", "--workers", "none"]).ends(2);
    assert!(ran.err.contains("flag --workers: workers"), "{}", ran.err);
}

#[test]
fn what_serve_would_refuse_the_check_of_its_settings_refuses_too() {
    let place = Place::new();
    let certificates = concat!(env!("CARGO_MANIFEST_DIR"), "/../server/tests/certificates");
    let file = |name: &str| format!("{certificates}/{name}");
    let (chain, key, other) = (file("server.pem"), file("server.key"), file("client.key"));
    for (arguments, said) in [
        (&["--listen", "0.0.0.0:0"][..], "nuthatch key create"),
        (&["--auth", "keys"], "auth is `keys`"),
        (&["--tls-cert", "nowhere.pem", "--tls-key", &key], "nowhere.pem"),
        (&["--tls-cert", &chain, "--tls-key", &other], "server.pem"),
        (&["--memory-budget", "0"], "memory budget"),
        (&["--listen", "127.0.0.1:7799", "--redis", "127.0.0.1:7799"], "another port"),
        (&["--body-max", "0"], "body_max"),
        (&["--workers", "9999999999"], "up to 4096"),
        (&["--tenant", "amber"], "answers for all tenants"),
    ] {
        for command in [&["config", "check"][..], &["serve"]] {
            let ran = place.run(&[command, arguments].concat()).ends(2);
            assert!(ran.err.contains(said), "{command:?} {arguments:?}: {}", ran.err);
        }
    }
    assert!(!place.data().exists(), "nothing was opened");
    place.run(&["config", "check", "--tls-cert", &chain, "--tls-key", &key]).succeeds();
    for (variable, value, said) in
        [("NUTHATCH_LISTN", "x", "NUTHATCH_LISTN"), ("NUTHATCH_TENANT", "amber", "all tenants")]
    {
        let ran = Ran::of(place.command(&["config", "check"]).env(variable, value).output().unwrap()).ends(2);
        assert!(ran.err.contains(said), "{}", ran.err);
    }
    let linked = place.command(&["config", "check"]).env("NUTHATCH_PORT", "tcp://10.0.0.1:7700").output().unwrap();
    Ran::of(linked).succeeds();
}

#[test]
fn every_switch_can_be_turned_off_by_its_flag() {
    let place = Place::new();
    let switches = ["exclusive", "allow-plaintext", "mapped"];
    for switch in switches {
        let setting = switch.replace('-', "_");
        let variable = format!("NUTHATCH_{}", setting.to_uppercase());
        for (flag, value) in [(format!("--{switch}"), "true"), (format!("--{switch}=false"), "false")] {
            let mut command = place.command(&["config", "check", "--json", &flag]);
            let ran = Ran::of(command.env(&variable, "true").output().unwrap()).succeeds();
            let said = ran.json();
            let said = said.as_array().unwrap().iter().find(|said| said["setting"] == setting.as_str()).unwrap();
            assert_eq!(
                (said["value"].as_str(), said["from"].as_str().unwrap()),
                (Some(value), &*format!("flag --{switch}"))
            );
        }
        place.run(&["config", "check", &format!("--{switch}=perhaps")]).ends(2);
    }
    place.run(&["stats", "--mapped=perhaps"]).ends(2);
}

#[test]
fn a_hangup_reads_the_files_of_tls_again_and_ends_nothing() {
    let place = Place::with_documents();
    let certificates = concat!(env!("CARGO_MANIFEST_DIR"), "/../server/tests/certificates");
    for name in ["server.pem", "server.key"] {
        place.write(name, std::fs::read(format!("{certificates}/{name}")).unwrap());
    }
    let mut served = serve(&place, &["--tls-cert", "server.pem", "--tls-key", "server.key"]);
    served.hang_up();
    assert!(served.next_line_of("TLS").contains("read the TLS files again"));
    place.write("server.key", "no key");
    served.hang_up();
    let said = served.next_line_of("TLS");
    assert!(said.contains("server.key") && said.contains("ERROR"), "{said}");
    assert_eq!(served.terminate().0, Some(0));
}
