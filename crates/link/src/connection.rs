//! One connection to the holder. Waiting on it ends when the holder does, even if a process that the holder forked keeps the
//! other end open.

use std::io::{BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use nuthatch_embed::{EmbedError, Embedder};
use nuthatch_engine::lock::{Holder, named};
use nuthatch_engine::{EmbedderChoice, Error, ErrorKind, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::frame::{self, FrameError};
use crate::hello::{self, Hello, PROTOCOL, Welcome};
use crate::limits::NoAnswer;
use crate::long::Listener;
use crate::meanwhile::Meanwhile;
use crate::request::{Encoded, FromHolder, ToHolder};
use crate::socket;

/// How long a holder that is alive may take to greet.
const WELCOME_WAIT_MAX: Duration = Duration::from_secs(10);
/// How often a waiting call looks at its clock and whether it was cancelled.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// How much longer than its time limit a search waits for the holder to say that the time is up.
const LATE: Duration = Duration::from_secs(2);
/// How often a write that makes no progress looks whether the holder is alive.
const WRITE_WAIT: Duration = Duration::from_millis(500);

/// Connected and greeted; does one request at a time.
pub(crate) struct Connection {
    pub session: String,
    /// Number of the next request.
    pub next: u64,
    reader: BufReader<Watched>,
}

impl Connection {
    pub fn open(
        folder: &Path,
        holder: &Holder,
        program: &str,
        session: String,
        next: u64,
    ) -> std::result::Result<Self, NoAnswer> {
        let name = holder.socket.as_deref().ok_or(NoAnswer::Broken)?;
        let stream = socket::connect(folder, name).map_err(|error| match error.kind() {
            std::io::ErrorKind::PermissionDenied => NoAnswer::Failed(Error::new(
                ErrorKind::Unavailable,
                format!(
                    "{} is open in {}, which serves only processes of its own user; run this as the same user",
                    folder.display(),
                    named(Some(holder))
                ),
            )),
            _ => NoAnswer::Broken,
        })?;
        let mut watched = Watched::new(stream).map_err(|_| NoAnswer::Broken)?;
        hello::send(&mut watched, &Hello::new(program, &session)).map_err(|_| NoAnswer::Broken)?;
        let mut reader = BufReader::with_capacity(32 << 10, watched);
        if !reader.get_ref().wait(Some(WELCOME_WAIT_MAX)).map_err(|_| NoAnswer::Broken)? {
            return Err(NoAnswer::Failed(Error::new(
                ErrorKind::Unavailable,
                format!(
                    "{} is open in {}, which has not answered for {} seconds; if that process is paused, resume it, or \
                    end it so that another process can take over",
                    folder.display(),
                    named(Some(holder)),
                    WELCOME_WAIT_MAX.as_secs()
                ),
            )));
        }
        let welcome: Welcome = hello::receive(&mut reader).map_err(|_| NoAnswer::Broken)?;
        if let Some(why) = welcome.refused {
            return Err(NoAnswer::Failed(refused(folder, holder, welcome.protocol, &why)));
        }
        Ok(Self { session, next, reader })
    }

    /// Sends a frame and waits for its answer, embedding when the holder asks for it. `cancel` tells the holder, over
    /// another connection, to stop.
    pub fn exchange(
        &mut self,
        sent: &[u8],
        meanwhile: &mut Meanwhile<'_>,
        cancel: impl Fn(),
    ) -> std::result::Result<Result<Encoded>, NoAnswer> {
        let broken = |_| NoAnswer::Broken;
        self.reader.get_mut().write_all(sent).map_err(|_| NoAnswer::Broken)?;
        let (waits, mut told) = (meanwhile.waits, false);
        loop {
            while !self.has_input(meanwhile.is_watched()).map_err(|_| NoAnswer::Broken)? {
                meanwhile.check_wanted().map_err(NoAnswer::Failed)?;
                if !told && waits.is_cancelled() {
                    told = true;
                    cancel();
                }
                if waits.deadline().is_some_and(|deadline| Instant::now() > deadline + LATE) {
                    return Err(NoAnswer::Failed(Error::new(
                        ErrorKind::Unavailable,
                        "the process that holds the folder did not answer within the time limit; allow more time, or \
                        check that process",
                    )));
                }
            }
            match frame::read(&mut self.reader).map_err(broken)? {
                FromHolder::Answer(answer) => return Ok(answer),
                FromHolder::Embed { query, texts } => {
                    let vectors = embed(meanwhile.embedder, query, &texts).map_err(|error| error.to_string());
                    frame::write(self.reader.get_mut(), &ToHolder::Embedded(vectors)).map_err(broken)?;
                }
                FromHolder::Told(told) => meanwhile.tell(told).map_err(NoAnswer::Failed)?,
            }
        }
    }

    /// Sends a message that has no answer.
    pub fn tell(&mut self, message: &ToHolder) -> std::result::Result<(), FrameError> {
        frame::write(self.reader.get_mut(), message)
    }

    fn has_input(&self, is_watched: bool) -> std::io::Result<bool> {
        Ok(!self.reader.buffer().is_empty() || self.reader.get_ref().wait(is_watched.then_some(LOOK_EVERY))?)
    }
}

fn embed(choice: &EmbedderChoice, query: bool, texts: &[String]) -> std::result::Result<Vec<Vec<f32>>, EmbedError> {
    let EmbedderChoice::Given(embedder) = choice else {
        return Err(EmbedError::Elsewhere("this collection was opened without an embedder of its own".into()));
    };
    let embedder: &dyn Embedder = &**embedder;
    match query {
        true => texts.iter().map(|text| embedder.embed_query(text)).collect(),
        false => embedder.embed_passages(&texts.iter().map(String::as_str).collect::<Vec<_>>()),
    }
}

fn refused(folder: &Path, holder: &Holder, protocol: u32, why: &str) -> Error {
    let remedy = match protocol == PROTOCOL {
        true => "close it there, or wait until that process ends, and try again",
        false => {
            "processes that share a folder must run the same version; upgrade one of them, or close the folder there"
        }
    };
    Error::new(
        ErrorKind::Conflict,
        format!("{} is open in {}, but {why}; {remedy}", folder.display(), named(Some(holder))),
    )
}

/// A stream that notices when the process at its other end ends.
struct Watched {
    stream: UnixStream,
    /// Becomes readable when that process ends. Absent where the system has no such thing.
    process: Option<OwnedFd>,
}

impl Watched {
    fn new(stream: UnixStream) -> std::io::Result<Self> {
        stream.set_write_timeout(Some(WRITE_WAIT))?;
        let process = process_at(&stream)?;
        Ok(Self { stream, process })
    }

    /// True when there is something to read, false when the time is over.
    ///
    /// # Errors
    /// The process at the other end has ended and left nothing to read.
    fn wait(&self, timeout: Option<Duration>) -> std::io::Result<bool> {
        let until = timeout.map(|timeout| Instant::now() + timeout);
        loop {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            let left = left.map(|left| Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() });
            let mut fds = vec![PollFd::new(&self.stream, PollFlags::IN)];
            fds.extend(self.process.as_ref().map(|process| PollFd::new(process, PollFlags::IN)));
            match poll(&mut fds, left.as_ref()) {
                Ok(0) => return Ok(false),
                Ok(_) if !fds[0].revents().is_empty() => return Ok(true),
                Ok(_) => return Err(std::io::ErrorKind::BrokenPipe.into()),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl Read for Watched {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        self.wait(None)?;
        self.stream.read(into)
    }
}

impl Write for Watched {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        loop {
            match self.stream.write(bytes) {
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                    self.wait(Some(Duration::ZERO))?;
                }
                other => return other,
            }
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(target_os = "linux")]
fn process_at(stream: &UnixStream) -> std::io::Result<Option<OwnedFd>> {
    use rustix::process::{PidfdFlags, pidfd_open};
    // In a container of its own the holder has no pid here; then the connection's end has to do.
    let Ok(peer) = rustix::net::sockopt::socket_peercred(stream) else { return Ok(None) };
    match pidfd_open(peer.pid, PidfdFlags::empty()) {
        Ok(process) => Ok(Some(process)),
        // The listener is dead, and a process that it forked keeps the socket open without answering.
        Err(rustix::io::Errno::SRCH) => Err(std::io::ErrorKind::ConnectionRefused.into()),
        Err(_) => Ok(None),
    }
}

#[cfg(not(target_os = "linux"))]
fn process_at(_stream: &UnixStream) -> std::io::Result<Option<OwnedFd>> {
    Ok(None)
}
