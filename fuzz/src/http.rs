//! Requests of HTTP: methods, addresses, parameters and bodies.

use nuthatch_server::{Config, Server};
use tokio::runtime::Runtime;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::Run;
use crate::serving::exchange;

const METHODS: [&str; 5] = ["POST", "PUT", "GET", "DELETE", "PATCH"];

/// Method and address on the first line, the body after it.
pub fn start() -> Run {
    let place = Place::start();
    Box::new(move |bytes| {
        // All of it, or the server would end with this function: a closure takes no more than it names.
        let place = &place;
        let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
        let (line, body) = (&bytes[..end], bytes.get(end + 1..).unwrap_or_default());
        let space = line.iter().position(|byte| *byte == b' ').unwrap_or(0);
        let method =
            std::str::from_utf8(&line[..space]).ok().filter(|method| METHODS.contains(method)).unwrap_or("POST");
        // Drop bytes that cannot stand in the head of a request: the library would refuse them.
        let address: String =
            line[space..].iter().filter(|byte| byte.is_ascii_graphic()).map(|byte| char::from(*byte)).collect();
        let media = if address.contains("/ingest") { "application/x-ndjson" } else { "application/json" };
        let head = format!(
            "{method} /{} HTTP/1.1\r\nhost: localhost\r\ncontent-type: {media}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            address.trim_start_matches('/'),
            body.len()
        );
        let answer = exchange(place.address, &[head.as_bytes(), body].concat(), false);
        let said = String::from_utf8_lossy(&answer);
        let status: u16 =
            said.get(9..12).and_then(|status| status.parse().ok()).unwrap_or_else(|| panic!("no answer: {said}"));
        assert!((200..500).contains(&status) || status == 503, "{head}{}\n{said}", String::from_utf8_lossy(body));
        if said.contains("application/problem+json") {
            let problem = said.split_once("\r\n\r\n").expect("a body").1;
            let problem: serde_json::Value =
                serde_json::from_str(problem).unwrap_or_else(|error| panic!("{error}: {said}"));
            assert!(problem["remedy"].is_string(), "{problem}");
        }
    })
}

/// A server over a folder of its own.
struct Place {
    address: std::net::SocketAddr,
    runtime: Option<Runtime>,
    stop: Option<oneshot::Sender<()>>,
    running: Option<JoinHandle<nuthatch_link::Result<()>>>,
    _folder: tempfile::TempDir,
}

impl Place {
    fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let config = Config {
            data_dir: Some(folder.path().join("memory")),
            listen: "127.0.0.1:0".parse().expect("an address"),
            search_timeout: std::time::Duration::from_secs(5),
            // An erasure waits so long for the snapshots of inputs before it.
            erasure_grace: std::time::Duration::from_millis(50),
            ..Config::default()
        };
        let runtime = Runtime::new().expect("threads");
        let server = runtime.block_on(Server::bind(config)).expect("a server");
        let address = server.address().expect("an address");
        let (stop, stopped) = oneshot::channel();
        let running = runtime.spawn(server.run(async {
            stopped.await.ok(); // told, or nobody is there to tell
        }));
        let place = Self { address, runtime: Some(runtime), stop: Some(stop), running: Some(running), _folder: folder };
        let ready = "GET /readyz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
        while !exchange(address, ready.as_bytes(), false).starts_with(b"HTTP/1.1 200") {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        for (request, body) in [
            ("PUT /v1/collections/notes", r#"{"embedder": "none", "dim": 2}"#),
            (
                "POST /v1/collections/notes/records",
                r#"{"records": [{"id": "a", "text": "bird", "vector": [1, 2], "payload": {"n": 1, "k": "a"}}]}"#,
            ),
            ("PUT /v1/keyspaces/k/keys/a", "value"),
            ("PUT /v1/tenants/amber", "{}"),
        ] {
            let request = format!(
                "{request} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            );
            let answer = exchange(address, request.as_bytes(), false);
            assert!(answer.starts_with(b"HTTP/1.1 2"), "{request}: {}", String::from_utf8_lossy(&answer));
        }
        place
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let (Some(runtime), Some(running)) = (self.runtime.take(), self.running.take()) {
            runtime.block_on(running).ok(); // that it ended is enough
        }
    }
}
