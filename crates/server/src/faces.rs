//! The protocols that one process speaks: a listener each, all of them told to stop by the same word.
//!
//! Another protocol is another `start_…` here: it is given its listener, what it shares with the others, and the word.

use std::sync::Arc;
use std::time::Duration;

use nuthatch_flight::Health;
use nuthatch_link::Result;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::listener::Tls;
use crate::proxy::{self, Proxy};
use crate::shared::Shared;
use crate::{listener, redis, router};

/// Protocols that are being spoken.
pub struct Faces {
    stop: watch::Sender<bool>,
    running: JoinSet<bool>,
    redis: Option<nuthatch_resp::Server>,
    health: Health,
    grace: Duration,
}

impl Faces {
    /// `grace`: how long what is under way has to end.
    pub async fn new(grace: Duration) -> Self {
        let health = Health::starting().await;
        Self { stop: watch::Sender::new(false), running: JoinSet::new(), redis: None, health, grace }
    }

    /// HTTP and gRPC, until [`stop`](Self::stop).
    pub fn start_http(&mut self, listener: TcpListener, tls: Option<Arc<Tls>>, shared: Arc<Shared>) {
        let routes = router::routes(shared.clone(), &self.health);
        let stop = self.stopped();
        self.running.spawn(listener::serve(listener, tls, routes, shared, stop));
    }

    /// The caching proxy, until [`stop`](Self::stop).
    pub fn start_proxy(&mut self, listener: TcpListener, tls: Option<Arc<Tls>>, proxy: Proxy) {
        let shared = proxy.shared.clone();
        let stop = self.stopped();
        self.running.spawn(listener::serve(listener, tls, proxy::routes(proxy), shared, stop));
    }

    /// From here on requests are answered.
    pub async fn ready(&self) {
        self.health.ready().await;
    }

    /// Redis' protocol, until [`stop`](Self::stop). The folder is open.
    ///
    /// # Errors
    /// `Internal` when the system gives no thread.
    pub fn start_redis(
        &mut self,
        listener: std::net::TcpListener,
        tls: Option<Arc<Tls>>,
        shared: &Arc<Shared>,
    ) -> Result<()> {
        self.redis = Some(redis::start(listener, tls, shared)?);
        Ok(())
    }

    /// Tells all of them to stop and waits until they have. True when every request of HTTP that was under way has ended.
    pub async fn stop(mut self) -> bool {
        self.health.stopping().await;
        self.stop.send_replace(true);
        if let Some(redis) = self.redis.take() {
            let grace = self.grace;
            self.running.spawn_blocking(move || {
                redis.stop(grace);
                true
            });
        }
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
