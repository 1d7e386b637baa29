//! Callers and their permissions: each transport determines both in its own way.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use nuthatch_link::{Clock, Database, EmbedderChoice, Result};

use crate::refusal::Refusal;
use crate::subscriptions::Streams;

/// Somebody who asks. Their calls see their own data, and wait for their turn.
pub trait Access: Clone + Send + Sync + 'static {
    /// Runs a call of the engine on a thread that may block.
    ///
    /// # Errors
    /// Its own, as this caller may see them; those of limits.
    fn run<T: Send + 'static>(
        &self,
        call: impl FnOnce(&Database) -> Result<T> + Send + 'static,
    ) -> impl Future<Output = std::result::Result<T, Refusal>> + Send;

    /// Whose streams of notifications are counted together.
    fn owner(&self) -> String {
        String::new()
    }

    /// Over when no stream may stay open any more.
    fn stopping(&self) -> impl Future<Output = ()> + Send {
        std::future::pending()
    }

    /// The same caller, about to write.
    ///
    /// # Errors
    /// When they may not, whatever was offered.
    fn writing(&self) -> std::result::Result<Self, Refusal> {
        Ok(self.clone())
    }
}

/// The capabilities of a transport.
#[derive(Clone)]
pub struct Settings {
    /// The tools that write are there.
    pub writes: bool,
    /// Folders of this machine whose files may be added. Without any, there is no tool that adds files.
    pub folders: Vec<PathBuf>,
    /// Of collections that are made here, and of those that were made with it.
    pub embedder: EmbedderChoice,
    /// The longest that a search may take.
    pub search_timeout: Duration,
    /// The clock that tells "now", for the times that tools read and write.
    pub clock: Clock,
    /// Streams of notifications that are open, where the transport has them.
    pub streams: Option<Arc<Streams>>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            writes: true,
            folders: Vec::new(),
            embedder: EmbedderChoice::Auto,
            search_timeout: Duration::from_secs(60),
            clock: Clock::system(),
            streams: None,
        }
    }
}
