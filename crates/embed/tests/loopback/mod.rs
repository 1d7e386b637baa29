//! A server for one test: HTTP/1.1 on the loopback interface, one request a connection, every request kept.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

pub struct Request {
    pub line: String,
    pub headers: Vec<(String, String)>,
    pub body: serde_json::Value,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }
}

pub enum Reply {
    /// Status, further header lines, body.
    Full(u16, Vec<String>, String),
    /// Nothing, with the connection kept open.
    Silence,
    /// A header that promises more than is sent.
    CutShort,
}

impl Reply {
    pub fn ok(body: &str) -> Self {
        Self::status(200, body)
    }

    pub fn status(status: u16, body: &str) -> Self {
        Self::Full(status, Vec::new(), body.to_owned())
    }

    pub fn silence() -> Self {
        Self::Silence
    }

    pub fn cut_short() -> Self {
        Self::CutShort
    }

    pub fn with_header(self, line: &str) -> Self {
        match self {
            Self::Full(status, mut headers, body) => {
                headers.push(line.to_owned());
                Self::Full(status, headers, body)
            }
            other => other,
        }
    }
}

/// A good answer, with a vector for each input.
pub fn embeddings(request: &serde_json::Value, vector: impl Fn(&str) -> Vec<f32>) -> Reply {
    let inputs = request["input"].as_array().unwrap();
    let data: Vec<_> = inputs
        .iter()
        .enumerate()
        .map(|(index, text)| serde_json::json!({"index": index, "embedding": vector(text.as_str().unwrap())}))
        .collect();
    Reply::ok(&serde_json::json!({ "data": data }).to_string())
}

/// An address where a connection is refused.
pub fn address_without_listener() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}/v1", listener.local_addr().unwrap())
}

pub struct Server {
    address: std::net::SocketAddr,
    requests: Arc<Mutex<Vec<Request>>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// `reply` receives the request's number, from 0, and its body.
    pub fn start(reply: impl Fn(usize, &serde_json::Value) -> Reply + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (requests, stop) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let (kept, stopped) = (requests.clone(), stop.clone());
        let thread = std::thread::spawn(move || {
            let mut silent = Vec::new();
            for stream in listener.incoming() {
                if stopped.load(Ordering::Acquire) {
                    return;
                }
                let mut stream = stream.unwrap();
                let Some(request) = read(&stream) else { continue };
                let number = kept.lock().unwrap().len();
                let reply = reply(number, &request.body);
                kept.lock().unwrap().push(request);
                match reply {
                    Reply::Silence => silent.push(stream),
                    Reply::CutShort => {
                        // The client may have gone already: then there is nobody to tell.
                        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{\"data\":");
                    }
                    Reply::Full(status, headers, body) => {
                        let mut head =
                            format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\nconnection: close\r\n", body.len());
                        headers.iter().for_each(|line| head.push_str(&format!("{line}\r\n")));
                        let _ = stream.write_all(format!("{head}\r\n{body}").as_bytes());
                    }
                }
            }
        });
        Self { address, requests, stop, thread: Some(thread) }
    }

    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    pub fn requests(&self) -> std::sync::MutexGuard<'_, Vec<Request>> {
        self.requests.lock().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        // Wakes the thread that waits for a connection.
        drop(TcpStream::connect(self.address));
        let ended = self.thread.take().unwrap().join();
        if !std::thread::panicking() {
            ended.unwrap();
        }
    }
}

fn read(stream: &TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let mut line = || {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|bytes| *bytes > 0)?;
        Some(line.trim_end().to_owned())
    };
    let first = line()?;
    let mut headers = Vec::new();
    loop {
        let line = line()?;
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':')?;
        headers.push((name.to_owned(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-length"))?.1.parse().ok()?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Request { line: first, headers, body: serde_json::from_slice(&body).ok()? })
}
