//! A client of HTTP/1.1 that keeps its connections.

use std::io::Read;

use serde_json::Value;
use ureq::Agent;
use ureq::http::{Request, Response};

#[derive(Clone)]
pub struct Client {
    base: String,
    agent: Agent,
    key: Option<String>,
    snapshot: Option<String>,
}

/// An answer, read to its end.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: ureq::http::HeaderMap,
    pub body: Vec<u8>,
}

impl Client {
    pub fn new(base: String) -> Self {
        let agent: Agent = Agent::config_builder().http_status_as_error(false).build().into();
        Self { base, agent, key: None, snapshot: None }
    }

    pub fn with_key(&self, key: &str) -> Self {
        Self { key: Some(key.into()), ..self.clone() }
    }

    /// Asks as of a snapshot.
    pub fn at(&self, snapshot: &str) -> Self {
        Self { snapshot: Some(snapshot.into()), ..self.clone() }
    }

    /// Takes a snapshot; its id.
    pub fn snapshot(&self) -> String {
        self.post("/v1/snapshots", Value::Null).is(201)["id"].as_str().unwrap().to_string()
    }

    pub fn wait_until_ready(&self) {
        while self.get("/readyz").status != 200 {
            std::thread::yield_now();
        }
    }

    pub fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], Vec::new())
    }

    pub fn delete(&self, path: &str) -> Answer {
        self.send("DELETE", path, &[], Vec::new())
    }

    pub fn post(&self, path: &str, body: Value) -> Answer {
        self.send("POST", path, &[("content-type", "application/json")], body.to_string().into_bytes())
    }

    pub fn put(&self, path: &str, body: Value) -> Answer {
        self.send("PUT", path, &[("content-type", "application/json")], body.to_string().into_bytes())
    }

    pub fn put_bytes(&self, path: &str, body: &[u8]) -> Answer {
        self.send("PUT", path, &[("content-type", "application/octet-stream")], body.to_vec())
    }

    pub fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: Vec<u8>) -> Answer {
        let mut request = Request::builder().method(method).uri(format!("{}{path}", self.base));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(key) = &self.key {
            request = request.header("authorization", format!("Bearer {key}"));
        }
        if let Some(snapshot) = &self.snapshot {
            request = request.header("x-nuthatch-snapshot", snapshot);
        }
        let answered = match body.is_empty() && matches!(method, "GET" | "DELETE" | "HEAD") {
            true => self.agent.run(request.body(()).unwrap()),
            false => self.agent.run(request.body(body).unwrap()),
        };
        Answer::of(answered.unwrap())
    }
}

impl Answer {
    fn of(response: Response<ureq::Body>) -> Self {
        let (parts, mut body) = response.into_parts();
        let mut bytes = Vec::new();
        body.as_reader().read_to_end(&mut bytes).unwrap();
        Self { status: parts.status.as_u16(), headers: parts.headers, body: bytes }
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The document, of an answer that must have this status.
    #[track_caller]
    pub fn is(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", String::from_utf8_lossy(&self.body));
        match self.body.is_empty() {
            true => Value::Null,
            false => self.json(),
        }
    }

    /// The detail of a problem that must have this status and kind.
    #[track_caller]
    pub fn fails(&self, status: u16, kind: &str) -> String {
        assert_eq!(self.status, status, "{}", String::from_utf8_lossy(&self.body));
        assert_eq!(self.header("content-type"), Some("application/problem+json"));
        let problem = self.json();
        assert_eq!((problem["status"].as_u64(), problem["kind"].as_str()), (Some(status.into()), Some(kind)));
        assert!(!problem["remedy"].as_str().unwrap().is_empty());
        problem["detail"].as_str().unwrap().to_string()
    }
}
