//! One call of a tool: whether it is still wanted, and whom to tell how far it is.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RequestContext};

/// A call that may be cancelled and that may report.
pub struct Asked {
    /// True once nobody waits for the answer any more.
    pub cancel: Arc<AtomicBool>,
    listener: Option<(Peer<RoleServer>, ProgressToken)>,
}

impl Asked {
    pub fn new(context: &RequestContext<RoleServer>) -> Self {
        let token = context.meta.get_progress_token();
        Self { cancel: Arc::default(), listener: token.map(|token| (context.peer.clone(), token)) }
    }

    /// Tells the host how far the call is, if it wants to know.
    pub async fn tell(&self, done: u64, total: u64, message: String) {
        let Some((peer, token)) = &self.listener else { return };
        let progress = ProgressNotificationParam::new(token.clone(), done as f64);
        let progress = progress.with_total(total as f64).with_message(message);
        // A host that went away reads no answer either: the work is cancelled by its transport, not from here.
        peer.notify_progress(progress).await.ok();
    }
}

/// Ends the engine's work when the call is not waited for any more.
impl Drop for Asked {
    fn drop(&mut self) {
        self.cancel.store(true, Ordering::Relaxed);
    }
}
