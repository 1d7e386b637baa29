//! One connection: read what comes, run the commands in their order, write the replies once what they acknowledge is durable.
//!
//! A thread each. A write waits for an fsync and a search for the disk, so a connection at work takes a thread anyway; handing each
//! batch to another one would only add the way there and back.

use std::io::{ErrorKind, Read, Write};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::clients::{Client, Clients};
use crate::counts::Counts;
use crate::protocol::{Decoder, Limits, ProtocolError, Reply};

use crate::session::Session;
use crate::shared::{Shared, Stream};

/// Bytes that are read at a time.
const READ_BYTES: usize = 16 << 10;
/// A client that sends fewer bytes of a command in `stalled_after`, and does not end it, has stalled.
const PROGRESS_BYTES: usize = 16 << 10;
/// Bytes of half a command that a connection may hold without counting them.
const FREE_INPUT_BYTES: usize = 2 * READ_BYTES;

/// Serves one client until it goes.
pub(crate) fn serve(shared: &Arc<Shared>, client: Arc<Client>, mut stream: Box<dyn Stream>) {
    let mut share = InputShare { clients: &shared.clients, bytes: 0 };
    let mut session = Session::new(shared.clone(), client);
    let mut decoder = Decoder::new(limits(shared, &session));
    let (mut chunk, mut out) = (vec![0; READ_BYTES], Vec::new());
    let (mut timeout, mut pace) = (None, Pace::new());
    loop {
        let mut has_run = false;
        let mut unanswered = Unanswered::default();
        loop {
            match decoder.next_command() {
                Ok(Some(command)) => {
                    unanswered.begin();
                    session.handle(command, &mut out);
                    has_run = true;
                    if session.is_waiting() {
                        if flush(&mut session, &mut *stream, &mut out).is_err() || !session.wait(&mut out) {
                            return;
                        }
                        unanswered = Unanswered::default();
                    }
                }
                Ok(None) => break,
                Err(error) => {
                    session.settle(&mut out);
                    session.end();
                    Reply::Error(format!("ERR {error}")).write(session.protocol(), &mut out);
                }
            }
            decoder.set_limits(limits(shared, &session));
            let full = out.len() > shared.settings.output_bytes;
            if full || session.has_ended() {
                session.settle(&mut out);
                if flush(&mut session, &mut *stream, &mut out).is_err() {
                    return;
                }
            }
            if session.has_ended() {
                return;
            }
        }
        session.settle(&mut out);
        if flush(&mut session, &mut *stream, &mut out).is_err() {
            return;
        }
        if has_run {
            pace.ran(&session);
            unanswered.end(&shared.settings.counts);
        }
        if !share.take(decoder.held_bytes(), shared.settings.input_bytes_max) {
            let error = ProtocolError::LargeCommand(shared.settings.input_bytes_max);
            Reply::Error(format!("ERR {error} over all connections")).write(session.protocol(), &mut out);
            // Whether or not it reaches the client, the connection ends.
            let _ = stream.write_all(&out);
            return;
        }
        let Some(patience) = patience(shared, &decoder, &session, &mut pace) else { return };
        if patience != timeout {
            if stream.set_read_timeout(patience).is_err() {
                return;
            }
            timeout = patience;
        }
        match stream.read(&mut chunk) {
            Ok(0) => return,
            Ok(read) => {
                session.heard();
                pace.came(read, &session);
                decoder.feed(&chunk[..read]);
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // It has said nothing for too long, or is gone.
            Err(_) => return,
        }
    }
}

/// How long to wait for what comes next, if not for ever; `None` when the client has stalled.
fn patience(shared: &Shared, decoder: &Decoder, session: &Session, pace: &mut Pace) -> Option<Option<Duration>> {
    match decoder.is_within_command() || !session.is_authenticated() {
        true => pace.left(shared.settings.stalled_after).map(Some),
        false => {
            pace.begin();
            Some(shared.settings.idle_after)
        }
    }
}

/// The commands of a pipeline whose replies are not written yet.
#[derive(Default)]
struct Unanswered {
    since: Option<Instant>,
    commands: u64,
}

impl Unanswered {
    fn begin(&mut self) {
        self.since.get_or_insert_with(Instant::now);
        self.commands += 1;
    }

    fn end(&self, counts: &Counts) {
        if let Some(since) = self.since {
            counts.answered(self.commands, since.elapsed());
        }
    }
}

/// How a client gets on: with a command that it has begun, or with saying who it is.
struct Pace {
    since: Instant,
    bytes: usize,
}

impl Pace {
    fn new() -> Self {
        Self { since: Instant::now(), bytes: 0 }
    }

    /// Nothing is expected; what comes next begins now.
    fn begin(&mut self) {
        *self = Self::new();
    }

    /// Notes that whole commands were run. A client that has not authenticated yet gets no more time to do so.
    fn ran(&mut self, session: &Session) {
        if session.is_authenticated() {
            self.begin();
        }
    }

    /// A byte now and then is no progress.
    fn came(&mut self, bytes: usize, session: &Session) {
        self.bytes += bytes;
        if self.bytes >= PROGRESS_BYTES && session.is_authenticated() {
            self.begin();
        }
    }

    /// How long the next byte may take; `None`: it has taken too long.
    fn left(&self, most: Duration) -> Option<Duration> {
        most.checked_sub(self.since.elapsed()).filter(|left| !left.is_zero())
    }
}

fn limits(shared: &Shared, session: &Session) -> Limits {
    match session.is_authenticated() {
        true => shared.settings.limits,
        false => Limits::UNAUTHENTICATED,
    }
}

/// Writes the replies, after what they acknowledge has become durable; so does what a client wants no replies to. An error ends the
/// connection.
fn flush(session: &mut Session, stream: &mut dyn Stream, out: &mut Vec<u8>) -> std::io::Result<()> {
    if let Err(failure) = session.make_durable() {
        // None of the replies may be believed.
        out.clear();
        Reply::Error(failure.line()).write(session.protocol(), out);
        session.end();
    }
    if out.is_empty() {
        return Ok(());
    }
    if let Err(failure) = session.hold_replies() {
        out.clear();
        Reply::Error(failure.line()).write(session.protocol(), out);
        session.end();
    }
    stream.write_all(out)?;
    stream.flush()?;
    out.clear();
    if out.capacity() > 2 * READ_BYTES {
        out.shrink_to(READ_BYTES);
    }
    Ok(())
}

/// This connection's share of the bytes that all connections may hold together.
struct InputShare<'s> {
    clients: &'s Clients,
    bytes: usize,
}

impl InputShare<'_> {
    /// Returns false if there is no room for `held` bytes.
    fn take(&mut self, held: usize, most: usize) -> bool {
        let wanted = held.saturating_sub(FREE_INPUT_BYTES);
        if wanted <= self.bytes {
            self.clients.input_bytes.fetch_sub(self.bytes - wanted, Ordering::Relaxed);
            self.bytes = wanted;
            return true;
        }
        let before = self.clients.input_bytes.fetch_add(wanted - self.bytes, Ordering::Relaxed);
        let fits = before + (wanted - self.bytes) <= most;
        self.bytes = wanted;
        fits
    }
}

impl Drop for InputShare<'_> {
    fn drop(&mut self) {
        self.clients.input_bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}
