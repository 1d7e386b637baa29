//! What one connection is and has said so far: who, which database, which protocol, what is queued and watched.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use nuthatch_engine::Durability;

use crate::clients::Client;
use crate::commands::{Run, Spec, find};
use crate::failure::{Failure, Outcome};
use crate::gate::Grant;
use crate::protocol::{Command, Protocol, Reply};
use crate::server::Shared;
use crate::tenant::{Space, Tenant};
use crate::transaction::Watch;

pub(crate) struct Session {
    pub shared: Arc<Shared>,
    pub client: Arc<Client>,
    pub grant: Option<Grant>,
    pub database: usize,
    pub protocol: Protocol,
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
}

/// Commands between MULTI and EXEC.
#[derive(Default)]
pub(crate) struct Queue {
    pub commands: Vec<(&'static Spec, Command)>,
    /// Bytes of their arguments.
    pub bytes: usize,
    /// One of them could not be queued: EXEC will refuse.
    pub broken: bool,
}

impl Session {
    pub fn new(shared: Arc<Shared>, client: Arc<Client>) -> Self {
        let grant = shared.gate.stranger();
        client.belongs_to(grant.as_ref());
        Self {
            shared,
            client,
            grant,
            database: 0,
            protocol: Protocol::Two,
            queue: None,
            watched: Vec::new(),
            within: false,
            space: None,
            wrote: false,
            ended: false,
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

    /// Runs one command, or queues it.
    pub fn handle(&mut self, command: Command) -> Reply {
        self.shared.clients.commands.fetch_add(1, Ordering::Relaxed);
        let outcome = self.dispatch(command);
        self.note();
        outcome.unwrap_or_else(|failure| Reply::Error(failure.line()))
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

    /// Another user, who has not selected, queued or watched anything.
    pub fn enter(&mut self, grant: Grant) -> Outcome<()> {
        // The tenant before has still to be synced.
        self.make_durable()?;
        self.client.belongs_to(Some(&grant));
        self.grant = Some(grant);
        self.watched.clear();
        self.space = None;
        Ok(())
    }

    /// As if it had just connected.
    pub fn reset(&mut self) -> Outcome<()> {
        self.make_durable()?;
        self.grant = self.shared.gate.stranger();
        self.queue = None;
        self.watched.clear();
        self.protocol = Protocol::Two;
        self.select(0);
        self.client.belongs_to(self.grant.as_ref());
        self.client.about.lock().name.clear();
        Ok(())
    }

    fn dispatch(&mut self, mut command: Command) -> Outcome<Reply> {
        let name = command.remove(0);
        let Some(spec) = find(&name) else {
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
        if let Err(failure) = self.check_allowed(spec) {
            self.break_queue();
            return Err(failure);
        }
        match &mut self.queue {
            Some(queue) if !spec.runs_at_once => {
                queue.bytes += command.iter().map(|argument| argument.len() + 32).sum::<usize>();
                if queue.bytes > self.shared.settings.limits.command_bytes_max {
                    queue.broken = true;
                    let most = self.shared.settings.limits.command_bytes_max;
                    return Err(Failure::new("OOM", format!("MULTI has queued more than {most} bytes; split it up")));
                }
                queue.commands.push((spec, command));
                Ok(Reply::Simple("QUEUED"))
            }
            _ => self.run(spec, &command),
        }
    }

    /// Runs a command by itself.
    pub fn run(&mut self, spec: &'static Spec, arguments: &[Vec<u8>]) -> Outcome<Reply> {
        match spec.run {
            Run::Session(run) => run(self, arguments),
            Run::Data(run) => self.run_alone(spec, run, arguments),
        }
    }

    pub fn check_allowed(&self, spec: &Spec) -> Outcome<()> {
        let Some(grant) = &self.grant else {
            return if spec.needs_no_user { Ok(()) } else { Err(unauthenticated()) };
        };
        match spec.scope.allows(grant.scopes) {
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
