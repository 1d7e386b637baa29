//! How the protocol is served.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use nuthatch_link::{Clock, Durability, Result};

use crate::counts::Counts;
use crate::protocol::Limits;

/// Limits and times of a [`crate::Server`].
#[derive(Clone, Debug)]
pub struct Settings {
    /// The failures that every acknowledged write has survived. Under `Commit` the replies of a pipeline wait for one
    /// fsync together.
    pub durability: Durability,
    /// Connections at a time; one more is told so and closed.
    pub connections_max: usize,
    /// How many databases SELECT knows.
    pub databases: usize,
    /// How large one command may be.
    pub limits: Limits,
    /// Bytes that half commands of all connections may take together.
    pub input_bytes_max: usize,
    /// Replies wait until the client reads: this is how much of them is kept before no further command is run.
    pub output_bytes: usize,
    /// A client that has sent half a command, or does not read, is closed after this time without a byte.
    pub stalled_after: Duration,
    /// A client that sends nothing at all is closed after this time; `None`: never.
    pub idle_after: Option<Duration>,
    /// The release of Redis that INFO and HELLO name, three numbers: clients choose commands by it. The default is the last one
    /// before commands for hashes that are not here (HEXPIRE, HGETEX): a client that reads a later one sends
    /// them where it would have done without. That there are vector sets, INFO and COMMAND tell by their module.
    pub redis_version: &'static str,
    /// The time, for keys that expire.
    pub clock: Clock,
    /// Where the server counts.
    pub counts: Arc<Counts>,
    /// A wait before replies are sent, for servers whose data others may take over. If it fails, its error becomes the
    /// reply and the connection ends. Called on the connection's own thread.
    pub hold: Option<HoldReplies>,
}

/// See [`Settings::hold`].
#[derive(Clone)]
pub struct HoldReplies(Arc<dyn Fn() -> Result<()> + Send + Sync>);

impl HoldReplies {
    /// `wait` returns once replies may leave.
    pub fn new(wait: impl Fn() -> Result<()> + Send + Sync + 'static) -> Self {
        Self(Arc::new(wait))
    }

    pub(crate) fn wait(&self) -> Result<()> {
        (self.0)()
    }
}

impl fmt::Debug for HoldReplies {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("HoldReplies")
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            durability: Durability::Commit,
            connections_max: 1024,
            databases: 16,
            limits: Limits::default(),
            input_bytes_max: 256 << 20,
            output_bytes: 1 << 20,
            stalled_after: Duration::from_secs(60),
            idle_after: None,
            redis_version: "7.2.4",
            clock: Clock::system(),
            counts: Arc::default(),
            hold: None,
        }
    }
}
