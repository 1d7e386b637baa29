//! The socket between processes. Frames come whole, with their checksums, past which no mutation gets.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;

use nuthatch_link::{CollectionOptions, Database, EmbedderChoice, Options, Record};

use crate::Run;
use crate::serving::WAIT_MAX;

const HELLO: &[u8] = br#"{"protocol": 13, "build": "fuzz", "pid": 1, "program": "fuzz", "lane": "fuzz"}"#;
/// Requests, as the protocol spells them: the names of the collections; the lane is not gone on with.
const NAMES: &[u8] = b"\0\x01\0\0\0\0\x01\x11collections.names\0";
const GOODBYE: &[u8] = &[3];
/// Inputs until the folder is replaced, along with what they stored.
const FOLDER_INPUTS: u32 = 3000;

/// Frames, each with its length in two bytes before it. The greeting comes before them, unless the first length is 65,535: then the rest is the greeting.
pub fn start() -> Run {
    let mut place = Place::new();
    let mut inputs = 0;
    Box::new(move |bytes| {
        // Requests name files (backups, imports), which must not lie outside of the folder that this process is in.
        if bytes.contains(&b'/') || bytes.windows(2).any(|two| two == b"..") {
            return;
        }
        inputs += 1;
        if inputs % FOLDER_INPUTS == 0 {
            place = Place::new();
        }
        let mut sent = Vec::new();
        match bytes.strip_prefix(&[0xff, 0xff]) {
            Some(greeting) => frame(greeting, &mut sent),
            None => {
                frame(HELLO, &mut sent);
                let mut rest = bytes;
                while let [low, high, after @ ..] = rest {
                    let (body, next) = after.split_at(usize::from(u16::from_le_bytes([*low, *high])).min(after.len()));
                    frame(body, &mut sent);
                    rest = next;
                }
            }
        }
        frame(GOODBYE, &mut sent);
        let _whatever_is_said = exchange(place.folder.path(), &sent);
        let mut sent = Vec::new();
        [HELLO, NAMES, GOODBYE].iter().for_each(|body| frame(body, &mut sent));
        assert_eq!(frames(&exchange(place.folder.path(), &sent)), 2, "the holder goes on: a greeting and an answer");
    })
}

struct Place {
    folder: tempfile::TempDir,
    db: Database,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        // Paths in requests are relative to this.
        std::env::set_current_dir(folder.path()).expect("a folder");
        let db = Database::open(folder.path().join("memory"), Options::default()).expect("a database");
        let options =
            CollectionOptions { dim: Some(2), embedder: EmbedderChoice::None, ..CollectionOptions::default() };
        let notes = db.collection("notes", options).expect("a collection");
        notes.upsert(vec![Record { vector: Some(vec![1.0, 2.0]), ..Record::new("a") }]).expect("stored");
        db.kv("keys").expect("a keyspace").put("a", "b").expect("stored");
        Self { folder, db }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.db.close().ok(); // the folder goes
    }
}

fn frame(body: &[u8], to: &mut Vec<u8>) {
    to.extend((body.len() as u32).to_le_bytes());
    to.extend(crc32c::crc32c(body).to_le_bytes());
    to.extend_from_slice(body);
}

/// How many there are; asserts that they are whole.
fn frames(mut bytes: &[u8]) -> usize {
    let mut count = 0;
    while let Some((head, rest)) = bytes.split_at_checked(8) {
        let length = u32::from_le_bytes(head[..4].try_into().expect("four bytes")) as usize;
        let (body, after) = rest.split_at_checked(length).expect("a whole frame");
        assert_eq!(crc32c::crc32c(body).to_le_bytes(), head[4..]);
        (bytes, count) = (after, count + 1);
    }
    count
}

fn exchange(folder: &Path, bytes: &[u8]) -> Vec<u8> {
    let mut stream = UnixStream::connect(folder.join("memory/SOCKET")).expect("the holder listens");
    stream.set_read_timeout(Some(WAIT_MAX)).expect("a setting");
    // A connection that is ended takes no more.
    let _sent_or_ended = stream.write_all(bytes).and_then(|()| stream.shutdown(Shutdown::Write)).is_ok();
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer) {
        Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => {}
        read => drop(read.expect("an answer, and the end of the connection")),
    }
    answer
}
