//! The state of one connection: its user, its database, its protocol, and what it has queued and watches.

use std::sync::Arc;
use std::time::{Duration, Instant};

use nuthatch_link::Durability;

use crate::clients::Client;
use crate::failure::{Failure, Outcome};
use crate::gate::{Grant, Turn};
use crate::protocol::Protocol;
use crate::queued::{Deferred, Queue, Waiter, Watch};
use crate::replies::Replies;
use crate::shared::Shared;
use crate::tenant::{Space, Tenant};

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
    /// The commands that MULTI has queued; `None` outside of one.
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
    /// The command that waits for something to take.
    pub waiter: Option<Waiter>,
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
            waiter: None,
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

    /// Waits until the data shown by the replies may be revealed.
    pub fn hold_replies(&self) -> Outcome<()> {
        match &self.shared.settings.hold {
            Some(hold) => Ok(hold.wait()?),
            None => Ok(()),
        }
    }

    pub fn note_write(&mut self) {
        self.wrote = true;
    }

    /// The durability of each single write. Under `Commit`, all writes whose replies go out together share one fsync.
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

    /// Notes what the keys hold now.
    pub fn watch(&mut self, keys: &[Vec<u8>]) -> Outcome<()> {
        let entries = self.space()?.keyspace.entries(keys)?;
        for (key, entry) in keys.iter().zip(&entries) {
            let database = self.database;
            if !self.watched.iter().any(|watch| watch.database == database && watch.key == *key) {
                self.watched.push(Watch::new(database, key, entry.as_ref()));
            }
        }
        Ok(())
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

    /// Whether the user may still do what was granted.
    pub fn grant_holds(&mut self) -> bool {
        let Some(pass) = self.grant.as_ref().and_then(|grant| grant.pass.as_ref()) else { return true };
        if self.held_at.is_some_and(|at| at.elapsed() < HOLDS_FOR) {
            return true;
        }
        self.held_at = Some(Instant::now());
        pass.holds()
    }

    /// Records it in the audit log.
    pub fn account(&self, action: &str, target: &str, failed: Option<&Failure>) {
        if let Some(pass) = self.grant.as_ref().and_then(|grant| grant.pass.as_ref()) {
            pass.note(action, target, failed.map(|failure| failure.code));
        }
    }
}

/// Of a command that needs a user.
pub(crate) fn unauthenticated() -> Failure {
    Failure::new("NOAUTH", "Authentication required.")
}
