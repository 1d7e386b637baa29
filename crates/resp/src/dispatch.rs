//! The dispatch of a command: it is refused, queued, deferred or run, and its reply is written.

use std::time::Instant;

use crate::commands::{Scope, Spec, TABLE, number_of};
use crate::failure::{Failure, Outcome};
use crate::gate::Turn;
use crate::protocol::{Command, Reply};
use crate::session::{Session, unauthenticated};
use crate::waiting::timeout;

impl Session {
    /// Runs one command, queues it, or takes it for later; writes the replies that there are.
    pub fn handle(&mut self, command: Command, out: &mut Vec<u8>) {
        if let Some(grant) = &self.grant {
            grant.tenant.count_command();
        }
        if !self.grant_holds() {
            self.end();
            let failure = Failure::new(
                "NOAUTH",
                "the credentials of this connection are no longer valid; reconnect with a valid key",
            );
            self.settle(out);
            return Reply::Error(failure.line()).write(self.protocol, out);
        }
        self.replies.begin();
        let number = command.first().and_then(|name| number_of(name));
        let outcome = self.dispatch(number, command, out);
        self.note();
        self.shared.settings.counts.ran(number, outcome.is_err());
        let reply = match outcome {
            Ok(reply) => reply,
            Err(failure) => {
                self.settle(out);
                Some(Reply::Error(failure.line()))
            }
        };
        if let Some(reply) = reply.filter(|_| self.replies.are_written()) {
            reply.write(self.protocol, out);
        }
        self.replies.end();
    }

    /// The turn of a command; EXEC has one for all that it runs.
    fn begin(&self, spec: &Spec) -> Outcome<Turn> {
        match self.grant.as_ref().and_then(|grant| grant.pass.as_ref()) {
            Some(pass) if spec.scope != Scope::Connection || spec.runs_queue() => {
                pass.begin(spec.scope != Scope::Read).map_err(|too_many| Failure::new("LIMIT", too_many))
            }
            _ => Ok(None),
        }
    }

    /// None: its reply comes later.
    fn dispatch(&mut self, number: Option<usize>, mut command: Command, out: &mut Vec<u8>) -> Outcome<Option<Reply>> {
        let name = command.remove(0);
        let Some((number, spec)) = number.map(|number| (number, &TABLE[number])) else {
            self.break_queue();
            return Err(unknown(&name, &command));
        };
        {
            let mut about = self.client.about.lock();
            about.command = spec.name;
            about.last = Instant::now();
        }
        if !spec.takes(command.len() + 1) {
            self.break_queue();
            return Err(Failure::arity(spec.name));
        }
        if let Err(failure) = self.check_allowed(spec, &command) {
            self.break_queue();
            if failure.code == "NOPERM" {
                self.account(&format!("redis.{}", spec.name.to_lowercase()), "", Some(&failure));
            }
            return Err(failure);
        }
        // One turn at a time: that of a command that waits is over with the next one.
        self.turn = None;
        match self.begin(spec) {
            Ok(turn) => self.turn = turn,
            Err(too_many) => {
                // An EXEC that is refused ends its transaction, as any other.
                match spec.runs_queue() {
                    true => {
                        self.queue = None;
                        self.watched.clear();
                    }
                    false => self.break_queue(),
                }
                return Err(too_many);
            }
        }
        let command = match self.defer(number, command) {
            Ok(()) => {
                if self.has_deferred_enough() {
                    self.settle(out);
                }
                return Ok(None);
            }
            Err(command) => command,
        };
        let turn = self.turn.take();
        self.settle(out);
        let _turn = turn;
        match &mut self.queue {
            Some(queue) if !spec.runs_at_once => {
                queue.bytes += command.iter().map(|argument| argument.len() + 32).sum::<usize>();
                if queue.bytes > self.shared.settings.limits.command_bytes_max {
                    queue.broken = true;
                    let most = self.shared.settings.limits.command_bytes_max;
                    return Err(Failure::new("OOM", format!("MULTI has queued more than {most} bytes; split it up")));
                }
                queue.commands.push((number, command));
                Ok(Some(Reply::Simple("QUEUED")))
            }
            _ => {
                let span = timeout(spec, &command)?;
                let reply = self.run(spec, &command)?;
                Ok(self.reply_or_wait(number, command, span, reply))
            }
        }
    }

    /// Whether this user may run the command, here and now.
    fn check_allowed(&self, spec: &Spec, arguments: &[Vec<u8>]) -> Outcome<()> {
        if spec.is_outside_multi && self.queue.is_some() {
            let message = format!("Command not allowed inside a transaction: '{}'", spec.name.to_lowercase());
            return Err(Failure::error(message));
        }
        let Some(grant) = &self.grant else {
            return if spec.needs_no_user { Ok(()) } else { Err(unauthenticated()) };
        };
        match spec.scope_of(arguments).allows(grant.scopes) {
            true => Ok(()),
            false => Err(Failure::new(
                "NOPERM",
                format!("User {} has no permissions to run the '{}' command", grant.user, spec.name.to_lowercase()),
            )),
        }
    }

    fn break_queue(&mut self) {
        if let Some(queue) = &mut self.queue {
            queue.broken = true;
        }
    }

    fn note(&self) {
        let mut about = self.client.about.lock();
        about.database = self.database;
        about.protocol = self.protocol;
        about.queued = self.queue.as_ref().map_or(-1, |queue| queue.commands.len() as i64);
        about.watched = self.watched.len();
    }
}

fn unknown(name: &[u8], arguments: &[Vec<u8>]) -> Failure {
    let shown = |bytes: &[u8]| String::from_utf8_lossy(&bytes[..bytes.len().min(128)]).into_owned();
    let mut begins = String::new();
    for argument in arguments {
        if begins.len() > 128 {
            break;
        }
        begins.push_str(&format!("'{}' ", shown(argument)));
    }
    Failure::error(format!("unknown command '{}', with args beginning with: {begins}", shown(name)))
}

#[cfg(test)]
mod tests {
    use std::net::{SocketAddr, TcpListener, TcpStream};
    use std::sync::Arc;

    use nuthatch_link::{Database, Options};

    use super::*;
    use crate::gate::{Grant, Open, Scopes};
    use crate::shared::Shared;
    use crate::tenant::Tenant;

    #[test]
    fn a_queue_is_not_run_under_another_grant_however_that_came() {
        let tenant = || Tenant::new(Database::in_memory(Options::default()).unwrap());
        let address: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let shared = Shared::new(Arc::new(Open(tenant())), crate::Settings::default(), address);
        let listener = TcpListener::bind(address).unwrap();
        let socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let client = shared.clients.add(socket, 1).unwrap().unwrap();
        let mut session = Session::new(shared, client);
        let ask = |session: &mut Session, command: &str| {
            let mut out = Vec::new();
            session.handle(command.split(' ').map(|word| word.as_bytes().to_vec()).collect(), &mut out);
            String::from_utf8(out).unwrap()
        };
        ask(&mut session, "MULTI");
        assert_eq!(ask(&mut session, "DEL precious"), "+QUEUED\r\n");
        let queue = session.queue.take();
        let other = tenant();
        other.space(0).unwrap().keyspace.put("precious", "1").unwrap();
        let reader = Grant { user: "b".into(), tenant: other.clone(), scopes: Scopes::READ, pass: None };
        session.enter(reader).unwrap();
        assert!(session.queue.is_none());
        // As if something had kept it.
        session.queue = queue;
        assert!(ask(&mut session, "EXEC").starts_with("-EXECABORT"));
        assert!(other.space(0).unwrap().keyspace.get("precious").unwrap().is_some());
    }
}
