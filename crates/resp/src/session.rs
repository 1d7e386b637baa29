//! What one connection is and has said so far: who, which database, which protocol, what is queued and watched.

use std::sync::Arc;
use std::time::{Duration, Instant};

use nuthatch_link::Durability;

use crate::clients::Client;
use crate::commands::{Run, Scope, Spec, TABLE, named, number_of};
use crate::failure::{Failure, Outcome};
use crate::gate::{Grant, Turn};
use crate::pipeline::Deferred;
use crate::protocol::{Command, Protocol, Reply};
use crate::replies::Replies;
use crate::shared::Shared;
use crate::tenant::{Space, Tenant};
use crate::transaction::Watch;

/// Within this time the commands of a pipeline are one question whether their key still holds.
const HOLDS_FOR: Duration = Duration::from_millis(1);

pub(crate) struct Session {
    pub shared: Arc<Shared>,
    pub client: Arc<Client>,
    pub grant: Option<Grant>,
    /// How many grants there were before this one: what was queued under another is not run.
    granted: u64,
    pub database: usize,
    pub protocol: Protocol,
    /// Whose replies the client reads.
    pub replies: Replies,
    /// What MULTI has queued; `None` outside of one.
    pub queue: Option<Queue>,
    pub watched: Vec<Watch>,
    /// EXEC is running.
    pub within: bool,
    /// The space of `database`, once something was asked of it.
    space: Option<Arc<Space>>,
    /// Something was written that no sync has followed.
    wrote: bool,
    ended: bool,
    /// When the grant was last seen to hold; `None` since more has come from the client.
    held_at: Option<Instant>,
    /// Writes of a pipeline that wait for each other, and the turn of the last one.
    pub deferred: Deferred,
    pub turn: Turn,
}

/// Commands between MULTI and EXEC.
pub(crate) struct Queue {
    /// The number of the grant under which they are queued, and their scopes looked at.
    granted: u64,
    pub commands: Vec<(&'static Spec, Command)>,
    /// Bytes of their arguments.
    pub bytes: usize,
    /// One of them could not be queued: EXEC will refuse.
    pub broken: bool,
}

impl Session {
    pub fn new(shared: Arc<Shared>, client: Arc<Client>) -> Self {
        let grant = shared.gate.stranger(client.address);
        client.belongs_to(grant.as_ref());
        Self {
            shared,
            client,
            grant,
            granted: 0,
            database: 0,
            protocol: Protocol::Two,
            replies: Replies::On,
            queue: None,
            watched: Vec::new(),
            within: false,
            space: None,
            wrote: false,
            ended: false,
            held_at: None,
            deferred: Deferred::default(),
            turn: None,
        }
    }

    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    pub fn is_authenticated(&self) -> bool {
        self.grant.is_some()
    }

    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// The connection closes after the reply.
    pub fn end(&mut self) {
        self.ended = true;
    }

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

    /// Everything that was acknowledged so far has survived what the settings promise.
    pub fn make_durable(&mut self) -> Outcome<()> {
        if std::mem::take(&mut self.wrote)
            && self.shared.settings.durability == Durability::Commit
            && let Some(grant) = &self.grant
        {
            grant.tenant.database.sync()?;
        }
        Ok(())
    }

    pub fn note_write(&mut self) {
        self.wrote = true;
    }

    /// What each write is written with: a commit's fsync is shared by all whose replies go out together.
    pub fn write_durability(&self) -> Durability {
        match self.shared.settings.durability {
            Durability::Commit => Durability::Os,
            other => other,
        }
    }

    pub fn now_ms(&self) -> u64 {
        self.shared.settings.clock.now_ms()
    }

    pub fn tenant(&self) -> Outcome<Arc<Tenant>> {
        Ok(self.grant.as_ref().ok_or_else(unauthenticated)?.tenant.clone())
    }

    /// The database that commands are about.
    pub fn space(&mut self) -> Outcome<Arc<Space>> {
        if let Some(space) = &self.space {
            return Ok(space.clone());
        }
        let space = self.tenant()?.space(self.database)?;
        self.space = Some(space.clone());
        Ok(space)
    }

    pub fn select(&mut self, database: usize) {
        self.database = database;
        self.space = None;
    }

    /// Another user, who has not queued or watched anything. The number of the database stays; whose it is changes.
    pub fn enter(&mut self, grant: Grant) -> Outcome<()> {
        self.change_grant(Some(grant))
    }

    fn change_grant(&mut self, grant: Option<Grant>) -> Outcome<()> {
        // The tenant before has still to be synced.
        self.make_durable()?;
        self.client.belongs_to(grant.as_ref());
        self.grant = grant;
        self.granted += 1;
        self.queue = None;
        self.watched.clear();
        self.space = None;
        self.held_at = None;
        Ok(())
    }

    /// Begins to queue commands.
    pub fn queue_up(&mut self) {
        self.queue = Some(Queue { granted: self.granted, commands: Vec::new(), bytes: 0, broken: false });
    }

    /// Whether a queue is of the grant that there is now.
    pub fn has_queued(&self, queue: &Queue) -> bool {
        queue.granted == self.granted
    }

    /// As if it had just connected.
    pub fn reset(&mut self) -> Outcome<()> {
        self.change_grant(self.shared.gate.stranger(self.client.address))?;
        self.protocol = Protocol::Two;
        self.replies = Replies::On;
        self.select(0);
        self.client.about.lock().name.clear();
        Ok(())
    }

    /// More has come from the client: what it may is asked again.
    pub fn heard(&mut self) {
        self.held_at = None;
    }

    fn grant_holds(&mut self) -> bool {
        let Some(pass) = self.grant.as_ref().and_then(|grant| grant.pass.as_ref()) else { return true };
        if self.held_at.is_some_and(|at| at.elapsed() < HOLDS_FOR) {
            return true;
        }
        self.held_at = Some(Instant::now());
        pass.holds()
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

    /// Tells whoever keeps account of it.
    pub fn account(&self, action: &str, target: &str, failed: Option<&Failure>) {
        if let Some(pass) = self.grant.as_ref().and_then(|grant| grant.pass.as_ref()) {
            pass.note(action, target, failed.map(|failure| failure.code));
        }
    }

    /// None: its reply comes later.
    fn dispatch(&mut self, number: Option<usize>, mut command: Command, out: &mut Vec<u8>) -> Outcome<Option<Reply>> {
        let name = command.remove(0);
        let Some(spec) = number.map(|number| &TABLE[number]) else {
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
        if self.defer(spec, &command) {
            if self.has_deferred_enough() {
                self.settle(out);
            }
            return Ok(None);
        }
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
                queue.commands.push((spec, command));
                Ok(Some(Reply::Simple("QUEUED")))
            }
            _ => self.run(spec, &command).map(Some),
        }
    }

    /// Runs a command by itself.
    pub fn run(&mut self, spec: &'static Spec, arguments: &[Vec<u8>]) -> Outcome<Reply> {
        match spec.run {
            Run::Session(run) => run(self, arguments),
            Run::Data(run) => {
                let outcome = self.run_alone(spec, run, arguments);
                if spec.empties_database() {
                    self.account("redis.flushdb", &self.database.to_string(), outcome.as_ref().err());
                }
                outcome
            }
            Run::Named(operation) => self.run_alone(spec, |call| named::ask(operation, call), arguments),
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

fn unauthenticated() -> Failure {
    Failure::new("NOAUTH", "Authentication required.")
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

    use nuthatch_link::{Database, Options};

    use super::*;
    use crate::gate::{Open, Scopes};

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
