//! Accepting connections until told to stop, then letting those that are there finish.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tracing::{debug, info, warn};

use crate::config::Config;
use crate::listener::peer::FromPeer;
use crate::listener::stalled::Stalled;
use crate::listener::tls::Tls;
use crate::shared::Shared;

/// Of one request, names and values together.
const HEADER_BYTES_MAX: usize = 64 << 10;
/// Requests at a time on one connection of HTTP/2.
const STREAMS_MAX: u32 = 128;
/// How often an idle HTTP/2 client is asked whether it is still there.
const PING_INTERVAL: Duration = Duration::from_secs(30);
/// After a failed accept, which is nearly always about too many open files.
const PAUSE: Duration = Duration::from_millis(100);

/// Accepts connections until `stop` is over, then waits for the requests under way, for as long as the configuration says.
/// True when all of them have ended.
pub async fn serve(
    listener: TcpListener,
    tls: Option<Arc<Tls>>,
    routes: Router,
    shared: Arc<Shared>,
    stop: impl Future<Output = ()>,
) -> bool {
    let config = &shared.config;
    let places = Arc::new(Semaphore::new(config.connections_max));
    let builder = Arc::new(builder(config));
    let graceful = GracefulShutdown::new();
    let mut connections = JoinSet::new();
    tokio::pin!(stop);
    loop {
        while connections.try_join_next().is_some() {}
        let accepted = async {
            // A place first: whom we cannot serve waits in the system's queue.
            let place = places.clone().acquire_owned().await.expect("nobody closes the semaphore");
            (listener.accept().await, place)
        };
        let (accepted, place) = tokio::select! {
            accepted = accepted => accepted,
            () = &mut stop => break,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                warn!(%error, "a connection could not be accepted");
                sleep(PAUSE).await;
                continue;
            }
        };
        // Answers are small: none waits for the next.
        if let Err(error) = stream.set_nodelay(true) {
            debug!(%error, "a connection went before it began");
            continue;
        }
        let counted = shared.metrics.connected();
        let (tls, builder, routes) =
            (tls.as_ref().map(|tls| tls.for_http()), builder.clone(), FromPeer::new(routes.clone(), peer));
        let (watcher, shared) = (graceful.watcher(), shared.clone());
        connections.spawn(async move {
            let _counted = (counted, place);
            let ended = match tls {
                None => converse(&builder, stream, routes, watcher, &shared.config).await,
                Some(tls) => match timeout(shared.config.header_timeout, tls.accept(stream)).await {
                    Ok(Ok(stream)) => converse(&builder, stream, routes, watcher, &shared.config).await,
                    Ok(Err(error)) => Err(error.into()),
                    Err(_) => Err("the TLS handshake took too long".into()),
                },
            };
            if let Err(error) = ended {
                debug!(error, "a connection ended");
            }
        });
    }
    drop(listener);
    info!(connections = connections.len(), "stopping: no more connections, waiting for requests under way");
    let all_ended = timeout(config.shutdown_timeout, graceful.shutdown()).await.is_ok();
    if !all_ended {
        warn!("some requests did not end in time; their connections are cut");
    }
    connections.shutdown().await;
    all_ended
}

async fn converse(
    builder: &Builder<TokioExecutor>,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    routes: FromPeer,
    watcher: hyper_util::server::graceful::Watcher,
    config: &Config,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let stream = TokioIo::new(Stalled::new(stream, config.header_timeout, config.body_timeout));
    let connection = builder.serve_connection(stream, TowerToHyperService::new(routes));
    watcher.watch(connection.into_owned()).await
}

fn builder(config: &Config) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(config.header_timeout).max_buf_size(HEADER_BYTES_MAX);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS_MAX)
        .max_header_list_size(HEADER_BYTES_MAX as u32)
        .keep_alive_interval(PING_INTERVAL)
        .keep_alive_timeout(config.header_timeout);
    builder
}
