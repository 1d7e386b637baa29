//! A server on a database in memory, and a client that speaks to it byte by byte.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use nuthatch_link::{Database, Options};
use nuthatch_resp::{Open, Server, Settings, Tenant};

/// A server, and the database behind it.
#[allow(dead_code)]
pub struct Served {
    pub db: Database,
    pub server: Server,
}

/// Serves a new database in memory.
#[allow(dead_code)]
pub fn served(settings: Settings) -> Served {
    let db = Database::in_memory(Options::default()).unwrap();
    let gate = Arc::new(Open(Tenant::new(db.clone())));
    let server = Server::start(TcpListener::bind("127.0.0.1:0").unwrap(), gate, settings).unwrap();
    Served { db, server }
}

impl Served {
    #[allow(dead_code)]
    pub fn client(&self) -> Client {
        Client::connect(&self.server)
    }
}

/// A connection.
pub struct Client {
    stream: BufReader<TcpStream>,
}

/// A reply as it was read.
#[derive(Clone, Debug, PartialEq)]
pub enum Said {
    Simple(String),
    Error(String),
    Int(i64),
    Bulk(Vec<u8>),
    Null,
    Array(Vec<Said>),
    Map(Vec<(Said, Said)>),
    Double(f64),
    Bool(bool),
}

impl Client {
    pub fn connect(server: &Server) -> Self {
        let stream = TcpStream::connect(server.address()).unwrap();
        // A reply that never comes fails the test instead of stopping it.
        stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
        Self { stream: BufReader::new(stream) }
    }

    pub fn send(&mut self, bytes: &[u8]) {
        self.stream.get_mut().write_all(bytes).unwrap();
    }

    /// The same where the other side may end the connection meanwhile.
    #[allow(dead_code)]
    pub fn try_send(&mut self, bytes: &[u8]) {
        let _ = self.stream.get_mut().write_all(bytes);
    }

    /// Whether the other side still takes bytes and has said nothing.
    #[allow(dead_code)]
    pub fn is_closed(&mut self) -> bool {
        let mut byte = [0];
        matches!(self.stream.read(&mut byte), Ok(0) | Err(_))
    }

    /// Sends a command of words that are separated by spaces, and reads its reply.
    pub fn ask(&mut self, command: &str) -> Said {
        let words: Vec<&[u8]> = command.split(' ').map(str::as_bytes).collect();
        self.ask_words(&words)
    }

    pub fn ask_words(&mut self, words: &[&[u8]]) -> Said {
        self.send(&encoded(words));
        self.read()
    }

    pub fn read(&mut self) -> Said {
        let line = self.line();
        let (kind, rest) = line.split_at(1);
        let number = || rest.parse::<i64>().unwrap_or_else(|_| panic!("a length in {line:?}"));
        match kind {
            "+" => Said::Simple(rest.into()),
            "-" => Said::Error(rest.into()),
            ":" => Said::Int(number()),
            "," => Said::Double(rest.parse().unwrap()),
            "#" => Said::Bool(rest == "t"),
            "_" => Said::Null,
            "$" | "=" | "*" if number() < 0 => Said::Null,
            "$" | "=" => {
                let mut bytes = vec![0; number() as usize + 2];
                self.stream.read_exact(&mut bytes).unwrap();
                bytes.truncate(bytes.len() - 2);
                Said::Bulk(bytes)
            }
            "*" => Said::Array((0..number()).map(|_| self.read()).collect()),
            "%" => Said::Map((0..number()).map(|_| (self.read(), self.read())).collect()),
            _ => panic!("no reply begins so: {line:?}"),
        }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stream.read_line(&mut line).unwrap();
        assert!(line.ends_with("\r\n"), "the connection ended within {line:?}");
        line.truncate(line.len() - 2);
        line
    }
}

/// A command as clients send it.
pub fn encoded(words: &[&[u8]]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        bytes.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        bytes.extend_from_slice(word);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}

#[allow(dead_code)]
pub fn ok() -> Said {
    Said::Simple("OK".into())
}

#[allow(dead_code)]
pub fn bulk(text: &str) -> Said {
    Said::Bulk(text.as_bytes().to_vec())
}

#[allow(dead_code)]
pub fn bulks(texts: &[&str]) -> Said {
    Said::Array(texts.iter().map(|text| bulk(text)).collect())
}
