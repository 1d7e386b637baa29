//! Writes of a pipeline: one batch in the store for as many as follow each other.
//!
//! A write is checked and remembered, and written together with those after it: before a command that only reads, before replies are
//! sent, or when there are many. Writes that read nothing are handed to the store as they are; others share a transaction of the
//! engine, in which each sees those before it. Replies keep their order, because nothing else is answered in between. When the batch is
//! refused, each command is run by itself and has its own answer.

use crate::call::Call;
use crate::commands::{Run, Spec, TABLE};
use crate::context::CommandContext;
use crate::failure::{Failure, Outcome};
use crate::protocol::{Command, Reply};
use crate::queued::{Deferred, Waiting};
use crate::session::Session;

/// Bytes of arguments that wait to be written.
const WAITING_BYTES: usize = 1 << 20;
/// Commands that wait to be written.
const WAITING_COMMANDS: usize = 1024;
/// The same where some of them read: others may not change what a transaction has read until it has ended.
const READING_COMMANDS: usize = 128;
/// A command with more bytes is written by itself.
const COMMAND_BYTES: usize = 64 << 10;

impl Session {
    /// Defers a write; its reply comes later. Gives back a command that it does not take.
    pub fn defer(&mut self, number: usize, arguments: Command) -> Result<(), Command> {
        let spec = &TABLE[number];
        let bytes: usize = arguments.iter().map(Vec::len).sum();
        let Run::Data(run) = spec.run else { return Err(arguments) };
        if self.queue.is_some() || bytes > COMMAND_BYTES || !spec.scope.writes() {
            return Err(arguments);
        }
        let (Ok(tenant), Ok(space)) = (self.tenant(), self.space()) else { return Err(arguments) };
        // A write over a vector set or an aggregate checks first.
        let is_blind = spec.only_writes(&arguments) && !space.is_checked_before_writes();
        if is_blind && !self.deferred.reads {
            let mut context = CommandContext::live(&tenant, &space, self.write_durability(), self.now_ms());
            let replied = run(&mut Call { context: &mut context, arguments: &arguments, protocol: self.protocol });
            match (replied, context.into_blind_writes()) {
                (Ok(Reply::Simple("OK")), Some(writes)) => self.deferred.writes.extend(writes),
                _ => return Err(arguments),
            }
        } else if is_blind || spec.changes_entries() {
            self.deferred.reads = true;
            self.deferred.writes.clear();
        } else {
            return Err(arguments);
        }
        let is_answered = self.replies.are_written();
        self.deferred.commands.push(Waiting { number, arguments, is_answered });
        self.deferred.bytes += bytes;
        Ok(())
    }

    /// Whether it is time to write what waits.
    pub fn has_deferred_enough(&self) -> bool {
        let most = if self.deferred.reads { READING_COMMANDS } else { WAITING_COMMANDS };
        self.deferred.bytes >= WAITING_BYTES || self.deferred.commands.len() >= most
    }

    /// Writes what waits, and its replies.
    pub fn settle(&mut self, out: &mut Vec<u8>) {
        if self.deferred.commands.is_empty() {
            return;
        }
        let Deferred { commands, writes, reads, .. } = std::mem::take(&mut self.deferred);
        if !reads && self.write_together(writes) {
            self.note_write();
            commands.iter().filter(|command| command.is_answered).for_each(|_| Reply::OK.write(self.protocol, out));
            return;
        }
        let (answered, commands): (Vec<bool>, Vec<(&'static Spec, Command)>) =
            commands.into_iter().map(|one| (one.is_answered, (&TABLE[one.number], one.arguments))).unzip();
        let together = if reads && commands.len() > 1 { self.run_in_turn(&commands).ok().flatten() } else { None };
        let outcomes: Vec<Outcome<Reply>> =
            together.unwrap_or_else(|| commands.iter().map(|(spec, arguments)| self.run(spec, arguments)).collect());
        for (outcome, _) in outcomes.into_iter().zip(answered).filter(|(_, is_answered)| *is_answered) {
            let reply = outcome.unwrap_or_else(|failure: Failure| Reply::Error(failure.line()));
            reply.write(self.protocol, out);
        }
        self.turn = None;
    }

    /// False when it was refused, and nothing was written.
    fn write_together(&mut self, writes: Vec<nuthatch_link::KvOp>) -> bool {
        let (Ok(tenant), Ok(space)) = (self.tenant(), self.space()) else { return false };
        let _turn = tenant.turn.read();
        !space.is_checked_before_writes()
            && space.keyspace.with_durability(self.write_durability()).multi_put(writes).is_ok()
    }
}
