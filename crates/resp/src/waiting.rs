//! Commands that wait until there is something to take: BLPOP and its relatives.
//!
//! A command that finds nothing has no reply yet. Its connection writes the replies that it owes, and runs the command
//! again whenever a list or a sorted set of its tenant has grown, until it finds something, its time is up or the
//! client is gone. It finds writes by other faces and other processes within a tenth of a second.

use std::time::{Duration, Instant};

use crate::commands::{Spec, TABLE, Timeout};
use crate::failure::{Failure, Outcome};
use crate::number;
use crate::protocol::{Command, Reply};
use crate::queued::Waiter;
use crate::session::Session;

/// Between two looks at what other faces may have written.
const LOOK_AFTER: Duration = Duration::from_millis(100);

/// How long a command may wait; none when it does not wait, and no end for 0.
pub(crate) fn timeout(spec: &Spec, arguments: &[Vec<u8>]) -> Outcome<Option<Option<Duration>>> {
    let word = match spec.timeout {
        Timeout::None => return Ok(None),
        Timeout::First => arguments.first(),
        Timeout::Last => arguments.last(),
    };
    let wrong = || Failure::error("timeout is not a float or out of range");
    let seconds = number::float(word.ok_or_else(Failure::syntax)?).map_err(|_| wrong())?;
    if seconds < 0.0 {
        return Err(Failure::error("timeout is negative"));
    }
    let span = Duration::try_from_secs_f64(seconds).map_err(|_| wrong())?;
    Ok(Some((!span.is_zero()).then_some(span)))
}

impl Session {
    /// The reply of a command, unless it is one that waits and found nothing.
    pub fn reply_or_wait(
        &mut self,
        number: usize,
        arguments: Command,
        span: Option<Option<Duration>>,
        reply: Reply,
    ) -> Option<Reply> {
        match span {
            Some(span) if matches!(reply, Reply::Null | Reply::NullArray) => {
                let until = span.and_then(|span| Instant::now().checked_add(span));
                self.waiter = Some(Waiter { number, arguments, until, is_answered: self.replies.are_written() });
                None
            }
            _ => Some(reply),
        }
    }

    pub fn is_waiting(&self) -> bool {
        self.waiter.is_some()
    }

    /// Waits until there is a reply, and writes it; false when the client is gone.
    pub fn wait(&mut self, out: &mut Vec<u8>) -> bool {
        let Some(Waiter { number, arguments, until, is_answered }) = self.waiter.take() else { return true };
        let Ok(tenant) = self.tenant() else { return false };
        loop {
            let grown = tenant.growth.seen();
            let reply = match self.grant_holds() {
                true => self.run(&TABLE[number], &arguments).unwrap_or_else(|failure| Reply::Error(failure.line())),
                false => return false,
            };
            let left = until.map_or(LOOK_AFTER, |until| until.saturating_duration_since(Instant::now()));
            if left.is_zero() || !matches!(reply, Reply::Null | Reply::NullArray) {
                if is_answered {
                    reply.write(self.protocol, out);
                }
                return true;
            }
            if self.client.is_gone() {
                return false;
            }
            tenant.growth.wait(grown, left.min(LOOK_AFTER));
            self.heard();
        }
    }
}
