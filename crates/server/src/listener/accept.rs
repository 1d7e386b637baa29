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
/// The bytes that a stream of HTTP/2 may send before they are read.
const STREAM_WINDOW_BYTES: u32 = 1 << 20;
/// The same of all streams of a connection. The library lets frames that wait take half as much besides, counted as what each lacks of
/// 256 bytes, and ends a connection that goes over it: a client that is slowed down by its window and cuts its messages into pieces
/// as small as the window leaves would be. A stream whose pieces have 29 bytes or more stays below it. How many streams there are,
/// `requests_max` says.
const CONNECTION_WINDOW_BYTES: u32 = 16 * STREAM_WINDOW_BYTES;
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
            debug!(%error, "a connection closed before it began");
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
        warn!("some requests did not end in time; closing their connections");
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
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .max_header_list_size(HEADER_BYTES_MAX as u32)
        .keep_alive_interval(PING_INTERVAL)
        .keep_alive_timeout(config.header_timeout);
    builder
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use axum::routing::post;
    use http_body_util::BodyExt;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
    use tokio::sync::watch;

    use super::*;

    const DATA: u8 = 0;
    const HEADERS: u8 = 1;
    const SETTINGS: u8 = 4;
    const PING: u8 = 6;
    const GO_AWAY: u8 = 7;
    const WINDOW_UPDATE: u8 = 8;
    /// Of DATA the last one, of others that they acknowledge.
    const END_OR_ACK: u8 = 1;
    const END_HEADERS: u8 = 4;
    const ENHANCE_YOUR_CALM: u32 = 11;

    /// A client that says each frame itself, to a server that reads no body before it may.
    struct Raw {
        stream: DuplexStream,
        may_read: watch::Sender<bool>,
    }

    impl Raw {
        async fn connect() -> Self {
            let (may_read, when) = watch::channel(false);
            let length_of = move |body: Body| {
                let mut when = when.clone();
                async move {
                    when.wait_for(|may_read| *may_read).await.ok();
                    body.collect().await.map_or(0, |body| body.to_bytes().len()).to_string()
                }
            };
            let routes = FromPeer::new(Router::new().route("/", post(length_of)), "127.0.0.1:1".parse().unwrap());
            let (stream, server) = duplex(1 << 16);
            tokio::spawn(async move {
                let config = Config::default();
                converse(&builder(&config), server, routes, GracefulShutdown::new().watcher(), &config).await.ok();
            });
            let mut raw = Self { stream, may_read };
            raw.stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.unwrap();
            raw.say(SETTINGS, 0, 0, b"").await;
            // Its windows hold from here on.
            raw.until(|kind, flags| kind == SETTINGS && flags != END_OR_ACK).await;
            raw.say(SETTINGS, END_OR_ACK, 0, b"").await;
            raw.until(|kind, _| kind == WINDOW_UPDATE).await;
            raw
        }

        async fn say(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
            let length = (payload.len() as u32).to_be_bytes();
            let frame = [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat();
            // After a failed write, the test reads a closed connection to its end.
            self.stream.write_all(&frame).await.ok();
        }

        /// Returns the payload of the next frame that is wanted.
        async fn until(&mut self, is_wanted: impl Fn(u8, u8) -> bool) -> Vec<u8> {
            loop {
                let mut head = [0; 9];
                self.stream.read_exact(&mut head).await.expect("a frame");
                let mut payload = vec![0; u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize];
                self.stream.read_exact(&mut payload).await.expect("all of it");
                if is_wanted(head[3], head[4]) {
                    return payload;
                }
                assert_ne!(head[3], GO_AWAY, "{}", String::from_utf8_lossy(&payload));
            }
        }

        /// Sends as much as a stream may, in pieces.
        async fn fill(&mut self, stream: u32, piece_bytes: usize) {
            // POST, http, /.
            self.say(HEADERS, END_HEADERS, stream, &[0x83, 0x86, 0x84]).await;
            let mut left = STREAM_WINDOW_BYTES as usize;
            while left > 0 {
                let piece = piece_bytes.min(left);
                self.say(DATA, 0, stream, &vec![b'a'; piece]).await;
                left -= piece;
            }
        }
    }

    #[tokio::test]
    async fn streams_of_small_pieces_that_nobody_reads_yet_wait_for_their_reader() {
        for (streams, piece_bytes) in [(1, 29), (8, 130)] {
            let mut raw = Raw::connect().await;
            for stream in (0..streams).map(|at| 2 * at + 1) {
                raw.fill(stream, piece_bytes).await;
            }
            // Answered when all of it has arrived.
            raw.say(PING, 0, 0, b"8 bytes.").await;
            raw.until(|kind, flags| kind == PING && flags == END_OR_ACK).await;
            for stream in (0..streams).map(|at| 2 * at + 1) {
                raw.say(DATA, END_OR_ACK, stream, b"").await;
            }
            raw.may_read.send(true).unwrap();
            for _ in 0..streams {
                let length = raw.until(|kind, _| kind == DATA).await;
                assert_eq!(String::from_utf8(length).unwrap(), STREAM_WINDOW_BYTES.to_string());
            }
        }
    }

    #[tokio::test]
    async fn a_flood_of_tiny_pieces_ends_its_connection() {
        let Raw { mut stream, may_read: _never } = Raw::connect().await;
        let head = [&[0, 0, 3, HEADERS, END_HEADERS, 0, 0, 0, 1][..], &[0x83, 0x86, 0x84]].concat();
        let flood = [head, [0, 0, 1, DATA, 0, 0, 0, 0, 1, b'a'].repeat(STREAM_WINDOW_BYTES as usize)].concat();
        let (mut read, mut write) = tokio::io::split(&mut stream);
        let (_, answer) = tokio::join!(async { write.write_all(&flood).await.ok() }, async {
            let mut answer = Vec::new();
            read.read_to_end(&mut answer).await.ok();
            answer
        });
        let why = answer.windows(4).any(|some| some == ENHANCE_YOUR_CALM.to_be_bytes());
        assert!(why && answer.ends_with(b"too_many_data_frames"), "{:?}", String::from_utf8_lossy(&answer));
    }
}
