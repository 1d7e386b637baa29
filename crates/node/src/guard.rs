//! The guard: a process beside a node that outlives it, and says then that it is dead.
//!
//! A follower cannot tell a dead owner from one that it does not reach, so it waits for the lease. The guard can: the system closes the
//! pipe that only the node's process holds when that process has ended, however it did. Then the guard tells everybody who asks a key
//! whose hash the node's fence has in the log. Nobody else knows that key, so nobody else can say so.
//!
//! It also passes on that the log has grown, which a follower would find out at its next look.
//!
//! **Invariant:** the key leaves the guard only once the node's process has ended.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use nuthatch_cluster::{ADDRESS_BYTES_MAX, ClusterError};
use parking_lot::Mutex;

use crate::failure::Failure;

/// From the node: the log has grown; it ends in good order. To a follower: the log has grown; the node is dead, and the key follows.
pub const LOOK: u8 = b'L';
pub const QUIT: u8 = b'Q';
pub const DIED: u8 = b'D';
pub const KEY_BYTES: usize = 32;

const FOLLOWERS_MAX: usize = 64;
/// A follower has so long to say its address, and to take a byte.
const PATIENCE: Duration = Duration::from_secs(2);
/// After the node's death it ends when nobody has listened for so long.
const ALONE_MAX: Duration = Duration::from_secs(5);
const LOOK_AROUND: Duration = Duration::from_millis(100);

/// Watches the process that started it; its standard input is that process's pipe
#[derive(Args)]
pub struct Guard {
    #[arg(long)]
    listen: SocketAddr,
    /// How long it tells of the death
    #[arg(long)]
    linger_ms: u64,
}

#[derive(Default)]
struct Followers {
    key: Option<[u8; KEY_BYTES]>,
    next: u64,
    there: BTreeMap<u64, TcpStream>,
}

impl Guard {
    pub fn run(&self) -> Result<u8, Failure> {
        let failed = |error: std::io::Error| ClusterError::Invalid(format!("the guard: {error}"));
        let listener = TcpListener::bind(self.listen).map_err(failed)?;
        say(&listener.local_addr().map_err(failed)?.port().to_string());
        let mut node = std::io::stdin().lock();
        let mut key = [0; KEY_BYTES];
        node.read_exact(&mut key).map_err(failed)?;
        let followers: Arc<Mutex<Followers>> = Arc::default();
        let taking = followers.clone();
        std::thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                let followers = taking.clone();
                if followers.lock().there.len() < FOLLOWERS_MAX {
                    std::thread::spawn(move || attend(socket, &followers));
                }
            }
        });
        let mut word = [0];
        loop {
            match node.read(&mut word) {
                Ok(1) if word[0] == LOOK => followers.lock().tell(&[LOOK]),
                Ok(1) => return Ok(0),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Ok(_) | Err(_) => break,
            }
        }
        followers.lock().told(key);
        let (since, mut alone) = (Instant::now(), Instant::now());
        while since.elapsed() < Duration::from_millis(self.linger_ms) && alone.elapsed() < ALONE_MAX {
            std::thread::sleep(LOOK_AROUND);
            if !followers.lock().there.is_empty() {
                alone = Instant::now();
            }
        }
        Ok(0)
    }
}

impl Followers {
    fn tell(&mut self, bytes: &[u8]) {
        // One that does not take it asks again.
        self.there.retain(|_, socket| socket.write_all(bytes).is_ok());
    }

    fn told(&mut self, key: [u8; KEY_BYTES]) {
        self.key = Some(key);
        self.tell(&death(&key));
    }
}

fn death(key: &[u8; KEY_BYTES]) -> Vec<u8> {
    [&[DIED], &key[..]].concat()
}

/// A follower says its address, and then listens until it goes.
fn attend(socket: TcpStream, followers: &Mutex<Followers>) {
    let Some((address, mut rest, number)) = greet(socket, followers) else { return };
    say(&format!("+{address}"));
    let mut nothing = [0; 64];
    while rest.read(&mut nothing).is_ok_and(|bytes| bytes > 0) {}
    followers.lock().there.remove(&number);
    say(&format!("-{address}"));
}

fn greet(mut socket: TcpStream, followers: &Mutex<Followers>) -> Option<(String, BufReader<TcpStream>, u64)> {
    socket.set_nodelay(true).ok()?;
    socket.set_read_timeout(Some(PATIENCE)).ok()?;
    socket.set_write_timeout(Some(PATIENCE)).ok()?;
    let mut rest = BufReader::new(socket.try_clone().ok()?);
    let mut line = Vec::new();
    (&mut rest).take(ADDRESS_BYTES_MAX as u64 + 1).read_until(b'\n', &mut line).ok()?;
    let address = String::from_utf8(line).ok()?.strip_suffix('\n')?.to_string();
    if address.is_empty() || address.chars().any(char::is_control) {
        return None;
    }
    socket.set_read_timeout(None).ok()?;
    let mut followers = followers.lock();
    if let Some(key) = &followers.key {
        socket.write_all(&death(key)).ok()?;
    }
    followers.next += 1;
    let number = followers.next;
    followers.there.insert(number, socket);
    Some((address, rest, number))
}

/// To the node, if it is still there.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}
