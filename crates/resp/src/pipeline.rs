//! Writes of a pipeline that read nothing: one batch in the store for as many as follow each other.
//!
//! Such a command is checked and remembered, and written together with those after it: before a command that reads, before replies are
//! sent, or when there are many. Replies keep their order, because nothing else is answered in between. When the batch is refused, each command
//! is run by itself and has its own answer.

use crate::call::Call;
use crate::commands::{Run, TABLE};
use crate::context::CommandContext;
use crate::protocol::{Command, Reply};
use crate::queued::{Deferred, Waiting};
use crate::session::Session;

/// Bytes of arguments that wait to be written.
const WAITING_BYTES: usize = 1 << 20;
/// Commands that wait to be written.
const WAITING_COMMANDS: usize = 1024;
/// A command with more bytes is written by itself.
const COMMAND_BYTES: usize = 64 << 10;

impl Session {
    /// Takes a command for later, if it writes and reads nothing; its reply is `OK` then.
    pub fn defer(&mut self, number: usize, arguments: &Command) -> bool {
        let spec = &TABLE[number];
        let bytes: usize = arguments.iter().map(Vec::len).sum();
        let Run::Data(run) = spec.run else { return false };
        if self.queue.is_some() || bytes > COMMAND_BYTES || !spec.only_writes(arguments) {
            return false;
        }
        let (Ok(tenant), Ok(space)) = (self.tenant(), self.space()) else { return false };
        // A write over a vector set or an aggregate checks first.
        if space.is_checked_before_writes() {
            return false;
        }
        let mut context = CommandContext::live(&tenant, &space, self.write_durability(), self.now_ms());
        let replied = run(&mut Call { context: &mut context, arguments, protocol: self.protocol });
        match (replied, context.into_blind_writes()) {
            (Ok(Reply::Simple("OK")), Some(writes)) => {
                let is_answered = self.replies.are_written();
                self.deferred.commands.push(Waiting { number, arguments: arguments.clone(), is_answered });
                self.deferred.writes.extend(writes);
                self.deferred.bytes += bytes;
                true
            }
            _ => false,
        }
    }

    /// Whether it is time to write what waits.
    pub fn has_deferred_enough(&self) -> bool {
        self.deferred.bytes >= WAITING_BYTES || self.deferred.commands.len() >= WAITING_COMMANDS
    }

    /// Writes what waits, and its replies.
    pub fn settle(&mut self, out: &mut Vec<u8>) {
        if self.deferred.commands.is_empty() {
            return;
        }
        let Deferred { commands, writes, .. } = std::mem::take(&mut self.deferred);
        if self.write_together(writes) {
            self.note_write();
            commands.iter().filter(|command| command.is_answered).for_each(|_| Reply::OK.write(self.protocol, out));
        } else {
            for Waiting { number, arguments, is_answered } in commands {
                let reply = self.run(&TABLE[number], &arguments).unwrap_or_else(|failure| Reply::Error(failure.line()));
                if is_answered {
                    reply.write(self.protocol, out);
                }
            }
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
