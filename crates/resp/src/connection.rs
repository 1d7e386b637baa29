//! One connection: read what comes, run the commands in their order, write the replies once what they acknowledge is durable.
//!
//! A thread each. A write waits for an fsync and a search for the disk, so a connection at work takes a thread anyway; handing each
//! batch to another one would only add the way there and back.

use std::io::{ErrorKind, Read, Write};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::clients::{Client, Clients};
use crate::protocol::{Decoder, Limits, ProtocolError, Reply};
use crate::server::{Shared, Stream};
use crate::session::Session;

/// Bytes that are read at a time.
const READ_BYTES: usize = 16 << 10;
/// What a connection may hold of half a command without asking.
const FREE_INPUT_BYTES: usize = 2 * READ_BYTES;

/// Serves one client until it goes.
pub(crate) fn serve(shared: &Arc<Shared>, client: Arc<Client>, mut stream: Box<dyn Stream>) {
    let mut share = InputShare { clients: &shared.clients, bytes: 0 };
    let mut session = Session::new(shared.clone(), client);
    let mut decoder = Decoder::new(limits(shared, &session));
    let (mut chunk, mut out) = (vec![0; READ_BYTES], Vec::new());
    let mut timeout = None;
    loop {
        loop {
            let reply = match decoder.next_command() {
                Ok(Some(command)) => session.handle(command),
                Ok(None) => break,
                Err(error) => {
                    session.end();
                    Reply::Error(format!("ERR {error}"))
                }
            };
            reply.write(session.protocol(), &mut out);
            decoder.set_limits(limits(shared, &session));
            let full = out.len() > shared.settings.output_bytes;
            if (full || session.has_ended()) && flush(&mut session, &mut *stream, &mut out).is_err() {
                return;
            }
            if session.has_ended() {
                return;
            }
        }
        if flush(&mut session, &mut *stream, &mut out).is_err() {
            return;
        }
        if !share.take(decoder.held_bytes(), shared.settings.input_bytes_max) {
            let error = ProtocolError::LargeCommand(shared.settings.input_bytes_max);
            Reply::Error(format!("ERR {error} over all connections")).write(session.protocol(), &mut out);
            // Whether or not it reaches the client, the connection ends.
            let _ = stream.write_all(&out);
            return;
        }
        let patience = match decoder.is_within_command() {
            true => Some(shared.settings.stalled_after),
            false => shared.settings.idle_after,
        };
        if patience != timeout {
            if stream.set_read_timeout(patience).is_err() {
                return;
            }
            timeout = patience;
        }
        match stream.read(&mut chunk) {
            Ok(0) => return,
            Ok(read) => decoder.feed(&chunk[..read]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // It has said nothing for too long, or is gone.
            Err(_) => return,
        }
    }
}

fn limits(shared: &Shared, session: &Session) -> Limits {
    match session.is_authenticated() {
        true => shared.settings.limits,
        false => Limits::UNAUTHENTICATED,
    }
}

/// Writes the replies, after what they acknowledge has become durable. An error ends the connection.
fn flush(session: &mut Session, stream: &mut dyn Stream, out: &mut Vec<u8>) -> std::io::Result<()> {
    if out.is_empty() {
        return Ok(());
    }
    if let Err(failure) = session.make_durable() {
        // None of the replies may be believed.
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

/// What this connection holds of the bytes that all may hold together.
struct InputShare<'s> {
    clients: &'s Clients,
    bytes: usize,
}

impl InputShare<'_> {
    /// False when there is no room for so many.
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
