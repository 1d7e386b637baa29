//! Servers of this process, on ports of their own, and what speaks with them.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use nuthatch_link::{Database, Durability, Options};
use nuthatch_resp::{Limits, Open, Server, Settings, Tenant};

/// No answer takes longer, however busy the machine is; a target that waits so long has found something. Shorter than what an
/// input may take, so that it is this wait that tells.
pub const WAIT_MAX: Duration = Duration::from_secs(50);
const CONNECT_TRIES: u32 = 100;

/// A server for Redis clients over a database in memory.
pub struct Redis {
    server: Option<Server>,
    address: SocketAddr,
}

impl Redis {
    pub fn start() -> Self {
        let db = Database::in_memory(Options::default()).expect("a database");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let limits = Limits { arguments_max: 1000, argument_bytes_max: 1 << 20, command_bytes_max: 1 << 20 };
        let settings = Settings { durability: Durability::Os, limits, ..Settings::default() };
        let server = Server::start(listener, Arc::new(Open(Tenant::new(db))), settings).expect("a server");
        let address = server.address();
        Self { server: Some(server), address }
    }

    /// Returns the answer to these bytes, read until the connection ends.
    pub fn answers(&self, bytes: &[u8]) -> Vec<u8> {
        exchange(self.address, bytes, true)
    }

    /// The replies to commands; asserts that there is one to each.
    pub fn ask(&self, commands: &[Vec<&[u8]>]) -> Vec<Reply> {
        let mut bytes = Vec::new();
        for command in commands {
            bytes.extend(format!("*{}\r\n", command.len()).into_bytes());
            for word in command {
                bytes.extend(format!("${}\r\n", word.len()).into_bytes());
                bytes.extend_from_slice(word);
                bytes.extend_from_slice(b"\r\n");
            }
        }
        let replies = replies(&self.answers(&bytes));
        assert_eq!(replies.len(), commands.len(), "a reply to each command");
        replies
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            server.stop(Duration::from_secs(1));
        }
    }
}

/// Sends, says that no more will come (a server of HTTP would take that for the end of the connection), and reads to the end.
pub fn exchange(address: SocketAddr, bytes: &[u8], says_end: bool) -> Vec<u8> {
    let mut stream = connect(address);
    stream.set_nodelay(true).expect("a setting");
    stream.set_read_timeout(Some(WAIT_MAX)).expect("a setting");
    stream.set_write_timeout(Some(WAIT_MAX)).expect("a setting");
    // The other side may have had enough before all of it is sent.
    let sent = stream.write_all(bytes);
    if says_end {
        let _said_or_ended = sent.and_then(|()| stream.shutdown(Shutdown::Write)).is_ok();
    }
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer) {
        Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => {}
        read => drop(read.expect("an answer, and the end of the connection")),
    }
    answer
}

/// Ports of connections that ended a moment ago may all be in use.
fn connect(address: SocketAddr) -> TcpStream {
    for _ in 0..CONNECT_TRIES {
        match TcpStream::connect(address) {
            Ok(stream) => return stream,
            Err(_) => std::thread::sleep(Duration::from_millis(100)),
        }
    }
    panic!("nobody listens at {address}");
}

/// A reply, as far as it matters here.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// A line: a simple string, an error, a number or another scalar, with the sign of its kind.
    Line(Vec<u8>),
    Bulk(Vec<u8>),
    Many(Vec<Reply>),
}

/// All replies; asserts that there is nothing else.
pub fn replies(bytes: &[u8]) -> Vec<Reply> {
    let (mut rest, mut found) = (bytes, Vec::new());
    while !rest.is_empty() {
        let (reply, after) = reply(rest).unwrap_or_else(|| panic!("no reply: {:?}", String::from_utf8_lossy(rest)));
        found.push(reply);
        rest = after;
    }
    found
}

fn reply(bytes: &[u8]) -> Option<(Reply, &[u8])> {
    let end = bytes.windows(2).position(|pair| pair == b"\r\n")?;
    let (line, rest) = (&bytes[..end], &bytes[end + 2..]);
    let count = || std::str::from_utf8(&line[1..]).ok()?.parse::<i64>().ok();
    match line.first()? {
        b'+' | b'-' | b':' | b'_' | b',' | b'#' | b'(' => Some((Reply::Line(line.to_vec()), rest)),
        b'$' | b'=' => match count()? {
            -1 => Some((Reply::Line(line.to_vec()), rest)),
            bytes => {
                let bytes = usize::try_from(bytes).ok()?;
                let content = rest.get(..bytes)?.to_vec();
                Some((Reply::Bulk(content), rest.get(bytes..)?.strip_prefix(b"\r\n")?))
            }
        },
        kind @ (b'*' | b'%' | b'~' | b'>') => {
            let count = count()?;
            if count == -1 {
                return Some((Reply::Line(line.to_vec()), rest));
            }
            let mut items = Vec::new();
            let mut rest = rest;
            for _ in 0..count * if *kind == b'%' { 2 } else { 1 } {
                let (item, after) = reply(rest)?;
                items.push(item);
                rest = after;
            }
            Some((Reply::Many(items), rest))
        }
        _ => None,
    }
}
