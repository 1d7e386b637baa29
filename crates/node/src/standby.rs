//! What a node answers while another one owns the data: what the owner answers.

use axum::Router;
use axum::extract::Request;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::failure::Failure;
use crate::forward::Forward;
use crate::relay::Relay;

/// Answers until it is dropped; requests that it has begun to pass on go on.
pub struct Standby {
    relay: Option<Relay>,
    _stop: oneshot::Sender<()>,
}

impl Standby {
    /// On a listener that stays open when this one stops: who connects then waits for the next to listen.
    pub async fn start(listener: std::net::TcpListener, forward: Forward) -> Result<Self, Failure> {
        let failed = |error: std::io::Error| nuthatch_link::Error::internal(format!("the standby's listener: {error}"));
        listener.set_nonblocking(true).map_err(failed)?;
        let listener = TcpListener::from_std(listener).map_err(failed)?;
        let pass = move |request: Request| {
            let forward = forward.clone();
            async move { forward.pass(request).await }
        };
        let routes = Router::new().route("/healthz", axum::routing::get(async || "ok")).fallback(pass);
        let (stop, stopped) = oneshot::channel::<()>();
        tokio::spawn(async move {
            let ended = async {
                // The sender is gone.
                stopped.await.ok();
            };
            // A listener that fails leaves a node that follows, and takes over.
            if let Err(error) = axum::serve(listener, routes).with_graceful_shutdown(ended).await {
                tracing::error!("the standby's listener failed: {error}");
            }
        });
        Ok(Self { relay: None, _stop: stop })
    }

    /// What passes clients of Redis on, which stops with this.
    pub fn relay(&mut self, relay: Relay) {
        self.relay = Some(relay);
    }
}
