//! One call of a tool: whether it is still wanted, and whom to tell how far it is.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RequestContext};
use tokio::sync::watch;

/// A call that may be cancelled and that may report.
pub struct CallContext {
    /// True once nobody waits for the answer any more.
    pub cancel: Arc<AtomicBool>,
    listener: Option<(Peer<RoleServer>, ProgressToken)>,
}

impl CallContext {
    pub fn new(context: &RequestContext<RoleServer>) -> Self {
        let token = context.meta.get_progress_token();
        Self { cancel: Arc::default(), listener: token.map(|token| (context.peer.clone(), token)) }
    }
}

/// How far a call is.
#[derive(Clone, Debug)]
pub struct Step {
    pub done: u64,
    pub total: u64,
    pub message: String,
}

impl CallContext {
    /// Waits for work and forwards its progress: only the latest step, where the host is slower than the work.
    pub async fn follow<T>(&self, work: impl Future<Output = T>, mut told: watch::Receiver<Option<Step>>) -> T {
        tokio::pin!(work);
        loop {
            tokio::select! {
                biased; // what was told before the end is passed on before it
                Ok(()) = told.changed() => {
                    let step = told.borrow_and_update().clone();
                    if let Some(step) = step {
                        self.tell(step).await;
                    }
                }
                done = &mut work => return done,
            }
        }
    }

    /// Tells the host how far the call is, if it wants to know.
    async fn tell(&self, Step { done, total, message }: Step) {
        let Some((peer, token)) = &self.listener else { return };
        let progress = ProgressNotificationParam::new(token.clone(), done as f64);
        let progress = progress.with_total(total as f64).with_message(message);
        // A host that went away reads no answer either: the work is cancelled by its transport, not from here.
        peer.notify_progress(progress).await.ok();
    }
}

/// Ends the engine's work when the call is not waited for any more.
impl Drop for CallContext {
    fn drop(&mut self) {
        self.cancel.store(true, Ordering::Relaxed);
    }
}
