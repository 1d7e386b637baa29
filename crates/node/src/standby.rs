//! What a node answers while another one owns the data: 503, and where the owner is.

use std::sync::Arc;

use axum::Router;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use nuthatch_link::{Error, ErrorKind};
use parking_lot::Mutex;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::failure::Failure;

/// Listens until it is dropped or [`stop`](Self::stop)ped.
pub struct Standby {
    owner: Arc<Mutex<String>>,
    serving: JoinHandle<()>,
}

impl Standby {
    /// # Errors
    /// `Unavailable` when the address is taken.
    pub async fn start(listen: std::net::SocketAddr) -> Result<Self, Failure> {
        let listener = TcpListener::bind(listen).await.map_err(|error| {
            Error::new(
                ErrorKind::Unavailable,
                format!("cannot listen on {listen}: {error}; choose another with --listen"),
            )
        })?;
        let owner = Arc::new(Mutex::new(String::new()));
        let known = owner.clone();
        let answer = move || {
            let owner = known.lock().clone();
            async move { refuse(&owner) }
        };
        let routes = Router::new().route("/healthz", axum::routing::get(async || "ok")).fallback(answer);
        let serving = tokio::spawn(async move {
            // Ends with the task; a listener that fails leaves a node that follows, and takes over.
            if let Err(error) = axum::serve(listener, routes).await {
                tracing::error!("the standby's listener failed: {error}");
            }
        });
        Ok(Self { owner, serving })
    }

    /// Where the owner answers; empty: nobody knows.
    pub fn owner_is(&self, address: &str) {
        let mut owner = self.owner.lock();
        if *owner != address {
            address.clone_into(&mut owner);
        }
    }

    /// The address is free again afterwards.
    pub async fn stop(self) {
        self.serving.abort();
        let _aborted = self.serving.await;
    }
}

fn refuse(owner: &str) -> Response {
    let (detail, remedy) = match owner.is_empty() {
        true => {
            ("this node is a standby, and no node owns the data yet".to_string(), "try again in a moment".to_string())
        }
        false => (format!("this node is a standby; {owner} owns the data"), format!("ask {owner}, or try again")),
    };
    let problem = json!({
        "type": "about:blank", "title": "Unavailable", "status": 503, "kind": "unavailable",
        "detail": detail, "remedy": remedy, "owner": owner,
    });
    let headers = [(header::CONTENT_TYPE, "application/problem+json"), (header::RETRY_AFTER, "1")];
    (StatusCode::SERVICE_UNAVAILABLE, headers, problem.to_string()).into_response()
}
