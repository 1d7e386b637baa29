//! Both ends of a guard: the node that has one, and the follower that listens to the owner's.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use nuthatch_cluster::{Bell, Watch};
use parking_lot::{Condvar, Mutex};
use tracing::warn;

use crate::guard::{DIED, KEY_BYTES, LOOK, QUIT};
use crate::serve::beside;

const CONNECT: Duration = Duration::from_secs(1);
/// Between two tries to reach a guard.
const PAUSE: Duration = Duration::from_millis(200);

/// A node's guard.
pub struct Guarded {
    watch: Watch,
    child: Mutex<Child>,
    rings: Arc<Rings>,
    standbys: Arc<Mutex<Vec<String>>>,
}

/// The log has grown; it has to be passed on. A guard that hangs keeps nobody waiting.
#[derive(Default)]
struct Rings {
    state: Mutex<Ringing>,
    changed: Condvar,
}

#[derive(Default)]
struct Ringing {
    is_due: bool,
    ends: bool,
}

impl Guarded {
    /// Starts it. `listen`: of the node; `port` 0 is any; `advertise`: how others reach the node, and so its guard.
    pub fn start(listen: IpAddr, port: u16, advertise: &str, linger: Duration) -> std::io::Result<Self> {
        let mut key = [0; KEY_BYTES];
        key[..16].copy_from_slice(uuid::Uuid::new_v4().as_bytes());
        key[16..].copy_from_slice(uuid::Uuid::new_v4().as_bytes());
        let mut child = Command::new(std::env::current_exe()?)
            .args(["guard", "--listen", &SocketAddr::new(listen, port).to_string()])
            .args(["--linger-ms", &linger.as_millis().to_string()])
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // A terminal's Ctrl-C is not for it.
            .process_group(0)
            .spawn()?;
        let gone = || std::io::Error::other("it ended at once");
        let (Some(mut node), Some(said)) = (child.stdin.take(), child.stdout.take()) else { return Err(gone()) };
        let mut said = BufReader::new(said);
        let mut line = String::new();
        said.read_line(&mut line)?;
        let port: u16 = line.trim().parse().map_err(|_| gone())?;
        node.write_all(&key)?;
        let watch = Watch { address: beside(advertise, port), seal: Watch::seal(&key) };
        let (standbys, rings): (Arc<Mutex<Vec<String>>>, Arc<Rings>) = Default::default();
        let there = standbys.clone();
        std::thread::Builder::new().name("nuthatch-guard".into()).spawn(move || {
            for line in said.lines().map_while(Result::ok) {
                let mut there = there.lock();
                match line.split_at_checked(1) {
                    Some(("+", address)) => there.push(address.into()),
                    Some(("-", address)) => {
                        if let Some(at) = there.iter().position(|one| one == address) {
                            there.remove(at);
                        }
                    }
                    _ => {}
                }
            }
            there.lock().clear();
        })?;
        let ringing = rings.clone();
        std::thread::Builder::new().name("nuthatch-bell".into()).spawn(move || ringing.pass_on(node))?;
        Ok(Self { watch, child: Mutex::new(child), rings, standbys })
    }

    /// Returns the description of this process for the fence; `None` once the process has ended.
    pub fn watch(&self) -> Option<Watch> {
        let lives = matches!(self.child.lock().try_wait(), Ok(None));
        lives.then(|| self.watch.clone())
    }

    /// The log has grown.
    pub fn ring(&self) {
        self.rings.state.lock().is_due = true;
        self.rings.changed.notify_one();
    }

    /// Addresses of nodes that listen to it.
    pub fn standbys(&self) -> Vec<String> {
        let mut standbys = self.standbys.lock().clone();
        standbys.sort();
        standbys.dedup();
        standbys
    }

    /// The node owns nothing and ends: nobody needs to be told.
    pub fn quit(&self) {
        self.rings.state.lock().ends = true;
        self.rings.changed.notify_one();
        if let Err(error) = self.child.lock().wait() {
            warn!("the guard: {error}");
        }
    }
}

impl Rings {
    fn pass_on(&self, guard: ChildStdin) {
        // The pipe is closed by the end of the process alone: to the guard, its end is the node's.
        let mut guard = std::mem::ManuallyDrop::new(guard);
        loop {
            let word = {
                let mut state = self.state.lock();
                while !state.is_due && !state.ends {
                    self.changed.wait(&mut state);
                }
                state.is_due = false;
                if state.ends { QUIT } else { LOOK }
            };
            if guard.write_all(&[word]).is_err() || word == QUIT {
                return;
            }
        }
    }
}

/// Listens to the guard of whoever owns the group.
pub struct Watcher {
    shared: Arc<Watching>,
    thread: Option<std::thread::JoinHandle<()>>,
}

#[derive(Default)]
struct Watching {
    target: Mutex<Target>,
    changed: Condvar,
}

#[derive(Default)]
struct Target {
    watch: Option<Watch>,
    /// The connection to it.
    socket: Option<TcpStream>,
    ends: bool,
}

impl Watcher {
    /// `advertise`: this node's address, which the owner lists.
    pub fn start(bell: Arc<Bell>, advertise: String) -> std::io::Result<Self> {
        let shared: Arc<Watching> = Arc::default();
        let watching = shared.clone();
        let run = move || watching.run(&bell, &advertise);
        let thread = std::thread::Builder::new().name("nuthatch-watch".into()).spawn(run)?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Whom to listen to from now on.
    pub fn of(&self, watch: Option<&Watch>) {
        let mut target = self.shared.target.lock();
        if target.watch.as_ref() != watch {
            target.watch = watch.cloned();
            target.hang_up();
            self.shared.changed.notify_all();
        }
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        {
            let mut target = self.shared.target.lock();
            target.ends = true;
            target.hang_up();
        }
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            thread.join().ok(); // a panic of it is in the log of the process
        }
    }
}

impl Target {
    fn hang_up(&mut self) {
        if let Some(socket) = self.socket.take() {
            socket.shutdown(std::net::Shutdown::Both).ok(); // it is gone otherwise
        }
    }
}

impl Watching {
    fn run(&self, bell: &Bell, advertise: &str) {
        loop {
            let watch = {
                let mut target = self.target.lock();
                loop {
                    if target.ends {
                        return;
                    }
                    match &target.watch {
                        Some(watch) => break watch.clone(),
                        None => self.changed.wait(&mut target),
                    }
                }
            };
            let is_dead = self.listen(&watch, bell, advertise).unwrap_or_default();
            bell.look();
            let mut target = self.target.lock();
            if !target.ends && target.watch.as_ref() == Some(&watch) {
                match is_dead {
                    true => self.changed.wait(&mut target),
                    false => drop(self.changed.wait_for(&mut target, PAUSE)),
                }
            }
        }
    }

    /// Until the guard is gone, or has said that its node is.
    fn listen(&self, watch: &Watch, bell: &Bell, advertise: &str) -> std::io::Result<bool> {
        let address = watch.address.to_socket_addrs()?.next();
        let address = address.ok_or_else(|| std::io::Error::other("it has no address"))?;
        let mut socket = TcpStream::connect_timeout(&address, CONNECT)?;
        socket.set_nodelay(true)?;
        socket.write_all(format!("{advertise}\n").as_bytes())?;
        {
            let mut target = self.target.lock();
            if target.ends || target.watch.as_ref() != Some(watch) {
                return Ok(false);
            }
            target.socket = Some(socket.try_clone()?);
        }
        // Picks up anything that arrived before it was listening.
        bell.look();
        loop {
            let mut word = [0];
            socket.read_exact(&mut word)?;
            match word[0] {
                LOOK => bell.look(),
                DIED => {
                    let mut key = [0; KEY_BYTES];
                    socket.read_exact(&mut key)?;
                    if watch.opens(&key) {
                        bell.died(key);
                        return Ok(true);
                    }
                }
                _ => return Ok(false),
            }
        }
    }
}
