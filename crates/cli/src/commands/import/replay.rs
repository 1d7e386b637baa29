//! Commands of Redis from a file, run against the folder: what `SET`, `RPUSH` and their relatives make lies where Redis clients
//! of a server find it.
//!
//! The file is what Redis' own rewriting makes of its data (an AOF without an RDB in front). No port is open to others: the one
//! connection that is let in was made before the listener began.

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use nuthatch_link::{Database, Durability, Error};
use nuthatch_resp::{Gate, Grant, Refused, Scopes, Server, Settings, Tenant};
use serde_json::{Value, json};

use crate::args::Globals;
use crate::exit::{Failure, Outcome};
use crate::folder;
use crate::output::{self, Out};

/// Commands that are sent before their replies are read, and their bytes.
const PIPELINE: usize = 512;
const PIPELINE_BYTES: usize = 1 << 20;
/// Lengths beyond these are no file of Redis'.
const ARGUMENTS_MAX: usize = 1 << 20;
const BYTES_MAX: usize = 512 << 20;

pub fn run(globals: &Globals, file: &Path, out: &mut Out) -> Result<Outcome, Failure> {
    let database = folder::open_to_write(globals)?;
    let replayed = Replay::of(&database, file).and_then(|mut replay| replay.all());
    // Makes everything that was written without waiting durable at once.
    let replayed = replayed.and_then(|told| database.sync().map(|()| told));
    let closed = database.close();
    output::json(out, &replayed?)?;
    closed?;
    Ok(Outcome::Done)
}

struct Replay<'f> {
    file: &'f Path,
    commands: BufReader<File>,
    replies: BufReader<TcpStream>,
    server: Server,
    /// Names and keys of what was sent and not answered yet.
    sent: Vec<(String, Vec<u8>)>,
    pipeline: Vec<u8>,
    run: u64,
    /// By the name of the command: the keys, and the first reply.
    refused: BTreeMap<String, (HashSet<Vec<u8>>, String)>,
}

impl<'f> Replay<'f> {
    fn of(database: &Database, file: &'f Path) -> Result<Self, Error> {
        let opened = File::open(file).map_err(|error| Error::io(file, &error))?;
        let network = |error: io::Error| Error::internal(format!("cannot connect to this very process: {error}"));
        let listener = TcpListener::bind("127.0.0.1:0").map_err(network)?;
        let client = TcpStream::connect(listener.local_addr().map_err(network)?).map_err(network)?;
        let only = client.local_addr().map_err(network)?;
        let gate = Arc::new(Only { client: only, tenant: Tenant::new(database.clone()) });
        let settings = Settings { durability: Durability::Os, ..Settings::default() };
        let server = Server::start(listener, gate, settings).map_err(network)?;
        Ok(Self {
            file,
            commands: BufReader::new(opened),
            replies: BufReader::new(client),
            server,
            sent: Vec::new(),
            pipeline: Vec::new(),
            run: 0,
            refused: BTreeMap::new(),
        })
    }

    /// Runs all commands, and tells how many there were and what was refused.
    fn all(&mut self) -> Result<Value, Error> {
        while let Some(command) = self.next()? {
            let name = String::from_utf8_lossy(&command[0]).to_uppercase();
            write_command(&mut self.pipeline, &command);
            // A library of functions has no key; its source tells it from others.
            let key = if name == "FUNCTION" { command.into_iter().next_back() } else { command.into_iter().nth(1) };
            self.sent.push((name, key.unwrap_or_default()));
            if self.sent.len() >= PIPELINE || self.pipeline.len() >= PIPELINE_BYTES {
                self.flush()?;
            }
        }
        self.flush()?;
        self.server.stop(Duration::from_secs(60));
        let refused: BTreeMap<&String, Value> =
            self.refused.iter().map(|(name, (keys, why))| (name, json!({"keys": keys.len(), "why": why}))).collect();
        Ok(json!({"commands": self.run, "refused": refused}))
    }

    fn flush(&mut self) -> Result<(), Error> {
        let ended = |error: io::Error| Error::internal(format!("the commands were not answered: {error}"));
        self.replies.get_mut().write_all(&self.pipeline).map_err(ended)?;
        self.pipeline.clear();
        for (name, key) in std::mem::take(&mut self.sent) {
            self.run += 1;
            let Some(why) = reply(&mut self.replies).map_err(ended)? else { continue };
            // Commands that cannot be kept are reported; any other error ends the import.
            if !why.starts_with("ERR unknown") && !why.starts_with("ERR syntax") {
                let key = String::from_utf8_lossy(&key).into_owned();
                return Err(Error::invalid(format!("{}: {name} {}: {why}", self.file.display(), output::plain(&key))));
            }
            self.refused.entry(name).or_insert_with(|| (HashSet::new(), why)).0.insert(key);
        }
        Ok(())
    }

    /// The next command of the file: its name and its arguments.
    fn next(&mut self) -> Result<Option<Vec<Vec<u8>>>, Error> {
        let line = loop {
            match self.line()? {
                None => return Ok(None),
                // A time at which what follows was written.
                Some(line) if line.starts_with('#') => {}
                Some(line) => break line,
            }
        };
        let count = self.length(&line, '*', ARGUMENTS_MAX)?;
        let mut command = Vec::with_capacity(count.min(1024));
        for _ in 0..count {
            let line = self.line()?.ok_or_else(|| self.broken("it ends within a command"))?;
            let bytes = self.length(&line, '$', BYTES_MAX)?;
            let mut argument = Vec::new();
            let read = self.commands.by_ref().take(bytes as u64).read_to_end(&mut argument);
            let mut end = [0; 2];
            let whole = read.and_then(|_| self.commands.read_exact(&mut end));
            if whole.is_err() || argument.len() != bytes || end != *b"\r\n" {
                return Err(self.broken("it ends within a command"));
            }
            command.push(argument);
        }
        if command.is_empty() { Err(self.broken("it has a command without a name")) } else { Ok(Some(command)) }
    }

    fn line(&mut self) -> Result<Option<String>, Error> {
        let mut line = Vec::new();
        let read = self.commands.by_ref().take(1 << 16).read_until(b'\n', &mut line);
        if read.map_err(|error| Error::io(self.file, &error))? == 0 {
            return Ok(None);
        }
        match String::from_utf8(line) {
            Ok(line) if line.ends_with("\r\n") => Ok(Some(line.trim_end().to_string())),
            _ => Err(self.broken("it ends within a command, or has an RDB in front")),
        }
    }

    fn length(&self, line: &str, sign: char, most: usize) -> Result<usize, Error> {
        let length = line.strip_prefix(sign).and_then(|digits| digits.parse().ok());
        length.filter(|length| *length <= most).ok_or_else(|| self.broken("it is no file of Redis commands"))
    }

    fn broken(&self, why: &str) -> Error {
        Error::invalid(format!("{}: {why}; nuthatch import --from redis reads files of Redis", self.file.display()))
    }
}

fn write_command(out: &mut Vec<u8>, command: &[Vec<u8>]) {
    out.extend(format!("*{}\r\n", command.len()).bytes());
    for argument in command {
        out.extend(format!("${}\r\n", argument.len()).bytes());
        out.extend(argument);
        out.extend(b"\r\n");
    }
}

/// Reads one reply; what it says, where it is an error.
fn reply(from: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    from.read_until(b'\n', &mut line)?;
    let line = String::from_utf8_lossy(&line).trim_end().to_string();
    let number = || line[1..].parse::<i64>().map_err(|_| io::Error::from(io::ErrorKind::InvalidData));
    match line.chars().next() {
        None => Err(io::ErrorKind::UnexpectedEof.into()),
        Some('-') => Ok(Some(line[1..].to_string())),
        Some('$') => {
            // Nothing at all has the length -1.
            if let Ok(bytes) = u64::try_from(number()?) {
                io::copy(&mut from.by_ref().take(bytes + 2), &mut io::sink())?;
            }
            Ok(None)
        }
        Some('*') => {
            let mut first = None;
            for _ in 0..number()? {
                let one = reply(from)?;
                first = first.or(one);
            }
            Ok(first)
        }
        Some(_) => Ok(None),
    }
}

/// Lets one connection in.
struct Only {
    client: SocketAddr,
    tenant: Arc<Tenant>,
}

impl Gate for Only {
    fn stranger(&self, from: SocketAddr) -> Option<Grant> {
        let grant = || Grant { user: "default".into(), tenant: self.tenant.clone(), scopes: Scopes::ALL, pass: None };
        (from == self.client).then(grant)
    }

    fn authenticate(&self, _: SocketAddr, _: &str, _: &[u8]) -> Result<Grant, Refused> {
        Err(Refused::Wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replayed(commands: &[u8]) -> (Result<Value, Error>, Database) {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("commands.aof");
        std::fs::write(&file, commands).unwrap();
        let database = Database::in_memory(nuthatch_link::Options::default()).unwrap();
        let told = Replay::of(&database, &file).unwrap().all();
        (told, database)
    }

    fn command(arguments: &[&str]) -> Vec<u8> {
        let mut out = Vec::new();
        write_command(&mut out, &arguments.iter().map(|argument| argument.as_bytes().to_vec()).collect::<Vec<_>>());
        out
    }

    #[test]
    fn commands_make_what_a_client_would_have_made() {
        let commands = [
            command(&["SELECT", "3"]),
            command(&["SET", "greeting", "hello"]),
            b"#TS:1700000000\r\n".to_vec(),
            command(&["RPUSH", "list", "a", "b"]),
            command(&["XADD", "stream", "1-1", "f", "v"]),
            command(&["XADD", "stream", "1-2", "f", "v"]),
        ];
        let (told, database) = replayed(&commands.concat());
        let told = told.unwrap();
        assert_eq!((&told["commands"], &told["refused"]["XADD"]["keys"]), (&json!(5), &json!(1)));
        assert_eq!(database.kv("redis.3").unwrap().get("greeting").unwrap().as_deref(), Some(&b"hello"[..]));
        assert!(database.kv("redis.3").unwrap().get("list").unwrap().is_some());
    }

    #[test]
    fn what_is_no_file_of_commands_is_refused_without_panic() {
        let whole = command(&["SET", "k", "v"]);
        for bytes in
            [&b"REDIS0011\xfa"[..], b"*-1\r\n", b"*1\r\n", b"*9999999999\r\n", b"*1\r\n$5\r\nab\r\n", b"\n", b"x"]
        {
            assert!(replayed(bytes).0.is_err(), "{bytes:?}");
        }
        for end in 1..whole.len() {
            assert!(replayed(&whole[..end]).0.is_err(), "cut at {end}");
        }
    }
}
