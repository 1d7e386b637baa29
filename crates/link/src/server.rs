//! The holder's side: it listens in the folder and answers every process that connects, one thread a connection.
//!
//! **Invariant:** bad input over a connection ends at worst that connection; and a request that the holder has begun
//! when it is told to stop is either answered or not acknowledged, never half of both.

use std::collections::{HashMap, HashSet};
use std::io::{BufReader, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nuthatch_engine::call::{IdempotencyRecord, Waits};
use nuthatch_engine::collection::Collection;
use nuthatch_engine::database::Database;
use nuthatch_engine::{Error, ErrorKind, Result};
use nuthatch_store::Shard;
use parking_lot::{Condvar, Mutex};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::answer::{Answering, AskCaller, Brought};
use crate::frame::{self, FrameError};
use crate::hello::{self, Hello, PROTOCOL, Welcome};
use crate::long::{Listener, Told};
use crate::request::{Encoded, FromHolder, Request, ToHolder};
use crate::socket;
use crate::tethered::{Keeper, Tethered};

/// Most connections at a time; each has a thread.
const CONNECTIONS_MAX: usize = 1024;
/// How long a connection may take to say who it is.
const HELLO_WAIT_MAX: Duration = Duration::from_secs(10);
/// How long the other side may leave its data unread: a stopped process must not keep an export open.
const TAKE_WAIT_MAX: Duration = Duration::from_secs(60);
/// How long a stopping holder lets answers that are under way come to their end.
const STOP_WAIT_MAX: Duration = Duration::from_secs(10);
/// How often idempotency records are looked through for old ones.
const FORGET_EVERY: Timespec = Timespec { tv_sec: 3600, tv_nsec: 0 };

/// Serves a folder until it is stopped.
pub(crate) struct Server {
    serving: Arc<Serving>,
    accepting: Option<JoinHandle<()>>,
    /// Wakes the accepting thread when it is shut down; closing would not, where a fork has it, too.
    wake: Option<UnixStream>,
}

struct Serving {
    db: Database,
    folder: PathBuf,
    stopping: AtomicBool,
    /// For ending them; by a number of their own.
    connections: Mutex<HashMap<u64, UnixStream>>,
    ended: Condvar,
    next: AtomicU64,
    /// Sessions that a connection works on now.
    sessions: Mutex<HashSet<String>>,
    session_left: Condvar,
    keeper: Arc<dyn Keeper>,
    /// Requests that can be cancelled, by session and number.
    running: Mutex<HashMap<(String, u64), Arc<AtomicBool>>>,
}

impl Server {
    /// Begins to listen. The caller holds the folder's lock, and tells the others afterwards.
    pub fn start(db: &Database, folder: &Path, keeper: Arc<dyn Keeper>) -> std::io::Result<Self> {
        let listener = socket::bind(folder)?;
        let (wake, woken) = UnixStream::pair()?;
        let serving = Arc::new(Serving {
            db: db.clone(),
            folder: folder.to_path_buf(),
            stopping: AtomicBool::new(false),
            connections: Mutex::default(),
            ended: Condvar::new(),
            next: AtomicU64::new(0),
            sessions: Mutex::default(),
            session_left: Condvar::new(),
            keeper,
            running: Mutex::default(),
        });
        let thread = serving.clone();
        let accepting = std::thread::Builder::new()
            .name("nuthatch-accept".into())
            .spawn(move || accept(&thread, &listener, &woken))?;
        Ok(Self { serving, accepting: Some(accepting), wake: Some(wake) })
    }

    /// Takes the name of the socket away, lets requests that are under way come to their end, and hangs up.
    pub fn stop(&mut self) {
        let serving = &self.serving;
        if serving.stopping.swap(true, Ordering::SeqCst) {
            return;
        }
        socket::remove_from(&serving.folder);
        if let Some(wake) = self.wake.take() {
            wake.shutdown(Shutdown::Both).ok(); // both ends are in this process
        }
        if let Some(accepting) = self.accepting.take() {
            accepting.join().ok(); // it cannot panic, and there would be nothing to do about it
        }
        serving.session_left.notify_all();
        let mut connections = serving.connections.lock();
        let hang_up = |connections: &HashMap<u64, UnixStream>, how: Shutdown| {
            // One that has ended by itself cannot be shut down any more, which is fine.
            connections.values().for_each(|stream| drop(stream.shutdown(how)));
        };
        hang_up(&connections, Shutdown::Read); // answers still get out
        let until = Instant::now() + STOP_WAIT_MAX;
        while !connections.is_empty() && !serving.ended.wait_until(&mut connections, until).timed_out() {}
        hang_up(&connections, Shutdown::Both);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

fn accept(serving: &Arc<Serving>, listener: &UnixListener, woken: &UnixStream) {
    let mut forget = true;
    loop {
        if std::mem::take(&mut forget) {
            // They take little; what is not forgotten now is forgotten in an hour.
            serving.db.forget_old_sessions().ok();
        }
        let mut ready = [PollFd::new(listener, PollFlags::IN), PollFd::new(woken, PollFlags::IN)];
        match poll(&mut ready, Some(&FORGET_EVERY)) {
            Ok(0) => forget = true,
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(_) => std::thread::sleep(Duration::from_millis(10)),
        }
        if serving.stopping.load(Ordering::SeqCst) {
            return;
        }
        if !ready[0].revents().contains(PollFlags::IN) {
            continue;
        }
        match listener.accept() {
            Ok((stream, _)) => serving.clone().begin(stream),
            // Out of descriptors, most likely: those that are connected go on, and some end.
            Err(_) => std::thread::sleep(Duration::from_millis(10)),
        }
    }
}

impl Serving {
    /// Starts a connection's thread.
    fn begin(self: Arc<Self>, stream: UnixStream) {
        let Ok(for_ending) = stream.try_clone() else { return };
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let crowded = {
            let mut connections = self.connections.lock();
            connections.insert(number, for_ending);
            connections.len() > CONNECTIONS_MAX
        };
        let serving = self.clone();
        let run = move || {
            // The error that ends a connection concerns nobody else; the other side notices the end.
            serving.talk(stream, crowded).ok();
            serving.end(number);
        };
        if std::thread::Builder::new().name("nuthatch-serve".into()).spawn(run).is_err() {
            self.end(number);
        }
    }

    fn end(&self, number: u64) {
        let mut connections = self.connections.lock();
        connections.remove(&number);
        self.ended.notify_all();
    }

    fn talk(&self, mut stream: UnixStream, crowded: bool) -> std::result::Result<(), FrameError> {
        let mut reader = BufReader::new(stream.try_clone()?);
        stream.set_read_timeout(Some(HELLO_WAIT_MAX))?;
        let hello: Hello = hello::receive(&mut reader)?;
        stream.set_read_timeout(None)?;
        stream.set_write_timeout(Some(TAKE_WAIT_MAX))?;
        let refused = if let Some(why) = socket::refusal(&stream) {
            Some(why)
        } else if hello.protocol != PROTOCOL {
            Some(format!(
                "it runs {} (process protocol {PROTOCOL}), and this is {} (process protocol {})",
                hello::build(),
                hello.build,
                hello.protocol
            ))
        } else if crowded {
            Some(format!("it already serves {CONNECTIONS_MAX} connections"))
        } else {
            None
        };
        let is_refused = refused.is_some();
        hello::send(&mut stream, &Welcome::new(refused))?;
        if is_refused {
            return Ok(());
        }
        let Some(_session) = self.take_session(&hello.session) else { return Ok(()) };
        let idempotency = self.db.last_write_of(&hello.session);
        if idempotency.as_ref().is_err_and(|error| error.kind == ErrorKind::Closed) {
            return Ok(()); // closed since
        }
        let stream = Arc::new(Mutex::new((reader, stream)));
        let mut line = Line {
            session: hello.session.clone(),
            ask: asking(&stream),
            stream: stream.clone(),
            known: HashMap::new(),
            tethered: Tethered::of(self.keeper.clone()),
        };
        loop {
            let message = frame::read(&mut stream.lock().0)?;
            match message {
                ToHolder::Ask { number, request } => {
                    let outcome = match &idempotency {
                        Ok(idempotency) => self.answer(&mut line, number, *idempotency, request),
                        Err(error) => Err(error.clone()),
                    };
                    if outcome.is_err() && self.stopping.load(Ordering::SeqCst) {
                        return Ok(()); // stopping may be why; the next holder answers it
                    }
                    self.send(&mut stream.lock().1, outcome)?;
                }
                ToHolder::Cancel { session, number } => {
                    if let Some(flag) = self.running.lock().get(&(session, number)) {
                        flag.store(true, Ordering::SeqCst);
                    }
                }
                ToHolder::Goodbye => {
                    self.db.forget_session(&hello.session).ok(); // else by age
                    return Ok(());
                }
                ToHolder::LetGo { snapshot } => line.tethered.let_go(snapshot),
                ToHolder::Embedded(_) => {
                    return Err(FrameError::Malformed("vectors came without a request for them".into()));
                }
            }
        }
    }

    fn answer(
        &self,
        line: &mut Line,
        number: u64,
        idempotency: Option<IdempotencyRecord>,
        request: Request,
    ) -> Result<Encoded> {
        let key = (line.session.clone(), number);
        let cancel = Arc::new(AtomicBool::new(false));
        self.running.lock().insert(key.clone(), cancel.clone());
        let mut answering = Answering {
            db: &self.db,
            request_id: Some((&line.session, number)),
            idempotency,
            brought: Brought::There(&line.ask),
            waits: Waits::of(request.wait, Some(&cancel)),
            known: &mut line.known,
            tethered: Some(&mut line.tethered),
            listener: &mut Telling { stream: &line.stream, stopping: &self.stopping },
        };
        let outcome = catch_unwind(AssertUnwindSafe(|| answering.answer(request)));
        self.running.lock().remove(&key);
        outcome.unwrap_or_else(|_| {
            Err(Error::internal(
                "answering panicked in the process that holds the folder; this is a defect, please report it",
            ))
        })
    }

    fn send(&self, stream: &mut UnixStream, outcome: Result<Encoded>) -> std::result::Result<(), FrameError> {
        match frame::write(stream, &FromHolder::Answer(outcome)) {
            Err(FrameError::TooLarge { bytes }) => {
                let message = format!(
                    "the answer has {} MiB, and the limit between processes is {} MiB; ask for less at a time",
                    bytes >> 20,
                    frame::FRAME_BYTES_MAX >> 20
                );
                frame::write(stream, &FromHolder::Answer(Err(Error::new(ErrorKind::Exhausted, message))))
            }
            other => other,
        }
    }

    /// Waits until no other connection works on the session: a broken one may still work on its last request. `None`
    /// when the holder stops.
    fn take_session(&self, session: &str) -> Option<Session<'_>> {
        let mut sessions = self.sessions.lock();
        while sessions.contains(session) {
            if self.stopping.load(Ordering::SeqCst) {
                return None;
            }
            self.session_left.wait_for(&mut sessions, Duration::from_millis(100));
        }
        sessions.insert(session.to_string());
        Some(Session { serving: self, session: session.to_string() })
    }
}

/// One connection, as far as answers need it.
struct Line {
    session: String,
    ask: Arc<AskCaller>,
    stream: Stream,
    known: HashMap<Shard, Collection>,
    tethered: Tethered,
}

type Stream = Arc<Mutex<(BufReader<UnixStream>, UnixStream)>>;

/// Tells the other side of a connection how far its long request is.
struct Telling<'t> {
    stream: &'t Stream,
    stopping: &'t AtomicBool,
}

impl Listener for Telling<'_> {
    fn tell(&mut self, told: Told) -> Result<()> {
        if self.stopping.load(Ordering::SeqCst) {
            return Err(Error::closed()); // not answered: the next holder begins again
        }
        let told = frame::encode(&FromHolder::Told(told)).map_err(|error| Error::internal(error.to_string()))?;
        self.stream.lock().1.write_all(&told).map_err(|_| gone())
    }

    /// The client sends nothing during a long request, so readable input means that the connection has ended.
    fn check_there(&self) -> Result<()> {
        if self.stopping.load(Ordering::SeqCst) {
            return Err(Error::closed());
        }
        let stream = &self.stream.lock().1;
        match poll(&mut [PollFd::new(stream, PollFlags::IN)], Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) {
            Ok(0) | Err(_) => Ok(()),
            Ok(_) => Err(gone()),
        }
    }
}

fn gone() -> Error {
    Error::new(ErrorKind::Unavailable, "the calling process has ended")
}

struct Session<'a> {
    serving: &'a Serving,
    session: String,
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        self.serving.sessions.lock().remove(&self.session);
        self.serving.session_left.notify_all();
    }
}

/// Asks the other side of a connection to embed, in the middle of its request.
fn asking(stream: &Stream) -> Arc<AskCaller> {
    let stream = stream.clone();
    Arc::new(move |query, texts| {
        let mut stream = stream.lock();
        let texts = texts.iter().map(ToString::to_string).collect();
        let gone = |error: FrameError| format!("the process that owns the embedder has ended: {error}");
        frame::write(&mut stream.1, &FromHolder::Embed { query, texts }).map_err(gone)?;
        match frame::read(&mut stream.0).map_err(gone)? {
            ToHolder::Embedded(vectors) => vectors,
            _ => Err("the process that owns the embedder sent an unexpected answer".into()),
        }
    })
}
