//! The protocols that one process speaks: a listener each, all of them told to stop by the same word.
//!
//! Another protocol is another `start_…` here: it is given its listener, what it shares with the others, and the word.

use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use crate::shared::Shared;
use crate::{api, listener};

/// Protocols that are being spoken.
pub struct Faces {
    stop: watch::Sender<bool>,
    running: JoinSet<bool>,
}

impl Faces {
    pub fn new() -> Self {
        Self { stop: watch::Sender::new(false), running: JoinSet::new() }
    }

    /// HTTP, until [`stop`](Self::stop).
    pub fn start_http(&mut self, listener: TcpListener, tls: Option<TlsAcceptor>, shared: Arc<Shared>) {
        let routes = api::routes(shared.clone());
        let stop = self.stopped();
        self.running.spawn(listener::serve(listener, tls, routes, shared, stop));
    }

    /// Tells all of them to stop and waits until they have. True when every request that was under way has ended.
    pub async fn stop(self) -> bool {
        self.stop.send_replace(true);
        self.running.join_all().await.into_iter().all(|ended| ended)
    }

    /// Over when they are told to stop.
    fn stopped(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut word = self.stop.subscribe();
        async move {
            // An error means that nobody is left to say it.
            while !*word.borrow_and_update() && word.changed().await.is_ok() {}
        }
    }
}
