//! A node's answers while another node owns the data: those of the owner.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::routing::get;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};
use tracing::{debug, warn};

use crate::failure::Failure;
use crate::forward::Forward;
use crate::passage::last_answer;
use crate::relay::Relay;
use crate::serve::LEAVING;

/// After a failed accept, which is nearly always about too many open files.
const PAUSE: Duration = Duration::from_millis(100);
/// How long a client may take for the head of a request.
const HEAD: Duration = Duration::from_secs(30);
/// How long requests that were begun have to end once the node owns the data.
const ENDING: Duration = Duration::from_secs(60);

/// Answers until it is dropped; requests that it has begun to pass on go on.
pub struct Standby {
    relay: Option<Relay>,
    _stop: oneshot::Sender<()>,
}

impl Standby {
    /// On a listener that stays open when this one stops: who connects then waits for the next to listen.
    pub fn start(listener: std::net::TcpListener, forward: Forward) -> Result<Self, Failure> {
        let failed = |error: std::io::Error| nuthatch_link::Error::internal(format!("the standby's listener: {error}"));
        listener.set_nonblocking(true).map_err(failed)?;
        let listener = TcpListener::from_std(listener).map_err(failed)?;
        let (stop, stopped) = oneshot::channel::<()>();
        tokio::spawn(serve(listener, forward, stopped));
        Ok(Self { relay: None, _stop: stop })
    }

    /// Attaches the relay that passes Redis clients on; it stops together with this.
    pub fn relay(&mut self, relay: Relay) {
        self.relay = Some(relay);
    }
}

fn routes(forward: Forward, is_leaving: Arc<AtomicBool>) -> Router {
    let pass = move |request: Request| {
        let (forward, is_leaving) = (forward.clone(), is_leaving.clone());
        async move {
            let answer = forward.pass(request).await;
            if is_leaving.load(Ordering::SeqCst) { last_answer(answer) } else { answer }
        }
    };
    Router::new().route("/healthz", get(async || "ok")).fallback(pass)
}

async fn serve(listener: TcpListener, forward: Forward, mut stopped: oneshot::Receiver<()>) {
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEAD);
    builder.http2().timer(TokioTimer::new());
    let (builder, graceful) = (Arc::new(builder), GracefulShutdown::new());
    let is_leaving = Arc::new(AtomicBool::new(false));
    let routes = routes(forward, is_leaving.clone());
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = &mut stopped => break,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                warn!(%error, "a connection could not be accepted");
                sleep(PAUSE).await;
                continue;
            }
        };
        if stream.set_nodelay(true).is_err() {
            continue; // it closed before it began
        }
        let (builder, routes, watcher) = (builder.clone(), routes.clone(), graceful.watcher());
        tokio::spawn(async move {
            let connection = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(routes));
            if let Err(error) = watcher.watch(connection.into_owned()).await {
                debug!(error, "a connection ended");
            }
        });
    }
    drop(listener);
    is_leaving.store(true, Ordering::SeqCst);
    sleep(LEAVING).await;
    if timeout(ENDING, graceful.shutdown()).await.is_err() {
        warn!("some requests that were passed on did not end");
    }
}
