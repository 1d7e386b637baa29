//! The transport over standard input and output: a host starts a program and talks to it, one JSON document a line.

use std::sync::Arc;
use std::time::Duration;

use nuthatch_link::{Database, Error, Result};
use rmcp::serve_server;
use rmcp::service::ServerInitializeError;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::io::stdio_pipes;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::Builder;
use tokio::sync::Semaphore;

use crate::access::{Access, Settings};
use crate::handler::Handler;
use crate::refusal::Refusal;

/// Calls of the engine at a time; others wait.
const CALLS_MAX: usize = 8;
/// The longest line that a host may send.
const LINE_BYTES_MAX: usize = 4 << 20;
/// How long a host that reads nothing is waited for, once there is a signal to stop.
const CLOSING_MAX: Duration = Duration::from_secs(5);

/// The user who started the program, with all rights of the program.
#[derive(Clone)]
pub struct Local {
    database: Database,
    turns: Arc<Semaphore>,
}

impl Local {
    /// Access to this database, for a few calls at a time; the others wait.
    pub fn new(database: Database) -> Self {
        Self { database, turns: Arc::new(Semaphore::new(CALLS_MAX)) }
    }
}

impl Access for Local {
    async fn run<T: Send + 'static>(
        &self,
        call: impl FnOnce(&Database) -> Result<T> + Send + 'static,
    ) -> std::result::Result<T, Refusal> {
        let turn = self.turns.clone().acquire_owned().await.expect("nobody closes the semaphore");
        let database = self.database.clone();
        let done = tokio::task::spawn_blocking(move || {
            let _turn = turn; // until the thread is free, though nobody may wait for it any more
            call(&database)
        });
        let done = done
            .await
            .unwrap_or_else(|error| Err(Error::internal(format!("a call panicked, which is a defect: {error}"))));
        done.map_err(Refusal::from)
    }
}

/// Speaks with the host that started this program until it closes standard input, or until SIGTERM or SIGINT; then closes the
/// folder.
///
/// # Errors
/// `Invalid` when the host does not speak the protocol; those of closing the folder.
pub fn serve_stdio(database: Database, settings: Settings) -> Result<()> {
    let refused = |error: std::io::Error| Error::internal(format!("starting threads: {error}"));
    // Two more threads, where standard input and output are no pipes.
    let runtime =
        Builder::new_current_thread().max_blocking_threads(CALLS_MAX + 2).enable_all().build().map_err(refused)?;
    let spoken = runtime.block_on(async {
        let (input, output) = stdio_pipes();
        serve(Handler::new(Local::new(database.clone()), settings), input, output, signalled()?).await
    });
    // Standard input may be read by a thread that nothing wakes.
    runtime.shutdown_background();
    let closed = database.close();
    spoken.and(closed)
}

/// Speaks over any two streams until the input ends or `stop` is over. Calls under way have a few seconds to be answered; with `stop`
/// that holds of their answers, too, whether or not the host reads them.
///
/// # Errors
/// `Invalid` when the other side does not speak the protocol.
pub async fn serve<A: Access>(
    handler: Handler<A>,
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
    stop: impl Future<Output = ()>,
) -> Result<()> {
    tokio::pin!(stop);
    let transport = AsyncRwTransport::new_server(input, output).with_max_line_length(LINE_BYTES_MAX);
    let started = tokio::select! {
        started = serve_server(handler, transport) => started,
        () = &mut stop => return Ok(()),
    };
    let service = match started {
        Ok(service) => service,
        // Hosts look whether a program starts, and go.
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => {
            return Err(Error::invalid(format!("the host does not speak the Model Context Protocol: {error}")));
        }
    };
    let token = service.cancellation_token();
    let waiting = service.waiting();
    tokio::pin!(waiting);
    let ended = tokio::select! {
        ended = &mut waiting => ended,
        () = &mut stop => {
            token.cancel();
            match tokio::time::timeout(CLOSING_MAX, waiting).await {
                Ok(ended) => ended,
                Err(_) => return Ok(()),
            }
        }
    };
    ended.map(drop).map_err(|error| Error::internal(format!("the protocol's task ended: {error}")))
}

/// Over with the first signal to stop.
fn signalled() -> Result<impl Future<Output = ()>> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let failed = |error: std::io::Error| Error::internal(format!("cannot listen for signals: {error}"));
        let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
        let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
        Ok(async move {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
        })
    }
    #[cfg(not(unix))]
    Ok(async {
        if tokio::signal::ctrl_c().await.is_err() {
            // Nobody can say it: the end of standard input remains.
            std::future::pending::<()>().await;
        }
    })
}
