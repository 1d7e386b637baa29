//! The state that a connection holds back: commands between MULTI and EXEC, the keys that it watches, writes that wait
//! for each other, and a command that waits for something to take.

use std::time::Instant;

use nuthatch_link::{Entry, KvOp};

use crate::protocol::Command;

/// Commands between MULTI and EXEC.
pub(crate) struct Queue {
    /// The number of the grant under which they are queued, and their scopes looked at.
    pub granted: u64,
    /// Each by its place in the table.
    pub commands: Vec<(usize, Command)>,
    /// Bytes of their arguments.
    pub bytes: usize,
    /// One of them could not be queued: EXEC will refuse.
    pub broken: bool,
}

/// A key as WATCH found it.
pub(crate) struct Watch {
    pub database: usize,
    pub key: Vec<u8>,
    /// Of its value and expiry.
    digest: Option<blake3::Hash>,
}

/// Commands that have been checked but not written.
#[derive(Default)]
pub(crate) struct Deferred {
    pub commands: Vec<Waiting>,
    /// All that they write, as long as none of them reads.
    pub writes: Vec<KvOp>,
    /// Some of them read.
    pub reads: bool,
    /// Of the arguments.
    pub bytes: usize,
}

/// A command whose write waits.
pub(crate) struct Waiting {
    /// Its place in the table.
    pub number: usize,
    pub arguments: Command,
    pub is_answered: bool,
}

/// A command that waits until there is something to take.
pub(crate) struct Waiter {
    /// Its place in the table.
    pub number: usize,
    pub arguments: Command,
    /// Never: no end.
    pub until: Option<Instant>,
    pub is_answered: bool,
}

impl Watch {
    pub fn new(database: usize, key: &[u8], found: Option<&Entry>) -> Self {
        Self { database, key: key.to_vec(), digest: digest(found) }
    }

    /// The key holds what it held.
    pub fn is_unchanged(&self, now: Option<&Entry>) -> bool {
        digest(now) == self.digest
    }
}

fn digest(entry: Option<&Entry>) -> Option<blake3::Hash> {
    entry.map(|entry| {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&entry.expires_at_ms.unwrap_or(u64::MAX).to_be_bytes());
        hasher.update(&entry.value);
        hasher.finalize()
    })
}
