//! The operating system's signals to a server: to stop, and to read again what may have changed.

use std::future::Future;
use std::io::IsTerminal;

use nuthatch_link::{Error, Result};
use tokio::sync::{mpsc, oneshot};

/// Told to stop, and how.
pub struct Stopping<S> {
    /// Over with the first signal to stop; the second ends the process.
    pub stop: S,
    /// A word each time that files are to be read again; `None` where nothing says so.
    pub renew: Option<mpsc::Receiver<()>>,
}

/// Listens from here on.
///
/// # Errors
/// `Internal` when the system does not let it.
pub fn listen() -> Result<Stopping<impl Future<Output = ()>>> {
    #[cfg(unix)]
    let (mut next, renew) = {
        use tokio::signal::unix::{SignalKind, signal};
        let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
        let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
        let mut hangup = signal(SignalKind::hangup()).map_err(failed)?;
        // Of a server in a terminal, the terminal was closed.
        let renews = !std::io::stderr().is_terminal();
        let (renew, renewed) = mpsc::channel(1);
        let next = async move || {
            loop {
                tokio::select! {
                    _ = terminate.recv() => return,
                    _ = interrupt.recv() => return,
                    _ = hangup.recv() => match renews {
                        // One waiting message stands for all that arrive until it is taken.
                        true => drop(renew.try_send(())),
                        false => return,
                    },
                }
            }
        };
        (next, renews.then_some(renewed))
    };
    #[cfg(not(unix))]
    let (mut next, renew) = {
        let mut interrupt = tokio::signal::windows::ctrl_c().map_err(failed)?;
        let next = async move || {
            interrupt.recv().await;
        };
        (next, None)
    };
    let (send, first) = oneshot::channel();
    tokio::spawn(async move {
        next().await;
        // Nobody waits for it any more when the server has ended by itself.
        let _ended_already = send.send(());
        next().await;
        std::process::exit(130);
    });
    let stop = async move {
        // An error means that nobody listens for signals any more: there is nothing left to wait for either.
        let _signalled_or_gone = first.await;
    };
    Ok(Stopping { stop, renew })
}

fn failed(error: std::io::Error) -> Error {
    Error::internal(format!("cannot listen for signals: {error}"))
}
